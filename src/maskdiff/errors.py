"""Everything maskdiff raises or warns about on purpose.

MaskdiffError
├── InputError (ValueError)          the data handed in cannot be used as it is
│   ├── EmptyTableError              no rows, or no columns
│   ├── ColumnError                  one column, named, is the problem
│   │   ├── UnknownColumnError       a column is missing, extra or named twice
│   │   └── ColumnTypeError          its values are of a kind it cannot be read as
│   └── BadLineError                 a line of a file cannot be read
├── SettingError (ValueError)        a setting that makes no sense
├── CalibrationError (ValueError)    a rate finer than the calibration rows allow
├── DataNotFoundError (FileNotFoundError)  a data set's file is not in the folder named
├── ModelFileError (ValueError)      not a model file, damaged, or from a newer version
└── MissingExtraError (ImportError)  an optional dependency is not installed

MaskdiffWarning (UserWarning)
├── LeftOutWarning                   columns that were left out, and why
├── NearIdWarning                    columns of which only the values that repeat are distinguished
├── TextColumnWarning                columns of sentences, which are read as text
├── DateOrderWarning                 dates whose day and month cannot be distinguished, and which order was taken
├── IgnoredLabelsWarning             labels of anomalies that were handed in and not used
├── AmbiguousColumnWarning           texts of a column that could have been read otherwise
├── CoarserRateWarning               fewer rows calibrate after an update than before it
├── OrderWarning                     rows without a date or number to be ordered by
├── ReadingWarning                   how a file was read where it is not the usual way
├── TruncatedWarning                 texts that were cut off, as the preset of the paper does
└── NoEvidenceWarning                rows of tokens without a single token, which cannot be judged
"""


class MaskdiffError(Exception):
    """Base of every error maskdiff raises on purpose.

    `setting` names the setting that is the way out, if there is one, so that a door can say how it is given there.
    """

    def __init__(self, *args: object, setting: str | None = None) -> None:
        super().__init__(*args)
        self.setting = setting


class InputError(MaskdiffError, ValueError):
    """The data handed in cannot be used as it is."""


class EmptyTableError(InputError):
    """No rows, or no columns, to work with."""


class ColumnError(InputError):
    """One column, named in the message, is the problem."""


class UnknownColumnError(ColumnError):
    """A column is missing, not expected, or named twice."""


class ColumnTypeError(ColumnError):
    """A column's values are of a kind it cannot be read as."""


class BadLineError(InputError):
    """A line of a file cannot be read."""


class SettingError(MaskdiffError, ValueError):
    """A setting that makes no sense."""


class CalibrationError(MaskdiffError, ValueError):
    """A false-alarm rate finer than the calibration rows allow."""


class DataNotFoundError(MaskdiffError, FileNotFoundError):
    """A data set's file is not in the folder that was named."""


class ModelFileError(MaskdiffError, ValueError):
    """Not a model file, a damaged one, or one from a newer version."""


class MissingExtraError(MaskdiffError, ImportError):
    """An optional dependency is not installed.

    >>> raise MissingExtraError("figures", needs="matplotlib")
    Traceback (most recent call last):
        ...
    maskdiff.errors.MissingExtraError: this needs matplotlib: pip install "maskdiff[figures]"
    """

    def __init__(self, extra: str, *, needs: str) -> None:
        super().__init__(f'this needs {needs}: pip install "maskdiff[{extra}]"')


class MaskdiffWarning(UserWarning):
    """Base of every warning maskdiff gives on purpose; `setting` is as in `MaskdiffError`."""

    def __init__(self, *args: object, setting: str | None = None) -> None:
        super().__init__(*args)
        self.setting = setting


class LeftOutWarning(MaskdiffWarning):
    """Columns that were left out of the model, and why."""


class DateOrderWarning(MaskdiffWarning):
    """Dates that fit both day/month/year and month/day/year, and which of them was taken."""


class IgnoredLabelsWarning(MaskdiffWarning):
    """Labels name anomalies among the rows to learn from, and are not used."""


class AmbiguousColumnWarning(MaskdiffWarning):
    """The texts of a column can be read in two ways; which one was taken, and how to take the other."""


class NearIdWarning(MaskdiffWarning):
    """Columns that nearly name the rows, such as customer numbers: only their values that repeat are distinguished."""


class TextColumnWarning(MaskdiffWarning):
    """Columns of sentences, which are read as text."""


class CoarserRateWarning(MaskdiffWarning):
    """Fewer rows calibrate than before, so that only a higher false-alarm rate can be promised."""


class TruncatedWarning(MaskdiffWarning):
    """Texts with more tokens than are read."""


class NoEvidenceWarning(MaskdiffWarning):
    """Rows without a single token: there is nothing to judge them by."""


class OrderWarning(MaskdiffWarning):
    """Rows that have no date or number to be ordered by."""


class ReadingWarning(MaskdiffWarning):
    """How a file was read, where that is not the usual way."""
