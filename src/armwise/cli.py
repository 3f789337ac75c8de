"""The command line: each command parses, makes one library call and prints. Data go to stdout, messages to stderr.

No heavy module is imported before a command runs, so that ``armwise --help`` answers at once.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from armwise.console import (
    answer,
    documented_exit,
    findings_as_json,
    plan_as_json,
    print_findings,
    say,
    say_summary,
    tell,
    tell_json,
)
from armwise.errors import ExitCode

EPILOG = (
    "Exit codes: 0 all is well; 1 unexpected, please report it; 2 wrong usage; 3 files or settings are wrong; "
    "4 stopped because of an outage in the call log; 5 a result could not be written; 6 a call list is not what its "
    "manifest says; 130 interrupted."
)

# A traceback with local variables would print people's data.
app = typer.Typer(
    name="armwise",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

# Not readable=True, the default: a file that we may not read would then exit with the code of "wrong usage".
ProgrammePath = Annotated[
    Path,
    typer.Argument(
        help="The programme's settings, as 'armwise init' writes them.", metavar="PROGRAMME", readable=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout, for scripts.")]
DespiteOutage = Annotated[
    bool, typer.Option("--despite-outage", help="Go on although far fewer people than usual were observed last.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")]


def _show_version(wanted: bool) -> bool:
    if wanted:
        from importlib.metadata import version

        with documented_exit():
            tell(f"armwise {version('armwise')}")
        raise typer.Exit
    return wanted


@app.callback(epilog=EPILOG)
def armwise(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Decide whom a health programme should call this week, from its own call logs.

    Start with **armwise init my-programme**: it writes a commented programme.toml and a small simulated programme.
    Put your own files in their place and run **armwise check**, which lists every problem at once.

    Then, once in a while, **armwise fit** learns whom calls help; **armwise evaluate** says what that is worth; and
    every week **armwise plan** writes the call list, **armwise explain** says why someone is on it or not, and
    **armwise report** shows a programme manager all of it on one page. **armwise demo** does it all once, on simulated
    data.
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
        from armwise.programme import init_programme

        files = init_programme(folder, dry_run=dry_run)
        names = [str(file) for file in files]
        answer({"files": names, "written": not dry_run}, "\n".join(names), as_json)
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
        from armwise.programme import examine_programme

        report, data = examine_programme(programme, despite_outage=despite_outage)
        if as_json:
            tell_json(findings_as_json(report, data))
        else:
            print_findings(report)
        say_summary(report, data, programme)
        raise typer.Exit(report.exit_code)


class ModelKind(StrEnum):
    """What a fit learns, by the names of ``fit_programme``."""

    CHAINS = "chains"
    LINEAR = "linear"
    MEDIUM = "medium"
    LARGE = "large"


Kind = Annotated[
    ModelKind,
    typer.Option(
        "--kind",
        help="What is learned: chains (each person's own, the default); or also a correction of them by a model of "
        "columns and history, trained for decisions: linear, medium or large.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same number gives the same result.")]
ModelPath = Annotated[
    Path | None,
    typer.Option(
        "--model", help="What 'armwise fit' learned; default: model.armwise beside PROGRAMME.", readable=False
    ),
]
OutputPath = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="The call list, .csv, .xlsx or .parquet; default: call-list.csv beside PROGRAMME.",
        readable=False,
    ),
]


@app.command(epilog="Next: armwise plan PROGRAMME")
def fit(
    programme: ProgrammePath = Path("programme.toml"),
    model: ModelPath = None,
    kind: Kind = ModelKind.CHAINS,
    seed: Seed = 0,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    despite_outage: DespiteOutage = False,
) -> None:
    """Learn, from the programme's history, how people engage when left alone and when called.

    Once a month is often enough: 'armwise plan' adds each person's latest weeks by itself. It takes seconds for a few
    thousand people and grows with their number; how long is said before it starts. The result is one file of weights;
    it holds the values of categories and no one's data. The old file, if any, is replaced when the new one is complete.
    """
    with documented_exit():
        from armwise.programme.inputs import check_output
        from armwise.weekly import fit_programme

        target = programme.parent / "model.armwise" if model is None else model
        check_output(target, programme, [], [".armwise"], dry_run=dry_run)
        planner = fit_programme(
            programme, seed=seed, kind=kind.value, despite_outage=despite_outage, progress=None, started=say
        )
        if not dry_run:
            planner.save(target)
        record = {"file": str(target), "written": not dry_run, **planner.metrics_}
        answer(record, str(target), as_json)
        number = planner.metrics_["num_people"]
        say(f"{'Would write' if dry_run else 'Wrote'} what was learned from {number:,.0f} people.")
        say(f"Next: armwise plan {programme}")


@app.command(epilog="Next: armwise plan PROGRAMME")
def evaluate(
    programme: ProgrammePath = Path("programme.toml"),
    kind: Kind = ModelKind.CHAINS,
    seed: Seed = 0,
    for_report: Annotated[
        bool,
        typer.Option(
            "--for-report",
            help="Also judge what else a model can learn by, and keep all of it for the report.",
        ),
    ] = False,
    as_json: AsJson = False,
    despite_outage: DespiteOutage = False,
) -> None:
    """Say whether past calls helped, and whether armwise chooses better than rules of thumb do.

    For several past weeks, armwise learns from half of the people and the weeks until then, and lists whom to call
    among the others in the weeks after, from what was known of them by then. What past calls did tells what these lists
    would have gained, beside calling at random, in turn, or the disengaged first. Intervals come from resampling
    people.

    With **--for-report**, evaluation.json beside PROGRAMME keeps the result, which 'armwise report' then shows.
    """
    with documented_exit():
        from armwise.io.writing import write_file
        from armwise.programme import read_programme
        from armwise.programme.inputs import check_output
        from armwise.weekly import ASSESSMENT_FILE, assess_programme, write_text
        from armwise.weekly.plan import step_name

        target = programme.parent / ASSESSMENT_FILE
        if for_report:
            check_output(target, programme, [], [".json"])
        kept = assess_programme(
            programme,
            seed=seed,
            kind=kind.value,
            despite_outage=despite_outage,
            progress=None,
            losses=None if for_report else {},
            started=say,
        )
        if for_report:
            write_file(target, kept.to_json())
        if as_json:
            tell_json(kept.to_json().rstrip("\n"))
        else:
            tell(write_text(kept, step_name(read_programme(programme).time)))
        if for_report:
            say(f"Kept in {target}.")
            say(f"Next: armwise report {programme}")
            return
        say(f"Next: armwise plan {programme}  (to keep this for the report: armwise evaluate {programme} --for-report)")


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
        from armwise.programme.inputs import check_output
        from armwise.weekly import plan_programme, verify_plan, write_plan

        target = programme.parent / "call-list.csv" if output is None else output
        used = programme.parent / "model.armwise" if model is None else model
        if verify:
            result = verify_plan(programme, target, model, despite_outage=despite_outage)
            checks = [check._asdict() for check in result.checks]
            answer({"holds": result.holds, "checks": checks}, str(result), as_json)
            raise typer.Exit(ExitCode.OK if result.holds else ExitCode.NOT_VERIFIED)
        check_output(target, programme, [used], [".csv", ".parquet", ".xlsx"], dry_run=dry_run)
        planned = plan_programme(programme, model, suffix=target.suffix.lower(), despite_outage=despite_outage)
        manifest = None if dry_run else write_plan(planned, target)
        say(planned.plan.evidence.sentence)
        if as_json:
            tell_json(plan_as_json(planned, target, manifest))
        else:
            tell(planned.plan.to_bytes().decode() if dry_run else str(target), newline=not dry_run)
        say(f"{planned.manifest.planned_step}: {planned.plan.summary}")
        if planned.plan.lots_sentence:
            say(planned.plan.lots_sentence)
        for warning in planned.warnings:
            say(f"Warning: {warning}")
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

        from armwise.weekly import plan_programme

        explanation = plan_programme(programme, model, despite_outage=despite_outage).plan.explain(person)
        answer(asdict(explanation), str(explanation), as_json)


@app.command(epilog="Next: open the file in a browser")
def report(
    programme: ProgrammePath = Path("programme.toml"),
    model: ModelPath = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="The page; default: report.html beside PROGRAMME.", readable=False)
    ] = None,
    smallest_group: Annotated[
        int, typer.Option("--smallest-group", min=1, help="Groups of fewer people are not shown.")
    ] = 10,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    despite_outage: DespiteOutage = False,
) -> None:
    """Write one page for a programme manager: the list, what it is expected to bring, to whom, and how far to trust it.

    It is one HTML file that opens without the internet. It holds ids: keep it where the call list is kept. The same
    files give the same page, to the byte.
    """
    with documented_exit():
        from armwise.io.writing import write_file
        from armwise.programme.inputs import check_output
        from armwise.report import REPORT_FILE, report_programme
        from armwise.weekly import ASSESSMENT_FILE

        target = programme.parent / REPORT_FILE if output is None else output
        used = programme.parent / "model.armwise" if model is None else model
        others = [used, programme.parent / ASSESSMENT_FILE]
        check_output(target, programme, others, [".html", ".htm"], dry_run=dry_run)
        page = report_programme(programme, model, smallest_group=smallest_group, despite_outage=despite_outage)
        if not dry_run:
            write_file(target, page.html)
        record = {"file": str(target), "written": not dry_run, "evaluated": page.facts.assessment is not None}
        answer(record, str(target), as_json)
        if page.facts.assessment is None:
            say(
                f"For checks of the predictions and the comparison of losses: armwise evaluate {programme} --for-report"
            )
        say(f"Next: open {target} in a browser  (and for the list itself: armwise plan {programme})")


@app.command(epilog="Next: armwise init my-programme")
def demo(
    folder: Annotated[Path, typer.Argument(help="A new folder, or one that 'armwise demo' has written.")] = Path(
        "armwise-demo"
    ),
) -> None:
    """Show everything once, on a simulated programme: check, fit, evaluate, plan, report. A minute or two.

    Prints what past calls did, how ways to choose compare, and where the report is. Nobody in it is real.
    """
    say("A simulated programme, from raw files to a report. Nobody in it is real.")
    with documented_exit():
        from armwise.demo import run_demo
        from armwise.weekly import write_text

        result = run_demo(folder, say, progress=None)
        tell(f"\nSIMULATED: nobody is real.\n\n{write_text(result.assessment)}")
        tell(f"\ncall list  {result.call_list}\nreport     {result.report}")
        say(f"Next: open {result.report} in a browser  (and, with your own files: armwise init my-programme)")
