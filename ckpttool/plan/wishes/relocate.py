"""`relocate`: the checkpoint goes on at another place, and the old one stays fenced.

It is the same query to every sink, so the two must never both start: the old one is fenced before the new one's fence
falls, and says where it went. Whole URLs in the checkpoint follow it; those of input and output follow what is said of
them, for a file source takes a file that has another URL for one that it has not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ckpttool.connectors.auto_loader import KIND as AUTO_LOADER
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.metadata import encode_moved
from ckpttool.plan.fence import replace_outside
from ckpttool.plan.moved_urls import (
    follow_checkpoint,
    follow_maps,
    obstacles,
    unseen_schema_log,
    with_own_urls,
    with_urls_of_input,
    with_urls_of_output,
)
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Write, of_sink, write
from ckpttool.plan.wishes.base import Wish
from ckpttool.plan.wishes.places import copies, lies_there
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import SinkEvidence

RELOCATE = "relocate"


def _followed(sink: SinkEvidence, written: Sequence[str]) -> SinkEvidence:
    """What its log names is there then; whether it is, is seen before the fence falls."""
    log = of_sink(f"{sink.path.rstrip('/')}/{layout.FILE_SINK_LOG}/")
    if not any(path.startswith(log) for path in written):
        return sink
    writes = (replace(one, rows_lost=None, unnoticed=False, elsewhere=None) for one in sink.writes)
    return replace(sink, writes=tuple(writes))


class Relocate(Wish, frozen=True, tag="relocate"):
    """`maps`: where the input was, and where it is then; of the output of a file sink, too."""

    target: str
    maps: tuple[tuple[str, str], ...] = ()

    def reads_all_in(self, scene: Scene) -> Iterator[str]:
        yield from with_own_urls(scene)
        yield from with_urls_of_input(scene)
        yield from with_urls_of_output(scene)

    def repair(self, scene: Scene) -> Repair | Refusal:
        try:
            if why := lies_there(scene, self.target) or next(self._obstacles(scene), None):
                return Refusal(RELOCATE, why)
            follows = (*follow_checkpoint(scene, self.target), *follow_maps(scene, self.target, self.maps))
            metadata = scene.checkpoint.raw[layout.METADATA].decode()
        except (MalformedFile, UnicodeDecodeError) as error:
            return Refusal(RELOCATE, f"a file that names others cannot be read: {error}")
        moved = encode_moved(self.target).decode()
        return Repair(
            RELOCATE,
            f"Let the checkpoint go on at {self.target}, and fence it off here",
            (
                *copies(scene, self.target),
                *follows,
                replace_outside(scene.root, moved, "stays fenced: no Spark starts here, and it says where it went"),
                write(self.target, layout.METADATA, metadata.encode(), "takes the fence down: all is there"),
            ),
            sinks=tuple(
                _followed(sink, [one.path for one in follows if isinstance(one, Write)]) for sink in scene.sinks
            ),
            target=self.target,
        )

    def _obstacles(self, scene: Scene) -> Iterator[str]:
        if scene.checkpoint.metadata is None or layout.METADATA not in scene.checkpoint.raw:
            yield "the query has no id that could be read"
        newest = scene.batch(scene.planned)
        if newest and any(scene.kind_of(source) == AUTO_LOADER for source in newest.sources):
            yield "Auto Loader keeps the files that it has read in a database of its own, which nobody else changes"
        if unseen := unseen_schema_log(scene):
            yield unseen
        yield from obstacles(scene, self.maps)
