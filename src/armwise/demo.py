"""Run the whole weekly job on a simulated programme, from raw files to the report. Nobody in it is real."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from armwise.errors import OutputError
from armwise.io.reading import PathLike, read_file
from armwise.io.writing import write_file, write_folder
from armwise.programme.loading import load_programme
from armwise.programme.sample import sample_programme
from armwise.programme.settings_file import read_programme
from armwise.report import REPORT_FILE, report_programme
from armwise.text import counted
from armwise.weekly.evaluate import assess_programme
from armwise.weekly.evaluation_file import ASSESSMENT_FILE, Assessment
from armwise.weekly.fit import CALLS_FILE, MODEL_FILE, fit_programme
from armwise.weekly.plan import plan_programme, write_plan

NUM_PEOPLE, CALLS_PER_GROUP, NUM_STEPS = 1000, 14, 6


class Demo(NamedTuple):
    """The results of the demonstration: its files, all in one folder, and the evaluation."""

    programme: Path
    call_list: Path
    report: Path
    assessment: Assessment


def run_demo(
    folder: PathLike,
    say: Callable[[str], None],
    *,
    num_people: int = NUM_PEOPLE,
    progress: bool | None = False,
) -> Demo:
    """Simulate a programme's files, then check, fit, evaluate, plan and report, as a data team would.

    Args:
        folder: a new folder, or the folder of an earlier demonstration, whose results are then replaced.
        say: called with a line of text for each step.
        num_people: people in the programme.
        progress: whether to show bars on stderr; None shows them on a terminal.
    """
    target = Path(folder)
    step = _counter(say)
    step(f"simulating the files of a programme of {num_people:,} people, into {target}")
    path = _simulate_files(target, num_people)
    say(f"    {read_programme(path).note}")
    step("checking them")
    quality = load_programme(path).quality
    calls = counted(quality.num_calls, "call")
    say(f"    {counted(quality.num_attempts, 'attempt')} and {calls} in {quality.num_steps} weeks; no errors")
    step("learning whom calls help")
    fit_programme(path, progress=progress).save(target / MODEL_FILE)
    step("judging on past weeks, beside rules of thumb, by what a model can learn by")
    assessment = assess_programme(path, progress=progress, started=lambda what: say(f"    {what}"))
    write_file(target / ASSESSMENT_FILE, assessment.to_json())
    step("planning the week's calls")
    planned = plan_programme(path)
    write_plan(planned, target / CALLS_FILE)
    summary = planned.plan.summary
    say(f"    {counted(summary.num_calls, 'call')} for {summary.num_people:,} people")
    step("writing the report")
    write_file(target / REPORT_FILE, report_programme(path).html)
    return Demo(path, target / CALLS_FILE, target / REPORT_FILE, assessment)


def _counter(say: Callable[[str], None]) -> Callable[[str], None]:
    numbers = iter(range(1, NUM_STEPS + 1))
    return lambda what: say(f"[{next(numbers)}/{NUM_STEPS}] {what}")


def _simulate_files(folder: Path, num_people: int) -> Path:
    """Write the programme's files into a new folder. The same files of an earlier demonstration stay as they are."""
    contents = sample_programme(num_people=num_people, calls_per_group=CALLS_PER_GROUP).contents
    if not os.path.lexists(folder):
        write_folder(folder, contents)
    elif not all(_holds(folder / name, text) for name, text in contents.items()):
        raise OutputError(f"{folder} exists already, and not from this demonstration. Give the name of a new folder.")
    return folder / "programme.toml"


def _holds(path: Path, text: str) -> bool:
    try:
        return read_file(path) == text.encode()
    except OSError:
        return False
