"""Numbers beyond all that were seen: what they cost more, and what is said about them."""

from __future__ import annotations

import numpy as np

from maskdiff.codes import FloatArray

# As much as a probability of 1e-12 costs: even an infinite number costs no more.
MOST_EXCESS = float(-np.log(1e-12))


def excess_beyond(numbers: FloatArray, within: tuple[float, float]) -> FloatArray:
    """log(1 + distance / width of the range), in nats, shape (n,); 0 for numbers in the range, and for NaN.

    So a number just beyond costs hardly more than one that was never seen, and every step further costs more. Where all
    numbers seen are the same, the distance is relative to that number.

    >>> excess_beyond(np.array([5.0, 10.0, 20.0, -90.0, np.inf]), (0.0, 10.0)).round(2)
    array([ 0.  ,  0.  ,  0.69,  2.3 , 27.63])
    """
    # Halves of two numbers differ by a number, where they themselves may differ by more than a float can hold.
    low, high = within[0] / 2, within[1] / 2
    distance = np.maximum(np.maximum(low - numbers / 2, numbers / 2 - high), 0.0)
    with np.errstate(over="ignore"):  # it is bounded
        ratio = distance / ((high - low) or abs(high) or 1.0)
    return np.log1p(np.nan_to_num(ratio, nan=0.0)).clip(max=MOST_EXCESS)


def end_notes(numbers: FloatArray, within: tuple[float, float], ends: tuple[str, str]) -> list[str]:
    """For each number beyond the range the words for the end it is beyond; for all others nothing.

    >>> end_notes(np.array([-5.0, 5.0, 11.0]), (0.0, 10.0), ("smallest seen 0", "largest seen 10"))
    ['smallest seen 0', '', 'largest seen 10']
    """
    words = np.array(["", *ends], dtype=object)
    notes: list[str] = words[np.where(numbers < within[0], 1, np.where(numbers > within[1], 2, 0))].tolist()
    return notes
