import sys

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer

brokers, registry, topic = sys.argv[1:]
decode = AvroDeserializer(SchemaRegistryClient({"url": registry, "timeout": 10}))
consumer = Consumer({
    "bootstrap.servers": brokers,
    "group.id": f"{topic}-python",
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
})
consumer.subscribe([topic])
while (message := consumer.poll(10)) is not None:  # None: nothing new for 10 s
    if message.error():
        raise SystemExit(message.error().str())
    # None: the instrument is gone. Decimals are decimal.Decimal, with every digit.
    instrument = decode(message.value())
    price = instrument and instrument["issuePrice"]
    print(message.key().decode(), price if price is None else f"{price:f}")
consumer.close()
