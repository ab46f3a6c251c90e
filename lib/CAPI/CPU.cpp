// C API: launch plans, object code for the host's CPU and its execution.
#include "tilemlir-c/CPU.h"

#include "tilemlir/Target/CPUCodeGen.h"
#include "tilemlir/Target/LaunchPlanJSON.h"
#include "tilemlir/Target/ReportJSON.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

static void send(llvm::StringRef text, MlirStringCallback callback,
                 void *userData) {
  callback(mlirStringRefCreate(text.data(), text.size()), userData);
}

MlirLogicalResult tilemlirLaunchPlanToJSON(MlirModule module,
                                           MlirStringCallback callback,
                                           void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  return wrap(tilemlir::translateToLaunchPlan(unwrap(module), stream));
}

MlirLogicalResult tilemlirReportToJSON(MlirModule module,
                                       MlirStringCallback callback,
                                       void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  return wrap(tilemlir::translateToReport(unwrap(module), stream));
}

MlirLogicalResult tilemlirTranslateToLLVMIR(MlirModule module,
                                            MlirStringCallback callback,
                                            void *userData) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir =
      mlir::translateModuleToLLVMIR(unwrap(module), context, "tilemlir");
  if (!ir)
    return mlirLogicalResultFailure();
  mlir::detail::CallbackOstream stream(callback, userData);
  ir->print(stream, nullptr);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult tilemlirCPUCompile(MlirModule module,
                                     MlirStringCallback callback,
                                     void *userData) {
  mlir::FailureOr<std::string> object =
      tilemlir::compileToObject(unwrap(module));
  if (mlir::failed(object))
    return mlirLogicalResultFailure();
  send(*object, callback, userData);
  return mlirLogicalResultSuccess();
}

void tilemlirCPUDescribeHost(MlirStringCallback callback, void *userData) {
  const tilemlir::HostFeatures &host = tilemlir::getHostFeatures();
  send(host.cpu + ";" + host.features, callback, userData);
}

MlirLogicalResult tilemlirCPUGetUndefinedSymbols(MlirStringRef object,
                                                 MlirStringCallback callback,
                                                 void *userData) {
  auto names = tilemlir::getUndefinedSymbols(unwrap(object));
  if (!names) {
    send(llvm::toString(names.takeError()), callback, userData);
    return mlirLogicalResultFailure();
  }
  for (const std::string &name : *names)
    send(name, callback, userData);
  return mlirLogicalResultSuccess();
}

TilemlirCPUImage tilemlirCPUImageLoad(MlirStringRef object, size_t count,
                                      const MlirStringRef *names,
                                      const uint64_t *addresses,
                                      MlirStringCallback onError,
                                      void *userData) {
  std::vector<tilemlir::CPUImage::Symbol> symbols;
  for (size_t i = 0; i < count; ++i)
    symbols.push_back({unwrap(names[i]).str(), addresses[i]});
  auto image = tilemlir::CPUImage::load(unwrap(object), symbols);
  if (!image) {
    send(llvm::toString(image.takeError()), onError, userData);
    return {nullptr};
  }
  return {image->release()};
}

uint64_t tilemlirCPUImageLookup(TilemlirCPUImage image, MlirStringRef name,
                                MlirStringCallback onError, void *userData) {
  auto address =
      static_cast<tilemlir::CPUImage *>(image.ptr)->lookup(unwrap(name));
  if (!address) {
    send(llvm::toString(address.takeError()), onError, userData);
    return 0;
  }
  return *address;
}

void tilemlirCPUImageForEachEntry(TilemlirCPUImage image,
                                  void (*callback)(MlirStringRef, uint64_t,
                                                   void *),
                                  void *userData) {
  for (const tilemlir::CPUImage::Symbol &entry :
       static_cast<tilemlir::CPUImage *>(image.ptr)->getEntries())
    callback(wrap(llvm::StringRef(entry.first)), entry.second, userData);
}

void tilemlirCPUImageDestroy(TilemlirCPUImage image) {
  delete static_cast<tilemlir::CPUImage *>(image.ptr);
}
