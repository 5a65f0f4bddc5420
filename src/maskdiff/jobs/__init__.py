"""Files and batches through detectors: what the command line, the report and every other door call.

score_file(detector, "new.parquet", "scored.csv", ScoreOptions(explain=3))
"""

from maskdiff.jobs.model_rows import ModelRows, rows_for
from maskdiff.jobs.report import ReportSummary, report_file
from maskdiff.jobs.score import ScoreOptions, ScoreSummary, score_batch, score_file
from maskdiff.jobs.table_rows import ModelTableRows, NormalTableRows, read_table
from maskdiff.jobs.token_rows import ModelTokenRows, NormalTokenRows

__all__ = [
    "ModelRows",
    "ModelTableRows",
    "ModelTokenRows",
    "NormalTableRows",
    "NormalTokenRows",
    "ReportSummary",
    "ScoreOptions",
    "ScoreSummary",
    "read_table",
    "report_file",
    "rows_for",
    "score_batch",
    "score_file",
]
