"""tilemlir: a tile compiler on MLIR."""

__version__ = "0.1.0"
