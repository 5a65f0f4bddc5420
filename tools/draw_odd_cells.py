"""The picture on the first page of the guide: orders, scored, with their odd cells shaded.

    python tools/draw_odd_cells.py docs/images/odd-cells.svg

Drawn from what a detector says about rows that were made up here, as plain SVG.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

import maskdiff
from maskdiff.jobs.verdict_columns import reason

COUNTRY = {"Berlin": "DE", "Leipzig": "DE", "London": "GB", "Leeds": "GB", "Oslo": "NO", "Bergen": "NO"}
CURRENCY = {"DE": "EUR", "GB": "GBP", "NO": "NOK"}
WIDTHS = {"city": 90, "country": 76, "currency": 84, "paid_by": 84, "amount": 92}
LEFT, TOP, LINE, SCORE, REASON = 16, 66, 34, 96, 580


def make_orders(n: int, seed: int) -> pd.DataFrame:
    """Orders in which the city decides the country, and the country the currency."""
    rng = np.random.default_rng(seed)
    city = pd.Series(rng.choice(list(COUNTRY), n))
    country = city.map(COUNTRY)
    return pd.DataFrame(
        {
            "city": city,
            "country": country,
            "currency": country.map(CURRENCY),
            "paid_by": rng.choice(["card", "transfer", "cash"], n),
            "amount": rng.lognormal(4, 0.5, n).round(2),
        }
    )


def spoiled_orders() -> pd.DataFrame:
    """Seven orders, three of which are odd: a contradiction, a typo, an impossible amount."""
    rows = make_orders(7, seed=1)
    rows.loc[1, ["city", "country", "currency"]] = ["London", "GB", "NOK"]
    rows.loc[3, "paid_by"] = "crad"
    rows.loc[5, "amount"] = 99999.0
    return rows


def draw(rows: pd.DataFrame, detector: maskdiff.TableDetector) -> str:
    """One line for each row: a bar for its score, its cells, and for alarms the first reason."""
    verdicts = detector.judge(rows, false_alarm_rate=0.01)
    reasons = detector.explain(rows, top=1, verdicts=verdicts)
    highest = verdicts.anomaly_score.max()
    parts = [_head()]
    for number, row in rows.iterrows():
        y = TOP + LINE * (int(number) + 1)
        alarm = bool(verdicts.is_anomaly[number])
        cell = reasons.iloc[int(number)]
        bar = max(3, round(80 * verdicts.anomaly_score[number] / highest))
        parts.append(f'<rect class="{"alarm" if alarm else "bar"}" x="{LEFT}" y="{y - 17}" width="{bar}" height="12"/>')
        parts.append(_cells(row, y, [alarm and name == cell["column"] for name in WIDTHS]))
        if alarm:
            parts.append(_text(sum(WIDTHS.values()) + LEFT + SCORE + 12, y, reason(cell), "why"))
    width, height = LEFT + SCORE + sum(WIDTHS.values()) + REASON, TOP + LINE * (len(rows) + 1)
    view = f'viewBox="0 0 {width} {height}" role="img"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {view}>', STYLE, *parts, "</svg>\n"])


STYLE = """<style>
text { font: 15px system-ui, sans-serif; fill: #1f2937 }
.head { font-weight: 600; fill: #6b7280 } .why { fill: #b91c1c } .sheet { fill: #ffffff }
.bar { fill: #c7d2fe } .alarm { fill: #dc2626 } .odd { fill: #fecaca } .grid { stroke: #e5e7eb }
</style>
<rect class="sheet" width="100%" height="100%"/>"""


def _head() -> str:
    x = LEFT + SCORE
    names = [_text(LEFT, TOP, "score", "head")]
    for name, width in WIDTHS.items():
        names.append(_text(x, TOP, name, "head"))
        x += width
    names.append(_text(x + 12, TOP, "why", "head"))
    title = _text(LEFT, 28, "Seven new orders, judged by what 3,000 normal ones look like", "head")
    return "\n".join([title, *names])


def _cells(row: pd.Series, y: int, odd: list[bool]) -> str:
    parts, x = [], LEFT + SCORE
    for (name, width), is_odd in zip(WIDTHS.items(), odd, strict=True):
        if is_odd:
            parts.append(f'<rect class="odd" x="{x - 8}" y="{y - 22}" width="{width - 6}" height="28" rx="4"/>')
        parts.append(_text(x, y, f"{row[name]:.2f}" if name == "amount" else row[name]))
        x += width
    parts.append(f'<path class="grid" d="M{LEFT} {y + 10}H{x}"/>')
    return "\n".join(parts)


def _text(x: int, y: int, text: str, style: str = "") -> str:
    return f'<text x="{x}" y="{y}"{f" class={style!r}" if style else ""}>{escape(text)}</text>'


def main(out: str) -> None:
    network = maskdiff.MLPReconstructor(width=64, training=maskdiff.Training(maskdiff.Steps(300)))
    detector = maskdiff.TableDetector(network, progress=False).fit(make_orders(3000, seed=0))
    Path(out).write_text(draw(spoiled_orders(), detector))


if __name__ == "__main__":
    main(sys.argv[1])
