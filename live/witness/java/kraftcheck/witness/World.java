package kraftcheck.witness;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.raft.Voter;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The nodes of one run, and all that they have sent: a message may come late, again, or never. */
final class World {
    private final Map<Integer, Node> nodes = new TreeMap<>();
    private final Map<String, List<Message>> sent = new HashMap<>();

    /** constants: as in the header of a trace; the protocol says which component. */
    World(JsonNode constants) {
        String protocol = constants.path("protocol").asText();
        if (!protocol.equals("quorum")) {
            throw new Refusal("no component for the protocol " + protocol);
        }
        for (Voter voter : Voter.quorum(constants)) {
            nodes.put(voter.id, voter);
        }
    }

    void end() {
        nodes.values().forEach(Node::end);
    }

    List<String> move(String line) {
        String[] words = line.split(" ", 2);
        Node node = words.length == 2 && words[0].matches("\\d{1,9}") ? nodes.get(Integer.parseInt(words[0])) : null;
        if (node == null) {
            throw new Refusal("not understood: " + line);
        }
        String text = words[1];
        int tear = Node.WHOLE;
        if (text.startsWith("tear ")) {
            String[] parts = text.split(" ", 3);
            tear = Integer.parseInt(parts[1]);
            text = parts[2];
        }
        List<Message> alike = sent.getOrDefault(text, List.of());
        Message message = alike.stream().filter(node::awaits).findFirst()
                .orElse(alike.isEmpty() ? null : alike.get(0));
        List<String> steps = node.take(text, message, tear);
        for (Message told : node.told()) {
            // The latest comes first.
            sent.computeIfAbsent(told.text(), each -> new ArrayList<>()).add(0, told);
        }
        return steps;
    }
}
