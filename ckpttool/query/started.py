"""How a described query is started, as far as a restart depends on it. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.query.model import Query
from ckpttool.scene.scene import Trigger

_TRIGGERS: dict[str, Trigger] = {
    "once": "once",
    "available-now": "available-now",
    "continuous": "continuous",
    "real-time": "real-time",
}
_HIDDEN = "***"
_OF_THE_WRITER = "asyncprogresstracking"
# Whoever types one of them has it looked at; a description is a file, and leads nowhere.
PLACES = ("path", "schemalocation", "schematrackinglocation")


def trigger_of(query: Query) -> Trigger | None:
    return _TRIGGERS.get(query.trigger.kind, "default") if query.trigger else None


def options_of(query: Query) -> dict[str, str]:
    """Of the sources, those that all of one kind have alike, no two kinds have in different values, and that name no
    place; and of the writer what changes the mode."""
    given = [(source.kind, {key.lower(): value for key, value in source.options.items()}) for source in query.sources]
    spelled = {key.lower(): key for source in query.sources for key in source.options}
    options = {}
    for key, name in spelled.items():
        kinds = {kind for kind, of_one in given if key in of_one}
        values = {of_one.get(key) for kind, of_one in given if kind in kinds}
        if len(values) == 1:
            options[name] = str(values.pop())
    of_sink = query.sink.options if query.sink else {}
    options |= {key: value for key, value in of_sink.items() if key.lower().startswith(_OF_THE_WRITER)}
    return {key: value for key, value in options.items() if value != _HIDDEN and key.lower() not in PLACES}


def options_of_sources(query: Query) -> dict[str, dict[str, str]]:
    """Of each source all its own, but for what names a place. Its key is its number, or the name that it was given."""
    return {
        source.name or str(source.index): {
            key: value for key, value in source.options.items() if value != _HIDDEN and key.lower() not in PLACES
        }
        for source in query.sources
    }


def given_to_source(query: Query, index: int, key: str, value: str) -> Query:
    """With an option of one of its sources as somebody wants it."""
    source = query.sources[index]
    others = {name: old for name, old in source.options.items() if name.lower() != key.lower()}
    changed = replace(source, options={**others, key: value})
    return replace(query, sources=(*query.sources[:index], changed, *query.sources[index + 1 :]))
