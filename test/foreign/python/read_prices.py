import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer

brokers, registry, topic = sys.argv[1:]
decode = AvroDeserializer(SchemaRegistryClient({"url": registry, "timeout": 10}))
consumer = Consumer({
    "bootstrap.servers": brokers,
    "group.id": "none",  # needed by the client; nothing is committed
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
})
found = consumer.list_topics(topic, 10).topics[topic]
if found.error:
    raise SystemExit(f"{topic}: {found.error.str()}")
unread = set(found.partitions)
consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])
newest = {}
while unread:  # each partition, up to its end
    if (message := consumer.poll(30)) is None:
        raise SystemExit("nothing came for 30 s")
    if message.error() and message.error().code() != KafkaError._PARTITION_EOF:
        raise SystemExit(message.error().str())
    if message.error():
        unread.discard(message.partition())
    else:
        newest[message.key().decode()] = message.value()
consumer.close()


def plain(number):  # a decimal.Decimal, with every digit
    return None if number is None else f"{number:f}".rstrip("0").rstrip(".")


for key, value in newest.items():
    price = decode(value)  # None: no price any more
    quote = price and price["lastPrice"]
    print(key, price and price["isin"], quote and plain(quote["bid"]), quote and plain(quote["ask"]))
