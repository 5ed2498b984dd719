"""What can be done about a change, in words: each refusal and each silent change names those that fit it. Data."""

from __future__ import annotations

from collections.abc import Mapping

WAYS_OUT: Mapping[str, str] = {
    "keep-old-shape": "keep the shape that the state has: coalesce a key that became nullable, keep a removed source "
    "as a filtered stub, and put what is new into a second query",
    "old-code-first": "roll the old code back: the files of the checkpoint are sound",
    "undo-failed-start": "set state/<n> aside that a refused start left, as ckpt plan-recovery on the checkpoint says",
    "add-source-line": "add the source to the newest offsets: ckpt plan source PATH add",
    "drop-source-line": "take the source out of the newest offsets: ckpt plan source PATH drop",
    "start-state-anew": "start on a new checkpoint, and give up the state. Kafka's sources begin at the offsets "
    "that were reached, as ckpt kafka starting-offsets PATH tells them",
    "flush-first": "have the old code write its open windows in a batch that reads nothing, and change the query then: "
    "ckpt plan watermark PATH --set T --close",
    "new-query-beside": "leave this query as it is, and start the new one beside it on a checkpoint of its own",
    "convert-conf": "of state in RocksDB, have Spark 4.2 or later move it to another number of partitions, while the "
    "query is stopped: StreamingCheckpointManager.repartition",
}
# What it is to keep the shape, by what is another.
_KEEP: Mapping[str, str] = {
    "source-removed": "keep the source as a stub: read it, and filter all of its rows out",
    "source-shared": "read the source once, and make both of what was read",
    "sources-swapped": "have the sources in the order that they had",
    "source-named": "leave the names of the sources as they were",
    "source-renamed": "leave the names of the sources as they were",
    "state-key-changed": "give each key the type that it had, coalesce one that became nullable, and group by more in "
    "a second query",
    "state-value-changed": "leave what is kept as it was, and compute what is new in a second query",
    "dedup-columns-changed": "go by the columns that it had, in their order",
    "state-variable-retyped": "leave the variable as it was, and keep what is new in another one beside it",
    "watermark-removed": "keep the watermark, with a delay that is long enough",
}


def spelled_way(way: str, change: str) -> str:
    """As it is meant for this change."""
    return _KEEP.get(change, WAYS_OUT[way]) if way == "keep-old-shape" else WAYS_OUT[way]
