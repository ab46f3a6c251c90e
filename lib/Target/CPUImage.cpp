//===- CPUImage.cpp - object code in the process ----------------*- C++ -*-===//
//
// Links objects with ORC. Functions of the runtime come by address, the rest
// (libm and memory functions) from the process.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Target/CPUCodeGen.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <cstdlib>

namespace {

/// Scratch memory of the calling thread, for the buffers of the block it runs.
/// Grows to the largest request and is freed with the thread.
struct ThreadScratch {
  void *memory = nullptr;
  int64_t bytes = 0;

  void *get(int64_t size) {
    if (size > bytes) {
      std::free(memory);
      bytes = (size + 4095) / 4096 * 4096;
      memory = std::aligned_alloc(4096, bytes);
      if (!memory)
        std::abort();
    }
    return memory;
  }
  ~ThreadScratch() { std::free(memory); }
};

thread_local ThreadScratch threadScratch;

void *getThreadScratch(int64_t bytes) { return threadScratch.get(bytes); }

} // namespace

struct tilemlir::CPUImage::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

tilemlir::CPUImage::CPUImage(std::unique_ptr<State> state)
    : state(std::move(state)) {}
tilemlir::CPUImage::~CPUImage() = default;

llvm::Expected<std::unique_ptr<tilemlir::CPUImage>>
tilemlir::CPUImage::load(llvm::StringRef object,
                         llvm::ArrayRef<Symbol> symbols) {
  using namespace llvm::orc;
  llvm::InitializeNativeTarget();
  JITTargetMachineBuilder machine{llvm::Triple(llvm::sys::getProcessTriple())};
  // No IR is added, so that the platform's helper modules are not needed.
  auto jit = LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(machine))
                 .setPlatformSetUp(setUpInactivePlatform)
                 .setLinkProcessSymbolsByDefault(false)
                 .create();
  if (!jit)
    return jit.takeError();
  JITDylib &library = (*jit)->getMainJITDylib();

  SymbolMap known;
  auto define = [&](llvm::StringRef name, uint64_t address) {
    known[(*jit)->mangleAndIntern(name)] = {ExecutorAddr(address),
                                            llvm::JITSymbolFlags::Exported |
                                                llvm::JITSymbolFlags::Callable};
  };
  define("tilemlir_scratch", reinterpret_cast<uint64_t>(&getThreadScratch));
  for (const Symbol &symbol : symbols)
    define(symbol.first, symbol.second);
  if (llvm::Error error = library.define(absoluteSymbols(std::move(known))))
    return std::move(error);

  char prefix = (*jit)->getDataLayout().getGlobalPrefix();
  auto process = DynamicLibrarySearchGenerator::GetForCurrentProcess(prefix);
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
#ifdef __linux__
  // A statically linked interpreter may have no libm in its global scope.
  auto libm = DynamicLibrarySearchGenerator::Load("libm.so.6", prefix);
  if (libm)
    library.addGenerator(std::move(*libm));
  else
    llvm::consumeError(libm.takeError());
#endif

  if (llvm::Error error = (*jit)->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object, "kernel")))
    return std::move(error);
  auto state = std::make_unique<State>();
  state->jit = std::move(*jit);
  std::unique_ptr<CPUImage> image(new CPUImage(std::move(state)));
  auto names = getDefinedFunctions(object);
  if (!names)
    return names.takeError();
  for (const std::string &name : *names) {
    auto address = image->lookup(name);
    if (!address)
      return address.takeError();
    image->entries.push_back({name, *address});
  }
  return std::move(image);
}

llvm::Expected<uint64_t> tilemlir::CPUImage::lookup(llvm::StringRef name) {
  auto address = state->jit->lookup(name);
  if (!address)
    return address.takeError();
  return address->getValue();
}
