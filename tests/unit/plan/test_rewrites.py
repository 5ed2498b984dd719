"""Lines of code in the place of what Spark refuses. That Spark takes them is in tests/differential."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.laws.changes.base import Altered
from ckpttool.model import Checkpoint
from ckpttool.plan.repair import Refusal
from ckpttool.plan.rewrites import Rewrite, keep_old_shape
from ckpttool.query.model import DescribedSource, Meaning, Query
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.unit.laws.changes.queries import COUNT, FILES, NEW, QUERY, but, counting, judged, store, struct


def kept(new: Query, was: Query | None = QUERY, held: Query = QUERY) -> Rewrite | Refusal | None:
    scene = Scene(gather_evidence(Checkpoint("/ck", None)), Start(NEW), query=new, was=was)
    return keep_old_shape(scene, refused(new, held))


def refused(new: Query, held: Query) -> list[Altered]:
    return [change for change in judged(new, held).found if change.answer == "refused"]


def lines(rewrite: Rewrite | Refusal | None) -> list[str]:
    assert isinstance(rewrite, Rewrite)
    return [line for line, _ in rewrite.lines]


ALSO = DescribedSource(1, None, "file", place="file:/in 2", format="json", schema=struct("k string", "at-x long"),
                       options={"maxFilesPerTrigger": "1", "path": "file:/in 2"})  # fmt: skip
TWO = but(sources=(FILES, ALSO))


def test_a_source_that_went_is_read_and_none_of_it_taken() -> None:
    edited = kept(QUERY, TWO, TWO)
    assert lines(edited) == [
        'stub = spark.readStream.format("json").schema("k string, `at-x` bigint").option("maxFilesPerTrigger", "1")'
        '.load("file:/in 2").where("false").selectExpr("CAST(NULL AS string) AS k", "CAST(NULL AS bigint) AS n")',
        "result = result.union(stub)",
    ]
    assert isinstance(edited, Rewrite)
    assert edited.query.sources == TWO.sources


def test_one_that_was_first_is_first_again() -> None:
    later = replace(ALSO, index=0)
    edited = kept(QUERY, was := but(sources=(later, replace(FILES, index=1))), was)
    assert lines(edited)[1] == "result = stub.union(result)"
    assert isinstance(edited, Rewrite)
    assert edited.query.sources == was.sources
    assert edited.query.operators[0].inputs == (1,)


def test_what_no_description_tells_is_no_code() -> None:
    secret = replace(ALSO, kind="kafka", format=None, options={"kafka.sasl.jaas.config": "***"})
    between = but(sources=(FILES, ALSO, replace(FILES, index=2, place="file:/c")))
    fewer = but(sources=(FILES, replace(FILES, index=1, place="file:/c")))
    for new, was, held, why in (
        (QUERY, None, TWO, "--was"),
        (QUERY, but(sources=(FILES, secret)), TWO, "leaves out"),
        (fewer, between, between, "between others"),
    ):
        said = kept(new, was, held)
        assert isinstance(said, Refusal)
        assert why in said.why


def test_a_key_that_became_nullable_gets_a_value() -> None:
    never = counting(stores=(store(struct("x string!"), struct("count long!", "sum long")),))
    edited = kept(QUERY, never, never)
    assert lines(edited) == ["""keys[0] = F.expr("coalesce(k, '')").alias("k")"""]
    assert isinstance(edited, Rewrite)
    assert edited.traps == ("rows of which k is null count as ''",)
    assert refused(edited.query, never) == []


def test_what_is_new_goes_into_a_second_query() -> None:
    more = counting(
        stores=(store(struct("k string", "w long"), struct("max long", "count long!", "sum long")),),
        meaning=Meaning(keys=("k", "window(ts, 10000 ms, 5000 ms)"), values=("max(id)", "count(1)", "sum(v)")),
    )
    edited = kept(more)
    assert lines(edited)[0] == (
        """second = rows.groupBy(F.expr("k"), F.expr("window(ts, '10000 milliseconds', '5000 milliseconds')"))"""
        """.agg(F.expr("max(id)"), F.expr("count(1)"), F.expr("sum(v)"))"""
    )
    assert isinstance(edited, Rewrite)
    assert edited.query == QUERY
    assert isinstance(kept(more, was=None), Refusal)


def test_of_other_operators_no_line_is_known() -> None:
    unique = replace(COUNT, name="dedupe", meaning=Meaning(keys=("k",)))
    before = but(operators=(replace(unique, stores=(store(struct("k string"), struct()),)),))
    after = but(operators=(replace(unique, stores=(store(struct("k string", "g string"), struct()),)),))
    assert isinstance(kept(after, before, before), Refusal)
    assert kept(but(operators=())) is None
