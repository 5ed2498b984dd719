"""A plan in a store behind a proxy: which requests fail and how, and what became of the checkpoint."""

from __future__ import annotations

import getpass
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from ckpttool.api import Restarted, plan_restart
from ckpttool.apply import places
from ckpttool.apply.lock import held_by
from ckpttool.apply.make_plan import choose, make_plan
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile, encode_plan, parse_plan
from ckpttool.apply.run import apply_plan, plan_to_resume, plan_to_undo, remove_lock, take_back_plan
from ckpttool.apply.sinks.options import for_delta_rs
from ckpttool.apply.stores.opening import open_tree
from ckpttool.apply.work import ApplySettings
from ckpttool.errors import CkptError, NotFound
from ckpttool.storage.store import open_store
from tests.apply.far_proxy import FarProxy
from tests.apply.stages import DELTA_LOG, FENCES, Stage, holds
from tests.apply.troubles import Trouble, let_fail
from tests.parts.hdfs import HdfsServer
from tests.parts.proxy import HdfsProxy, Proxy
from tests.parts.stores import ObjectServer

if TYPE_CHECKING:
    from deltalake import DeltaTable

Contents = Mapping[str, bytes]
AnyProxy = Proxy | FarProxy


def as_delta_rs_wants(url: str, storage: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Without a signature it reads from Google's storage, and does not write: so it is given a key that asks nobody."""
    target, options = for_delta_rs(url, storage)
    base = options.get("google_base_url")
    if base is None:
        return target, options
    key = {"gcs_base_url": base, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    return target, {"google_service_account_key": json.dumps(key), "allow_http": "true"}


class StoredTrial:
    """A checkpoint in a place of its own, and a plan for it. `options` lead through the proxy, `directly` past it."""

    def __init__(self, stage: Stage, server: ObjectServer, proxy: AnyProxy | None, folder: Path) -> None:
        user = {"user": getpass.getuser()} if isinstance(server, HdfsServer) else {}
        # A client of a store of objects takes longer to be made than all that it is asked.
        again = {} if user else {"skip_instance_cache": "false"}
        self.directly, self.options = (
            {**server.options, **user, **again},
            {**(proxy or server).options, **user, **again},
        )
        self.proxy = proxy
        root = stage.set_up(folder / uuid4().hex)
        for checksum in root.parent.rglob("*.crc"):  # which no store of objects has
            checksum.unlink()
        above = server.put(root.parent, f"b{uuid4().hex}")
        self.url = f"{above}/{root.name}"
        self.roots = [self.url, *(sink for sink in stage.sinks_in(above) if sink != "noop")]
        self.plan = self._planned(stage, stage.restarted(above))
        self.old = self.contents()

    def _planned(self, stage: Stage, restarted: Restarted) -> PlanFile:
        diagnosis, plan = plan_restart(self.url, restarted, self.directly, now_ms=int(time.time() * 1000))
        store = open_store(self.url, self.directly)
        made = make_plan(diagnosis, choose(plan, stage.take), plan, restarted, store, self.directly)
        return parse_plan(encode_plan(made))

    @property
    def settings(self) -> ApplySettings:
        known = {"query-stopped", *(one.id for one in self.plan.conditions)}
        return ApplySettings(settle=0, accepted=frozenset(known), storage=self.options)

    @contextmanager
    def troubled(self, trouble: Trouble) -> Iterator[None]:
        """In the end what was given up has arrived too."""
        assert self.proxy
        let = self.proxy.let_fail if isinstance(self.proxy, FarProxy) else partial(let_fail, self.proxy)
        let(trouble)
        try:
            yield
        finally:
            let(None)

    def carry_out(self) -> Outcome:
        return apply_plan(self.plan, self.settings)

    def go_on(self) -> Outcome:
        """Where nothing was saved yet, it begins."""
        self.unlock()
        try:
            plan = plan_to_resume(self.url, self.options)
        except NotFound:
            return self.carry_out()
        return apply_plan(plan, self.settings, resumes=True)

    def take_back(self) -> Outcome | None:
        """None: there was nothing to take back."""
        self.unlock()
        try:
            plan = plan_to_undo(self.url, None, self.options)
        except NotFound:
            return None
        return take_back_plan(plan, self.settings) if plan else None

    def unlock(self) -> None:
        """As a person does it who knows that whoever held the lock is gone."""
        holder = held_by(open_tree(self.url, places.STAGING, self.directly))
        if holder is not None:
            remove_lock(self.url, holder.id, self.directly)

    def contents(self) -> Contents:
        """All but what is ours, of the checkpoint and of its sinks; of a Delta table what it holds."""
        found: dict[str, bytes] = {}
        for root in self.roots:
            files = self._files_in(root)
            is_table = any(path.startswith(f"{DELTA_LOG}/") for path in files)
            of_root = {"": holds(self._table(root), files)} if is_table else files
            found |= {f"{root}/{path}": body for path, body in of_root.items()}
        return found

    def _files_in(self, root: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        tree = open_tree(root, places.STAGING, self.directly)
        paths = [path for path in tree.sizes_below("") if not path.startswith(("_ckpt/", ".ckpt-staging/"))]
        for path, body in tree.reading().read_all(paths):
            assert not isinstance(body, CkptError), body
            found[path] = body
        return found

    def _table(self, root: str) -> DeltaTable:
        from deltalake import DeltaTable

        url, options = as_delta_rs_wants(root, self.options)  # past the proxy azurite would not do what Azure does
        return DeltaTable(url, storage_options=options)

    def kept(self) -> str:
        """Everything that is ours, as one text."""
        tree = open_tree(self.url, places.STAGING, self.directly)
        return json.dumps([b"".join(tree.pieces(path)).decode("latin-1") for path in tree.sizes_below("_ckpt")])

    def is_fenced(self) -> bool:
        return self.contents().get(f"{self.url}/metadata") in FENCES


def before(server: ObjectServer) -> Proxy:
    return HdfsProxy(server) if isinstance(server, HdfsServer) else Proxy(server)
