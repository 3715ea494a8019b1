// Moves partition 0 of a topic to another log directory of a broker.
//
//     java -cp 'libs/*' MoveLog.java BOOTSTRAP TOPIC BROKER DIRECTORY
//
// kafka-reassign-partitions.sh does the same, and asks the controller as well.

import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.TopicPartitionReplica;

public class MoveLog {
    public static void main(String[] args) throws Exception {
        var properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        var replica = new TopicPartitionReplica(args[1], 0, Integer.parseInt(args[2]));
        try (var admin = Admin.create(properties)) {
            admin.alterReplicaLogDirs(Map.of(replica, args[3])).all().get();
        }
    }
}
