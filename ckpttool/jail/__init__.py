"""Native code meets foreign bytes in here: in one child process, without rights, whose death is but an answer.

`warden` is our side of it, `walls` what the child takes from itself before it does anything, `cell` what it can do.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the child comes through here

if TYPE_CHECKING:
    from collections.abc import Sequence

    Buffer = bytes | memoryview


def unpack(
    codec: str, blocks: Sequence[Buffer], sizes: Sequence[int], place: memoryview | None = None
) -> Sequence[memoryview]:
    """As `formats.state.native.unpack_here`, in the child."""
    from ckpttool.jail import warden  # not for those who decompress nothing

    return warden.unpack(codec, blocks, sizes, place)
