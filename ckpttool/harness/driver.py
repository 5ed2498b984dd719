"""The Spark that jobs run in: which Python, which jars, which settings; and a session of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

import ckpttool
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Session, environment_for

SERVE = Path(ckpttool.__file__).with_name("spark") / "serve.py"
# Hadoop starts a program for every change of a file's mode; the JVM's own way to do so costs twice as much.
QUICK_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Djdk.lang.Process.launchMechanism=VFORK",
)
# Batches of a few rows: making code for them, and statistics of them, would take most of the time.
QUICK_SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
}


class Driver(Struct, frozen=True, omit_defaults=True):
    """`python`: of an environment that has pyspark. `jars`: connectors, Delta among them or not."""

    python: Path
    jars: Sequence[Path] = ()
    conf: Mapping[str, str] = {}
    cores: int = 2
    path: Sequence[Path] = ()

    def start(self, scratch: Scratch, name: str, java_options: Sequence[str] = ()) -> Session:
        """A process that answers the requests of `ckpttool.spark.serve`."""
        session = Session(scratch, [str(self.python), str(SERVE)], environment_for(self.python, self.path), name)
        try:
            session.send(self._settings(scratch, [*QUICK_JVM, *java_options]))
        except BaseException:
            session.kill()
            raise
        return session

    def _settings(self, scratch: Scratch, java_options: Sequence[str]) -> dict[str, str]:
        local = scratch.folder("local")
        settings: dict[str, str] = QUICK_SPARK | {
            "spark.master": f"local[{self.cores}]",
            "spark.local.dir": str(local),
            "spark.sql.warehouse.dir": str(scratch.folder("warehouse")),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.stopTimeout": "10s",
            "spark.sql.session.timeZone": "UTC",
            # Stopping the stores waits for a maintenance thread, by default up to five minutes.
            "spark.sql.streaming.stateStore.maintenanceShutdownTimeout": "1s",
            "spark.driver.extraJavaOptions": " ".join([f"-Djava.io.tmpdir={local}", *java_options]),
        }
        if self.jars:
            for part in ("driver", "executor"):
                settings[f"spark.{part}.extraClassPath"] = os.pathsep.join(map(str, self.jars))
        if any(jar.name.startswith("delta-spark") for jar in self.jars):
            settings |= {
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            }
        return settings | dict(self.conf)
