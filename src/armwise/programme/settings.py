"""The settings in programme.toml: where a programme's tables are, what their columns mean, and its rules for plans."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

TEXT_FILES = (".csv", ".tsv", ".txt")
# How people are chosen; the first of the choices is the default.
BEST, LOTTERY = "best", "lottery"
CHOICES = (LOTTERY, BEST)
LOTTERY_COST = 0.01


@dataclass(frozen=True)
class Source:
    """Where a table is, and how its cells are written.

    Attributes:
        section: the table's heading in ``programme.toml``, without brackets.
        name: the file as ``programme.toml`` names it, for messages.
        path: the same file, with the folder of ``programme.toml``.
        sheet: the sheet of a workbook; none if the workbook has only one.
        separator: the character between the columns of a CSV file.
        encoding: the encoding of a CSV file, as Python names it.
        date_format: as in Python's ``strptime``; none for the format of ``[time]``.
        decimal: the mark before the decimals, "." or ",".
    """

    section: str
    name: str
    path: Path
    sheet: str | None
    separator: str
    encoding: str = "utf-8"
    date_format: str | None = None
    decimal: str = "."

    @property
    def is_text(self) -> bool:
        """Whether the file is plain text. Workbooks and Parquet files have cells of type number and date."""
        return self.path.suffix.lower() in TEXT_FILES


@dataclass(frozen=True)
class BeneficiariesTable:
    """The columns of the table of people.

    Attributes:
        source: where the table is.
        id: the column of ids.
        numbers: features that are numbers.
        categories: features that are words.
        enrolled: the column of the day, or step, from which a person takes part.
        left: the column of the first day, or step, on which a person no longer takes part; a cell is empty if that is
            not known yet.
        length: the number of steps for which everyone takes part, from enrolment; none if there is no limit.
    """

    source: Source
    id: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    enrolled: str | None
    left: str | None = None
    length: int | None = None


@dataclass(frozen=True)
class EngagementTable:
    """The columns of the engagement table. Either ``seconds``, cut at ``thresholds``, or ``state`` is set, not both."""

    source: Source
    id: str
    when: str
    seconds: str | None
    state: str | None
    connected: str | None
    thresholds: tuple[float, ...]
    num_states: int
    yes: tuple[str, ...]
    no: tuple[str, ...]


@dataclass(frozen=True)
class InterventionsTable:
    """The columns of the calls by health workers.

    Attributes:
        count_planned: whether a planned call counts as a call that was made.
        at_once: whether a call affects the engagement of its own step; otherwise it affects that of the next step.
    """

    source: Source
    id: str
    when: str
    status: str | None
    delivered: tuple[str, ...]
    planned: tuple[str, ...]
    count_planned: bool
    at_once: bool = False


@dataclass(frozen=True)
class Time:
    """How time is cut into steps.

    Attributes:
        by_week: whether the tables hold week numbers; otherwise they hold dates.
        step_days: length of a step in days; 1 if the tables hold week numbers.
        date_format: the format of tables that do not set their own, as in Python's ``strptime``; none for ISO dates.
        start: first day, or first step; none to take it from the engagement table.
        plan: the day, or the step, to plan for; none for the step after the last one of the engagement table.
        ignore_later: whether rows from ``plan`` on are ignored; otherwise they are refused.
    """

    by_week: bool
    step_days: int
    date_format: str | None
    start: date | int | None
    plan: date | int | None
    ignore_later: bool


@dataclass(frozen=True)
class Budget:
    """How many people can be called in a step: in total, and in each group if ``per_group`` is not empty."""

    total: int
    group: str | None
    per_group: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class NeverCall:
    """A column that says who is never called.

    Attributes:
        column: a column of the table of beneficiaries.
        values: people with one of these values are never called; "" stands for an empty cell.
        allowed: the values of people who may be called. A value in neither list is refused. None if programme.toml
            has no such list; that is refused too.
    """

    column: str
    values: tuple[str, ...]
    allowed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Rules:
    """Who may be called.

    Attributes:
        never_call: the columns that say who is never called.
        cool_down: the number of steps after a call in which the same person is not called again.
        max_calls: the most calls that a person gets over the whole programme; none for no limit.
        min_observed: the number of steps in which a person must have been observed before she may be called.
    """

    never_call: tuple[NeverCall, ...]
    cool_down: int
    max_calls: int | None
    min_observed: int


@dataclass(frozen=True)
class Outage:
    """A step is an outage if its observed share is below (1 − drop) × the median of the ``window`` steps before."""

    drop: float
    window: int


@dataclass(frozen=True)
class ProgrammeSettings:
    """A checked ``programme.toml``.

    ``note`` is what readers of the report must know first. ``choice`` and ``lottery_cost`` say how people are chosen,
    as in ``CallRules``.
    """

    name: str
    path: Path
    time: Time
    beneficiaries: BeneficiariesTable
    engagement: EngagementTable
    interventions: InterventionsTable
    budget: Budget
    rules: Rules
    outage: Outage
    note: str | None = None
    choice: str = CHOICES[0]
    lottery_cost: float = LOTTERY_COST

    @property
    def files(self) -> dict[str, Path]:
        """The paths of the settings and of the three tables, by role."""
        return {
            "settings": self.path,
            "beneficiaries": self.beneficiaries.source.path,
            "engagement": self.engagement.source.path,
            "interventions": self.interventions.source.path,
        }
