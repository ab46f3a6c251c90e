"""Facts about the current device; ``driver`` is the part that TileLang's examples use."""

from tilemlir.carver.arch import driver

__all__ = ["driver"]
