"""Started as a program: runs another one, which writes below the directories that come first alone.

python -m ckpttool.jail.confined DIRECTORY… -- PROGRAM ARGUMENT…
"""

from __future__ import annotations

import os
import sys

from ckpttool.jail.walls import confine_writing


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    confine_writing(arguments[:end])
    os.execv(arguments[end + 1], arguments[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
