"""The figures in the README and on docs/performance.md are those of stored results: none is typed by hand."""

import json
import re

import pytest

from benchmarks import epoch_plot, goals, pages
from benchmarks.harness import RESULTS, Row, Timing, seconds, table

NAMES = sorted(path.stem for path in RESULTS.glob("*.json") if "rows" in json.loads(path.read_text()))
NUMBER = r"(?<![\w.])\d[\d,.]*"
# A number with a unit of time or of memory, a speed, or a multiple of something that was measured beside it.
MEASURED = re.compile(
    rf"{NUMBER}\s?(?:ns|µs|ms|s|min|minutes?|seconds?|[kMGT]i?B|Tflop/s)(?![\w-])"
    rf"|{NUMBER}\s?(?:million|billion)? ?(?:arm-)?steps a second"
    rf"|{NUMBER}\s?(?:×|times)\s(?:the |an? |our |as )?"
    r"(?:MSE|mean squared|Fast|DEC-DFL|SIM|cvxpy|PyTorch|markov|package|ours?|long|faster|slower|limit|bandwidth)"
)


def typed(document):
    """What a person wrote: the page without generated sections and code, and without lines on goals or the paper."""
    for name in pages.sections_of(document):
        document = pages.with_section(document, name, "")
    document = re.sub(r"^```.*?^```", "", document, flags=re.MULTILINE | re.DOTALL)
    lines = document.splitlines()
    return [text for text in lines if not text.startswith("    ") and not re.search(r"\bgoal|\bpaper", text)]


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.name)
class TestPages:
    def test_sections_are_what_the_results_give(self, path):
        document = path.read_text()
        assert pages.sections_of(document)
        assert pages.renewed(document) == document, "run python -m benchmarks.pages"

    def test_every_marker_is_of_a_section(self, path):
        assert set(pages.sections_of(path.read_text())) <= set(pages.SECTIONS)

    def test_no_measurement_is_typed_by_hand(self, path):
        found = [match.group() for text in typed(path.read_text()) for match in MEASURED.finditer(text)]
        assert not found


@pytest.mark.parametrize("path", sorted(pages.ROOT.glob("docs/*.md")), ids=lambda path: path.name)
def test_other_pages_quote_no_benchmark(path):
    """Pages made from other results have their own tests; here, that none speaks of speed in numbers of its own."""
    spoken = re.compile(rf"(?:{MEASURED.pattern}).*(?:faster|slower|epoch|step|memory)", re.IGNORECASE)
    assert not [text for text in typed(path.read_text()) if spoken.search(text)]


def test_every_section_is_shown_somewhere():
    assert {name for path in pages.PAGES for name in pages.sections_of(path.read_text())} == set(pages.SECTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_the_markdown_beside_the_results_is_theirs(name):
    path = RESULTS / f"{name}.json"
    assert path.with_suffix(".md").read_text() == table(json.loads(path.read_text())), "run python -m benchmarks.pages"


def test_the_plot_is_of_these_results():
    assert epoch_plot.fingerprint(epoch_plot.values()) in epoch_plot.TARGET.read_text(), (
        "run python -m benchmarks.pages"
    )


@pytest.mark.parametrize(
    "text",
    [
        "it took 12.3 ms",
        "1.7 × MSE",
        "peak 2.4 GB",
        "over 300 times faster",
        "346 million arm-steps a second",
        "in 20 s.",
    ],
)
def test_measurements_are_recognised(text):
    assert MEASURED.search(text)


@pytest.mark.parametrize(
    "text", ["60 × 76 arms", "5 states", "float32 s", "3,000,000 people", "discount 0.999", "2 × 64"]
)
def test_sizes_are_not_taken_for_measurements(text):
    assert not MEASURED.search(text)


@pytest.mark.parametrize(
    ("value", "text"), [(2.0, "2 s"), (0.0123, "12.3 ms"), (4e-5, "40 µs"), (3e-9, "3 ns"), (1234.5, "1,234 s")]
)
def test_durations_are_written_in_their_unit(value, text):
    assert seconds(value) == text


class TestGoals:
    @pytest.fixture
    def results(self, tmp_path, monkeypatch):
        """Made-up results in which Fast DEC-DFL takes 1.4 times as long as the squared error at one shape."""
        timing = Timing(1.4, 1.0, 2.0, 0.5)
        row = Row("Fast DEC-DFL (entropy)", "real-world: 60 × 76 arms", timing, "", False, {"to_mse": 1.4})
        content = {"rows": [vars(row) | {"timing": vars(timing)}], "command": "make bench", "machine": {}}
        (tmp_path / "training.json").write_text(json.dumps(content))
        monkeypatch.setattr(goals, "RESULTS", tmp_path)
        monkeypatch.setattr("benchmarks.harness.RESULTS", tmp_path)

    def test_reached_missed_and_not_measured(self, results):
        outcomes = {goal.text: goal.outcome for goal in goals.epoch_goals()}
        assert outcomes["epoch of Fast DEC-DFL, real-world: at most 1.5 × MSE (first goal)"] == "reached"
        assert outcomes["epoch of Fast DEC-DFL, real-world: at most 1.3 × MSE (second goal)"] == "**missed**"
        assert outcomes["epoch of Fast DEC-DFL, synthetic, 2 states: at most 1.5 × MSE (first goal)"] == "not measured"

    def test_a_busy_machine_is_said_to_be_one(self, results, tmp_path):
        for load, warned in ((9.5, True), (1.0, False)):
            content = {"rows": [], "command": "make bench", "machine": {"load before": str(load)}}
            (tmp_path / "rmab.json").write_text(json.dumps(content))
            assert ("Preliminary: rmab ran" in goals.table()) is warned

    def test_benchmarks_that_were_not_run_are_not_measured(self, results):
        assert {goal.outcome for goal in goals.programme_goals()} == {"not measured"}
