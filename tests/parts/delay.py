"""A wire with a delay: what comes in at one port goes out at another, each way some time later.

    python -m tests.parts.delay LISTEN TARGET MILLISECONDS

Bytes wait in a queue, so that many requests on their way together wait together, as they do on a long wire. It says
that it listens with one line, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CHUNK = 1 << 16
_HOST = "127.0.0.1"


@contextmanager
def delayed(listen: int, target: int, one_way_ms: float) -> Iterator[None]:
    """A process of its own, which takes no time from the one that is measured."""
    command = [sys.executable, "-m", __name__, str(listen), str(target), str(one_way_ms)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline(), "the wire does not listen"
        try:
            yield
        finally:
            process.stdin.close()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay_s: float) -> None:
    """From one side to the other, in order."""
    clock = asyncio.get_running_loop().time
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def take() -> None:
        while chunk := await source.read(_CHUNK):
            waiting.put_nowait((clock() + delay_s, chunk))
        waiting.put_nowait((clock() + delay_s, b""))

    taking = asyncio.create_task(take())
    try:
        while (due := await waiting.get())[1]:
            await asyncio.sleep(max(0, due[0] - clock()))
            target.write(due[1])
            await target.drain()
    except ConnectionError:
        pass
    finally:
        taking.cancel()
        target.close()


async def _serve(listen: int, target: int, delay_s: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # the end of everything, which asyncio would complain of
            far_reader, far_writer = await asyncio.open_connection(_HOST, target)
            await asyncio.gather(
                _carry(reader, far_writer, delay_s), _carry(far_reader, writer, delay_s), return_exceptions=True
            )

    async with await asyncio.start_server(connected, _HOST, listen):
        print("listens", flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
