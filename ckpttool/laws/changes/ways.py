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
    "start-state-anew": "start on a new checkpoint, and give up the state; of Kafka's sources at the offsets that were "
    "reached, as ckpt kafka starting-offsets PATH tells them",
    "flush-first": "run the old code until its open windows are written, and change the query then",
    "new-query-beside": "leave this query as it is, and start the new one beside it on a checkpoint of its own",
    "convert-conf": "change what the checkpoint pins offline, before the start",
}
