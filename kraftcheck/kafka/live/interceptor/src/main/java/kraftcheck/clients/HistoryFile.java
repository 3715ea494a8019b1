package kraftcheck.clients;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file of a history, one for all clients of this JVM that name the same path.
 *
 * <p>The application's threads put events into a buffer; one thread writes them. Several JVMs may
 * append to one file: each write is one chunk of whole lines that begins with a line feed, so that
 * what a killed JVM left half written does not damage the lines of another one.
 *
 * <p>An application never waits for longer than the bound, and it does not wait again until the
 * writer has caught up. What does not fit is dropped and counted; the file tells the number. Where
 * nothing more can be written, the file tells it in the line that was reserved for that, since
 * overwriting takes no space.
 *
 * <p>A JVM whose clients are all closed ends its part of the file with a line of its own. Where that
 * line is missing, the JVM was killed, or it left clients open: what was still in the buffer is lost.
 */
final class HistoryFile {
    private static final Logger LOG = LoggerFactory.getLogger(HistoryFile.class);
    private static final Map<Path, HistoryFile> OPEN = new HashMap<>();
    private static final long IDLE_NS = 1_000_000;
    /** Between two writes, so that one write has several events. No measurement chose it. */
    private static final long PAUSE_NS = 5_000_000;
    private static final long RETRY_NS = 1_000_000_000;
    private static final long EXIT_NS = 500_000_000;
    private static final int RESERVED = 160;
    private static final int CHUNK = 1 << 18;

    private final Path path;
    private final FileChannel channel;
    private final FileChannel reserve;
    private final long reservedAt;
    private final Thread writer;
    private final Thread hook;
    private volatile int users;

    // Guarded by this.
    private Event[] events;
    private int size;
    private long dropped;
    private boolean full;
    private boolean closing;

    // Of the writer's thread.
    private final Line line = new Line();
    private long lost;
    private long pending;
    private boolean failed;
    private long failedAt;

    private HistoryFile(Path path, int buffer) throws IOException {
        this.path = path;
        events = new Event[buffer];
        channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
            StandardOpenOption.APPEND);
        reserve = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        reservedAt = begin();
        writer = new Thread(this::run, "kraftcheck-history");
        writer.setDaemon(true);
        writer.start();
        hook = new Thread(this::exit, "kraftcheck-history-exit");
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** The open file of this path. Throws IOException: it cannot be written. */
    static HistoryFile open(Path named, int buffer) throws IOException {
        Path path = named.toAbsolutePath().normalize();
        synchronized (OPEN) {
            HistoryFile file = OPEN.get(path);
            if (file == null) {
                file = new HistoryFile(path, buffer);
                OPEN.put(path, file);
            }
            file.users = file.users + 1;
            return file;
        }
    }

    /** Ends the file with its last user. */
    void release() {
        synchronized (OPEN) {
            users = users - 1;
            if (users > 0) {
                return;
            }
            OPEN.remove(path, this);
        }
        finish();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException ending) {
            // The JVM is ending: the hook finds nothing left to do.
        }
    }

    /** Takes an event. Returns false: it was dropped, after at most this many nanoseconds. */
    boolean put(Event event, long boundNs) {
        synchronized (this) {
            if (store(event)) {
                return true;
            }
            if (full || closing) {
                dropped++;
                return false;
            }
        }
        long until = System.nanoTime() + boundNs;
        do {
            LockSupport.parkNanos(IDLE_NS / 10);
            synchronized (this) {
                if (store(event)) {
                    return true;
                }
            }
        } while (System.nanoTime() < until);
        synchronized (this) {
            full = true;
            dropped++;
        }
        return false;
    }

    private boolean store(Event event) {
        if (closing || size == events.length) {
            return false;
        }
        events[size++] = event;
        if (size == (events.length + 1) / 2) {
            LockSupport.unpark(writer);
        }
        return true;
    }

    /**
     * The JVM ends. Hooks of the application may close clients meanwhile, so the writer goes on; this
     * only keeps the JVM for long enough to write what there is.
     */
    private void exit() {
        long until = System.nanoTime() + EXIT_NS;
        while (users > 0 && System.nanoTime() < until) {
            LockSupport.parkNanos(IDLE_NS);
        }
    }

    private void finish() {
        synchronized (this) {
            closing = true;
        }
        LockSupport.unpark(writer);
        try {
            writer.join(5_000);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    // -- The writer's thread

    private void run() {
        try {
            work();
        } catch (RuntimeException | Error defect) {
            synchronized (this) {
                closing = true;
            }
            fail(defect.toString());
        }
    }

    private void work() {
        Event[] taken = new Event[events.length];
        while (true) {
            int count;
            long missing;
            boolean last;
            boolean wait;
            synchronized (this) {
                Event[] mine = events;
                events = taken;
                taken = mine;
                count = size;
                size = 0;
                full = false;
                missing = dropped;
                dropped = 0;
                last = closing;
            }
            lost += missing;
            for (int at = 0; at < count; at++) {
                append(taken[at]);
                taken[at] = null;
            }
            if (line.length() > 0) {
                flush();
            }
            if (last) {
                end();
                return;
            }
            synchronized (this) {
                wait = !closing && size < (events.length + 1) / 2;
            }
            if (wait) {
                LockSupport.parkNanos(PAUSE_NS);
            }
        }
    }

    private void append(Event event) {
        if (line.length() == 0) {
            start();
        }
        event.write(line);
        pending += event.count();
        line.raw("\n");
        if (line.length() > CHUNK) {
            flush();
        }
    }

    private void start() {
        line.raw("\n");
        if (lost > 0) {
            line.raw("{\"event\":\"dropped\",\"jvm\":\"").raw(RecordId.jvm())
                .raw("\",\"events\":").number(lost).raw("}\n");
        }
    }

    /** Writes what there is; after a failure, one attempt a second. */
    private void flush() {
        boolean wait = failed && System.nanoTime() - failedAt < RETRY_NS;
        if (!wait && write(line)) {
            failed = false;
            lost = 0;
        } else {
            lost += pending;
        }
        pending = 0;
        line.clear();
    }

    private boolean write(Line chunk) {
        try {
            writeAll(channel, ByteBuffer.wrap(chunk.array(), 0, chunk.length()));
            return true;
        } catch (IOException error) {
            fail(error.getMessage());
            return false;
        }
    }

    private void fail(String reason) {
        failedAt = System.nanoTime();
        if (failed) {
            return;
        }
        failed = true;
        LOG.warn("kraftcheck: {}: {}; the history is incomplete, and the application goes on",
            path, reason);
        try {
            writeAt(reservedAt, reserved("failed"));
        } catch (IOException error) {
            LOG.warn("kraftcheck: {}: nor can the file tell that: {}", path, error.getMessage());
        }
    }

    /** Says that nothing is missing. */
    private void end() {
        start();
        line.raw("{\"event\":\"end\",\"jvm\":\"").raw(RecordId.jvm()).raw("\"}\n");
        failedAt = System.nanoTime() - RETRY_NS;
        flush();
        try {
            channel.close();
            reserve.close();
        } catch (IOException error) {
            LOG.warn("kraftcheck: {}: {}", path, error.getMessage());
        }
    }

    // -- The beginning

    /** Writes who writes, and reserves a line; returns where that is. */
    private long begin() throws IOException {
        Line head = new Line();
        head.raw("\n{\"event\":\"begin\",\"format\":\"kraftcheck-clients\",\"version\":1,\"jvm\":\"")
            .raw(RecordId.jvm()).raw("\",\"machine\":").text(machine())
            .raw(",\"time\":").number(System.nanoTime())
            .raw(",\"wall_ms\":").number(System.currentTimeMillis()).raw("}\n");
        head.raw(new String(reserved("recording"), StandardCharsets.US_ASCII));
        long from = channel.size();
        writeAll(channel, ByteBuffer.wrap(head.array(), 0, head.length()));
        return find(reserved("recording"), from);
    }

    /** Where these bytes are: another JVM may have appended meanwhile. */
    private long find(byte[] wanted, long from) throws IOException {
        ByteBuffer read = ByteBuffer.allocate((int) Math.min(channel.size() - from, 1 << 24));
        while (read.hasRemaining() && reserve.read(read, from + read.position()) > 0) {
            // Until all of it is there.
        }
        String all = new String(read.array(), 0, read.position(), StandardCharsets.ISO_8859_1);
        int at = all.lastIndexOf(new String(wanted, StandardCharsets.ISO_8859_1));
        if (at < 0) {
            throw new IOException("what was written cannot be read");
        }
        return from + at;
    }

    private static byte[] reserved(String state) {
        String text = "{\"event\":\"state\",\"jvm\":\"" + RecordId.jvm() + "\",\"state\":\"" + state
            + "\"}";
        byte[] bytes = new byte[RESERVED];
        Arrays.fill(bytes, (byte) ' ');
        System.arraycopy(text.getBytes(StandardCharsets.US_ASCII), 0, bytes, 0, text.length());
        bytes[RESERVED - 1] = '\n';
        return bytes;
    }

    /** What nanoTime counts from: it can be compared within one boot of one machine. */
    private static String machine() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim();
        } catch (IOException | RuntimeException unknown) {
            return "jvm " + RecordId.jvm();
        }
    }

    private void writeAt(long at, byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        while (buffer.hasRemaining()) {
            at += reserve.write(buffer, at);
        }
    }

    private static void writeAll(FileChannel channel, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }
}
