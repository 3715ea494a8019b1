// Names other replicas of partition 0, by the API alone: Kafka's own command refuses replicas that
// are down. Or gives up what is under way (cancel).
//
//     java -cp 'libs/*' Reassign.java BOOTSTRAP TOPIC 2,3,4
//     java -cp 'libs/*' Reassign.java BOOTSTRAP TOPIC cancel

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.TopicPartition;

public class Reassign {
    public static void main(String[] args) throws Exception {
        var properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        var partition = new TopicPartition(args[1], 0);
        Optional<NewPartitionReassignment> wanted = Optional.empty();
        if (!args[2].equals("cancel")) {
            var replicas = Arrays.stream(args[2].split(",")).map(Integer::valueOf).toList();
            wanted = Optional.of(new NewPartitionReassignment(replicas));
        }
        try (var admin = Admin.create(properties)) {
            admin.alterPartitionReassignments(Map.of(partition, wanted)).all().get();
        }
    }
}
