"""The command ``armwise``, also as ``python -m armwise``.

Almost nothing is imported before ``main`` has taken over Ctrl-C, so that an interruption in the first moments, while
Python is still loading, ends the command as quietly as a later one.
"""

import signal

from armwise.interrupts import quit_at_once


def main() -> None:
    """Run the command line."""
    # A command started in the background may have been told to ignore the signal; then it stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, quit_at_once)
    from armwise.cli import app

    app()


if __name__ == "__main__":
    main()
