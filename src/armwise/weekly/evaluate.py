"""``armwise evaluate``: from a programme's own files, what past calls did and how armwise's lists would have done."""

from collections.abc import Callable, Mapping

import numpy as np

from armwise.data import transition_counts
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.io.reading import PathLike
from armwise.losses import DecDFL, Loss, MeanSquaredError
from armwise.mixtures import EntropyMixture
from armwise.planner import Backtest, bound_of_100_calls
from armwise.planner.backtest import WayJudged
from armwise.planner.past_lists import NUM_ORIGINS, choose_origins
from armwise.programme.loading import load_programme
from armwise.programme.programme_data import ProgrammeData
from armwise.rmab import Problem
from armwise.training import TrainConfig
from armwise.training.engine import progress_bar
from armwise.training.recipe import TEMPERATURE
from armwise.weekly.calibration import compare_with_observed
from armwise.weekly.evaluation_file import Assessment
from armwise.weekly.expected_time import expected_backtest_time
from armwise.weekly.fit import CHAINS, make_planner, table_of
from armwise.weekly.groups import group_labels

# Gains of past lists count the 12 steps after a call in full. A bound with a smaller discount would be below them.
LONG_RUN = 0.99


def losses_to_compare() -> dict[str, Loss | None]:
    """The losses to compare with the recommended loss: accuracy alone and decisions alone."""
    return {"accuracy (MSE)": MeanSquaredError(), "decisions (Fast DEC-DFL)": DecDFL(EntropyMixture(TEMPERATURE))}


def assess_programme(
    path: PathLike,
    *,
    seed: int = 0,
    kind: str = CHAINS,
    despite_outage: bool = False,
    progress: bool | None = False,
    config: TrainConfig | None = None,
    losses: Mapping[str, Loss | None] | None = None,
    started: Callable[[str], None] | None = None,
) -> Assessment:
    """Judge whom armwise would have called, on past weeks and people it has not learned from (``planner.backtest``).

    Args:
        path: the path of ``programme.toml``.
        seed: divides the people, and draws the resamples for the intervals.
        kind: the kind of model, as in ``fit_programme``.
        despite_outage: whether to go on if the last step was hardly observed.
        progress: whether to show a bar on stderr; None shows it on a terminal.
        config: how to train; by default as recommended.
        losses: other losses to learn by and compare with, by name; by default those of ``losses_to_compare``. An empty
            mapping takes a third of the time.
        started: called before the work starts, with a sentence on what will be done and how long it will take.
    """
    data = load_programme(path, despite_outage=despite_outage)
    planner = make_planner(data, seed, kind)
    planner.set_params(config=config)
    compared = losses_to_compare() if losses is None else losses
    num_fits = 2 * (1 + len(compared)) * len(choose_origins(data.trajectories, NUM_ORIGINS))
    if started is not None:
        started(expected_backtest_time(len(data.ids), num_fits, 1 + len(compared), kind))
    with progress_bar("Backtest", num_fits, progress) as tick:
        result = planner.backtest(
            table_of(data),
            data.trajectories,
            groups=group_labels(data),
            losses=compared,
            advance=lambda: tick(1),
        )
    return _keep(data, result, seed)


def _keep(data: ProgrammeData, result: Backtest, seed: int) -> Assessment:
    left_alone, called = compare_with_observed(result.expected, result.decisions)
    return Assessment(
        inputs=data.inputs,
        num_people=len(data.ids),
        effects=result.effects,
        ways=_in_order(result.ways),
        predictions=result.predictions,
        left_alone=left_alone,
        called=called,
        num_states=len(result.levels),
        origins=result.origins,
        num_judged=result.num_judged,
        num_calls=result.num_calls,
        budget_share=result.budget_share,
        bound=_bound(data, result, seed),
    )


def _in_order(ways: tuple[WayJudged, ...]) -> tuple[WayJudged, ...]:
    """The learned ways first, then the rules of thumb in their usual order."""
    places = list(RULES_OF_THUMB)
    return tuple(sorted(ways, key=lambda way: places.index(way.name) if way.name in places else -1))


def _bound(data: ProgrammeData, result: Backtest, seed: int) -> float | None:
    if not result.effects.is_enough:
        return None
    history = data.trajectories
    seen = np.asarray(history.states)[np.asarray(history.observed)]
    shares = np.bincount(seen, minlength=history.num_states) / len(seen)
    counts = np.asarray(transition_counts(history), dtype=float)[:, :, 0]
    problem = Problem(discount=LONG_RUN, initial=shares)
    return bound_of_100_calls(result.judge, result.levels, counts, problem, result.budget_share, seed)
