"""Which cells of a table are wrong.

Orders in which the city decides the country and the currency. Some cells are replaced; the picture shows how odd every
cell is, given the rest of its row. A small network is trained for a moment.
"""

import sys

import numpy as np
import pandas as pd

import maskdiff
from maskdiff.plot import new_figure

COUNTRY = {"Berlin": "DE", "Leipzig": "DE", "London": "GB", "Leeds": "GB", "Oslo": "NO", "Bergen": "NO"}
CURRENCY = {"DE": "EUR", "GB": "GBP", "NO": "NOK"}
PLANTED = {(1, "currency"): "NOK", (4, "paid_by"): "crad", (7, "amount"): 99999.0, (9, "country"): "FR"}


def make_orders(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    city = pd.Series(rng.choice(list(COUNTRY), n))
    country = city.map(COUNTRY)
    orders = pd.DataFrame({"city": city, "country": country, "currency": country.map(CURRENCY)})
    return orders.assign(paid_by=rng.choice(["card", "cash"], n), amount=rng.lognormal(4, 0.5, n).round(2))


def main(picture: str | None = None) -> None:
    new = make_orders(12, seed=1)
    for (row, column), value in PLANTED.items():
        new.loc[row, column] = value
    network = maskdiff.MLPReconstructor(width=64, training=maskdiff.Training(maskdiff.Steps(300)))
    detector = maskdiff.TableDetector(network, seed=0, progress=False).fit(make_orders(3000, seed=0))
    oddness = detector.judge(new).cells.oddness
    print(detector.odd_cells(new)[["row", "column", "value", "expected"]].to_string(index=False))

    figure = new_figure((5.6, 4))
    axes = figure.subplots()
    axes.imshow(np.clip(oddness, 0, 12), cmap="Reds", aspect="auto")
    axes.set(xticks=range(5), xticklabels=new.columns, yticks=[])
    for row in range(len(new)):
        for place, column in enumerate(new.columns):
            color = "white" if oddness[row, place] > 6 else "black"
            axes.text(place, row, str(new.loc[row, column]), ha="center", va="center", fontsize=8, color=color)
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
