"""What is wrong with a scene, and which repairs there are for it: by law, where a law tells of it."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.laws.restart import Restart
from ckpttool.plan import file_repairs, kafka_repairs, log_repairs, sink_repairs, state_repairs
from ckpttool.plan.log_repairs import Proposals
from ckpttool.plan.repair import Proposer
from ckpttool.scene.scene import Scene

# The id of a law → what can be done where it is broken.
BY_LAW: Mapping[str, tuple[Proposer, ...]] = {
    "memory-sink": (file_repairs.no_edit_helps,),
    "metadata-corrupt": (log_repairs.restore_query_id,),
    "metadata-missing": (log_repairs.restore_query_id,),
    "metadata-write": (log_repairs.metadata_unwritable,),
    "log-directory-unread": (file_repairs.no_edit_helps,),
    "newest-offsets-malformed": (log_repairs.newest_offsets,),
    "highest-number": (log_repairs.newest_offsets,),
    "highest-commit": (log_repairs.commit_ahead,),
    "newest-commit-malformed": (log_repairs.newest_commit,),
    "commit-names-no-state": (log_repairs.newest_commit,),
    "unfinished-repartition": (log_repairs.unfinished_repartition,),
    "offsets-no-directory": (log_repairs.file_for_directory, log_repairs.start_over),
    "offset-log-lost": (log_repairs.start_over,),
    "previous-offset-missing": (log_repairs.previous_offsets,),
    "source-count-changed": (log_repairs.source_count,),
    "pinned-value": (log_repairs.pinned_value,),
    "location-not-empty": (log_repairs.location_not_empty,),
    "file-source-log": (log_repairs.file_for_directory, file_repairs.file_source_log),
    "rate-source-beginning": (file_repairs.restore_from_backup,),
    "initial-offset-unusable": (file_repairs.initial_offset_unusable,),
    "kafka-beginning-refused": (file_repairs.initial_offset_unusable,),
    "kafka-offsets-refused": (file_repairs.impossible_offsets,),
    "kafka-option-refused": (file_repairs.no_edit_helps,),
    "offsets-never-asked-for": (file_repairs.no_edit_helps,),
    "offset-below-zero": (kafka_repairs.go_past_impossible_offsets,),
    "partitions-deleted": (kafka_repairs.go_past_impossible_offsets,),
    "topic-recreated-lower-end": (kafka_repairs.go_past_impossible_offsets,),
    "available-now-verification": (kafka_repairs.go_past_lost_rows,),
    "topic-unknown": (kafka_repairs.go_past_lost_rows,),
    "initial-offset-not-found": (kafka_repairs.go_past_lost_rows,),
    "new-partition-or-topic-not-at-zero": (kafka_repairs.go_past_lost_rows,),
    "partition-not-hosted": (kafka_repairs.go_past_lost_rows,),
    "offset-aged-out": (kafka_repairs.go_past_lost_rows,),
    "range-above-end": (kafka_repairs.go_past_lost_rows,),
    "realtime-offset-out-of-range": (kafka_repairs.go_past_lost_rows,),
    "realtime-partition-never-read": (kafka_repairs.go_past_lost_rows,),
    "realtime-option-unfit": (file_repairs.no_edit_helps,),
    "delta-offset-refused": (file_repairs.impossible_offsets,),
    "iceberg-offset-refused": (file_repairs.impossible_offsets,),
    "iceberg-beginning-refused": (file_repairs.initial_offset_unusable,),
    "iceberg-option-refused": (file_repairs.no_edit_helps,),
    "iceberg-time-travel": (file_repairs.no_edit_helps,),
    "socket-begins-anew": (file_repairs.no_edit_helps,),
    "kinesis-shard-commits-missing": (file_repairs.restore_from_backup,),
    "auto-loader-elsewhere": (file_repairs.no_edit_helps,),
    "offset-not-of-its-source": (file_repairs.impossible_offsets,),
    "rate-offset-malformed": (file_repairs.impossible_offsets,),
    "source-name-impossible": (file_repairs.impossible_offsets,),
    "file-position-malformed": (file_repairs.impossible_offsets,),
    "range-backwards": (file_repairs.impossible_offsets,),
    "input-out-of-place": (file_repairs.restore_from_backup,),
    "last-range-again": (file_repairs.range_missing,),
    "beginning-lost": (file_repairs.restore_from_backup,),
    "offset-ahead-of-log": (file_repairs.source_log_gone,),
    "source-log-write": (file_repairs.leftover_checksum,),
    "offsets-write": (file_repairs.offsets_place_taken,),
    "replayed-range": (file_repairs.range_missing,),
    "metadata-line-empty": (file_repairs.no_edit_helps,),
    "state-no-directory": (log_repairs.file_for_directory, state_repairs.damaged),
    "pinned-for-state": (log_repairs.pinned_value, log_repairs.newest_offsets),
    "operator-never-committed": (state_repairs.never_committed,),
    "state-unreadable": (state_repairs.damaged,),
    "state-file-missing": (state_repairs.damaged,),
    "state-file-corrupt": (state_repairs.damaged,),
    "state-file-misnamed": (state_repairs.damaged,),
    "state-write": (state_repairs.damaged,),
    "state-directory-missing": (state_repairs.damaged,),
    "commit-write": (log_repairs.file_for_directory, log_repairs.commit_ahead, file_repairs.leftover_checksum),
    "epoch-offsets-missing": (file_repairs.restore_from_backup,),
    "sink-log-write": (sink_repairs.sink_log_blocked,),
    "skipped-batch-without-state": (sink_repairs.lower_sinks_below_batch,),
    # Laws that stop no restart: it would go on, and write rows twice or leave them out without a word.
    "commit-ahead-of-offset": (log_repairs.commit_ahead,),
    "stale-state-after-rewind": (state_repairs.stale_state,),
    "offset-ahead-by-two-or-more": (sink_repairs.batches_left_out,),
    "checkpoint-deleted-sink-kept": (sink_repairs.under_another_id,),
    "topic-recreated-and-overtaken": (kafka_repairs.go_past_lost_rows,),
}
# Troubles that no single law tells of.
OF_NO_LAW: Mapping[str, tuple[Proposer, ...]] = {
    "sink-ahead": (sink_repairs.sink_ahead,),  # each kind of record has its law
}


def first_trouble(scene: Scene, restart: Restart) -> str | None:
    """The law that stops the restart, else what it would do without a word; None if all is well."""
    if restart.law and restart.law.needs != "brokers":
        return restart.law.id
    if at_kafka := kafka_repairs.law_in_trouble(scene):
        return at_kafka
    if restart.outcome in ("unknown", "error"):
        return "of-no-law"
    planned, committed = scene.planned, scene.committed
    if scene.checkpoint.metadata is None and (planned is not None or committed is not None):
        return "metadata-missing"
    if committed is not None and (planned is None or committed > planned) and not scene.is_realtime:
        return "commit-ahead-of-offset" if planned is not None else "offset-log-lost"
    if stopping := sink_repairs.law_that_stops(scene):
        return stopping
    if state_repairs.is_state_stale(scene):
        return "stale-state-after-rewind"
    if sink_repairs.are_batches_left_out(scene, restart):
        return "offset-ahead-by-two-or-more"
    if sink_repairs.is_sink_ahead(scene, restart):
        return "sink-ahead"
    return "checkpoint-deleted-sink-kept" if sink_repairs.is_under_another_id(scene) else None


def repairs_of(trouble: str, scene: Scene) -> Proposals:
    for proposer in BY_LAW.get(trouble) or OF_NO_LAW.get(trouble, ()):
        yield from proposer(scene)
