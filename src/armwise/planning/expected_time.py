"""How long learning takes, said before it starts. Only printed: nothing depends on it, nor on any clock."""

# Processor time of the recipe with two states and the linear model, on a server with two cores (docs/planning.md):
# to compile, and for each thousand people as far as all runs go, or as runs usually stop.
_TO_COMPILE = 30.0
_TYPICAL, _MOST = 17.0, 34.0


def expected_time(num_people: int, cohort_size: int, max_cohorts: int, kind: str) -> str:
    """A sentence on the processor time that the recipe will take.

    Args:
        num_people: to learn from.
        cohort_size: people of a cohort; at most ``max_cohorts`` cohorts are learned from.
        max_cohorts: see there.
        kind: of model; only "linear" was measured.
    """
    used = min(num_people, cohort_size * max_cohorts)
    typical, most = (_TO_COMPILE + each * used / 1000 for each in (_TYPICAL, _MOST))
    larger = "" if kind == "linear" else f" A model of kind {kind} takes longer."
    return (
        f"Learning from {num_people:,} people: about {_in_words(typical)} of processor time, {_in_words(most)} at "
        f"most, as measured on two cores.{larger}"
    )


def _in_words(seconds: float) -> str:
    """Rounded up: seconds to tens, and from two minutes on to whole minutes."""
    if seconds <= 120:
        return f"{-int(-seconds // 10) * 10} seconds"
    return f"{-int(-seconds // 60):,} minutes"
