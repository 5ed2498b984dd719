"""What a process asks of the system, as strace tells."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.parts.spark import MissingPart

# By which files are made, changed or removed. A question mark: where this machine has it.
CHANGING = ("creat", "mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2", "unlink", "unlinkat",
            "rmdir", "link", "linkat", "symlink", "symlinkat", "truncate", "chmod", "fchmod", "fchmodat", "fchmodat2",
            "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat", "setxattr",
            "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "mount")  # fmt: skip
OPENING = ("open", "openat", "openat2")
_WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b")
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += ")
# With `-y` a descriptor has its path behind it.
_PLACE = re.compile(r'(?:(?:AT_FDCWD|\d+)<((?:[^>\\]|\\.)*)>)?(?:, )?(?:"((?:[^"\\]|\\.)*)")?')


def ensure_strace() -> str:
    found = shutil.which("strace")
    if found is None and shutil.which("apt-get"):
        begin = [] if os.geteuid() == 0 else ["sudo", "-n"]
        for words in (["update", "-qq"], ["install", "-qq", "-y", "strace"]):
            subprocess.run([*begin, "apt-get", *words], check=False, capture_output=True)
        found = shutil.which("strace")
    if found is None:
        raise MissingPart("no strace on the path: install Debian's strace, or its like")
    return found


def written_by(command: Sequence[str], record: Path, cwd: Path, environment: Mapping[str, str]) -> set[str]:
    """The paths that the command, and all that it starts, would make, change or remove, whether it could or not."""
    calls = ",".join(f"?{name}" for name in (*OPENING, *CHANGING))
    strace = [ensure_strace(), "-f", "-qq", "-y", "-s", "4096", "-e", f"trace={calls}", "-e", "signal=none"]
    ran = subprocess.run(
        [*strace, "-o", str(record), *command],
        cwd=cwd,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert record.exists(), ran.stderr
    return set(_changed(record.read_text(encoding="utf-8", errors="replace"), cwd))


def _changed(record: str, cwd: Path) -> Iterator[str]:
    for line in record.splitlines():
        call = _CALL.match(line)
        if call and (call[1] in CHANGING or _WRITING.search(call[2])):
            for place, name in _PLACE.findall(call[2]):
                if place or name:
                    yield os.path.normpath(os.path.join(cwd, place, name))


if __name__ == "__main__":
    try:
        print(ensure_strace())
    except MissingPart as missing:
        sys.exit(str(missing))
