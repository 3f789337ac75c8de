"""The exceptions armwise raises: one small tree, so that callers can catch as widely or narrowly as they need."""

from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """What the command line returns to the shell; ``docs/data-format.md`` lists them for scripts."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    INVALID_INPUT = 3
    OUTAGE = 4
    NOT_WRITTEN = 5
    NOT_VERIFIED = 6
    INTERRUPTED = 130


class ArmwiseError(Exception):
    """Anything armwise itself complains about; catch this to catch them all."""

    exit_code: ClassVar[ExitCode] = ExitCode.UNEXPECTED


class InvalidInputError(ArmwiseError, ValueError):
    """A value that armwise was given cannot be right; the message names it, its place and the remedy."""

    exit_code = ExitCode.INVALID_INPUT


class NotFittedError(InvalidInputError, AttributeError):
    """A planner was used before it learned; like scikit-learn's, it is a ValueError and an AttributeError."""


class ConvergenceError(ArmwiseError, ArithmeticError):
    """A solver has no answer to give; the message says why, with the numbers and the remedy."""


class InvalidProgrammeError(InvalidInputError):
    """A programme's files cannot be used as they are; ``report`` holds every finding, the message is all of them."""

    def __init__(self, report: Any):
        super().__init__(str(report))
        self.report = report


class OutageError(ArmwiseError):
    """The programme's last step was hardly observed, so that a plan would rest on stale states; see ``report``."""

    exit_code = ExitCode.OUTAGE

    def __init__(self, report: Any):
        super().__init__(str(report))
        self.report = report


class OutputError(ArmwiseError, OSError):
    """A result could not be written, and nothing was; the message names the path and the remedy."""

    exit_code = ExitCode.NOT_WRITTEN
