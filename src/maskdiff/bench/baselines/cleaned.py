"""Texts as CVDD and FATE are given them: their authors' code keeps only longer words that carry a meaning."""

from __future__ import annotations

import re
import string

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

SHORTEST = 3
_PUNCTUATION = str.maketrans(string.punctuation, " " * len(string.punctuation))


def cleaned(text: str) -> str:
    """The words of a text in lower case, without digits, stop words and words of less than three letters.

    The authors take NLTK's list of stop words; this is scikit-learn's.

    >>> cleaned("WINNER!! You have won 2 tickets, call 0800-WIN now")
    'winner won tickets win'
    """
    words = re.sub(r"\d+", "", text.lower().translate(_PUNCTUATION)).split()
    return " ".join(word for word in words if len(word) >= SHORTEST and word not in ENGLISH_STOP_WORDS)
