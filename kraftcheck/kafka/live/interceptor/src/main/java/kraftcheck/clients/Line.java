package kraftcheck.clients;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes of JSON lines, reused from line to line. */
final class Line {
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private byte[] bytes = new byte[1 << 16];
    private int length;

    byte[] array() {
        return bytes;
    }

    int length() {
        return length;
    }

    void clear() {
        length = 0;
    }

    /** Text that needs no escapes. */
    Line raw(String text) {
        int more = text.length();
        room(more);
        for (int at = 0; at < more; at++) {
            bytes[length++] = (byte) text.charAt(at);
        }
        return this;
    }

    Line text(String text) {
        raw("\"");
        for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
            room(6);
            if (each == '"' || each == '\\') {
                bytes[length++] = '\\';
                bytes[length++] = each;
            } else if (each >= 0 && each < 0x20) {
                raw("\\u00");
                bytes[length++] = HEX[each >> 4];
                bytes[length++] = HEX[each & 15];
            } else {
                bytes[length++] = each;
            }
        }
        return raw("\"");
    }

    Line number(long value) {
        room(20);
        if (value < 0) {
            return raw(Long.toString(value));
        }
        int digits = 1;
        for (long rest = value; rest >= 10; rest /= 10) {
            digits++;
        }
        for (int at = length + digits - 1; at >= length; at--) {
            bytes[at] = (byte) ('0' + value % 10);
            value /= 10;
        }
        length += digits;
        return this;
    }

    /** The id in a record's header, as the file writes it; null for none. */
    Line id(byte[] id) {
        if (id == null) {
            return raw("null");
        }
        raw("\"");
        room(8);
        for (int at = 0; at < 4; at++) {
            bytes[length++] = HEX[id[at] >> 4 & 15];
            bytes[length++] = HEX[id[at] & 15];
        }
        return raw("-").number(RecordId.counter(id)).raw("\"");
    }

    private void room(int more) {
        if (length + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }
}
