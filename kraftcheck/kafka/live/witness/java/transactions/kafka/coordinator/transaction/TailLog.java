package kafka.coordinator.transaction;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.coordinator.transaction.TransactionLog;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TxnTransitMetadata;
import org.apache.kafka.server.common.TransactionVersion;
import scala.Option;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * The partition of the transaction log that has the one transactional id: what is committed of it,
 * what its leader has behind that, and what any replica has that may lead (specs/common/TailLog.tla).
 * The records are Kafka's bytes.
 */
final class TailLog {
    /** A record. form: as the specification has it. */
    record Entry(MemoryRecords records, Map<String, Object> form) {
        long epoch() {
            return (long) form.get("epoch");
        }

        @SuppressWarnings("unchecked")
        List<Integer> partitions() {
            return (List<Integer>) form.get("partitions");
        }
    }

    private final ToLongFunction<TransactionMetadata> epochs;
    private final List<List<Entry>> tails = new ArrayList<>();
    private Entry committed;
    /** How many records were committed before that one: where it stands. */
    private int offset = 0;
    private List<Entry> leader = new ArrayList<>();

    /** epochs: how a producer's id and epoch are counted. first: what the log begins with. */
    TailLog(ToLongFunction<TransactionMetadata> epochs, MemoryRecords first) {
        this.epochs = epochs;
        committed = entry(first, 1, null);
        tails.add(List.of());
    }

    static MemoryRecords records(String id, TxnTransitMetadata row, TransactionVersion version) {
        return MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(
                0, log("keyToBytes", id), TailLog.<byte[]>log("valueToBytes", row, version)));
    }

    /** was: the row that it is of; a tombstone does not say what it is of. */
    private Entry entry(MemoryRecords records, int leaderEpoch, TransactionMetadata was) {
        Record record = records.records().iterator().next();
        boolean isGone = !record.hasValue();
        TransactionMetadata row = isGone ? was : row(record);
        return new Entry(records, Json.fields(
                "state", isGone ? Row.DEAD : Row.state(row), "epoch", epochs.applyAsLong(row),
                "partitions", isGone ? List.of() : Row.partitions(row), "leaderEpoch", leaderEpoch));
    }

    /** Until 4.2 of a Scala object, which has the key and the value apart. */
    private static TransactionMetadata row(Record record) {
        return Mirror.has(TransactionLog.class, "read", 2)
                ? Mirror.call(Mirror.called(TransactionLog.class, "read", record.key(), record.value()), "metadata")
                : Mirror.<Option<TransactionMetadata>>called(
                        TransactionLog.class, "readTxnRecordValue", Coordinator.ID, record.value()).get();
    }

    /** What Kafka's class says; until 4.1 some of it is said by the object of Scala only. */
    private static <T> T log(String name, Object... in) {
        if (Mirror.has(TransactionLog.class, name, in.length)) {
            return Mirror.called(TransactionLog.class, name, in);
        }
        return Mirror.call(Mirror.constant(Mirror.type(TransactionLog.class.getName() + "$"), "MODULE$"), name, in);
    }

    Entry append(MemoryRecords records, int leaderEpoch, TransactionMetadata was) {
        Entry made = entry(records, leaderEpoch, was);
        leader.add(made);
        List<Entry> tail = List.copyOf(leader);
        if (tails.stream().noneMatch(each -> text(each).equals(text(tail)))) {
            tails.add(tail);
        }
        return made;
    }

    /** The high watermark reaches the end. */
    void commit() {
        offset += leader.size();
        committed = last();
        leader = new ArrayList<>();
        tails.clear();
        tails.add(List.of());
    }

    /** Whether a replica with this tail leads now; there may be none. */
    boolean elect(JsonNode tail) {
        for (List<Entry> each : tails) {
            if (Json.read(text(each)).equals(tail)) {
                leader = new ArrayList<>(each);
                return true;
            }
        }
        return false;
    }

    Entry last() {
        return leader.isEmpty() ? committed : leader.get(leader.size() - 1);
    }

    int start() {
        return offset;
    }

    int end() {
        return offset + 1 + leader.size();
    }

    int highWatermark() {
        return offset + 1;
    }

    /** From an offset up to another, in one buffer. */
    MemoryRecords read(int from, int to) {
        List<Entry> all = new ArrayList<>(List.of(committed));
        all.addAll(leader);
        List<Entry> wanted = all.subList(from - offset, Math.max(from, to) - offset);
        ByteBuffer buffer = ByteBuffer.allocate(wanted.stream().mapToInt(each -> each.records.sizeInBytes()).sum());
        for (int i = 0; i < wanted.size(); i++) {
            int at = buffer.position();
            buffer.put(wanted.get(i).records.buffer().duplicate());
            buffer.putLong(at, from + i);
        }
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    Map<String, Object> form() {
        return Json.fields("committed", committed.form, "leader", forms(leader),
                "tails", tails.stream().map(each -> Json.fields("records", forms(each))).toList());
    }

    private static List<Map<String, Object>> forms(List<Entry> entries) {
        return entries.stream().map(Entry::form).toList();
    }

    private static String text(List<Entry> tail) {
        return Json.text(Json.fields("records", forms(tail)));
    }
}
