"""The gallery of the guide: runs the examples that draw, and writes their pictures and the page.

python tools/draw_gallery.py            # all; or the names of some: python tools/draw_gallery.py levels
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, GALLERY, PAGE = ROOT / "examples", ROOT / "docs" / "gallery", ROOT / "docs" / "gallery.md"
HEAD = """# Gallery

<!-- Written from the examples by `python tools/draw_gallery.py`. Do not edit. -->

Short scripts with their pictures, on data that is made up on the spot. Each runs in seconds:
`python examples/NAME.py picture.svg`.
"""


def drawing() -> list[Path]:
    """The examples that draw a picture, in the order of their names."""
    return [path for path in sorted(EXAMPLES.glob("*.py")) if "def main(picture" in path.read_text()]


def page() -> str:
    """The page: of each example its first sentence, its picture, what it says about it, and its code."""
    return "\n".join([HEAD, *map(_section, drawing())])


def _section(path: Path) -> str:
    title, _, text = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")
    code = "\n".join(f"    {line}".rstrip() for line in path.read_text().splitlines())
    return (
        f"## {title.rstrip('.')}\n\n![{title}](gallery/{path.stem}.svg)\n\n{text}\n\n"
        f'??? example "examples/{path.name}"\n\n    ```py\n{code}\n    ```\n'
    )


def draw(path: Path) -> None:
    """One picture, with texts as texts and without a date, so that drawing it again changes little."""
    settings = "import matplotlib as m; m.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'maskdiff'})"
    run = f"{settings}; import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    out = GALLERY / f"{path.stem}.svg"
    env = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    subprocess.run([sys.executable, "-c", run, str(path), str(out)], check=True, env=env)


def main(names: list[str]) -> None:
    for path in drawing():
        if not names or path.stem in names:
            draw(path)
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
