"""For each kind of finding: a programme spoilt, what the remedy says, and the programme mended as it says."""

import gzip
import unicodedata

from tests.programme.cases import CALLS, PEOPLE, TOML, VISITS, workbook_bytes
from tests.programme.mending import (
    LOG,
    STATES,
    WEEKS,
    XLSX,
    Remedy,
    again,
    cell,
    change,
    dates,
    empty_seconds,
    folder_in_place,
    link_to_itself,
    log_workbook,
    one,
    put,
    remove,
    rename,
    set_in,
    write_workbook,
)
from tests.programme.small import BENEFICIARIES, ENGAGEMENT, PROGRAMME
from tests.programme.wrong_cells import NAMED

UMLAUTS = PROGRAMME.replace("Four", "Vier für alle")
_ROWS = enumerate(BENEFICIARIES.splitlines())
LEFT = (
    put(PEOPLE, "\n".join(row + (",left" if number == 0 else ",") for number, row in _ROWS)),
    change(TOML, 'enrolled = "enrolled"', 'enrolled = "enrolled"\nleft = "left"'),
)
FIRST = "north,active,2024-01-01,"

SETTINGS = [
    Remedy("config-missing", "armwise init", (remove(TOML),), (put(TOML, PROGRAMME),)),
    Remedy("config-unreadable", "in UTF-8", (put(TOML, UMLAUTS.encode("cp1252")),), (put(TOML, UMLAUTS),)),
    one("config-syntax", "Put text in quotes.", TOML, 'name = "Four people"', "name = Four people"),
    one("config-unknown-key", "Did you mean 'thresholds'?", TOML, "thresholds", "treshold"),
    one("config-missing-key", 'id = "id"', TOML, 'engagement.csv"\nid = "id"', 'engagement.csv"'),
    one("config-wrong-value", "a whole number from 1 to 366", TOML, "step_days = 7", "step_days = 0"),
    Remedy(
        "config-conflict",
        "Remove it, and set num_states.",
        (*STATES, change(TOML, "num_states = 3", "num_states = 3\nthresholds = [30]")),
        (change(TOML, "\nthresholds = [30]", ""),),
    ),
    one("group-without-people", "Did you mean 'south'?", TOML, "south = 1", "soutth = 1"),
    one("never-call-unused", "remove it", TOML, '["opted out"]', '["opted out", "dead"]'),
    one(
        "feature-constant", "Remove it from", PEOPLE, "urdu", "hindi", also=(change(PEOPLE, "marathi", "hindi"),)
    )._replace(mend=(change(TOML, 'categories = ["language"]', "categories = []"),)),
    Remedy(
        "feature-names",
        "Remove it from",
        (change(TOML, '["language"]', '["name"]'), put(PEOPLE, NAMED)),
        (change(TOML, '["name"]', '["language"]'),),
    ),
]

TABLES = [
    one("file-missing", "Did you mean 'engagement.csv'?", TOML, CALLS, "engagment.csv"),
    Remedy(
        "file-is-folder", "Name the file inside it.", (folder_in_place,), (change(TOML, CALLS, f"{CALLS}/log.csv"),)
    ),
    Remedy("file-unreadable", "rights", (link_to_itself,), (remove(CALLS), again(CALLS))),
    Remedy("file-empty", "Export or copy it again.", (put(CALLS, b""),), (again(CALLS),)),
    Remedy(
        "file-kind",
        "Name it .xlsx",
        (write_workbook(LOG), rename("calls.xlsx", CALLS), change(TOML, "calls.xlsx", CALLS)),
        (rename(CALLS, "calls.xlsx"), XLSX),
    ),
    Remedy("file-kind", "gunzip", (put(CALLS, gzip.compress(ENGAGEMENT.encode())),), (again(CALLS),)),
    Remedy("file-damaged", "copy it again", (XLSX, put("calls.xlsx", workbook_bytes()[:2000])), (log_workbook,)),
    Remedy(
        "file-encoding",
        'encoding = "windows-1252" to [beneficiaries]',
        (put(PEOPLE, BENEFICIARIES.replace("urdu", "français").encode("cp1252")),),
        (set_in("beneficiaries", 'encoding = "windows-1252"'),),
    ),
    Remedy(
        "file-encoding",
        'encoding = "utf-16" to [engagement]',
        (put(CALLS, ENGAGEMENT.encode("utf-16")),),
        (set_in("engagement", 'encoding = "utf-16"'),),
    ),
    Remedy("file-separator", 'separator = ";"', (change(CALLS, ",", ";"),), (set_in("engagement", 'separator = ";"'),)),
    Remedy("file-line-ends", "CSV UTF-8", (put(CALLS, ENGAGEMENT.replace("\n", "\r")),), (again(CALLS),)),
    one("file-quotes", "Remove it;", PEOPLE, "Bina Secret", 'Bina "the Great" Secret', "Bina the Great Secret"),
    one("file-quotes", "double those inside", PEOPLE, "Bina Secret", 'Bina "X" Secret', '"Bina ""X"" Secret"'),
    one("file-ragged", "in quotes", PEOPLE, "Bina Secret", "Secret, Bina", '"Secret, Bina"'),
    one("file-ragged", "add the separators", CALLS, "2024-01-02,no,", "2024-01-02,no"),
    Remedy("file-ragged", "copy it again", (put(CALLS, ENGAGEMENT[:-9]),), (again(CALLS),)),
    one("file-multiline", "a quotation mark is missing", PEOPLE, "Bina Secret", '"Bina\nSecret"'),
    Remedy(
        "sheet-choice",
        'in [engagement]: sheet = "January"',
        (write_workbook(LOG, "January", "Notes"),),
        (set_in("engagement", 'sheet = "January"'),),
    ),
    Remedy(
        "sheet-missing",
        "there are 'January', 'Notes'",
        (write_workbook(LOG, "January", "Notes"), set_in("engagement", 'sheet = "Jan"')),
        (change(TOML, '"Jan"', '"January"'),),
    ),
    Remedy(
        "header-missing",
        "one for each column in its order; among them: id, date, seconds, connected",
        (put(CALLS, ENGAGEMENT.split("\n", 1)[1]),),
        (change(CALLS, "0001,2024-01-01", "id,date,connected,seconds\n0001,2024-01-01"),),
    ),
    one("header-below", "Delete row 1, above", CALLS, "id,date", "Call log of January 2024\nid,date"),
    one("header-below", "Delete rows 1 to 2", CALLS, "id,date", "Calls,,,\n,,,\nid,date"),
    Remedy(
        "header-below",
        "Delete rows 1 to 2",
        (write_workbook([["Calls"], [], *LOG]),),
        (change(TOML, "calls.xlsx", CALLS),),
    ),
    Remedy(
        "column-missing",
        "Did you mean 'secnds'?",
        (change(CALLS, "seconds", "secnds"),),
        (change(TOML, 'seconds = "seconds"', 'seconds = "secnds"'),),
    ),
    one("column-missing", "There is 'Seconds': make spaces and capitals agree.", CALLS, "seconds", "Seconds"),
    one("column-duplicate", "Rename or remove one.", CALLS, "id,date,connected", "id,date,date")._replace(
        mend=(change(CALLS, "id,date,date", "id,date,connected"),)
    ),
    Remedy("table-empty", "copy it again", (put(CALLS, "id,date,connected,seconds\n"),), (again(CALLS),)),
    Remedy("table-no-calls", "Add past calls", (put(VISITS, "id,date,status\n"),), (again(VISITS),)),
]

IDS = [
    one("id-empty", "Fill it in", CALLS, "0003,2024-01-04", ",2024-01-04"),
    one("id-empty", "Delete rows of totals.", CALLS, "yes,5\n", "yes,5\n,,,184\n"),
    one("id-spaces", "Remove them", CALLS, "0003,", "0003 ,"),
    one("id-scientific", "formatted as text", CALLS, "0003,", "3.00E+00,"),
    one("id-decimal", "formatted as text", CALLS, "0003,", "3.0,"),
    one("id-placeholder", "Correct the cell", CALLS, "0003,", "NA,"),
    one("id-characters", "Type it again", CALLS, "0003,", "00\u200b03,"),
    one(
        "id-duplicate",
        "Keep one row",
        PEOPLE,
        "0002,Bina",
        "0001,Asha Secret,25,hindi,north,active,2024-01-01\n0002,Bina",
    ),
    one(
        "id-composed",
        "composed form",
        CALLS,
        "0003,",
        unicodedata.normalize("NFD", "é3,"),
        "é3,",
        also=(change(PEOPLE, "0003,", "é3,"),),
    ),
    Remedy(
        "id-similar",
        "keep one row",
        tuple(
            change(file, old, new)
            for file in (PEOPLE, CALLS, VISITS)
            for old, new in (("0001,", "a1,"), ("0002,", "A1,"))
        ),
        (
            change(PEOPLE, "A1,Bina Secret,31,urdu,south,active,2024-01-01\n", ""),
            change(CALLS, "A1,", "a1,"),
            change(VISITS, "A1,", "a1,"),
        ),
    ),
    one("id-unknown", "Add the person there", CALLS, "0003,", "0033,"),
    one("id-unknown", "Write the id alike in both files", CALLS, "0003,2024-01-04", "3,2024-01-04"),
]

TIMES = [
    one("date-empty", "Correct the cell", CALLS, "0003,2024-01-04", "0003,"),
    *(
        Remedy(
            kind,
            f'Set date_format = "{form}" in [engagement].',
            (dates(CALLS, example),),
            (set_in("engagement", f'date_format = "{form}"'),),
        )
        for kind, form, example in (
            ("date-ambiguous", "%d.%m.%Y %H:%M", "%d.%m.%Y 08:30"),
            ("date-ambiguous", "%d/%m/%Y", "%d/%m/%Y"),
            ("date-ambiguous", "%m/%d/%Y %I:%M %p", "%m/%d/%Y 8:30 PM"),
            ("date-invalid", "%Y%m%d", "%Y%m%d"),
            ("date-invalid", "%d %B %Y", "%d %b %Y"),
            ("date-invalid", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d 23:59:59"),
        )
    ),
    Remedy(
        "date-ambiguous",
        'date_format = "%d-%m-%y" or date_format = "%y-%m-%d"; \'24-01-01\' would be 2001-01-24 or 2024-01-01',
        (dates(CALLS, "%y-%m-%d"),),
        (set_in("engagement", 'date_format = "%y-%m-%d"'),),
    ),
    one("date-ambiguous", "2024-01-04 if it is", CALLS, "0003,2024-01-04", "0003,04/01/2024"),
    one("date-invalid", "as 2024-01-31.", CALLS, "0003,2024-01-04", "0003,yesterday"),
    one("date-invalid", "'4 Jan 2024' is 2024-01-04", CALLS, "0003,2024-01-04", "0003,4 Jan 2024"),
    one("date-invalid", "export it again", CALLS, "0003,2024-01-04", "0003,45295"),
    Remedy(
        "date-invalid",
        'Set date_format = "%Y-%m-%d" in [engagement], or',
        (set_in("time", 'date_format = "%d.%m.%Y"'), dates(PEOPLE, "%d.%m.%Y"), dates(VISITS, "%d.%m.%Y")),
        (set_in("engagement", 'date_format = "%Y-%m-%d"'),),
    ),
    one("date-year", "Correct it", CALLS, "0003,2024-01-04", "0003,1899-12-30"),
    Remedy(
        "date-year",
        'date_format = "%d/%m/%y" or date_format = "%y/%m/%d"',
        (set_in("engagement", 'date_format = "%d/%m/%Y"'), dates(CALLS, "%d/%m/%y")),
        (change(TOML, '"%d/%m/%Y"', '"%d/%m/%y"'),),
    ),
    one("week-empty", "Correct the cell", CALLS, "0002,1,", "0002,,", also=WEEKS),
    one("week-invalid", "Correct the cell", CALLS, "0002,1,", "0002,one,", also=WEEKS),
    Remedy(
        "time-span",
        "Correct the first or last date",
        (change(TOML, "plan_date = 2024-01-22", ""), change(CALLS, "2024-01-01", "1991-01-01")),
        (change(CALLS, "1991-01-01", "2024-01-01"),),
    ),
    one("row-after-plan", "Correct it", CALLS, "0003,2024-01-04", "0003,2024-01-23"),
    Remedy(
        "row-after-plan",
        'set later_rows = "ignore"',
        (change(CALLS, "0003,2024-01-04", "0003,2024-01-23"),),
        (set_in("time", 'later_rows = "ignore"'),),
    ),
    Remedy(
        "row-before-start",
        "set first_day",
        (set_in("time", "first_day = 2024-01-08"),),
        (change(TOML, "first_day = 2024-01-08", "first_day = 2024-01-01"),),
    ),
    Remedy(
        "nobody-left",
        "Check 'left', 'length'",
        (set_in("beneficiaries", "length = 1"),),
        (change(TOML, "length = 1", "length = 900"),),
    ),
    one("row-after-exit", "Check the two dates", PEOPLE, FIRST, FIRST + "2024-01-08", also=LEFT),
    one("left-before-enrolment", "Correct one", PEOPLE, FIRST, FIRST + "2023-12-08", also=LEFT),
    one("row-before-enrolment", "Check the two dates", PEOPLE, "active,2024-01-08", "active,2024-01-15"),
    Remedy(
        "row-unfinished-step",
        "the first day of the next step",
        (change(TOML, "2024-01-22", "2024-01-17"),),
        (change(TOML, "2024-01-17", "2024-01-22"),),
    ),
]

CELLS = [
    cell("connected-empty", "Write yes or no.", ",30", "yes,30"),
    cell("connected-unknown", "Write yes or no;", "maybe,30", "yes,30"),
    Remedy(
        "connected-unknown",
        'or set yes = ["yes"] and no = ["no"] in [engagement], with the new words added',
        (change(CALLS, "2024-01-04,yes", "2024-01-04,oui"),),
        (set_in("engagement", 'yes = ["yes", "oui"]\nno = ["no"]'),),
    ),
    Remedy(
        "connected-empty",
        "Write oui or non.",
        (
            set_in("engagement", 'yes = ["oui"]\nno = ["non"]'),
            change(CALLS, "yes", "oui"),
            change(CALLS, ",no,", ",non,"),
            change(CALLS, "2024-01-04,oui", "2024-01-04,"),
        ),
        (change(CALLS, "2024-01-04,", "2024-01-04,oui"),),
    ),
    cell("seconds-empty", "0 if nobody listened", "yes,", "yes,0"),
    cell("seconds-invalid", "as in 35 or 35.5", "yes,30s", "yes,30"),
    cell("seconds-invalid", "1:05 is 65", "yes,1:05", "yes,65"),
    cell("seconds-invalid", "leave the cell empty", "no,#DIV/0!", "no,"),
    cell("seconds-invalid", "write 1234.", 'yes,"1,234"', "yes,1234"),
    cell("seconds-invalid", "without marks between thousands: 1234567.", 'yes,"1,234,567"', "yes,1234"),
    cell("seconds-invalid", "without marks between thousands: 1234.5.", 'yes,"1,234.5"', "yes,1234.5"),
    cell("seconds-invalid", "without marks between thousands: 1234.", "yes,1 234", "yes,1234"),
    cell("seconds-invalid", "in the digits 0 to 9, without marks between thousands: 35.5.", "yes,٣٥٫٥", "yes,35.5"),
    cell("seconds-invalid", "decimal point, as 30.5", 'yes,"30,5"', "yes,30.5"),
    Remedy(
        "seconds-invalid",
        'set decimal = "," in [engagement]',
        (change(CALLS, "yes,30", 'yes,"30,5"'),),
        (set_in("engagement", 'decimal = ","'),),
    ),
    Remedy(
        "seconds-invalid",
        'as 1234,5, and set decimal = "," in [engagement]',
        (change(CALLS, "yes,30", 'yes,"1.234,5"'),),
        (set_in("engagement", 'decimal = ","'), change(CALLS, "1.234,5", "1234,5")),
    ),
    Remedy(
        "seconds-invalid",
        "as in 35 or 35,5",
        (set_in("engagement", 'decimal = ","'), change(CALLS, "yes,30", "yes,half a minute")),
        (change(CALLS, "half a minute", '"35,5"'),),
    ),
    cell("seconds-negative", "Correct the cell", "yes,-3", "yes,3"),
    cell("seconds-too-long", "Give seconds", "yes,3000000", "yes,3000"),
    cell("seconds-not-connected", "or leave the seconds empty", "no,30", "no,"),
    Remedy(
        "seconds-zero",
        "Set 'connected' under [engagement]",
        (change(TOML, 'connected = "connected"\n', ""),),
        (set_in("engagement", 'connected = "connected"'),),
    ),
    one("state-empty", "Correct the cell", CALLS, "01-08,yes,1", "01-08,yes,", also=STATES),
    one("state-invalid", "from 0 to 2", CALLS, "01-08,yes,1", "01-08,yes,7", also=STATES),
    Remedy(
        "state-invalid",
        "set num_states if there are more",
        (*STATES, change(CALLS, "01-08,yes,1", "01-08,yes,7")),
        (change(TOML, "num_states = 3", "num_states = 8"),),
    ),
    Remedy("nothing-observed", "Check the columns", (change(CALLS, "yes", "no"), empty_seconds), (again(CALLS),)),
    one("status-empty", "Write delivered or planned.", VISITS, "2024-01-05,delivered", "2024-01-05,"),
    one("status-unknown", "Write delivered or planned;", VISITS, "2024-01-05,delivered", "2024-01-05,perhaps"),
    Remedy(
        "status-unknown",
        'set delivered = ["delivered"] and planned = ["planned"] in [interventions], with the new words added',
        (change(VISITS, "2024-01-05,delivered", "2024-01-05,made"),),
        (set_in("interventions", 'delivered = ["delivered", "made"]\nplanned = ["planned"]'),),
    ),
    one(
        "intervention-repeated",
        "correct the date of one",
        VISITS,
        "0002,",
        "0001,2024-01-05,delivered\n0002,",
        "0001,2024-01-06,delivered\n0002,",
    ),
    one("feature-number", "leave it empty", PEOPLE, ",31,", ",thirty,", ",,"),
    Remedy(
        "feature-number",
        "move the column from 'numbers' to 'categories'",
        (change(PEOPLE, ",31,", ",thirty,"),),
        (change(TOML, '["age"]', "[]"), change(TOML, '["language"]', '["language", "age"]')),
    ),
    one("feature-error", "leave the cell empty", PEOPLE, "urdu", "#N/A", ""),
    one("group-characters", "Type it again.", PEOPLE, "urdu,south", "urdu,so\u202euth"),
    one("group-empty", "Fill it in.", PEOPLE, "urdu,south", "urdu,"),
    Remedy(
        "group-without-budget",
        "Add it under [budget.per_group]",
        (change(PEOPLE, "urdu,south", "urdu,west"),),
        (set_in("budget.per_group", "west = 1"),),
    ),
    one("never-call-empty", "Fill it in", PEOPLE, "south,active,2024-01-01", "south,,2024-01-01"),
    Remedy(
        "never-call-unknown",
        "add the value",
        (change(PEOPLE, "south,active,2024-01-01", "south,paused,2024-01-01"),),
        (change(TOML, '["active"]', '["active", "paused"]'),),
    ),
]

REMEDIES = [*SETTINGS, *TABLES, *IDS, *TIMES, *CELLS]
