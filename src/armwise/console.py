"""Output of the commands: messages to stderr, armwise's errors as exit codes, findings as text or JSON."""

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from armwise.errors import ArmwiseError, ExitCode, OutputError
from armwise.text import counted, visible, visible_json

if TYPE_CHECKING:
    from armwise.programme import DataQuality, ProgrammeData, Report
    from armwise.weekly import ProgrammePlan


@contextmanager
def documented_exit() -> Iterator[None]:
    """Turn armwise's own errors, and an interruption, into a message and an exit code without a traceback."""
    try:
        yield
    except ArmwiseError as error:
        say(str(error))
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        say("Interrupted; nothing was left half-written.")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def say(message: str) -> None:
    """Print a message for a person to stderr, separate from data."""
    # If the message cannot be printed, the exit code still reports the problem.
    with suppress(OSError):
        typer.echo(visible(message), err=True)


def tell(text: str, *, newline: bool = True) -> None:
    """Print text to stdout."""
    _print(visible(text), newline)


def _print(text: str, newline: bool = False) -> None:
    try:
        typer.echo(text, nl=newline)
    except OSError as error:
        _discard_stdout()
        if error.errno == errno.EPIPE:  # the reader closed the pipe early, as 'head' does
            raise typer.Exit(ExitCode.NOT_WRITTEN) from None
        raise OutputError(f"Standard output could not be written: {error.strerror}. Is the disk full?") from error


def tell_json(page: Any) -> None:
    """Print one JSON object to stdout."""
    tell(visible_json(page if isinstance(page, str) else json.dumps(page, ensure_ascii=False)))


def answer(page: Any, text: str, as_json: bool) -> None:
    """Print a result to stdout, as JSON for scripts or as text for people."""
    if as_json:
        tell_json(page)
    else:
        tell(text)


def _discard_stdout() -> None:
    """Discard the remaining output; otherwise Python would fail again when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def findings_as_json(report: "Report", data: "ProgrammeData | None") -> str:
    """Everything the check found, and the contents of the tables in numbers, as one JSON object."""
    from dataclasses import asdict

    quality = None if data is None else asdict(data.quality)
    return json.dumps({**report.as_dict(), "quality": quality}, ensure_ascii=False, indent=2)


def plan_as_json(planned: "ProgrammePlan", target: Path, manifest: Path | None) -> str:
    """A plan, its manifest and the paths of both, as one JSON object."""
    record = json.loads(planned.manifest.to_json())
    place = {"file": str(target), "manifest": None if manifest is None else str(manifest)}
    calls = planned.plan.calls.to_dicts()
    told = {"evidence": planned.plan.evidence._asdict(), "warnings": planned.warnings, "calls": calls}
    return json.dumps({**place, "written": manifest is not None, **record, **told}, ensure_ascii=False)


def print_findings(report: "Report") -> None:
    """Print one line per problem, in colour on a terminal unless NO_COLOR is set."""
    from rich.console import Console
    from rich.text import Text

    colours = {"error": "bold red", "stop": "bold magenta", "warning": "yellow"}
    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    with console.capture() as captured:
        for severity, line in report.lines():
            console.print(Text(f"{severity:8}", style=colours[severity]) + Text(visible(line)))
    _print(captured.get())


def _absent(quality: "DataQuality") -> str:
    numbers = {"finished": quality.num_finished, "not enrolled yet": quality.num_not_enrolled}
    said = ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)
    return f" ({said})" if said else ""


def say_summary(report: "Report", data: "ProgrammeData | None", programme: Path) -> None:
    """Print how many findings there are, what the tables hold, and what to do next."""
    counts = report.count_by_severity()
    said = ", ".join(f"{number:,} {severity}{'s' * (number != 1)}" for severity, number in counts.items() if number)
    say(f"{programme}: {said or 'no problems'}.")
    if data is not None:
        quality = data.quality
        say(
            f"{quality.num_people:,} people{_absent(quality)}, {counted(quality.num_steps, 'step')}, "
            f"{counted(quality.num_attempts, 'attempt')}, {counted(quality.num_calls, 'call')} by health workers; "
            f"to plan: {quality.planned_step}."
        )
    if report.exit_code == ExitCode.INVALID_INPUT:
        say(f"Correct the errors, then run again: armwise check {programme}")
    elif report.exit_code == ExitCode.OUTAGE:
        say(f"Complete the call log, or go on all the same: armwise check {programme} --despite-outage")
    else:
        say(f"Next: armwise fit {programme}")
