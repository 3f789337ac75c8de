"""The commands that make domains, train and test: the runs behind the tables, one by one, on any machine with JAX."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from armwise.data import Domain
from armwise.training import RECOMMENDED_CONFIG
from reproduction.paper.sensitivity import DOMAINS as STUDIED
from reproduction.paper.sensitivity import QUICK_STUDY_PROTOCOL, STUDY_PROTOCOL, run_sensitivity
from reproduction.runs.domains import DOMAINS, available_domains, load_domain, make_domain, save_domain
from reproduction.runs.jobs import run_job
from reproduction.runs.protocol import LOSSES, MODELS, PAPER_PROTOCOL, QUICK_PROTOCOL, RECIPES, Protocol
from reproduction.runs.rows import Job
from reproduction.studies.choosing.recommended import METHODS, run_recommended

COMPILED = [name for name, family in LOSSES.items() if family.compiled]


def add_commands(commands: Any) -> None:
    """To the subparsers of the command line."""
    _add_domains(commands.add_parser("domains", help="write domains as files, to be used where their data are not"))
    _add_runs(commands.add_parser("runs", help="train and test: one part of the results per domain, loss and model"))
    _add_sensitivity(commands.add_parser("sensitivity", help="synthetic domains, one unsaid choice changed at a time"))
    _add_recommended(commands.add_parser("recommended", help="the recommended recipe as a programme runs it, tested"))


def add_data(parser: argparse.ArgumentParser) -> None:
    """Where public data are."""
    parser.add_argument("--data", type=Path, help="the folder that holds oulad/ and ctn0094/")


def add_results(parser: argparse.ArgumentParser) -> None:
    """Where results go."""
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of all results")


def add_protocol(parser: argparse.ArgumentParser) -> None:
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


def named_domain(place: str, data: Path | None) -> tuple[str, Domain]:
    """A domain and its name, from a file or made here."""
    is_file = place.endswith(".npz")
    return (Path(place).stem, load_domain(place)) if is_file else (place, make_domain(place, data))


def _add_domains(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_domains)
    add_data(parser)
    parser.add_argument("--out", type=Path, default=Path("domains"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"by default all: {', '.join(DOMAINS)}")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_runs, paper=PAPER_PROTOCOL, short=QUICK_PROTOCOL)
    parser.add_argument("--domain", nargs="+", required=True, help="names, or files that 'domains' wrote")
    parser.add_argument("--loss", nargs="+", default=COMPILED, choices=[*LOSSES, *RECIPES])
    parser.add_argument("--model", nargs="+", default=["linear"], choices=list(MODELS))
    add_data(parser)
    add_results(parser)
    parser.add_argument("--study", default="paper", choices=["paper", "curves", "recipe"], help="which the runs are of")
    parser.add_argument("--chunk-size", type=int, help="runs side by side; by default what fits")
    parser.add_argument("--no-checkpoints", action="store_true")
    add_protocol(parser)


def _add_sensitivity(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_sensitivity, paper=STUDY_PROTOCOL, short=QUICK_STUDY_PROTOCOL)
    parser.add_argument("--domain", nargs="+", default=list(STUDIED), choices=list(STUDIED))
    parser.add_argument("--loss", nargs="+", default=["nll", "mse", "fast-entropy"], choices=COMPILED)
    parser.add_argument("--variant", nargs="+", help="labels such as discount=0.99; by default all")
    add_results(parser)
    add_protocol(parser)


def _add_recommended(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_recommended)
    parser.add_argument("--domain", nargs="+", required=True, help="names, or files that 'domains' wrote")
    parser.add_argument("--method", nargs="+", default=list(METHODS), choices=METHODS)
    add_data(parser)
    add_results(parser)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--quality-trajectories", type=int, default=RECOMMENDED_CONFIG.quality_trajectories)


def _domains(given: argparse.Namespace) -> None:
    for name in given.names or available_domains(given.data):
        save_domain(given.out / f"{name}.npz", make_domain(name, given.data))
        print(given.out / f"{name}.npz", flush=True)


def _runs(given: argparse.Namespace) -> None:
    protocol = protocol_of(given)
    for place in given.domain:
        name, domain = named_domain(place, given.data)
        for model in given.model:
            for loss in given.loss:
                job = Job(name, loss, model)
                options = {"chunk_size": given.chunk_size, "checkpoints": not given.no_checkpoints}
                print(run_job(job, domain, protocol, given.out, given.study, **options), flush=True)


def _sensitivity(given: argparse.Namespace) -> None:
    for name in given.domain:
        labels = None if given.variant is None else tuple(given.variant)
        parts = run_sensitivity(name, protocol_of(given), given.out, losses=tuple(given.loss), labels=labels)
        print("\n".join(map(str, parts)), flush=True)


def _recommended(given: argparse.Namespace) -> None:
    config = dataclasses.replace(RECOMMENDED_CONFIG, quality_trajectories=given.quality_trajectories)
    for place in given.domain:
        name, domain = named_domain(place, given.data)
        for part in run_recommended(
            name, domain, given.out, methods=given.method, num_splits=given.splits, config=config
        ):
            print(part, flush=True)
