"""What changed code did to a checkpoint, or was about to."""

from __future__ import annotations

from itertools import pairwise

from ckpttool.causes.base import KnownCause, Sign, Symptoms, is_copied, tells_of_state
from ckpttool.connectors.base import TopicOffset
from ckpttool.formats.state.names import parse_state_versions
from ckpttool.releases import parse_release, spell_release
from ckpttool.scene.scene import Scene
from ckpttool.words import listed, spell_batches

_NEVER, _YOUNG, _SHAPES = "operator-never-committed", "state-schema-younger-than-commit", "state-keys-of-two-shapes"
_READS = ("partitions-gone", "partitions-added", "new-partition-or-topic-not-at-zero", "source-kind-changed")
_TOO_NEW = (
    "log-version-too-new",
    "newest-offsets-malformed",
    "newest-commit-malformed",
    "one-way-formats",
    "mixed-commit-versions",
    "state-unreadable",
)
_STATE = "state-file-missing"


def _failed_deploy(symptoms: Symptoms) -> Sign | None:
    """The laws have looked: an operator has what describes it and not one version, while batches went on; or what
    describes it is younger than what was committed."""
    told, young = symptoms.of(_NEVER), symptoms.of(_YOUNG)
    if young and not told:
        tells = "the driver's log of the start that failed, or what was deployed then"
        return Sign("likely", f"{young[0].path}: {young[0].message.partition(':')[0]}", young, tells)
    if not told:
        return _first_operator(symptoms)
    paths = [one.path for one in told]
    explains = tuple(
        one
        for one in symptoms.findings
        if one in told or (one.id.startswith("state-") and any(f"{one.path}/".startswith(f"{at}/") for at in paths))
    )
    what = f"{listed(paths)}: a schema, and not one version, while batches were committed"
    files = symptoms.scene.needed_state
    if files and files.stores:
        return Sign("certain", f"{what} with other operators", explains)
    tells = "whether the old code kept state: its explain(), or stateOperators in its progress"
    return Sign("likely", f"{what} before that was written", explains, would_tell=tells)


def _first_operator(symptoms: Symptoms) -> Sign | None:
    """A start that fails early leaves empty directories alone, and of the old query no batch tells of state."""
    scene = symptoms.scene
    files = scene.needed_state
    if files is None or not symptoms.of(_STATE) or any(one.names for one in files.stores) or tells_of_state(scene):
        return None
    told = "there are directories of state without a file, and no batch tells of a watermark or of state"
    tells = "whether the old code kept state: its explain(), or stateOperators in its progress"
    return Sign("possible", told, symptoms.of(_STATE), tells)


def _stateless_run(symptoms: Symptoms) -> Sign | None:
    """Batches were committed after the last that left state, in every partition alike; the watermark stood still."""
    scene = symptoms.scene
    files = scene.needed_state
    if files is None or not files.stores or scene.has_state_ids or files.unreachable:
        return None
    newest = {max(parse_state_versions(one.names), default=0) for one in files.stores}
    last = max(newest)
    lacking = [batch for batch in scene.checkpoint.commit_names.ids if last <= batch < files.version]
    explains = tuple(one for one in symptoms.of(_STATE) if _version_in(one.path) > last)
    if newest != {last} or not last or len(lacking) < files.version - last or not explains:
        return None
    told = f"the state ends with batch {last - 1}, and {spell_batches(lacking)} {_was(lacking)} committed without any"
    back = f"ckpt plan rewind {{path}} --to-batch {last - 1}"
    tells = f"stateOperators in the progress of batch {last}: it is empty in a run without state"
    marks = {batch.watermark_ms for batch in scene.evidence.batches if batch.id > last}
    moves = len(lacking) > 1 and any(mark for mark in marks if mark) and len(marks) == 1
    if moves:
        told += ", and the watermark stood still"
    likely = (moves or len(lacking) > 2) and not is_copied(scene)
    return Sign("likely" if likely else "possible", told, explains, tells, back)


def _was(batches: list[int]) -> str:
    return "was" if len(batches) == 1 else "were"


def _version_in(path: str) -> int:
    return max(parse_state_versions([path.rpartition("/")[2]]), default=-1)


def _two_shapes(symptoms: Symptoms) -> Sign | None:
    told = symptoms.of(_SHAPES)
    if not told:
        return None
    found = symptoms.scene.around.two_shapes if symptoms.scene.around else ()
    since = next((one.since for one in found if one.since), None)
    back = f"ckpt plan rewind {{path}} --to-batch {since - 1}" if since else None
    return Sign("certain", told[0].message, command=back)


def _subscription(symptoms: Symptoms) -> Sign | None:
    """Whole topics came or went, once and for all; what goes for and back is of two queries."""
    gone = symptoms.of(*_READS)
    if not gone or symptoms.of("foreign-query"):
        return None
    for source in symptoms.scene.evidence.newest.sources if symptoms.scene.evidence.newest else ():
        if not isinstance(source.offset, TopicOffset):
            continue
        given = symptoms.scene.start.of(source.key).option("subscribe")
        wanted = {one.strip() for one in given.split(",")} if given else None
        if wanted and wanted != set(source.offset.topics):
            told = f"source {source.key} is given {listed(sorted(wanted))}, and its offsets are of"
            return Sign("certain", f"{told} {listed(sorted(source.offset.topics))}")
        if change := _change_of_topics(symptoms.scene, source.key):
            tells = "the query's `subscribe` option before and after; --option subscribe=… tells the one of the restart"
            return Sign("likely", change, would_tell=tells)
    return None


def _change_of_topics(scene: Scene, key: str) -> str | None:
    """Some topics went and others came in the same batch: a topic that is deleted has no successor."""
    offsets = [(batch.id, one.offset) for batch in scene.evidence.batches for one in batch.sources if one.key == key]
    topics = [(batch, set(offset.topics)) for batch, offset in offsets if isinstance(offset, TopicOffset)]
    for (_, before), (batch, after) in pairwise(topics):
        if before - after and after - before:
            return f"in batch {batch} source {key} went from {listed(sorted(before))} to {listed(sorted(after))}"
    return None


def _older_spark(symptoms: Symptoms) -> Sign | None:
    """The release that is to start the query is older than those that can have written the files, which are whole."""
    scene = symptoms.scene
    if scene.entry(scene.planned) is None or (scene.committed is not None and not scene.has_commit(scene.committed)):
        return None
    least = scene.evidence.written_by.min
    told = tuple(one for one in symptoms.of(*_TOO_NEW) if one.severity == "error")
    if not told or least is None or scene.release >= parse_release(least):
        return None
    also = tuple(one for one in symptoms.of(*_TOO_NEW) if one not in told)
    why = scene.evidence.written_by.evidence
    said = f"{spell_release(scene.release)} is to start what {least} or later has written"
    return Sign("certain", f"{said}: {listed(why)}" if why else said, (*told, *also))


CAUSES = (
    KnownCause(
        "older-spark",
        "the query was rolled back to an older Spark, which does not read what the newer one wrote",
        "An upgrade is taken back, or one of two clusters has not had it: the newer release has written files of a"
        " version that the older one refuses. Nothing is damaged, and nothing has to be repaired: the newer release"
        " goes on from here.",
        "files of a version that the release of the restart refuses, and that a later one writes",
        _TOO_NEW,
        _older_spark,
        "start it with the newer Spark again: nothing is lost",
        "ckpt inspect {path}",
        never=("start-over", "rewind-to-batch"),
    ),
    KnownCause(
        "window-or-key-changed",
        "a window or a key was changed, and the state has keys of both",
        "The length of a window, or what rows are grouped by, was changed in the code, and Spark compares no more than"
        " types: the new code runs, never meets the keys of the old one, and what they hold is never given out or"
        " cleared.",
        "keys of two shapes in one store, and the first version that has both",
        (_SHAPES, _YOUNG, "state-growing"),
        _two_shapes,
        "put the old code back and rewind to the batch before; or give the new code a checkpoint of its own",
        "ckpt state rows {path}",
        never=("start-over",),
    ),
    KnownCause(
        "stateless-run",
        "the query ran without its state for some batches",
        "Spark up to 3.5 starts a query without stateful operators on the checkpoint of one that has them: the logs go"
        " on, the state stays where it was. When the stateful code comes back it asks for a version that nobody wrote.",
        "batches that were committed after the last version of the state, in all partitions alike",
        (_STATE, "watermark-stuck"),
        _stateless_run,
        "start the stateful code from the last batch that left state; what the sink got since comes again there",
        "ckpt log {path}",
        never=("start-over",),
    ),
    KnownCause(
        "subscription-changed",
        "the query's subscription was changed: other topics than before",
        "A topic was added to `subscribe`, taken out or renamed. Spark keeps no subscription: it holds what the offsets"
        " name against what the new one finds, begins new topics with their earliest record, and fails or warns for"
        " those that are gone. A topic that comes back later begins anew as well.",
        "topics that go and others that come in one batch, or a `subscribe` that is not what the offsets name",
        _READS,
        _subscription,
        "if it was not meant, start with the old subscription; if it was, say what becomes of the topics that went",
        "ckpt kafka starting-offsets {path}",
        never=("start-over",),
    ),
    KnownCause(
        "failed-deploy",
        "a deploy failed: changed code was started here once, and did not get through a batch",
        "The new code has a stateful operator more, or another one. Its start wrote what describes the operator, and"
        " failed before the first batch was committed. What the old code wrote is whole: it goes on as if nothing had"
        " been, once it is put back. Starting over would throw a sound checkpoint away.",
        "an operator in state/ with a schema and without one version, younger than what was committed",
        (_NEVER, _YOUNG, _STATE, "state-schema-corrupt"),
        _failed_deploy,
        "put the old code back: nothing is lost; the new code wants a checkpoint of its own",
        "ckpt check-change {path} --query JOB.py",
        never=("start-over", "rewind-to-batch"),
    ),
)
