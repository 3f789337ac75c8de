"""Results of a study as one Parquet file: a line per part, with what made it and its rows as lists.

``results/<study>.csv`` beside it is its summary. Parts that were not joined yet are read from ``results/unfinished``.
"""

import io
import json
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from armwise.errors import InvalidInputError
from armwise.io.writing import write_file
from reproduction.parts import read_part, unfinished

RowType = TypeVar("RowType")

# What every part says of itself: what made it, and how it was asked for, as JSON.
MADE = dict.fromkeys(("command", "commit", "machine", "python", "jax", "armwise", "date"), pl.String)
PAGE = {"name": pl.String, **MADE, "wall_seconds": pl.Float64, "asked": pl.String}
JOB = dict.fromkeys(("domain", "variant", "model", "loss"), pl.String)
# How much a job ran in all, and how long that took.
SIZES = {
    **dict.fromkeys(("num_splits", "num_initialisations", "num_learning_rates", "num_temperatures"), pl.Int32),
    **dict.fromkeys(("num_epochs", "num_test_cohorts", "num_trajectories"), pl.Int32),
    **dict.fromkeys(("train_seconds", "evaluate_seconds"), pl.Float64),
}
QUALITY = ("quality", "achieved", "never", "perfect", "by_cohort")
# Settings, by which rows are found, and what tables average keep all digits; the rest is float32, as it was computed.
SETTING = {"temperature": pl.Float64, "learning_rate": pl.Float64}
RUNS = {
    **SETTING,
    **dict.fromkeys(("split", "initialisation", "best_epoch"), pl.Int32),
    **dict.fromkeys(("validation_loss", "validation_quality"), pl.Float64),
    **{f"{kind}_{part}": pl.Float32 for kind in ("joint", "decomposed") for part in QUALITY},
    **dict.fromkeys(("joint_quality", "joint_by_cohort", "decomposed_quality"), pl.Float64),
}
VALIDATION = {
    **SETTING,
    **dict.fromkeys(("epoch", "num_runs"), pl.Int32),
    **{f"validation_{what}": pl.Float32 for what in ("loss", "loss_error", "quality", "quality_error")},
}
INDICES = {
    **dict.fromkeys(("cohort", "arm", "state", "budget"), pl.Int32),
    **dict.fromkeys(("predicted_index", "true_index"), pl.Float32),
}
AVERAGES = {
    **dict.fromkeys(("split", "num_members"), pl.Int32),
    **dict.fromkeys(("accuracy_weight", "learning_rate"), pl.Float64),
    "chosen": pl.Int32,
    **dict.fromkeys(("validation_quality", "joint_quality", "decomposed_quality"), pl.Float64),
}
TIMES = {
    **dict.fromkeys(("domain", "loss"), pl.String),
    **dict.fromkeys(("seconds", "fastest", "slowest"), pl.Float64),
    **dict.fromkeys(("num_repeats", "num_steps", "num_cohorts", "num_arms"), pl.Int32),
}
COLUMNS = {
    "domain": pl.String,
    **dict.fromkeys(("num_runs", "num_epochs"), pl.Int32),
    **dict.fromkeys(("compile_seconds", "run_seconds"), pl.Float64),
}


WAYS = {"seed": pl.Int32, **dict.fromkeys(("way", "judged_by"), pl.String)}
WAYS |= dict.fromkeys(("quality", "gain"), pl.Float64)


def _rows_of(columns: dict[str, Any]) -> pl.List:
    return pl.List(pl.Struct(columns))


_OF_JOB = {"runs": _rows_of(RUNS), "validation": _rows_of(VALIDATION), "indices": _rows_of(INDICES)}
_JOBS = {**PAGE, **JOB, **SIZES, **_OF_JOB}
# The columns of each study's file.
STUDIES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("paper", "curves", "sensitivity", "recipe"), _JOBS),
    "recommended": {**PAGE, "domain": pl.String, "method": pl.String, "averages": _rows_of(AVERAGES)},
    "times": {**PAGE, "times": _rows_of(TIMES)},
    "columns": {**PAGE, "columns": _rows_of(COLUMNS)},
    "deciding": {**PAGE, "world": pl.String, "weeks": pl.Int32, "kind": pl.String, "ways": _rows_of(WAYS)},
}


def parts_of(results: Path, study: str) -> pl.DataFrame:
    """Every part of a study, joined or not, in the order of their names."""
    schema, path = STUDIES[study], results / f"{study}.parquet"
    new = [_line(read_part(one), schema) for one in sorted(unfinished(results, study).glob("*.json"))]
    frame = pl.DataFrame(new, schema=schema, orient="row")
    if path.exists():
        old = _read(path, schema)
        frame = pl.concat([old.filter(~pl.col("name").is_in(frame["name"].to_list())), frame])
    return frame.sort("name")


def rows_of(results: Path, study: str, table: str) -> pl.DataFrame:
    """The rows of all parts of a study, each with its part's labels and sizes."""
    page = [name for name in STUDIES[study] if name not in PAGE and not isinstance(STUDIES[study][name], pl.List)]
    parts = parts_of(results, study).filter(pl.col(table).is_not_null())
    shared = parts.select(*page, pl.col("machine").alias("hardware"), table)
    return shared.explode(table, empty_as_null=False).unnest(table)


def read_rows(results: Path, study: str, table: str, kind: type[RowType]) -> list[RowType]:
    """The same as objects of one kind."""
    names = list(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    return [kind(**row) for row in rows_of(results, study, table).select(names).iter_rows(named=True)]


def has_parts(results: Path, study: str) -> bool:
    """Whether anything of a study was run."""
    return (results / f"{study}.parquet").exists() or has_unjoined(results, study)


def join_parts(results: Path, study: str) -> Path:
    """Join the parts that are not joined yet into the study's Parquet file, and remove them."""
    new, path = sorted(unfinished(results, study).glob("*.json")), results / f"{study}.parquet"
    if new:
        write_parquet(parts_of(results, study), path)
    for one in new:
        one.unlink()
    return path


def has_unjoined(results: Path, study: str) -> bool:
    """Whether a study has parts that are not joined yet."""
    return any(unfinished(results, study).glob("*.json"))


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a file of results, whole or not at all, and as small as it gets."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=19, statistics=False)
    write_file(path, buffer.getvalue())


def asked_for(path: Path, name: str) -> dict[str, Any] | None:
    """How a part of a Parquet file was asked for."""
    found = pl.read_parquet(path, columns=["name", "asked"]).filter(name=name)["asked"]
    return json.loads(found[0]) if len(found) else None


def made_by(results: Path) -> pl.DataFrame:
    """What made each part of every study, where that was written down."""
    columns = [name for name in PAGE if name != "asked"]
    parts = [parts_of(results, study).select(pl.lit(study).alias("study"), *columns) for study in STUDIES]
    return pl.concat(parts).filter(pl.col("machine").is_not_null())


def _line(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A part as a line of the file."""
    tables = {name: _transposed(columns) for name, columns in part.pop("tables").items()}
    line = {**part, "asked": json.dumps(part["asked"], ensure_ascii=False), **tables}
    return {name: line.get(name) for name in schema}


def _transposed(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _read(path: Path, schema: dict[str, Any]) -> pl.DataFrame:
    frame = pl.read_parquet(path)
    if dict(frame.schema) != schema:
        odd = ", ".join(sorted(set(frame.columns) ^ set(schema))) or "their types"
        raise InvalidInputError(f"{path} has other columns than it should: {odd}.")
    return frame
