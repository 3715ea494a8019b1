package kraftcheck.clients;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What both interceptors share: their settings, their file, and their number in it. */
final class Recorder {
    static final String PATH = "kraftcheck.history.path";
    /** For how many milliseconds the application may wait for room in the buffer. */
    static final String BLOCK = "kraftcheck.history.block.ms";
    static final String BUFFER = "kraftcheck.history.buffer.events";
    /** Whether records get a header that names them: without it less can be checked. */
    static final String HEADER = "kraftcheck.history.header";
    static final int BLOCK_MS = 5;
    static final int BUFFER_EVENTS = 1 << 16;

    private static final Logger LOG = LoggerFactory.getLogger(Recorder.class);
    private static final AtomicInteger CLIENTS = new AtomicInteger();

    final int client = CLIENTS.getAndIncrement();
    final boolean header;
    private final HistoryFile file;
    private final long boundNs;

    /** The recorder of a client; one that records nothing if its settings cannot be used. */
    Recorder(Map<String, ?> configs, Event described) {
        HistoryFile opened = null;
        long bound = 0;
        boolean named = true;
        try {
            named = header(configs);
            bound = 1_000_000L * number(configs, BLOCK, BLOCK_MS, 0);
            opened = open(configs);
        } catch (IOException | IllegalArgumentException | SecurityException error) {
            LOG.error("kraftcheck: nothing is recorded: {}", reason(error));
        }
        header = named;
        file = opened;
        boundNs = bound;
        long now = System.nanoTime();
        String clients = version();
        put(line -> {
            begin(line, "client", now);
            line.raw(",\"clients\":").text(clients);
            described.write(line);
            line.raw("}");
        });
    }

    private static HistoryFile open(Map<String, ?> configs) throws IOException {
        Object path = configs.get(PATH);
        if (path == null || path.toString().isBlank()) {
            throw new IllegalArgumentException("set " + PATH + " to the file of the history");
        }
        int buffer = number(configs, BUFFER, BUFFER_EVENTS, 1);
        try {
            return HistoryFile.open(Path.of(path.toString().trim()), buffer);
        } catch (InvalidPathException error) {
            throw new IllegalArgumentException(PATH + ": " + error.getMessage(), error);
        }
    }

    private static int number(Map<String, ?> configs, String name, int usual, int least) {
        Object value = configs.get(name);
        if (value == null) {
            return usual;
        }
        try {
            int number = Integer.parseInt(value.toString().trim());
            if (number >= least) {
                return number;
            }
        } catch (NumberFormatException none) {
            // Told below.
        }
        throw new IllegalArgumentException(name + " is " + value + ", no number from " + least + " on");
    }

    private static boolean header(Map<String, ?> configs) {
        String value = setting(configs, HEADER);
        if (value != null && !value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException(HEADER + " is " + value + ", not true or false");
        }
        return !"false".equals(value);
    }

    private static String reason(Exception error) {
        String kind = error.getClass().getSimpleName();
        return error instanceof IllegalArgumentException ? error.getMessage()
            : kind + ": " + error.getMessage();
    }

    /** Of Kafka's clients; the class that says so is internal, and moved in 4.4. */
    private static String version() {
        Properties properties = new Properties();
        try (InputStream file =
                Recorder.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            if (file != null) {
                properties.load(file);
            }
        } catch (IOException unknown) {
            // It is for the reader alone.
        }
        return properties.getProperty("version", "unknown");
    }

    boolean records() {
        return file != null;
    }

    /** Returns whether the event is going to be in the file. */
    boolean put(Event event) {
        return file != null && file.put(event, boundNs);
    }

    /** Begins a line of this client's. */
    Line begin(Line line, String event, long time) {
        return line.raw("{\"event\":\"").raw(event).raw("\",\"jvm\":\"").raw(RecordId.jvm())
            .raw("\",\"client\":").number(client).raw(",\"time\":").number(time);
    }

    void close() {
        if (file != null) {
            long now = System.nanoTime();
            put(line -> begin(line, "close", now).raw("}"));
            file.release();
        }
    }

    /** A setting as text; null where it is not set. */
    static String setting(Map<String, ?> configs, String name) {
        Object value = configs.get(name);
        return value == null ? null : value.toString();
    }
}
