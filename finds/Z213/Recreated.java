// An application that answers records of a topic in that topic, exactly once: it says how far it has
// read in the transaction of its answer (KIP-447). With Kafka's own settings, but for those that this
// takes, and told step by step what to do. Each line of input is answered by a line of JSON: the
// milliseconds that it took, the exception that came of it, and offsets and values that it wrote or
// was given.
//
//     feed V...  somebody else writes these records
//     read       polls until it is given records
//     begin      a transaction
//     send V     writes a record in it
//     place      says in it how far it has read
//     commit, abort
//
//     java -cp 'libs/*' Recreated.java BOOTSTRAP TOPIC

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
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
            "enable.auto.commit", false, "auto.offset.reset", "earliest",
            "isolation.level", "read_committed");
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
                var at = new TopicPartition(topic, 0);
                var told = new ArrayList<String>();
                long began = System.nanoTime();
                try {
                    switch (words[0]) {
                        case "feed" -> {
                            try (var other = new KafkaProducer<>(
                                    Map.<String, Object>of("bootstrap.servers", args[0]), text, text)) {
                                for (int i = 1; i < words.length; i++)
                                    told.add(written(other, topic, words[i]));
                            }
                        }
                        case "read" -> {
                            var given = consumer.poll(Duration.ZERO);
                            while (given.isEmpty())
                                given = consumer.poll(Duration.ofMillis(200));
                            given.forEach(each -> told.add(pair(each.offset(), each.value())));
                        }
                        case "begin" -> producer.beginTransaction();
                        case "send" -> told.add(written(producer, topic, words[1]));
                        case "place" -> producer.sendOffsetsToTransaction(
                            Map.of(at, new OffsetAndMetadata(consumer.position(at))),
                            consumer.groupMetadata());
                        case "commit" -> producer.commitTransaction();
                        case "abort" -> producer.abortTransaction();
                    }
                } catch (KafkaException refused) {
                    error = refused.getClass().getSimpleName();
                }
                System.out.println("{\"ms\":%d,\"error\":\"%s\",\"records\":%s,\"position\":%d}"
                    .formatted((System.nanoTime() - began) / 1_000_000, error, told,
                        consumer.assignment().contains(at) ? consumer.position(at) : 0));
            }
        }
        System.exit(0);
    }

    static String written(KafkaProducer<String, String> producer, String topic, String value)
            throws Exception {
        var record = new ProducerRecord<String, String>(topic, 0, null, value);
        return pair(producer.send(record).get().offset(), value);
    }

    static String pair(long offset, String value) {
        return "[%d,%s]".formatted(offset, value);
    }
}
