"""Timing kernels and checking them against a reference, with TileLang's names and meanings."""

from tilemlir.profiler.bench import do_bench
from tilemlir.profiler.compare import assert_close
from tilemlir.profiler.profiler import Profiler
from tilemlir.profiler.supply import TensorSupplyType, make_tensor

__all__ = ["Profiler", "TensorSupplyType", "assert_close", "do_bench", "make_tensor"]
