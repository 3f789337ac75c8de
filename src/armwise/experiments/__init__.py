"""The paper's tables and figures, and how much its silences matter: protocol, jobs, results, summaries, figures."""

from armwise.experiments.domains import DOMAINS, available_domains, load_domain, make_domain, save_domain
from armwise.experiments.jobs import run_job
from armwise.experiments.protocol import LOSSES, MODELS, PAPER_PROTOCOL, QUICK_PROTOCOL, LossFamily, Protocol
from armwise.experiments.results import HistoryRow, IndexRow, RunRow, read_folder, read_rows, write_rows
from armwise.experiments.rows import Job

__all__ = [
    "DOMAINS",
    "LOSSES",
    "MODELS",
    "PAPER_PROTOCOL",
    "QUICK_PROTOCOL",
    "HistoryRow",
    "IndexRow",
    "Job",
    "LossFamily",
    "Protocol",
    "RunRow",
    "available_domains",
    "load_domain",
    "make_domain",
    "read_folder",
    "read_rows",
    "run_job",
    "save_domain",
    "write_rows",
]
