package kafka.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Some;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;

/** The log of a replica: Kafka's own, in files. A fetch carries so many records at least, where Kafka counts bytes. */
final class PartitionLog {
    private static final int NEVER_MS = 1_000_000_000;
    private static final int NONE = -1;
    private static final BrokerTopicStats STATS = new BrokerTopicStats();
    /** What Kafka leaves to threads in the background is not done. */
    private static final Scheduler NOBODY = (Scheduler) Proxy.newProxyInstance(PartitionLog.class.getClassLoader(),
            new Class<?>[] {Scheduler.class}, (self, method, arguments) -> null);

    final UnifiedLog kafka;
    private final File folder;

    PartitionLog(File folder, Time time, int minInSync) {
        this.folder = folder;
        Object config = new LogConfig(Map.of("min.insync.replicas", "" + minInSync, "segment.index.bytes", "1024"));
        Object producers = new ProducerStateManagerConfig(NEVER_MS, false);
        Object channel = new LogDirFailureChannel(1);
        kafka = Mirror.has(UnifiedLog.class, "create", 13)
                ? Mirror.called(UnifiedLog.class, "create", folder, config, 0L, 0L, NOBODY, STATS, time, NEVER_MS,
                        producers, NEVER_MS, channel, true, Optional.of(Broker.TOPIC_ID))
                // Scala, until 4.0.
                : Mirror.called(UnifiedLog.class, "apply", folder, config, 0L, 0L, NOBODY, STATS, time, NEVER_MS,
                        producers, NEVER_MS, channel, true, new Some<>(Broker.TOPIC_ID), true,
                        new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
    }

    void discard() {
        kafka.closeHandlers();
        tried(() -> {
            Utils.delete(folder);
            return null;
        });
    }

    /** What may throw an IOException, in one version or another. */
    private static <T> T tried(Callable<T> work) {
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

    /**
     * The log becomes that of a row, by the calls that a follower and its recovery make. epoch: that
     * this replica knows; what a follower gains is of no later one.
     */
    void bring(JsonNode row, int epoch) {
        List<Object> mine = entries();
        List<JsonNode> other = new ArrayList<>();
        row.get("log").forEach(other::add);
        int start = row.get("logStart").asInt();
        if (mine.size() < start) {
            // Nothing is left of what this replica has, or it is one that has just been started.
            Object none = Mirror.has(UnifiedLog.class, "create", 13) ? Optional.empty() : scala.Option.empty();
            Mirror.call(kafka, "truncateFullyAndStartAt", (long) start, none);
            mine = entries();
        }
        int same = Math.min(start, mine.size());
        while (same < Math.min(mine.size(), other.size())
                && Json.read(Json.text(Json.fields("is", mine.get(same)))).get("is").equals(other.get(same))) {
            same++;
        }
        // A cut where nothing is left to be cut concerns the epochs all the same (KAFKA-10706).
        if (same < mine.size() || epochCache().size() > row.get("epochCache").size() && start == kafka.logStartOffset()) {
            Mirror.call(kafka, "truncateTo", (long) same);
        }
        boolean anew = mine.size() == start && latestEpoch().isEmpty();
        if (anew) {
            row.get("epochCache").forEach(each ->
                    kafka.assignEpochStartOffset(each.get("epoch").asInt(), each.get("start").asLong()));
        }
        for (int at = same; at < other.size();) {
            JsonNode first = other.get(at);
            int last = at;
            while (other.get(last).get("sequence").asInt() != other.get(last).get("last").asInt()) {
                last++;
            }
            SimpleRecord[] records = other.subList(at, last + 1).stream()
                    .map(each -> new SimpleRecord(each.get("value").asText().getBytes())).toArray(SimpleRecord[]::new);
            int written = first.get("epoch").asInt();
            kafka.appendAsFollower(first.get("producer").asLong() == RecordBatch.NO_PRODUCER_ID
                    ? MemoryRecords.withRecords((long) at, Compression.NONE, written, records)
                    : MemoryRecords.withIdempotentRecords((long) at, Compression.NONE, first.get("producer").asLong(),
                            (short) first.get("producerEpoch").asInt(), first.get("first").asInt(), written, records),
                    anew ? Integer.MAX_VALUE : epoch);
            at = last + 1;
        }
        tried(() -> kafka.updateHighWatermark(row.get("highWatermark").asLong()));
        kafka.maybeIncrementLogStartOffset(start, LogStartOffsetIncrementReason.LeaderOffsetIncremented);
        if (row.get("flushed").asLong() > kafka.recoveryPoint()) {
            kafka.flushUptoOffsetExclusive(row.get("flushed").asLong());
        }
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
