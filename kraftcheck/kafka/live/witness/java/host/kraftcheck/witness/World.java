package kraftcheck.witness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** The nodes of one run, and all that they have sent: a message may come late, again, or never. */
final class World {
    private final Map<String, Node> nodes = new TreeMap<>();
    private final Map<String, List<Message>> sent;
    /** Whether there is one node, which is given what others have sent in other runs. */
    private final boolean alone;

    /** component: the class of the nodes. constants: as in the header of a trace. */
    World(Class<?> component, JsonNode constants) {
        this(component, constants, new HashMap<>(), false);
    }

    private World(Class<?> component, JsonNode constants, Map<String, List<Message>> sent, boolean alone) {
        this.sent = sent;
        this.alone = alone;
        for (Node node : Mirror.<List<Node>>called(component, "nodes", constants)) {
            nodes.put(node.name(), node);
        }
    }

    /** Another run, of one node, to which may still come what was sent in this one and before. */
    World alone(Class<?> component, JsonNode constants, String node) {
        ObjectNode only = constants.deepCopy();
        only.put("alone", Integer.parseInt(node));
        return new World(component, only, sent, true);
    }

    void end() {
        nodes.values().forEach(Node::end);
    }

    List<String> move(String line) {
        String[] words = line.split(" ", 2);
        Node node = words.length == 2 ? nodes.get(words[0]) : null;
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
        if (text.startsWith("follow ")) {
            return node.followed(Json.read(text.substring("follow ".length())));
        }
        List<Message> alike = sent.getOrDefault(text, List.of());
        Message message = alike.stream().filter(node::awaits).findFirst()
                .orElse(alike.isEmpty() ? null : alike.get(0));
        List<String> steps = node.take(text, message, tear);
        for (Message told : node.told()) {
            List<Message> known = sent.computeIfAbsent(told.text(), each -> new ArrayList<>());
            if (!alone) {
                known.add(0, told);  // the latest comes first
            } else if (known.isEmpty()) {
                known.add(told);
            } else if (!Objects.equals(known.get(0).what(), told.what())) {
                throw new IllegalStateException("of two runs Kafka's messages differ that read alike: " + told.text());
            }
        }
        return steps;
    }
}
