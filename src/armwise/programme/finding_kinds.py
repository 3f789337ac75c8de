"""All kinds of findings: how serious each is, what it means, what to do. ``docs/data-format.md`` lists them too."""

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How serious a finding is. The most serious comes first."""

    ERROR = "error"
    STOP = "stop"
    WARNING = "warning"


class Kind(NamedTuple):
    """The default words of a kind of finding. Code with a more exact message uses its own."""

    what: str
    remedy: str
    severity: Severity = Severity.ERROR


CORRECT_ROW = "Correct the cell, or delete the row if it does not belong here."
SAVE_AGAIN = "Export or copy it again."

KINDS = {
    # programme.toml
    "config-missing": Kind("There is no such file.", "Run 'armwise init' for one to start from, or give its path."),
    "config-unreadable": Kind("The file cannot be read.", "Save it as plain text in UTF-8 and check its rights."),
    "config-syntax": Kind("The file is not valid TOML.", "Compare with the file that 'armwise init' writes."),
    "config-unknown-key": Kind("There is no such setting.", "Remove it, or compare with 'armwise init'."),
    "config-missing-key": Kind("The setting is missing.", "Add it."),
    "config-wrong-value": Kind("The setting has a value that cannot be right.", "Correct it."),
    "config-conflict": Kind("Two settings contradict each other.", "Keep one."),
    # files
    "file-missing": Kind("There is no such file.", "Correct 'file' in programme.toml; paths start from its folder."),
    "file-is-folder": Kind("This is a folder, not a file.", "Name the file inside it."),
    "file-unreadable": Kind("The file cannot be opened.", "Check its rights, and that no other program holds it."),
    "file-empty": Kind("The file is empty.", SAVE_AGAIN),
    "file-kind": Kind("This kind of file is not read.", "Use .csv, .xlsx, .xls or .parquet."),
    "file-damaged": Kind("The file is damaged or cut off.", SAVE_AGAIN),
    "file-encoding": Kind("The file is not UTF-8.", "Set 'encoding', or save it as 'CSV UTF-8'."),
    "file-separator": Kind("The columns are separated by another character.", "Set 'separator'."),
    "file-line-ends": Kind("The lines end as on a Mac before 2001.", "Save it as 'CSV UTF-8'."),
    "file-quotes": Kind(
        "A quotation mark opens and does not close properly.",
        "Remove it; or put the whole cell in quotation marks and double those inside.",
    ),
    "file-ragged": Kind(
        "The row has not as many cells as the header.",
        "If it is the last, the file was cut off: copy it again. Too many cells: put text with a separator in quotes, "
        "or remove separators at the end. Too few: add the separators that are missing.",
    ),
    "file-multiline": Kind(
        "Cells go over several lines.",
        "Nothing, if meant. Otherwise a quotation mark is missing, and rows may be hidden in a cell: add it.",
        Severity.WARNING,
    ),
    "sheet-choice": Kind("The workbook has several sheets.", "Say which one with 'sheet'."),
    "sheet-missing": Kind("The workbook has no such sheet.", "Correct 'sheet'."),
    "header-missing": Kind("The first row looks like data, not like names of columns.", "Add a header."),
    "header-below": Kind("The names of the columns are below other rows.", "Delete the rows above them."),
    "column-missing": Kind("There is no such column.", "Correct the name in programme.toml or in the file."),
    "column-duplicate": Kind("Two columns have this name.", "Rename or remove one."),
    "table-empty": Kind("The table has a header but no rows.", SAVE_AGAIN),
    "table-no-calls": Kind(
        "No past call was delivered.",
        "Add past calls if there were any: what calls achieve cannot be learned without them.",
        Severity.WARNING,
    ),
    # ids
    "id-empty": Kind("The id is empty.", "Fill it in; merged cells must be separated. Delete rows of totals."),
    "id-spaces": Kind("The id has spaces around it.", "Remove them, in all files alike."),
    "id-scientific": Kind(
        "A spreadsheet turned the id into a rounded number.", "Export again with the column formatted as text."
    ),
    "id-decimal": Kind("The id has become a decimal number.", "Export again with the column formatted as text."),
    "id-placeholder": Kind("The id stands for a missing value.", CORRECT_ROW),
    "id-characters": Kind("The id contains invisible or broken characters.", "Type it again, in all files alike."),
    "id-duplicate": Kind("The id occurs twice among the beneficiaries.", "Keep one row for each person."),
    "id-composed": Kind(
        "Accents of the id are separate characters; it is read with composed ones (Unicode's form NFC).",
        "Nothing, if meant: the ids of all files are read alike. Or write it again in composed form.",
        Severity.WARNING,
    ),
    "id-similar": Kind(
        "Two ids differ only in capitals or in letters that look alike, so they seem to be one person.",
        "Check whether they are. If so, keep one row and write the id alike in all files.",
        Severity.WARNING,
    ),
    "id-unknown": Kind(
        "The id is not among the beneficiaries.",
        "Add the person there, correct the id, or delete the row if it is nobody's.",
    ),
    # time
    "date-empty": Kind("The date is empty.", CORRECT_ROW),
    "date-ambiguous": Kind(
        "The order of day, month and year is not plain.",
        "Set date_format for the table, or write all dates as 2024-01-31.",
    ),
    "date-invalid": Kind(
        "This is not a date of the expected form.", "Write it as 2024-01-31, or set date_format for the table."
    ),
    "date-year": Kind("The year cannot be right.", "Correct it; write years with four digits."),
    "week-empty": Kind("The week is empty.", CORRECT_ROW),
    "week-invalid": Kind("The week is not a whole number from 0 on.", CORRECT_ROW),
    "time-span": Kind("The table spans too many steps.", "Correct the first or last date, or set first_day."),
    "row-in-future": Kind("The row is dated in the future.", "Correct the date."),
    "row-far-after": Kind(
        "The row lies long after almost all others, and the plan would follow it.",
        "Correct the date. If it is right, set the plan's date under [time].",
    ),
    "row-far-before": Kind(
        "The row lies long before almost all others, and the first step would begin with it.",
        "Correct the date. If it is right, set first_day under [time].",
    ),
    "call-far-before": Kind(
        "The call lies long before all others, so it no longer counts as a recent one.",
        "Check the year of the date.",
        Severity.WARNING,
    ),
    "row-after-plan": Kind(
        "The row lies on or after the day of the plan.",
        'Correct it or the plan\'s date, or set later_rows = "ignore" to plan as of that day.',
    ),
    "row-before-start": Kind(
        "Rows before the first step are left out.",
        "Nothing, if meant. Otherwise set first_day, or first_week, to an earlier one.",
        Severity.WARNING,
    ),
    "row-before-enrolment": Kind(
        "Rows from before the person was enrolled are left out.", "Check the two dates.", Severity.WARNING
    ),
    "nobody-left": Kind(
        "Everyone has finished or is not enrolled yet, so that nobody can be called.",
        "Check 'left', 'length' and 'enrolled' in [beneficiaries], and plan_date.",
        Severity.WARNING,
    ),
    "row-after-exit": Kind(
        "Rows from the day on which the person left are left out.", "Check the two dates.", Severity.WARNING
    ),
    "row-unfinished-step": Kind(
        "Rows of the step in which the plan is made are left out: it is not over.",
        "Nothing, if meant. Otherwise set the plan's date to the first day of the next step.",
        Severity.WARNING,
    ),
    # engagement
    "connected-empty": Kind("It is not said whether the call connected.", "Write yes or no."),
    "connected-unknown": Kind(
        "This is neither a yes nor a no.",
        "Write yes or no; or set the lists 'yes' and 'no' in [engagement] to all words of the column.",
    ),
    "seconds-empty": Kind("The call connected, but the seconds are empty.", "Fill them in; 0 if nobody listened."),
    "seconds-invalid": Kind("This is not a number of seconds.", "Write seconds as in 35 or 35.5."),
    "seconds-negative": Kind("Seconds cannot be negative.", CORRECT_ROW),
    "seconds-too-long": Kind("Nobody listens for more than a day.", "Are these milliseconds? Give seconds."),
    "seconds-not-connected": Kind(
        "Somebody listened to a call that did not connect.", "Correct one of the two, or leave the seconds empty."
    ),
    "seconds-zero": Kind(
        "Calls of 0 seconds count as connected, because no column says whether they were.",
        "Set 'connected' under [engagement], or leave the seconds empty where nobody answered.",
        Severity.WARNING,
    ),
    "state-empty": Kind("The call connected, but the state is empty.", CORRECT_ROW),
    "state-invalid": Kind("This is not a state.", "States are the whole numbers from 0 to num_states - 1."),
    "nothing-observed": Kind("Not one call of one person connected.", "Check the columns 'connected' and 'date'."),
    # interventions
    "status-empty": Kind("It is not said whether the call was delivered.", "Write delivered or planned."),
    "status-unknown": Kind(
        "This says neither delivered nor planned.",
        "Write delivered or planned; or set the lists 'delivered' and 'planned' in [interventions] to all words of the "
        "column.",
    ),
    "intervention-repeated": Kind(
        "The same call is listed twice and counts once.",
        "Nothing, if it was one call. Otherwise correct the date of one.",
        Severity.WARNING,
    ),
    "list-without-outcomes": Kind(
        "Most people on the last list have no row among the interventions since.",
        "Enter the calls of that list, delivered or not, and plan again: the rules cannot know calls that are missing.",
        Severity.WARNING,
    ),
    # beneficiaries
    "feature-number": Kind(
        "This is not a number.", "Correct it, leave it empty, or move the column from 'numbers' to 'categories'."
    ),
    "feature-error": Kind(
        "This is a spreadsheet's error, not a value.", "Correct its formula, or leave the cell empty."
    ),
    "feature-constant": Kind(
        "Everyone has the same value, so it explains nothing.",
        "Remove it from 'numbers' or 'categories'.",
        Severity.WARNING,
    ),
    "feature-names": Kind(
        "Most people have a value that nobody else has, as with names and telephone numbers.",
        "Remove it from 'numbers' and 'categories': the model would keep these values. Group places into larger areas.",
    ),
    "left-before-enrolment": Kind("The person left before being enrolled.", "Correct one of the two dates."),
    "group-empty": Kind("The person belongs to no group.", "Fill it in."),
    "group-characters": Kind("The group's name contains invisible or control characters.", "Type it again."),
    "group-without-budget": Kind("The group has no budget.", "Add it under [budget.per_group], or correct the cell."),
    "group-without-people": Kind("Nobody belongs to this group.", "Correct its name, or remove it."),
    "never-call-empty": Kind(
        "The cell is empty, so it is not known whether the person may be called.",
        'Fill it in, or add "" to the list of the column under [rules.never_call] or [rules.may_call].',
    ),
    "never-call-unknown": Kind(
        "The value is listed neither under never_call nor under may_call.",
        "Correct the cell, or add the value to the list of the column under [rules.never_call] or [rules.may_call].",
    ),
    "never-call-unused": Kind(
        "Nobody has this value.", "Correct its spelling, or remove it if nobody has it any more.", Severity.WARNING
    ),
    # outages
    "outage": Kind("Far fewer people than usual were observed.", "Check the call log of it.", Severity.WARNING),
    "outage-now": Kind(
        "Far fewer people than usual were observed in the last step.",
        "Complete the call log; set the plan's date if the step is not over; set 'left' or 'length' under "
        "[beneficiaries] if people finished. To plan all the same: --despite-outage.",
        Severity.STOP,
    ),
}
