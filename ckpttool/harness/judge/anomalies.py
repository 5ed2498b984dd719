"""The names of everything that can be wrong, and what each means. They are stable: reports and tests go by them."""

from __future__ import annotations

ANOMALIES = {
    # P1
    "row-lost": "a row that the input makes is not in the sink",
    "row-duplicated": "a row is in the sink more often than the input makes it",
    "row-altered": "a row is in the sink with other values than the input makes",
    "row-unexpected": "a row is in the sink that no input makes",
    # P2
    "range-went-back": "a batch ends before it begins",
    "input-not-read": "the query ended by itself, and no batch read these rows",
    # P3
    "offsets-changed": "a batch that was planned before the crash has other offsets after it",
    "sink-log-rewritten": "an entry of the sink's log is not what it was at the crash",
    # P4
    "commit-without-offsets": "a batch is committed that has no offsets",
    "heads-too-far-apart": "more than one planned batch is not committed",
    "batch-hole": "a batch is missing between others of the log",
    "batch-not-committed": "the query ended by itself, and its last batch is not committed",
    # P5
    "batch-twice-in-ledger": "two entries of the sink's log are the same batch",
    "batch-missing-in-ledger": "a committed batch is not in the sink's log",
    "batch-never-planned": "the sink's log has a batch that the query never planned",
    "ledger-out-of-order": "a batch comes after a later one in the sink's log",
    "path-twice-in-ledger": "the sink's log adds the same file twice",
    "rows-not-of-batch": "an entry of the sink's log adds other rows than those of its batch",
    "write-without-batch": "an entry of the sink's log adds rows and names no batch",
    "write-of-another-query": "an entry of the sink's log is a batch of another query",
    # P6
    "state-differs": "the state is not what the input so far makes it",
    # P7
    "watermark-went-back": "a batch has an earlier watermark than the one before",
    "watermark-wrong": "the watermark is not the latest event time less the delay",
    # P8
    "query-id-changed": "the query has another id after the crash",
    "metadata-changed": "the file with the query's id was written again",
    "run-id-kept": "two runs have the same run id",
    # P9
    "uncommitted-visible": "readers see rows that the sink's log does not have",
    # P10
    "restart-failed": "a restart fails",
    # P11
    "garbage-grows": "the recovery leaves more files that nobody needs",
    # P12
    "released-too-early": "a source is told that a batch is done before it is committed",
    # P13: the crash is void
    "never-armed": "no code was found for the point",
    "not-reached": "the point was not reached",
    "not-dead": "what was to be killed lives on",
    "not-witnessed": "the disk is not what it has to be at the point",
    # P14
    "control-silent": "a control shows no duplicates where it has to",
    "control-bites-elsewhere": "a control shows other duplicates than it has to",
    "planted-loss-not-found": "rows that were taken out by hand are not what the judge misses",
}
