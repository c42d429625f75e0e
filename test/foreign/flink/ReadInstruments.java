import java.math.BigDecimal;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

public class ReadInstruments {
  public static void main(String[] args) throws Exception {
    TableEnvironment flink = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
    flink.executeSql("""
        CREATE TABLE instruments (
          `key` STRING,
          `isin` STRING,
          `issuePrice` DECIMAL(38, 18),
          PRIMARY KEY (`key`) NOT ENFORCED
        ) WITH (
          'connector' = 'upsert-kafka',
          'properties.bootstrap.servers' = '%s',
          'properties.isolation.level' = 'read_committed',
          'topic' = '%3$s',
          'scan.bounded.mode' = 'latest-offset',
          'key.format' = 'raw',
          'value.format' = 'avro-confluent',
          'value.avro-confluent.url' = '%2$s',
          'value.fields-include' = 'EXCEPT_KEY'
        )""".formatted((Object[]) args));
    try (CloseableIterator<Row> rows = flink.executeSql("SELECT `key`, `issuePrice` FROM instruments").collect()) {
      while (rows.hasNext()) {
        Row row = rows.next();
        if (row.getKind() == RowKind.UPDATE_BEFORE) continue; // the new values come next
        boolean isGone = row.getKind() == RowKind.DELETE; // the row holds the last values
        BigDecimal price = isGone ? null : row.getFieldAs("issuePrice"); // every digit
        System.out.println(row.getField("key") + " " + (price == null ? "None" : price.toPlainString()));
      }
    }
  }
}
