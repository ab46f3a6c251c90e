"""Facts about devices, under the module name that TileLang's programs import."""

from tilemlir.carver import arch

__all__ = ["arch"]
