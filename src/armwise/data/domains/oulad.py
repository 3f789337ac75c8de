"""Students of the Open University: real weekly engagement with a simulated nudge, because none was recorded."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float

from armwise._validation import check_count, check_not_negative, check_share, generator
from armwise.data.cohorts import partition
from armwise.data.counts import count_index, estimate_transitions, transition_counts
from armwise.data.domains.domain import Domain, left_over_note, split_sizes
from armwise.data.domains.traits import trait
from armwise.data.encoding import encode
from armwise.data.features import Features
from armwise.data.files import Folder, read_table
from armwise.data.trajectories import Trajectories, discretise, first_state_shares
from armwise.errors import InvalidInputError
from armwise.rmab import Problem

FILE = "oulad_weekly_clicks.csv.gz"
LAST_WEEK = 38
CATEGORICAL = ("code_module", "gender", "region", "highest_education", "imd_band", "age_band", "disability")
NUMERIC = ("num_of_prev_attempts", "studied_credits")
KEYS = ("code_module", "code_presentation", "id_student")


def oulad(
    path: Folder,
    seed: Any = 0,
    *,
    weeks: tuple[int, int] = (0, 7),
    thresholds: Any = (0,),
    nudge_share: float = 0.1,
    nudge_effect: float = 0.2,
    nudge_spread: float = 0.15,
    explained: float = 0.5,
    num_bins: int = 4,
    size: int = 100,
    budget: int = 5,
    prior_strength: float = 5.0,
    discount: float = 0.9,
) -> Domain:
    """Weekly engagement of the Open University Learning Analytics Dataset (Kuzilek et al. 2017, CC BY 4.0).

    What people do without a nudge is real. No intervention was recorded, so a nudge is SIMULATED on top: with the
    person's own probability |q| it moves the next state one up (one down if q < 0). A random share of the real
    transitions counts as nudged. The next state of such a transition is moved, and the following transition starts from
    the real state again. The true transitions use what the simulation knows. Without a nudge, they are the paper's
    estimate from all real transitions. With a nudge, they are the same row moved by exactly q.

    We keep the students who were registered by day 0 and had not unregistered by then. Features: the module and
    eight intake columns as categories, with numbers cut at quantiles and a separate level for missing values.

    Args:
        path: the folder that holds ``oulad_weekly_clicks.csv.gz``.
        seed: the seed of the nudges and the cohorts; a whole number or a JAX key.
        weeks: first and last week of the trajectories, 0 to 38. Weeks after a module's end are not observed.
        thresholds: clicks in a week that a state must exceed; one threshold makes two states.
        nudge_share: share of transitions that are nudged.
        nudge_effect: mean of q.
        nudge_spread: standard deviation of q between people; q is kept in [−0.9, 0.9].
        explained: share of q's variance that is a linear function of the features.
        num_bins: quantile levels of each numeric column.
        size: people in a cohort.
        budget: nudges per cohort and week.
        prior_strength: the number of observations that the pool counts for.
        discount: weight of next week's reward.
    """
    rng = generator(seed)
    table = _read(Path(path))
    trajectories = _trajectories(table, weeks, thresholds)
    features = encode(table, CATEGORICAL, NUMERIC, check_count("num_bins", num_bins, minimum=2))
    effect = _effects(rng, features, nudge_effect, nudge_spread, explained)
    passive = estimate_transitions(np.asarray(transition_counts(trajectories))[:, :, :1], prior_strength)
    transitions = with_nudge(np.asarray(passive)[:, :, 0], effect)
    counts = _nudged_counts(rng, trajectories, effect, check_share("nudge_share", nudge_share))
    people = partition(int(rng.integers(2**32)), features, transitions, counts, size, budget)
    problem = Problem(discount=discount, initial=first_state_shares(trajectories))
    note = (
        f"Real engagement of {table.height:,} enrolments; the nudge and its effect (mean {nudge_effect:g}, spread "
        f"{nudge_spread:g}, {nudge_share:.0%} of transitions) are simulated. {left_over_note(people.left_over, size)}"
    )
    sizes = split_sizes(people.cohorts.num_cohorts)
    return Domain(people.cohorts, problem, sizes, "OULAD (simulated nudge)", note)


def with_nudge(
    passive: Float[np.ndarray, "arms states states"], effect: Float[np.ndarray, " arms"]
) -> Float[np.ndarray, "arms states 2 states"]:
    """Transitions without and with a nudge, which moves the next state one up, or one down, with probability |effect|.

    Example:
        >>> with_nudge(np.array([[[0.5, 0.5], [0.25, 0.75]]]), np.array([0.5]))[0, :, 1].tolist()
        [[0.25, 0.75], [0.125, 0.875]]
    """
    probability = effect[:, None, None]
    moved = np.where(probability > 0, _moved(passive), _moved(passive[..., ::-1])[..., ::-1])
    active = (1 - np.abs(probability)) * passive + np.abs(probability) * moved
    return np.stack([passive, active], axis=2)


def _moved(rows: Float[np.ndarray, "arms states states"]) -> Float[np.ndarray, "arms states states"]:
    """The distribution of the next state after one step up; the highest state stays."""
    up = np.concatenate([np.zeros_like(rows[..., :1]), rows[..., :-1]], axis=-1)
    up[..., -1] += rows[..., -1]
    return up


def _read(folder: Path) -> pl.DataFrame:
    clicks = dict.fromkeys([_week_column(week) for week in range(LAST_WEEK + 1)], int)
    words, numbers = dict.fromkeys([*CATEGORICAL, "code_presentation"], str), dict.fromkeys(NUMERIC, float)
    dates = {"date_registration": float, "date_unregistration": float}
    optional = frozenset([*CATEGORICAL[1:], *NUMERIC, *dates])
    columns = {**words, "id_student": int, **numbers, **dates, "last_week": int, **clicks}
    table = read_table(folder / FILE, columns, optional)
    left_early = (pl.col("date_unregistration") <= 0).fill_null(False)
    # Sort, so that neither cohorts nor nudges depend on the order of the file's lines.
    return table.filter((pl.col("date_registration") <= 0) & ~left_early).sort(KEYS)


def _trajectories(table: pl.DataFrame, weeks: tuple[int, int], thresholds: Any) -> Trajectories:
    first, last = weeks
    if not 0 <= first < last <= LAST_WEEK:
        raise InvalidInputError(f"weeks must be two increasing numbers between 0 and {LAST_WEEK}, not {weeks!r}.")
    numbers = np.arange(first, last + 1)
    clicks = table.select([_week_column(week) for week in range(first, last + 1)]).to_numpy()
    states, _ = discretise(clicks, thresholds)
    running = numbers[None] <= table["last_week"].to_numpy()[:, None]
    return Trajectories.from_arrays(states, np.zeros_like(states), running, len(thresholds) + 1)


def _week_column(week: int) -> str:
    return f"c{week:02d}"


def _effects(
    rng: np.random.Generator, features: Features, mean: float, spread: float, explained: float
) -> Float[np.ndarray, " arms"]:
    own = trait(rng, features, check_share("explained", explained))
    return np.clip(mean + check_not_negative("nudge_spread", spread) * own, -0.9, 0.9)


def _nudged_counts(
    rng: np.random.Generator, trajectories: Trajectories, effect: Float[np.ndarray, " arms"], share: float
) -> np.ndarray:
    """The counts of the real transitions, where some are nudged and have their next states moved."""
    states, observed = np.asarray(trajectories.states), np.asarray(trajectories.observed)
    arm, step = np.nonzero(observed[:, :-1] & observed[:, 1:])
    nudged = rng.random(len(arm)) < share
    moves = nudged & (rng.random(len(arm)) < np.abs(effect[arm]))
    shifted = states[arm, step + 1] + np.where(moves, np.sign(effect[arm]), 0).astype(int)
    after = np.clip(shifted, 0, trajectories.num_states - 1)
    shape = (trajectories.num_arms, trajectories.num_states, 2, trajectories.num_states)
    return count_index((arm, states[arm, step], nudged.astype(int), after), shape)
