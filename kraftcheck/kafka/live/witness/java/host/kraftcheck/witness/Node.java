package kraftcheck.witness;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A node of any component: a table of inputs, each with the call that it makes, and a table of a
 * row's fields, each with where it is read. What is alike for all: a step is taken, its row is read,
 * what was sent is put in order, and a line is written.
 */
public abstract class Node {
    /** In place of a number: the log of the node is not torn. */
    public static final int WHOLE = -1;

    public final int id;
    private String name;
    /** By the type of an input, what makes a call of it; null if Kafka has no use for it now. */
    protected final Map<String, Function<JsonNode, Runnable>> inputs = new HashMap<>();
    /** By field, in the specification's order, where it is read. */
    protected final Map<String, Supplier<Object>> fields = new LinkedHashMap<>();
    /** What was sent in this step. */
    protected final List<Message> sent = new ArrayList<>();
    /** What was not sent after all, as the node crashed before. */
    protected final List<Message> lost = new ArrayList<>();
    /** How many records of a tail stay on disk if it is torn. */
    protected int tear = WHOLE;
    /** Why the input was ignored, in the specification's words. */
    protected String ignored;

    /** What Kafka threw in this step: its process would have ended. */
    protected Throwable thrown;

    private String row;
    private List<Message> told = List.of();

    protected Node(int id) {
        this.id = id;
        name = "" + id;
    }

    /** The same, as a node of one of several components: a world knows it by a name with that in front. */
    public final Node of(String component, int among) {
        name = component + '/' + among;
        return this;
    }

    final String name() {
        return name;
    }

    /** To be called once, when the node has been made. */
    protected final void begin() {
        row = Json.text(read());
    }

    /** What delivers a message, or null. Nothing comes to a component whose nodes are alone. */
    protected Runnable delivery(Message message) {
        throw new AssertionError("nobody here is sent anything by another");
    }

    /** Of several messages with the same text, whether this one is of more use than the others. */
    protected boolean awaits(Message message) {
        return true;
    }

    /** Makes the call, and all that follows from it before the next input. */
    protected void settle(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException e) {
            thrown = e;
        }
    }

    /** The lines of a step that is over; one, unless the specification has it in several. */
    protected List<String> lines(String input) {
        return List.of(line(input, read(), sent));
    }

    /** Becomes what another implementation has made of this node, as far as Kafka's objects can. */
    protected void follow(JsonNode row) {
        throw new Refusal("no step of another implementation is followed here");
    }

    /** The run is over. */
    public void end() { }

    final List<String> take(String text, Message message, int tear) {
        Runnable call;
        sent.clear();
        lost.clear();
        told = List.of();
        ignored = "";
        this.tear = tear;
        if (message != null) {
            if (message.destination() != id) {
                throw new Refusal("not for node " + id + ": " + text);
            }
            call = delivery(message);
        } else {
            JsonNode input = Json.read(text);
            Function<JsonNode, Runnable> known = inputs.get(input.path("type").asText());
            if (known == null) {
                throw new Refusal("nobody sent " + text);
            }
            call = known.apply(input);
        }
        if (call == null) {
            return List.of();
        }
        settle(call);
        List<String> answer = new ArrayList<>(lines(text));
        told = List.copyOf(sent);
        lost.forEach(each -> answer.add("-" + each.text()));
        if (thrown != null) {
            answer.add("*" + Host.oneLine(thrown));
            thrown = null;
        }
        return answer;
    }

    /** A step that another implementation has taken: sent and ignored are as it has them. */
    final List<String> followed(JsonNode step) {
        sent.clear();
        lost.clear();
        ignored = step.get("ignored").asText();
        settle(() -> follow(step.get("row")));
        step.get("sent").forEach(each -> sent.add(new Message(0, each.toString(), null)));
        return List.copyOf(lines(step.get("input").toString()));
    }

    final List<Message> told() {
        return told;
    }

    protected final Map<String, Object> read() {
        Map<String, Object> found = new LinkedHashMap<>();
        fields.forEach((name, value) -> found.put(name, value.get()));
        return found;
    }

    /** By the number of a node, in their order. */
    protected static Map<Integer, Object> byNumber(Collection<Integer> nodes, Function<Integer, Object> value) {
        Map<Integer, Object> map = new TreeMap<>();
        nodes.forEach(each -> map.put(each, value.apply(each)));
        return map;
    }

    public static List<Integer> sorted(int[] ids) {
        return Arrays.stream(ids).sorted().boxed().toList();
    }

    /** A line of the trace; the row after it is the one before the next. */
    protected final String line(String input, Map<String, Object> after, Collection<Message> messages) {
        // Kafka iterates over sets whose order differs from one JVM to the next, and may send the
        // same twice in a step, which is one message for the specification.
        List<Object> told = new ArrayList<>();
        messages.stream().map(Message::text).distinct().sorted(Comparator.naturalOrder())
                .forEach(each -> told.add(Json.raw(each)));
        String before = row;
        row = Json.text(after);
        return Json.text(Json.fields("node", id, "before", Json.raw(before), "input", Json.raw(input),
                "after", Json.raw(row), "sent", told, "ignored", ignored));
    }
}
