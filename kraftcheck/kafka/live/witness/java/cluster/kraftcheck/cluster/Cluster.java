package kraftcheck.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.cluster.Broker;
import kraftcheck.witness.Node;

import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.controller.VoterController;
import org.apache.kafka.raft.Voter;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Voters, a controller on each, and the brokers of a partition, which read what is committed. */
public final class Cluster {
    private Cluster() {}

    /** constants: of the quorum and of the partition, as `parts`. */
    public static List<Node> nodes(JsonNode constants) {
        JsonNode quorum = constants.get("parts").get(0), partition = constants.get("parts").get(1);
        List<Integer> replicas = new ArrayList<>();
        partition.get("replicas").forEach(each -> replicas.add(each.asInt()));
        Map<Long, ApiMessage> committed = new HashMap<>();
        Map<Integer, VoterController> controllers = new TreeMap<>();
        List<Node> nodes = new ArrayList<>(Voter.nodes(quorum, id -> controllers.computeIfAbsent(id,
                each -> new VoterController(Broker.TOPIC_ID, Broker.TOPIC, replicas, partition, committed))));
        nodes.forEach(each -> each.of("quorum", each.id));
        controllers.forEach((id, each) -> nodes.add(each.of("controller", id)));
        Broker.brokers(partition, committed).forEach(each -> nodes.add(each.of("broker", each.id)));
        return nodes;
    }
}
