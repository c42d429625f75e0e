import json
import sys
from urllib.request import urlopen

from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import expr, lit, raise_error, when

brokers, registry, topic = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
records = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", brokers)
    .option("subscribe", topic)
    .option("kafka.isolation.level", "read_committed")
    .option("startingOffsets", "earliest")
    .load()
)

# from_avro knows no registry: each record is read with the schema that its header names, and made into the newest one.
subject = f"{registry}/subjects/{topic}-value/versions"
versions = [json.load(urlopen(f"{subject}/{version}")) for version in json.load(urlopen(subject))]
newest = {"avroSchema": versions[-1]["schema"]}
schema_id = expr("conv(hex(substring(value, 2, 4)), 16, 10)")
instrument = raise_error(lit("a schema that was registered after the start"))
for version in versions:
    decoded = from_avro(expr("substring(value, 6)"), version["schema"], newest)
    instrument = when(schema_id == version["id"], decoded).otherwise(instrument)
# Null: the instrument is gone.
instrument = when(expr("value is not null"), instrument)

instruments = records.select(expr("string(key)").alias("key"), instrument.alias("instrument"))
prices = instruments.select("key", "instrument.issuePrice")  # decimal(38,18), a decimal.Decimal here
for key, price in prices.toLocalIterator():
    print(key, price if price is None else f"{price:f}")
