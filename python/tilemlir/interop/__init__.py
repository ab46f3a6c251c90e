"""Bridges to array frameworks: the only package of tilemlir that imports torch, and only once it is needed.

`frameworks` describes, allocates and queries tensors for the native launcher; `dtypes` maps element types between
names, NumPy and torch.
"""

from tilemlir.interop import dtypes, frameworks

__all__ = ["dtypes", "frameworks"]
