"""Writes what the runbooks have from elsewhere: what their commands print, the findings that each is about, the index
of texts.

`python docs/generate_runbooks.py` writes, `python docs/generate_runbooks.py --check` fails if a page is stale. In

    <!-- run: SAMPLE; DAMAGE ARGUMENTS; … -->
    ```console
    $ ckpt …
    ```
    <!-- /run -->

the commands are written by hand. They are run one after the other in a copy of the sample, with these damages done to
its checkpoint (tests/samples/damage.py); below each stand the first line that it prints, as far as it goes, and its
exit status. `$CKPT` is the checkpoint. `NAME=VALUE` among the damages gives other words in capitals, `NAME=@SAMPLE` one
for another sample beside. `driver.log` is the first text that the page shows as a symptom, or the log of
tests/driver_logs that `log=` names. `broker=TOPIC:FIRST:END` has a broker with that topic, of two partitions, at
`$BROKER`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # run as a script, this file sees docs/ only

from ckpttool.laws.base import Law  # noqa: E402
from ckpttool.laws.book import every  # noqa: E402
from ckpttool.laws.recognise import Cause  # noqa: E402
from ckpttool.laws.runbooks import RUNBOOKS, runbook_of  # noqa: E402
from tests.conftest import run_ckpt  # noqa: E402
from tests.parts.mock_broker import MockBroker  # noqa: E402
from tests.samples.damage import DAMAGES  # noqa: E402
from tests.samples.place import about, place_sample  # noqa: E402
from tests.unit.laws.inputs.lake import Lake, offset  # noqa: E402

PAGES = ROOT / "docs" / "runbooks"
INDEX = PAGES / "README.md"
LOGS = ROOT / "tests" / "driver_logs"
RUN = re.compile(r"(<!-- run: (?P<on>[^>]+?) -->\n```console\n)(?P<lines>.*?)(```\n<!-- /run -->)", re.DOTALL)
TEXT = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ABOUT = re.compile(r"(<!-- findings -->\n).*?(<!-- /findings -->)", re.DOTALL)
ERRORS = re.compile(r"(<!-- errors: (?P<of>\w+) -->\n).*?(<!-- /errors -->)", re.DOTALL)
# These look twice, for queries that run: none does here.
AT_ONCE = {"apply": ("--settle", "0s"), "undo": ("--settle", "0s")}
CLOCKS = ("doctor", "explain")
MADE_MS = 1_700_000_000_000


def iceberg_expired(place: Path) -> Path:
    lake = Lake(place / "lake")
    lake.ran(offset(1), offset(2), committed=2)
    lake.expire(1, 2)
    for path in place.rglob("*"):
        os.utime(path, (MADE_MS // 1000, MADE_MS // 1000))
    return lake.checkpoint


# Where there is no sample that Spark made.
MADE = {"iceberg-expired": iceberg_expired}


def refreshed(path: Path) -> str:
    page = path.read_text(encoding="utf-8")
    page = ABOUT.sub(lambda match: f"{match[1]}{_about(path.stem)}\n{match[2]}", page)
    page = ERRORS.sub(lambda match: f"{match[1]}{_errors(match['of'])}\n{match[3]}", page)
    symptoms = symptoms_of(page)
    return RUN.sub(lambda match: f"{match[1]}{ran(match['on'], match['lines'], symptoms)}{match[4]}", page)


def symptoms_of(page: str) -> list[str]:
    """The texts under the first heading, as Spark words them."""
    return TEXT.findall(page.partition("\n## Symptom\n")[2].partition("\n## ")[0])


# -- what the commands print -------------------------------------------------------------------------------------------


def ran(on: str, lines: str, symptoms: list[str]) -> str:
    sample, *edits = (part.strip() for part in on.split(";"))
    given = dict(edit.split("=", 1) for edit in edits if re.match(r"\w+=", edit))
    damages = [shlex.split(edit) for edit in edits if not re.match(r"\w+=", edit)]
    with contextlib.ExitStack() as running:
        place = Path(running.enter_context(tempfile.TemporaryDirectory())).resolve()
        words = _placed(place, sample, damages)
        (place / "driver.log").write_text(_log(given.pop("log", None), symptoms), encoding="utf-8")
        words |= {name: _beside(place, name, value) for name, value in given.items() if name != "broker"}
        if told := given.get("broker"):
            words["BROKER"] = running.enter_context(_broker(told))
        commands = re.findall(r"^\$ (.*?[^\\])$", lines, re.DOTALL | re.MULTILINE)
        return "".join(_shown(command, place, words, _hour_after(sample)) for command in commands)


def _placed(place: Path, sample: str, damages: list[list[str]]) -> dict[str, str]:
    """The words that commands may use. What a damage writes is as old as all the rest."""
    checkpoint = MADE[sample](place) if sample in MADE else place_sample(sample, place)
    times = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    for name, *arguments in damages:
        DAMAGES[name](checkpoint, *(_argument(word) for word in arguments))
    for path in place.rglob("*"):
        at = times.get(path, max(times.values()))
        os.utime(path, ns=(at, at))
    return {"CKPT": str(checkpoint.relative_to(place))}


def _argument(word: str) -> str | int:
    return int(word) if word.isdigit() else word.replace("\\n", "\n")


def _beside(place: Path, name: str, value: str) -> str:
    """`@SAMPLE`, or a path in it: another sample, placed beside; of nothing else its checkpoint."""
    if not value.startswith("@"):
        return value
    sample, _, path = value[1:].partition("/")
    checkpoint = place_sample(sample, place / name.lower())
    return str((place / name.lower() / path if path else checkpoint).relative_to(place))


def _hour_after(sample: str) -> str:
    """The time that it is for whoever looks."""
    made_ms = MADE_MS if sample in MADE else max(about(sample)["modified_ms"].values())
    made = datetime.fromtimestamp(made_ms / 1000, UTC)
    return f"{made + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"


def _log(name: str | None, symptoms: list[str]) -> str:
    return (LOGS / name).read_text(encoding="utf-8") if name else (symptoms or [""])[0]


@contextlib.contextmanager
def _broker(told: str) -> Iterator[str]:
    topic, first, end = told.split(":")
    with MockBroker(topic, partitions=2) as broker:
        broker.fill(int(first), int(end))
        yield broker.address


def _shown(command: str, place: Path, words: Mapping[str, str], now: str) -> str:
    program, *arguments = shlex.split(
        re.sub(r"\$(\w+)", lambda name: words[str(name[1])], command.replace("\\\n", " "))
    )
    assert program == "ckpt", command
    after = AT_ONCE.get(arguments[0], ())
    if arguments[0] in CLOCKS:
        after = ("--now", now)
    outcome = run_ckpt(*arguments, *after, cwd=place)
    printed = re.match(
        r"(?P<line>.*(?:\n {5,}\S.*)*)", (outcome.out.strip() or outcome.err.strip()).replace(f"{place}/", "")
    )
    assert printed
    return f"$ {command}\n{printed['line']}\n[exit status {outcome.code}]\n"


# -- what is told of laws ----------------------------------------------------------------------------------------------


def _about(name: str) -> str:
    documented = re.findall(r"^### `([^`]+)`$", (ROOT / "docs" / "findings.md").read_text("utf-8"), re.MULTILINE)
    links = [f"[`{law}`](../findings.md#{law.lower()})" if law in documented else f"`{law}`" for law in RUNBOOKS[name]]
    return f"It is about {', '.join(links)}."


def _errors(of: str) -> str:
    """Each text by which a law is recognised, and where to read on; where it may be several, the likeliest first."""
    found: dict[str, list[Law]] = defaultdict(list)
    for law in every():
        for text in law.errors:
            if system_of(law, text) == of:
                found[text].append(law)
    rows = [
        f"| {_cell(text)} | {', '.join(_links(text, laws))} |"
        for text, laws in sorted(found.items(), key=lambda one: one[0].lstrip("/… ").lower())
    ]
    return "\n".join(["| it says | read |", "| --- | --- |", *rows])


def system_of(law: Law, text: str) -> str:
    """In whose table it is looked for: those texts that say little by themselves have one of their own."""
    if Cause(law, text).is_vague:
        return "vague"
    parts = law.id, Path(runbook_of(law.id) or "").stem, text.lower().replace("_", "-")
    words = {part.split("-")[0] for part in parts}
    return next((system for system in ("kafka", "delta", "iceberg", "hudi") if system in words), "spark")


def _cell(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


def _links(text: str, laws: list[Law]) -> Iterator[str]:
    likeliest = sorted(laws, key=lambda law: Cause(law, text).weight, reverse=True)
    names = dict.fromkeys(Path(runbook).stem for law in likeliest if (runbook := runbook_of(law.id)))
    return (f"[{name}]({name}.md)" for name in names)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"usage: {Path(__file__).name} [--check]", file=sys.stderr)
        return 2
    pages = sorted(PAGES.glob("*.md"))
    stale = {path: new for path in pages if (new := refreshed(path)) != path.read_text(encoding="utf-8")}
    for path, current in stale.items():
        if arguments:
            print(f"{path} is stale: run `python docs/generate_runbooks.py`", file=sys.stderr)
        else:
            path.write_text(current, encoding="utf-8")
            print(f"wrote {path}")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
