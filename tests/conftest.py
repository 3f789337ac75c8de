"""Settings every test runs under: float64, explicit broadcasting, reproducible hypothesis examples.

Warnings are errors (``pyproject.toml``); ``make test-all`` also checks array shapes at run time. Tests that must see
what a user sees, float32 and JAX's own defaults, ask for the ``user_precision`` fixture.

There are two tiers: ``make test`` leaves out what carries the marker ``exhaustive`` (``tests/tiers.py`` says what that
is, and why); ``make test-all`` runs everything.
"""

import os
from collections.abc import Iterator
from pathlib import Path

# One compilation cache for all worker processes, all commands that tests start, and the next run.
# JAX reads these when it is imported.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax
import numpy as np
import pytest
from hypothesis import settings

from tests.tiers import is_exhaustive

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

# Compilation makes the first example slow, so no deadline; derandomised, so that a failure is the same for everyone.
settings.register_profile("exhaustive", deadline=None, derandomize=True, max_examples=50, print_blob=False)
settings.register_profile("quick", settings.get_profile("exhaustive"), max_examples=10)


def pytest_configure(config: pytest.Config) -> None:
    """The quick tier tries fewer examples of each property."""
    quick = config.getoption("markexpr") == "not exhaustive"
    settings.load_profile("quick" if quick else "exhaustive")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the marker of the exhaustive tier."""
    for item in items:
        if is_exhaustive(item):
            item.add_marker(pytest.mark.exhaustive)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """In CI nothing is skipped but what needs a GPU: a missing browser, compiler or data set is a failure there."""
    report: pytest.TestReport = (yield).get_result()
    if (
        os.environ.get("CI")
        and report.skipped
        and not hasattr(report, "wasxfail")
        and "GPU" not in str(report.longrepr)
    ):
        report.outcome, report.longrepr = "failed", f"Skipped in CI: {report.longrepr}"


@pytest.fixture(scope="module", autouse=True)
def forget_compiled_programs() -> Iterator[None]:
    """A process that kept the whole suite's programs was aborted while it compiled one more."""
    yield
    jax.clear_caches()


@pytest.fixture
def user_precision() -> Iterator[None]:
    """Run the test in float32, as armwise runs for its users."""
    with jax.enable_x64(False):
        yield


@pytest.fixture(params=["auto", "reference"], ids=["native", "jax"])
def backend(request: pytest.FixtureRequest) -> str:
    """Run the test with the native kernel where it serves, and once more with the reference alone."""
    from armwise import native  # not above: the shape checks are put into what is imported after this file

    if request.param == "auto" and not native.compile_kernel(np.dtype("float64"), 2, 4):
        pytest.skip("needs a C++ compiler, and ARMWISE_NATIVE not to be 0")
    return request.param


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A random generator seeded by the test's own name: stable, and different for every test."""
    return np.random.default_rng(list(request.node.name.encode()))
