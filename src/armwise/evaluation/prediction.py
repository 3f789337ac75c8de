"""How well the next state was predicted, for steps and people that the prediction had not seen."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armwise.evaluation.decisions import Decisions
from armwise.evaluation.resampling import BLOCK, Estimate, Resampled, draw_weights

# A lower limit on predicted probabilities: without it, one wrong prediction with certainty would cost infinitely much.
SMALLEST = 1e-6


class PredictionQuality(NamedTuple):
    """The average surprise (log-loss) of one way to predict; smaller is better.

    Attributes:
        name: of the way to predict.
        log_loss: −log of the probability given to what happened, averaged over decisions without a call.
        lead: how much larger its log-loss is than that of the first way.
    """

    name: str
    log_loss: Estimate
    lead: Estimate


def judge_predictions(
    decisions: Decisions,
    judged: Bool[np.ndarray, "people steps"],
    rows: Mapping[str, Float[np.ndarray, "people steps states"]],
    num_resamples: int,
    seed: int,
) -> tuple[PredictionQuality, ...]:
    """Compare predictions of the next state after decisions without a call.

    Args:
        decisions: of all people.
        judged: the decisions that count.
        rows: the predicted distribution of the next state, by the name of the way to predict.
        num_resamples: of people.
        seed: of the resamples.
    """
    alone = judged & (decisions.called == 0)
    losses = {name: _log_loss(decisions, alone, each, num_resamples, seed) for name, each in rows.items()}
    first = next(iter(losses.values()))
    return tuple(
        PredictionQuality(
            name, each.interval(), Resampled(each.value - first.value, each.draws - first.draws).interval()
        )
        for name, each in losses.items()
    )


def _log_loss(
    decisions: Decisions,
    alone: Bool[np.ndarray, "people steps"],
    rows: Float[np.ndarray, "people steps states"],
    num_resamples: int,
    seed: int,
) -> Resampled:
    given = np.take_along_axis(rows, decisions.next_states[..., None], axis=-1)[..., 0]
    sums = np.where(alone, -np.log(np.maximum(given, SMALLEST)), 0.0).sum(axis=1)
    parts = np.stack([sums, alone.sum(axis=1)], axis=1)
    totals = np.zeros((num_resamples + 1, 2))
    for number, start in enumerate(range(0, len(parts), BLOCK)):
        block = parts[start : start + BLOCK]
        totals += draw_weights(len(block), num_resamples, seed, number) @ block
    means = totals[:, 0] / np.maximum(totals[:, 1], 1)
    return Resampled(means[0], means[1:])
