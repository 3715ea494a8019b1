// What Kafka's own classes make of a snapshot of the metadata, or of a cut, without a cluster. One
// line of JSON for each case and its control: what came out of the records, and out of that.
//
//     java -cp 'libs/*:kafka-raft-test.jar' FromSnapshots.java
//
// left, kept: of two partitions that broker 1 leads, one is reassigned away, and nothing happens to
// the other (MetadataDelta; Z125, Z126). reverted: a record right behind a snapshot, after a standby
// controller has led for a moment (OffsetControlManager; Z128). voters: a set of voters right behind
// a snapshot, which is cut away (KRaftControlRecordStateMachine; Z111). tail: a set of voters below
// the end of a tail that was cut (the same; Z110). held: a set of voters that is appended while the
// controller has prepared records and not let them go (BatchAccumulator; Z112). parted: a snapshot
// that ends behind the log, whose last record is of a later epoch than the snapshot (KafkaRaftLog;
// Z122).

import java.lang.reflect.AccessibleObject;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicsImage;
import org.apache.kafka.image.writer.ImageReWriter;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LogOffsetMetadata;
import org.apache.kafka.raft.MetadataLogConfig;
import org.apache.kafka.raft.MockLog;
import org.apache.kafka.raft.VoterSet;
import org.apache.kafka.raft.internals.BatchAccumulator;
import org.apache.kafka.raft.internals.KRaftControlRecordStateMachine;
import org.apache.kafka.raft.internals.KafkaRaftLog;
import org.apache.kafka.raft.internals.KafkaRaftMetrics;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineInteger;

public class FromSnapshots {
    private static final int BROKER = 1;
    private static final Uuid LEFT = new Uuid(0, 1), KEPT = new Uuid(0, 2);

    public static void main(String[] args) throws Exception {
        MetadataImage before = image(apply(
            MetadataImage.EMPTY, topic("left", LEFT), led(LEFT), topic("kept", KEPT), led(KEPT)));
        MetadataDelta records = apply(before, new PartitionChangeRecord().setTopicId(LEFT).setPartitionId(0)
            .setReplicas(List.of(2, 3)).setIsr(List.of(2, 3)).setLeader(2));
        MetadataDelta snapshot = new MetadataDelta.Builder().setImage(before).build();
        // What SnapshotGenerator writes and MetadataLoader replays.
        ImageReWriter writer = new ImageReWriter(snapshot);
        image(records).topics().write(
            writer, new ImageWriterOptions.Builder(MetadataVersion.LATEST_PRODUCTION).build());
        writer.close(true);
        same(image(records).topics(), image(snapshot).topics());
        var known = records.topicsDelta().localChanges(BROKER);
        var loaded = snapshot.topicsDelta().localChanges(BROKER);
        say("left", known.deletes().size(), loaded.deletes().size());
        say("kept", known.leaders().size(), loaded.leaders().size());
        say("reverted", reverted(true), reverted(false));
        say("voters", voters(true), voters(false));
        say("tail", behind(0), behind(3));
        say("held", held(false), held(true));
        say("parted", parted(1), parted(2));
        System.exit(0);
    }

    private static void say(String what, Object control, Object found) {
        System.out.printf("{\"case\":\"%s\",\"control\":%s,\"found\":%s}%n", what, control, found);
    }

    private static void same(TopicsImage one, TopicsImage other) {
        if (!one.equals(other)) {
            throw new AssertionError(one + " is not " + other);
        }
    }

    private static TopicRecord topic(String name, Uuid id) {
        return new TopicRecord().setName(name).setTopicId(id);
    }

    private static PartitionRecord led(Uuid id) {
        return new PartitionRecord().setTopicId(id).setPartitionId(0).setReplicas(List.of(1, 2))
            .setIsr(List.of(1, 2)).setLeader(BROKER).setLeaderEpoch(0).setPartitionEpoch(0)
            .setDirectories(List.of(new Uuid(0, 101), new Uuid(0, 102)));
    }

    private static MetadataDelta apply(MetadataImage image, ApiMessage... messages) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        Stream.of(messages).forEach(delta::replay);
        return delta;
    }

    private static MetadataImage image(MetadataDelta delta) {
        return delta.apply(MetadataProvenance.EMPTY);
    }

    /** What a standby holds of the record at offset 10 (1: it has it), right behind its snapshot, once
     *  it has led and leads no more. further: another record is committed before it leads. */
    private static int reverted(boolean further) throws Exception {
        SnapshotRegistry registry = new SnapshotRegistry(new LogContext());
        TimelineInteger state = new TimelineInteger(registry);
        Object builder = make("org.apache.kafka.controller.OffsetControlManager$Builder");
        call(builder, "setSnapshotRegistry", registry);
        Object offsets = call(builder, "build");
        call(offsets, "beginLoadSnapshot", new OffsetAndEpoch(10, 1));
        call(offsets, "endLoadSnapshot", 0L);
        state.set(1);
        var record = new ApiMessageAndVersion(topic("t", LEFT), (short) 0);
        call(offsets, "handleCommitBatch", Batch.data(10, 1, 0, 1, List.of(record)));
        if (further) {
            call(offsets, "handleCommitBatch", Batch.data(11, 1, 0, 1, List.of(record)));
        }
        call(offsets, "activate", 13L);
        call(offsets, "deactivate");
        return state.get();
    }

    /** How many voters are known after the cut. apart: a record lies between the snapshot and the set. */
    private static int voters(boolean apart) throws Exception {
        MockLog log = log();
        var state = reader(log);
        version(log);
        append(log, set(3));
        log.updateHighWatermark(new LogOffsetMetadata(log.endOffset().offset()));
        long end = log.endOffset().offset();
        state.updateState();
        if (apart) {
            version(log);
        }
        append(log, set(2));
        state.updateState();
        // KafkaRaftClient.createSnapshot, once a snapshot that ends there is frozen, and truncateTo.
        state.truncateOldEntries(end);
        log.truncateTo(end);
        state.truncateNewEntries(end);
        state.updateState();
        return state.lastVoterSet().size();
    }

    /** How many voters are known, of two, if a tail of so many records was cut before. */
    private static int behind(int tail) {
        MockLog log = log();
        var state = reader(log);
        version(log);
        append(log, set(3));
        long end = log.endOffset().offset();
        for (int each = 0; each < tail; each++) {
            version(log);
        }
        state.updateState();
        // KafkaRaftClient, when a leader's answer has the follower cut its log.
        log.truncateTo(end);
        state.truncateNewEntries(end);
        append(log, set(2));
        state.updateState();
        return state.lastVoterSet().size();
    }

    /** How many of two batches, a record and then a set of voters, the leader's log can have now.
     *  prepared: the record is one that the controller has yet to let go. */
    private static int held(boolean prepared) {
        var accumulator = new BatchAccumulator<>(
            1, 0, 0, 1 << 16, 10, MemoryPool.NONE, Time.SYSTEM, Compression.NONE, new MetadataRecordSerde());
        accumulator.append(1, List.of(new ApiMessageAndVersion(topic("t", LEFT), (short) 0)), prepared);
        accumulator.appendVotersRecord(set(3).toVotersRecord((short) 0), 0);
        return accumulator.drain().size();
    }

    /** Whether a log whose last record is of that epoch begins where a downloaded snapshot of epoch 1
     *  ends (1: it does). If it does not, KafkaRaftClient throws, and the process ends. */
    private static int parted(int epoch) throws Exception {
        var folder = Files.createTempDirectory("kraftcheck").resolve("__cluster_metadata-0").toFile();
        var config = new MetadataLogConfig(
            new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of(), false));
        var scheduler = new KafkaScheduler(1);
        scheduler.startup();
        var log = KafkaRaftLog.createLog(
            new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID, folder, Time.SYSTEM,
            scheduler, config, 1);
        for (int of : new int[] {1, epoch}) {
            log.appendAsLeader(MemoryRecords.withRecords(
                log.endOffset().offset(), Compression.NONE, of, new SimpleRecord("x".getBytes())), of);
        }
        log.createNewSnapshotUnchecked(new OffsetAndEpoch(10, 1)).orElseThrow().freeze();
        return log.truncateToLatestSnapshot() ? 1 : 0;
    }

    private static MockLog log() {
        MockLog log = new MockLog(
            new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID, new LogContext());
        log.initializeLeaderEpoch(1);
        return log;
    }

    private static KRaftControlRecordStateMachine reader(MockLog log) {
        return new KRaftControlRecordStateMachine(
            VoterSet.empty(), log, new MetadataRecordSerde(), BufferSupplier.NO_CACHING, 1024, new LogContext(),
            new KafkaRaftMetrics(new Metrics(), "raft"), ignored -> { });
    }

    private static void version(MockLog log) {
        log.appendAsLeader(MemoryRecords.withKRaftVersionRecord(
            log.endOffset().offset(), 0, 1, ByteBuffer.allocate(300),
            new KRaftVersionRecord().setKRaftVersion((short) 1)), 1);
    }

    private static void append(MockLog log, VoterSet voters) {
        log.appendAsLeader(MemoryRecords.withVotersRecord(
            log.endOffset().offset(), 0, 1, ByteBuffer.allocate(1000), voters.toVotersRecord((short) 0)), 1);
    }

    private static VoterSet set(int size) {
        Map<Integer, InetSocketAddress> addresses = new HashMap<>();
        for (int id = 1; id <= size; id++) {
            addresses.put(id, InetSocketAddress.createUnresolved("localhost", 9000 + id));
        }
        return VoterSet.fromInetSocketAddresses(new ListenerName("C"), addresses);
    }

    /** Of a class that is its package's own. */
    private static Object make(String name) throws Exception {
        var constructor = Class.forName(name).getDeclaredConstructor();
        return open(constructor).newInstance();
    }

    private static Object call(Object on, String name, Object... with) throws Exception {
        for (var method : on.getClass().getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == with.length) {
                return open(method).invoke(on, with);
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static <T extends AccessibleObject> T open(T member) {
        member.setAccessible(true);
        return member;
    }
}
