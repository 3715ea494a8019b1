// An application that copies a topic, exactly once: it reads, and writes in one transaction what it
// has read and how far (KIP-447). With Kafka's own settings, but for those that this takes, and told
// step by step what to do. Each line of input is answered by a line of JSON once it is done:
//
//     read N     polls until it was given N records more
//     copy       what it was given, in a transaction with its place
//
//     java -cp 'libs/*' Copy.java BOOTSTRAP FROM TO TRANSACTIONAL_ID classic|consumer

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Copy {
    public static void main(String[] args) throws Exception {
        Map<String, Object> reading = Map.of(
            "bootstrap.servers", args[0], "group.id", "g", "group.protocol", args[4],
            "enable.auto.commit", false, "auto.offset.reset", "earliest",
            "isolation.level", "read_committed");
        Map<String, Object> writing =
            Map.of("bootstrap.servers", args[0], "transactional.id", args[3]);
        var partition = new TopicPartition(args[1], 0);
        var given = new ArrayList<ConsumerRecord<String, String>>();
        var input = new BufferedReader(new InputStreamReader(System.in));
        var text = new StringSerializer();
        try (var consumer = new KafkaConsumer<>(
                 reading, new StringDeserializer(), new StringDeserializer());
             var producer = new KafkaProducer<>(writing, text, text)) {
            producer.initTransactions();
            consumer.subscribe(List.of(args[1]));
            String line;
            while ((line = input.readLine()) != null) {
                var words = line.split(" ");
                var error = "";
                try {
                    switch (words[0]) {
                        case "read" -> {
                            int wanted = given.size() + Integer.parseInt(words[1]);
                            while (given.size() < wanted) {
                                consumer.poll(Duration.ofMillis(200)).forEach(given::add);
                            }
                        }
                        case "copy" -> {
                            producer.beginTransaction();
                            for (var record : given) {
                                producer.send(new ProducerRecord<>(args[2], record.value()));
                            }
                            producer.sendOffsetsToTransaction(
                                Map.of(partition, place(given)), consumer.groupMetadata());
                            producer.commitTransaction();
                        }
                    }
                } catch (KafkaException refused) {
                    error = refused.getClass().getSimpleName();
                    producer.abortTransaction();
                }
                System.out.println(
                    "{\"did\":\"%s\",\"records\":%d,\"error\":\"%s\"}"
                        .formatted(line, given.size(), error));
            }
        }
    }

    private static OffsetAndMetadata place(List<ConsumerRecord<String, String>> given) {
        return new OffsetAndMetadata(given.get(given.size() - 1).offset() + 1);
    }
}
