"""``python -m reproduction.commands``: the jobs behind ``armwise reproduce``, one by one, on any machine with JAX.

Needs neither the public data nor the packages that read them once a domain is a file.
"""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from armwise.data import Domain
from armwise.errors import ArmwiseError
from armwise.training import RECOMMENDED_CONFIG
from reproduction.paper.columns import COLUMNS, columns_table, time_columns
from reproduction.paper.page import write_report
from reproduction.paper.reproduce import ARTEFACTS, make_setup, reproduce
from reproduction.paper.sensitivity import DOMAINS as STUDIED
from reproduction.paper.sensitivity import QUICK_STUDY_PROTOCOL, STUDY_PROTOCOL, run_sensitivity
from reproduction.runs.domains import DOMAINS, available_domains, load_domain, make_domain, save_domain
from reproduction.runs.jobs import run_job
from reproduction.runs.protocol import LOSSES, MODELS, PAPER_PROTOCOL, QUICK_PROTOCOL, RECIPES, Protocol
from reproduction.runs.rows import Job
from reproduction.studies.choosing.recommended import METHODS, run_recommended

COMPILED = [name for name, family in LOSSES.items() if family.compiled]


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, one library call, print."""
    given = _parser().parse_args(arguments)
    try:
        given.command(given)
    except ArmwiseError as error:
        print(error, file=sys.stderr)
        return int(error.exit_code)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction.commands", description=__doc__)
    commands = parser.add_subparsers(required=True)
    domains = commands.add_parser("domains", help="write domains as files, to be used where their data are not")
    domains.add_argument("--data", type=Path, help="the folder that holds oulad/ and ctn0094/")
    domains.add_argument("--out", type=Path, default=Path("domains"))
    domains.add_argument("names", nargs="*", metavar="NAME", help=f"by default all: {', '.join(DOMAINS)}")
    domains.set_defaults(command=_domains)
    runs = commands.add_parser("runs", help="train and test: one part of the results per domain, loss and model")
    runs.add_argument("--domain", nargs="+", required=True, help="names, or files that 'domains' wrote")
    runs.add_argument("--loss", nargs="+", default=COMPILED, choices=[*LOSSES, *RECIPES])
    runs.add_argument("--model", nargs="+", default=["linear"], choices=list(MODELS))
    runs.add_argument("--data", type=Path, help="the folder that holds oulad/ and ctn0094/")
    runs.add_argument("--out", type=Path, default=Path("results/runs"))
    runs.add_argument("--chunk-size", type=int, help="runs side by side; by default what fits")
    runs.add_argument("--no-checkpoints", action="store_true")
    _add_protocol(runs)
    runs.set_defaults(command=_runs, paper=PAPER_PROTOCOL, short=QUICK_PROTOCOL)
    recommended = commands.add_parser("recommended", help="the recommended recipe as a programme runs it, tested")
    recommended.add_argument("--domain", nargs="+", required=True, help="names, or files that 'domains' wrote")
    recommended.add_argument("--method", nargs="+", default=list(METHODS), choices=METHODS)
    recommended.add_argument("--data", type=Path, help="the folder that holds oulad/ and ctn0094/")
    recommended.add_argument("--out", type=Path, default=Path("results/recommended"))
    recommended.add_argument("--splits", type=int, default=10)
    recommended.add_argument("--quality-trajectories", type=int, default=RECOMMENDED_CONFIG.quality_trajectories)
    recommended.set_defaults(command=_recommended)
    study = commands.add_parser("sensitivity", help="the synthetic domains with one unsaid choice changed at a time")
    study.add_argument("--domain", nargs="+", default=list(STUDIED), choices=list(STUDIED))
    study.add_argument("--loss", nargs="+", default=["nll", "mse", "fast-entropy"], choices=COMPILED)
    study.add_argument("--variant", nargs="+", help="labels such as discount=0.99; by default all")
    study.add_argument("--out", type=Path, default=Path("results/sensitivity"))
    _add_protocol(study)
    study.set_defaults(command=_sensitivity, paper=STUDY_PROTOCOL, short=QUICK_STUDY_PROTOCOL)
    again = commands.add_parser("reproduce", help="a table or figure, as 'armwise reproduce' does it")
    again.add_argument("what", choices=[*ARTEFACTS, "all"])
    again.add_argument("--quick", action="store_true")
    again.add_argument("--data", type=Path, help="the folder that holds oulad/ and ctn0094/")
    again.add_argument("--out", type=Path, default=Path("results/rerun"))
    again.set_defaults(command=_reproduce)
    columns = commands.add_parser("columns", help="how long Table 1's Fast DEC-DFL columns take on this machine")
    columns.add_argument("--domain", nargs="+", default=list(COLUMNS), help="names, or files that 'domains' wrote")
    columns.add_argument("--data", type=Path, help="the folder that holds oulad/ and ctn0094/")
    columns.add_argument("--out", type=Path, required=True, help="such as results/columns-h200.json")
    _add_protocol(columns)
    columns.set_defaults(command=_columns, paper=PAPER_PROTOCOL, short=QUICK_PROTOCOL)
    report = commands.add_parser("report", help="write the results into docs/reproduction.md")
    report.add_argument("--results", type=Path, default=Path("results"))
    report.add_argument("--page", type=Path, default=Path("docs/reproduction.md"))
    report.set_defaults(command=lambda given: write_report(given.page, given.results))
    return parser


def _add_protocol(parser: argparse.ArgumentParser) -> None:
    """An option for each part of the protocol; the paper's unless --quick."""
    parser.add_argument("--quick", action="store_true", help="2 splits, 1 initialisation, 2 learning rates, 10 epochs")
    parser.add_argument("--splits", type=int, dest="num_splits")
    parser.add_argument("--initialisations", type=int, dest="num_initialisations")
    parser.add_argument("--learning-rates", type=float, nargs="+")
    parser.add_argument("--temperatures", type=float, nargs="+")
    parser.add_argument("--epochs", type=int, dest="num_epochs")
    parser.add_argument("--trajectories", type=int, dest="num_trajectories", help="per test cohort")
    parser.add_argument("--horizon", type=int, help="steps of each simulated run in evaluation")
    parser.add_argument("--quality", choices=["joint", "decomposed"], help="measure it after each epoch (Figure 2b)")
    parser.add_argument("--quality-trajectories", type=int)
    parser.add_argument("--keep-indices", action="store_true", default=None, help="keep Whittle indices (Figure 3)")
    parser.add_argument("--select-by", choices=["loss", "quality"], help="what the best epoch is best by")
    parser.add_argument("--weight-decay", type=float)
    parser.add_argument("--evaluate", choices=["all", "selected"], help="which runs to test; by default all")
    parser.add_argument("--validate-every", type=int, metavar="EPOCHS", help="look at the validation cohorts so often")


def protocol_of(given: argparse.Namespace) -> Protocol:
    """The protocol that the options describe."""
    names = {field.name for field in dataclasses.fields(Protocol)}
    chosen = {name: value for name, value in vars(given).items() if name in names and value is not None}
    chosen = {name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()}
    return dataclasses.replace(given.short if given.quick else given.paper, **chosen)


def _domains(given: argparse.Namespace) -> None:
    for name in given.names or available_domains(given.data):
        save_domain(given.out / f"{name}.npz", make_domain(name, given.data))
        print(given.out / f"{name}.npz", flush=True)


def _runs(given: argparse.Namespace) -> None:
    protocol = protocol_of(given)
    for place in given.domain:
        name, domain = _domain(place, given.data)
        for model in given.model:
            for loss in given.loss:
                job = Job(name, loss, model)
                options = {"chunk_size": given.chunk_size, "checkpoints": not given.no_checkpoints}
                print(run_job(job, domain, protocol, given.out, **options), flush=True)


def _recommended(given: argparse.Namespace) -> None:
    config = dataclasses.replace(RECOMMENDED_CONFIG, quality_trajectories=given.quality_trajectories)
    for place in given.domain:
        name, domain = _domain(place, given.data)
        for part in run_recommended(
            name, domain, given.out, methods=given.method, num_splits=given.splits, config=config
        ):
            print(part, flush=True)


def _domain(place: str, data: Path | None) -> tuple[str, Domain]:
    """A domain and its name, from a file or made here."""
    is_file = place.endswith(".npz")
    return (Path(place).stem, load_domain(place)) if is_file else (place, make_domain(place, data))


def _columns(given: argparse.Namespace) -> None:
    domains = dict(_domain(place, given.data) for place in given.domain)
    time_columns(domains, protocol_of(given), given.out)
    print(columns_table(given.out.parent), flush=True)


def _sensitivity(given: argparse.Namespace) -> None:
    for name in given.domain:
        labels = None if given.variant is None else tuple(given.variant)
        parts = run_sensitivity(name, protocol_of(given), given.out, losses=tuple(given.loss), labels=labels)
        print("\n".join(map(str, parts)), flush=True)


def _reproduce(given: argparse.Namespace) -> None:
    print(reproduce(given.what, make_setup(given.out, given.data, quick=given.quick)))


if __name__ == "__main__":
    sys.exit(main())
