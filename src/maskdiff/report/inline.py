"""The report within a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class InlineReport:
    """A report page that notebooks show in a frame of this height in pixels; `html` is the page itself."""

    html: str
    height: int = 800

    def __repr__(self) -> str:
        return f"InlineReport({len(self.html):,} characters of HTML, height={self.height})"

    def _repr_html_(self) -> str:
        # A frame of its own: the styles and scripts of page and notebook do not meet. Half of a surrogate pair, which a
        # cell may hold, could not be sent to the browser.
        page = self.html.encode("utf-8", "backslashreplace").decode()
        return (
            f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{int(self.height)}px;border:0" title="report"></iframe>'
        )
