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
 * <p>Each record gets a header that names it. Not visible here: how transactions end, and sends
 * that fail before an interceptor is called.
 */
public final class ProducerRecorder implements ProducerInterceptor<Object, Object> {
    private static final long NO_OFFSET = -2;
    private static final long TOGETHER_NS = 1_000_000;

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
        long now = System.nanoTime();
        long counter = RecordId.next();
        byte[] id = RecordId.encode(counter);
        int partition = record.partition() == null ? -1 : record.partition();
        boolean taken = recorder.put(new Run(recorder, now, counter, record.topic(), partition, -1));
        // A record that is not in the file must not bear a name of ours, nor the one of the record
        // that it was made from.
        return named(record, taken ? id : null);
    }

    private static ProducerRecord<Object, Object> named(
            ProducerRecord<Object, Object> record, byte[] id) {
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

    private static void name(Headers headers, byte[] id) {
        if (headers.lastHeader(RecordId.HEADER) != null) {
            headers.remove(RecordId.HEADER);
        }
        if (id != null) {
            headers.add(RecordId.HEADER, id);
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
        long now = System.nanoTime();
        long counter = RecordId.own(headers);
        if (headers != null && counter == RecordId.NONE) {
            return;  // It was dropped when it was sent.
        }
        int partition = metadata.partition();
        if (exception == null) {
            long offset = metadata.hasOffset() ? metadata.offset() : NO_OFFSET;
            recorder.put(new Run(recorder, now, counter, metadata.topic(), partition, offset));
            return;
        }
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
     * Sends or acknowledgements of records that follow each other: one line for all of them. Sends
     * have the time of the first and acknowledgements that of the last, so each may have taken longer
     * than it did, by a millisecond at most.
     */
    private static final class Run implements Event {
        private final Recorder recorder;
        private final long begin;
        private final long counter;
        private final String topic;
        private final int partition;
        private final long offset;
        private long end;
        private int count = 1;

        Run(Recorder recorder, long time, long counter, String topic, int partition, long offset) {
            this.recorder = recorder;
            this.begin = time;
            this.end = time;
            this.counter = counter;
            this.topic = topic;
            this.partition = partition;
            this.offset = offset;
        }

        @Override
        public boolean absorb(Event next) {
            if (!(next instanceof Run)) {
                return false;
            }
            Run other = (Run) next;
            boolean follows = offset < 0 ? other.offset == offset : other.offset == offset + count;
            if (counter == RecordId.NONE) {
                follows = follows && other.counter == RecordId.NONE && offset >= 0;
            } else {
                follows = follows && other.counter == counter + count;
            }
            if (!follows || other.recorder != recorder || other.partition != partition
                    || other.end - begin > TOGETHER_NS || !other.topic.equals(topic)) {
                return false;
            }
            count += other.count;
            end = other.end;
            return true;
        }

        @Override
        public void write(Line line) {
            boolean sent = offset == -1;
            recorder.begin(line, sent ? "send" : "acked", sent ? begin : end);
            place(line, counter, topic, partition);
            if (!sent) {
                line.raw(",\"offset\":").number(offset == NO_OFFSET ? -1 : offset);
            }
            if (count > 1) {
                line.raw(",\"count\":").number(count);
            }
            line.raw("}");
        }
    }

    @Override
    public void close() {
        if (recorder != null) {
            recorder.close();
        }
    }
}
