"""A type for notebooks, as `packwright draw` draws it."""
from __future__ import annotations

import base64
import html
import subprocess
from typing import Mapping, Optional

from ._install import NotInstalled, command


def svg(text: str) -> Optional[str]:
    """The picture of a type; None where the command is not there or cannot draw it."""
    try:
        program = command()
        done = subprocess.run([program, "draw", "-"], input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              encoding="utf-8", check=False)
    except (NotInstalled, OSError):
        return None
    return done.stdout if done.returncode == 0 else None


def page(picture: str, facts: Mapping[str, int]) -> str:
    """The picture with a line of facts below. As an image, its styles stay its own."""
    data = base64.b64encode(picture.encode()).decode()
    line = " · ".join(f"{html.escape(name)} {value}" for name, value in facts.items())
    return f'<img alt="the layout" src="data:image/svg+xml;base64,{data}"/><p>{line}</p>'
