"""The command line of the studies.

python -m reproduction deciding [--out DIR] [--seeds 10] [--quick] [--part 1/1] [--kind losses] [--page]
python -m reproduction null-worlds [--out DIR] [--worlds 400] [--first 1200] [--processes 2] [--page]
python -m reproduction off-policy coverage heartsteps divisions ctn0094 page [--data DIR] [--programmes 1000]
python -m reproduction next-state [--data DIR] [--out DIR] [--page]
python -m reproduction demo-truth [--out DIR] [--programmes 40]
"""

import argparse
import dataclasses
from pathlib import Path

from reproduction.studies import demo_truth
from reproduction.studies.deciding import page as deciding_page
from reproduction.studies.deciding import study as deciding
from reproduction.studies.next_state import page as next_state_page
from reproduction.studies.next_state import study as next_state
from reproduction.studies.null_worlds import page as null_worlds_page
from reproduction.studies.null_worlds import study as null_worlds
from reproduction.studies.off_policy import study as off_policy

ROOT = Path(__file__).parents[1]


def main(arguments: list[str] | None = None) -> None:
    """Run a study, or write its page from results that are there."""
    options = _parser().parse_args(arguments)
    options.run(options)


def _run_deciding(options: argparse.Namespace) -> None:
    out = options.out or ROOT / "results" / ("quick" if options.quick else "") / "deciding"
    if options.page:
        deciding_page.write_page(out, ROOT / "docs" / "deciding.md")
        return
    size = deciding.QUICK if options.quick else deciding.Size()
    size = size if options.seeds is None else dataclasses.replace(size, num_seeds=options.seeds)
    if options.kind == "fresh":
        size, out = dataclasses.replace(size, first_seed=deciding.FIRST_FRESH), out / "fresh"
    worlds, weeks = (["default"], deciding.WEEKS[:1]) if options.quick else (list(deciding.WORLDS), deciding.WEEKS)
    deciding.run_jobs(out, size, worlds, weeks, options.part, options.kind)


def _run_null_worlds(options: argparse.Namespace) -> None:
    kept = ROOT / "results" / "null-worlds"
    if options.page:
        null_worlds_page.write_page(kept / "summary.csv", ROOT / "docs" / "judgement.md")
        return
    out = options.out or kept / "unfinished"
    null_worlds.run_jobs(out, options.worlds, options.processes, options.first)
    null_worlds_page.write_summary(out, (kept if options.out is None else out) / "summary.csv")


def _run_next_state(options: argparse.Namespace) -> None:
    out = options.out or ROOT / "results" / "next-state"
    if options.page:
        next_state_page.write_page(out, ROOT / "docs")
        return
    next_state.run(options.data, out)


def _run_demo_truth(options: argparse.Namespace) -> None:
    demo_truth.run(options.out or ROOT / "results" / "demo", options.programmes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description="Studies of armwise.")
    studies = parser.add_subparsers(required=True, metavar="STUDY")
    _add_deciding(studies.add_parser("deciding", help="rules of thumb and losses on simulated programmes"))
    _add_null_worlds(studies.add_parser("null-worlds", help="whether intervals cover the truth"))
    _add_off_policy(studies.add_parser("off-policy", help="ways of choosing, valued on calls made at random"))
    _add_next_state(studies.add_parser("next-state", help="ways to predict next week's state, on real histories"))
    _add_demo_truth(studies.add_parser("demo-truth", help="what lists on the demo's programmes are truly worth"))
    return parser


def _add_demo_truth(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run_demo_truth)
    parser.add_argument("--out", type=Path, help="folder of the results; by default results/demo")
    parser.add_argument("--programmes", type=int, default=demo_truth.NUM_PROGRAMMES, help="how many to simulate")


def _add_deciding(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run_deciding)
    parser.add_argument("--out", type=Path, help="folder of the results; by default results/deciding")
    parser.add_argument("--seeds", type=int, help="simulated programmes of each world; by default 10")
    parser.add_argument("--quick", action="store_true", help="one small world, to see that it works")
    parser.add_argument("--part", default="1/1", help="which part of the jobs, such as 3/16")
    parser.add_argument("--kind", choices=deciding.KINDS, default="losses", help="which ways to compute and add")
    parser.add_argument("--page", action="store_true", help="only write docs/deciding.md from the results")


def _add_null_worlds(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run_null_worlds)
    parser.add_argument("--out", type=Path, help="folder of the results; by default results/null-worlds")
    parser.add_argument("--worlds", type=int, default=400, help="simulated programmes of each kind")
    parser.add_argument("--first", type=int, default=null_worlds.FIRST_SEED, help="seed of the first of them")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time")
    parser.add_argument("--page", action="store_true", help="only write docs/judgement.md from the results")


def _add_off_policy(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=off_policy.main)
    off_policy.add_arguments(parser)


def _add_next_state(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run_next_state)
    parser.add_argument("--data", type=Path, default=off_policy.DATA, help="folder of the data sets' folders")
    parser.add_argument("--out", type=Path, help="folder of the results; by default results/next-state")
    parser.add_argument("--page", action="store_true", help="only write docs/next-state.md from the results")


if __name__ == "__main__":
    main()
