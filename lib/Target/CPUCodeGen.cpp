//===- CPUCodeGen.cpp - machine code for the host ---------------*- C++ -*-===//
//
// LLVM IR from the LLVM dialect, the O3 pipeline with vectorisers, and object
// code for the features of the host's CPU.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Target/CPUCodeGen.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

#include <mutex>

using namespace mlir;

static void initializeHostTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

const tilemlir::HostFeatures &tilemlir::getHostFeatures() {
  static const HostFeatures host = [] {
    HostFeatures result;
    result.cpu = llvm::sys::getHostCPUName().str();
    llvm::StringMap<bool> map = llvm::sys::getHostCPUFeatures();
    llvm::SubtargetFeatures features;
    for (const auto &entry : map)
      features.AddFeature(entry.getKey(), entry.getValue());
    result.features = features.getString();
    llvm::Triple triple(llvm::sys::getProcessTriple());
    result.vectorBits = 128;
    result.nativeF16 = triple.isAArch64();
    if (triple.isX86()) {
      result.nativeF16 = map.lookup("f16c");
      if (map.lookup("avx512f") && map.lookup("avx512vl"))
        result.vectorBits = 512;
      else if (map.lookup("avx2"))
        result.vectorBits = 256;
    }
    return result;
  }();
  return host;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostTargetMachine() {
  initializeHostTarget();
  llvm::orc::JITTargetMachineBuilder builder{
      llvm::Triple(llvm::sys::getProcessTriple())};
  const tilemlir::HostFeatures &host = tilemlir::getHostFeatures();
  builder.setCPU(host.cpu);
  builder.getFeatures() = llvm::SubtargetFeatures(host.features);
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder.createTargetMachine();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

FailureOr<std::string> tilemlir::compileToObject(ModuleOp module) {
  auto machine = createHostTargetMachine();
  if (!machine)
    return module.emitError("no code generator for this machine: ")
           << llvm::toString(machine.takeError());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir =
      translateModuleToLLVMIR(module, context, "tilemlir");
  if (!ir)
    return failure();
  ir->setTargetTriple((*machine)->getTargetTriple());
  ir->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *ir) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // Frames may be larger than the guard page of a stack.
    function.addFnAttr("probe-stack", "inline-asm");
    // Inlined, the `noalias` of arguments would become weaker metadata.
    if (function.hasInternalLinkage() || function.hasPrivateLinkage())
      function.addFnAttr(llvm::Attribute::NoInline);
    if (getHostFeatures().vectorBits == 512)
      function.addFnAttr("prefer-vector-width", "512");
  }
  optimize(*ir, **machine);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, stream, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return module.emitError("this machine's code generator writes no objects");
  codegen.run(*ir);
  return std::string(bytes.begin(), bytes.end());
}

/// Names of the symbols of an object for which `accept` holds.
static llvm::Expected<std::vector<std::string>> getSymbols(
    llvm::StringRef object,
    llvm::function_ref<bool(uint32_t, llvm::object::SymbolRef::Type)> accept) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(object, "kernel"));
  if (!file)
    return file.takeError();
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    auto type = symbol.getType();
    if (!type)
      return type.takeError();
    auto name = symbol.getName();
    if (!name)
      return name.takeError();
    if (!name->empty() && accept(*flags, *type))
      names.push_back(name->str());
  }
  return names;
}

llvm::Expected<std::vector<std::string>>
tilemlir::getUndefinedSymbols(llvm::StringRef object) {
  return getSymbols(object, [](uint32_t flags, auto) {
    return flags & llvm::object::SymbolRef::SF_Undefined;
  });
}

llvm::Expected<std::vector<std::string>>
tilemlir::getDefinedFunctions(llvm::StringRef object) {
  return getSymbols(object,
                    [](uint32_t flags, llvm::object::SymbolRef::Type type) {
                      return (flags & llvm::object::SymbolRef::SF_Global) &&
                             !(flags & llvm::object::SymbolRef::SF_Undefined) &&
                             type == llvm::object::SymbolRef::ST_Function;
                    });
}
