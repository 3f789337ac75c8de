"""The results of the study of deciding by world, weeks and way, and how far the posterior leads rules of thumb."""

from typing import NamedTuple

import numpy as np

from armwise.evaluation.simple_rules import RULES_OF_THUMB
from reproduction.studies.deciding.study import POSTERIOR, WEEKS, Row


class Cell(NamedTuple):
    """The qualities of one way in one world after some weeks, by seed."""

    quality: np.ndarray

    @property
    def mean(self) -> float:
        """Over seeds."""
        return float(self.quality.mean())

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {standard_error(self.quality):.2f}"


Key = tuple[str, str, int, str]  # judged by, world, weeks, way


def gather(rows: list[Row]) -> dict[Key, Cell]:
    """The qualities of every cell, in the order of seeds."""
    values: dict[Key, list[float]] = {}
    for row in sorted(rows, key=lambda row: row.seed):
        values.setdefault((row.judged_by, row.world, row.weeks, row.way), []).append(row.quality)
    return {key: Cell(np.array(quality)) for key, quality in values.items()}


def standard_error(values: np.ndarray) -> float:
    """Of the mean, over seeds."""
    return float(values.std(ddof=1) / len(values) ** 0.5)


def places_of(cells: dict[Key, Cell]) -> list[tuple[str, int]]:
    """The pairs of a world and a number of weeks, in order."""
    return list(dict.fromkeys(key[1:3] for key in cells))


def lead_over_rules(cells: dict[Key, Cell]) -> str:
    """What the posterior reaches by behaviour, and how far it is ahead of rules of thumb, in sentences."""
    places, rules = places_of(cells), list(RULES_OF_THUMB)
    of = {(place, way): cells["behaviour", *place, way] for place in places for way in (POSTERIOR, *rules)}
    first = [of[place, POSTERIOR].mean / of[place, "disengaged first"].mean - 1 for place in places]
    leads = [of[place, POSTERIOR].quality - of[place, rule].quality for place in places for rule in rules]
    behind = sum(bool(lead.mean() < -standard_error(lead)) for lead in leads)
    in_default = ", ".join(f"{of[('default', weeks), POSTERIOR].mean:.2f}" for weeks in WEEKS)
    return (
        f"The {POSTERIOR} reaches {in_default} by behaviour after {', '.join(map(str, WEEKS))} weeks of the default "
        f"world. Over all worlds and weeks it is {np.mean(first):.0%} above disengaged first on average ("
        f"{min(first):.0%} to {max(first):.0%}). It is behind a rule of thumb by more than a standard error in "
        f"{behind} of {len(leads)} comparisons."
    )
