// Kafka's consumer, from the beginning of partition 0: it prints what it is given up to the end that
// the leader names, and until nothing more has come for eight seconds (markers of a transaction that
// has just been committed may come late). If it does not come to that end within a minute, it fails,
// so that what was not read is not taken for lost.
//
//     java -cp 'libs/*' Read.java BOOTSTRAP TOPIC read_uncommitted|read_committed

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Read {
    public static void main(String[] args) throws Exception {
        var text = new StringDeserializer();
        var partition = new TopicPartition(args[1], 0);
        Map<String, Object> properties = Map.of(
                "bootstrap.servers", args[0],
                "isolation.level", args[2],
                "auto.offset.reset", "none",
                "enable.auto.commit", false,
                "allow.auto.create.topics", false);
        try (var consumer = new KafkaConsumer<>(properties, text, text)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            var patience = Duration.ofSeconds(60);
            long end = consumer.endOffsets(List.of(partition), patience).get(partition);
            long deadline = System.nanoTime() + patience.toNanos();
            long quiet = System.nanoTime() + 8_000_000_000L;
            while (System.nanoTime() < quiet || consumer.position(partition) < end) {
                if (System.nanoTime() > deadline && consumer.position(partition) < end) {
                    var at = consumer.position(partition);
                    System.out.println("read up to offset %d only, of %d".formatted(at, end));
                    System.exit(1);
                }
                for (var record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(record.value());
                    quiet = System.nanoTime() + 8_000_000_000L;
                }
            }
        }
    }
}
