"""``python -m armwise`` is the command ``armwise``."""

from armwise.cli import app

if __name__ == "__main__":
    app()
