"""Where people stand before a plan, one row for each person in fixed columns, from a table, arrays and a history."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from armwise._validation import check_count
from armwise.data import Trajectories
from armwise.errors import InvalidInputError
from armwise.planner.frames import LABELS, as_frame, as_series, as_text_ids, check_same_labels, is_path
from armwise.planner.people_history import PeopleHistory, read_history

# Arrays given with a table become columns of it, under names that no programme uses.
PREFIX = "armwise:"
WHOLE = ("state", "since_observed", "observed", "calls", "since_call")
WORDS = ("group", "exclusion")
# Only a history gives these columns; they are 0 for people without weeks.
FROM_WEEKS = {"own_weeks": "observed", "engaged_weeks": "engaged", "streak": "streak", "answered": "answered"}
# The number of a person's row in the whole table; a part of the table needs it.
ROW = PREFIX + "row"
# The column of row numbers, used as ids if the table has no ids.
NUMBERED = PREFIX + "number"
# Rows in memory at a time.
ROWS_AT_A_TIME = 2**16
MOST_PIECES = 1000


@dataclass(frozen=True, eq=False)
class Roster:
    """People to plan for: a table in memory or a Parquet file, and the meaning of its columns.

    Attributes:
        source: the table, or the file.
        columns: the column that holds "id", and the columns for those of ``WHOLE`` and ``WORDS`` that are known.
        num_states: how many states there are.
        history: people's weeks; None if only the columns are known.
    """

    source: pl.DataFrame | Path
    columns: Mapping[str, str] = field(default_factory=dict)
    num_states: int = 2
    history: PeopleHistory | None = None

    @classmethod
    def make(cls, table: Any, id_column: str, num_states: int, history: Any = None, **given: Any) -> "Roster":
        """Make a roster from the arguments of ``OutreachPlanner.plan``.

        Args:
            table: the people, a table or the path of a Parquet file.
            id_column: the column of ids, if there is one.
            num_states: how many states there are.
            history: a long table, or ``Trajectories`` in the order of rows; or None.
            given: for each column of the roster, its name or (with a table in memory) its values.
        """
        given = {name: value for name, value in given.items() if value is not None}
        if is_path(table):
            people = cls._of_file(Path(table), {"id": id_column, **given}, num_states)
        else:
            people = cls._of_table(table, id_column, given, num_states)
        if history is None:
            return people
        return people._with(read_history(history, id_column, num_states, people._named()))

    @classmethod
    def _of_table(cls, table: Any, id_column: str, given: dict[str, Any], num_states: int) -> "Roster":
        frame = as_frame("people", table, [id_column])
        own = next((name for name in (id_column, LABELS) if name in frame.columns), None)
        columns = {} if own is None or "id" in given else {"id": own}
        for name, value in given.items():
            if isinstance(value, str):
                columns[name] = value
            else:
                check_same_labels(ARGUMENTS[name], value, table)
                columns[name] = PREFIX + name
                frame = frame.with_columns(as_series(ARGUMENTS[name], value, frame.height).alias(PREFIX + name))
        if "id" not in columns:
            columns["id"] = NUMBERED
            frame = frame.with_columns(pl.Series(NUMBERED, np.arange(frame.height)))
        _check_columns(columns, frame.columns, "The table")
        # Slices of a table that was built row by row are slow: 300,000 rows took 117 s, and 0.8 s in one piece.
        whole = frame.rechunk() if frame.n_chunks() > MOST_PIECES else frame
        return cls(whole, columns, num_states)

    @classmethod
    def _of_file(cls, path: Path, columns: dict[str, Any], num_states: int) -> "Roster":
        for name, value in columns.items():
            if not isinstance(value, str):
                raise InvalidInputError(f"{ARGUMENTS[name]} must be the name of a column of {path}, not values.")
        _check_columns(columns, _names(path), str(path))
        return cls(path, columns, num_states)

    def all_ids(self) -> pl.Series:
        """Everyone's ids as text, in the order of rows. Without ids, the row numbers."""
        if isinstance(self.source, Path):
            return as_text_ids(_collect(_scan(self.source).select(self.columns["id"]), self.source).to_series())
        return as_text_ids(self.source[self.columns["id"]])

    def _named(self) -> pl.Series | None:
        """The ids, to name people in messages; None without ids, and for a file, which is not read whole."""
        has_none = isinstance(self.source, Path) or self.columns["id"] == NUMBERED
        return None if has_none else self.all_ids()

    def planned_step(self, given: Any) -> int | str:
        """The planned step: the one given, else the step after the history, else 0."""
        if given is None:
            return 0 if self.history is None else self.history.next_step
        if not isinstance(given, str):
            return check_count("planned_step", given, minimum=0)
        return given

    def _with(self, history: PeopleHistory) -> "Roster":
        if history.ids is None and len(history) != self._height():
            raise InvalidInputError(
                f"people has {self._height()} rows and history {len(history)}. Row i of both must be the same person; "
                "or give the history as a table with ids."
            )
        if history.ids is not None and self.columns["id"] == NUMBERED:
            raise InvalidInputError(NO_IDS)
        return replace(self, history=history)

    def _height(self) -> int:
        if isinstance(self.source, pl.DataFrame):
            return self.source.height
        return int(_scan(self.source).select(pl.len()).collect().item())

    def batches(self, features: Iterable[str], size: int | None = None) -> Iterator[pl.DataFrame]:
        """The table, a part at a time. The size of a part changes only memory and time.

        Args:
            features: the columns needed besides those of the roster.
            size: rows in a part.
        """
        rows = size or ROWS_AT_A_TIME
        if isinstance(self.source, pl.DataFrame):
            for start, part in enumerate(self.source.iter_slices(rows)):
                yield part.with_row_index(ROW, offset=start * rows)
            return
        present = _names(self.source)
        needed = {*features, *self.columns.values()}
        scan = _scan(self.source).select(name for name in present if name in needed)
        for start in range(0, self._height(), rows):
            yield _collect(scan.slice(start, rows), self.source).with_row_index(ROW, offset=start)

    def find(self, identity: str) -> pl.DataFrame:
        """The rows of one person; no row if there is no such person."""
        mine = pl.col(self.columns["id"]).cast(pl.String) == identity
        if isinstance(self.source, pl.DataFrame):
            return self.source.with_row_index(ROW).filter(mine)
        return _collect(_scan(self.source).with_row_index(ROW).filter(mine), self.source)

    def all_weeks(self) -> Trajectories | None:
        """Everyone's weeks, in the order of rows; None if there is no history."""
        ids = self.all_ids()
        return None if self.history is None else self.history.take(self.history.find(ids, np.arange(len(ids))))

    def weeks(self, roster: pl.DataFrame) -> Trajectories | None:
        """The weeks of people in a roster; None if there is no history."""
        return None if self.history is None else self.history.take(roster["row"].to_numpy())

    def refuse_strangers(self) -> None:
        """Refuse a history whose ids match nobody here; call it only in this case. Ids may be written differently."""
        if self.history is None or self.history.ids is None or not len(self.history):
            return
        raise InvalidInputError(
            f"No row of the history belongs to anyone in people: the history has ids such as {self.history.ids[0]!r}, "
            f"people such as {self.all_ids()[0]!r}. Write ids alike in both."
        )

    def standing(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Where the people of a part of the table stand: id, ``WHOLE``, ``WORDS`` and ``FROM_WEEKS``, checked.

        A column that was given overrides the history. The state is null if none was ever observed. Without a column
        and a history, a person with a state was observed once, in the step before the planned one. She was never
        called, has no group and is not excluded. ``row`` is her row in the history.
        """
        ids = as_text_ids(frame[self.columns["id"]]).alias("id")
        row = np.full(frame.height, -1) if self.history is None else self.history.find(ids, frame[ROW].to_numpy())
        stands = None if self.history is None else self.history.standing(row)
        whole = [self._whole(frame, name, stands) for name in WHOLE]
        own = [_from_weeks(name, stands, frame.height) for name in FROM_WEEKS]
        words = [self._words(frame, name) for name in WORDS]
        roster = pl.DataFrame([ids, *whole, *words, *own, pl.Series("row", row, dtype=pl.Int64)])
        _check_state(roster, self.num_states)
        seen = pl.col("state").is_not_null()
        return roster.with_columns(
            since_observed=pl.when(seen).then(pl.col("since_observed").fill_null(1)),
            observed=pl.when(seen).then(pl.col("observed").fill_null(1)).otherwise(0),
            calls=pl.col("calls").fill_null(0),
        )

    def _whole(self, frame: pl.DataFrame, name: str, stands: pl.DataFrame | None) -> pl.Series:
        """A column of whole numbers. A negative number stands for never and becomes null."""
        if name not in self.columns and stands is not None:
            return stands[name]
        if name not in self.columns:
            return pl.Series(name, [None], dtype=pl.Int32).new_from_index(0, frame.height)
        column = frame[self.columns[name]]
        if column.dtype.is_temporal() or column.dtype.is_nested():
            raise InvalidInputError(f"{ARGUMENTS[name]} must be whole numbers, not of type {column.dtype}.")
        numbers = column.cast(pl.Float64, strict=False).fill_nan(None) if not column.dtype.is_integer() else column
        whole = numbers.cast(pl.Int32, strict=False)
        wrong = whole.is_null() & column.is_not_null() & ~_nan(column)
        wrong |= (whole.cast(pl.Float64) != numbers.cast(pl.Float64)).fill_null(False)
        if wrong.any():
            raise InvalidInputError(f"{ARGUMENTS[name]} must be whole numbers, not {column.filter(wrong)[0]!r}.")
        return whole.set(whole < 0, None).alias(name)

    def _words(self, frame: pl.DataFrame, name: str) -> pl.Series:
        if name not in self.columns:
            return pl.Series(name, [None], dtype=pl.String).new_from_index(0, frame.height)
        column = frame[self.columns[name]]
        if column.dtype.is_float():
            column = column.fill_nan(None)
        if name == "exclusion":
            column = _reasons(column)
        if column.dtype.is_nested():
            raise InvalidInputError(f"{ARGUMENTS[name]} must be text, not of type {column.dtype}.")
        return column.cast(pl.String).alias(name)


NO_IDS = (
    "people has no column of ids, so that nobody can be found in the history. Add the column, or say with ids which "
    "one it is; or give the history as Trajectories, row i the person of row i."
)
ARGUMENTS = {
    "id": "ids",
    "state": "states",
    "since_observed": "steps_since_observed",
    "observed": "num_observed",
    "calls": "num_calls",
    "since_call": "steps_since_call",
    "group": "groups",
    "exclusion": "exclusions",
}


def _from_weeks(name: str, stands: pl.DataFrame | None, height: int) -> pl.Series:
    if stands is None:
        return pl.Series(name, np.zeros(height, np.int32))
    return stands[FROM_WEEKS[name]].fill_null(0).alias(name)


def _reasons(column: pl.Series) -> pl.Series:
    """Why people are never called. Numbers and empty texts are refused: their meaning would be a guess."""
    if column.dtype == pl.Boolean:
        return pl.select(pl.when(column).then(pl.lit("excluded"))).to_series()
    if column.dtype.is_numeric() and column.null_count() < len(column):
        raise InvalidInputError(
            f"exclusions must be reasons (null for people who may be called) or booleans, not numbers such as "
            f"{column.drop_nulls()[0]!r}. Write exclusions == 1 if 1 stands for never."
        )
    if column.dtype == pl.String and (column.str.strip_chars() == "").any():
        raise InvalidInputError(
            "exclusions has an empty text, which is no reason. Give null for people who may be called, or the reason."
        )
    return column


def _nan(column: pl.Series) -> pl.Series:
    if column.dtype.is_float():
        return column.is_nan().fill_null(False)
    return pl.Series([False]).new_from_index(0, len(column))


def _check_columns(columns: Mapping[str, str], present: list[str], where: str) -> None:
    absent = sorted({name for name in columns.values() if name not in present})
    if absent:
        raise InvalidInputError(f"{where} has no column {', '.join(map(repr, absent))}. Correct its name.")


def _check_state(roster: pl.DataFrame, num_states: int) -> None:
    beyond = roster.filter(pl.col("state") >= num_states)
    if beyond.height:
        raise InvalidInputError(
            f"states must be below {num_states}, the number of states learned, but id {beyond['id'][0]!r} has "
            f"{beyond['state'][0]}. Give null or -1 where none was observed."
        )
    early = roster.filter(pl.col("since_observed") < 1)
    if early.height:
        raise InvalidInputError(
            f"steps_since_observed must be at least 1 (the step before the planned one), but id {early['id'][0]!r} "
            "has 0. Leave out what was observed in the planned step itself."
        )


def _scan(path: Path) -> pl.LazyFrame:
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}. Give the path of a Parquet file, or a table.")
    return pl.scan_parquet(path)


def _names(path: Path) -> list[str]:
    try:
        return _scan(path).collect_schema().names()
    except pl.exceptions.PolarsError as error:
        raise InvalidInputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}.") from error


def _collect(scan: pl.LazyFrame, path: Path) -> pl.DataFrame:
    try:
        return scan.collect()
    except pl.exceptions.PolarsError as error:
        raise InvalidInputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}.") from error
