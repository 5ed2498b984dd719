"""Two who work on the same checkpoint at once, with every system call in an order that a seed decides.

Each is a thread, and only one of them runs at a time: at each call that changes or looks at something it is the seed's
choice who goes on. So what two processes come to in a race that one would have to be lucky to see comes again at will.
"""

from __future__ import annotations

import fcntl
import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

SWITCHING = ("open", "write", "link", "rename", "unlink", "mkdir", "rmdir", "stat", "scandir")


class Turns:
    """`os`, and `fcntl`, for `LocalDisk`. `stays`: how likely somebody goes on who has the turn."""

    def __init__(self, seed: int, names: Sequence[str]) -> None:
        self._chance = random.Random(seed)
        self._stays = self._chance.choice((0.3, 0.7, 0.95))
        self._there = list(names)
        self._turn = self._chance.choice(self._there)
        self._changed = threading.Condition()

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in SWITCHING:
            return real

        def call(*given: Any, **named: Any) -> Any:
            self.next()
            return real(*given, **named)

        return call

    def flock(self, descriptor: int, operation: int) -> None:
        """Nobody waits who has the turn: whoever has the lock could not let it go."""
        while True:
            try:
                return fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
            except BlockingIOError:
                self.next(leaves=True)

    def next(self, *, leaves: bool = False) -> None:
        me = threading.current_thread().name
        if me not in self._there:
            return
        with self._changed:
            if leaves or self._chance.random() > self._stays:
                others = [one for one in self._there if one != me]
                self._turn = self._chance.choice(others) if leaves and others else self._chance.choice(self._there)
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._turn == me)

    def begin(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._turn == threading.current_thread().name)

    def end(self) -> None:
        with self._changed:
            self._there.remove(threading.current_thread().name)
            self._turn = self._chance.choice(self._there) if self._there else ""
            self._changed.notify_all()


@contextmanager
def on(turns: Turns) -> Iterator[None]:
    with (
        patch("ckpttool.apply.stores.local.os", turns),
        patch("ckpttool.apply.stores.durable.os", turns),
        patch("ckpttool.apply.stores.local.flock", turns.flock),
    ):
        yield


def at_once(seed: int, **commands: Callable[[], Any]) -> dict[str, Any]:
    """What each comes to, or the error that it ends with."""
    turns, ends = Turns(seed, list(commands)), dict[str, Any]()

    def run(name: str, command: Callable[[], Any]) -> None:
        turns.begin()
        try:
            ends[name] = command()
        except BaseException as error:
            ends[name] = error
        finally:
            turns.end()

    threads = [threading.Thread(target=run, args=(name, one), name=name) for name, one in commands.items()]
    with on(turns):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {name: ends[name] for name in commands}
