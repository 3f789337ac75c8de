"""The commands of the studies: run one, or write its page from results that are there."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from reproduction.studies import demo_truth
from reproduction.studies.deciding import study as deciding
from reproduction.studies.null_worlds import study as null_worlds

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
OFF_POLICY_PARTS = ("coverage", "heartsteps", "divisions", "ctn0094", "page")


def add_commands(commands: Any) -> None:
    """To the subparsers of the command line."""
    _add_deciding(commands.add_parser("deciding", help="rules of thumb and losses on simulated programmes"))
    _add_null_worlds(commands.add_parser("null-worlds", help="whether intervals cover the truth"))
    _add_off_policy(commands.add_parser("off-policy", help="ways of choosing, valued on calls made at random"))
    _add_next_state(commands.add_parser("next-state", help="ways to predict next week's state, on real histories"))
    _add_demo_truth(commands.add_parser("demo-truth", help="what lists on the demo's programmes are truly worth"))
    _add_choice_by_lot(commands.add_parser("choice-by-lot", help="what lots cost, and what they make possible"))


def _add_deciding(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_deciding)
    parser.add_argument("--out", type=Path, help="folder of all results; by default results")
    parser.add_argument("--seeds", type=int, help="simulated programmes of each world; by default 10")
    parser.add_argument("--quick", action="store_true", help="one small world, to see that it works")
    parser.add_argument("--part", default="1/1", help="which part of the jobs, such as 3/16")
    parser.add_argument("--kind", choices=deciding.KINDS, default="losses", help="which ways to compute and add")
    parser.add_argument("--page", action="store_true", help="only write docs/deciding.md from the results")


def _deciding(given: argparse.Namespace) -> None:
    from reproduction.studies.deciding import page

    out = given.out or ROOT / "results" / ("quick" if given.quick else "")
    if given.page:
        page.write_page(out, ROOT / "docs" / "deciding.md")
        return
    size = deciding.QUICK if given.quick else deciding.Size()
    size = size if given.seeds is None else dataclasses.replace(size, num_seeds=given.seeds)
    if given.kind == "fresh":
        size = dataclasses.replace(size, first_seed=deciding.FIRST_FRESH)
    worlds, weeks = (["default"], deciding.WEEKS[:1]) if given.quick else (list(deciding.WORLDS), deciding.WEEKS)
    deciding.run_jobs(out, size, worlds, weeks, given.part, given.kind)


def _add_null_worlds(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_null_worlds)
    parser.add_argument("--out", type=Path, help="folder of the results; by default results/null-worlds")
    parser.add_argument("--worlds", type=int, default=400, help="simulated programmes of each kind")
    parser.add_argument("--first", type=int, default=null_worlds.FIRST_SEED, help="seed of the first of them")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time")
    parser.add_argument("--page", action="store_true", help="only write docs/judgement.md from the results")


def _null_worlds(given: argparse.Namespace) -> None:
    from reproduction.studies.null_worlds import page

    kept = ROOT / "results" / "null-worlds"
    if given.page:
        page.write_page(kept / "summary.csv", ROOT / "docs" / "judgement.md")
        return
    out = given.out or kept / "unfinished"
    null_worlds.run_jobs(out, given.worlds, given.processes, given.first)
    page.write_summary(out, (kept if given.out is None else out) / "summary.csv")


def _add_off_policy(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_off_policy)
    parser.add_argument("parts", nargs="+", choices=OFF_POLICY_PARTS, help="what to compute; the page always")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets' folders")
    parser.add_argument("--programmes", type=int, default=1000, help="simulated programmes of each kind")


def _off_policy(given: argparse.Namespace) -> None:
    from reproduction.studies.off_policy import study

    study.run(given.parts, given.data, given.programmes)


def _add_next_state(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_next_state)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets' folders")
    parser.add_argument("--out", type=Path, help="folder of the results; by default results/next-state")
    parser.add_argument("--page", action="store_true", help="only write docs/next-state.md from the results")


def _next_state(given: argparse.Namespace) -> None:
    from reproduction.studies.next_state import page, study

    out = given.out or ROOT / "results" / "next-state"
    if given.page:
        page.write_page(out, ROOT / "docs")
        return
    study.run(given.data, out)


def _add_demo_truth(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_demo_truth)
    parser.add_argument("--out", type=Path, help="folder of the results; by default results/demo")
    parser.add_argument("--programmes", type=int, default=demo_truth.NUM_PROGRAMMES, help="how many to simulate")


def _demo_truth(given: argparse.Namespace) -> None:
    demo_truth.run(given.out or ROOT / "results" / "demo", given.programmes)


def _add_choice_by_lot(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_choice_by_lot)
    parser.add_argument("--weeks", type=int, nargs="+", default=[8, 16, 30], help="weeks seen before the lists")
    parser.add_argument("--seeds", type=int, default=5, help="simulated programmes of each number of weeks")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "choice-by-lot")


def _choice_by_lot(given: argparse.Namespace) -> None:
    from reproduction.studies import choice_by_lot

    print(choice_by_lot.run_all(given.weeks, given.seeds, given.out))
