"""Build entry point; the metadata is in setup.cfg, but for the long description, whose links would lead nowhere."""

import re
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"\[([^\]\n]*(?:\n[^\]\n]*)?)\]\((?![a-z]+:)([^)]+)\)")


def without_links(text: str) -> str:
    """Return the README for readers who have only the text: links to files of the checkout become their names."""

    def name(link: re.Match[str]) -> str:
        said, target = link.groups()
        return f"`{target}`" if said.strip("`") == target else f"{said} (`{target}`)"

    return LINK.sub(name, text)


if __name__ == "__main__":
    readme = (Path(__file__).resolve().parent / "README.md").read_text(encoding="utf-8")
    setup(long_description=without_links(readme), long_description_content_type="text/markdown")
