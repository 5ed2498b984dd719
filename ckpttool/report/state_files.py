"""What `ckpt state verify` and `size` say of the files, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ckpttool.report.json import Fields, finding_fields, header
from ckpttool.report.layout import printable, table
from ckpttool.report.style import Style, plain
from ckpttool.report.text import render_findings
from ckpttool.state.reader import StateReader
from ckpttool.state.sizes import StoreSize
from ckpttool.state.verify import StoreCheck, Verification

_SHOWN = 20  # stores, of which nothing is wrong
_TONES = {"loadable": "good", "failure": "error", "unknown": "notice"}


def verify_fields(reader: StateReader, verification: Verification) -> Fields:
    return {
        **header("state-verify", reader.store.url),
        "batch": verification.batch,
        "version": reader.version,
        "outcome": verification.outcome,
        "why": list(verification.why),
        "newest_restorable_batch": verification.newest_restorable,
        "sample": list(verification.sample) if verification.sample else None,
        "failures": [
            {
                "path": failure.path,
                "why": failure.why,
                "class": failure.error.class_name,
                "condition": failure.error.condition,
            }
            for failure in verification.failures
        ],
        "stores": [_store_fields(one) for one in verification.stores],
        "findings": [finding_fields(one) for one in verification.findings],
    }


def _store_fields(check: StoreCheck) -> Fields:
    chain = check.chain
    return {
        "operator": check.operator,
        "partition": check.partition,
        "store": check.store,
        "base": chain.base,
        "changes": list(chain.changes),
        "missing": chain.missing,
        "versions": [{"first": first, "last": last} for first, last in check.versions]
        if check.versions is not None
        else None,
        "keys": check.keys,
        "keys_unknown_why": check.why,
    }


def render_verification(reader: StateReader, verification: Verification, style: Style = plain) -> str:
    word = {"loadable": "can be loaded", "failure": "cannot be loaded", "unknown": "may be loadable"}
    said = style(word[verification.outcome], _TONES[verification.outcome])
    bad = len({failure.path.rpartition("/")[0] for failure in verification.failures})
    stores = len(verification.stores)
    lines = [
        f"State after batch {verification.batch}, version {reader.version}: {said} · {stores - bad} of {stores} stores"
    ]
    if verification.sample:
        lines.append(
            f"  A sample: {verification.sample[0]} of every {verification.sample[1]} partitions was looked at."
        )
    lines += [f"  {printable(why)}" for why in verification.why]
    if verification.outcome != "loadable":
        newest = verification.newest_restorable
        lines.append(
            "  No earlier batch whose logs are there can be restored."
            if newest is None
            else f"  The newest batch that every store can be restored to: {newest}"
        )
    rows = [_row(check) for check in verification.stores[:_SHOWN]]
    lines += ["", *table(("Operator", "Partition", "Store", "Base", "Changes", "Keys", "Versions"), rows, style,
                         right=(1, 4, 5))]  # fmt: skip
    if stores > _SHOWN:
        lines.append(f"  … {stores - _SHOWN} more stores; all with --format json")
    if verification.findings:
        lines += ["", *render_findings(verification.findings, style)]
    return "\n".join(lines) + "\n"


def _row(check: StoreCheck) -> tuple[str, ...]:
    chain = check.chain
    versions = ", ".join(f"{first}–{last}" for first, last in check.versions or ()) or "?"
    return (
        str(check.operator),
        str(check.partition),
        check.store,
        chain.base or "empty",
        f"{len(chain.changes)}" + (f", then {chain.missing} is missing" if chain.missing else ""),
        f"{check.keys:,}" if check.keys is not None else "?",
        versions,
    )


def size_fields(reader: StateReader, sizes: Sequence[StoreSize]) -> Fields:
    return {
        **header("state-size", reader.store.url),
        "batch": reader.batch,
        "version": reader.version,
        "bytes": sum(one.size_bytes for one in sizes),
        "garbage_bytes": sum(one.garbage_bytes for one in sizes),
        "stores": [
            {
                "operator": one.operator,
                "store": one.store,
                "partition": one.partition,
                "bytes": one.size_bytes,
                "needed_bytes": one.needed_bytes,
                "base_version": one.base_version,
                "changes_since_base": one.changes,
                "garbage_files": one.garbage_files,
                "garbage_bytes": one.garbage_bytes,
                "recorded_keys": one.recorded_keys,
                "recorded_keys_version": one.recorded_version,
                "unknown_why": one.why,
            }
            for one in sizes
        ],
        "findings": [finding_fields(one) for one in reader.findings],
    }


def render_sizes(reader: StateReader, sizes: Sequence[StoreSize], style: Style = plain) -> str:
    """A line for each store, over all its partitions."""
    head = ("Operator", "Store", "Partitions", "Bytes", "Needed", "Largest", "Deltas", "Garbage")
    groups: dict[tuple[int, str], list[StoreSize]] = {}
    for one in sizes:
        groups.setdefault((one.operator, one.store), []).append(one)
    rows = [
        (
            str(operator),
            store,
            str(len(group)),
            f"{sum(one.size_bytes for one in group):,}",
            f"{sum(one.needed_bytes or 0 for one in group):,}",
            f"{max(one.size_bytes for one in group):,}",
            str(max((one.changes or 0 for one in group), default=0)),
            f"{sum(one.garbage_bytes for one in group):,}",
        )
        for (operator, store), group in groups.items()
    ]
    lines = [f"State after batch {reader.batch}: version {reader.version}", ""]
    lines += table(head, rows, style, right=(2, 3, 4, 5, 6, 7))
    lines += [
        "",
        "  Deltas: since the snapshot, most in a partition. Garbage: what maintenance would delete, if it ran.",
    ]
    unknown = [one for one in sizes if one.why]
    lines += [f"  Partition {one.partition} of {one.store}: {printable(one.why or '')}" for one in unknown[:_SHOWN]]
    return "\n".join(lines) + "\n"
