"""Whole commands over checkpoints that were damaged and built: they answer, whatever they read.

    python -m tests.fuzz.commands --inputs 500 [--seed 1]     the inputs 0 to 499 of this seed
    python -m tests.fuzz.commands --seconds 3600 --seed 7
    python -m tests.fuzz.commands --input 123 --seed 1        one of them alone; --keep DIRECTORY leaves it there

For each command: an exit status that is documented, no bug of ours, no signal, no traceback, nothing that cannot be
printed, JSON that is JSON, no secret, no connection, nothing written but to the temporary directory and nothing left
there; at most 512 MB of memory, and 10 seconds of the processor. An input that breaks this is cut down to the edits
that matter, and printed with the command that repeats it; the exit status is 1.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from tests.fuzz import applies
from tests.fuzz.edits import NAMES, OUTSIDE, TEXTS, Edit, entries_of, some_edits
from tests.fuzz.smallest import smallest
from tests.fuzz.worker import ADDRESS_BYTES, CONNECTS, Ran, import_all, run
from tests.samples.place import REPOSITORY, place_sample, sample_names
from tests.unit.rehearsal.acting import python_that_acts

PEAK_BYTES = 512_000_000
CPU_S = 10.0
SECRET = "hunter2-canary"
SECRET_URL = f"s3a://user:{SECRET}@lake/sums"
DOCUMENTED = (0, 1, 2, 3, 4, 5, 6)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
KNOWN_BAD = Path(__file__).resolve().parents[1] / "known_bad"

# {} is the checkpoint, {sink} what lies beside it, {new} a directory that is not there yet. {acts} stands in for a
# Python that has Spark, and acts a {job} that says and writes some text.
FORMS = ("", "--format json", "--format text --color always")
ROW_FORMS = (*FORMS, "--format csv", "--format jsonl", "--format table", "--format csv --no-csv-safe")
WISHES = (
    "rewind {} --to-batch 1",
    "drop-batch {}",
    "skip-batch {}",
    "query-id {} --new",
    "query-id {} --from-sink",
    "query-id {} --set 11111111-2222-4333-8444-555555555555",
    "renumber {} --above-sink",
    "gc {}",
    "sink-ledger {} --set 1",
    "watermark {} --set 2026-01-01T00:00:00Z",
    "rename-found {}",
    "offsets {} --set t=1 --bootstrap-server 127.0.0.1:9",
    "source {} add 1",
    "source {} drop 0",
    "source {} reset 0",
    "clone {} {new} --new-id",
    "fork {} {new}",
    "relocate {} {new}",
    "restore-offsets {} 1 --progress {}/metadata",
    "restore-offsets {} 1 --progress {}/offsets/1",
)
COMMANDS: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
    ("inspect {}", FORMS, (
        "--timeline", "--batch 1", "--batches all", "--batches 1", "--listing full", "--read-limit other=1",
    )),
    ("plan-recovery {}", FORMS, (
        "--sink {sink}", "--spark-version 4.2", "--spark-version 3.5.7", "--state quick", "--to-batch 1",
        "--to-batch 0", "--to-time 2026-01-01T00:00:00Z", "--option path={sink}", "--look-at /", "--trigger once",
        "--sink kafka", "--option startingOffsets=earliest", "--conf spark.sql.shuffle.partitions=3", "--txn-app-id x",
        "--known-topic-ids {}/metadata", "--trigger continuous --spark-version 4.1",
    )),
    ("doctor {}", (*FORMS, "--format junit"), (
        "--sink {sink}", "--spark-version 3.5.7", "--profile quick", "--profile full --verbose",
        "--baseline {}/metadata", "--ignore looks-alive@offsets", "--fail-on warning", "--only offset-file-torn",
        "--option path={sink}",
    )),
    ("explain {}/offsets/1 --checkpoint {}", FORMS, ("--verbose", "--sink {sink}", "--profile quick")),
    *(
        (f"plan {wish}", FORMS, (
            "--sink {sink}", "--spark-version 4.2", "--spark-version 3.5.7", "--state quick", "--sink kafka",
            "--txn-app-id x", "--trigger once",
        ))
        for wish in WISHES
    ),
    ("log {}", (*FORMS, "--format jsonl"), ("--batches all", "--batches 2")),
    ("files {} 0.json", (*FORMS, "--format jsonl"), ()),
    ("check-change {} --query {}", FORMS, (
        "--was {}", "--strict", "--spark-version 3.5.7", "--state quick", "--option 0.failOnDataLoss=false",
    )),
    ("query describe {}", FORMS, ()),
    ("rehearse {} --job {}/metadata --python false", FORMS, (
        "--batches 2", "--was-job {}/metadata", "--identity id", "--sink run --yes",
    )),
    ("rehearse {} --job {job} --was-job {job} --python {acts}", FORMS, (
        "--sink run --yes", "--sink run --yes --identity id", "--sink run --yes --batches 3", "--rows 1",
        "--watch {sink}",
    )),
    ("scan {}/..", (*FORMS, "--format jsonl"), ("--depth 1",)),
    ("diff {} {}", FORMS, ()), ("diff {}:0 {}:1", FORMS, ()),
    ("kafka diff {} --bootstrap-server 127.0.0.1:9 --timeout 0.1", FORMS, ("--export-metrics", "--all", "--when")),
    ("kafka starting-offsets {}", FORMS, ("--source 0", "--map t=u", "--known-topic-ids {}/metadata")),
    ("state list {}", FORMS, ("--batch 1",)),
    ("state count {}", FORMS, ("--exact", "--batch 1", "--jobs 2")),
    ("state rows {}", ROW_FORMS, (
        "--limit 5", "--operator 0", "--store left", "--store default", "--where key!=1", "--batch 2",
        "--schema {}/metadata", "--store right-keyWithIndexToValue",
    )),
    ("state get {} 1", ROW_FORMS, ("--store left", "--operator 0")),
    ("state diff {} --batch 1 --batch 2", ROW_FORMS, ("--store default", "--operator 0")),
    ("state export {} {new}", FORMS, ("--to csv", "--to jsonl", "--to arrow", "--store left", "--mode 640")),
    ("state verify {}", FORMS, ("--sample 1/2", "--spark-version 3.5", "--jobs 2")),
    ("state size {}", FORMS, ("--retain 2",)),
)  # fmt: skip
OF_HISTORIES: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
    ("crash-test report {}", (*FORMS, "--format junit"), ()),
    ("crash-test replay {}/images/x/0001", (*FORMS, "--format junit"), ("--python false",)),
    ("crash-test replay 7 --scratch {}", FORMS, ()),
)
# {plan} lies beside the checkpoint, {accepts} is what it asks, {id} and {lock} are those of an apply in the checkpoint.
QUIETLY = "--settle 0s --yes {accepts}"
OF_APPLIES: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
    (f"apply {{plan}} {QUIETLY}", FORMS, ("--dry-run", "--spark-version 3.5", "--lock-timeout 10ms")),
    (f"apply --resume {{}} {QUIETLY}", FORMS, ("--dry-run", "--look-at {sink}", "--done 1", "--iceberg-table a.b.c")),
    (
        f"undo {{}} {QUIETLY}",
        FORMS,
        ("--dry-run", "--look-at {sink}", "--id {id}", "--done 1", "--iceberg-table a.b.c"),
    ),
    ("undo {} --list", FORMS, ("--look-at {sink}",)),
    ("undo {} --forget {id}", ("",), ()),
    ("unlock {} {lock}", FORMS, ()),
    ("inspect {}", FORMS, ()),
    ("plan-recovery {}", FORMS, ("--sink {sink}",)),
)
SECRETS = (f"--storage-option s3:secret={SECRET}", f"--storage-option abfs:account_key={SECRET}")


class Input(NamedTuple):
    """`base`: a sample, a file of histories, or a stage of an apply, which ended after so many `calls`."""

    base: str
    edits: tuple[Edit, ...]
    command: str
    calls: int = 0

    @property
    def is_of_apply(self) -> bool:
        return self.base.startswith(applies.PREFIX)

    def place(self, root: Path) -> Path:
        """What the command reads."""
        if self.is_of_apply:
            made = applies.place(self.base, self.calls, root)
        elif self.base.endswith(".jsonl"):
            made = root / "trial"
            (made / "histories").mkdir(parents=True)
            (made / "images/x/0001").mkdir(parents=True)
            shutil.copy(KNOWN_BAD / self.base, made / "histories" / self.base)
            (made / "settings.json").write_text('{"seed":7,"python":"/bin/true","scenarios":["x"]}')
        else:
            made = place_sample(self.base, root)
        for edit in self.edits:
            edit.apply(root)
        return made


@cache
def _histories() -> list[str]:
    return sorted(path.name for path in KNOWN_BAD.glob("*.jsonl"))


@cache
def _stateful() -> list[str]:
    return [name for name in sample_names() if (REPOSITORY / name / "checkpoint/state").is_dir()]


def input_of(seed: int, number: int) -> Input:
    chance = random.Random(f"{seed}:{number}")
    if chance.random() < 0.15:
        return apply_of(chance)
    is_history = chance.random() < 0.1
    command, forms, options = chance.choice(OF_HISTORIES if is_history else COMMANDS)
    base = chance.choice(_histories() if is_history else _stateful() if command.startswith("state") else sample_names())
    more = chance.sample(options, min(len(options), chance.choice((0, 1, 1, 2))))
    secrets = [chance.choice(SECRETS)] if not is_history and chance.random() < 0.2 else []
    typed = [as_typed(chance.choice((*TEXTS, *NAMES)))] if chance.random() < 0.02 else []
    words = " ".join((command, chance.choice(forms), *more, *secrets))
    return Input(base, tuple(some_edits(chance)), "\0".join([*words.split(), *typed]))


def apply_of(chance: random.Random) -> Input:
    command, forms, options = chance.choice(OF_APPLIES)
    more = chance.sample(options, min(len(options), chance.choice((0, 1))))
    words = " ".join((command, chance.choice(forms), *more))
    calls = chance.choice((0, chance.randrange(applies.CALLS), applies.CALLS * 10))
    edits = tuple(some_edits(chance, of_plans=True))
    return Input(chance.choice(applies.bases()), edits, "\0".join(words.split()), calls)


def as_typed(text: str) -> str:
    """As Python has it from a shell, which hands over bytes that are no UTF-8, but no half of a character."""
    return text.replace("\0", "").encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")


# -- what must hold ----------------------------------------------------------------------------------------------------

Rule = Callable[[list[str], Ran], str | None]


def is_plan_typed(arguments: list[str]) -> bool:
    """Which leads to where it says."""
    return arguments[0] == "apply" and "--resume" not in arguments


def ends_well(arguments: list[str], ran: Ran) -> str | None:
    if ran.signal:
        return f"ended by {ran.signal}"
    if ran.code == CONNECTS:
        return None if is_plan_typed(arguments) else "it turned to the network"
    return None if ran.code in DOCUMENTED else f"exit status {ran.code}"


def tells_no_trace(_: list[str], ran: Ran) -> str | None:
    return "a traceback" if b"Traceback (most" in ran.out + ran.err else None


def is_printable(_: list[str], ran: Ran) -> str | None:
    for name, stream in (("standard output", ran.out), ("standard error", ran.err)):
        try:
            text = COLOUR.sub("", stream.decode())
        except UnicodeDecodeError as error:
            return f"{name} is not UTF-8: {error}"
        bad = next((line for line in text.replace("\r\n", "\n").split("\n") if not line.isprintable()), None)
        if bad is not None:
            return f"{name} has {bad!r}"
    return None


def keeps_secrets(_: list[str], ran: Ran) -> str | None:
    return "a secret is shown" if SECRET.encode() in ran.out + ran.err else None


def has_its_form(arguments: list[str], ran: Ran) -> str | None:
    form = arguments[arguments.index("--format") + 1] if "--format" in arguments else "text"
    if ran.code == 2 or "--export-metrics" in arguments or "--help" in arguments:
        return None
    try:
        parse(form, ran.out.decode())
    except (ValueError, ElementTree.ParseError, csv.Error) as error:
        return f"no {form}: {error}"
    return None


def parse(form: str, text: str) -> None:
    if form == "json":
        json.loads(text)
    elif form == "jsonl":
        [json.loads(line) for line in text.splitlines()]
    elif form == "junit":
        ElementTree.fromstring(text)
    elif form == "csv":
        rows = list(csv.reader(text.splitlines(keepends=True)))
        if len({len(row) for row in rows}) > 1:
            raise ValueError("rows of different lengths")


def costs_little(_: list[str], ran: Ran) -> str | None:
    if ran.peak_bytes > PEAK_BYTES:
        return f"took {ran.peak_bytes // 10**6} MB"
    return f"took {ran.cpu_s:.1f} s" if ran.cpu_s > CPU_S else None


RULES: Sequence[Rule] = (ends_well, tells_no_trace, is_printable, keeps_secrets, has_its_form, costs_little)


@dataclass
class Tried:
    """What all commands together came to."""

    commands: int = 0
    codes: dict[int | None, int] = field(default_factory=dict)
    slowest: tuple[float, int] = (0, 0)
    fattest: tuple[int, int] = (0, 0)

    def add(self, number: int, ran: Ran) -> None:
        self.commands += 1
        self.codes[ran.code] = self.codes.get(ran.code, 0) + 1
        self.slowest = max(self.slowest, (ran.cpu_s, number))
        self.fattest = max(self.fattest, (ran.peak_bytes, number))

    def __str__(self) -> str:
        codes = ", ".join(f"{code}: {self.codes[code]:,}" for code in sorted(self.codes, key=str))
        return (
            f"{self.commands:,} commands (exit statuses {codes}); "
            f"at most {self.slowest[0]:.1f} s (input {self.slowest[1]}) and "
            f"{self.fattest[0] // 10**6} MB (input {self.fattest[1]})"
        )


def try_input(one: Input, place: Path) -> tuple[Ran, str | None]:
    """In an empty directory; what is broken, None if nothing is."""
    for name in ("data", "here", "tmp", "made"):
        (place / name).mkdir()
    checkpoint = one.place(place / "data")
    places = {
        "{}": str(checkpoint), "{sink}": str(checkpoint.parent / "output"), "{new}": str(place / "made/new"),
        "{plan}": str(place / "data/plan.json"),
        "{id}": applies.id_in(checkpoint), "{lock}": applies.lock_in(checkpoint),
        "{acts}": str(place / "made/python"), "{job}": str(place / "made/job.py"),
    }  # fmt: skip
    if "{acts}" in one.command:
        python_that_acts(place / "made")
        says = random.Random(f"{one.base} {one.edits}").choice((*TEXTS, SECRET_URL))
        (place / "made/job.py").write_text(json.dumps({"step": 1, "says": says, "at_random": True}))
    arguments = [
        as_typed(re.sub(r"\{\w*\}", lambda found: places[str(found[0])], word))
        for given in one.command.split("\0")
        for word in (_accepting(place / "data/plan.json") if given == "{accepts}" else [given])
    ]
    watched = WATCHED_OF_APPLIES if one.command.split("\0")[0] in CHANGING else WATCHED
    before = look_of(place, watched)
    ran = run(arguments, place, confined=one.is_of_apply)
    after = look_of(place, watched)
    broken = [said for rule in RULES if (said := rule(arguments, ran))]
    if before != after and not is_plan_typed(arguments):
        broken.append(f"written: {sorted(str(path) for path, _ in before ^ after)[:3]}")
    return ran, "; ".join(broken) or None


WATCHED = ("data", "here", "tmp")
WATCHED_OF_APPLIES = (f"data/{OUTSIDE}", "here", "tmp")
CHANGING = ("apply", "undo", "unlock")


def _accepting(plan: Path) -> list[str]:
    return [word for one in applies.accepted(plan) for word in ("--accept", one)]


def look_of(place: Path, watched: Sequence[str] = WATCHED) -> set[tuple[Path, tuple[int, ...]]]:
    """All that a command may neither change nor leave; times of access may change."""
    return {
        (path, (found.st_mode, found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns))
        for name in watched
        if (place / name).is_dir() and not (place / name).is_symlink()  # an edit may have taken it away
        for path in (place / name, *entries_of(place / name))
        if (found := path.lstat())
        if not (name == "tmp" and path == place / name)  # what was there is gone again
    }


# -- going through them ------------------------------------------------------------------------------------------------


class Grounds:
    """Empty directories, one for each input."""

    def __init__(self, root: Path) -> None:
        self.root, self.count = root, 0

    def fresh(self) -> Path:
        if self.count:
            clear(self.root / str(self.count))
        self.count += 1
        place = self.root / str(self.count)
        place.mkdir(0o700)
        return place


def clear(path: Path) -> None:
    for directory, _, _ in os.walk(path):
        os.chmod(directory, 0o700)
    shutil.rmtree(path)


def told(one: Input, seed: int, number: int, problem: str, ran: Ran, grounds: Grounds) -> str:
    def is_broken(edits: tuple[Edit, ...]) -> bool:
        said = try_input(one._replace(edits=edits), grounds.fresh())[1]
        return said is not None and said[:12] == problem[:12]

    less = one._replace(edits=smallest(one.edits, is_broken, tries=20))
    lines = [
        f"input {number} of seed {seed}: {problem}",
        f"  ckpt {' '.join(map(repr, less.command.split(chr(0))))}",
        f"  over {less.base}, after {', '.join(f'{edit.kind} {edit.seed}' for edit in less.edits)}",
        f"  again: python -m tests.fuzz.commands --seed {seed} --input {number} --keep DIRECTORY",
        *(f"  | {line[:300]}" for line in ran.err.decode(errors="replace").splitlines()[-12:]),
    ]
    return "\n".join(lines) + "\n"


def numbers_of(given: argparse.Namespace) -> Iterator[int]:
    until = time.monotonic() + given.seconds
    number = 0
    while number < given.inputs and time.monotonic() < until:
        yield number
        number += 1


def go_through(given: argparse.Namespace) -> int:
    tried, failed = Tried(), 0
    with tempfile.TemporaryDirectory(prefix="ckpt-fuzz-") as root:
        grounds = Grounds(Path(root))
        for number in numbers_of(given):
            one = input_of(given.seed, number)
            ran, problem = try_input(one, grounds.fresh())
            tried.add(number, ran)
            if problem:
                failed += 1
                sys.stdout.write(told(one, given.seed, number, problem, ran, grounds))
                sys.stdout.flush()
        clear(grounds.fresh())
    sys.stdout.write(f"{tried}; {failed or 'nothing'} found\n")
    return 1 if failed else 0


def go_through_one(given: argparse.Namespace) -> int:
    """With the traceback of a bug."""
    one = input_of(given.seed, given.input)
    one = one._replace(command=f"--debug\0{one.command}")
    with tempfile.TemporaryDirectory(prefix="ckpt-fuzz-") as root:
        place = given.keep or Path(root, "1")
        place.mkdir(parents=True)
        ran, problem = try_input(one, place)
        sys.stdout.write(f"{one}\n{ran.out.decode(errors='replace')}{ran.err.decode(errors='replace')}")
        sys.stdout.write(f"exit status {ran.code}, {ran.cpu_s:.2f} s, {ran.peak_bytes // 10**6} MB: {problem}\n")
        if not given.keep:
            clear(place)
    return 1 if problem else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inputs", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--input", type=int)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    os.environ.update(AWS_SECRET_ACCESS_KEY=SECRET, OPENBLAS_NUM_THREADS="1", TZ="UTC")
    with tempfile.TemporaryDirectory(prefix="ckpt-fuzz-") as state:
        os.environ["XDG_STATE_HOME"] = state
        import_all()
        return go_through(given) if given.input is None else go_through_one(given)


if __name__ == "__main__":
    sys.exit(main())
