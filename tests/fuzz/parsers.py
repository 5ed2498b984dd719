"""Mutated files of real checkpoints against every parser: a value or `MalformedFile`, soon.

    python -m tests.fuzz.parsers --inputs 1000000 [--seed 7]     random mutations
    python -m tests.fuzz.parsers --seconds 600 --guided          led by coverage, with the extra `fuzz`

An input breaks the rule if its parser raises anything else, takes longer than a second, or has an error with a message
that nobody would print. It is cut down as far as it breaks the rule still, and printed; the exit status is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ckpttool.errors import MalformedFile
from tests.fuzz.smallest import smallest

if TYPE_CHECKING:
    from tests.fuzz.seeds import Seeds
    from tests.fuzz.targets import Target

SLOW_S = 1.0
LARGEST_INPUT = 20_000
LONGEST_MESSAGE = 1000
TOKENS = (
    b"v1\n", b"v2\n", b"v3\n", b"-", b"\n", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"{}", b"[]", b"null", b"true",
    b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b'"\\ud800"', b"\xed\xa0\x80", b"NaN", b"1e999", b"-0", b"0.5",
    b"1E400", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"2147483648", b"-1", b"\"a\"",
    b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"9" * 5000, b"[" * 2000, b'{"a":' * 2000,
    "\u0663\u202e\u2028".encode(),
)  # fmt: skip


def problem_of(target: Target, data: bytes) -> str | None:
    """What went wrong, None if nothing did."""
    from ckpttool.report.layout import printable

    began = time.process_time()
    try:
        target(data)
    except MalformedFile as error:
        if not printable(error.message).isprintable() or len(error.message) > LONGEST_MESSAGE:
            return f"the message of the error is {len(error.message)} characters long"
    except Exception:
        return traceback.format_exc()
    took = time.process_time() - began
    return f"took {took:.1f} s" if took > SLOW_S else None


def mutate(chance: random.Random, corpus: Sequence[bytes]) -> bytes:
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 8))):
        _mutate_once(chance, data, corpus)
    return bytes(data[:LARGEST_INPUT])


def _mutate_once(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    at, to = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    kind = chance.randrange(9)
    if kind == 0 and data:
        data[at % len(data)] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at:to] = b""
    elif kind == 2:
        data[at:at] = chance.choice(TOKENS)
    elif kind == 3:
        data[at:to] = chance.choice(TOKENS)
    elif kind == 4:
        data[at:at] = data[at:to]
    elif kind == 5:
        data[at:] = b""
    elif kind == 6 and data:
        data[at % len(data)] = chance.randrange(256)
    elif kind == 7:
        _replace_value(chance, data)
    else:
        other = chance.choice(corpus)
        start = chance.randint(0, len(other))
        data[at:to] = other[start : chance.randint(start, len(other))]


def _replace_value(chance: random.Random, data: bytearray) -> None:
    """Something else in place of a value of JSON: what is still JSON gets further."""
    ends = [at for at in range(len(data)) if data[at] in b",}]"]
    starts = [at + 1 for at in range(len(data)) if data[at] in b":,["]
    if starts and ends:
        start = chance.choice(starts)
        end = next((at for at in ends if at >= start), start)
        data[start:end] = chance.choice(TOKENS)


def told(name: str, target: Target, data: bytes, problem: str) -> str:
    """The input cut down, and how to give it to the parser again."""
    less = smallest(data, lambda one: _kind(problem_of(target, one)) == _kind(problem))
    return f"{name}: {problem}\nfrom tests.fuzz.targets import TARGETS; TARGETS[{name!r}]({less!r})\n"


def _kind(problem: str | None) -> tuple[str, ...]:
    """Where something was raised and what; without the values, which differ."""
    lines = (problem or "nothing").strip().splitlines()
    return (*[line for line in lines if line.startswith("  File")][-1:], lines[-1][:12])


def run_random(seeds: Seeds, inputs: int, seconds: float, seed: int) -> int:
    from tests.fuzz.targets import TARGETS

    chance, names = random.Random(seed), list(TARGETS)
    began, tried = time.monotonic(), 0
    while tried < inputs and time.monotonic() - began < seconds:
        name = chance.choice(names)
        data = mutate(chance, seeds.of[name] if chance.random() < 0.9 else seeds.all)
        tried += 1
        if problem := problem_of(TARGETS[name], data):
            sys.stdout.write(f"input {tried:,} of seed {seed}: {told(name, TARGETS[name], data, problem)}")
            return 1
    took = time.monotonic() - began
    sys.stdout.write(f"{tried:,} inputs, {len(names)} parsers, {took:.0f} s: nothing found\n")
    return 0


def run_guided(seconds: float, seed: int) -> int:
    """The first byte of an input says which parser it is for."""
    import atheris

    with atheris.instrument_imports(include=["ckpttool"]):
        from tests.fuzz.seeds import load_seeds
        from tests.fuzz.targets import TARGETS

    targets = list(TARGETS.items())

    def one_input(data: bytes) -> None:
        name, target = targets[data[0] % len(targets)] if data else targets[0]
        if problem := problem_of(target, data[1:]):
            sys.stdout.write(told(name, target, data[1:], problem))
            sys.stdout.flush()
            raise AssertionError(name)

    seeds = load_seeds()
    with tempfile.TemporaryDirectory() as corpus:
        for number, (name, _) in enumerate(targets):
            for at, body in enumerate(seeds.of[name]):
                Path(corpus, f"{number}-{at}").write_bytes(bytes([number]) + body)
        options = [f"-max_total_time={int(seconds)}", f"-seed={seed}", f"-max_len={LARGEST_INPUT}", "-timeout=20"]
        options += [f"-artifact_prefix={corpus}/", "-rss_limit_mb=2048", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, corpus], one_input)
        atheris.Fuzz()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inputs", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--guided", action="store_true")
    given = parser.parse_args()
    if given.guided:
        return run_guided(given.seconds, given.seed)
    from tests.fuzz.seeds import load_seeds

    return run_random(load_seeds(), given.inputs, given.seconds, given.seed)


if __name__ == "__main__":
    sys.exit(main())
