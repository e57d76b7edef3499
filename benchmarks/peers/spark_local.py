"""Peer: logs to pattern table in the same SQL on Spark, local[2] (hand_spark.sql).

python benchmarks/peers/spark_local.py LOG OUT

Needs pyspark 4 and Java 17 or newer. The driver's memory is set before the Java process starts.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import lit

SETTINGS = {
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main(log: Path, out: Path) -> None:
    """Read the log's Parquet files, write the folder `out`/patterns.parquet."""
    builder = SparkSession.builder.master("local[2]").appName("patterns")
    spark = builder.config(map=SETTINGS).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    searches = spark.read.parquet(str(log / "searches.parquet"))
    if "market" not in searches.columns:
        searches = searches.withColumn("market", lit("all"))
    searches.createOrReplaceTempView("searches")
    spark.read.parquet(str(log / "clicks.parquet")).createOrReplaceTempView("clicks")
    patterns = spark.sql((Path(__file__).parent / "hand_spark.sql").read_text())
    patterns.write.mode("overwrite").parquet(str(out / "patterns.parquet"))
    _stop(spark)


def _stop(spark: SparkSession) -> None:
    """Stop and wait for the Java process: the system counts the cost of children that were waited for."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
