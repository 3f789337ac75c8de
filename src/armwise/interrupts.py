"""Ctrl-C ends a command at once, wherever it is."""

import os

SHOW_CURSOR = b"\x1b[?25h"


def quit_at_once(*_: object) -> None:
    """Say so and end, without Python's own way of ending.

    A KeyboardInterrupt is not safe here: raised while JAX is imported it may crash the process, and raised while
    garbage is collected it is printed and forgotten. Nothing needs to be tidied up: results appear whole or not at all,
    and what is left of one that was being written, the next run removes.
    """
    # A progress bar hides the cursor.
    os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + b"\nInterrupted; nothing was left half-written.\n")
    os._exit(130)
