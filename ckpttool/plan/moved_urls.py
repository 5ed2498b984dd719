"""The whole URLs that a checkpoint keeps, where it is put into another place. Pure.

Some are of the checkpoint itself, and follow it. Others are of a query's input, or of a file sink's output, and only
who moves those knows where they are then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.whole_urls import DirectoryUrl, kept_place, moved_url, typed_place, whole_urls, with_urls
from ckpttool.plan.steps import Step, is_outside, of_sink, set_aside_checksum, write
from ckpttool.scene.scene import Scene, option

_FOLLOWS = "the whole URLs in it follow"
_LARGEST = 8 * 2**20  # of all that is written: a plan holds it
# Spellings of one kind of storage: which of them Spark writes only its configuration tells.
_ALIKE = (("s3", "s3a", "s3n"), ("abfs", "abfss", "wasb", "wasbs"))
# What Hadoop has file systems for. Others are for whoever reads here, and no query finds its files under them.
_OF_HADOOP = frozenset(
    (
        "file",
        "hdfs",
        "viewfs",
        "webhdfs",
        "swebhdfs",
        "gs",
        "dbfs",
        "oss",
        "obs",
        "cosn",
        "ofs",
        "o3fs",
        *_ALIKE[0],
        *_ALIKE[1],
    )
)

Maps = Sequence[tuple[str, str]]  # what was typed: the old place, and the new one


# -- which files have them ---------------------------------------------------------------------------------------------


def with_own_urls(scene: Scene) -> Iterator[str]:
    """Directories of files that name others of the checkpoint itself."""
    for operator in scene.checkpoint.operators:
        if operator.metadata and operator.metadata.version == 2:
            yield layout.operator_runs(operator.id)
    yield from (name for name in scene.checkpoint.root_names if layout.is_schema_log(name))


def unseen_schema_log(scene: Scene) -> str | None:
    """Why it is not known that a Delta source's log of schemas follows: it may lie in any directory of the checkpoint,
    and names that by its whole URL."""
    newest, own = scene.batch(scene.planned), (*layout.PARTS, layout.OWN_DIRECTORY)
    if newest is None or all(scene.kind_of(source) != "delta" for source in newest.sources):
        return None
    location = scene.start.option("schemaTrackingLocation") or scene.start.option("schemaLocation")
    others = [name for name in scene.checkpoint.root_names
              if name not in own and not name.startswith(".") and not layout.is_schema_log(name)]  # fmt: skip
    if location is not None:
        others = [name for name in others if f"/{name}/" in f"{location}/"]
    if not others:
        return None
    found = f"the Delta source's log of schemas {'lies' if location else 'may lie'} in {others[0]}/"
    return f"{found}, and names the checkpoint by its whole URL: only one at the checkpoint's top follows" + (
        "" if location else ". If it lies elsewhere, say so: --option schemaTrackingLocation=…"
    )


def with_urls_of_input(scene: Scene) -> Iterator[str]:
    yield from (layout.source(log.name) for log in scene.checkpoint.source_logs if log.kind == "file")


def with_urls_of_output(scene: Scene) -> Iterator[str]:
    for sink in scene.sinks:
        if sink.kind == "file" and sink.names is not None:
            yield of_sink(f"{sink.path.rstrip('/')}/{layout.FILE_SINK_LOG}")


def files_in(scene: Scene, directories: Iterator[str]) -> Iterator[tuple[str, bytes]]:
    for directory in directories:
        for path, body in sorted(scene.checkpoint.raw.items()):
            folder, _, name = path.rpartition("/")
            if folder == directory and not name.startswith("."):
                yield path, body


# -- what they become --------------------------------------------------------------------------------------------------


def follow_checkpoint(scene: Scene, target: str) -> Iterator[Step]:
    """Raises MalformedFile for what cannot be read."""
    there = typed_place(target)
    named = files_in(scene, with_own_urls(scene))
    yield from _written_over(scene, target, {path: with_own_place(path, body, there) for path, body in named})


def with_own_place(path: str, body: bytes, there: DirectoryUrl) -> bytes:
    """A file that names others of the checkpoint itself, as it is where that is `there`."""
    top = layout.SOURCES if layout.is_schema_log(path) else "/".join(path.split("/")[:2])

    def becomes(url: str) -> str:
        before, within, after = url.rpartition(f"/{top}/")
        if not within:
            raise MalformedFile(f"{url[:200]} is no file of the checkpoint", expected=f"`…/{top}/…`")
        old = kept_place(before)
        return f"{moved_url(before, old, _spelled_like(old, there))}/{top}/{after}"

    return with_urls(body, becomes)


def follow_maps(scene: Scene, target: str, maps: Maps) -> Iterator[Step]:
    known = Known(maps)
    for directories, root in ((with_urls_of_input(scene), target), (with_urls_of_output(scene), scene.root)):
        written = {path: with_urls(body, known.becomes) for path, body in files_in(scene, directories)}
        yield from _written_over(scene, root, written)


def _written_over(scene: Scene, root: str, written: Mapping[str, bytes]) -> Iterator[Step]:
    """Their checksums first, by which Hadoop would take what is written for damaged."""
    changed = {path: body for path, body in written.items() if body != scene.checkpoint.raw[path]}
    for path in changed:
        yield from set_aside_checksum(root, path, "Hadoop's checksum of the file that is written next, if there is one")
    for path, body in changed.items():
        yield _write_at(root, path, body)


def _write_at(root: str, path: str, body: bytes) -> Step:
    if not is_outside(path):
        return write(root, path, body, _FOLLOWS, over=True)
    folder, _, name = path.rpartition("/")
    return replace(write(folder, name, body, _FOLLOWS, over=True), path=path)


class Known:
    """What was typed, the longest place first."""

    def __init__(self, maps: Maps) -> None:
        places = [(typed_place(old), typed_place(new)) for old, new in maps]
        self._places = sorted(places, key=lambda both: -len(both[0].steps))

    def way(self, url: str) -> tuple[DirectoryUrl, DirectoryUrl] | None:
        here = kept_place(url)
        return next(((old, new) for old, new in self._places if old.holds(here)), None)

    def becomes(self, url: str) -> str:
        way = self.way(url)
        return url if way is None else moved_url(url, *way)


# -- whether that can be -----------------------------------------------------------------------------------------------


def obstacles(scene: Scene, maps: Maps) -> Iterator[str]:
    """Raises MalformedFile for what cannot be read."""
    known = Known(maps)
    yield from (why for old, new in maps for why in _other_files(scene, typed_place(old), typed_place(new)))
    input_urls = {path: whole_urls(body) for path, body in files_in(scene, with_urls_of_input(scene))}
    output_urls = {path: whole_urls(body) for path, body in files_in(scene, with_urls_of_output(scene))}
    for path, urls in input_urls.items():
        if unknown := next((url for url in urls if known.way(url) is None), None):
            yield f"{path} names {unknown}, and no --map covers that: if it stays there, map it to itself"
    for path, urls in output_urls.items():
        around = path.removeprefix("./").removesuffix(f"/{path.rpartition('/')[2]}")
        around = around.removesuffix(f"/{layout.FILE_SINK_LOG}")
        if unknown := next((url for url in urls if not _lies_in(known.becomes(url), around)), None):
            yield f"{path} names {unknown}, which is not in {around}, and no --map leads there"
    read = {url for several in input_urls.values() for url in several}
    if len({known.becomes(url) for url in read}) < len(read):
        yield "two files that were read would have one name"
    if sum(len(body) for _, body in _written(scene)) > _LARGEST:
        yield f"the logs with whole URLs have more than {_LARGEST:,} bytes, which a plan does not hold"


def _written(scene: Scene) -> Iterator[tuple[str, bytes]]:
    yield from files_in(scene, with_urls_of_input(scene))
    yield from files_in(scene, with_urls_of_output(scene))


def _lies_in(url: str, place: str) -> bool:
    """By the path alone: of one store there are several spellings."""
    around = typed_place(place) if place.startswith("/") or ":" in place else None
    return around is None or kept_place(url).steps[: len(around.steps)] == around.steps


def _other_files(scene: Scene, old: DirectoryUrl, new: DirectoryUrl) -> Iterator[str]:
    """Spark tells the files that it has read by their whole URLs."""
    if new.scheme not in _OF_HADOOP:
        yield f"Spark has no file system for {new.scheme}:, and would find its input under other URLs"
    elif new.scheme in _ALIKE[1] and "@" not in new.authority:
        yield f"Spark spells it {new.scheme}://CONTAINER@ACCOUNT…, and would read the files as others"
    elif new.scheme != old.scheme:
        path = option(scene.start.options, "path")
        if path is None or typed_place(path).scheme != new.scheme:
            yield (
                f"{old.scheme}: becomes {new.scheme}:, and Spark would read the files once more under any other"
                f" spelling: say which the query uses then, with --option path={new.spelled()}"
            )


def _spelled_like(old: DirectoryUrl, new: DirectoryUrl) -> DirectoryUrl:
    """The checkpoint's own URLs keep the scheme by which Spark reached the same kind of storage."""
    if not any(old.scheme in several and new.scheme in several for several in _ALIKE):
        return new
    return typed_place(f"{old.scheme}://{new.authority}/{'/'.join(new.steps)}")
