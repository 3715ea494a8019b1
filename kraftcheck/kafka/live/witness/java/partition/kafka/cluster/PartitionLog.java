package kafka.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.FileLogInputStream;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** The log of a replica: Kafka's own, in files. A fetch carries so many records at least, where Kafka counts bytes. */
final class PartitionLog {
    private static final int NONE = -1;
    private static final int CORRUPT = -2;
    /** In a batch (DefaultRecordBatch). */
    private static final int CHECKSUM_AT = 17;

    final UnifiedLog kafka;

    PartitionLog(UnifiedLog kafka) {
        this.kafka = kafka;
    }

    /** What may throw an IOException, in one version or another. */
    static <T> T tried(Callable<T> work) {
        try {
            return work.call();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new UncheckedIOException(new IOException(e));
        }
    }

    // --- Into Kafka

    /** What a client sends: one batch. */
    static MemoryRecords records(JsonNode request) {
        List<SimpleRecord> records = new ArrayList<>();
        request.get("values").forEach(value -> records.add(new SimpleRecord(value.asText().getBytes())));
        SimpleRecord[] all = records.toArray(SimpleRecord[]::new);
        long producer = request.get("producer").asLong();
        return producer == RecordBatch.NO_PRODUCER_ID ? MemoryRecords.withRecords(Compression.NONE, all)
                : MemoryRecords.withIdempotentRecords(Compression.NONE, producer,
                        (short) request.get("producerEpoch").asInt(), request.get("sequence").asInt(), all);
    }

    /** What a leader sends, the first record being at this offset. */
    static MemoryRecords records(JsonNode records, long from) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int at = 0; at < records.size();) {
            JsonNode first = records.get(at);
            int last = at;
            while (records.get(last).get("sequence").asInt() != records.get(last).get("last").asInt()) {
                last++;
            }
            SimpleRecord[] batch = new SimpleRecord[last + 1 - at];
            for (int i = 0; i < batch.length; i++) {
                batch[i] = new SimpleRecord(records.get(at + i).get("value").asText().getBytes());
            }
            int written = first.get("epoch").asInt();
            MemoryRecords made = first.get("producer").asLong() == RecordBatch.NO_PRODUCER_ID
                    ? MemoryRecords.withRecords(from + at, Compression.NONE, written, batch)
                    : MemoryRecords.withIdempotentRecords(from + at, Compression.NONE, first.get("producer").asLong(),
                            (short) first.get("producerEpoch").asInt(), first.get("first").asInt(), written, batch);
            all.writeBytes(Utils.toArray(made.buffer()));
            at = last + 1;
        }
        return MemoryRecords.readableRecords(ByteBuffer.wrap(all.toByteArray()));
    }

    /** What a crash leaves of the files: so many records, which cannot be read from one on (NONE: all can). */
    static void damage(File folder, long keep, long corrupt) {
        File[] segments = folder.listFiles((where, name) -> name.endsWith(".log"));
        tried(() -> {
            for (File segment : segments) {
                try (RandomAccessFile bytes = new RandomAccessFile(segment, "rw");
                        FileRecords read = FileRecords.open(segment)) {
                    long at = 0;
                    for (FileLogInputStream.FileChannelRecordBatch batch : read.batches()) {
                        if (batch.baseOffset() >= keep) {
                            break;
                        }
                        if (corrupt != NONE && batch.baseOffset() >= corrupt) {
                            bytes.seek(at + CHECKSUM_AT);
                            bytes.writeInt((int) ~batch.checksum());
                        }
                        at += batch.sizeInBytes();
                    }
                    bytes.setLength(at);
                }
            }
            return null;
        });
    }

    /** The entries of which a crash leaves so many, as they are read then. */
    @SuppressWarnings("unchecked")
    static List<Object> left(List<Object> entries, int keep, long corrupt) {
        List<Object> found = new ArrayList<>(entries.subList(0, keep));
        for (int at = (int) corrupt; corrupt != NONE && at < keep; at++) {
            Map<String, Object> bad = new LinkedHashMap<>((Map<String, Object>) found.get(at));
            bad.put("value", CORRUPT);
            found.set(at, bad);
        }
        return found;
    }

    // --- Out of Kafka

    /** All of it, and in place of each record that was deleted one that is none. */
    List<Object> entries() {
        long start = kafka.logStartOffset();
        List<Object> entries = new ArrayList<>();
        for (long gone = 0; gone < start; gone++) {
            entries.add(Json.fields("epoch", NONE, "value", NONE, "producer", NONE, "producerEpoch", NONE,
                    "sequence", NONE, "first", NONE, "last", NONE));
        }
        if (kafka.logEndOffset() > start) {
            entries.addAll(entries(tried(() -> kafka.read(start, Integer.MAX_VALUE, FetchIsolation.LOG_END, true)).records,
                    start, Integer.MAX_VALUE));
        }
        return entries;
    }

    Optional<Integer> latestEpoch() {
        return Forms.optional(kafka.latestEpoch());
    }

    /** Of these records, from an offset on, so many and the rest of the last batch. */
    List<Object> entries(Records records, long from, int most) {
        List<Object> entries = new ArrayList<>();
        for (var batch : records.batches()) {
            if (entries.size() >= most) {
                break;
            }
            for (var record : batch) {
                if (record.offset() >= from) {
                    entries.add(Json.fields("epoch", batch.partitionLeaderEpoch(),
                            "value", Integer.parseInt(Utils.utf8(record.value())), "producer", batch.producerId(),
                            "producerEpoch", batch.producerEpoch(), "sequence", record.sequence(),
                            "first", batch.baseSequence(), "last", batch.lastSequence()));
                }
            }
        }
        return entries;
    }

    List<Object> epochCache() {
        return kafka.leaderEpochCache().epochEntries().stream()
                .<Object>map(each -> Json.fields("epoch", Mirror.get(each, "epoch"), "start", Mirror.get(each, "startOffset"))).toList();
    }

    List<Object> producers() {
        List<Object> found = new ArrayList<>();
        new TreeMap<>(kafka.producerStateManager().activeProducers()).forEach((id, state) -> {
            List<Object> batches = new ArrayList<>();
            for (BatchMetadata batch : state.batchMetadata()) {
                batches.add(Json.fields("first", batch.firstSeq(), "last", Mirror.get(batch, "lastSeq"), "offset", batch.firstOffset()));
            }
            found.add(Json.fields("producer", id, "epoch", state.producerEpoch(), "batches", batches));
        });
        return found;
    }
}
