// tile-translate: calls its main function in the library that holds the
// compiler.
#include "tilemlir-c/Tools.h"

int main(int argc, char **argv) { return tilemlirTranslateMain(argc, argv); }
