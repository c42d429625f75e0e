import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.avro.Conversions;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;

public class ReadInstruments {
  public static void main(String[] args) {
    String topic = args[2];
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", args[0],
        "group.id", topic + "-java",
        "isolation.level", "read_committed",
        "auto.offset.reset", "earliest",
        "key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer",
        // Apicurio's own address, which ends with /apis/registry/v3; with Confluent's registry it is
        // io.confluent.kafka.serializers.KafkaAvroDeserializer and schema.registry.url.
        "value.deserializer", "io.apicurio.registry.serde.avro.AvroKafkaDeserializer",
        "apicurio.registry.url", args[1]);
    Conversions.DecimalConversion decimals = new Conversions.DecimalConversion();
    try (KafkaConsumer<String, GenericRecord> consumer = new KafkaConsumer<>(settings)) {
      consumer.subscribe(List.of(topic));
      for (int quiet = 0; quiet < 10; ) { // nothing new for 10 s
        ConsumerRecords<String, GenericRecord> records = consumer.poll(Duration.ofSeconds(1));
        quiet = records.isEmpty() ? quiet + 1 : 0;
        records.forEach(record -> {
          if (record.value() == null) { // the instrument is gone
            System.out.println(record.key() + " None");
            return;
          }
          GenericRecord instrument = record.value();
          var field = instrument.getSchema().getField("issuePrice");
          var type = field.schema().getTypes().get(1);
          Object bytes = instrument.get("issuePrice");
          // Every digit.
          BigDecimal price = bytes == null ? null
              : decimals.fromBytes((java.nio.ByteBuffer) bytes, type, type.getLogicalType());
          System.out.println(record.key() + " " + (price == null ? "None" : price.toPlainString()));
        });
      }
    }
  }
}
