"""Files and batches through detectors: what the command line, the report and every other door call.

    find_file("claims.csv", "found.csv")               # nobody knows which rows are normal
    detector = fit_file("normal.csv", "claims.maskdiff")
    score_file(detector, "new.parquet", "scored.csv", ScoreOptions(explain=3))
    score_batch(detector, batch)                       # the same for rows in memory
    explain_rows(detector, "new.csv", row=17)
    evaluate_file(detector, "labelled.csv", "is_odd").roc_auc
    report_file(detector, "new.csv", "report.html")
    suggest_file(detector, "new.csv", "fixed.csv", changes="changes.csv")
    dismiss_rows("claims.maskdiff", "scored.csv", row=17)

Wherever a detector is taken, so is the path of its file.
"""

from maskdiff.jobs.cells import OddCellCounts
from maskdiff.jobs.checkpoint import Checkpoint, Checkpoints
from maskdiff.jobs.curves import check_picture, draw_curves
from maskdiff.jobs.describe import describe_model
from maskdiff.jobs.dismiss import DismissedRow, dismiss_rows, undo_dismissal
from maskdiff.jobs.evaluate import Evaluation, evaluate_file
from maskdiff.jobs.explain import RowExplanation, explain_batch, explain_rows
from maskdiff.jobs.find import find_file
from maskdiff.jobs.fit import FitSummary, fit_file, fit_summary
from maskdiff.jobs.fit_settings import ColumnOptions, DetectorSettings
from maskdiff.jobs.found_rows import FindOutput, FindSummary
from maskdiff.jobs.preview import FilePreview, preview_file
from maskdiff.jobs.report import ReportSummary, report_file
from maskdiff.jobs.rows.labels import Labels
from maskdiff.jobs.rows.model import ModelRows, rows_for
from maskdiff.jobs.rows.table import ModelTableRows, NormalTableRows, read_table
from maskdiff.jobs.rows.tokens import ModelTokenRows, NormalTokenRows
from maskdiff.jobs.score import ScoreOptions, ScoreSummary, score_batch, score_file
from maskdiff.jobs.suggest import SuggestSummary, suggest_file
from maskdiff.jobs.update import update_file
from maskdiff.jobs.view import view_file

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "ColumnOptions",
    "DetectorSettings",
    "DismissedRow",
    "Evaluation",
    "FilePreview",
    "FindOutput",
    "FindSummary",
    "FitSummary",
    "Labels",
    "ModelRows",
    "ModelTableRows",
    "ModelTokenRows",
    "NormalTableRows",
    "NormalTokenRows",
    "OddCellCounts",
    "ReportSummary",
    "RowExplanation",
    "ScoreOptions",
    "ScoreSummary",
    "SuggestSummary",
    "check_picture",
    "describe_model",
    "dismiss_rows",
    "draw_curves",
    "evaluate_file",
    "explain_batch",
    "explain_rows",
    "find_file",
    "fit_file",
    "fit_summary",
    "preview_file",
    "read_table",
    "report_file",
    "rows_for",
    "score_batch",
    "score_file",
    "suggest_file",
    "undo_dismissal",
    "update_file",
    "view_file",
]
