"""What goes wrong with checkpoints, as edits of files. Each function does one thing, named by what is wrong after it.

All take the checkpoint's directory. Hadoop's side file `.N.crc` goes with the file `N` that an edit touches, unless
the side file itself is the damage.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path


def file_emptied(checkpoint: Path, path: str) -> str:
    rewrite(checkpoint / path, b"")
    return f"Emptied {path}."


def json_cut(checkpoint: Path, path: str) -> str:
    """Cut in the middle of the second line."""
    version, _, rest = (checkpoint / path).read_bytes().partition(b"\n")
    rewrite(checkpoint / path, version + b"\n" + rest[: len(rest.partition(b"\n")[0]) // 2])
    return f"Cut {path} in the middle of its second line."


def files_removed(checkpoint: Path, *paths: str) -> str:
    for path in paths:
        remove(checkpoint / path)
    return f"Removed {', '.join(paths)}."


def directory_emptied(checkpoint: Path, path: str) -> str:
    shutil.rmtree(checkpoint / path)
    (checkpoint / path).mkdir()
    return f"Removed everything in {path}/."


def directory_removed(checkpoint: Path, path: str) -> str:
    shutil.rmtree(checkpoint / path)
    return f"Removed {path}/."


def file_replaced(checkpoint: Path, path: str, text: str) -> str:
    rewrite(checkpoint / path, text.encode())
    return f"Replaced the contents of {path} with {text!r}."


def file_copied(checkpoint: Path, path: str, copy: str) -> str:
    (checkpoint / copy).write_bytes((checkpoint / path).read_bytes())
    return f"Copied {path} to {copy}."


def crc_left_behind(checkpoint: Path, path: str, number: int) -> str:
    """A side file of a batch that is gone."""
    side = side_file(checkpoint / path)
    side.with_name(f".{number}.crc").write_bytes(side.read_bytes())
    return f"Left {Path(path).parent}/.{number}.crc behind, without the file {number} it belongs to."


def version_from_the_future(checkpoint: Path, path: str, version: int = 9) -> str:
    _, _, rest = (checkpoint / path).read_bytes().partition(b"\n")
    rewrite(checkpoint / path, b"v%d\n" % version + rest)
    return f"Changed the version line of {path} to v{version}."


def byte_order_mark_added(checkpoint: Path, path: str) -> str:
    rewrite(checkpoint / path, b"\xef\xbb\xbf" + (checkpoint / path).read_bytes())
    return f"Put a UTF-8 byte order mark in front of {path}."


def blank_line_added(checkpoint: Path, path: str) -> str:
    rewrite(checkpoint / path, (checkpoint / path).read_bytes() + b"\n\n")
    return f"Added an empty line at the end of {path}."


def partitions_changed(checkpoint: Path, batch: int, partitions: int) -> str:
    """The newest batch, uncommitted, says another number of shuffle partitions than the one before."""
    path = checkpoint / "offsets" / str(batch)
    version, metadata, *sources = path.read_text().split("\n")
    fields = json.loads(metadata)
    fields["conf"]["spark.sql.shuffle.partitions"] = str(partitions)
    rewrite(path, "\n".join([version, json.dumps(fields, separators=(",", ":")), *sources]).encode())
    remove(checkpoint / "commits" / str(batch))
    return f"Set spark.sql.shuffle.partitions to {partitions} in offsets/{batch} and removed commits/{batch}."


def kafka_sentinel_written(checkpoint: Path, batch: int, sentinel: int = -1) -> str:
    """A number that means "latest" in an option, where a real offset belongs."""
    path = checkpoint / "offsets" / str(batch)
    *head, line = path.read_text().split("\n")
    topics = json.loads(line)
    topic = sorted(topics)[0]
    partition = sorted(topics[topic])[0]
    topics[topic][partition] = sentinel
    rewrite(path, "\n".join([*head, json.dumps(topics, separators=(",", ":"))]).encode())
    return f"Wrote {sentinel} as the offset of {topic}-{partition} in offsets/{batch}."


def watermark_raised(checkpoint: Path, batch: int, watermark_ms: int) -> str:
    """As a row of the future leaves it."""
    path = checkpoint / "commits" / str(batch)
    version, _, fields = path.read_text().partition("\n")
    told = json.loads(fields) | {"nextBatchWatermarkMs": watermark_ms}
    rewrite(path, "\n".join([version, json.dumps(told, separators=(",", ":"))]).encode())
    return f"Raised the watermark in commits/{batch} to {watermark_ms}."


def word_replaced(checkpoint: Path, path: str, word: str, other: str) -> str:
    """In a binary file another of the same length."""
    rewrite(checkpoint / path, (checkpoint / path).read_bytes().replace(word.encode(), other.encode()))
    return f"Replaced {word} with {other} in {path}."


DAMAGES: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        file_emptied,
        json_cut,
        files_removed,
        directory_emptied,
        directory_removed,
        file_replaced,
        file_copied,
        crc_left_behind,
        version_from_the_future,
        byte_order_mark_added,
        blank_line_added,
        partitions_changed,
        kafka_sentinel_written,
        watermark_raised,
        word_replaced,
    )
}


def side_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def remove(path: Path) -> None:
    path.unlink()
    side_file(path).unlink(missing_ok=True)


def rewrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    side_file(path).unlink(missing_ok=True)
