//===- PTX.cpp - from the NVVM dialect to PTX -------------------*- C++ -*-===//
//
// LLVM's pipeline trimmed to what kernels need: large vectors become scalars
// first; no inlining, vectorisation or library knowledge. Pointers to shared
// memory are 32 bits wide.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Target/PTX.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace mlir;

static void initializeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // No other way to ask for 32-bit pointers to shared memory.
    auto &options = llvm::cl::getRegisteredOptions();
    auto found = options.find("nvptx-short-ptr");
    if (found != options.end())
      static_cast<llvm::cl::opt<bool> *>(found->second)->setValue(true);
  });
}

/// Locations become line directives: every kernel gets a scope.
static void attachDebugScopes(gpu::GPUModuleOp gpuModule) {
  MLIRContext *context = gpuModule.getContext();
  for (auto function : gpuModule.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    FileLineColLoc at;
    auto find = [&](Location location) {
      location->walk([&](Location inner) {
        at = dyn_cast<FileLineColLoc>(inner);
        return at ? WalkResult::interrupt() : WalkResult::advance();
      });
    };
    find(function.getLoc());
    if (!at)
      function.walk([&](Operation *op) {
        find(op->getLoc());
        return at ? WalkResult::interrupt() : WalkResult::advance();
      });
    if (!at)
      continue;
    StringRef path = at.getFilename().getValue();
    auto [directory, name] = path.rsplit('/');
    if (name.empty())
      std::swap(directory, name);
    auto file = LLVM::DIFileAttr::get(context, name, directory);
    auto unit = LLVM::DICompileUnitAttr::get(
        DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
        file, StringAttr::get(context, "tilemlir"), /*isOptimized=*/true,
        LLVM::DIEmissionKind::DebugDirectivesOnly);
    auto type =
        LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
    auto nameAttr = StringAttr::get(context, function.getName());
    auto scope = LLVM::DISubprogramAttr::get(
        context, DistinctAttr::create(UnitAttr::get(context)), unit, file,
        nameAttr, nameAttr, file, at.getLine(), at.getLine(),
        LLVM::DISubprogramFlags::Definition |
            LLVM::DISubprogramFlags::Optimized,
        type, {}, {});
    function->setLoc(FusedLoc::get(context, {at}, scope));
  }
}

/// Attributes of inline assembly that MLIR cannot give.
static void describeAssembly(llvm::CallInst &call, llvm::StringRef text,
                             bool sideEffects) {
  call.addFnAttr(llvm::Attribute::WillReturn);
  // PTX says ".aligned" where all threads of a warp execute an instruction
  // together: it must stay under the control flow it is in.
  if (text.contains(".aligned"))
    call.setConvergent();
  // Without an address and side effects: computed from its operands alone.
  bool takesAddress = llvm::any_of(call.args(), [](const llvm::Use &operand) {
    return operand->getType()->isPointerTy();
  });
  if (!sideEffects && !takesAddress)
    call.setDoesNotAccessMemory();
}

/// A loop around convergent assembly that has no metadata yet (of scf.while)
/// stays one loop.
static void describeAssembly(llvm::Function &function) {
  llvm::SmallPtrSet<llvm::BasicBlock *, 16> convergent;
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->isInlineAsm())
      continue;
    auto *text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
    describeAssembly(*call, text->getAsmString(), text->hasSideEffects());
    if (call->isConvergent())
      convergent.insert(call->getParent());
  }
  if (convergent.empty())
    return;
  llvm::DominatorTree tree(function);
  llvm::LoopInfo loops(tree);
  for (llvm::Loop *loop : loops.getLoopsInPreorder())
    if (!loop->getLoopID() &&
        llvm::any_of(loop->blocks(), [&](llvm::BasicBlock *block) {
          return convergent.contains(block);
        }))
      loop->setLoopAlreadyUnrolled();
}

static void optimizeKernels(llvm::Module &module,
                            llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager callGraphAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  builder.registerModuleAnalyses(moduleAnalyses);
  builder.registerCGSCCAnalyses(callGraphAnalyses);
  builder.registerFunctionAnalyses(functionAnalyses);
  builder.registerLoopAnalyses(loopAnalyses);
  builder.crossRegisterProxies(loopAnalyses, functionAnalyses,
                               callGraphAnalyses, moduleAnalyses);

  auto hoist = [] {
    llvm::LoopPassManager loops;
    loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
    return llvm::createFunctionToLoopPassAdaptor(std::move(loops),
                                                 /*UseMemorySSA=*/true);
  };
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  llvm::ScalarizerPassOptions scalarizer;
  scalarizer.ScalarizeLoadStore = false;
  scalarizer.ScalarizeMinBits = 32; // pairs of 16-bit values stay packed
  functions.addPass(llvm::ScalarizerPass(scalarizer));
  functions.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  functions.addPass(llvm::InstCombinePass());
  functions.addPass(llvm::SimplifyCFGPass());
  functions.addPass(hoist());
  {
    llvm::LoopPassManager loops;
    loops.addPass(llvm::IndVarSimplifyPass());
    loops.addPass(llvm::LoopDeletionPass());
    loops.addPass(llvm::LoopFullUnrollPass(/*OptLevel=*/3));
    functions.addPass(llvm::createFunctionToLoopPassAdaptor(
        std::move(loops), /*UseMemorySSA=*/false));
  }
  functions.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  functions.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  functions.addPass(llvm::LoopUnrollPass(
      llvm::LoopUnrollOptions(/*OptLevel=*/3, /*OnlyWhenForced=*/true)));
  functions.addPass(llvm::GVNPass());
  functions.addPass(llvm::InstCombinePass());
  functions.addPass(hoist());
  functions.addPass(llvm::ADCEPass());
  functions.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, moduleAnalyses);
}

namespace {
/// One module on its way.
struct Compilation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;

  LogicalResult prepare(gpu::GPUModuleOp gpuModule) {
    initializeBackend();
    tile::TargetAttr target = tile::getTarget(gpuModule);
    tile::OptionsAttr options = tile::OptionsAttr::of(gpuModule);
    std::string arch = target ? target.getArch().str() : "sm_80";
    int64_t version =
        target ? target.getPTXVersion() : tile::TargetAttr::kDefaultPTX;
    if (target && target.isCPU())
      return gpuModule.emitOpError("cannot become PTX: the target is the CPU");
    llvm::Triple triple("nvptx64-nvidia-cuda");
    std::string error;
    const llvm::Target *backend =
        llvm::TargetRegistry::lookupTarget(triple, error);
    if (!backend)
      return gpuModule.emitOpError() << "no NVPTX back end: " << error;
    llvm::TargetOptions targetOptions;
    machine.reset(backend->createTargetMachine(
        triple, arch, "+ptx" + std::to_string(version), targetOptions,
        llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
    if (!machine)
      return gpuModule.emitOpError() << "no code generator for " << arch;
    if (options.getFlag("line_info", true))
      attachDebugScopes(gpuModule);
    module = translateModuleToLLVMIR(gpuModule, context, "kernels");
    if (!module)
      return gpuModule.emitOpError("cannot be translated to LLVM IR");
    module->setTargetTriple(triple);
    module->setDataLayout(machine->createDataLayout());
    for (llvm::Function &function : *module)
      if (!function.isDeclaration())
        describeAssembly(function);
    if (options.getFlag("fast_math", false))
      for (llvm::Function &function : *module)
        function.addFnAttr("denormal-fp-math-f32",
                           "preserve-sign,preserve-sign");
    return success();
  }
};
} // namespace

FailureOr<std::string> tilemlir::emitLLVMIR(gpu::GPUModuleOp gpuModule,
                                            bool optimized) {
  Compilation compilation;
  if (failed(compilation.prepare(gpuModule)))
    return failure();
  if (optimized)
    optimizeKernels(*compilation.module, *compilation.machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  compilation.module->print(stream, nullptr);
  return text;
}

FailureOr<std::string> tilemlir::emitPTX(gpu::GPUModuleOp gpuModule) {
  Compilation compilation;
  // PTX shows no names of values; keeping them unique costs a tenth of the
  // time.
  compilation.context.setDiscardValueNames(true);
  if (failed(compilation.prepare(gpuModule)))
    return failure();
  optimizeKernels(*compilation.module, *compilation.machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager codegen;
  if (compilation.machine->addPassesToEmitFile(
          codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return gpuModule.emitOpError("the code generator does not print assembly");
  codegen.run(*compilation.module);
  return text.str().str();
}
