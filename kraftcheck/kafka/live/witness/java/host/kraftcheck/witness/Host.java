package kraftcheck.witness;

import com.fasterxml.jackson.databind.JsonNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Real objects of Kafka, told every input. The class of the nodes (their component) is the argument;
 * the first line says who takes part; each line after it is a move, and is answered by one line:
 *
 *   new                 another run begins                    (empty)
 *   alone NODE          another run begins, of this node only; what was sent in runs
 *                       before may still come to it           (empty)
 *   NODE INPUT          a node takes an input                 its steps, with tabs between them
 *                       (in a composition COMPONENT/NUMBER);
 *                       behind them, if Kafka threw what ends its process, "*" and what it was
 *   NODE follow STEP    another implementation has taken this step of the node: its row is brought
 *                       where that one came to, and the step is told with the row that is read then
 *   NODE tear N INPUT   the same, and if a leader writes its log in that step, it crashes inside the
 *                       flush: N of the records are on disk then, or all if they are fewer; behind
 *                       the steps, "-" and each message that it did not come to send
 *
 * An input, like a step, is JSON as docs/foreign-traces.md has it; a message is one that some node
 * sent in this run, letter by letter. Answers that are no steps: nothing, where Kafka has no use for
 * the input now; "!" and why the move is not possible; "?" and why Kafka cannot be driven, the last.
 *
 * Law of this host: no rule of a protocol is in it, one thread, and no clock, chance or disk that is
 * not ours. So the same moves have the same answers, byte for byte, in every JVM.
 */
public final class Host {
    private static final String ALONE = "alone ";

    private Host() {}

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // whatever Kafka prints is no answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            JsonNode constants = Json.read(in.readLine());
            Class<?> component = Mirror.type(arguments[0]);
            World world = new World(component, constants);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.equals("new") || line.startsWith(ALONE)) {
                    world.end();
                    world = line.equals("new") ? new World(component, constants)
                            : world.alone(component, constants, line.substring(ALONE.length()));
                    out.print('\n');
                } else {
                    out.print(answer(world, line) + '\n');
                }
                if (!in.ready()) {
                    out.flush();
                }
            }
        } catch (Throwable e) {
            out.print("?" + Broken.of(e, System.getProperty("witness.own", "")) + oneLine(e) + '\n');
        }
        out.flush();
        // Kafka's logs may have left threads behind.
        Runtime.getRuntime().halt(0);
    }

    private static String answer(World world, String line) {
        try {
            List<String> steps = world.move(line);
            return String.join("\t", steps);
        } catch (Refusal e) {
            return "!" + e.getMessage();
        }
    }

    static String oneLine(Throwable e) {
        StringBuilder said = new StringBuilder();
        for (Throwable at = e; at != null; at = at.getCause()) {
            said.append(said.isEmpty() ? "" : ": ").append(at);
        }
        for (StackTraceElement at : e.getStackTrace()) {
            if (!at.getClassName().startsWith("java.")) {
                said.append(" at ").append(at);
                break;
            }
        }
        return said.toString().replaceAll("\\s+", " ");
    }
}
