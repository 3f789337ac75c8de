"""Measurements, side by side with peers; each module is one benchmark and writes its part of results/."""

import importlib.util
import sys
import types


class _StandIn(types.ModuleType):
    """Lets ``armwise.data`` be imported where polars is missing; whatever is asked of it is an empty class."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


# The accelerator's machine need not have polars: nothing measured there reads a table.
if importlib.util.find_spec("polars") is None:
    sys.modules["polars"] = _StandIn("polars")
