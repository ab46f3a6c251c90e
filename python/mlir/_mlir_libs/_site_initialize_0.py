"""Run by the bindings when they are first imported: every new context knows the tile dialects."""

from ._tilemlir import register_dialects, register_passes

__all__ = ["context_init_hook", "disable_load_all_available_dialects", "register_dialects"]

# Dialects are loaded when they are first used: loading all of them costs milliseconds in every context.
disable_load_all_available_dialects = True

register_passes()


def context_init_hook(context) -> None:
    """Loads the dialects that a traced program consists of.

    The C++ half is enough: ``context.dialects[name]`` would import a module with a class for every operation.
    """
    for name in ("arith", "func", "math", "memref", "scf", "tile"):
        context.get_dialect_descriptor(name)
