"""The command line: parse, one library call, print. Data go to stdout, messages to stderr.

Nothing heavy is imported before a command runs, so that ``armwise --help`` answers at once.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armwise.errors import ArmwiseError, ExitCode

if TYPE_CHECKING:
    from armwise.planning import ProgrammeData, ProgrammePlan, Report

EPILOG = (
    "Exit codes: 0 all is well; 1 unexpected, please report it; 2 wrong usage; 3 files or settings are wrong; "
    "4 stopped because of an outage in the call log; 5 a result could not be written; 6 a call list is not what its "
    "manifest says; 130 interrupted."
)

# A traceback with local variables would print people's data.
app = typer.Typer(
    name="armwise",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

ProgrammePath = Annotated[
    Path, typer.Argument(help="The programme's settings, as 'armwise init' writes them.", metavar="PROGRAMME")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout, for scripts.")]
DespiteOutage = Annotated[
    bool, typer.Option("--despite-outage", help="Go on although far fewer people than usual were observed last.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")]


@app.callback(epilog=EPILOG)
def armwise() -> None:
    """Decide whom a health programme should call this week, from its own call logs.

    Start with **armwise init my-programme**: it writes a commented programme.toml and a small simulated programme.
    Put your own files in their place and run **armwise check**, which lists every problem at once.

    Then, once in a while, **armwise fit** learns whom calls help; **armwise evaluate** says what that is worth; and
    every week **armwise plan** writes the call list, and **armwise explain** says why someone is on it or not.
    """


@app.command(epilog="Next: armwise check FOLDER/programme.toml")
def init(
    folder: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
    as_json: AsJson = False,
    dry_run: DryRun = False,
) -> None:
    """Write a commented programme.toml and a small sample programme to try things on.

    The sample is simulated: nobody in it is real. It has the three tables that every programme needs:
    beneficiaries (who they are), engagement (every automated call) and interventions (every health worker's call).
    """
    with documented_exit():
        from armwise.planning import init_programme

        files = init_programme(folder, dry_run=dry_run)
        names = [str(file) for file in files]
        typer.echo(json.dumps({"files": names, "written": not dry_run}) if as_json else "\n".join(names))
        say(f"{'Would write' if dry_run else 'Wrote'} a simulated programme of {len(files)} files.")
        say(f"Next: armwise check {folder / 'programme.toml'}")


@app.command()
def check(
    programme: ProgrammePath = Path("programme.toml"), as_json: AsJson = False, despite_outage: DespiteOutage = False
) -> None:
    """List every problem of a programme's settings and tables at once, each with its place and its remedy.

    Nothing is written. Errors (exit code 3) must be corrected; a warning is worth a look; an outage (exit code 4)
    means that the last week's call log looks incomplete. What each finding means: docs/data-format.md.
    """
    with documented_exit():
        from armwise.planning import examine_programme

        report, data = examine_programme(programme, despite_outage=despite_outage)
        if as_json:
            typer.echo(_as_json(report, data))
        else:
            _print_report(report)
        _say_summary(report, data, programme)
        raise typer.Exit(report.exit_code)


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(help="table1, table2, figure2a, figure2b, figure3 or all.", metavar="WHAT")],
    quick: Annotated[bool, typer.Option("--quick", help="Minutes instead of the paper's full protocol.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for results; by default results, or results/quick.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder that holds oulad/ and ctn0094/ (public data).")] = None,
) -> None:
    """Run a table or figure of the paper again and print it beside the paper's own numbers.

    Results are kept as tidy CSV, with the command, the commit, the machine and the wall time beside them. A command
    that was stopped goes on where it was; what is finished is not run again. What comes out: docs/reproduction.md.
    """
    with documented_exit():
        from armwise.experiments.reproduce import make_setup
        from armwise.experiments.reproduce import reproduce as run_again

        folder = (Path("results/quick") if quick else Path("results")) if out is None else out
        setup = make_setup(folder, data, quick=quick, say=say)
        missing = sorted({"oulad", "ctn0094"} - set(setup.domains))
        if missing:
            say(f"Without {' and '.join(missing)}: name the folder that holds them with --data.")
        typer.echo(run_again(what, setup).replace("\\*", "*"))
        say(f"Results: {folder}")


Kind = Annotated[str, typer.Option("--kind", help="Size of the model: linear (the default), medium or large.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same number gives the same result.")]
ModelPath = Annotated[
    Path | None, typer.Option("--model", help="What 'armwise fit' learned; default: model.armwise beside PROGRAMME.")
]
OutputPath = Annotated[
    Path | None,
    typer.Option("--output", help="The call list, .csv or .parquet; default: call-list.csv beside PROGRAMME."),
]


@app.command(epilog="Next: armwise plan PROGRAMME")
def fit(
    programme: ProgrammePath = Path("programme.toml"),
    model: ModelPath = None,
    kind: Kind = "linear",
    seed: Seed = 0,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    despite_outage: DespiteOutage = False,
) -> None:
    """Learn, from the programme's history, how people engage when left alone and when called.

    It takes a minute or so, and once a month is often enough. The result is one file of weights; it holds the values
    of categories and no one's data. The old file, if any, is replaced when the new one is complete.
    """
    with documented_exit():
        from armwise.planning import fit_programme

        target = programme.parent / "model.armwise" if model is None else model
        planner = fit_programme(programme, seed=seed, kind=kind, despite_outage=despite_outage, progress=None)
        if not dry_run:
            planner.save(target)
        answer = {"file": str(target), "written": not dry_run, **planner.metrics_}
        typer.echo(json.dumps(answer) if as_json else str(target))
        said = f"from {planner.metrics_['num_people']:,.0f} people; best epoch {planner.metrics_['best_epoch']:.0f}"
        say(f"{'Would write' if dry_run else 'Wrote'} what was learned {said}.")
        say(f"Next: armwise plan {programme}  (or, for what it is worth: armwise evaluate {programme})")


@app.command(epilog="Next: armwise fit PROGRAMME")
def evaluate(
    programme: ProgrammePath = Path("programme.toml"),
    kind: Kind = "linear",
    seed: Seed = 0,
    as_json: AsJson = False,
    despite_outage: DespiteOutage = False,
) -> None:
    """Compare whom armwise would call with calling in turn, at random, or whoever seems about to leave.

    A fifth of the people is held back; the rest is learned from; then weeks of calls are simulated for those held
    back, with chains estimated from their history. Quality 0 is no calls at all, 1 is calls by the true chains.
    """
    with documented_exit():
        from armwise.planning import evaluate_programme

        result = evaluate_programme(programme, seed=seed, kind=kind, despite_outage=despite_outage, progress=None)
        if as_json:
            typer.echo(json.dumps({**result._asdict(), "policies": [each._asdict() for each in result.policies]}))
        else:
            typer.echo(str(result))
        say(
            f"{result.num_cohorts} cohorts of {result.cohort_size} people held back, {result.budget} calls a step each."
        )
        say(f"Next: armwise fit {programme}")


@app.command(epilog="Next: armwise explain PROGRAMME ID")
def plan(
    programme: ProgrammePath = Path("programme.toml"),
    model: ModelPath = None,
    output: OutputPath = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Write nothing; check a written list against its manifest and the files.")
    ] = False,
    as_json: AsJson = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the call list to stdout instead, and write nothing.")
    ] = False,
    despite_outage: DespiteOutage = False,
) -> None:
    """Write the call list of the next step: whom to call, in order, with the reason for each.

    The same files give the same list, to the byte. Beside it, under manifests/, lies a record of what it was made from
    (hashes, no names); **--verify** checks both. Who is left out, and by which rule, is counted on stderr.
    """
    with documented_exit():
        from armwise.planning import plan_programme, verify_plan, write_plan

        target = programme.parent / "call-list.csv" if output is None else output
        if verify:
            result = verify_plan(programme, target, model, despite_outage=despite_outage)
            checks = [check._asdict() for check in result.checks]
            typer.echo(json.dumps({"holds": result.holds, "checks": checks}) if as_json else str(result))
            raise typer.Exit(ExitCode.OK if result.holds else ExitCode.NOT_VERIFIED)
        planned = plan_programme(programme, model, suffix=target.suffix.lower(), despite_outage=despite_outage)
        manifest = None if dry_run else write_plan(planned, target)
        if as_json:
            typer.echo(_plan_as_json(planned, target, manifest))
        else:
            typer.echo(planned.plan.to_bytes().decode() if dry_run else str(target), nl=not dry_run)
        say(f"{planned.manifest.planned_step}: {planned.plan.summary}")
        someone = planned.plan.calls["id"][0] if len(planned.plan) else "ID"
        say(f"Next: armwise explain {programme} {someone}")


@app.command(epilog="Next: armwise plan PROGRAMME --verify")
def explain(
    programme: ProgrammePath,
    person: Annotated[str, typer.Argument(help="The person's id, as in the table of beneficiaries.", metavar="ID")],
    model: ModelPath = None,
    as_json: AsJson = False,
    despite_outage: DespiteOutage = False,
) -> None:
    """Say why a person is or is not on the call list of the next step.

    The plan is made again from the files as they are now; nothing is written.
    """
    with documented_exit():
        from dataclasses import asdict

        from armwise.planning import plan_programme

        answer = plan_programme(programme, model, despite_outage=despite_outage).plan.explain(person)
        typer.echo(json.dumps(asdict(answer), ensure_ascii=False) if as_json else str(answer))


@contextmanager
def documented_exit() -> Iterator[None]:
    """Turn armwise's own complaints, and an interruption, into a message and an exit code; no traceback for either."""
    try:
        yield
    except ArmwiseError as error:
        say(str(error))
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        say("Interrupted; nothing was left half-written.")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def say(message: str) -> None:
    """A message for a person: to stderr, out of the way of data."""
    typer.echo(message, err=True)


def _as_json(report: "Report", data: "ProgrammeData | None") -> str:
    from dataclasses import asdict

    quality = None if data is None else asdict(data.quality)
    return json.dumps({**report.as_dict(), "quality": quality}, ensure_ascii=False, indent=2)


def _plan_as_json(planned: "ProgrammePlan", target: Path, manifest: Path | None) -> str:
    record = json.loads(planned.manifest.to_json())
    place = {"file": str(target), "manifest": None if manifest is None else str(manifest)}
    calls = planned.plan.calls.to_dicts()
    return json.dumps({**place, "written": manifest is not None, **record, "calls": calls}, ensure_ascii=False)


def _print_report(report: "Report") -> None:
    from rich.console import Console
    from rich.text import Text

    colours = {"error": "bold red", "stop": "bold magenta", "warning": "yellow"}
    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    for finding in report.findings:
        console.print(Text(f"{finding.severity:8}", style=colours[finding.severity]) + Text(str(finding)))
    for line in report.not_shown():
        console.print(Text(line))


def _say_summary(report: "Report", data: "ProgrammeData | None", programme: Path) -> None:
    counts = report.count_by_severity()
    said = ", ".join(f"{number:,} {severity}{'s' * (number != 1)}" for severity, number in counts.items() if number)
    say(f"{programme}: {said or 'no problems'}.")
    if data is not None:
        quality = data.quality
        say(
            f"{quality.num_people:,} people, {quality.num_steps} steps, {quality.num_attempts:,} attempts, "
            f"{quality.num_calls:,} calls by health workers; to plan: {quality.planned_step}."
        )
    if report.exit_code == ExitCode.INVALID_INPUT:
        say(f"Correct the errors, then run again: armwise check {programme}")
    elif report.exit_code == ExitCode.OUTAGE:
        say(f"Complete the call log, or go on all the same: armwise check {programme} --despite-outage")
    else:
        say(f"Next: armwise fit {programme}")
