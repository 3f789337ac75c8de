"""End a command at once on Ctrl-C, at any point."""

import os

SHOW_CURSOR = b"\x1b[?25h"


def quit_at_once(*_: object) -> None:
    """Print a message and end the process, without a KeyboardInterrupt.

    A KeyboardInterrupt is not safe here. While JAX is imported it may crash the process; during garbage collection
    Python prints it and goes on. There is nothing to clean up: results appear whole or not at all, and the next run
    removes what remains of a half-written result.
    """
    # A progress bar hides the cursor.
    os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + b"\nInterrupted; nothing was left half-written.\n")
    os._exit(130)
