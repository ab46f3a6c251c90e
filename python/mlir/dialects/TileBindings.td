// What the Python bindings of the `tile` dialect are generated from.
#ifndef TILEMLIR_PYTHON_TILEBINDINGS
#define TILEMLIR_PYTHON_TILEBINDINGS

include "tilemlir/Dialect/Tile/IR/TileOps.td"

#endif
