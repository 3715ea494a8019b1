package kraftcheck.clients;

import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * Names each sent record, in a header that every consumer receives: 32 bits of the JVM, drawn once,
 * and a counter without its leading zeros. Values of applications repeat, so they cannot tell records
 * apart. Each byte counts: a producer's time is proportional to the bytes of its records.
 */
final class RecordId implements Header {
    static final String HEADER = "~k";
    private static final int JVM_BYTES = 4;
    private static final int LENGTH = JVM_BYTES + Long.BYTES;
    static final long NONE = -1;

    private static final int JVM = new SecureRandom().nextInt();
    private static final AtomicLong NEXT = new AtomicLong();

    final long counter = NEXT.getAndIncrement();
    private final byte[] bytes = encode(counter);

    @Override
    public String key() {
        return HEADER;
    }

    @Override
    public byte[] value() {
        return bytes;
    }

    static String jvm() {
        return String.format("%08x", JVM);
    }

    static byte[] encode(long counter) {
        int digits = Math.max(1, (71 - Long.numberOfLeadingZeros(counter)) / 8);
        byte[] id = new byte[JVM_BYTES + digits];
        put(id, 0, JVM_BYTES, JVM);
        put(id, JVM_BYTES, id.length, counter);
        return id;
    }

    /** The header's value, or null: the record's producer was not recorded. */
    static byte[] of(Headers headers) {
        Header header = headers.lastHeader(HEADER);
        byte[] value = header == null ? null : header.value();
        boolean ours = value != null && value.length > JVM_BYTES && value.length <= LENGTH;
        return ours ? value : null;
    }

    /** The counter of a record that this JVM sent, or NONE. */
    static long own(Headers headers) {
        Header header = headers == null ? null : headers.lastHeader(HEADER);
        if (header instanceof RecordId) {
            return ((RecordId) header).counter;
        }
        byte[] id = header == null ? null : of(headers);
        return id == null || (int) number(id, 0, JVM_BYTES) != JVM ? NONE : counter(id);
    }

    static long counter(byte[] id) {
        return number(id, JVM_BYTES, id.length);
    }

    private static void put(byte[] id, int from, int to, long number) {
        for (int at = to - 1; at >= from; at--) {
            id[at] = (byte) number;
            number >>>= 8;
        }
    }

    private static long number(byte[] id, int from, int to) {
        long number = 0;
        for (int at = from; at < to; at++) {
            number = number << 8 | id[at] & 0xff;
        }
        return number;
    }
}
