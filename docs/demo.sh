#!/usr/bin/env bash
# The guided tour behind `make demo`: checkpoints that real Spark left, as `ckpt` sees them.
set -u
cd "$(dirname "$0")/.."

show() {
    printf '\n\033[1m%s\033[0m\n$ ckpt %s\n\n' "$1" "${*:2}"
    ckpt "${@:2}"
    local code=$?
    printf '\n(exit status %s)\n' "$code"
    [ "$code" -eq "$expected" ] || { echo "the tour expected exit status $expected"; exit 1; }
}

samples=sample_checkpoints
expected=0
show "1. A sound checkpoint: a windowed aggregation that stopped cleanly." \
    inspect $samples/4.2.0-windowed-agg-rocksdb-sound/checkpoint
show "2. A query that was killed after its sink had the batch and before it was committed." \
    inspect $samples/4.2.0-file-to-parquet-last-commit-missing/checkpoint
show "3. The same batch, step by step." \
    inspect $samples/4.2.0-file-to-parquet-last-commit-missing/checkpoint --batch 4
show "4. Its history." \
    inspect $samples/4.2.0-file-to-parquet-last-commit-missing/checkpoint --timeline
expected=1
show "5. A damaged checkpoint: one offsets file is gone, and Spark will not start." \
    inspect $samples/3.5.7-file-to-parquet-previous-offset-missing/checkpoint
show "6. What a restart of it would do, and the way out." \
    plan-recovery $samples/3.5.7-file-to-parquet-previous-offset-missing/checkpoint \
    --sink $samples/3.5.7-file-to-parquet-previous-offset-missing/output
expected=0
show "7. What changed between two batches." \
    diff $samples/4.2.0-file-to-parquet-sound/checkpoint:1 $samples/4.2.0-file-to-parquet-sound/checkpoint:3
python docs/live_demo.py || exit 1
python docs/change_demo.py || exit 1
printf '\nNext: ckpt --help, README.md\n'
