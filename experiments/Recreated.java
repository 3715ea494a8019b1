// An application that answers records of a topic in that topic, exactly once: it says how far it has
// read in the transaction of its answer (KIP-447). With Kafka's own settings, but for those that this
// takes, and told step by step what to do. Each line of input is answered by a line of JSON, with the
// milliseconds that it took and the exception that came of it:
//
//     feed N     somebody else writes N records
//     read       polls until it is given a record
//     answer     a transaction: writes a record, says how far it has read, commits
//     pass       a transaction for a record that needs no answer: says how far it has read, commits
//     abort      ends the transaction
//
//     java -cp 'libs/*' Recreated.java BOOTSTRAP TOPIC

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Recreated {
    public static void main(String[] args) throws Exception {
        String topic = args[1];
        var text = new StringSerializer();
        Map<String, Object> reading = Map.of("bootstrap.servers", args[0], "group.id", "g",
            "enable.auto.commit", false, "auto.offset.reset", "earliest");
        Map<String, Object> writing = Map.of("bootstrap.servers", args[0], "transactional.id", "p1");
        var input = new BufferedReader(new InputStreamReader(System.in));
        try (var consumer = new KafkaConsumer<>(
                 reading, new StringDeserializer(), new StringDeserializer())) {
            var producer = new KafkaProducer<>(writing, text, text); // which may not close any more
            producer.initTransactions();
            consumer.subscribe(List.of(topic));
            String line;
            while ((line = input.readLine()) != null) {
                var words = line.split(" ");
                var error = "";
                long began = System.nanoTime();
                try {
                    switch (words[0]) {
                        case "feed" -> {
                            try (var other = new KafkaProducer<>(
                                    Map.<String, Object>of("bootstrap.servers", args[0]), text, text)) {
                                for (int i = 0; i < Integer.parseInt(words[1]); i++)
                                    other.send(new ProducerRecord<>(topic, 0, null, "asks")).get();
                            }
                        }
                        case "read" -> {
                            var given = consumer.poll(Duration.ZERO);
                            while (given.isEmpty())
                                given = consumer.poll(Duration.ofMillis(200));
                            var first = given.iterator().next();
                            line += " " + first.value() + "@" + first.offset();
                        }
                        case "answer", "pass" -> {
                            producer.beginTransaction();
                            if (words[0].equals("answer"))
                                producer.send(new ProducerRecord<>(topic, 0, null, "answers")).get();
                            var at = new TopicPartition(topic, 0);
                            producer.sendOffsetsToTransaction(
                                Map.of(at, new OffsetAndMetadata(consumer.position(at))),
                                consumer.groupMetadata());
                            producer.commitTransaction();
                        }
                        case "abort" -> producer.abortTransaction();
                    }
                } catch (KafkaException refused) {
                    error = refused.getClass().getSimpleName();
                }
                System.out.println("{\"did\":\"%s\",\"ms\":%d,\"error\":\"%s\"}"
                    .formatted(line, (System.nanoTime() - began) / 1_000_000, error));
            }
        }
        System.exit(0);
    }
}
