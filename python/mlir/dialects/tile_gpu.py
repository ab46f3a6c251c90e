"""Python classes of the `tile_gpu` dialect: operations and enumerations."""

from ._tile_gpu_enum_gen import *
from ._tile_gpu_ops_gen import *
