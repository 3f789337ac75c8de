"""The summary of each study, ``results/<study>.csv``: the numbers that its page shows, one line per cell."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs

from armwise.io.writing import write_file
from reproduction.results import STUDIES, has_unjoined, join_parts, parts_of, read_rows, rows_of
from reproduction.runs.records import RunRow, group_by
from reproduction.runs.summary import Summary, standard_error, summarise
from reproduction.studies.choosing.judged import judge_recommended
from reproduction.studies.choosing.recipe import choose_by_quality
from reproduction.studies.deciding import cells
from reproduction.studies.deciding.page import read_results

GRID = ("num_splits", "num_initialisations", "num_learning_rates", "num_temperatures", "num_epochs")


def join_all(results: Path) -> list[Path]:
    """Join the parts of every study that has some, and write the summaries anew."""
    joined = [join_parts(results, study) for study in STUDIES if has_unjoined(results, study)]
    write_summaries(results)
    return joined


def write_summaries(results: Path) -> None:
    """Write the summary of every study that was run."""
    for study in SUMMARIES:
        text = summary_text(results, study)
        if text:
            write_file(results / f"{study}.csv", text)


def summary_text(results: Path, study: str) -> str:
    """The summary as CSV; empty where nothing was run."""
    frame = SUMMARIES[study](results)
    return "" if frame.is_empty() else frame.with_columns(cs.float().round_sig_figs(8)).write_csv()


def read_summaries(path: Path) -> list[Summary]:
    """The lines of tables, from ``paper.csv`` or ``sensitivity.csv``."""
    frame = pl.read_csv(path, infer_schema_length=None)
    texts = pl.col("variant", "hardware").cast(pl.String).fill_null("")
    frame = frame.with_columns(texts, protocol=pl.concat_list(GRID)).drop(GRID)
    return [Summary(**row | {"protocol": tuple(row["protocol"])}) for row in frame.iter_rows(named=True)]


def _of_runs(study: str) -> Callable[[Path], pl.DataFrame]:
    """Every job after selection by validation loss."""

    def make(results: Path) -> pl.DataFrame:
        return _frame(_flat(one) for one in summarise(read_rows(results, study, "runs", RunRow)))

    return make


def _flat(one: Summary) -> dict[str, object]:
    line = dataclasses.asdict(one)
    return line | dict(zip(GRID, line.pop("protocol"), strict=True))


def _recipe(results: Path) -> pl.DataFrame:
    """Every candidate, its setting chosen by validation quality."""
    jobs = group_by(read_rows(results, "recipe", "runs", RunRow), "domain", "loss")
    chosen = {place: choose_by_quality(runs) for place, runs in jobs.items()}
    return _frame(
        {
            **dict(zip(("domain", "loss"), place, strict=True)),
            "learning_rate": runs[0].learning_rate,
            "temperature": runs[0].temperature,
            "num_runs": len(runs),
            "joint": float(np.mean([run.joint_quality for run in runs])),
            "joint_error": standard_error([run.joint_quality for run in runs]),
        }
        for place, runs in chosen.items()
    )


def _recommended(results: Path) -> pl.DataFrame:
    """The recipe's averages beside the best single loss."""
    return _frame(
        {
            **{name: getattr(one, name) for name in ("domain", "num_splits", "best", "best_quality")},
            **{f"quality_of_{size}": quality for size, quality in one.by_members.items()},
            **{name: getattr(one, name) for name in ("difference", "error", "bold_quality", "accuracy_quality")},
        }
        for one in judge_recommended(results)
    )


def _deciding(results: Path) -> pl.DataFrame:
    """Mean and standard error of each way over the programmes of a world, the study's and the fresh ones."""
    return _frame(
        {
            "programmes": name,
            **dict(zip(("judged_by", "world", "weeks", "way"), key, strict=True)),
            "quality": cell.mean,
            "error": cells.standard_error(cell.quality),
        }
        for name, rows in zip(("study", "fresh"), read_results(results), strict=True)
        for key, cell in cells.gather(rows).items()
    )


def _columns(results: Path) -> pl.DataFrame:
    parts = parts_of(results, "columns").select("machine", "columns")
    return parts.explode("columns", empty_as_null=False).unnest("columns")


def _frame(lines: Iterable[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(list(lines), infer_schema_length=None)


# All but the curves, which only Figures 2b and 3 show.
SUMMARIES: dict[str, Callable[[Path], pl.DataFrame]] = {
    "paper": _of_runs("paper"),
    "sensitivity": _of_runs("sensitivity"),
    "recipe": _recipe,
    "recommended": _recommended,
    "times": lambda results: rows_of(results, "times", "times"),
    "columns": _columns,
    "deciding": _deciding,
}
