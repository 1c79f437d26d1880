"""The links of Markdown files, and where they lead."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from places import ROOT

HERE = "https://github.com/kanon-sql/kanon-sql/blob/main/"
"""How a file of the repository is linked from outside."""
_CODE = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1 *$", re.MULTILINE | re.DOTALL)
_TITLE = r"""(?:\s+(?:"[^"]*"|'[^']*'))?\s*"""
"""What may follow the target of a link."""


def tracked(suffix: str = "") -> list[str]:
    """The files of the repository, also those to be added, by their paths; without git, all."""
    try:
        told = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        found = {str(each.relative_to(ROOT)) for each in ROOT.rglob("*") if not _is_left(each)}
    else:
        found = set(told.stdout.split("\0"))
    return sorted(
        each for each in found if each and each.endswith(suffix) and (ROOT / each).is_file()
    )


def _is_left(file: Path) -> bool:
    """Whether a file was left by a tool."""
    parts = set(file.relative_to(ROOT).parts)
    return bool(parts & {".git", ".venv", "__pycache__", "build", "dist", ".hypothesis"}) or any(
        part.endswith(("_cache", ".egg-info")) for part in parts
    )


def broken_links(file: Path, text: str) -> list[str]:
    """The links of a Markdown text that lead nowhere in the repository, and the reference links
    without a definition."""
    return [*(link for link in links(text) if not _is_there(link, file)), *undefined(text)]


def undefined(text: str) -> list[str]:
    """The labels of reference links, as in `[text][label]`, that no line defines."""
    prose = _prose(text)
    defined = {label.casefold() for label in re.findall(r"^ *\[([^\]]+)\]: ", prose, re.MULTILINE)}
    used = re.findall(r"\[([^\[\]]+)\]\[([^\[\]]*)\]", prose)
    labels = (label or words for words, label in used)
    return [label for label in labels if " ".join(label.split()).casefold() not in defined]


def _is_there(link: str, file: Path) -> bool:
    path, _, anchor = link.removeprefix(HERE).partition("#")
    if "://" in path or path.startswith("mailto:"):
        return True
    folder = ROOT if link.startswith(HERE) else file.parent
    target = (folder / path).resolve() if path else file
    if not (target.is_relative_to(ROOT) and target.exists()):
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target.read_text("utf-8")))


def links(text: str) -> list[str]:
    """The targets of all links and images, of reference links and of HTML."""
    prose = _prose(text)
    inline = re.findall(rf"\]\(<?([^)\s>]+)>?{_TITLE}\)", prose)
    references = re.findall(rf"^ *\[[^\]]+\]: *<?([^\s>]+)>?{_TITLE}$", prose, re.MULTILINE)
    return [*inline, *references, *re.findall(r"\b(?:href|src)=\"([^\"]+)\"", prose)]


def _prose(text: str) -> str:
    """The text without code."""
    return re.sub(r"`[^`\n]*`", "", _CODE.sub("", text))


def anchors(text: str) -> set[str]:
    """The anchors that a code host gives to headings, and those of HTML."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+?) *#*$", _CODE.sub("", text), re.MULTILINE):
        words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return {*found, *re.findall(r"\b(?:id|name)=\"([^\"]+)\"", text)}
