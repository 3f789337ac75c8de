"""A programme of four people, written by hand: what every test of the files starts from."""

from pathlib import Path

PROGRAMME = """\
name = "Four people"

[beneficiaries]
file = "beneficiaries.csv"
id = "id"
numbers = ["age"]
categories = ["language"]
enrolled = "enrolled"

[engagement]
file = "engagement.csv"
id = "id"
date = "date"
connected = "connected"
seconds = "seconds"
thresholds = [30]

[interventions]
file = "interventions.csv"
id = "id"
date = "date"
status = "status"

[time]
step_days = 7
plan_date = 2024-01-22

[budget]
total = 2
group = "district"

[budget.per_group]
north = 1
south = 1

[rules]
cool_down = 1
max_calls = 3

[rules.never_call]
status = ["opted out"]

[rules.may_call]
status = ["active"]

[outage]
drop = 0.5
window = 4
"""

BENEFICIARIES = """\
id,name,age,language,district,status,enrolled
0001,Asha Secret,25,hindi,north,active,2024-01-01
0002,Bina Secret,31,urdu,south,active,2024-01-01
0003,Chitra Secret,,hindi,north,Opted out,2024-01-02
0004,Devi Secret,22,marathi,south,active,2024-01-08
"""

ENGAGEMENT = """\
id,date,connected,seconds
0001,2024-01-01,yes,45
0001,2024-01-03,yes,12
0002,2024-01-02,no,
0003,2024-01-04,yes,30
0001,2024-01-08,no,
0002,2024-01-09,yes,31
0004,2024-01-10,yes,0
0004,2024-01-11,yes,61
0001,2024-01-15,yes,5
"""

INTERVENTIONS = """\
id,date,status
0001,2024-01-05,delivered
0002,2024-01-09,planned
0004,2024-01-12,delivered
"""

FILES = {
    "programme.toml": PROGRAMME,
    "beneficiaries.csv": BENEFICIARIES,
    "engagement.csv": ENGAGEMENT,
    "interventions.csv": INTERVENTIONS,
}


def write_programme(folder: Path, **changes: str) -> Path:
    """Write the programme, some files changed (``engagement="…"``), and return the path of programme.toml."""
    for name, text in FILES.items():
        (folder / name).write_text(changes.get(name.split(".")[0], text), encoding="utf-8")
    return folder / "programme.toml"


def edited(name: str, old: str, new: str) -> str:
    """A file's text with one thing changed; the old text must be there, or the test would test nothing."""
    assert old in FILES[name], (name, old)
    return FILES[name].replace(old, new, 1)
