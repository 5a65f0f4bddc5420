"""`maskdiff evaluate`: how well a model tells labelled rows apart, and whether it keeps its promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, counted, percent, printable

if TYPE_CHECKING:
    from maskdiff.codes import BoolArray, FloatArray
    from maskdiff.detectors import Detector
    from maskdiff.io import RowFile


def evaluate(
    ctx: typer.Context,
    model: options.Model,
    rows: Annotated[str, typer.Argument(metavar="LABELLED", help="Rows with a column of labels; - reads a pipe.")],
    label: options.LabelColumn,
    normal: options.NormalValues = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    plot: Annotated[str | None, typer.Option(metavar="PICTURE", help="Draw both curves: .png, .svg, .pdf.")] = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = '"',
    encoding: options.Encoding = None,
    on_bad_lines: options.OnBadLines = "error",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure a model on labelled rows."""
    import numpy as np

    from maskdiff.io import check_folder, open_rows
    from maskdiff.jobs.labels import Labels
    from maskdiff.storage import load

    output: Output = ctx.obj
    if plot is not None:
        check_folder(plot)
        _pyplot()
    detector = load(model)
    detector.progress = False
    reading = options.reading_of(format, delimiter, quote, encoding, on_bad_lines)
    with open_rows(rows, reading) as file, output.progress() as progress:
        scores, odd = _scores(file, detector, Labels(label, normal or ()), progress)
    output.skipped(file.skipped)
    output.empty(empty := int(np.isnan(scores).sum()))
    rate = detector.calibration_.rate_or_default(false_alarm_rate or detector.false_alarm_rate)
    # A row without evidence is never an alarm, so it comes last.
    scores = np.where(np.isnan(scores), np.nanmin(scores, initial=np.inf) - 1, scores)
    found = measured(scores, odd, detector.threshold(rate), rate)
    if plot is not None:
        draw(scores, odd, found, plot)
    output.facts(command="evaluate", **found, empty_rows=empty, plot=plot, skipped_lines=file.skipped.lines)
    output.say(*_words(found), *([f"wrote {printable(plot)}"] if plot else []))


def _scores(file: RowFile, detector: Detector, labels: Any, progress: Any) -> tuple[FloatArray, BoolArray]:
    """The score of every labelled row, and whether it is labelled as an anomaly."""
    import numpy as np

    from maskdiff.errors import InputError
    from maskdiff.jobs import rows_for
    from maskdiff.jobs.table_rows import place_of
    from maskdiff.progress import Progress

    needed, place = rows_for(file, detector), place_of(file, labels.column)
    scores, odd, done = [np.empty(0)], [np.empty(0, dtype=np.bool_)], 0
    for batch in needed.batches():
        cells = batch.column(place)
        anomaly = labels.is_anomaly(cells)
        labelled = anomaly | labels.is_normal(cells)
        scores.append(detector.anomaly_score(needed.read(batch, done + 1))[labelled])
        odd.append(anomaly[labelled])
        done += batch.num_rows
        if progress:
            progress(Progress("scoring", done, file.n_rows or 0))
    scored, is_odd = np.concatenate(scores), np.concatenate(odd)
    labels.check_any_normal()
    if not is_odd.any():
        raise InputError(
            f"every row is normal: {labels.column!r} is always {labels.normal_names}. Anomalies are needed too."
        )
    return scored, is_odd


def measured(scores: FloatArray, odd: BoolArray, threshold: float, rate: float) -> dict[str, Any]:
    """The measures, by name."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    alarm = scores > threshold
    caught, called = int((alarm & odd).sum()), int(alarm.sum())
    return {
        "rows": len(odd),
        "anomalies": int(odd.sum()),
        "roc_auc": float(roc_auc_score(odd, scores)),
        "average_precision": float(average_precision_score(odd, scores)),
        "threshold": threshold,
        "alarms": called,
        "precision": caught / called if called else None,
        "recall": caught / int(odd.sum()),
        "false_alarm_rate_promised": rate,
        "false_alarm_rate_seen": float(alarm[~odd].mean()),
    }


def _words(found: dict[str, Any]) -> list[str]:
    precision = "no alarm" if found["precision"] is None else f"precision {percent(found['precision'])}"
    return [
        f"{counted(found['rows'], 'row')}, {counted(found['anomalies'], 'anomaly')} "
        f"({percent(found['anomalies'] / found['rows'])})",
        f"ROC-AUC            {found['roc_auc']:.4f}",
        f"average precision  {found['average_precision']:.4f}",
        f"at the threshold   {counted(found['alarms'], 'alarm')}: {precision}, recall {percent(found['recall'])}",
        f"false alarms       {percent(found['false_alarm_rate_seen'])} of normal rows, "
        f"{percent(found['false_alarm_rate_promised'])} promised",
    ]


def _pyplot() -> Any:
    from maskdiff.errors import MissingExtraError

    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("figures", needs="matplotlib") from error
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot


def draw(scores: FloatArray, odd: BoolArray, found: dict[str, Any], path: str) -> None:
    """Both curves, with the threshold marked on each."""
    from sklearn.metrics import precision_recall_curve, roc_curve

    from maskdiff.errors import SettingError
    from maskdiff.io import open_output

    pyplot = _pyplot()
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    false_alarms, recall, _ = roc_curve(odd, scores)
    left.plot(false_alarms, recall, color="tab:blue")
    left.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    left.plot(found["false_alarm_rate_seen"], found["recall"], "o", color="tab:red", label="at the threshold")
    left.set(title=f"ROC-AUC {found['roc_auc']:.3f}", xlabel="false-alarm rate", ylabel="anomalies caught")
    precision, recall, _ = precision_recall_curve(odd, scores)
    right.step(recall, precision, where="post", color="tab:blue")
    if found["precision"] is not None:
        right.plot(found["recall"], found["precision"], "o", color="tab:red", label="at the threshold")
    title = f"average precision {found['average_precision']:.3f}"
    right.set(title=title, xlabel="anomalies caught (recall)", ylabel="precision", ylim=(0, 1.05))
    left.legend(loc="lower right", frameon=False)
    kind = path.rpartition(".")[2].lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise SettingError(f"a picture cannot be written as {kind!r}; name it .png, .svg or .pdf.")
    with open_output(path) as file:
        figure.savefig(file, format=kind)
    pyplot.close(figure)
