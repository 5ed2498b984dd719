"""`ckpt scan`: a line for each checkpoint that was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ckpttool.fleet.scan import Scan, Sighting
from ckpttool.fleet.shared import Shared, shared_by
from ckpttool.report.document import Aside, Document, Fields, Records, Section, Table, Toned
from ckpttool.report.layout import spell_duration
from ckpttool.words import counted

_WORST_FIRST = ("error", "unfit", "no access", "unknown", "warning", "attention", "sound", "fit")
_SHOWN = 20  # of groups, and of directories in which nobody looked
_NAMED = 3  # of the checkpoints in a group
_VERDICTS = {1: "error", 3: "unknown"}


def scan_document(scan: Scan, now_ms: int, stale_after_ms: int | None = None) -> Document:
    """`stale_after_ms`: a checkpoint without a batch for so long is called deserted."""
    records = Records(
        "checkpoints",
        lambda: (_fields(one, now_ms, stale_after_ms) for one in scan.sightings),
        asides=lambda: map(Aside, _left_out(scan)),
    )
    own = {"prometheus": lambda: _metrics(scan)}
    return Document("scan", scan.url, lambda: _data(scan), lambda: _blocks(scan, now_ms, stale_after_ms), records, own)


def _metrics(scan: Scan) -> str:
    from ckpttool.report.prometheus import HealthOf, render_health

    return render_health(HealthOf(one.url, one.health, _by_severity(one)) for one in scan.sightings)


def _by_severity(sighting: Sighting) -> dict[str, int]:
    return dict(Counter(finding.severity for finding in sighting.findings))


def _data(scan: Scan) -> Fields:
    return {
        "shared": [
            {"what": one.what, "kind": one.kind, "name": one.name, "checkpoints": list(one.checkpoints)}
            for one in shared_by(scan.sightings)
        ],
        "not_looked_into": {
            "depth": scan.depth,
            "beyond_depth": list(scan.beyond[:_SHOWN]),
            "beyond_depth_count": len(scan.beyond),
            "with_partitions": list(scan.partitions[:_SHOWN]),
            "with_partitions_count": len(scan.partitions),
        },
    }


def _fields(sighting: Sighting, now_ms: int, stale_after_ms: int | None) -> Fields:
    """`error` where the directory could not be looked at; then nothing else is known."""
    blind = sighting.error is not None
    following = {
        "outcome": sighting.next_outcome,
        "batch_id": sighting.next_batch_id,
        "not_looked_at": list(sighting.not_looked_at),
    }
    return {
        "checkpoint": sighting.url,
        "query_id": sighting.query_id,
        "mode": sighting.mode,
        "last_offset_batch": sighting.last_offset_batch,
        "last_commit_batch": sighting.last_commit_batch,
        "newest_ms": sighting.newest_ms,
        "age_ms": _age_ms(sighting, now_ms),
        "deserted": None if stale_after_ms is None else sighting.is_deserted(now_ms, stale_after_ms),
        "next_batch": None if blind else following,
        "verdict": _verdict(sighting),
        "health": sighting.health,
        "exit_code": sighting.exit_code,
        "findings": [{"id": one.id, "severity": one.severity, "path": one.path} for one in sighting.findings],
        "error": {"message": sighting.error, "next_step": sighting.next_step} if blind else None,
    }


def _blocks(scan: Scan, now_ms: int, stale_after_ms: int | None) -> Iterator[Section]:
    if not scan.sightings:
        yield [f"No checkpoint below {scan.url}.", *_left_out(scan)]
        return
    verdicts = [_word(one) for one in scan.sightings]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in _WORST_FIRST if word in verdicts)
    said = [f"{counted(len(verdicts), 'checkpoint')}: {counts}."]
    if stale_after_ms is not None:
        said.append(_deserted(scan, now_ms, stale_after_ms))
    if any(one.not_looked_at for one in scan.sightings):
        said.append("Not looked at: what is inside state files, sinks, and what is read; ckpt plan-recovery PATH does.")
    yield [*said, *_left_out(scan)]
    head = ("Verdict", "Checkpoint", "Query", "Last batch", "Age", "Findings")
    yield [Table(head, [_row(one, scan.url, now_ms, stale_after_ms) for one in scan.sightings], {3, 4})]
    yield from _shared(scan)


def _deserted(scan: Scan, now_ms: int, stale_after_ms: int) -> str:
    answers = [one.is_deserted(now_ms, stale_after_ms) for one in scan.sightings if one.error is None]
    unknown = f"; of {answers.count(None)} nobody knows" if None in answers else ""
    return f"{answers.count(True)} deserted: no batch for more than {spell_duration(stale_after_ms)}{unknown}."


def _left_out(scan: Scan) -> Iterator[str]:
    """Where nobody looked, though there may be checkpoints."""
    if scan.beyond:
        yield f"Not looked into, since --depth is {scan.depth}: {_places(scan, scan.beyond)}."
    if scan.partitions:
        where = _places(scan, scan.partitions)
        yield f"Not looked into: directories like `date=…`, which look like partitions of a table, in {where}."


def _shared(scan: Scan) -> Iterator[Section]:
    found = shared_by(scan.sightings)
    if not found:
        return
    yield [
        Toned("Shared", "title"),
        *(f"  {_spell_shared(one)}: {_places(scan, one.checkpoints)}" for one in found[:_SHOWN]),
        *([f"  … {len(found) - _SHOWN} more; all with --format json"] if len(found) > _SHOWN else []),
    ]
    if any(one.what == "query id" for one in found):
        yield ["A sink that goes by the query id takes the batches of all that share it for those of one query."]


def _spell_shared(one: Shared) -> str:
    return f"{one.what} {one.kind} {one.name}" if one.kind else f"{one.what} {one.name}"


def _places(scan: Scan, urls: Sequence[str]) -> str:
    """The first of them, whole: somebody wants to type them."""
    named = ", ".join(_below(scan.url, url) for url in urls[:_NAMED])
    return f"{named} and {len(urls) - _NAMED:,} more" if len(urls) > _NAMED else named


def _below(root: str, url: str) -> str:
    return url.removeprefix(root.rstrip("/")).lstrip("/") or "."


def _row(sighting: Sighting, root: str, now_ms: int, stale_after_ms: int | None) -> tuple[str, ...]:
    last = [number for number in (sighting.last_offset_batch, sighting.last_commit_batch) if number is not None]
    told = [finding.id for finding in sighting.findings if finding.severity != "info"]
    age_ms = _age_ms(sighting, now_ms)
    is_deserted = stale_after_ms is not None and sighting.is_deserted(now_ms, stale_after_ms)
    return (
        _word(sighting),
        _below(root, sighting.url),
        (sighting.query_id or "-")[:8],
        str(max(last)) if last else "-",
        "-" if age_ms is None else f"{spell_duration(age_ms)}{', deserted' if is_deserted else ''}",
        ", ".join(dict.fromkeys(told)) if sighting.error is None else sighting.error,
    )


def _age_ms(sighting: Sighting, now_ms: int) -> int | None:
    return None if sighting.newest_ms is None else max(0, now_ms - sighting.newest_ms)


def _word(sighting: Sighting) -> str:
    """The verdict in a word: that of the checkup, where there was one."""
    return sighting.health or _verdict(sighting)


def _verdict(sighting: Sighting) -> str:
    if sighting.exit_code == 0:
        return "warning" if any(one.severity == "warning" for one in sighting.findings) else "sound"
    return _VERDICTS.get(sighting.exit_code, "no access")
