"""Every way of being wrong that the tests try."""

import os

from tests.programme.cases import CALLS, Case
from tests.programme.wrong_cells import ENGAGEMENTS, IDS, OTHERS, STATES_AND_WEEKS, TIMES
from tests.programme.wrong_files import PARQUETS, WORKBOOKS, WRONG_FILES
from tests.programme.wrong_settings import SETTINGS

CASES = [
    *SETTINGS,
    *WRONG_FILES,
    *WORKBOOKS,
    *PARQUETS,
    *IDS,
    *TIMES,
    *ENGAGEMENTS,
    *STATES_AND_WEEKS,
    *OTHERS,
]
# Rights do not stop the superuser, as whom containers run.
if os.name == "posix" and os.geteuid() != 0:
    CASES.append(
        Case("no right to read", lambda folder: (folder / CALLS).chmod(0), "file-unreadable", CALLS, None, "rights")
    )
