"""Ways for programme.toml to be wrong."""

from tests.programme.cases import TOML, Case, raw, remove, setting
from tests.programme.small import PROGRAMME

SETTINGS = [
    raw("toml: empty", TOML, b"", "config-missing-key", None, "[beneficiaries] is missing"),
    Case("toml: missing", remove(TOML), "config-missing", TOML, None, "armwise init"),
    raw("toml: utf-16", TOML, PROGRAMME.encode("utf-16"), "config-unreadable", None, "UTF-8"),
    raw("toml: latin-1", TOML, PROGRAMME.replace("Four", "Fóur").encode("latin-1"), "config-unreadable", None, "UTF-8"),
    raw("toml: binary", TOML, bytes(range(256)), "config-unreadable", None, "UTF-8"),
    raw("toml: cut off", TOML, PROGRAMME[:-80].encode(), "config-syntax", None, "TOML"),
    setting("text without quotes", 'id = "id"', "id = id", "config-syntax", "Put text in quotes"),
    setting("backslashes in a path", '"engagement.csv"', r'"C:\data\calls.csv"', "config-syntax", "write / instead"),
    setting("a key twice", "total = 2", "total = 2\ntotal = 3", "config-syntax", "TOML", None),
    setting("a section twice", "[rules]", "[rules]\n[rules]", "config-syntax", "TOML", None),
    setting("an open quote", 'name = "Four people"', 'name = "Four people', "config-syntax", "TOML"),
    setting("unknown key", "cool_down", "cooldown", "config-unknown-key", "'cool_down'"),
    setting("unknown key, nothing near", "cool_down", "xyzzy", "config-unknown-key", "max_calls"),
    setting("unknown section", "[outage]", "[outages]", "config-unknown-key", "'outage'"),
    setting("unknown key at the top", 'name = "Four people"', 'nmae = "Four"', "config-unknown-key", "'name'"),
    setting("unknown key of a table", "connected =", "conected =", "config-unknown-key", "'connected'"),
    setting("key of another section", "[outage]", "[outage]\nmax_calls = 2", "config-unknown-key", "", None),
    setting("section is a number", "[outage]\ndrop = 0.5\nwindow = 4", "", "config-missing-key", "", None)._replace(
        spoil=lambda folder: (folder / TOML).write_text("outage = 3\n" + PROGRAMME.split("[outage]")[0]) and None,
        kind="config-wrong-value",
        says="must be a section",
    ),
    setting(
        "unknown choice",
        "[outage]",
        '[choice]\nrule = "luck"\n[outage]',
        "config-wrong-value",
        '"lottery" or "best"',
        None,
    ),
    setting("choice is a switch", "[outage]", "[choice]\nrule = true\n[outage]", "config-wrong-value", "lottery", None),
    setting(
        "lots for more than all",
        "[outage]",
        "[choice]\ncost = 1.5\n[outage]",
        "config-wrong-value",
        "from 0 to 1",
        None,
    ),
    setting("choice of seeds", "[outage]", "[choice]\nseed = 3\n[outage]", "config-unknown-key", "rule", None),
    setting("no file", 'file = "engagement.csv"\n', "\n", "config-missing-key", "file =", None),
    setting(
        "no id", 'file = "engagement.csv"\nid = "id"', 'file = "engagement.csv"', "config-missing-key", "id =", None
    ),
    setting("no date", 'date = "date"\nconnected', "connected", "config-missing-key", "date =", None),
    setting("no seconds", 'seconds = "seconds"', "", "config-missing-key", "seconds", None),
    setting("no features", 'numbers = ["age"]\ncategories = ["language"]', "", "config-missing-key", "features", None),
    setting(
        "no section",
        PROGRAMME[PROGRAMME.index("[interventions]") : PROGRAMME.index("[time]")],
        "",
        "config-missing-key",
        "[interventions] is missing",
        None,
    ),
    setting("no budget", "total = 2\n", "", "config-missing-key", "total", None)._replace(
        spoil=lambda folder: (
            (folder / TOML).write_text(
                PROGRAMME.replace('total = 2\ngroup = "district"\n', "").replace(
                    "[budget.per_group]\nnorth = 1\nsouth = 1", ""
                )
            )
            and None
        )
    ),
    setting("no column of groups", 'group = "district"\n', "", "config-missing-key", "group =", None),
    setting("id is a number", 'id = "id"', "id = 7", "config-wrong-value", "text in quotes"),
    setting("file is empty text", '"engagement.csv"', '""', "config-wrong-value", "text in quotes"),
    setting("features are one text", '["age"]', '"age"', "config-wrong-value", "list"),
    setting("features repeat", '["age"]', '["age", "age"]', "config-wrong-value", "different"),
    setting("features hold a number", '["age"]', "[3]", "config-wrong-value", "list"),
    setting("step of 0 days", "step_days = 7", "step_days = 0", "config-wrong-value", "from 1"),
    setting("step of half a day", "step_days = 7", "step_days = 0.5", "config-wrong-value", "whole number"),
    setting("step is true", "step_days = 7", "step_days = true", "config-wrong-value", "whole number"),
    setting("plan is text", "plan_date = 2024-01-22", 'plan_date = "soon"', "config-wrong-value", "2024-01-31"),
    setting("plan is no day", "plan_date = 2024-01-22", 'plan_date = "2024-02-30"', "config-wrong-value", "a date"),
    setting(
        "plan is a time", "plan_date = 2024-01-22", "plan_date = 2024-01-22T10:00:00", "config-wrong-value", "a date"
    ),
    setting("budget is negative", "total = 2", "total = -2", "config-wrong-value", "from 1"),
    setting("budget is text", "total = 2", 'total = "2"', "config-wrong-value", "whole number"),
    setting("budget is a fraction", "total = 2", "total = 2.5", "config-wrong-value", "whole number"),
    setting("group's budget is text", "north = 1", 'north = "one"', "config-wrong-value", "whole number"),
    setting("thresholds fall", "[30]", "[60, 30]", "config-wrong-value", "larger"),
    setting("thresholds repeat", "[30]", "[30, 30]", "config-wrong-value", "larger"),
    setting("no thresholds", "[30]", "[]", "config-wrong-value", "list of numbers"),
    setting("threshold is a number", "[30]", "30", "config-wrong-value", "list of numbers"),
    setting("threshold is negative", "[30]", "[-1]", "config-wrong-value", "from 0"),
    setting("threshold is infinite", "[30]", "[inf]", "config-wrong-value", "list of numbers"),
    setting("threshold is text", "[30]", '["30 s"]', "config-wrong-value", "list of numbers"),
    setting("drop above 1", "drop = 0.5", "drop = 50", "config-wrong-value", "above 0 and below 1"),
    setting("window of 0", "window = 4", "window = 0", "config-wrong-value", "from 1"),
    setting("cap of 0", "max_calls = 3", "max_calls = 0", "config-wrong-value", "from 1"),
    setting("cool-down is negative", "cool_down = 1", "cool_down = -1", "config-wrong-value", "from 0"),
    setting("never-call is one text", '["opted out"]', '"opted out"', "config-wrong-value", "list"),
    setting("may-call is one text", '["active"]', '"active"', "config-wrong-value", "list"),
    setting("never and may at once", '["active"]', '["active", "OPTED out"]', "config-conflict", "one of the two"),
    setting(
        "may-call without never-call", '["active"]', '["active"]\nvillage = ["a"]', "config-conflict", "never", None
    ),
    setting(
        "length without enrolment", 'enrolled = "enrolled"', "length = 3", "config-missing-key", "enrolled =", None
    ),
    setting(
        "length of 0", 'enrolled = "enrolled"', 'enrolled = "enrolled"\nlength = 0', "config-wrong-value", "", None
    ),
    setting("no may-call", '[rules.may_call]\nstatus = ["active"]\n', "", "config-missing-key", '["active"]', None),
    setting("separator is a word", 'id = "id"', 'id = "id"\nseparator = "comma"', "config-wrong-value", '";"', None),
    setting("later_rows is a word", "step_days = 7", 'later_rows = "drop"', "config-wrong-value", "ignore"),
    setting("date_format without a year", "step_days = 7", 'date_format = "%d/%m"', "config-wrong-value", "%Y"),
    setting("date_format in words", "step_days = 7", 'date_format = "dd/mm/yyyy"', "config-wrong-value", "%d"),
    setting(
        "date and week",
        'date = "date"\nconnected',
        'date = "date"\nweek = "week"\nconnected',
        "config-conflict",
        "",
        None,
    ),
    setting(
        "weeks there, dates here", 'date = "date"\nstatus', 'week = "week"\nstatus', "config-conflict", "both tables"
    ),
    setting(
        "weeks with a plan date",
        'date = "date"\nconnected',
        'week = "week"\nconnected',
        "config-conflict",
        "plan_week",
        None,
    ),
    setting("plan_week with dates", "step_days = 7", "plan_week = 3", "config-conflict", "plan_date"),
    setting(
        "seconds and state", 'seconds = "seconds"', 'seconds = "seconds"\nstate = "state"', "config-conflict", "", None
    ),
    setting(
        "thresholds with a state", 'seconds = "seconds"', 'state = "seconds"', "config-conflict", "num_states", None
    ),
    setting("states disagree", "[30]", "[30]\nnum_states = 4", "config-conflict", "2 states", None),
    setting("groups disagree", "total = 2", "total = 5", "config-conflict", "add up to 2"),
    setting("plan before the start", "step_days = 7", "first_day = 2024-02-01", "config-conflict", "first_day", None),
    setting("feature twice", '["language"]', '["age"]', "config-conflict", "as a number and as a category", None),
    setting("id as a feature", '["language"]', '["id"]', "config-conflict", "", None),
    setting(
        "yes means no", 'seconds = "seconds"', 'seconds = "seconds"\nyes = ["no"]', "config-conflict", "both", None
    ),
]
