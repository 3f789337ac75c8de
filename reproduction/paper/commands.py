"""The commands that show the paper's tables and figures, run what they lack, and write the pages."""

import argparse
import sys
from pathlib import Path
from typing import Any

from armwise.errors import InvalidInputError
from reproduction.paper.columns import COLUMNS, columns_table, time_columns
from reproduction.paper.page import write_report
from reproduction.paper.reproduce import ARTEFACTS, has_results, make_setup, reproduce
from reproduction.runs.commands import add_data, add_protocol, named_domain, protocol_of
from reproduction.runs.protocol import PAPER_PROTOCOL, QUICK_PROTOCOL

RESULTS = Path("results")
# The pages of the paper's results, by the command that writes them.
PAGES = {"report": Path("docs/reproduction.md"), "choosing": Path("docs/choosing-a-loss.md")}


def add_commands(commands: Any) -> None:
    """To the subparsers of the command line."""
    for name, make in ARTEFACTS.items():
        _add_artefact(commands.add_parser(name, help=(make.__doc__ or "").splitlines()[0]), name)
    _add_artefact(commands.add_parser("all", help="every table and figure of the paper"), "all")
    for name, page in PAGES.items():
        _add_page(commands.add_parser(name, help=f"write the results into {page}"), page)
    _add_columns(commands.add_parser("columns", help="how long Table 1's Fast DEC-DFL columns take on this machine"))


def _add_artefact(parser: argparse.ArgumentParser, name: str) -> None:
    parser.description = (
        "Without options, what results/ holds is shown at once, with the protocol behind each column. With --quick, "
        "--rerun or --out it is run: a command that was stopped goes on where it was, and what is finished is not run "
        "again. What comes out: docs/reproduction.md."
    )
    parser.set_defaults(command=_reproduce, what=name)
    parser.add_argument("--quick", action="store_true", help="minutes instead of the paper's full protocol")
    parser.add_argument("--rerun", action="store_true", help="run anew what the results here show already")
    parser.add_argument("--out", type=Path, help="folder to run into; results/quick or results/rerun")
    add_data(parser)


def _reproduce(given: argparse.Namespace) -> None:
    shown = not (given.quick or given.rerun or given.out)
    if shown and not has_results(RESULTS):
        raise InvalidInputError(
            "There are no results in this folder. Change to a clone of armwise, which has them; or run it "
            "yourself: with --quick (minutes), --rerun (hours, the paper's protocol), or --out FOLDER."
        )
    folder = given.out or (RESULTS / "quick" if given.quick else RESULTS if shown else RESULTS / "rerun")
    setup = make_setup(folder, given.data, quick=given.quick, only_shows=shown, say=_say)
    missing = sorted({"oulad", "ctn0094"} - set(setup.domains))
    if missing and not shown:
        _say(f"Without {' and '.join(missing)}: name the folder that holds them with --data.")
    print(reproduce(given.what, setup).replace("\\*", "*"))
    _say(f"Results: {folder}")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _add_page(parser: argparse.ArgumentParser, page: Path) -> None:
    parser.set_defaults(command=lambda given: write_report(given.page, given.results))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=page)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_columns, paper=PAPER_PROTOCOL, short=QUICK_PROTOCOL)
    parser.add_argument("--domain", nargs="+", default=list(COLUMNS), help="names, or files that 'domains' wrote")
    add_data(parser)
    parser.add_argument("--out", type=Path, required=True, help="such as results/columns-h200.json")
    add_protocol(parser)


def _columns(given: argparse.Namespace) -> None:
    domains = dict(named_domain(place, given.data) for place in given.domain)
    time_columns(domains, protocol_of(given), given.out)
    print(columns_table(given.out.parent), flush=True)
