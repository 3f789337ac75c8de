"""The files that a result is made from. Their hashes are recorded, and no output may replace one of them."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from armwise.errors import OutputError
from armwise.io.reading import PathLike
from armwise.io.writing import check_writable
from armwise.programme.findings import Findings
from armwise.programme.settings_file import draft_programme

# Endings of the files of a programme. An existing file with one of them is only replaced by a file of the same kind.
KNOWN_ENDINGS = frozenset(
    (".toml", ".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".xls", ".parquet", ".json", ".html", ".htm", ".armwise")
)


class Input(NamedTuple):
    """The name of a file and the SHA-256 of the bytes that were read."""

    file: str
    sha256: str

    @classmethod
    def of(cls, path: PathLike, content: bytes) -> "Input":
        """The file that had this content when it was read."""
        return cls(Path(path).name, hashlib.sha256(content).hexdigest())


def check_output(
    output: PathLike, programme: PathLike, others: Iterable[PathLike], endings: Sequence[str], *, dry_run: bool = False
) -> None:
    """Refuse an output that cannot or must not be written, before any work is done for it.

    Args:
        output: the file to be written.
        programme: the path of ``programme.toml``; it and its tables are never replaced.
        others: further files that must not be replaced.
        endings: the endings of the kind of file to be written; an existing file of another known kind is not replaced.
        dry_run: whether nothing will be written; then the folder need not be writable.
    """
    # These findings are dropped: the settings are read again later, and problems are reported then.
    draft = draft_programme(Path(programme), Findings())
    sections = () if draft is None else (draft.beneficiaries, draft.engagement, draft.interventions)
    tables = [section.source.path for section in sections if section is not None]
    refuse_inputs(output, [programme, *tables, *others])
    ending = Path(output).suffix.lower()
    if os.path.lexists(output) and ending in KNOWN_ENDINGS - set(endings):
        kind = " or ".join(endings)
        raise OutputError(f"{output} exists, and its name is not that of a {kind} file. Give another name.")
    if not dry_run:
        check_writable(output)


def refuse_inputs(output: PathLike, inputs: Iterable[PathLike]) -> None:
    """Refuse an output that is one of the input files, also under another name or by a link."""
    for path in inputs:
        if _is_same(output, path):
            raise OutputError(
                f"{output} is a file that the result is made from ({path}), and nothing was written. Give the output "
                "another name."
            )


def _is_same(first: PathLike, second: PathLike) -> bool:
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    try:
        return os.path.samefile(first, second)
    except OSError:  # one of them does not exist
        return False
