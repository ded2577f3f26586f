"""``python -m packwright`` and the console script: becomes the ``packwright`` command."""
import os
import sys

from ._install import NotInstalled, command


def main() -> None:
    try:
        path = command()
    except NotInstalled as error:
        sys.exit(f"packwright: {error}")
    os.execv(path, [str(path), *sys.argv[1:]])


if __name__ == "__main__":
    main()
