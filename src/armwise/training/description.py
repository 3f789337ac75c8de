"""Losses as JSON and back, by the names of their classes and fields."""

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
from armwise.training.untrusted import naming, shown

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
    """Build the loss or mixture that ``describe`` described. Unknown kinds are refused."""
    if isinstance(page, list):
        return tuple(build(part, where) for part in page)
    if not isinstance(page, dict):
        return page
    name = page.get("kind")
    if not isinstance(name, str) or name not in _KINDS:
        raise InvalidInputError(f"{where}: {shown(repr(name))} is no loss or mixture of armwise.")
    entries = {name: value for name, value in page.items() if name != "kind"}
    check_entries(entries, _KINDS[name], where)
    built = {name: build(value, where) for name, value in entries.items()}
    with naming(f"{where}: {name}"):
        return _KINDS[name](**built)


def check_entries(page: dict[str, Any], kind: type, where: str) -> None:
    """Refuse entries that are not fields, and required fields that have no entry.

    A field with a default may be missing: the file may be older than the option, and was then made without it.
    """
    names = {field.name for field in dataclasses.fields(kind)}
    needed = {field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING}
    odd = (set(page) - names) | (needed - set(page))
    if odd:
        raise InvalidInputError(
            f"{where}: {kind.__name__} has missing or unknown entries: {shown(', '.join(sorted(odd)))}."
        )
