package kraftcheck.clients;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * Names each sent record, in a header that every consumer receives: 48 bits of the JVM, drawn once,
 * and 48 bits of a counter. Values of applications repeat, so they cannot tell records apart.
 */
final class RecordId implements Header {
    static final String HEADER = "kraftcheck";
    static final int LENGTH = 12;
    static final long NONE = -1;

    private static final long JVM = new SecureRandom().nextLong() & 0xffff_ffff_ffffL;
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
        return hex(JVM);
    }

    static byte[] encode(long counter) {
        return ByteBuffer.allocate(LENGTH)
            .putShort((short) (JVM >>> 32)).putInt((int) JVM)
            .putShort((short) (counter >>> 32)).putInt((int) counter)
            .array();
    }

    /** The header's value, or null: the record's producer was not recorded. */
    static byte[] of(Headers headers) {
        Header header = headers.lastHeader(HEADER);
        byte[] value = header == null ? null : header.value();
        return value != null && value.length == LENGTH ? value : null;
    }

    /** The counter of a record that this JVM sent, or NONE. */
    static long own(Headers headers) {
        Header header = headers == null ? null : headers.lastHeader(HEADER);
        if (header instanceof RecordId) {
            return ((RecordId) header).counter;
        }
        byte[] id = header == null ? null : of(headers);
        return id == null || half(id, 0) != JVM ? NONE : half(id, 6);
    }

    static long half(byte[] id, int at) {
        ByteBuffer bytes = ByteBuffer.wrap(id);
        return (bytes.getShort(at) & 0xffffL) << 32 | bytes.getInt(at + 2) & 0xffff_ffffL;
    }

    static String hex(long half) {
        String digits = Long.toHexString(half);
        return "0".repeat(12 - digits.length()) + digits;
    }
}
