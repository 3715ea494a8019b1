// An application that copies a topic, exactly once: it reads, and writes in one transaction what it
// has read and how far (KIP-447). With Kafka's own settings, but for those that this takes, and told
// step by step what to do. Each line of input is answered by a line of JSON once it is done:
//
//     read N     polls until it was given N records more
//     poll MS    polls once, for so long at most
//     write      begins a transaction, and writes what it was given since the last one that is committed
//     more       writes in that what it was given since
//     place      says in the transaction how far it has read
//     all        as write and then place, without waiting between
//     heavy      the same, but that first a record is on its way that its topic refuses
//     commit     ends it; whatever was refused before has aborted it
//     anew       leaves its group, and subscribes again
//
// With "slow", it is told when to go on with the partitions that it is assigned, as if it had to
// load what belongs to them, and where it goes on: "assigned" is its answer, and after the next line
// it goes on at the beginning. "cooperative" is the classic protocol with CooperativeStickyAssignor.
//
//     java -cp 'libs/*' Copy.java BOOTSTRAP FROM TO TRANSACTIONAL_ID \
//         classic|consumer|cooperative [slow]
//
// "has" of an answer: the partitions that its consumer takes for its own; "member": its id; "error":
// what was refused, and has it aborted; "usable": whether its producer is.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Copy {
    private static final int HEAVY = 2000; // bytes
    private static final int SENT_MS = 200; // until it is on its way: linger.ms is 5

    public static void main(String[] args) throws Exception {
        var cooperative = args[4].equals("cooperative");
        var reading = new HashMap<String, Object>(Map.of(
            "bootstrap.servers", args[0], "group.id", "g",
            "group.protocol", cooperative ? "classic" : args[4],
            "enable.auto.commit", false, "auto.offset.reset", "earliest",
            "isolation.level", "read_committed"));
        if (cooperative) {
            reading.put("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
        }
        Map<String, Object> writing =
            Map.of("bootstrap.servers", args[0], "transactional.id", args[3]);
        var given = new ArrayList<ConsumerRecord<String, String>>();
        var told = new ArrayList<String>();
        int written = 0, committed = 0;
        var input = new BufferedReader(new InputStreamReader(System.in));
        var text = new StringSerializer();
        try (var consumer = new KafkaConsumer<>(
                 reading, new StringDeserializer(), new StringDeserializer());
             var producer = new KafkaProducer<>(writing, text, text)) {
            producer.initTransactions();
            if (args.length > 5) {
                consumer.subscribe(List.of(args[1]), new Slow(input, consumer));
            } else {
                consumer.subscribe(List.of(args[1]));
            }
            String line;
            while ((line = input.readLine()) != null) {
                var words = line.split(" ");
                var error = "";
                var usable = true;
                try {
                    switch (words[0]) {
                        case "read" -> {
                            int wanted = given.size() + Integer.parseInt(words[1]);
                            while (given.size() < wanted) {
                                consumer.poll(Duration.ofMillis(200)).forEach(given::add);
                            }
                            tell(given, told);
                        }
                        case "poll" -> {
                            var time = Duration.ofMillis(Integer.parseInt(words[1]));
                            consumer.poll(time).forEach(given::add);
                            tell(given, told);
                        }
                        case "write", "more" -> {
                            if (words[0].equals("write")) {
                                producer.beginTransaction();
                                written = committed;
                            }
                            told.clear();
                            for (var record : given.subList(written, given.size())) {
                                var copy = new ProducerRecord<String, String>(args[2], record.value());
                                told.add("[%d,%s]".formatted(
                                    producer.send(copy).get().offset(), record.value()));
                            }
                            written = given.size();
                        }
                        case "place" -> producer.sendOffsetsToTransaction(
                            places(given), consumer.groupMetadata());
                        case "all", "heavy" -> {
                            producer.beginTransaction();
                            told.clear();
                            var sent = new ArrayList<Future<RecordMetadata>>();
                            if (words[0].equals("heavy")) {
                                producer.send(new ProducerRecord<>(args[2], "x".repeat(HEAVY)));
                                Thread.sleep(SENT_MS);
                            }
                            var records = given.subList(committed, given.size());
                            for (var record : records) {
                                sent.add(producer.send(new ProducerRecord<>(args[2], record.value())));
                            }
                            producer.sendOffsetsToTransaction(
                                places(given), consumer.groupMetadata());
                            for (int at = 0; at < sent.size(); at++) {
                                told.add("[%d,%s]".formatted(
                                    sent.get(at).get().offset(), records.get(at).value()));
                            }
                            written = given.size();
                        }
                        case "commit" -> {
                            producer.commitTransaction();
                            committed = written;
                        }
                        case "anew" -> {
                            consumer.unsubscribe();
                            consumer.subscribe(List.of(args[1]));
                        }
                    }
                } catch (KafkaException refused) {
                    var name = refused.getClass().getSimpleName();
                    error = !name.equals("KafkaException") ? name : refused.getCause() == null
                        ? refused.getMessage().replace('"', ' ')
                        : refused.getCause().getClass().getSimpleName();
                    try {
                        producer.abortTransaction();
                    } catch (KafkaException fatal) {
                        usable = false;
                    }
                }
                var has = consumer.assignment().stream()
                    .map(TopicPartition::partition).sorted().toList();
                System.out.println(
                    ("{\"did\":\"%s\",\"records\":%s,\"has\":%s,\"member\":\"%s\",\"error\":\"%s\","
                        + "\"usable\":%b}").formatted(
                            line, told, has, consumer.groupMetadata().memberId(), error, usable));
            }
        }
    }

    private static void tell(List<ConsumerRecord<String, String>> given, List<String> told) {
        told.clear();
        given.forEach(record -> told.add(
            "[%d,%d,%s]".formatted(record.partition(), record.offset(), record.value())));
    }

    private static Map<TopicPartition, OffsetAndMetadata> places(
            List<ConsumerRecord<String, String>> given) {
        var found = new HashMap<TopicPartition, OffsetAndMetadata>();
        given.forEach(record -> found.put(
            new TopicPartition(record.topic(), record.partition()),
            new OffsetAndMetadata(record.offset() + 1)));
        return found;
    }

    private record Slow(BufferedReader input, KafkaConsumer<String, String> consumer)
            implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            if (partitions.isEmpty()) {
                return;
            }
            var numbers = partitions.stream().map(TopicPartition::partition).sorted().toList();
            System.out.println("{\"assigned\":%s}".formatted(numbers));
            try {
                input.readLine();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            partitions.forEach(partition -> consumer.seek(partition, 0));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        }
    }
}
