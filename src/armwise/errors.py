"""The exceptions armwise raises: one small tree, so that callers can catch as widely or narrowly as they need."""


class ArmwiseError(Exception):
    """Anything armwise itself complains about; catch this to catch them all."""


class InvalidInputError(ArmwiseError, ValueError):
    """A value that armwise was given cannot be right; the message names it, its place and the remedy."""


class ConvergenceError(ArmwiseError, ArithmeticError):
    """A solver has no answer to give; the message says why, with the numbers and the remedy."""
