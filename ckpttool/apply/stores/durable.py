"""Whether what is written to a local path is there after a failure of power: names are flushed with their directory."""

from __future__ import annotations

import errno
import os
import re

_NO_FLUSH = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)  # of a directory
_FROM_AFAR = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs")


def flush(path: str) -> None:
    """What is in a file, or which names are in a directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flushed(descriptor)
    finally:
        os.close(descriptor)


def flushed(directory: int) -> None:
    """As far as its file system can."""
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in _NO_FLUSH:
            raise


def mounted_from_afar(path: str, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The kind of file system, where it is another machine or a program that writes, and may say so too early. None:
    it is a disk of this one, or nothing tells."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    place, around = os.path.realpath(path), ("", "")
    for line in lines:
        fields, _, told = line.partition(" - ")
        mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split(" ")[4])
        if f"{place}/".startswith(f"{mount.rstrip('/')}/") and len(mount) >= len(around[0]):
            around = mount, told.split(" ")[0]
    kind = around[1]
    return kind if kind.startswith("fuse.") or kind in _FROM_AFAR else None
