// Makes the first of the given replicas the preferred leader of partition 0, and elects it; so
// for one order after the other.
// Kafka's own commands cannot be used for this: they ask every replica for its log directories,
// also one that is cut off.
//
//     java -cp 'libs/*' Elect.java BOOTSTRAP TOPIC 2,1,3 1,2,3

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ElectionNotNeededException;

public class Elect {
    public static void main(String[] args) throws Exception {
        var properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        var partition = new TopicPartition(args[1], 0);
        try (var admin = Admin.create(properties)) {
            for (var given : Arrays.asList(args).subList(2, args.length)) {
                var replicas = Arrays.stream(given.split(",")).map(Integer::valueOf).toList();
                var order = Optional.of(new NewPartitionReassignment(replicas));
                admin.alterPartitionReassignments(Map.of(partition, order)).all().get();
                Thread.sleep(2000); // the order is used when it is committed
                var elected = admin.electLeaders(ElectionType.PREFERRED, Set.of(partition));
                var error = elected.partitions().get().get(partition);
                if (error.isPresent() && !(error.get() instanceof ElectionNotNeededException)) {
                    throw new ExecutionException(error.get());
                }
            }
        }
    }
}
