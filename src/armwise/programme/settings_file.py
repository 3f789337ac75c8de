"""Read programme.toml: check every setting, note every problem, and go on with what can be understood."""

import os
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import NamedTuple

from armwise.errors import InvalidProgrammeError
from armwise.io.reading import PathLike, read_file
from armwise.programme.encodings import ENCODINGS
from armwise.programme.findings import Findings
from armwise.programme.section import Section
from armwise.programme.settings import (
    CHOICES,
    LOTTERY_COST,
    BeneficiariesTable,
    Budget,
    EngagementTable,
    InterventionsTable,
    NeverCall,
    Outage,
    ProgrammeSettings,
    Rules,
    Source,
    Time,
)

YES = ("yes", "y", "true", "t", "1", "connected", "answered")
NO = ("no", "n", "false", "f", "0", "not connected", "not answered", "unanswered")
DELIVERED = ("delivered", "done", "completed", "yes", "y", "true", "1")
PLANNED = ("planned", "not delivered", "missed", "failed", "cancelled", "no", "n", "false", "0")
MOST_STATES = 100


class Draft(NamedTuple):
    """The part of a programme.toml that could be understood. A table's section is none if it lacks what is needed."""

    name: str
    path: Path
    time: Time
    beneficiaries: BeneficiariesTable | None
    engagement: EngagementTable | None
    interventions: InterventionsTable | None
    budget: Budget
    rules: Rules
    outage: Outage
    note: str | None
    choice: tuple[str, float]


def read_programme(path: PathLike) -> ProgrammeSettings:
    """Read the settings of a ``programme.toml``; if anything is wrong, one error lists all of it.

    The tables are not opened; ``load_programme`` and ``check_programme`` do that.
    """
    findings = Findings()
    draft = draft_programme(Path(path), findings)
    programme = None if draft is None or findings.any_errors else complete(draft)
    if programme is None:
        raise InvalidProgrammeError(findings.report())
    return programme


def complete(draft: Draft) -> ProgrammeSettings | None:
    """The draft as complete settings; none if the section of a table could not be understood."""
    if draft.beneficiaries is None or draft.engagement is None or draft.interventions is None:
        return None
    tables = draft.beneficiaries, draft.engagement, draft.interventions
    budget, rules, outage = draft.budget, draft.rules, draft.outage
    rest = draft.note, *draft.choice
    return ProgrammeSettings(draft.name, draft.path, draft.time, *tables, budget, rules, outage, *rest)


def draft_programme(path: Path, findings: Findings) -> Draft | None:
    """Read what can be understood of the file; none if the file cannot be read or is not TOML."""
    text = _read_text(path, findings)
    if text is None:
        return None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _note_syntax(path.name, text, str(error), findings)
        return None
    top = Section("", values, path.name, text, findings)
    draft = _draft(top, path)
    top.refuse_unknown()
    return draft


def _read_text(path: Path, findings: Findings) -> str | None:
    try:
        content = read_file(path)
        findings.note_content(path, content)
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        findings.add("config-missing", str(path))
    except IsADirectoryError:
        inside = path / "programme.toml"
        remedy = f"Give the path of the file in it: {inside}" if os.path.isfile(inside) else "Give the path of a file."
        findings.add("config-unreadable", str(path), what="This is a folder.", remedy=remedy)
    except UnicodeDecodeError:
        findings.add("config-unreadable", path.name, what="The file is not UTF-8.")
    except OSError as error:
        findings.add("config-unreadable", str(path), what=f"The file cannot be read: {error.strerror}.")
    return None


def _note_syntax(file: str, text: str, message: str, findings: Findings) -> None:
    place = re.search(r"line (\d+)", message)
    row = int(place[1]) if place else len(text.splitlines())
    line = text.splitlines()[row - 1] if 0 < row <= len(text.splitlines()) else ""
    remedy = None
    if "\\" in line:
        remedy = "In a path, write / instead of \\, on Windows too."
    elif "=" in line and re.search(r"=\s*[^\s\"'\[{\d+-]", line) and not re.search(r"=\s*(true|false|inf|nan)\b", line):
        remedy = "Put text in quotes."
    findings.add("config-syntax", file, row=row, what=f"This is not valid TOML: {message}.", remedy=remedy)


def _draft(top: Section, path: Path) -> Draft:
    name = top.text("name", path.resolve().parent.name or "programme") or "programme"
    note = top.text("note")
    sections = {key: top.section(key) for key in ("beneficiaries", "engagement", "interventions")}
    by_week = sections["engagement"].has("week") and not sections["engagement"].has("date")
    for section in sections.values() if by_week else ():
        _refuse_with_weeks(section, "date_format")
    time = _time(top.section("time"), by_week)
    tables = (
        _beneficiaries(sections["beneficiaries"], path),
        _engagement(sections["engagement"], path, by_week),
        _interventions(sections["interventions"], path, by_week),
    )
    budget, rules, outage = _budget(top.section("budget")), _rules(top.section("rules")), _outage(top.section("outage"))
    return Draft(name, path, time, *tables, budget, rules, outage, note, _choice(top.section("choice")))


def _time(section: Section, by_week: bool) -> Time:
    if by_week:
        for key in ("step_days", "first_day", "plan_date", "date_format"):
            _refuse_with_weeks(section, key)
    else:
        for key, other in (("first_week", "first_day"), ("plan_week", "plan_date")):
            if section.has(key):
                section.refuse(key, "config-conflict", "The tables hold dates, not weeks.", f"Use {other}.")
    days = section.whole("step_days", 7, 1, 366) or 7
    date_format = _date_format(section)
    dates = section.day("first_day"), section.day("plan_date")
    weeks = section.whole("first_week", None, 0), section.whole("plan_week", None, 1)
    start: date | int | None
    plan: date | int | None
    start, plan = weeks if by_week else dates
    _check_order(section, start, plan, by_week)
    later = section.choice("later_rows", ("refuse", "ignore"))
    section.refuse_unknown()
    return Time(by_week, 1 if by_week else days, date_format, start, plan, later == "ignore")


def _refuse_with_weeks(section: Section, key: str) -> None:
    if section.has(key):
        remedy = "Remove it, or give the tables' dates; use first_week and plan_week with weeks."
        section.refuse(key, "config-conflict", "The tables number their weeks, so there are no dates.", remedy)


def _check_order(section: Section, start: date | int | None, plan: date | int | None, by_week: bool) -> None:
    # Both have the same type, dates or numbers, because the caller read either the date keys or the week keys.
    if start is not None and plan is not None and not start < plan:  # type: ignore[operator]
        key, other = ("plan_week", "first_week") if by_week else ("plan_date", "first_day")
        section.refuse(key, "config-conflict", f"It is not after {other} = {start}.", "Correct one of the two.")


def _date_format(section: Section) -> str | None:
    written = section.text("date_format")
    if written is None:
        return None
    directives = set(re.findall(r"%(.)", written))
    complete = "d" in directives and directives & {"m", "b", "B"} and directives & {"Y", "y"}
    if complete and directives <= set("dmbBYyHMSp I%".replace(" ", "")):
        return written
    remedy = 'Use %d (day), %m (month) and %Y (year), as in "%d/%m/%Y"; %H:%M:%S for a time that follows.'
    section.refuse("date_format", "config-wrong-value", "This does not describe a date.", remedy)
    return None


def _source(section: Section, programme: Path) -> Source | None:
    if not section.exists:
        remedy = f"Add [{section.name}] with file = …, as in the file that 'armwise init' writes."
        section.refuse(None, "config-missing-key", f"The section [{section.name}] is missing.", remedy)
        return None
    file = section.required_text("file", 'Say where the table is: file = "table.csv".')
    sheet, separator = section.text("sheet"), _separator(section)
    written = _encoding(section), _date_format(section), section.choice("decimal", (".", ","))
    if file is None:
        return None
    return Source(section.name, file, programme.parent / file, sheet, separator, *written)


def _encoding(section: Section) -> str:
    """The encoding, by Python's name for it."""
    name = section.text("encoding", "utf-8") or "utf-8"
    if name.lower() in ENCODINGS:
        return ENCODINGS[name.lower()]
    section.refuse("encoding", "config-wrong-value", remedy=f"It must be one of {', '.join(ENCODINGS)}.")
    return "utf-8"


def _separator(section: Section) -> str:
    if not section.has("separator"):
        section.text("separator")
        return ","
    # Not text(), which refuses white space such as a tab.
    return section.choice("separator", (",", ";", "\t", "|"))


def _id(section: Section) -> str | None:
    return section.required_text("id", 'Say which column holds the ids: id = "id".') if section.exists else None


def _when(section: Section, by_week: bool) -> str | None:
    """The column of dates, or of weeks if the engagement table has weeks."""
    if not section.exists:
        return None
    key, other = ("week", "date") if by_week else ("date", "week")
    if section.has("date") and section.has("week"):
        section.refuse("week", "config-conflict", "Both date and week are set.")
    elif section.has(other):
        remedy = "Use dates in both tables, or weeks in both."
        section.refuse(other, "config-conflict", f"[engagement] has {key}s, but this is a {other}.", remedy)
    section.text(other)
    if section.has(other) and not section.has(key):
        section.text(key)
        return None
    return section.required_text(key, f'Say which column holds the {key}: {key} = "{key}" (or date, or week).')


def _beneficiaries(section: Section, path: Path) -> BeneficiariesTable | None:
    source, identity = _source(section, path), _id(section)
    numbers, categories = section.texts("numbers"), section.texts("categories")
    dates = section.text("enrolled"), section.text("left"), section.whole("length", None, 1)
    if section.has("length") and not section.has("enrolled"):
        remedy = 'Say which column holds the date of enrolment: enrolled = "enrolled".'
        section.refuse("enrolled", "config-missing-key", "A length counts from enrolment.", remedy)
    both = set(numbers) & set(categories)
    for name in sorted(both):
        section.refuse("numbers", "config-conflict", f"{name!r} is listed as a number and as a category.")
    if section.exists and not (numbers or categories or section.has("numbers") or section.has("categories")):
        remedy = (
            'List what is known of people: numbers = ["age"], categories = ["language"]. Names do not belong there.'
        )
        section.refuse("categories", "config-missing-key", "No features are listed.", remedy)
    if identity is not None and identity in numbers + categories:
        section.refuse("id", "config-conflict", "The id is listed as a feature.", "Remove it from the features.")
    section.refuse_unknown()
    if source is None or identity is None:
        return None
    return BeneficiariesTable(source, identity, numbers, categories, *dates)


def _engagement(section: Section, path: Path, by_week: bool) -> EngagementTable | None:
    source, identity, when = _source(section, path), _id(section), _when(section, by_week)
    seconds, state, connected = section.text("seconds"), section.text("state"), section.text("connected")
    measured = _one_measure(section)
    thresholds = section.rising("thresholds", (30.0,))
    states = section.whole("num_states", None if section.has("thresholds") else 2, 2, MOST_STATES)
    _check_states(section, thresholds, states)
    yes, no = _words(section, "yes", YES), _words(section, "no", NO)
    _check_apart(section, "yes", yes, no)
    section.refuse_unknown()
    if source is None or identity is None or when is None or not measured or (seconds is None) == (state is None):
        return None
    number = len(thresholds) + 1 if state is None else states or 2
    return EngagementTable(source, identity, when, seconds, state, connected, thresholds, number, yes, no)


def _one_measure(section: Section) -> bool:
    if not section.exists:
        return False
    if section.has("seconds") and section.has("state"):
        section.refuse("state", "config-conflict", "Both seconds and state are set.", "Keep the one you have.")
        return False
    if not (section.has("seconds") or section.has("state")):
        remedy = 'Say which column holds the seconds listened: seconds = "seconds"; or state = "state".'
        section.refuse("seconds", "config-missing-key", remedy=remedy)
        return False
    return True


def _check_states(section: Section, thresholds: tuple[float, ...], states: int | None) -> None:
    if section.has("state") and section.has("thresholds"):
        remedy = "Remove it, and set num_states."
        section.refuse("thresholds", "config-conflict", "Thresholds cut seconds, but a state is given.", remedy)
    elif not section.has("state") and section.has("num_states") and states != len(thresholds) + 1:
        what = f"{len(thresholds)} thresholds make {len(thresholds) + 1} states."
        section.refuse("num_states", "config-conflict", what, "Remove it, or add thresholds.")


def _interventions(section: Section, path: Path, by_week: bool) -> InterventionsTable | None:
    source, identity, when = _source(section, path), _id(section), _when(section, by_week)
    status = section.text("status")
    delivered, planned = _words(section, "delivered", DELIVERED), _words(section, "planned", PLANNED)
    _check_apart(section, "delivered", delivered, planned)
    count = section.choice("count", ("delivered", "all"))
    effect = section.choice("effect", ("next step", "same step"))
    section.refuse_unknown()
    if source is None or identity is None or when is None:
        return None
    kinds = (delivered, planned, count == "all")
    return InterventionsTable(source, identity, when, status, *kinds, at_once=effect == "same step")


def _words(section: Section, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """A list of words in lower case. The programme's own list replaces the default."""
    return tuple(dict.fromkeys(word.strip().lower() for word in section.texts(key, default)))


def _check_apart(section: Section, key: str, first: tuple[str, ...], second: tuple[str, ...]) -> None:
    both = sorted(set(first) & set(second))
    if both:
        section.refuse(key, "config-conflict", f"{both[0]!r} means both things.", "Say which: set both lists.")


def _budget(section: Section) -> Budget:
    total, group = section.whole("total", None, 1), section.text("group")
    groups = section.section("per_group")
    per_group = tuple((name, groups.whole(name, 0, 0) or 0) for name in sorted(groups.keys()))
    whole = sum(number for _, number in per_group)
    if per_group and group is None and not section.has("group"):
        remedy = 'Say which column holds the group: group = "district".'
        section.refuse(
            "group", "config-missing-key", "Groups have budgets, but no column says who is in which.", remedy
        )
    if per_group and section.has("total") and total is not None and total > whole:
        remedy = "Lower the total, raise a group's budget, or leave total out."
        section.refuse("total", "config-conflict", f"The budgets of the groups add up to {whole}.", remedy)
    if not per_group and not section.has("total"):
        remedy = "Say how many people can be called in a step: [budget] total = 100."
        section.refuse("total", "config-missing-key", remedy=remedy)
    section.refuse_unknown()
    # The total may be below the sum of the groups: for example 40 calls for each worker, but 100 in total.
    limit = whole if per_group and not section.has("total") else total or 0
    return Budget(limit, group, per_group)


def _rules(section: Section) -> Rules:
    rules = Rules(
        _never_call(section.section("never_call"), section.section("may_call")),
        section.whole("cool_down", 0, 0) or 0,
        section.whole("max_calls", None, 1),
        section.whole("min_observed", 1, 0) or 0,
    )
    section.refuse_unknown()
    return rules


def _choice(section: Section) -> tuple[str, float]:
    """How people are chosen among those who may be called, and what a lottery may cost."""
    choice = section.choice("rule", CHOICES), section.share("cost", LOTTERY_COST, with_ends=True)
    section.refuse_unknown()
    return choice


def _never_call(never: Section, may: Section) -> tuple[NeverCall, ...]:
    """The columns that say who is never called. A column without a may_call list is refused when its table is read."""
    allowed = {column: may.texts(column, empty=True) for column in sorted(may.keys())}
    columns = []
    for column in sorted(never.keys()):
        values = never.texts(column, empty=True)
        both = {value.strip().lower() for value in values} & {
            value.strip().lower() for value in allowed.get(column, ())
        }
        if both:
            what = f"{min(both)!r} is also listed under [rules.never_call]."
            may.refuse(column, "config-conflict", what, "Keep it in one of the two lists.")
        columns.append(NeverCall(column, values, allowed.get(column)))
    for column in sorted(set(allowed) - {each.column for each in columns}):
        remedy = "Say who is never called by this column, under [rules.never_call], or remove it here."
        may.refuse(column, "config-conflict", "[rules.never_call] does not have this column.", remedy)
    return tuple(columns)


def _outage(section: Section) -> Outage:
    outage = Outage(section.share("drop", 0.5), section.whole("window", 4, 1, 100) or 4)
    section.refuse_unknown()
    return outage
