"""Losses in words: to JSON and back, by the names of classes and fields."""

import dataclasses
from typing import Any

import numpy as np

from armwise.errors import InvalidInputError
from armwise.losses import (
    Annealed,
    DecDFL,
    Loss,
    MeanSquaredError,
    NegativeLogLikelihood,
    PriceDFL,
    SimDFL,
    WarmStart,
    WeightedSum,
)
from armwise.mixtures import CvxpyMixture, EntropyMixture, LinearMixture, Mixture, QuadraticMixture

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(MeanSquaredError, NegativeLogLikelihood, SimDFL, DecDFL, PriceDFL, WeightedSum, WarmStart, Annealed),
        *(EntropyMixture, QuadraticMixture, LinearMixture, CvxpyMixture),
    )
}


def describe(value: Any) -> Any:
    """A loss or mixture as plain JSON: its class under "kind", then its fields.

    Example:
        >>> describe(DecDFL(EntropyMixture(0.1)))["mixture"]
        {'kind': 'EntropyMixture', 'temperature': 0.1}
    """
    if isinstance(value, Loss | Mixture):
        fields = {field.name: describe(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"kind": type(value).__name__} | fields
    if isinstance(value, tuple | list):
        return [describe(part) for part in value]
    return np.asarray(value).tolist() if hasattr(value, "shape") else value


def build(page: Any, where: str) -> Any:
    """The loss or mixture that ``describe`` described; anything it does not know is refused."""
    if isinstance(page, list):
        return tuple(build(part, where) for part in page)
    if not isinstance(page, dict):
        return page
    kind = _KINDS.get(page.get("kind", ""))
    if kind is None:
        raise InvalidInputError(f"{where}: {page.get('kind')!r} is no loss or mixture of armwise.")
    names = {field.name for field in dataclasses.fields(kind)}
    if set(page) - {"kind"} != names:
        odd = ", ".join(sorted((set(page) - {"kind"}) ^ names))
        raise InvalidInputError(f"{where}: {kind.__name__} has missing or unknown entries: {odd}.")
    return kind(**{name: build(page[name], where) for name in names})
