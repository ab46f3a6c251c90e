"""Loading and launching of compiled kernels.

`LoadedKernel` is a launch plan with its images; calling it checks the arguments and launches. `cuda` describes devices.
"""

from tilemlir.runtime.kernel import LoadedKernel, PreparedLaunch, host_symbols

__all__ = ["LoadedKernel", "PreparedLaunch", "host_symbols"]
