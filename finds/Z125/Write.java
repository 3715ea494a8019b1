// Kafka's producer with its own settings but for acks=1, told step by step what to do: each line of
// input is a value, which is written to partition 0. It is answered by a line of JSON once it is
// acked, and so is the start.
//
//     java -cp 'libs/*' Write.java BOOTSTRAP TOPIC

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Write {
    public static void main(String[] args) throws Exception {
        var text = new StringSerializer();
        Map<String, Object> properties = Map.of("bootstrap.servers", args[0], "acks", "1");
        var input = new BufferedReader(new InputStreamReader(System.in));
        try (var producer = new KafkaProducer<>(properties, text, text)) {
            System.out.println("{\"offset\":-1}");
            String line;
            while ((line = input.readLine()) != null) {
                var at = producer.send(new ProducerRecord<>(args[1], 0, null, line)).get();
                System.out.println("{\"value\":%s,\"offset\":%d}".formatted(line, at.offset()));
            }
        }
    }
}
