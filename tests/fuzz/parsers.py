"""Mutated files of real checkpoints against every parser: a value or `MalformedFile`, soon.

    python -m tests.fuzz.parsers --seconds 60 [--seed 7]

With atheris installed its coverage leads the mutations; without it they are random. The first input that breaks the
rule is printed, with the parser it broke, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
import traceback
from collections.abc import Callable, Sequence

from ckpttool.connectors import ALL, recognise_offset
from ckpttool.connectors.base import Offset
from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats.delta_log import parse_transaction
from ckpttool.formats.dstreams import parse_dstream_names, parse_wal_names, sniff_codec
from ckpttool.formats.names import holes, parse_log_names
from ckpttool.formats.state.names import parse_state_versions, provider_of
from ckpttool.report.layout import printable
from ckpttool.storage.urls import parse_url, redact_url
from tests.property.test_format_laws import FORMATS
from tests.samples.place import REPOSITORY

SLOW_S = 2.0
LARGEST_SEED = 20_000
TOKENS = (
    b"v1\n", b"v2\n", b"v3\n", b"-", b"\n", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"{}", b"[]", b"null", b"true",
    b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b'"\\ud800"', b"\xed\xa0\x80", b"NaN", b"1e999", b"-0", b"0.5",
    b"1E400", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"2147483648",
    b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"9" * 5000, b"[" * 2000, b'{"a":' * 2000,
    "\u0663\u202e\u2028".encode(),
)  # fmt: skip


def every_offset(data: bytes) -> None:
    """Whatever an offset is taken for, it can be asked everything."""
    texts = data.decode("utf-8", "surrogateescape").splitlines() or [""]
    for hint in (None, *(connector.KIND for connector in ALL)):
        before: Offset | None = None
        for text in texts[:5]:
            offset = recognise_offset(text, hint)
            offset.summary(), offset.details(), offset.problems(), offset.step_from(None)
            if before is not None:
                offset.order(before), offset.step_from(before)
            before = offset


def every_name(data: bytes) -> None:
    names = data.decode("utf-8", "surrogateescape").splitlines()
    found = parse_log_names(names)
    assert list(found.ids) == sorted(set(found.ids))
    (
        holes(found.ids),
        parse_state_versions(names),
        provider_of(names),
        parse_dstream_names(names),
        parse_wal_names(names),
    )
    assert all(printable(name).isprintable() for name in names)


def every_url(data: bytes) -> None:
    url = data.decode("utf-8", "surrogateescape")[:500]
    redact_url(url)
    try:
        parse_url(url)
    except MalformedFile:
        raise AssertionError("a URL is no file") from None
    except CkptError:
        return


TARGETS: dict[str, Callable[[bytes], object]] = {
    **{form.name: form.parse for form in FORMATS},
    "Delta log": lambda data: parse_transaction(data, "x"),
    "codec": sniff_codec,
    "offsets": every_offset,
    "names": every_name,
    "URLs": every_url,
}


def try_all(data: bytes) -> str | None:
    """What went wrong, None if nothing did."""
    for name, target in TARGETS.items():
        began = time.monotonic()
        try:
            target(data)
        except MalformedFile as error:
            if not printable(error.message).isprintable() or len(error.message) > 1000:
                return f"{name}: the message of the error is {len(error.message)} characters long"
        except Exception:
            return f"{name}: {traceback.format_exc()}"
        if time.monotonic() - began > SLOW_S:
            return f"{name}: took {time.monotonic() - began:.1f} s"
    return None


def seeds() -> list[bytes]:
    """Each different small file of the sample checkpoints, the names they have, and every connector's examples."""
    paths = [path for path in REPOSITORY.rglob("*") if path.is_file() and path.name != "about.json"]
    names = "\n".join(sorted({path.name for path in paths})).encode()
    examples = {text.encode() for connector in ALL for text in connector.EXAMPLES}
    bodies = (
        {names[at : at + 500] for at in range(0, len(names), 500)} | examples | {path.read_bytes() for path in paths}
    )
    return sorted(body for body in bodies if len(body) <= LARGEST_SEED)


def mutate(chance: random.Random, corpus: Sequence[bytes]) -> bytes:
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 8))):
        at, to = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
        kind = chance.randrange(7)
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
        else:
            other = chance.choice(corpus)
            data[at:to] = other[: chance.randint(0, len(other))]
    return bytes(data[:100_000])


def run_random(seconds: float, seed: int) -> int:
    chance, corpus = random.Random(seed), seeds()
    began, tried = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        data = mutate(chance, corpus)
        tried += 1
        if problem := try_all(data):
            sys.stdout.write(f"input {tried} of seed {seed}: {data!r}\n{problem}\n")
            return 1
    sys.stdout.write(f"{tried:,} inputs, {len(TARGETS)} parsers: nothing found\n")
    return 0


def run_atheris(seconds: float, seed: int) -> int:
    import atheris

    def one_input(data: bytes) -> None:
        if problem := try_all(data):
            raise AssertionError(problem)

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-max_total_time={int(seconds)}", f"-seed={seed}"], one_input)
    atheris.Fuzz()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    run = run_atheris if importlib.util.find_spec("atheris") else run_random
    return run(given.seconds, given.seed)


if __name__ == "__main__":
    sys.exit(main())
