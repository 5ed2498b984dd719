"""One Spark for two codes, each in a Python of its own: it takes longer to start one than to do all that is done there.

What a session sets is its own, and the second code gets a new session. Whatever else a job may change before it comes
to its start, all sessions of a Spark have in common: the second one would run in what the first has made. So a Spark is
offered only if the first job left it as it was, and taken only if the second one asks for nothing that it has not got.
"""

from __future__ import annotations

import functools
import json
import os
from importlib import import_module
from typing import Any, NoReturn

Json = dict[str, Any]
_OF_NO_WEIGHT = ("spark.app.name",)  # what only a person reads
_OF_SPARK = ("hive.metastore.warehouse.dir",)  # set with the first session


class AnotherSpark(BaseException):
    """What was offered is not what the job asks for: no handler of its own is to hold that up."""


class Sharing:
    """`offer`: the Spark of another Python, to go on with."""

    def __init__(self, offer: Json | None) -> None:
        self.taken, self.is_refused = offer, False
        self._environment = dict(os.environ)
        self._asked: Json = {}
        self._at_first: Json | None = None

    def patch(self) -> None:
        """Before others patch the same: what Spark itself would be asked counts."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        made, made_session = SparkContext.__init__, SparkSession.__init__

        @functools.wraps(made)
        def init(self: Any, *given: Any, **named: Any) -> None:
            sharing._asked = sharing._asks(named.get("conf"))
            made(self, *given, **named, **sharing._gateway(named.get("conf")))
            sharing._at_first = in_common(self)

        @functools.wraps(made_session)
        def init_session(self: Any, sparkContext: Any, jsparkSession: Any = None, options: Any = None) -> None:
            if jsparkSession is None and SparkSession._instantiatedSession is None:
                jsparkSession = sharing._session(sparkContext)
            made_session(self, sparkContext, jsparkSession, options or {})

        sharing = self
        SparkContext.__init__ = init
        if self.taken is not None:
            SparkSession.__init__ = init_session

    @property
    def offer(self) -> Json | None:
        """For another Python; None if the job has changed what that would find."""
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        if context is None or self._at_first is None or in_common(context) != self._at_first:
            return None
        asked = context._gateway.gateway_parameters
        return {"port": asked.port, "secret": asked.auth_token, "asked": self._asked}

    def _asks(self, conf: Any) -> Json:
        """What a Spark is started with, and from where."""
        changed = {key: value for key, value in os.environ.items() if self._environment.get(key) != value}
        gone = [key for key in self._environment if key not in os.environ]
        settings = dict(conf.getAll()) if conf is not None else {}
        return {"conf": settings, "environment": changed, "gone": gone, "folder": os.getcwd()}

    def _gateway(self, conf: Any) -> Json:
        """The context that is there, for ours to be made of."""
        if self.taken is None:
            return {}
        from pyspark import SparkContext

        self._refuse_others()
        os.environ |= {"PYSPARK_GATEWAY_PORT": str(self.taken["port"]), "PYSPARK_GATEWAY_SECRET": self.taken["secret"]}
        SparkContext._ensure_initialized(conf=conf)
        jvm: Any = SparkContext._jvm
        return {"jsc": jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())}

    def _refuse_others(self) -> None:
        """Whose settings apart, a Spark has more of whoever starts it."""
        assert self.taken is not None
        if any(self._asked[key] != self.taken["asked"][key] for key in ("environment", "gone", "folder")):
            self._refuse()

    def _refuse(self) -> NoReturn:
        self.is_refused = True
        raise AnotherSpark

    def _session(self, context: Any) -> Any:
        """A new one, which has of the settings those that this job asks for."""
        assert self.taken is not None
        session = context._jvm.SparkSession.getDefaultSession().get().newSession()
        ours, others = self._asked["conf"], self.taken["asked"]["conf"]
        for key in {key for key in {**ours, **others} if ours.get(key) != others.get(key)} - {*_OF_NO_WEIGHT}:
            if not session.conf().isModifiable(key):
                self._refuse()
            session.conf().unset(key)
            if key in ours:
                session.conf().set(key, ours[key])
        return session


def in_common(context: Any) -> Json:
    """Of what all sessions have in common, whatever a job may change."""
    jvm, sc = context._jvm, context._jsc.sc()
    found = {name: getattr(sc, name)().toString() for name in ("listJars", "listFiles", "listArchives")}
    found |= {"zone": jvm.java.util.TimeZone.getDefault().getID()}
    found |= {"language": jvm.java.util.Locale.getDefault().toString()}
    session = jvm.SparkSession.getDefaultSession()
    views = session.get().sharedState().globalTempViewManager().listViewNames("*") if session.isDefined() else None
    found |= {"views": views.toString()} if views is not None and views.size() else {}
    settings = jvm.java.io.StringWriter()
    jvm.org.apache.hadoop.conf.Configuration.dumpConfiguration(sc.hadoopConfiguration(), settings)
    every = json.loads(settings.toString())["properties"]
    # Files of defaults come with the classes that need them.
    found |= {one["key"]: one["value"] for one in every if not str(one.get("resource")).endswith(".xml")}
    return {key: value for key, value in found.items() if key not in _OF_SPARK}


def call_back_here(context: Any) -> None:
    """From now on functions of foreachBatch are those of this Python: a Spark has one line to one Python."""
    gateway = context._gateway
    import_module("pyspark.java_gateway").ensure_callback_server_started(gateway)
    server = import_module("py4j.java_gateway").JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway._python_proxy_port)
