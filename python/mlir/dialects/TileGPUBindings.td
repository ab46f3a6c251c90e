// What the Python bindings of the `tile_gpu` dialect are generated from.
#ifndef TILEMLIR_PYTHON_TILEGPUBINDINGS
#define TILEMLIR_PYTHON_TILEGPUBINDINGS

include "tilemlir/Dialect/TileGPU/IR/TileGPUOps.td"

#endif
