"""What is wrong with a scene, and which repairs there are for it. New rules get a line in `BY_RULE`."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.laws.restart import Restart
from ckpttool.plan import file_repairs, kafka_repairs, log_repairs, sink_repairs, state_repairs
from ckpttool.plan.log_repairs import Proposals
from ckpttool.plan.repair import Proposer
from ckpttool.scene.scene import Scene

# The id of a rule → what can be done where it speaks.
BY_RULE: Mapping[str, tuple[Proposer, ...]] = {
    "memory-sink": (file_repairs.not_by_files,),
    "metadata-corrupt": (log_repairs.give_id_back,),
    "metadata-missing": (log_repairs.give_id_back,),
    "metadata-write": (log_repairs.metadata_unwritable,),
    "log-directory-unread": (file_repairs.not_by_files,),
    "newest-offsets-malformed": (log_repairs.newest_offsets,),
    "highest-number": (log_repairs.newest_offsets,),
    "highest-commit": (log_repairs.commit_ahead,),
    "newest-commit-malformed": (log_repairs.newest_commit,),
    "unfinished-repartition": (log_repairs.unfinished_repartition,),
    "offsets-no-directory": (log_repairs.no_directory, log_repairs.start_over),
    "offset-log-lost": (log_repairs.start_over,),
    "previous-offset-missing": (log_repairs.previous_offsets,),
    "source-count-changed": (log_repairs.source_count,),
    "pinned-value": (log_repairs.pinned_value,),
    "location-not-empty": (log_repairs.first_place_taken,),
    "file-source-log": (log_repairs.no_directory, file_repairs.file_source_log),
    "rate-source-beginning": (file_repairs.only_a_backup,),
    "initial-offset-unusable": (file_repairs.unusable_beginning,),
    "offset-not-of-its-source": (file_repairs.impossible_offsets,),
    "rate-offset-malformed": (file_repairs.impossible_offsets,),
    "source-name-impossible": (file_repairs.impossible_offsets,),
    "file-position-malformed": (file_repairs.impossible_offsets,),
    "range-backwards": (file_repairs.impossible_offsets,),
    "input-out-of-place": (file_repairs.only_a_backup,),
    "last-range-again": (file_repairs.range_missing,),
    "beginning-lost": (file_repairs.only_a_backup,),
    "offset-ahead-of-log": (file_repairs.source_log_gone,),
    "source-log-write": (file_repairs.leftover_checksum,),
    "offsets-write": (file_repairs.offsets_place_taken,),
    "replayed-range": (file_repairs.range_missing,),
    "metadata-line-empty": (file_repairs.not_by_files,),
    "state-missing": (log_repairs.no_directory, state_repairs.damaged),
    "commit-write": (log_repairs.no_directory, log_repairs.commit_ahead, file_repairs.leftover_checksum),
}
# What no rule speaks of; each with how it is told. Only the first of them stops a restart.
BESIDES: Mapping[str, Proposer] = {
    "kafka": kafka_repairs.what_is_there,
    "id-lost": log_repairs.give_id_back,
    "commit-ahead": log_repairs.commit_ahead,
    "sink-log": sink_repairs.log_in_the_way,
    "skip-without-state": sink_repairs.run_what_is_skipped,
    "stale-state": state_repairs.stale_state,
    "batches-left-out": sink_repairs.batches_left_out,
    "sink-ahead": sink_repairs.sink_ahead,
    "under-another-id": sink_repairs.under_another_id,
}


def first_trouble(scene: Scene, restart: Restart) -> str | None:
    """The law that stops the restart, else what it would do without a word; None if all is well."""
    if restart.law:
        return restart.law.id
    if kafka_repairs.is_in_trouble(scene):
        return "kafka"
    if restart.outcome in ("unknown", "error"):
        return "beyond-the-rules"
    planned, committed = scene.planned, scene.committed
    if scene.checkpoint.metadata is None and (planned is not None or committed is not None):
        return "id-lost"
    if committed is not None and (planned is None or committed > planned) and not scene.is_realtime:
        return "commit-ahead" if planned is not None else "offset-log-lost"
    if sink_repairs.is_log_in_the_way(scene, restart):
        return "sink-log"
    if sink_repairs.is_skip_fatal(scene, restart):
        return "skip-without-state"
    if state_repairs.is_state_stale(scene):
        return "stale-state"
    if sink_repairs.are_batches_left_out(scene, restart):
        return "batches-left-out"
    if sink_repairs.is_sink_ahead(scene, restart):
        return "sink-ahead"
    return "under-another-id" if sink_repairs.is_under_another_id(scene) else None


def repairs_of(trouble: str, scene: Scene) -> Proposals:
    for proposer in (*BY_RULE.get(trouble, ()), *([BESIDES[trouble]] if trouble in BESIDES else ())):
        yield from proposer(scene)
