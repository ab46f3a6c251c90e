// Owns the precompiled header that every MLIR-using library reuses; holds no
// code.
