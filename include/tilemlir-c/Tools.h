/* C API: the command line tools as functions, so that their executables need no
 * second copy of LLVM. */
#ifndef TILEMLIR_C_TOOLS_H
#define TILEMLIR_C_TOOLS_H

#include "tilemlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each runs one tool with the arguments of `main` and returns its exit code. At
 * most one may run per process. */
TILEMLIR_CAPI_EXPORTED int tilemlirOptMain(int argc, char **argv);
TILEMLIR_CAPI_EXPORTED int tilemlirTranslateMain(int argc, char **argv);
TILEMLIR_CAPI_EXPORTED int tilemlirLspServerMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif /* TILEMLIR_C_TOOLS_H */
