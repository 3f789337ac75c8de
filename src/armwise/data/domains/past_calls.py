"""Rules that a simulated programme used in the past to choose whom to call."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from armwise.data.domains.history import UNSEEN, Choose
from armwise.errors import InvalidInputError

Urgency = Callable[[Int[np.ndarray, "people weeks"]], Float[np.ndarray, " people"]]


def last_seen_state(seen: Int[np.ndarray, "people weeks"]) -> Float[np.ndarray, " people"]:
    """The state in the last observed week; infinite for a person not observed yet, who is called last."""
    return _carried_forward(seen)[:, -1]


def disengaged_run(seen: Int[np.ndarray, "people weeks"]) -> Float[np.ndarray, " people"]:
    """Minus the current run of weeks in the lowest state; an unobserved week has the last observed state."""
    elsewhere = (_carried_forward(seen) != 0)[:, ::-1]
    run = np.where(elsewhere.any(axis=1), elsewhere.argmax(axis=1), seen.shape[1])
    return np.where((seen == UNSEEN).all(axis=1), np.inf, -run)


def engaged_share(seen: Int[np.ndarray, "people weeks"]) -> Float[np.ndarray, " people"]:
    """The share of engaged weeks among the observed weeks; infinite for a person not observed yet."""
    weeks = (seen != UNSEEN).sum(axis=1)
    return np.where(weeks > 0, (seen > 0).sum(axis=1) / np.maximum(weeks, 1), np.inf)


def _all_alike(seen: Int[np.ndarray, "people weeks"]) -> Float[np.ndarray, " people"]:
    return np.zeros(len(seen))


# The lowest value is called first.
PAST_CALLS: dict[str, Urgency] = {
    "random": _all_alike,
    "disengaged first": last_seen_state,
    "longest first": disengaged_run,
    "lowest share": engaged_share,
    "once": _all_alike,
}


def choose_calls(rule: str, lots: Float[np.ndarray, "people weeks"], calls: int) -> Choose:
    """The rule as a function that chooses each week's calls from what was observed up to that week.

    Args:
        rule: one of ``PAST_CALLS``. "once" calls people in random order, each once, and then stops.
        lots: uniform random numbers; between equally urgent people, the lower lot is called first.
        calls: people called each week; if there are fewer people, all of them.
    """
    if rule not in PAST_CALLS:
        raise InvalidInputError(f"past_calls must be one of {', '.join(map(repr, PAST_CALLS))}, not {rule!r}.")

    def choose(
        seen: Int[np.ndarray, "people now"], past: Int[np.ndarray, "people before"]
    ) -> Bool[np.ndarray, " people"]:
        order = np.lexsort((lots[:, past.shape[1]], PAST_CALLS[rule](seen)))
        if rule == "once":
            order = order[past[order].sum(axis=1) == 0]
        chosen = np.zeros(len(seen), dtype=bool)
        chosen[order[:calls]] = True
        return chosen

    return choose


def _carried_forward(seen: Int[np.ndarray, "people weeks"]) -> Float[np.ndarray, "people weeks"]:
    """Each week's state, or the last one observed before it; infinite if there is none."""
    weeks = np.where(seen != UNSEEN, np.arange(seen.shape[1]), -1)
    last = np.maximum.accumulate(weeks, axis=1)
    states = np.take_along_axis(seen, np.maximum(last, 0), axis=1).astype(float)
    return np.where(last >= 0, states, np.inf)
