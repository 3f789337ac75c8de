"""The commands that show the paper's tables and figures, run what they lack, and write the pages.

What reads results is imported when it is needed: jobs also run on machines without Polars.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from armwise.errors import InvalidInputError
from reproduction.paper.columns import COLUMNS, columns_table, time_columns
from reproduction.runs.commands import add_data, add_protocol, add_results, named_domain, protocol_of
from reproduction.runs.protocol import PAPER_PROTOCOL, QUICK_PROTOCOL

RESULTS = Path("results")
ARTEFACTS = {
    "table1": "joint and decomposed quality of every loss on every domain",
    "table2": "joint quality of models of three sizes",
    "figure2a": "seconds per epoch of every loss",
    "figure2b": "validation quality by epoch",
    "figure3": "predicted against true Whittle indices",
    "all": "every table and figure of the paper",
}
# The pages of the paper's results, by the command that writes them.
PAGES = {"report": Path("docs/reproduction.md"), "choosing": Path("docs/choosing-a-loss.md")}


def add_commands(commands: Any) -> None:
    """To the subparsers of the command line."""
    for name, what in ARTEFACTS.items():
        _add_artefact(commands.add_parser(name, help=what), name)
    for name, page in PAGES.items():
        _add_page(commands.add_parser(name, help=f"rewrite the tables of {page} from the results"), page)
    _add_join(commands.add_parser("join", help="join the parts that runs left into one file per study"))
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
    from reproduction.paper.reproduce import has_results, make_setup, reproduce
    from reproduction.summaries import join_all

    shown = not (given.quick or given.rerun or given.out)
    if shown and not has_results(RESULTS):
        raise InvalidInputError(
            "There are no results in this folder. Change to a clone of armwise, which has them; or run it "
            "yourself: with --quick (minutes), --rerun (hours, the paper's protocol), or --out FOLDER."
        )
    if given.data is not None and not given.data.is_dir():
        raise InvalidInputError(f"There is no folder {given.data}. Name the folder that holds oulad/ and ctn0094/.")
    folder = given.out or (RESULTS / "quick" if given.quick else RESULTS if shown else RESULTS / "rerun")
    setup = make_setup(folder, given.data, quick=given.quick, only_shows=shown, say=_say)
    missing = sorted({"oulad", "ctn0094"} - set(setup.domains))
    if missing and not shown:
        _say(f"Without {' and '.join(missing)}: name the folder that holds them with --data.")
    print(reproduce(given.what, setup).replace("\\*", "*"))
    if not shown:
        join_all(folder)
    _say(f"Results: {folder}")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _add_page(parser: argparse.ArgumentParser, page: Path) -> None:
    parser.set_defaults(command=_write_page)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of results; by default results")
    parser.add_argument("--page", type=Path, default=page, help=f"page to rewrite; by default {page}")


def _write_page(given: argparse.Namespace) -> None:
    from reproduction.paper.page import write_report

    _check_results(given.results)
    if not given.page.is_file():
        raise InvalidInputError(f"There is no page {given.page}. Name a page to rewrite with --page.")
    write_report(given.page, given.results)
    _say(f"Wrote {given.page}")


def _check_results(results: Path) -> None:
    from reproduction.paper.reproduce import has_results

    if not has_results(results):
        raise InvalidInputError(f"{results} holds no results. Name the folder that does with --results.")


def _add_join(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_join)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of results; by default results")


def _join(given: argparse.Namespace) -> None:
    from reproduction.summaries import join_all

    if not given.results.is_dir():
        raise InvalidInputError(f"There is no folder {given.results}. Name the folder of results with --results.")
    for path in join_all(given.results):
        print(path)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_columns, paper=PAPER_PROTOCOL, short=QUICK_PROTOCOL)
    parser.add_argument("--domain", nargs="+", default=list(COLUMNS), help="names, or files that 'domains' wrote")
    add_data(parser)
    add_results(parser)
    add_protocol(parser)


def _columns(given: argparse.Namespace) -> None:
    domains = dict(named_domain(place, given.data) for place in given.domain)
    time_columns(domains, protocol_of(given), given.out)
    print(columns_table(given.out), flush=True)
