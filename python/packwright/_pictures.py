"""A type for notebooks, as `packwright draw` draws it."""
from __future__ import annotations

import base64
import html
import subprocess
from typing import Mapping, Optional

from ._install import NotInstalled, command


def svg(text: str, name: Optional[str] = None) -> Optional[str]:
    """The picture of the type of this name in the text, or of its only one; None where the command is not there or
    cannot draw it."""
    choice = [] if name is None else [f"--name={name}"]
    try:
        program = command()
        done = subprocess.run([program, "draw", *choice, "-"], input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              encoding="utf-8", check=False)
    except (NotInstalled, OSError):
        return None
    return done.stdout if done.returncode == 0 else None


def page(picture: str, facts: Mapping[str, int]) -> str:
    """The picture with a line of facts below. As an image, its styles stay its own."""
    data = base64.b64encode(picture.encode()).decode()
    line = " · ".join(f"{html.escape(name)} {value}" for name, value in facts.items())
    return f'<img alt="the layout" style="max-width:100%" src="data:image/svg+xml;base64,{data}"/><p>{line}</p>'
