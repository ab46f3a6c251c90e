/* Embeds the tile dialects in a C program: registers them, parses a module from stdin, prints it generically. */
#include "mlir-c/IR.h"
#include "tilemlir-c/Registration.h"

#include <stdio.h>
#include <stdlib.h>

static void print(MlirStringRef text, void *file) {
  fwrite(text.data, 1, text.length, (FILE *)file);
}

int main(void) {
  static char source[1 << 20];
  size_t length = fread(source, 1, sizeof(source) - 1, stdin);
  source[length] = 0;

  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  tilemlirRegisterAllDialects(registry);
  tilemlirRegisterAllPasses();
  tilemlirRegisterAllPipelines();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  MlirDialect tile = mlirDialectHandleLoadDialect(mlirGetDialectHandle__tile__(), context);
  if (mlirDialectIsNull(tile))
    return 1;

  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(source));
  if (mlirModuleIsNull(module))
    return 1;
  printf("// tilemlir %s\n", tilemlirGetVersion());
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsPrintGenericOpForm(flags);
  mlirOperationPrintWithFlags(mlirModuleGetOperation(module), flags, print, stdout);
  mlirOpPrintingFlagsDestroy(flags);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return 0;
}
