"""One code in a Spark of its own (`ckpttool.spark.rehearse`): run as far as the start of the query that is meant, and
then on clones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import NotFound, Unavailable
from ckpttool.harness.place import JobPlace
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer, Died, Late
from ckpttool.query.job import NEEDS, STARTS, JobSettings, asked_of, died, spell_failure, start_child
from ckpttool.query.saved import split_pick
from ckpttool.releases import since
from ckpttool.words import shown

# What a job may have set for its own outputs would hold for the rows that are kept here.
_OURS = {
    "spark.sql.sources.commitProtocolClass":
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol",
    "spark.ui.showConsoleProgress": "false",
}  # fmt: skip


class Code(Struct, frozen=True):
    """A job, and which of its queries is meant: by name or number."""

    job: Path
    pick: str | None = None


def code_of(given: str) -> Code:
    job, pick = split_pick(given)
    return Code(Path(job), pick)


class CodeInSpark:
    """`places`: how the checkpoint may be spelled in the job. `rows`: how many a batch that it plans may take.
    `is_planned`: that is all, and what is not there is stood in for."""

    def __init__(
        self,
        scratch: Scratch,
        code: Code,
        settings: JobSettings,
        name: str,
        places: Sequence[str],
        rows: int | None = None,
        *,
        is_planned: bool = False,
    ) -> None:
        if not code.job.is_file():
            raise NotFound(f"{code.job} cannot be read: it is not there")
        self._scratch, self._code, self._settings, self._name = scratch, code, settings, name
        self._asked = {"pick": code.pick, "places": list(places), "rows": rows, "pinned": sorted(since.PINNED)}
        self._asked |= {"is_planned": is_planned}
        self._session = start_child(scratch, settings, "rehearse", name)
        self.offer: Answer | None = None  # its Spark, if it is as every job finds it

    def reach(self, other: CodeInSpark | None = None) -> Answer:
        """The query, as it would be started. Raises for a job that does not come to it. `other`: one that did, in whose
        Spark it may be, if neither finds there what it would not find in its own."""
        offer = other.offer if other else None
        answer = self._reach(other._name if offer and other else self._name, offer)
        if answer["another"]:
            self.anew()
            answer = self._reach(self._name, None)
        self.offer = answer.get("offer")
        if answer["query"] is not None:
            return answer
        job, names = self._code.job, answer["queries"]
        if failed := spell_failure(answer["failed"]):
            raise NotFound(f"{job} failed {failed}, before it started the query", NEEDS)
        if not names:
            raise NotFound(f"{job} ended without starting a query", STARTS)
        there = ", ".join(map(shown, names))
        raise NotFound(f"{job}: which of its queries is meant is not known", f"there are: {there}; say {job}::NAME")

    def _reach(self, name: str, offer: Answer | None) -> Answer:
        settings = replace(self._settings, conf=_OURS | dict(self._settings.conf))
        asked = asked_of(self._scratch, self._code.job, settings, name) | self._asked | {"offer": offer}
        with self._reaching():
            return self._session.ask(asked, self._settings.timeout_s)

    def anew(self) -> None:
        """In a Python that has not come to anything yet."""
        self._session.kill()
        self._session = start_child(self._scratch, self._settings, "rehearse", self._name)

    def run(self, place: JobPlace, until: int, clones: Path | None = None) -> Answer:
        """`clones`: where what its function of foreachBatch writes goes; else that is not called. `late` in the answer:
        why it was not waited for any longer. Whoever does not answer, or ended, gets no further request."""
        given = {"checkpoint": str(place.checkpoint), "rows": str(place.sink), "until": until}
        given |= {"clones": clones and str(clones)}
        told: Answer = {"started": True, "failed": None, "progress": [], "committed": False, "late": None}
        try:
            return told | self._session.ask(given, self._settings.timeout_s)
        except Late:
            return told | {"late": f"batch {until} was not done after {self._settings.timeout_s:g} s"}
        except Died as error:
            last = str(error).strip().splitlines()[-1:]
            return told | {"failed": [{"class": "ProcessDied", "condition": None, "message": "".join(last), "in": []}]}

    def plan(self, checkpoint: Path, batch_id: int, conf: Mapping[str, str]) -> Answer:
        """Its next batch there, which is not run."""
        with self._reaching():
            asked = {"checkpoint": str(checkpoint), "batch_id": batch_id, "conf": dict(conf)}
            return self._session.ask(asked, self._settings.timeout_s)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except Late:
            raise Unavailable(f"{self._code.job} had not come to its start() after {self._settings.timeout_s:g} s",
                              "give it longer: --timeout SECONDS") from None  # fmt: skip
        except Died as error:
            raise died(self._code.job, self._settings.python, str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._session.kill()
