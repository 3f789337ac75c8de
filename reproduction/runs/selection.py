"""The one rule by which the results choose a setting, a loss or a run."""

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from reproduction.runs.records import group_by

RowType = TypeVar("RowType")

SETTING = ("learning_rate", "temperature")


def choose(rows: Sequence[RowType], by: str = "validation_loss", among: Sequence[str] = SETTING) -> list[RowType]:
    """The rows of the choice that is best on average; no rows of no rows.

    The lowest mean is best of a loss, and the highest of a quality. A run that diverged is worse than any other. Of
    choices that are equally good, the first is taken. It is used for

    - tables, figures and claims, as in the paper: a loss's setting, by validation loss;
    - the same for each split and first weights alone, where one setting for all is not asked for;
    - what the study of recipes and its candidates choose: loss and setting, by validation quality;
    - the recommended recipe without caution: weight of the squared error and learning rate, by validation quality;
    - what a claim or the recipe is compared with: the loss of the highest test quality, which no one would know in
      practice, so that the comparison is the hardest one.

    Args:
        rows: of one job, or of several to choose among.
        by: the column to compare by, a loss or a quality.
        among: the columns whose values are the choice.
    """
    sign = -1 if by.endswith("quality") else 1

    def mean(own: Sequence[RowType]) -> float:
        values = [sign * getattr(row, by) for row in own]
        return float(np.mean([value if math.isfinite(value) else math.inf for value in values]))

    return min(group_by(rows, *among).values(), key=mean, default=[])
