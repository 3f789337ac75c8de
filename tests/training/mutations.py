"""Random changes of a JSON page: types swapped, names dropped and added, numbers negative, huge or none, nesting."""

import copy
from typing import Any

import numpy as np

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 10**6, 10**9, 10**30, -(10**30), 0.5, -0.5, 1e-300, 1e300),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "float32", "Linear", "é" * 50, "\x1b[31m", "\ud800"),
    *([], [[]], [1], [-1], [None], ["a", "b"], [[1, 2], [3]], [[[[1]]]], {}, {"kind": "Linear"}, {"kind": "DecDFL"}),
    *({"kind": []}, {"a": {"b": {"c": []}}}),
)


def places(page: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a page."""
    names = list(page) if isinstance(page, dict) else range(len(page)) if isinstance(page, list) else ()
    return [path, *(place for name in names for place in places(page[name], (*path, name)))]


def mutated(page: Any, rng: np.random.Generator) -> Any:
    """The page with one to three changes."""
    page = copy.deepcopy(page)
    for _ in range(rng.integers(1, 4)):
        candidates = [place for place in places(page) if place]
        if not candidates:
            break
        *path, last = candidates[rng.integers(len(candidates))]
        inside = page
        for name in path:
            inside = inside[name]
        change(inside, last, rng)
    return page


def change(inside: Any, name: Any, rng: np.random.Generator) -> None:
    """Change one value in a list or an object."""
    kind = rng.integers(6)
    if kind == 0:
        del inside[name]
    elif kind == 1 and isinstance(inside, dict):
        inside[f"{name}x"] = inside[name]
    elif kind == 1:
        inside.append(inside[name])
    elif kind == 2:
        inside[name] = [inside[name]]
    elif kind == 3 and isinstance(inside[name], int | float):
        inside[name] = inside[name] * float(rng.choice([-1.0, 1e6, 0.5, 1e308]))
    else:
        inside[name] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
