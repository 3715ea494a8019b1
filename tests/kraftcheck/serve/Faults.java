// A Java client that writes and reads topics, one after the other, whatever happens meanwhile:
// `java -cp JARS Faults.java BOOTSTRAP_SERVERS RECORDS TOPIC...` (test_clients.py).

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

public class Faults {
  private static final String STRINGS = "org.apache.kafka.common.serialization.String";

  public static void main(String[] arguments) throws Exception {
    Properties common = new Properties();
    common.put("bootstrap.servers", arguments[0]);
    for (String of : List.of("key", "value")) {
      common.put(of + ".serializer", STRINGS + "Serializer");
      common.put(of + ".deserializer", STRINGS + "Deserializer");
    }
    int records = Integer.parseInt(arguments[1]);
    for (String topic : List.of(arguments).subList(2, arguments.length)) {
      try (KafkaProducer<String, String> producer = new KafkaProducer<>(common)) {
        for (int at = 0; at < records; at++) {
          producer.send(new ProducerRecord<>(topic, "record " + at)).get();
        }
      }
      TopicPartition partition = new TopicPartition(topic, 0);
      try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(common)) {
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        List<String> found = new ArrayList<>();
        while (found.size() < records) {
          consumer.poll(Duration.ofSeconds(1)).forEach(each -> found.add(each.value()));
        }
        System.out.println(topic + "=" + String.join(",", found));
      }
    }
  }
}
