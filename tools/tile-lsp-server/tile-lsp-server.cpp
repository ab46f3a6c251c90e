// tile-lsp-server: calls its main function in the library that holds the
// compiler.
#include "tilemlir-c/Tools.h"

int main(int argc, char **argv) { return tilemlirLspServerMain(argc, argv); }
