// A transactional application: copies topic IN to topic OUT, exactly once, and aborts every fifth
// transaction on purpose. It knows nothing of kraftcheck; its properties are in two files.
//
//     java -cp 'libs/*' Transfer.java PRODUCER.properties CONSUMER.properties IN OUT

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Transfer {
    private static volatile boolean goesOn = true;

    private static Properties read(String path) throws Exception {
        var properties = new Properties();
        try (var file = Files.newBufferedReader(Path.of(path))) {
            properties.load(file);
        }
        return properties;
    }

    public static void main(String[] args) throws Exception {
        var main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            goesOn = false;
            try {
                main.join(20_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }));
        int transactions = 0;
        while (goesOn) {
            var text = new StringSerializer();
            var read = new StringDeserializer();
            try (var producer = new KafkaProducer<>(read(args[0]), text, text);
                    var consumer = new KafkaConsumer<>(read(args[1]), read, read)) {
                producer.initTransactions();
                consumer.subscribe(List.of(args[2]));
                while (goesOn) {
                    var records = consumer.poll(Duration.ofMillis(200));
                    if (records.isEmpty()) {
                        continue;
                    }
                    producer.beginTransaction();
                    Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                    for (var record : records) {
                        producer.send(new ProducerRecord<>(args[3], record.value()));
                        next.put(new TopicPartition(record.topic(), record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
                    if (++transactions % 5 == 0) {
                        producer.abortTransaction();
                        break; // The consumer begins again at the committed offsets.
                    }
                    producer.commitTransaction();
                }
            } catch (KafkaException error) {
                System.out.println(error);
            }
        }
    }
}
