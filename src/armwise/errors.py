"""The exceptions that armwise raises: one small tree, so that callers can catch one kind or all of them."""

from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """The exit codes of the command line; ``docs/data-format.md`` lists them for scripts."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    INVALID_INPUT = 3
    OUTAGE = 4
    NOT_WRITTEN = 5
    NOT_VERIFIED = 6
    INTERRUPTED = 130


class ArmwiseError(Exception):
    """The base class of all errors that armwise raises; catch this to catch them all."""

    exit_code: ClassVar[ExitCode] = ExitCode.UNEXPECTED


class InvalidInputError(ArmwiseError, ValueError):
    """An input value cannot be right; the message gives the value, its place and the remedy."""

    exit_code = ExitCode.INVALID_INPUT


class NotFittedError(InvalidInputError, AttributeError):
    """A planner was used before it was fitted; like scikit-learn's error, a ValueError and an AttributeError."""


class ConvergenceError(ArmwiseError, ArithmeticError):
    """A solver found no answer; the message says why, with the numbers and the remedy."""


class InvalidProgrammeError(InvalidInputError):
    """A programme's files cannot be used as they are; ``report`` and the message hold every finding."""

    def __init__(self, report: Any):
        super().__init__(str(report))
        self.report = report


class OutageError(ArmwiseError):
    """The programme's last step was hardly observed, so a plan would use old states; see ``report``."""

    exit_code = ExitCode.OUTAGE

    def __init__(self, report: Any):
        super().__init__(str(report))
        self.report = report


class OutputError(ArmwiseError, OSError):
    """A result could not be written, so nothing was written; the message names the path and the remedy."""

    exit_code = ExitCode.NOT_WRITTEN
