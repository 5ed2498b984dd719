"""Who may import whom, as one table: `test_tidy` keeps the code to it, and docs/architecture.md shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Modules that may import each other and what lies before them. `pure`: neither they nor anything that they import
    touches files, clocks, processes or the network."""

    modules: tuple[str, ...]
    touches: str
    pure: bool = False


PURE_OF_KAFKA = ("base", "diff", "earlier", "mirrored", "moments", "moves", "positions", "settings", "starting", "when")
PURE_OF_STATE = ("decoding", "joined", "replay", "tables")
PURE_OF_QUERY = (
    "from_checkpoint",
    "from_connect",
    "from_explain",
    "from_progress",
    "from_spark",
    "meaning",
    "model",
    "saved",
    "started",
    "texts",
)
PURE_OF_REHEARSAL = ("clone", "rows")
PURE_OF_CHECKUP = ("checks", "checkup", "fixes", "known")
PURE_OF_HARNESS = ("fold", "history", "judge", "junit", "reading", "report", "shrink")

LAYERS = (
    Layer(("errors", "literals", "model", "words"), "nothing", pure=True),
    Layer(
        ("releases", "formats", "logs", "connectors", "storage.authority", "storage.urls"),
        "bytes and text in, values out",
        pure=True,
    ),
    Layer(
        (
            "scene",
            *(f"kafka.{name}" for name in PURE_OF_KAFKA),
            *(f"query.{name}" for name in PURE_OF_QUERY),
            *(f"rehearsal.{name}" for name in PURE_OF_REHEARSAL),
            *(f"state.{name}" for name in PURE_OF_STATE),
        ),
        "values; time is an argument",
        pure=True,
    ),
    Layer(("laws",), "a scene in, answers out", pure=True),
    Layer(("causes",), "findings in, what happened out", pure=True),
    Layer(("diagnosis",), "the answers of the laws, drawn together", pure=True),
    Layer(("plan",), "values", pure=True),
    Layer(tuple(f"checkup.{name}" for name in PURE_OF_CHECKUP), "values", pure=True),
    Layer(("jail",), "a child process, in which native code works"),
    Layer(("storage",), "file systems; only `remote`, `objects` and `hdfs` know fsspec, local paths do without it"),
    Layer(
        ("reading", "state", "report", "kafka", "fleet", "api", "checkup", "deploy"),
        "a `Store`; brokers, when one is asked",
    ),
    Layer(("apply",), "the files of a checkpoint and of its sinks, which nobody else changes"),
    Layer(tuple(f"harness.{name}" for name in PURE_OF_HARNESS), "recorded histories", pure=True),
    Layer(
        ("harness", "query", "rehearsal", "spark"),
        "processes and JVMs; only `spark` and the jobs that ship import pyspark",
    ),
    Layer(("cli", "guarding", "pytest_plugin", ""), "everything; commands import their work inside the command"),
)


def layer_of(module: str) -> int:
    """The longest prefix that fits decides."""
    return max((len(prefix), number) for number, prefix in _prefixes() if _is_in(module, prefix))[1]


def is_pure(module: str) -> bool:
    return LAYERS[layer_of(module)].pure


def _prefixes() -> list[tuple[int, str]]:
    return [(number, f"ckpttool.{name}".rstrip(".")) for number, layer in enumerate(LAYERS) for name in layer.modules]


def _is_in(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")
