"""Ways for a cell to be wrong."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

from tests.programme.cases import CALLS, PEOPLE, TOML, VISITS, Case, edit, raw, setting
from tests.programme.small import BENEFICIARIES, FILES, PROGRAMME, edited

IDS = [
    edit(f"{words} in {file}", file, old, new, kind, row, says)
    for file, row, prefix in ((PEOPLE, 3, "0002,Bina"), (CALLS, 4, "0002,2024-01-02"), (VISITS, 3, "0002,2024"))
    for words, cell, kind, says in (
        ("empty id", "", "id-empty", "empty"),
        ("blank id", "  ", "id-empty", "empty"),
        ("space before an id", " 0002", "id-spaces", "spaces"),
        ("space after an id", "0002 ", "id-spaces", "spaces"),
        ("hard space after an id", "0002\u00a0", "id-spaces", "spaces"),
        ("scientific id", "1.23E+09", "id-scientific", "formatted as text"),
        ("scientific id with a comma", '"1,23E+09"', "id-scientific", "formatted as text"),
        ("decimal id", "2.0", "id-decimal", "formatted as text"),
        ("missing value as an id", "NA", "id-placeholder", "missing"),
        ("spreadsheet error as an id", "#REF!", "id-placeholder", "missing"),
        ("invisible character in an id", "00\u200b02", "id-characters", "invisible"),
        ("NUL in an id", "00\x0002", "id-characters", "invisible"),
        ("line end in an id", '"00\n02"', "id-characters", "invisible"),
    )
    for old, new in ((prefix, prefix.replace("0002", cell)),)
] + [
    edit("duplicate person", PEOPLE, "0003,", "0001,", "id-duplicate", 4, "'0001'"),
    edit("duplicate row of a person", PEOPLE, "0002,", BENEFICIARIES.splitlines()[1] + "\n0002,", "id-duplicate", 3),
    edit("blank line", PEOPLE, "0002,", "\n0002,", "id-empty", 3),
    edit(
        "row of totals", CALLS, "0001,2024-01-15,yes,5\n", "0001,2024-01-15,yes,5\n,,,184\n", "id-empty", 11, "totals"
    ),
    edit("unknown person", CALLS, "0003,", "0033,", "id-unknown", 5, "Add the person"),
    edit("lost zeros", CALLS, "0003,", "3,", "id-unknown", 5, "'0003'"),
    edit("lost zeros in interventions", VISITS, "0004,", "4,", "id-unknown", 4, "'0004'"),
]


def _dated(file: str, form: str) -> Callable[[Path], None]:
    """Writes all dates of a file in another form."""

    def spoil(folder: Path) -> None:
        text = FILES[file]
        for each in set(re.findall(r"2024-\d\d-\d\d", text)):
            text = text.replace(each, date.fromisoformat(each).strftime(form))
        (folder / file).write_text(text, encoding="utf-8")

    return spoil


TIMES = (
    [
        edit(
            f"{words} in {file}",
            file,
            old,
            old.replace("2024-01-05" if file == VISITS else "2024-01-04", cell),
            kind,
            row,
            says,
        )
        for file, row, old in ((CALLS, 5, "0003,2024-01-04"), (VISITS, 2, "0001,2024-01-05"))
        for words, cell, kind, says in (
            ("empty date", "", "date-empty", "empty"),
            ("ambiguous date", "04/01/2024", "date-ambiguous", '2024-01-04 if it is "%d/%m/%Y" or 2024-04-01 if'),
            ("ambiguous date with points", "4.1.2024", "date-ambiguous", "%d.%m.%Y"),
            ("ambiguous date of two digits", "04/01/24", "date-ambiguous", "%d/%m/%y"),
            ("day first", "24/01/2024", "date-ambiguous", "'24/01/2024' is 2024-01-24."),
            ("month first", "01/24/2024", "date-ambiguous", "'01/24/2024' is 2024-01-24."),
            ("year perhaps first", "24-01-14", "date-ambiguous", '2024-01-14 if it is "%y-%m-%d"'),
            ("date in words", "4 January 2024", "date-invalid", "2024-01-31; '4 January 2024' is 2024-01-04"),
            ("no such day", "2024-02-30", "date-invalid", "2024-01-31"),
            ("no such month", "2024-13-01", "date-invalid", "2024-01-31"),
            ("number of a day", "45295", "date-invalid", "spreadsheet"),
            ("date without dashes", "20240104", "date-invalid", "2024-01-31; '20240104' is 2024-01-04"),
            ("text as a date", "yesterday", "date-invalid", "2024-01-31"),
            ("year too early", "1899-12-30", "date-year", "year"),
            ("year too late", "2204-01-04", "date-year", "year"),
            ("date after the plan", "2024-01-23", "row-after-plan", "later_rows"),
            ("date of the plan", "2024-01-22", "row-after-plan", "later_rows"),
        )
    ]
    + [
        Case(f"all dates {words}", _dated(CALLS, form), kind, CALLS, 2, says)
        for words, form, kind, says in (
            ("day first", "%d/%m/%Y", "date-ambiguous", 'Set date_format = "%d/%m/%Y" in [engagement].'),
            ("month first", "%m/%d/%Y", "date-ambiguous", 'Set date_format = "%m/%d/%Y" in [engagement].'),
            ("with points and times", "%d.%m.%Y 08:30", "date-ambiguous", 'Set date_format = "%d.%m.%Y %H:%M" in'),
            ("of two digits", "%y-%m-%d", "date-ambiguous", "would be 2001-01-24 or 2024-01-01"),
            ("in words", "%d %B %Y", "date-invalid", 'Set date_format = "%d %B %Y" in [engagement].'),
            ("without dashes", "%Y%m%d", "date-invalid", 'Set date_format = "%Y%m%d" in [engagement].'),
        )
    ]
    + [
        edit("enrolled on no day", PEOPLE, "Opted out,2024-01-02", "Opted out,2024-01-32", "date-invalid", 4),
        edit("enrolled never", PEOPLE, "Opted out,2024-01-02", "Opted out,", "date-empty", 4),
        Case(
            "too long a span",
            lambda folder: (
                (folder / TOML).write_text(edited(TOML, "plan_date = 2024-01-22", ""))
                and (folder / CALLS).write_text(edited(CALLS, "2024-01-01", "1991-01-01"))
                and None
            ),
            "time-span",
            CALLS,
            None,
            "1990-12-31 to 2024-01-15",
        ),
        *(
            Case(
                name,
                lambda folder, cell=cell: (
                    (folder / TOML).write_text(edited(TOML, "plan_date = 2024-01-22", ""))
                    and (folder / CALLS).write_text(edited(CALLS, "2024-01-04", cell))
                    and None
                ),
                kind,
                CALLS,
                5,
                says,
            )
            for name, cell, kind, says in (
                ("a year too late", "2025-01-04", "row-far-after", "plan_date = 2025-01-06"),
                ("a year too early", "2023-01-04", "row-far-before", "first_day = 2023-01-02"),
                ("in the future", "2099-01-04", "row-in-future", "today is"),
            )
        ),
        setting("plan before all rows", "2024-01-22", "2023-12-01", "row-after-plan", "later_rows", 2)._replace(
            file=CALLS
        ),
        setting(
            "format disagrees", "step_days = 7", 'date_format = "%d/%m/%Y"', "date-invalid", "31/01/2024", 2
        )._replace(file=CALLS),
        Case(
            "two-digit years in a format of four",
            lambda folder: (
                (folder / TOML).write_text(edited(TOML, "step_days = 7", 'date_format = "%d/%m/%Y"'))
                and (folder / CALLS).write_text(edited(CALLS, "2024-01-04", "04/01/24"))
                and None
            ),
            "date-year",
            CALLS,
            5,
            "four digits",
        ),
    ]
)

ENGAGEMENTS = [
    edit(words, CALLS, "0003,2024-01-04,yes,30", f"0003,2024-01-04,{cells}", kind, 5, says)
    for words, cells, kind, says in (
        ("negative seconds", "yes,-3", "seconds-negative", "'-3'"),
        ("seconds in words", "yes,half a minute", "seconds-invalid", "'half a minute'"),
        ("seconds with a unit", "yes,30s", "seconds-invalid", "35.5"),
        ("seconds as minutes", "yes,0:30", "seconds-invalid", "1:05 is 65"),
        ("seconds with a comma", 'yes,"30,5"', "seconds-invalid", "decimal point, as 30.5; or"),
        ("thousands of seconds", 'yes,"1,234"', "seconds-invalid", "'1,234' counts thousands, write 1234."),
        ("seconds with a space", "yes,1 234", "seconds-invalid", "1234"),
        ("seconds with both marks", 'yes,"1.234,5"', "seconds-invalid", 'as 1234,5, and set decimal = ","'),
        ("seconds in Arabic digits", "yes,٣٥", "seconds-invalid", "35."),
        ("seconds are nan", "yes,nan", "seconds-invalid", "nan"),
        ("seconds are infinite", "yes,inf", "seconds-invalid", "inf"),
        ("seconds are an error", "yes,#DIV/0!", "seconds-invalid", "#DIV/0!"),
        ("a formula as seconds", "yes,=1+1", "seconds-invalid", "=1+1"),
        ("milliseconds", "yes,3000000", "seconds-too-long", "milliseconds"),
        ("connected without seconds", "yes,", "seconds-empty", "0 if nobody"),
        ("listened without being connected", "no,30", "seconds-not-connected", "did not connect"),
        ("connected empty", ",30", "connected-empty", "yes or no"),
        ("connected blank", " ,30", "connected-empty", "yes or no"),
        ("connected unknown", "maybe,30", "connected-unknown", "'maybe'"),
        ("connected is a number", "2,30", "connected-unknown", "'2'"),
    )
] + [
    setting(
        "everything is later than the plan",
        "plan_date = 2024-01-22",
        'plan_date = 2023-12-01\nlater_rows = "ignore"',
        "nothing-observed",
        "before the plan",
        None,
    )._replace(file=CALLS),
    Case(
        "nobody was ever reached",
        lambda folder: (folder / CALLS).write_text("id,date,connected,seconds\n0001,2024-01-01,no,\n") and None,
        "nothing-observed",
        CALLS,
        None,
        "connected",
    ),
]


def _with_states(cell: str) -> Callable[[Path], None]:
    settings = edited(TOML, 'seconds = "seconds"\nthresholds = [30]', 'state = "seconds"\nnum_states = 3')
    rows = f"id,date,connected,seconds\n0001,2024-01-01,yes,2\n0001,2024-01-08,yes,{cell}\n"
    return lambda folder: (folder / TOML).write_text(settings) and (folder / CALLS).write_text(rows) and None


def _with_weeks(cell: str) -> Callable[[Path], None]:
    settings = (
        PROGRAMME.replace('date = "date"', 'week = "date"')
        .replace("step_days = 7\nplan_date = 2024-01-22", "plan_week = 3")
        .replace('enrolled = "enrolled"\n', "")
    )

    def spoil(folder: Path) -> None:
        (folder / TOML).write_text(settings)
        (folder / CALLS).write_text(f"id,date,connected,seconds\n0001,0,yes,45\n0002,{cell},yes,2\n")
        (folder / VISITS).write_text("id,date,status\n0001,1,delivered\n")

    return spoil


STATES_AND_WEEKS = [
    Case(f"state {words}", _with_states(cell), kind, CALLS, 3, says)
    for words, cell, kind, says in (
        ("too high", "3", "state-invalid", "from 0 to 2"),
        ("negative", "-1", "state-invalid", "from 0 to 2"),
        ("a fraction", "0.5", "state-invalid", "'0.5'"),
        ("a word", "engaged", "state-invalid", "'engaged'"),
        ("empty", "", "state-empty", "connected"),
    )
] + [
    Case(f"week {words}", _with_weeks(cell), kind, CALLS, 3, says)
    for words, cell, kind, says in (
        ("empty", "", "week-empty", "empty"),
        ("a word", "first", "week-invalid", "'first'"),
        ("a fraction", "1.5", "week-invalid", "'1.5'"),
        ("negative", "-1", "week-invalid", "'-1'"),
        ("a date", "2024-01-08", "week-invalid", "look like dates"),
        ("of the plan", "3", "row-after-plan", "later_rows"),
        ("far away", "20240108", "row-after-plan", "later_rows"),
    )
]

# Sixty-one people, of whom each has a name of her own.
_ROWS = "".join(f"{number:04},{number % 7},x,north,active,2024-01-01,Name {number}\n" for number in range(1, 61))
NAMED = "id,age,language,district,status,enrolled,name\n" + _ROWS + "0061,5,y,south,opted out,2024-01-01,Name 61\n"

OTHERS = [
    Case(
        "names as a category",
        lambda folder: (
            (folder / PEOPLE).write_text(NAMED)
            and (folder / TOML).write_text(edited(TOML, '["language"]', '["name"]'))
            and None
        ),
        "feature-names",
        PEOPLE,
        None,
        "Remove it from",
    ),
    edit("status empty", VISITS, "2024-01-05,delivered", "2024-01-05,", "status-empty", 2),
    edit("status unknown", VISITS, "2024-01-05,delivered", "2024-01-05,perhaps", "status-unknown", 2, "'perhaps'"),
    edit("age in words", PEOPLE, ",31,", ",thirty,", "feature-number", 3, "'thirty'"),
    edit("age of nan", PEOPLE, ",31,", ",NaN,", "feature-number", 3, "'NaN'"),
    edit("an error as a category", PEOPLE, "urdu", "#N/A", "feature-error", 3, "formula"),
    Case(
        "left before enrolment",
        lambda folder: (
            (folder / TOML).write_text(edited(TOML, 'enrolled = "enrolled"', 'enrolled = "enrolled"\nleft = "left"'))
            and (folder / PEOPLE).write_text(
                FILES[PEOPLE]
                .replace("enrolled", "enrolled,left")
                .replace("1\n", "1,\n")
                .replace("8\n", "8,\n")
                .replace("2\n", "2,2023-12-31\n")
            )
            and None
        ),
        "left-before-enrolment",
        PEOPLE,
        4,
        "Correct one",
    ),
    raw(
        "names as a feature",
        PEOPLE,
        (FILES[PEOPLE] + "".join(f"1{n:03},x,30,Secret {n},north,active,2024-01-01\n" for n in range(60))).encode(),
        "feature-names",
        None,
    ),
    edit("no group", PEOPLE, "urdu,south", "urdu,", "group-empty", 3),
    edit("group without a budget", PEOPLE, "urdu,south", "urdu,west", "group-without-budget", 3, "'west'"),
    edit("escape in a group", PEOPLE, "urdu,south", "urdu,so\x1b[2Juth", "group-characters", 3, r"'so\x1b[2Juth'"),
    edit("writing turned round in a group", PEOPLE, "urdu,south", "urdu,so\u202euth", "group-characters", 3),
    edit("opt-out with a hyphen", PEOPLE, "Opted out", "opted-out", "never-call-unknown", 4, "'opted-out'"),
    edit("opt-out empty", PEOPLE, "Opted out", "", "never-call-empty", 4, '""'),
    setting("group without people", "south = 1", "soutth = 1", "group-without-people", "'south'", None),
]
