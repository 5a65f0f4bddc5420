"""The curves of an evaluation as a picture; needs the extra `figures`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

from maskdiff.checks import LEARNED_FROM
from maskdiff.errors import MissingExtraError, SettingError
from maskdiff.io.atomic import atomic_write
from maskdiff.io.outputs import FileContent, check_output

if TYPE_CHECKING:
    from maskdiff.jobs.evaluate import Evaluation

# The first bytes of PNG, PDF, PostScript, JPEG, TIFF and WebP; SVG is a text.
_MAGIC = (b"\x89PNG", b"%PDF", b"%!PS", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"RIFF")


def _is_picture(file: BinaryIO) -> bool:
    head = file.read(1000)
    return head.startswith(_MAGIC) or (head.lstrip().startswith((b"<?xml", b"<svg")) and b"<svg" in head)


PICTURE = FileContent("a picture", _is_picture)


def check_picture(path: str, inputs: Iterable[str | None] = (), *, force: bool = False) -> str:
    """Refuse, before any work is done, a picture that could not be drawn or would replace something else; its type."""
    check_output(path, inputs, PICTURE, force=force)
    ending = path.rpartition(".")[2].lower()
    _pyplot()
    from matplotlib.backend_bases import FigureCanvasBase

    if ending not in FigureCanvasBase.get_supported_filetypes():
        raise SettingError(f"a picture cannot be written as {ending!r}; name it .png, .svg or .pdf.")
    return ending


def draw_curves(evaluation: Evaluation, path: str, *, force: bool = False) -> None:
    """Draw the ROC and the precision-recall curve, with the threshold marked on each."""
    from sklearn.metrics import precision_recall_curve, roc_curve

    ending, pyplot = check_picture(path, force=force), _pyplot()
    odd, scores = evaluation.is_odd, evaluation.ranking
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    false_alarms, recall, _ = roc_curve(odd, scores)
    left.plot(false_alarms, recall, color="tab:blue")
    left.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    left.plot(evaluation.false_alarm_rate_seen, evaluation.recall, "o", color="tab:red", label="at the threshold")
    left.set(title=f"ROC-AUC {evaluation.roc_auc:.3f}", xlabel="false-alarm rate", ylabel="anomalies caught")
    precision, recall, _ = precision_recall_curve(odd, scores)
    right.step(recall, precision, where="post", color="tab:blue")
    if evaluation.precision is not None:
        right.plot(evaluation.recall, evaluation.precision, "o", color="tab:red", label="at the threshold")
    title = f"average precision {evaluation.average_precision:.3f}"
    right.set(title=title, xlabel="anomalies caught (recall)", ylabel="precision", ylim=(0, 1.05))
    if any(check.name == LEARNED_FROM for check in evaluation.checks):
        figure.suptitle("rows the model learned from: new ones are not found as well", color="tab:red")
    left.legend(loc="lower right", frameon=False)
    with atomic_write(path) as file:
        figure.savefig(file, format=ending)
    pyplot.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("figures", needs="matplotlib") from error
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot
