"""Python classes of the `tile` dialect: operations and enumerations."""

from ._tile_enum_gen import *
from ._tile_ops_gen import *
