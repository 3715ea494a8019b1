// A Java client of a served cluster: `java -cp JARS Session.java BOOTSTRAP_SERVERS` (docs/serve.md).

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

public class Session {
  private static final String TOPIC = "java";
  private static final int RECORDS = 10;
  private static final String STRINGS = "org.apache.kafka.common.serialization.String";

  public static void main(String[] arguments) throws Exception {
    Properties common = new Properties();
    common.put("bootstrap.servers", arguments[0]);
    for (String of : List.of("key", "value")) {
      common.put(of + ".serializer", STRINGS + "Serializer");
      common.put(of + ".deserializer", STRINGS + "Deserializer");
    }
    try (Admin admin = Admin.create(common)) {
      admin.createTopics(List.of(new NewTopic(TOPIC, 1, (short) 3))).all().get();
      System.out.println("brokers " + admin.describeCluster().nodes().get().size());
    }
    produce(common, "all", "gzip");
    produce(common, "all", "zstd");
    produce(common, "1", "lz4");
    produce(common, "0", "snappy");
    consume(common, 4 * RECORDS);
    for (String protocol : List.of("classic", "consumer")) {
      subscribe(common, protocol, 4 * RECORDS);
    }
    transactions(common);
  }

  private static void transactions(Properties common) {
    Properties own = new Properties();
    own.putAll(common);
    own.put("transactional.id", "java");
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(own)) {
      producer.initTransactions();
      for (int at = 0; at < RECORDS; at++) {
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("transactions", "transaction-" + at));
        producer.flush();
        if (at % 2 == 0) {
          producer.commitTransaction();
        } else {
          producer.abortTransaction();
        }
      }
    }
    TopicPartition partition = new TopicPartition("transactions", 0);
    own.put("isolation.level", "read_committed");
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(own)) {
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      long end = consumer.endOffsets(List.of(partition)).get(partition);
      int found = 0;
      while (consumer.position(partition) < end) {
        found += consumer.poll(Duration.ofSeconds(1)).count();
      }
      System.out.println("committed-transactions " + found);
    }
  }

  private static void subscribe(Properties common, String protocol, int records) {
    Properties own = new Properties();
    own.putAll(common);
    own.put("group.id", protocol);
    own.put("group.protocol", protocol);
    own.put("auto.offset.reset", "earliest");
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(own)) {
      consumer.subscribe(List.of(TOPIC));
      int found = 0;
      while (found < records) {
        found += consumer.poll(Duration.ofSeconds(1)).count();
      }
      consumer.commitSync();
      System.out.println(protocol + " " + found);
    }
  }

  private static void produce(Properties common, String acks, String codec) {
    Properties own = new Properties();
    own.putAll(common);
    own.put("acks", acks);
    own.put("compression.type", codec);
    own.put("enable.idempotence", Boolean.toString(acks.equals("all")));
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(own)) {
      for (int at = 0; at < RECORDS; at++) {
        producer.send(new ProducerRecord<>(TOPIC, acks + "-" + at));
      }
    }
  }

  private static void consume(Properties common, int records) {
    TopicPartition partition = new TopicPartition(TOPIC, 0);
    common.put("group.id", "java");
    common.put("auto.offset.reset", "earliest");
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(common)) {
      consumer.assign(List.of(partition));
      int found = 0;
      while (found < records) {
        found += consumer.poll(Duration.ofSeconds(1)).count();
      }
      consumer.commitSync();
      System.out.println("records " + found);
      System.out.println("end " + consumer.endOffsets(List.of(partition)).get(partition));
      var first = consumer.offsetsForTimes(Map.of(partition, 0L)).get(partition);
      System.out.println("first " + first.offset());
      var committed = consumer.committed(new HashSet<>(List.of(partition))).get(partition);
      System.out.println("committed " + committed.offset());
    }
  }
}
