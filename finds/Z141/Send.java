// Kafka's producer with its own settings: one record, and when that is acked and three seconds are
// over, five more, a batch each, without waiting for answers. Each ack is a line of JSON.
//
//     java -cp 'libs/*' Send.java BOOTSTRAP TOPIC [NAME=VALUE ...]

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Send {
    public static void main(String[] args) throws Exception {
        var text = new StringSerializer();
        Map<String, Object> properties = new HashMap<>(Map.of("bootstrap.servers", args[0]));
        for (int at = 2; at < args.length; at++) {
            properties.put(args[at].split("=", 2)[0], args[at].split("=", 2)[1]);
        }
        try (var producer = new KafkaProducer<>(properties, text, text)) {
            for (int value = 0; value <= 5; value++) {
                var name = String.valueOf(value);
                var sent = producer.send(new ProducerRecord<>(args[1], 0, null, name), (at, error) -> {
                    var line = error == null
                        ? "{\"name\":\"producer_send_success\",\"value\":\"%s\",\"offset\":%d}"
                        : "{\"name\":\"producer_send_error\",\"value\":\"%s\"}";
                    System.out.println(String.format(line, name, error == null ? at.offset() : -1));
                });
                if (value == 0) {
                    sent.get();
                    Thread.sleep(3000);
                }
                Thread.sleep(200); // longer than linger.ms: no two records in a batch
            }
        }
    }
}
