"""The one command line of the paper's tables and figures, the runs behind them, and the studies.

``python -m reproduction --help`` lists the commands. What only runs jobs needs neither the public data nor the packages
that read them, once a domain is a file.
"""

import argparse
import sys
from collections.abc import Sequence

from armwise.errors import ArmwiseError
from reproduction.paper import commands as paper
from reproduction.runs import commands as runs
from reproduction.studies import commands as studies


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, one call, print."""
    given = make_parser().parse_args(arguments)
    try:
        given.command(given)
    except ArmwiseError as error:
        print(error, file=sys.stderr)
        return int(error.exit_code)
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description="The paper, and studies beyond it.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for part in (paper, runs, studies):
        part.add_commands(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
