// Kafka's share consumer with its own settings but for explicit acknowledgement: polls until it has
// records, acknowledges the last COUNT of them, holds the others, and prints how many it took. It
// ends without leaving its group.
//
//     java -cp 'libs/*' AcceptLast.java BOOTSTRAP TOPIC GROUP COUNT

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

public class AcceptLast {
    public static void main(String[] args) throws Exception {
        var text = new StringDeserializer();
        Map<String, Object> properties = Map.of("bootstrap.servers", args[0], "group.id", args[2],
            "share.acknowledgement.mode", "explicit");
        var consumer = new KafkaShareConsumer<>(properties, text, text);
        consumer.subscribe(List.of(args[1]));
        var taken = new ArrayList<ConsumerRecord<String, String>>();
        while (taken.isEmpty()) {
            consumer.poll(Duration.ofSeconds(1)).forEach(taken::add);
        }
        for (var record : taken.subList(taken.size() - Integer.parseInt(args[3]), taken.size())) {
            consumer.acknowledge(record, AcknowledgeType.ACCEPT);
        }
        var stored = consumer.commitSync().values().stream().allMatch(error -> error.isEmpty());
        System.out.println(String.format("{\"taken\": %d, \"stored\": %b}", taken.size(), stored));
        System.in.read();
        Runtime.getRuntime().halt(0);
    }
}
