"""What is kept of a crash: all that the judge needs, as plain values and as JSON, so that it works without Spark.

A `Run` is what many crashes share: the scenario and its input. A `Case` is one crash, or several in a row, and what
came of it. A file of histories has one JSON object per line: first the run, then a case per line, appended as they
are recorded. Whoever records writes down what was seen and concludes nothing; what was not looked at stays None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ckpttool.literals import shell_path
from ckpttool.model import Json

SCHEMA = "ckpt.crash-history/1"
AGAIN = "ckpt crash-test replay "

Fields = Mapping[str, Json]
Mode = Literal["image", "kill", "torn", "executor", "none"]
Window = Literal["rebuilt", "replayed", "in-effect", "doubled", "done"]
SinkKind = Literal["delta", "file", "kafka", "foreachBatch"]
Guarantee = Literal["exactly-once", "at-least-once"]

# The steps of a micro-batch, in the order in which Spark takes them.
STEPS = {
    1: "start",
    2: "source offset",
    3: "offset log",
    4: "plan",
    5: "execution",
    6: "tasks and state",
    7: "sink",
    8: "commit log",
}


class Recorded(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What has a place in a file of histories."""


# -- what goes in ------------------------------------------------------------------------------------------------------


class Record(Recorded, frozen=True, kw_only=True):
    """One input row, and where in its source it stands, in the source's own terms.

    kafka: `place` `<topic>/<partition>`, `position` the offset. file: `place` the file's name, `position` the line.
    rate-micro-batch: `place` "", `position` the value. delta: `place` the table's version, `position` the number of the
    file in it. `fields` are the columns as the query sees them; times are milliseconds."""

    source: int
    place: str
    position: int
    fields: Fields


class QuerySource(Recorded, frozen=True, kw_only=True):
    """`kind` as in `connectors`: file, kafka, rate-micro-batch, delta."""

    index: int
    kind: str


class Transformation(Recorded, frozen=True, kw_only=True):
    """What the query does with its input: the name of a fold in `fold.py`, and its parameters."""

    kind: str
    settings: Fields = {}


class Sink(Recorded, frozen=True, kw_only=True):
    """`app_id`: the txnAppId of foreachBatch with Delta; None: the query's id. `ledger`: it records batch ids.
    `effect`: rows are added, or put in place of those with the same identity (MERGE)."""

    kind: SinkKind
    path: str
    ledger: bool
    app_id: str | None = None
    effect: Literal["append", "upsert"] = "append"


class Run(Recorded, frozen=True, kw_only=True):
    """What the cases of one file share.

    `identity`: the columns that name a row in the sink. `control`: what must be seen, or the judge is blind.
    `undisturbed`: the sink's rows after a run without a crash, for jobs whose doing nobody knows (operator `job`)."""

    scenario: str
    seed: int
    spark_version: str
    sources: tuple[QuerySource, ...]
    operator: Transformation
    sink: Sink
    guarantee: Guarantee
    control: Literal["duplicates", "loss"] | None = None
    identity: tuple[str, ...]
    conf: Mapping[str, str] = {}
    records: tuple[Record, ...]
    undisturbed: tuple[Fields, ...] | None = None


# -- what lay on the disk ----------------------------------------------------------------------------------------------


class ObservedCommit(Recorded, frozen=True, kw_only=True):
    """One entry of the sink's own log: a version of the Delta table, or a file of `_spark_metadata`.

    `rows`: what it added, None: not read. `files`: the paths that it added. `operation`: commitInfo's (`STREAMING
    UPDATE`, `WRITE`, `MERGE`, `RESTORE`, …). `restored_to`: the version that a RESTORE went back to.
    A compacted file of `_spark_metadata` is given as what it adds to the one before."""

    version: int
    app_id: str | None = None
    batch_id: int | None = None
    operation: str | None = None
    restored_to: int | None = None
    files: tuple[str, ...] = ()
    rows: tuple[Fields, ...] | None = None


class Disk(Recorded, frozen=True, kw_only=True):
    """The checkpoint and the sink at one moment, every process frozen or gone.

    `metadata`, `offsets`, `commits`: the files' texts, batch → text (bytes that are not UTF-8 with backslash escapes).
    `source_logs`: file sources only, source → entry → text; a compacted one is given under its number, in place of the
    entry. `sink`: its log, oldest first; None: it has none. `visible`: rows as a reader of the sink gets them (through
    the manifest, or the Delta log); None: not read. `garbage`: paths of temporary files and of data files that no log
    names. `state_files`: paths below `state/`."""

    metadata: str | None = None
    offsets: Mapping[int, str] = {}
    commits: Mapping[int, str] = {}
    source_logs: Mapping[str, Mapping[int, str]] = {}
    sink: tuple[ObservedCommit, ...] | None = None
    visible: tuple[Fields, ...] | None = None
    garbage: tuple[str, ...] | None = None
    state_files: tuple[str, ...] | None = None


# -- the crash, and what came of it ------------------------------------------------------------------------------------


class Proof(Recorded, frozen=True, kw_only=True):
    """That the crash was where it is said to be. None: does not apply to this mode.

    `armed`: code was found for the point. `hit`: the point was reached, with this batch and count. `dead`: the process
    (or the executor) is gone by SIGKILL. `witness`: the disk is what it has to be there. `note`: what was seen."""

    armed: bool
    hit: bool
    dead: bool | None
    witness: bool | None
    note: str = ""


class Crash(Recorded, frozen=True, kw_only=True):
    """One crash. `step`: 1–8 of `STEPS`. `window`: where in the life of batch `batch_id` the point stands, for a sink
    with this scenario's effect; None: another thread's point, which may stand anywhere.

    rebuilt: before offsets/N is there. replayed: after it, before any effect on the sink. in-effect: while rows become
    visible. doubled: all rows are visible, commits/N is not there. done: after commits/N.
    `edit`: what was done to the image by hand (mode torn). `disk`: what the crash left."""

    point: str
    step: int
    batch_id: int | None
    nth: int
    mode: Mode
    window: Window | None
    partition: int | None = None
    edit: str | None = None
    proof: Proof
    disk: Disk


class ObservedFailure(Recorded, frozen=True, kw_only=True):
    """Why a restart ended: the root cause's class, the most specific condition in the chain, the message's beginning.
    `phase` and `batch_id` as in `ckpt plan-recovery`."""

    class_name: str
    condition: str | None
    message: str
    phase: Literal["start", "init", "batch"] | None = None
    batch_id: int | None = None


class ObservedRestart(Recorded, frozen=True, kw_only=True):
    """One start after the crash. `first_batch`: the batch that ran first, None: none did. `by_hand`: what a person did
    before it (a way out)."""

    run_id: str | None
    first_batch: int | None
    failure: ObservedFailure | None
    by_hand: tuple[str, ...] = ()


class Released(Recorded, frozen=True, kw_only=True):
    """A source was told that a batch is done with, while `committed` was the newest file of the commit log.
    `batch_id`: whose offsets had been looked up for it; None: nobody knows."""

    source: int
    batch_id: int | None
    committed: int | None


class StateRow(Recorded, frozen=True, kw_only=True):
    """A row of a state store as Spark's `statestore` source shows it; `store` "default" where there is only one."""

    operator: int
    store: str
    partition: int
    key: Json
    value: Json


class Prediction(Recorded, frozen=True, kw_only=True):
    """What our own plan-recovery said of the crash's disk. The words are those of `ckpt.plan-recovery/1`; `sinks` are
    its verdicts, `findings` the ids of those of severity error."""

    outcome: str
    batch_id: int | None = None
    phase: str | None = None
    class_name: str | None = None
    condition: str | None = None
    sinks: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    why: str = ""


class Case(Recorded, frozen=True, kw_only=True):
    """One crash, or several in a row (the second in the recovery of the first), and what came of it.

    `name` is unique in its file. `drained`: the last restart read all there was and ended by itself. `after`: the disk
    then; `after.visible` are the sink's rows. `state`: batch → rows of the state after it (the `batchId` of Spark's
    `statestore` source), None: the query has none, or it was not read, `state_why`.
    `run_ids`: of the runs before the crash. `released`: None: nobody watched. `planted`: rows taken out of the sink by
    hand after the drain, which the judge has to miss. `way_out`: the option of plan-recovery that was carried out, and
    `rewound_to` the batch that it kept last. `image`: where the image is kept, `replay`: the command that repeats it.
    """

    name: str
    crashes: tuple[Crash, ...]
    run_ids: tuple[str, ...] = ()
    restarts: tuple[ObservedRestart, ...]
    drained: bool
    after: Disk
    state: Mapping[int, tuple[StateRow, ...]] | None = None
    state_why: str | None = None
    released: tuple[Released, ...] | None = None
    prediction: Prediction | None = None
    planted: tuple[Fields, ...] = ()
    way_out: str | None = None
    rewound_to: int | None = None
    image: str | None = None
    replay: str = ""
    seconds: float | None = None

    @property
    def again(self) -> str:
        """`replay`, if it is that command: a history may be somebody else's, and so may be what is written there."""
        words = self.replay.removeprefix(AGAIN)
        is_ours = self.replay.startswith(AGAIN) and words in (shell_path(words), shell_path(self.image or ""))
        return self.replay if is_ours else ""


class Histories(Struct, frozen=True):
    """A file of histories. `torn`: its last line was cut, as when the harness itself was killed."""

    run: Run
    cases: tuple[Case, ...]
    torn: bool = False
