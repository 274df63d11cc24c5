# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the site of the pages into ``out/site``: ``make docs``.

The site's pages are those that are read on the project's page: every Markdown file, in its place,
with the files that they link to. So the same links lead somewhere in both, and MkDocs, told to be
strict, fails where one does not.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "out" / "site-source"
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
NOT_PAGES = (".github", ".venv", "target", "out")


def pages() -> list[Path]:
    """The Markdown files of the project."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.md"))
    return sorted(page for page in found if not set(page.parts) & set(NOT_PAGES))


def linked(page: Path) -> list[Path]:
    """The files, other than pages, that a page links to."""
    targets = LINK.findall(FENCED.sub("", (ROOT / page).read_text(encoding="utf-8")))
    local = [t for t in targets if not re.match(r"[a-z]+:", t)]
    files = [(ROOT / page.parent / target).resolve() for target in local]
    return [f.relative_to(ROOT) for f in files if f.is_file() and f.suffix != ".md"]


def main() -> int:
    """Lays the pages out and builds the site; returns the exit status of MkDocs."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for page in pages():
        for file in (page, *linked(page)):
            (SOURCE / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, SOURCE / file)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
