"""The site's reader of docstrings knows a section "Examples:" of doctests, and ours are called "Example:"."""

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Rename the section while docstrings are read; the sources stay as they are."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
