"""`ckpt state verify` and `size`: what there is to say of the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckpttool.report.document import Block, Document, Fields, Findings, Line, Section, Table, Tone, Toned
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.state_stores import spell_number, spell_versions, state_title, versions_fields
from ckpttool.state.reader import StateReader
from ckpttool.state.sizes import StoreSize
from ckpttool.state.survey import most, total
from ckpttool.state.verify import StoreCheck, Verification
from ckpttool.words import counted

_SHOWN = 20  # stores, of which nothing is wrong
_OUTCOMES: dict[str, tuple[str, Tone]] = {
    "loadable": ("can be loaded", "good"),
    "failure": ("cannot be loaded", "error"),
    "unknown": ("may be loadable", "notice"),
}


def verification_document(reader: StateReader, verification: Verification) -> Document:
    return Document(
        "state-verify",
        reader.store.url,
        lambda: _verification_fields(reader, verification),
        lambda: _verification(reader, verification),
    )


def _verification_fields(reader: StateReader, verification: Verification) -> Fields:
    return {
        "batch": verification.batch,
        "version": reader.version,
        "outcome": verification.outcome,
        "why": list(verification.why),
        "rows_decoded": False,
        "newest_restorable_batch": verification.newest_restorable,
        "sample": list(verification.sample) if verification.sample else None,
        "failures": [
            {
                "path": failure.path,
                "why": failure.why,
                "class": failure.class_name,
                "condition": failure.condition,
            }
            for failure in verification.failures
        ],
        "stores": [_store_fields(one) for one in verification.stores],
        "findings": findings_fields(verification.findings),
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
        "versions": versions_fields(check.versions),
        "keys": check.keys,
        "keys_unknown_why": check.why,
    }


def _verification(reader: StateReader, verification: Verification) -> Iterator[Section]:
    yield _outcome(reader, verification)
    yield _stores(verification.stores)
    if verification.findings:
        yield [Findings(verification.findings)]


def _outcome(reader: StateReader, verification: Verification) -> Iterator[Line]:
    bad = len({failure.path.rpartition("/")[0] for failure in verification.failures})
    stores = len(verification.stores)
    after = f"State after batch {verification.batch}, version {reader.version}: "
    yield after, Toned(*_OUTCOMES[verification.outcome]), f" · {stores - bad} of {counted(stores, 'store')}"
    if verification.sample:
        few, many = verification.sample
        yield f"  A sample: {few} of every {many} partitions was looked at."
    yield from (f"  {why}" for why in verification.why)
    if verification.outcome == "loadable":
        return
    newest = verification.newest_restorable
    if newest is None:
        yield "  No earlier batch whose logs are there can be restored."
    else:
        yield f"  The newest batch that every store can be restored to: {newest}"


def _stores(checks: Sequence[StoreCheck]) -> Iterator[Block]:
    head = ("Operator", "Partition", "Store", "Base", "Changes", "Keys", "Versions")
    yield Table(head, [_row(check) for check in checks[:_SHOWN]], {1, 4, 5})
    if len(checks) > _SHOWN:
        yield f"  … {counted(len(checks) - _SHOWN, 'more store')}; all with --format json"


def _row(check: StoreCheck) -> tuple[str, ...]:
    chain = check.chain
    return (
        str(check.operator),
        str(check.partition),
        check.store,
        chain.base or "empty",
        f"{len(chain.changes)}" + (f", then {chain.missing} is missing" if chain.missing else ""),
        spell_number(check.keys),
        spell_versions(check.versions),
    )


def sizes_document(reader: StateReader, sizes: Sequence[StoreSize]) -> Document:
    return Document("state-size", reader.store.url, lambda: _sizes_fields(reader, sizes), lambda: _sizes(reader, sizes))


def _sizes_fields(reader: StateReader, sizes: Sequence[StoreSize]) -> Fields:
    return {
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
        "findings": findings_fields(reader.findings),
    }


def _sizes(reader: StateReader, sizes: Sequence[StoreSize]) -> Iterator[Section]:
    yield [state_title(reader)]
    yield [_table_of_sizes(sizes)]
    unknown = [one for one in sizes if one.why]
    yield [
        "  Deltas: since the snapshot, most in a partition. Garbage: what maintenance would delete, if it ran.",
        *(f"  Partition {one.partition} of {one.store}: {one.why}" for one in unknown[:_SHOWN]),
    ]


def _table_of_sizes(sizes: Sequence[StoreSize]) -> Table:
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
            spell_number(total(one.needed_bytes for one in group)),
            f"{max(one.size_bytes for one in group):,}",
            spell_number(most(one.changes for one in group)),
            f"{sum(one.garbage_bytes for one in group):,}",
        )
        for (operator, store), group in groups.items()
    ]
    return Table(head, rows, {2, 3, 4, 5, 6, 7})
