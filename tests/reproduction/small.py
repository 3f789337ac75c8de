"""A domain, a protocol and rows small enough for tests."""

from armwise.data import synthetic
from reproduction.parts import write_part
from reproduction.results import JOB, MADE, SIZES
from reproduction.runs.protocol import Protocol
from reproduction.runs.records import RunRow, group_by

PROTOCOL = Protocol(2, 2, (1e-2, 1e-3), (1.0, 0.1), num_epochs=3, num_trajectories=4, horizon=5)


def small_domain(num_states=2):
    knobs = {"num_cohorts": 8, "num_arms": 6, "budget": 2, "width": 10, "num_layers": 3, "num_features": 3}
    return synthetic(2, num_states=num_states, **knobs)._replace(sizes=(3, 2, 3))


def run_row(**changes):
    fields = dict.fromkeys(("domain", "variant", "model", "loss", "hardware"), "")
    fields |= {"domain": "synthetic-2", "model": "linear", "loss": "mse", "temperature": None}
    whole = ("split", "initialisation", "num_splits", "num_initialisations", "num_learning_rates", "num_temperatures")
    fields |= dict.fromkeys((*whole, "num_epochs", "best_epoch", "num_test_cohorts", "num_trajectories"), 1)
    parts = ("quality", "achieved", "never", "perfect", "by_cohort")
    fields |= {f"{kind}_{part}": 0.5 for kind in ("joint", "decomposed") for part in parts}
    fields |= dict.fromkeys(("learning_rate", "validation_loss", "validation_quality"), 0.25)
    fields |= dict.fromkeys(("train_seconds", "evaluate_seconds"), 2.0)
    return RunRow(**(fields | changes))


def write_runs(results, study, rows, **tables):
    """Rows of runs as parts of a study."""
    for number, own in enumerate(group_by(rows, *JOB, *SIZES).values()):
        page = {name: getattr(own[0], name) for name in (*JOB, *SIZES)}
        write(results, study, f"part {number}", page, {"runs": own, **tables})


def write(results, study, name, page, tables):
    made = dict.fromkeys(MADE, "") | {"wall_seconds": 1.0, "asked": {}}
    return write_part(results, study, name, made | page, tables)
