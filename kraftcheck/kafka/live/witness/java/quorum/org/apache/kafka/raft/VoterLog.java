package org.apache.kafka.raft;

import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.util.Scheduler;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * The log of a voter: Kafka's own, in files, or the one of Kafka's own tests, in memory. Somebody is
 * asked before a flush, and a fetch carries so many batches at most, where Kafka counts bytes.
 */
final class VoterLog {
    private static final Class<?> TYPE =
            Mirror.type("org.apache.kafka.raft.RaftLog", "org.apache.kafka.raft.ReplicatedLog");
    /** Whether a read says how much it may return: since 4.3. */
    private static final boolean SIZED = Arrays.stream(TYPE.getMethods())
            .anyMatch(each -> each.getName().equals("read") && each.getParameterCount() == 3);
    private static final Class<?> MEMORY = Mirror.type("org.apache.kafka.common.record.internal.MemoryRecords",
            "org.apache.kafka.common.record.MemoryRecords");
    /** Whether the background gets anything done before a crash (docs/reference/decisions.md). */
    private static final boolean IN_TIME = !System.getProperty("witness.background", "").equals("never");
    private static final TopicPartition TOPIC = new TopicPartition("__cluster_metadata", 0);

    /** What leaves a log as it is. */
    private static final Set<String> READS = Set.of("endOffset", "highWatermark", "startOffset", "lastFetchedEpoch",
            "validateOffsetAndEpoch", "endOffsetForEpoch", "read", "topicPartition", "topicId", "latestSnapshotId",
            "earliestSnapshotId", "latestSnapshot", "firstUnflushedOffset", "truncateToLatestSnapshot", "equals");
    /** By folder, logs of runs before in which nothing was written: to open one costs as much as ten steps. */
    private static final Map<File, Object> UNTOUCHED = new HashMap<>();

    /** For KafkaRaftClient. */
    final Object kafka;
    private final File folder;
    private final Time time;
    private final int most;
    private final BooleanSupplier beforeFlush;
    private Object real;
    private boolean touched;
    private List<Object> cacheLeft;

    /** folder: null for the log of tests. most: batches in a fetch. */
    VoterLog(File folder, Time time, int most, BooleanSupplier beforeFlush) {
        this.folder = folder;
        this.time = time;
        this.most = most;
        this.beforeFlush = beforeFlush;
        real = folder == null ? new MockLog(TOPIC, Uuid.METADATA_TOPIC_ID, new LogContext()) : opened();
        kafka = Proxy.newProxyInstance(TYPE.getClassLoader(), new Class<?>[] {TYPE}, this::called);
    }

    private Object opened() {
        Object untouched = UNTOUCHED.remove(folder);
        if (untouched != null) {
            return untouched;
        }
        try {
            Files.createDirectories(folder.toPath());
            // What Kafka leaves to a thread in the background is done at once, but what is to wait.
            Object background = Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Scheduler.class},
                    (self, method, arguments) -> {
                        if (IN_TIME && method.getName().equals("scheduleOnce") && arguments.length == 2) {
                            ((Runnable) arguments[1]).run();
                        }
                        return null;
                    });
            return opened(background);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Object opened(Object background) {
        Class<?> settings = Mirror.type("org.apache.kafka.raft.MetadataLogConfig", "kafka.raft.MetadataLogConfig");
        Class<?> log = Mirror.type("org.apache.kafka.raft.internals.KafkaRaftLog", "kafka.raft.KafkaMetadataLog");
        if (settings.getName().startsWith("kafka.")) {  // before 4.1 it is numbers, here the defaults, and has the node
            Object config = Mirror.made(settings, 1 << 30, 8 << 20, 604_800_000L, 100L << 20, 604_800_000L,
                    8 << 20, 8 << 20, 60_000L, 0);
            return Mirror.called(log, "apply", TOPIC, Uuid.METADATA_TOPIC_ID, folder, time, background, config);
        }
        Object config = Mirror.made(settings,
                new AbstractConfig(Mirror.constant(settings, "CONFIG_DEF"), Map.of(), false));
        return Mirror.called(log, SIZED ? "createLog" : "apply",
                TOPIC, Uuid.METADATA_TOPIC_ID, folder, time, background, config, 0);
    }

    private Object called(Object self, Method method, Object[] arguments) throws Throwable {
        touched |= !READS.contains(method.getName());
        if (method.getName().equals("flush") && !beforeFlush.getAsBoolean()) {
            return null;
        }
        try {
            Object found = method.invoke(real, arguments);
            if (real instanceof MockLog && found instanceof ValidOffsetAndEpoch valid) {
                return asked(valid, (Integer) arguments[1]);
            }
            boolean fetch = method.getName().equals("read") && arguments[1] == Isolation.UNCOMMITTED;
            return fetch ? upToMost((Long) arguments[0], (LogFetchInfo) found) : found;
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Below its first epoch the log of tests names epoch 0, and Kafka's real one the epoch that is asked for. */
    private static ValidOffsetAndEpoch asked(ValidOffsetAndEpoch found, int epoch) {
        OffsetAndEpoch at = found.offsetAndEpoch();
        return found.kind() == ValidOffsetAndEpoch.Kind.DIVERGING && at.epoch() == 0
                ? ValidOffsetAndEpoch.diverging(new OffsetAndEpoch(at.offset(), epoch)) : found;
    }

    private LogFetchInfo upToMost(long offset, LogFetchInfo found) {
        int bytes = 0, count = 0;
        for (var batch : found.records.batches()) {
            if (count++ == most) {
                return SIZED ? read(offset, bytes)
                        : Mirror.made(LogFetchInfo.class, inMemory(found.records, bytes), found.startOffsetMetadata);
            }
            bytes += batch.sizeInBytes();
        }
        return found;
    }

    private LogFetchInfo read(long offset, int bytes) {
        return SIZED ? Mirror.call(real, "read", offset, Isolation.UNCOMMITTED, bytes)
                : Mirror.call(real, "read", offset, Isolation.UNCOMMITTED);
    }

    /** The process has crashed: of what was not flushed, `kept` records are on disk. */
    void reopen(long kept) {
        if (folder != null && !touched) {
            cacheLeft = List.of();
            return;  // there is nothing to lose, and nothing to load
        }
        touched = true;
        long end = Math.min(flushed() + kept, end());
        cacheLeft = folder == null ? epochCache() : cacheInFile();
        if (real instanceof MockLog log) {
            log.truncateTo(end);
            log.flush(true);
            log.reopen();
        } else {
            // What is open is left as it is, and nothing is written any more.
            Mirror.drop(Mirror.get(real, "log"));
            real = opened();
            if (end < end()) {
                Mirror.call(real, "truncateTo", end);
            }
            Mirror.call(real, "flush", true);
        }
    }

    /** No run needs it any more. */
    void discard() {
        if (folder != null && !touched) {
            UNTOUCHED.put(folder, real);
        } else if (folder != null) {
            Mirror.drop(Mirror.get(real, "log"));
            try {
                Utils.delete(folder);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    long end() {
        return Mirror.<LogOffsetMetadata>call(real, "endOffset").offset();
    }

    long flushed() {
        return real instanceof MockLog log ? log.firstUnflushedOffset()
                : Mirror.<Long>call(Mirror.get(real, "log"), "recoveryPoint");
    }

    List<Object> entries() {
        List<Object> entries = new ArrayList<>();
        while (entries.size() < end()) {
            entries.addAll(entries(new FetchResponseData.PartitionData().setRecords(
                    read(entries.size(), Integer.MAX_VALUE).records)));
        }
        return entries;
    }

    /** The epoch cache that the last crash has left, which is not cut before the next start. */
    List<Object> cacheLeft() {
        return cacheLeft;
    }

    private List<Object> cacheInFile() {
        // Behind a version and a count, unless nothing was ever written.
        try (Stream<String> lines = Files.lines(new File(folder, "leader-epoch-checkpoint").toPath()).skip(2)) {
            return lines.map(line -> line.split(" ")).<Object>map(words -> Json.fields(
                    "epoch", Integer.valueOf(words[0]), "start", Long.valueOf(words[1]))).toList();
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<Object> epochCache() {
        List<?> cache = real instanceof MockLog ? Mirror.get(real, "epochStartOffsets")
                : Mirror.call(Mirror.call(Mirror.get(real, "log"), "leaderEpochCache"), "epochEntries");
        List<Object> entries = new ArrayList<>();
        cache.forEach(each -> entries.add(Json.fields(
                "epoch", Mirror.get(each, "epoch"), "start", Mirror.get(each, "startOffset"))));
        return entries;
    }

    /** What a fetch carries, as it comes out of a connection: no part of a file, which may change. */
    static void send(FetchResponseData.PartitionData fetched) {
        Object records = Mirror.call(fetched, "records");
        if (records != null && !MEMORY.isInstance(records)) {
            Mirror.call(fetched, "setRecords", inMemory(records, Mirror.<Integer>call(records, "sizeInBytes")));
        }
    }

    /** The first of records, also of a file's; 4.0 makes no slice of a slice (FileRecords.availableBytes). */
    private static Object inMemory(Object records, int size) {
        ByteBuffer bytes;
        if (MEMORY.isInstance(records)) {
            bytes = Mirror.<ByteBuffer>call(records, "buffer").limit(size);
        } else {
            bytes = ByteBuffer.allocate(size);
            Mirror.call(records, "readInto", bytes, 0);
        }
        return Mirror.called(MEMORY, "readableRecords", bytes);
    }

    /** Records as entries; one that opens an epoch has the value 0, another the number that it begins with. */
    static List<Object> entries(FetchResponseData.PartitionData fetched) {
        List<Object> entries = new ArrayList<>();
        for (var batch : FetchResponse.recordsOrFail(fetched).batches()) {
            for (var record : batch) {
                int value = batch.isControlBatch() ? 0 : Integer.parseInt(Utils.utf8(record.value()).split(" ", 2)[0]);
                entries.add(Json.fields("epoch", batch.partitionLeaderEpoch(), "value", value));
            }
        }
        return entries;
    }
}
