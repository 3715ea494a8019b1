package kraftcheck.witness;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The nodes of one run, and all that they have sent: a message may come late, again, or never. */
final class World {
    private final Map<String, Node> nodes = new TreeMap<>();
    private final Map<String, List<Message>> sent = new HashMap<>();

    /** component: the class of the nodes. constants: as in the header of a trace. */
    World(Class<?> component, JsonNode constants) {
        for (Node node : Mirror.<List<Node>>called(component, "nodes", constants)) {
            nodes.put(node.name(), node);
        }
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
            // The latest comes first.
            sent.computeIfAbsent(told.text(), each -> new ArrayList<>()).add(0, told);
        }
        return steps;
    }
}
