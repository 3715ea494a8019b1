// Writes step traces for `kraftcheck conform` (docs/foreign-traces.md). Copy it; it needs nothing.

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Rows, messages and steps are maps: what is left out is hidden, not unchanged. */
public final class Emitter {
    private final OutputStream out;

    /** Writes the header. rows: "full" if every field will be there, else "partial". */
    public Emitter(OutputStream out, String producer, String rows, Map<String, ?> constants)
            throws IOException {
        this.out = out;
        line(Map.of("format", "kraftcheck steps 1", "producer", producer, "rows", rows,
                "constants", constants));
    }

    /** One handler call of a node. Call it under the lock that guards the node's state. */
    public void step(int node, Map<String, ?> step) throws IOException {
        Map<String, Object> fields = new HashMap<>(step);
        fields.put("node", node);
        line(fields);
    }

    private synchronized void line(Map<String, ?> fields) throws IOException {
        out.write((json(fields) + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush(); // what was told survives a crash
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream().map(e -> json(e.getKey().toString()) + ":"
                    + json(e.getValue())).collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof Iterable<?> items) {
            return java.util.stream.StreamSupport.stream(items.spliterator(), false)
                    .map(Emitter::json).collect(Collectors.joining(",", "[", "]"));
        }
        // Numbers and truth values as they are; names of roles and errors need no escapes.
        return value instanceof String ? "\"" + value + "\"" : value.toString();
    }

    public static void main(String[] arguments) throws IOException {
        Map<String, ?> voters =
                Map.of("protocol", "quorum", "voters", List.of(1, 2, 3), "fetchMaxRecords", 2);
        Emitter emitter = new Emitter(System.out, "emitter", "partial", voters);
        emitter.step(1, Map.of("input", Map.of("type", "ElectionTimeout"),
                "after", Map.of("role", "Prospective", "epoch", 0)));
    }
}
