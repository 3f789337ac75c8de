"""Valid files become the right arrays, whatever their format and the order of their rows."""

import csv
import datetime
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from armwise.data import transition_counts
from armwise.errors import ExitCode, OutageError
from armwise.programme import ProgrammeData, check_programme, load_programme
from armwise.programme.sample import FIRST_DAY, init_programme, sample_programme
from tests.programme.cases import parquet, rows_of, typed, workbook
from tests.programme.small import BENEFICIARIES, ENGAGEMENT, INTERVENTIONS, PROGRAMME, edited, write_programme


def arrays(data: ProgrammeData) -> dict[str, list]:
    trajectories = data.trajectories
    return {
        "ids": data.ids.to_list(),
        "features": data.features.rows(),
        "states": np.where(trajectories.observed, trajectories.states, -1).tolist(),
        "actions": np.asarray(trajectories.actions).tolist(),
        "last_states": data.roster["state"].to_list(),
        "since_observed": data.roster["since_observed"].to_list(),
        "num_calls": data.roster["calls"].to_list(),
        "since_call": data.roster["since_call"].to_list(),
        "groups": None if data.groups is None else data.groups.to_list(),
        "exclusions": data.roster["exclusion"].to_list(),
    }


EXPECTED = {
    "ids": ["0001", "0002", "0003", "0004"],
    "features": [(25.0, "hindi"), (31.0, "urdu"), (None, "hindi"), (22.0, "marathi")],
    # 45 s beats 12 s; exactly 30 s is not more than 30; an unanswered week is not observed.
    "states": [[1, -1, 0], [-1, 1, -1], [0, -1, -1], [-1, 1, -1]],
    "actions": [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0]],
    "last_states": [0, 1, 0, 1],
    "since_observed": [1, 2, 3, 2],
    "num_calls": [1, 0, 0, 1],
    "since_call": [3, None, None, 2],
    "groups": ["north", "south", "north", "south"],
    "exclusions": [None, None, "status: opted out", None],
}


def test_the_small_programme_by_hand(tmp_path):
    data = load_programme(write_programme(tmp_path))
    assert arrays(data) == EXPECTED
    quality = data.quality
    assert (quality.num_people, quality.num_steps, quality.num_attempts, quality.num_left_out) == (4, 3, 9, 0)
    assert quality.observed_shares == pytest.approx([2 / 3, 2 / 4, 1 / 4])  # 0004 is enrolled in the second week
    assert quality.missing_features == (("age", 1), ("language", 0))
    assert quality.planned_step == "the step from 2024-01-22"
    assert check_programme(tmp_path / "programme.toml").findings == ()


def test_the_order_of_rows_and_columns_changes_nothing(tmp_path, rng):
    for shuffle in range(5):
        folder = tmp_path / str(shuffle)
        folder.mkdir()
        tables = {
            name: pl.read_csv(text.encode(), infer_schema=False)
            for name, text in (
                ("beneficiaries", BENEFICIARIES),
                ("engagement", ENGAGEMENT),
                ("interventions", INTERVENTIONS),
            )
        }
        texts = {
            name: table[rng.permutation(table.height)].select(rng.permutation(table.columns).tolist()).write_csv()
            for name, table in tables.items()
        }
        assert arrays(load_programme(write_programme(folder, **texts))) == EXPECTED


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


DATES = [None if row[1] == "date" else day(str(row[1])) for row in rows_of(ENGAGEMENT)]
TYPED_ROWS = [
    [
        row[0],
        when or row[1],
        row[2] if when is None else row[2] == "yes",
        row[3] if when is None or row[3] is None else int(row[3]),
    ]
    for row, when in zip(rows_of(ENGAGEMENT), DATES, strict=True)
]


TIMES_OF_DAY = ENGAGEMENT.replace(",yes", " 13:45:10,Yes").replace("0001,2024-01-08", "0001,2024-01-08T09:15Z")
WITH_NOTES = ENGAGEMENT.replace("\n", ',"a note, with ""quotes"""\n')
DATED = {"date": pl.col("date").str.to_date(), "seconds": pl.col("seconds").cast(pl.Float64)}
TIMED = {"date": pl.col("date").str.to_datetime("%Y-%m-%d"), "seconds": pl.col("seconds").cast(pl.Int64)}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("calls.csv", lambda path: path.write_bytes(b"\xef\xbb\xbf" + ENGAGEMENT.encode())),
        ("calls.csv", lambda path: path.write_bytes(ENGAGEMENT.replace("\n", "\r\n").encode())),
        ("calls.csv", lambda path: path.write_bytes(ENGAGEMENT.rstrip("\n").encode())),
        ("calls.csv", lambda path: path.write_bytes(b"\n\n" + ENGAGEMENT.encode())),
        ("calls.CSV", lambda path: path.write_text(ENGAGEMENT.replace("yes", '"yes"'))),
        ("calls.csv", lambda path: path.write_text(ENGAGEMENT.replace("yes", "TRUE").replace("no,", "False,"))),
        ("calls.csv", lambda path: path.write_text(ENGAGEMENT.replace("yes", "1").replace("no,", "0,0"))),
        ("calls.csv", lambda path: path.write_text(TIMES_OF_DAY)),
        ("calls.csv", lambda path: path.write_text(WITH_NOTES)),
        ("calls.xlsx", workbook(rows_of(ENGAGEMENT))),
        ("calls.xlsx", workbook(TYPED_ROWS)),
        ("calls.parquet", parquet(typed(ENGAGEMENT))),
        ("calls.parquet", parquet(typed(ENGAGEMENT, connected=pl.col("connected") == "yes", **DATED))),
        ("calls.parquet", parquet(typed(ENGAGEMENT, **TIMED))),
    ],
)
def test_every_format_gives_the_same_arrays(tmp_path, name, make):
    path = write_programme(tmp_path, programme=edited("programme.toml", "engagement.csv", name))
    make(tmp_path / name)
    assert arrays(load_programme(path)) == EXPECTED


def with_table(settings: str, added: str) -> str:
    return settings.replace('file = "engagement.csv"', f'file = "engagement.csv"\n{added}')


def test_a_declared_separator_and_date_format(tmp_path):
    settings = with_table(PROGRAMME, 'separator = ";"').replace("step_days = 7", 'date_format = "%d.%m.%Y"')

    def european(text: str) -> str:
        for date in {cell for line in text.splitlines() for cell in line.split(",") if cell[:4] == "2024"}:
            text = text.replace(date, day(date).strftime("%d.%m.%Y"))
        return text

    texts = {"beneficiaries": european(BENEFICIARIES), "interventions": european(INTERVENTIONS)}
    path = write_programme(tmp_path, programme=settings, engagement=european(ENGAGEMENT).replace(",", ";"), **texts)
    assert arrays(load_programme(path)) == EXPECTED


def test_a_sheet_by_name(tmp_path):
    settings = with_table(PROGRAMME, 'sheet = "Log"').replace("engagement.csv", "calls.xlsx")
    workbook(rows_of(ENGAGEMENT), "Log", "Notes")(tmp_path / "calls.xlsx")
    assert arrays(load_programme(write_programme(tmp_path, programme=settings))) == EXPECTED


def test_numbered_weeks(tmp_path):
    def weeks(text: str) -> str:
        for date in {cell for line in text.splitlines() for cell in line.split(",") if cell[:4] == "2024"}:
            text = text.replace(date, str((day(date) - day("2024-01-01")).days // 7 + 10))
        return text

    settings = PROGRAMME.replace('date = "date"', 'week = "date"').replace("step_days = 7\nplan_date = 2024-01-22", "")
    texts = {
        "beneficiaries": weeks(BENEFICIARIES),
        "engagement": weeks(ENGAGEMENT),
        "interventions": weeks(INTERVENTIONS),
    }
    data = load_programme(write_programme(tmp_path, programme=settings, **texts))
    assert arrays(data) == EXPECTED
    assert data.quality.planned_step == "week 13"


def test_three_states_from_two_thresholds(tmp_path):
    settings = edited("programme.toml", "[30]", "[10, 40]")
    data = load_programme(write_programme(tmp_path, programme=settings))
    assert data.trajectories.num_states == 3
    assert arrays(data)["states"] == [[2, -1, 0], [-1, 1, -1], [1, -1, -1], [-1, 2, -1]]


def test_states_in_place_of_seconds(tmp_path):
    settings = edited("programme.toml", 'seconds = "seconds"\nthresholds = [30]', 'state = "seconds"\nnum_states = 4')
    rows = "id,date,connected,seconds\n0001,2024-01-01,yes,2\n0001,2024-01-02,yes,1\n0002,2024-01-01,no,3\n"
    data = load_programme(write_programme(tmp_path, programme=settings, engagement=rows))
    assert data.trajectories.num_states == 4
    assert arrays(data)["states"] == [[2, -1, -1], [-1, -1, -1], [-1, -1, -1], [-1, -1, -1]]


def test_without_a_column_connected_an_empty_cell_is_not_observed(tmp_path):
    settings = edited("programme.toml", 'connected = "connected"\n', "")
    path = write_programme(tmp_path, programme=settings)
    assert arrays(load_programme(path)) == EXPECTED
    assert [finding.kind for finding in check_programme(path).findings] == ["seconds-zero"]


def test_planned_calls_count_only_if_the_programme_says_so(tmp_path):
    settings = edited("programme.toml", 'status = "status"', 'status = "status"\ncount = "all"')
    data = load_programme(write_programme(tmp_path, programme=settings))
    assert data.roster["calls"].to_list() == [1, 1, 0, 1]


def test_a_call_may_show_in_its_own_step(tmp_path):
    """Then it leads there from the step before; a call in the first step leads from nowhere, but it was made."""
    settings = edited("programme.toml", 'status = "status"', 'status = "status"\neffect = "same step"')
    more = INTERVENTIONS + "0001,2024-01-10,delivered\n"
    data = load_programme(write_programme(tmp_path, programme=settings, interventions=more))
    assert np.asarray(data.trajectories.actions)[0].tolist() == [1, 0, 0]
    assert data.roster["calls"].to_list() == [2, 0, 0, 1]
    assert data.roster["since_call"].to_list() == [2, None, None, 2]
    only_first = load_programme(write_programme(tmp_path, programme=settings))
    assert not np.asarray(only_first.trajectories.actions)[0].any()


def test_what_a_call_does_at_once_is_seen_in_its_own_step_alone(tmp_path, rng):
    """Nine in ten listen in a week with a call, three in ten without, whatever they did before."""
    people, weeks = 400, 12
    called = rng.random((people, weeks)) < 0.3
    listened = rng.random((people, weeks)) < np.where(called, 0.9, 0.3)
    weeks_seen = "".join(f"{p},{w},{int(state)}\n" for (p, w), state in np.ndenumerate(listened))
    texts = {
        "beneficiaries": "id,age\n" + "".join(f"{person},30\n" for person in range(people)),
        "engagement": "id,week,state\n" + weeks_seen,
        "interventions": "id,week\n" + "".join(f"{p},{w}\n" for p, w in np.argwhere(called)),
    }
    seen = {}
    for effect in ("same step", "next step"):
        programme = f"""
            name = "t"
            beneficiaries = {{file = "beneficiaries.csv", id = "id", numbers = ["age"]}}
            engagement = {{file = "engagement.csv", id = "id", week = "week", state = "state", num_states = 2}}
            interventions = {{file = "interventions.csv", id = "id", week = "week", effect = "{effect}"}}
            budget = {{total = 5}}
        """
        counts = transition_counts(load_programme(write_programme(tmp_path, programme=programme, **texts)).trajectories)
        ends = np.asarray(counts).sum(axis=(0, 1))
        seen[effect] = ends[:, 1] / ends.sum(axis=1)
    np.testing.assert_allclose(seen["same step"], [0.3, 0.9], atol=0.03)
    np.testing.assert_allclose(seen["next step"], 0.3 * 0.9 + 0.7 * 0.3, atol=0.03)


def test_without_a_status_every_row_is_a_call(tmp_path):
    settings = edited("programme.toml", 'status = "status"\n\n', "\n")
    assert load_programme(write_programme(tmp_path, programme=settings)).roster["calls"].to_list() == [1, 1, 0, 1]


def test_a_call_listed_twice_counts_once_and_one_planned_for_later_is_no_error(tmp_path):
    more = INTERVENTIONS + "0001,2024-01-05,delivered\n0002,2024-01-30,planned\n0001,2024-01-16,done\n"
    path = write_programme(tmp_path, interventions=more)
    data = load_programme(path)
    assert data.roster["calls"].to_list() == [2, 0, 0, 1]
    assert data.roster["since_call"].to_list() == [1, None, None, 2]
    assert [finding.kind for finding in check_programme(path).findings] == ["intervention-repeated"]


def test_the_week_of_the_plan_is_not_over(tmp_path):
    settings = edited("programme.toml", "plan_date = 2024-01-22", "plan_date = 2024-01-17")
    more = INTERVENTIONS + "0001,2024-01-16,delivered\n"
    path = write_programme(tmp_path, programme=settings, interventions=more)
    data = load_programme(path)
    assert arrays(data)["states"] == [[1, -1], [-1, 1], [0, -1], [-1, 1]]
    assert data.roster["since_call"].to_list() == [0, None, None, 1]
    assert [finding.kind for finding in check_programme(path).findings] == ["row-unfinished-step"]


def test_rows_from_the_plan_on_can_be_ignored(tmp_path):
    settings = edited("programme.toml", "plan_date = 2024-01-22", 'plan_date = 2024-01-08\nlater_rows = "ignore"')
    data = load_programme(write_programme(tmp_path, programme=settings))
    assert arrays(data)["states"] == [[1], [-1], [0], [-1]]
    assert data.roster["calls"].to_list() == [1, 0, 0, 0]


def test_rows_before_the_first_day_and_before_enrolment_are_left_out(tmp_path):
    settings = edited("programme.toml", "step_days = 7", "first_day = 2024-01-08")
    people = BENEFICIARIES.replace("south,active,2024-01-08", "south,active,2024-01-15")
    path = write_programme(tmp_path, programme=settings, beneficiaries=people)
    data = load_programme(path)
    assert arrays(data)["states"] == [[-1, 0], [1, -1], [-1, -1], [-1, -1]]
    # A call before the first step still counts against the cap; one from before enrolment does not.
    assert data.roster["calls"].to_list() == [1, 0, 0, 0]
    assert data.roster["since_call"].to_list() == [3, None, None, None]
    findings = check_programme(path).findings
    assert [finding.kind for finding in findings] == ["row-before-start"] + ["row-before-enrolment"] * 2
    assert "4 rows lie before" in findings[0].what


def test_weeks_begin_on_mondays_and_the_plan_follows_the_last_row(tmp_path):
    settings = edited("programme.toml", "plan_date = 2024-01-22\n", "")
    rows = ENGAGEMENT.replace("0001,2024-01-01,yes,45\n", "")  # the first date is now a Tuesday
    data = load_programme(write_programme(tmp_path, programme=settings, engagement=rows))
    assert data.quality.planned_step == "the step from 2024-01-22"
    assert arrays(data)["states"][0] == [0, -1, 0]


def test_days_as_steps(tmp_path):
    settings = edited("programme.toml", "step_days = 7\nplan_date = 2024-01-22", "step_days = 1")
    data = load_programme(write_programme(tmp_path, programme=settings))
    assert data.quality.num_steps == 15
    assert arrays(data)["states"][0] == [1, -1, 0] + [-1] * 11 + [0]


def test_without_groups_rules_and_enrolment(tmp_path):
    settings = PROGRAMME.split("[budget]")[0].replace('enrolled = "enrolled"\n', "") + "[budget]\ntotal = 1\n"
    data = load_programme(write_programme(tmp_path, programme=settings))
    assert data.groups is None
    assert data.roster["exclusion"].null_count() == 4
    assert data.programme.rules.never_call == ()
    assert data.quality.observed_shares == pytest.approx([0.5, 0.5, 0.25])


def test_warnings_do_not_stop(tmp_path):
    path = write_programme(
        tmp_path,
        programme=edited("programme.toml", '["opted out"]', '["opted out", "dead"]'),
        beneficiaries=BENEFICIARIES.replace("urdu", "hindi").replace("marathi", "hindi"),
        interventions="id,date,status\n",
    )
    report = check_programme(path)
    assert {finding.kind for finding in report.findings} == {"never-call-unused", "feature-constant", "table-no-calls"}
    assert report.exit_code == ExitCode.OK
    assert load_programme(path).roster["calls"].to_list() == [0, 0, 0, 0]


def test_the_sample_programme_is_what_was_simulated(tmp_path):
    init_programme(tmp_path / "sample", seed=3)
    data = load_programme(tmp_path / "sample" / "programme.toml")
    simulated = sample_programme(3).simulated.trajectories
    for name in ("states", "actions", "observed"):
        np.testing.assert_array_equal(getattr(data.trajectories, name), getattr(simulated, name))
    assert all(len(each) == 6 for each in data.ids)
    assert data.ids[0].startswith("0")


def by_hand(folder: Path) -> dict[tuple[str, int], int]:
    """The engagement table read again, one row after the other, without anything of armwise."""
    longest: dict[tuple[str, int], float] = defaultdict(lambda: -1.0)
    with (folder / "engagement.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["connected"] == "yes":
                key = row["id"], (day(row["date"]) - FIRST_DAY).days // 7
                longest[key] = max(longest[key], float(row["seconds"]))
    return {key: int(seconds > 30) for key, seconds in longest.items()}


def test_the_sample_read_row_by_row(tmp_path):
    init_programme(tmp_path / "sample", seed=4)
    data = load_programme(tmp_path / "sample" / "programme.toml")
    people = data.ids.to_list()
    seen = {
        (people[person], int(step)): int(data.trajectories.states[person, step])
        for person, step in np.argwhere(np.asarray(data.trajectories.observed))
    }
    assert seen == by_hand(tmp_path / "sample")


@pytest.fixture
def outage(tmp_path) -> Path:
    """The sample, with most of the last week's log lost."""
    init_programme(tmp_path / "sample")
    path = tmp_path / "sample" / "engagement.csv"
    table = pl.read_csv(path, infer_schema=False)
    lost = (pl.col("date") >= "2024-02-19") & (pl.col("id") > "000600")
    table.filter(~lost).write_csv(path)
    return tmp_path / "sample" / "programme.toml"


def test_an_outage_stops_and_a_flag_goes_on(outage):
    report = check_programme(outage)
    assert [finding.kind for finding in report.findings] == ["outage-now"]
    assert "the step from 2024-02-19" in report.findings[0].what
    assert report.exit_code == ExitCode.OUTAGE
    with pytest.raises(OutageError, match="usually 86%"):
        load_programme(outage)
    assert load_programme(outage, despite_outage=True).quality.outages == (7,)
    assert [finding.kind for finding in check_programme(outage, despite_outage=True).findings] == ["outage"]


def test_an_outage_before_the_last_step_is_only_said(outage):
    text = outage.read_text()
    assert "2024-02-26" in text
    table = outage.with_name("engagement.csv")
    week_later = pl.read_csv(table, infer_schema=False).filter(
        pl.col("date").is_between(pl.lit("2024-02-12"), pl.lit("2024-02-18"))
    )
    moved = week_later.with_columns(date=pl.lit("2024-02-28"))
    table.write_text(table.read_text() + moved.write_csv(include_header=False))
    outage.write_text(text.replace("plan_date = 2024-02-26", "plan_date = 2024-03-04"))
    report = check_programme(outage)
    assert [finding.kind for finding in report.findings] == ["outage"]
    assert report.exit_code == ExitCode.OK


def test_a_higher_drop_is_no_outage(outage):
    outage.write_text(outage.read_text().replace("drop = 0.5", "drop = 0.95"))
    assert check_programme(outage).findings == ()


def test_cells_over_several_lines_are_read_and_said(tmp_path):
    people = BENEFICIARIES.replace("Bina Secret", '"Bina\nSecret"')
    path = write_programme(tmp_path, beneficiaries=people)
    assert arrays(load_programme(path)) == EXPECTED
    assert [finding.kind for finding in check_programme(path).findings] == ["file-multiline"]


def test_what_could_not_be_read_is_not_said_to_be_constant_or_absent(tmp_path):
    """A second finding about the same cells would have a remedy that does harm."""
    path = write_programme(tmp_path)
    people, calls = tmp_path / "beneficiaries.csv", tmp_path / "interventions.csv"
    people.write_text(re.sub(r"(?m)^(000\d,[^,]*,)[\d.]*", r"\1many", people.read_text()))
    calls.write_text(calls.read_text().replace("\n000", "\n"))
    kinds = {finding.kind for finding in check_programme(path).findings}
    assert {"feature-number", "id-unknown"} <= kinds
    assert not {"feature-constant", "table-no-calls"} & kinds
