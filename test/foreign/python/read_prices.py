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
unread = set(consumer.list_topics(topic, 10).topics[topic].partitions)
consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])
prices = {}
while unread:  # each partition, up to its end
    if (message := consumer.poll(30)) is None:
        raise SystemExit("nothing came for 30 s")
    if message.error() and message.error().code() != KafkaError._PARTITION_EOF:
        raise SystemExit(message.error().str())
    if message.error():
        unread.discard(message.partition())
    else:
        prices[message.key().decode()] = decode(message.value())  # None: no price any more
consumer.close()
for key, price in prices.items():
    quote = price and price["lastPrice"]  # numbers are decimal.Decimal, with every digit
    print(key, price and price["isin"], quote and quote["bid"], quote and quote["ask"])
