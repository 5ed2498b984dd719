"""What answers may be read of, when several are asked for at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from ckpttool.storage.bodies import Together, TooLong, body_of, counting
from tests.unit.storage.servers import served

pytestmark = pytest.mark.extras

SIZE = 100_000


class Sized(BaseHTTPRequestHandler):
    """Of as many bytes as the path says, and an error where the path has one."""

    def do_GET(self) -> None:
        _, status, size = self.path.split("/")
        self.send_response(int(status))
        self.send_header("Content-Length", size)
        self.end_headers()
        self.wfile.write(bytes(int(size)))

    def log_message(self, *_: Any) -> None:
        """Tests have nothing to say."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(Sized) as host:
        yield f"http://{host}"


def fetched(address: str, *asked: tuple[str, int], room: int = 10 * SIZE) -> list[int | None]:
    """How many bytes come of each path under its limit, one after the other; None: it was given up."""
    from aiohttp import ClientSession

    together = Together(room)

    async def get(session: ClientSession, path: str, most: int) -> int | None:
        with body_of(most, together):
            try:
                async with session.get(f"{address}/{path}") as answer:
                    return len(await answer.read())
            except TooLong:
                return None

    async def get_all() -> list[int | None]:
        async with ClientSession(response_class=counting()) as session:
            return [await get(session, path, most) for path, most in asked]

    return asyncio.run(get_all())


def test_a_body_has_its_own_limit_and_gives_back_what_it_took_when_it_is_given_up(address: str) -> None:
    asked = [(f"200/{SIZE}", SIZE), (f"200/{SIZE + 1}", SIZE), (f"200/{SIZE}", SIZE)]
    assert fetched(address, *asked, room=2 * SIZE) == [SIZE, None, SIZE]


def test_bodies_share_what_is_held_at_once(address: str) -> None:
    assert fetched(address, *[(f"200/{SIZE}", SIZE)] * 4, room=3 * SIZE) == [SIZE, SIZE, SIZE, None]


def test_an_error_is_not_held_to_the_size_of_what_was_asked_for(address: str) -> None:
    assert fetched(address, (f"404/{SIZE}", 10), room=10) == [SIZE]
