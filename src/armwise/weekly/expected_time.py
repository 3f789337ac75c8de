"""Estimate how long learning takes. The estimate is only printed before learning starts; no result depends on it."""

# Seconds of processor time of the recipe with two states and the linear model, on a server with two cores
# (docs/planning.md): to compile, and for each thousand people if runs stop when they usually do, or at the latest.
_TO_COMPILE = 30.0
_TYPICAL, _MOST = 17.0, 34.0


def expected_time(num_people: int, cohort_size: int, max_cohorts: int, kind: str) -> str:
    """A sentence on the processor time that the recipe will take.

    Args:
        num_people: people to learn from.
        cohort_size: people in a cohort.
        max_cohorts: the most cohorts that are learned from.
        kind: the kind of model; only "linear" was measured.
    """
    used = min(num_people, cohort_size * max_cohorts)
    typical, most = (_TO_COMPILE + each * used / 1000 for each in (_TYPICAL, _MOST))
    larger = "" if kind == "linear" else f" A model of kind {kind} takes longer."
    return (
        f"Learning from {num_people:,} people: about {_in_words(typical)} of processor time, {_in_words(most)} at "
        f"most, as measured on two cores.{larger}"
    )


# Seconds for chains: to compile, and for each million of people's weeks. At most 100,000 people are learned from.
_TO_COMPILE_CHAINS, _MILLION_WEEKS, _MOST_IN_CHAINS = 20.0, 35.0, 100_000


def expected_chain_time(num_people: int, num_steps: int) -> str:
    """A sentence on the processor time that learning people's chains will take.

    Args:
        num_people: people to learn from; if there are more than 100,000, a sample of 100,000 is used.
        num_steps: steps of their histories.
    """
    weeks = min(num_people, _MOST_IN_CHAINS) * num_steps / 1e6
    typical = _in_words(_TO_COMPILE_CHAINS + _MILLION_WEEKS * weeks)
    return f"Learning from {num_people:,} people: about {typical} of processor time, as measured on two cores."


# Seconds for a backtest: to start; to compile for each loss; and for each thousand people, one fit and the judging.
_START_BACKTEST, _EACH_LOSS, _EACH_FIT, _JUDGING = 12.0, 5.0, 0.2, 1.3
# refit_cheaply learns from 10,000 people at most, which is half of these.
_MOST_IN_FITS = 20_000


def expected_backtest_time(num_people: int, num_fits: int, num_losses: int, kind: str) -> str:
    """A sentence on what a backtest does, and on the processor time that it will take.

    Args:
        num_people: people in the programme; a planner learns from half of them at a time.
        num_fits: how often planners learn.
        num_losses: the number of losses that they learn by.
        kind: the kind of model; only "chains" and "linear" were measured.
    """
    fits = _EACH_FIT * num_fits * min(num_people, _MOST_IN_FITS) / 1000
    seconds = _START_BACKTEST + _EACH_LOSS * num_losses + fits + _JUDGING * num_people / 1000
    larger = "" if kind in ("chains", "linear") else f" A model of kind {kind} takes longer."
    return (
        f"Backtest: learning {num_fits} times from the early steps of half of {num_people:,} people, and judging on "
        f"the later steps of the others. About {_in_words(seconds)} of processor time, as measured on two "
        f"cores.{larger}"
    )


def _in_words(seconds: float) -> str:
    """The time in words, rounded up: to ten seconds, and above two minutes to whole minutes."""
    if seconds <= 120:
        return f"{-int(-seconds // 10) * 10} seconds"
    return f"{-int(-seconds // 60):,} minutes"
