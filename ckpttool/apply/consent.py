"""What may run, or be written to, without being named again: what this user has begun here before.

The settings of a trial name programs: a Python, jars, a job, a command. They lie beside its images, and images are
handed around. A plan that is carried out names tables and directories, and lies in the checkpoint, where others may
write. So a digest of either is written down when it begins, in a directory of the user's own; what is found without it
there came from somebody else, and leads nowhere that the command line does not name.
"""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

from ckpttool.errors import Refused
from ckpttool.literals import shell_path

PRIVATE = 0o700
_CONSENTED, _TRIALS = "consented", "trials"


def trials() -> Path:
    """Where trials are kept that were given no directory."""
    return _own(_TRIALS)


def give_consent(to: bytes) -> None:
    """This user begins what these settings, or this plan, say."""
    (_own(_CONSENTED) / sha256(to).hexdigest()).touch(0o600)


def has_consent(to: bytes) -> bool:
    return (_own(_CONSENTED) / sha256(to).hexdigest()).exists()


def require_own(folder: Path) -> None:
    """Whatever is below it, only its owner can have put there; its owner has to be who asks."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Refused(f"{folder} is not a directory of yours", "copy it, as yourself, to one that is")
    if found.st_mode & 0o077:
        raise Refused(
            f"others have access to {folder}",
            f"if nobody has changed what is in it: chmod 700 {shell_path(str(folder))}",
        )


def _own(name: str) -> Path:
    """A directory of ours below the one for what programs keep."""
    home, said = os.environ.get("HOME", ""), os.environ.get("XDG_STATE_HOME", "")
    base = Path(said) if os.path.isabs(said) else Path(home) / ".local" / "state"
    if not base.is_absolute():
        raise Refused("there is no directory to keep that in", "set XDG_STATE_HOME, or HOME")
    try:
        for folder in (base / "ckpt", base / "ckpt" / name):
            base.mkdir(PRIVATE, parents=True, exist_ok=True)
            folder.mkdir(PRIVATE, exist_ok=True)
            require_own(folder)
    except OSError as error:
        raise Refused(f"{base}/ckpt cannot be had: {error.strerror}", "set XDG_STATE_HOME to a directory") from None
    return base / "ckpt" / name
