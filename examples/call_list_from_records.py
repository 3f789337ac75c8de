"""From a study's own records to a call list, through the public interface only: OULAD students, CTN-0094 patients.

``python examples/call_list_from_records.py [folder of data sets]``. Nothing here knows armwise from inside: raw files
are read with Polars, tables go in, a call list comes out.

Both data sets are real. OULAD recorded no outreach, so a nudge is SIMULATED on top of it (students of the module's
first weeks who are nudged come back more often); its list shows the way, not whom to call. In CTN-0094 the "call" is
the randomised treatment with methadone rather than buprenorphine, the same for a person in all weeks.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

import armwise as aw

DATA = Path(__file__).parents[1].parent / "shared" / "data"
OULAD_FILE, CTN_STATES, CTN_FEATURES = "oulad_weekly_clicks.csv.gz", "weekly_states.csv.gz", "features.csv.gz"


def oulad(folder: Path, weeks: int = 8) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Students and their weeks: engaged is any click in the week; one week in ten is nudged, which is simulated."""
    raw = pl.read_csv(folder / OULAD_FILE, infer_schema_length=None)
    there = (pl.col("date_registration") <= 0) & ~(pl.col("date_unregistration") <= 0).fill_null(False)
    keys = ["code_module", "code_presentation", "id_student"]
    students = raw.filter(there).with_columns(id=pl.concat_str(keys, separator=" ")).sort("id")
    words = ["code_module", "gender", "region", "highest_education", "imd_band", "age_band", "disability"]
    people = students.select("id", *words, "num_of_prev_attempts", "studied_credits")
    rng, clicks = np.random.default_rng(0), [f"c{week:02d}" for week in range(weeks)]
    states = (students.select(clicks).to_numpy() > 0).astype(int)
    nudged = (rng.random(states.shape) < 0.1).astype(int)
    # SIMULATED: a nudge brings back three in ten of those who would have stayed away the week after.
    back = (nudged[:, :-1] == 1) & (rng.random(states[:, 1:].shape) < 0.3)
    states[:, 1:] |= back
    history = pl.DataFrame(
        {
            "id": np.repeat(people["id"].to_numpy(), weeks),
            "step": np.tile(np.arange(weeks), people.height),
            "state": states.ravel(),
            "action": nudged.ravel(),
        }
    )
    return people, history


def ctn0094(folder: Path, trial: int = 27) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Patients of one trial and their weeks: engaged is giving the scheduled sample; an unscheduled week is unseen."""
    weeks = pl.read_csv(folder / CTN_STATES, infer_schema_length=None)
    weeks = weeks.filter((pl.col("project") == trial) & (pl.col("phase") == 1) & (pl.col("uds_code") != "_"))
    history = weeks.select(
        pl.col("who").cast(pl.String).alias("id"),
        pl.col("week").alias("step"),
        (pl.col("uds_code") != "o").cast(int).alias("state"),
        (pl.col("arm") == "Methadone").cast(int).alias("action"),
    )
    intake = pl.read_csv(folder / CTN_FEATURES, infer_schema_length=None)
    words = [
        "site_masked",
        "race_ethnicity",
        "is_male",
        "has_major_dep",
        "has_bipolar",
        "has_anx_pan",
        "is_smoker",
        "pain",
    ]
    people = intake.select(pl.col("who").cast(pl.String).alias("id"), *words, "age", "rbs_days_heroin")
    return people.join(history.select("id").unique(), on="id", how="semi").sort("id"), history


def call_list(people: pl.DataFrame, history: pl.DataFrame, budget: int, groups: str) -> aw.Plan:
    """Learn from everyone's history, then plan the next week from it with an equal budget for each group."""
    planner = aw.OutreachPlanner().fit(people, history)
    named = people.with_columns(pl.col(groups).cast(pl.String).alias("group")).drop_nulls("group")
    names = named["group"].unique().sort().to_list()
    rules = aw.CallRules(group_budgets={name: -(-2 * budget // len(names)) for name in names}, min_observed=3)
    return planner.plan(named, history, budget, rules=rules, groups="group")


def main(folder: Path) -> None:
    for name, (people, history), budget, groups in (
        ("OULAD (real engagement, simulated nudge)", oulad(folder / "oulad"), 500, "region"),
        ("CTN-0027 (real, randomised)", ctn0094(folder / "ctn0094"), 50, "site_masked"),
    ):
        plan = call_list(people, history, budget, groups)
        print(f"\n{name}\n{plan.summary}\n")
        print(plan.calls.head(5).write_csv(float_precision=3))
        print(plan.explain(people["id"][0]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
