package kraftcheck.clients;

import java.util.Map;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Records what a producer sends and what is acknowledged, by configuration alone:
 * {@code interceptor.classes=kraftcheck.clients.ProducerRecorder}.
 *
 * <p>Each record gets a header that names it, unless {@link Recorder#HEADER} is false. Not visible
 * here: how transactions end, and sends that fail before an interceptor is called.
 */
public final class ProducerRecorder implements ProducerInterceptor<Object, Object> {
    private static final long NO_OFFSET = -2;
    private static final long TOGETHER_NS = 1_000_000;
    /** One in so many of the events that share a line looks at the clock, which costs most. */
    private static final int CLOCKED = 8;

    private final Runs sends = new Runs();
    private final Runs acknowledged = new Runs();
    private Recorder recorder;

    @Override
    public void configure(Map<String, ?> configs) {
        String acks = Recorder.setting(configs, ProducerConfig.ACKS_CONFIG);
        String idempotence = Recorder.setting(configs, ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG);
        String transactional = Recorder.setting(configs, ProducerConfig.TRANSACTIONAL_ID_CONFIG);
        String retries = Recorder.setting(configs, ProducerConfig.RETRIES_CONFIG);
        String flight = Recorder.setting(
            configs, ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION);
        recorder = new Recorder(configs, line -> {
            line.raw(",\"role\":\"producer\"");
            field(line, "id", Recorder.setting(configs, ProducerConfig.CLIENT_ID_CONFIG));
            field(line, "acks", acks);
            field(line, "idempotence", idempotence);
            field(line, "transactional_id", transactional);
            field(line, "retries", retries);
            field(line, "in_flight", flight);
            field(line, "header", Recorder.setting(configs, Recorder.HEADER));
        });
    }

    /** A setting of the client; one that is not set has no field. */
    static void field(Line line, String name, String value) {
        if (value != null) {
            line.raw(",\"").raw(name).raw("\":").text(value);
        }
    }

    @Override
    public ProducerRecord<Object, Object> onSend(ProducerRecord<Object, Object> record) {
        if (!recorder.records()) {
            return record;
        }
        RecordId id = recorder.header ? new RecordId() : null;
        int partition = record.partition() == null ? -1 : record.partition();
        long counter = id == null ? RecordId.NONE : id.counter;
        boolean taken = sends.put(counter, record.topic(), partition, -1);
        // A record that is not in the file must not bear a name of ours, nor the one of the record
        // that it was made from.
        return named(record, taken ? id : null);
    }

    private static ProducerRecord<Object, Object> named(
            ProducerRecord<Object, Object> record, RecordId id) {
        try {
            name(record.headers(), id);
            return record;
        } catch (IllegalStateException readOnly) {
            // The application sends the same record once more.
            Headers headers = new RecordHeaders(record.headers());
            name(headers, id);
            return new ProducerRecord<>(record.topic(), record.partition(), record.timestamp(),
                record.key(), record.value(), headers);
        }
    }

    private static void name(Headers headers, RecordId id) {
        if (headers.lastHeader(RecordId.HEADER) != null) {
            headers.remove(RecordId.HEADER);
        }
        if (id != null) {
            headers.add(id);
        }
    }

    /** Clients of 4.0 and earlier do not tell which record it is: the offset has to. */
    @Override
    public void onAcknowledgement(RecordMetadata metadata, Exception exception) {
        onAcknowledgement(metadata, exception, null);
    }

    /** Overrides a method of clients from 4.1 on (KIP-512). */
    public void onAcknowledgement(RecordMetadata metadata, Exception exception, Headers headers) {
        if (!recorder.records() || metadata == null) {
            return;
        }
        long counter = recorder.header ? RecordId.own(headers) : RecordId.NONE;
        if (recorder.header && headers != null && counter == RecordId.NONE) {
            return;  // It was dropped when it was sent.
        }
        int partition = metadata.partition();
        if (exception == null) {
            long offset = metadata.hasOffset() ? metadata.offset() : NO_OFFSET;
            acknowledged.put(counter, metadata.topic(), partition, offset);
            return;
        }
        long now = System.nanoTime();
        String error = exception.getClass().getSimpleName();
        recorder.put(line -> {
            recorder.begin(line, "failed", now);
            place(line, counter, metadata.topic(), partition);
            line.raw(",\"error\":").text(error).raw("}");
        });
    }

    private static void place(Line line, long counter, String topic, int partition) {
        if (counter != RecordId.NONE) {
            line.raw(",\"id\":").id(RecordId.encode(counter));
        }
        line.raw(",\"topic\":").text(topic);
        if (partition >= 0) {
            line.raw(",\"partition\":").number(partition);
        }
    }

    /**
     * Consecutive sends, or consecutive acknowledgements, of this client. The first of them is an
     * event, and the others join it until the file's writer takes it. Joining needs no memory, and no
     * lock that a thread holds for long.
     */
    private final class Runs {
        private Run open;

        /** Returns whether it is going to be in the file. */
        boolean put(long counter, String topic, int partition, long offset) {
            synchronized (this) {
                if (open != null) {
                    if (open.takes(counter, topic, partition, offset)) {
                        return true;
                    }
                    open.close();
                    open = null;
                }
            }
            Run run = new Run(this, counter, topic, partition, offset);
            if (!recorder.put(run)) {
                return false;
            }
            synchronized (this) {
                open = run;
            }
            return true;
        }
    }

    /**
     * One line of the file. Sends have the time of the first, and acknowledgements one after the last:
     * that of the line's end. So each appears to take longer than it did: by a millisecond, or, of the
     * few between two looks at the clock, until the writer takes the line.
     */
    private final class Run implements Event {
        private final Runs runs;
        private final long begin = System.nanoTime();
        private final long counter;
        private final String topic;
        private final int partition;
        private final long offset;
        /** What one thread sends with one producer keeps its order. */
        private final long thread = Thread.currentThread().getId();

        // Guarded by runs.
        private long end;
        private int count = 1;
        private boolean closed;

        Run(Runs runs, long counter, String topic, int partition, long offset) {
            this.runs = runs;
            this.counter = counter;
            this.topic = topic;
            this.partition = partition;
            this.offset = offset;
        }

        /** Takes the next record, if one line can say both. */
        boolean takes(long next, String where, int part, long at) {
            if (closed || part != partition
                    || isSend() && thread != Thread.currentThread().getId()
                    || next != (counter == RecordId.NONE ? RecordId.NONE : counter + count)
                    || at != (offset < 0 ? offset : offset + count)
                    || !where.equals(topic)) {
                return false;
            }
            if (count % CLOCKED == 0 && System.nanoTime() - begin > TOGETHER_NS) {
                return false;
            }
            count++;
            return true;
        }

        void close() {
            if (!closed) {
                closed = true;
                end = isSend() || count == 1 ? begin : System.nanoTime();
            }
        }

        private boolean isSend() {
            return offset == -1;
        }

        @Override
        public void write(Line line) {
            synchronized (runs) {
                close();
            }
            recorder.begin(line, isSend() ? "send" : "acked", end);
            place(line, counter, topic, partition);
            if (!isSend()) {
                line.raw(",\"offset\":").number(offset == NO_OFFSET ? -1 : offset);
            } else if (counter != RecordId.NONE) {
                line.raw(",\"thread\":").number(thread);
            }
            if (count > 1) {
                line.raw(",\"count\":").number(count);
            }
            line.raw("}");
        }

        @Override
        public int count() {
            return count;
        }
    }

    @Override
    public void close() {
        if (recorder != null) {
            recorder.close();
        }
    }
}
