import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import kafka.server.share.SharePartition;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.server.share.persister.*;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

/**
 * A and B hold a record each, whose only delivery it is. A's lock runs out, and the write of that
 * fails; then A acknowledges. In the case, B's acknowledgement has moved the start offset past A's
 * record by then; in the control it has not.
 *
 * returns, amid: A holds the only record that is cached, and acknowledges it. The log start moves past it
 * before the write of that is answered; in the control, after. Then the next fetch is out of range, upon
 * which the broker moves the start offset to the log start again (ShareFetchUtils); or, amid, a fetch was
 * read before the answer, and is acquired after it.
 */
public class LateAcknowledgement {
    static final TopicIdPartition OF = new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("t", 0));

    /** Writes wait until they are told how they end; what a leader reads is what was written. */
    static class Store implements Persister {
        final TreeMap<Long, PersisterStateBatch> stored = new TreeMap<>();
        final List<Runnable> done = new ArrayList<>(), lost = new ArrayList<>();
        final List<Long> starts = new ArrayList<>();

        public CompletableFuture<WriteShareGroupStateResult> writeState(WriteShareGroupStateParameters asked) {
            CompletableFuture<WriteShareGroupStateResult> answer = new CompletableFuture<>();
            PartitionStateBatchData written = asked.groupTopicPartitionData().topicsData().get(0).partitions().get(0);
            List<PersisterStateBatch> batches = written.stateBatches();
            starts.add(written.startOffset());
            done.add(() -> {
                batches.forEach(each -> stored.put(each.firstOffset(), each));
                answer.complete(told(Errors.NONE));
            });
            lost.add(() -> answer.complete(told(Errors.NOT_COORDINATOR)));
            return answer;
        }

        WriteShareGroupStateResult told(Errors error) {
            return new WriteShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(OF.topicId(),
                List.of(PartitionFactory.newPartitionErrorData(0, error.code(), ""))))).build();
        }

        public CompletableFuture<ReadShareGroupStateResult> readState(ReadShareGroupStateParameters asked) {
            PartitionAllData found = PartitionFactory.newPartitionAllData(
                0, 1, 0, Errors.NONE.code(), "", List.copyOf(stored.values()));
            return CompletableFuture.completedFuture(new ReadShareGroupStateResult.Builder()
                .setTopicsData(List.of(new TopicData<>(OF.topicId(), List.of(found)))).build());
        }

        public CompletableFuture<InitializeShareGroupStateResult> initializeState(InitializeShareGroupStateParameters p) { return null; }
        public CompletableFuture<DeleteShareGroupStateResult> deleteState(DeleteShareGroupStateParameters p) { return null; }
        public CompletableFuture<ReadShareGroupStateSummaryResult> readSummary(ReadShareGroupStateSummaryParameters p) { return null; }
        public void stop() { }
    }

    /** Locks, which run out when they are told to. */
    static class Locks implements Timer {
        final List<TimerTask> held = new ArrayList<>();

        public void add(TimerTask task) {
            new TimerTaskEntry(task, 0); // without one it counts as cancelled
            held.add(task);
        }

        public boolean advanceClock(long ms) { return false; }
        public int size() { return held.size(); }
        public void close() { }
    }

    final Store store;
    final Locks locks = new Locks();
    final SharePartition partition;

    LateAcknowledgement(Store store, int epoch) throws Exception {
        this.store = store;
        var all = Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF));
        var given = new AbstractConfig(all, Map.of(), false);
        var config = new GroupCoordinatorConfig(given);
        var share = new ShareGroupConfig(given);
        var groups = new GroupConfigManager(Map.of(), config, share);
        Constructor<?> least = Stream.of(SharePartition.class.getDeclaredConstructors())
            .min(Comparator.comparing(Constructor::getParameterCount)).orElseThrow();
        least.setAccessible(true);
        Iterator<Integer> numbers = List.of(epoch, 100, 1, 30_000).iterator(); // in flight, deliveries, lock ms
        Map<Class<?>, Object> known = Map.of(String.class, "g", TopicIdPartition.class, OF, Timer.class, locks,
            Time.class, Time.SYSTEM, Persister.class, store, GroupConfigManager.class, groups);
        partition = (SharePartition) least.newInstance(Stream.of(least.getParameterTypes())
            .map(each -> each == int.class ? numbers.next() : known.get(each)).toArray());
        partition.maybeInitialize().join();
    }

    List<String> fetch(String member, long offset) {
        ByteBuffer buffer = ByteBuffer.allocate(256);
        MemoryRecordsBuilder records = MemoryRecords.builder(
            buffer, Compression.NONE, TimestampType.CREATE_TIME, offset, 1);
        records.appendWithOffset(offset, 0L, new byte[0], new byte[0]);
        FetchPartitionData data = new FetchPartitionData(Errors.NONE, 2, 0, records.build(), Optional.empty(),
            OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
        return partition.acquire(member, ShareAcquireMode.BATCH_OPTIMIZED, 10, 10, offset, data,
                FetchIsolation.HIGH_WATERMARK).acquiredRecords().stream()
            .map(each -> each.firstOffset() + ", delivery " + each.deliveryCount()).toList();
    }

    CompletableFuture<Void> acknowledge(String member, long offset) {
        return partition.acknowledge(
            member, List.of(new ShareAcknowledgementBatch(offset, offset, List.of((byte) 1))));
    }

    static String run(boolean moves) throws Exception {
        Store store = new Store();
        LateAcknowledgement leader = new LateAcknowledgement(store, 0);
        leader.fetch("A", 0);
        leader.fetch("B", 1);
        leader.acknowledge("B", 1);
        try {
            leader.locks.held.get(0).run();
        } catch (NullPointerException none) {
            // Last, fetches that wait are looked at, by a replica manager: here is none.
        }
        if (moves) {
            store.done.get(0).run();
        }
        CompletableFuture<Void> late = leader.acknowledge("A", 0);
        store.lost.get(1).run();
        String told = late.isDone() && !late.isCompletedExceptionally() ? "no error" : "refused";
        List<String> again = new LateAcknowledgement(store, 1).fetch("C", 0);
        return "A is told " + told + "; then C gets " + again;
    }

    Object call(String name, Object... arguments) throws Exception {
        Method method = Stream.of(SharePartition.class.getDeclaredMethods())
            .filter(each -> each.getName().equals(name) && each.getParameterCount() == arguments.length)
            .findFirst().orElseThrow();
        method.setAccessible(true);
        return method.invoke(partition, arguments);
    }

    static String returns(boolean late, boolean amid) throws Exception {
        Store store = new Store();
        LateAcknowledgement leader = new LateAcknowledgement(store, 0);
        leader.fetch("A", 0);
        leader.acknowledge("A", 0);
        if (!late) {
            store.done.get(0).run();
        }
        leader.call("updateCacheAndOffsets", 3L);
        if (late) {
            store.done.get(0).run();
        }
        String came = "start " + leader.call("startOffset") + ", next fetch " + leader.call("nextFetchOffset");
        if (!amid && (long) leader.call("startOffset") < 3) {
            leader.call("updateCacheAndOffsets", 3L);
        }
        List<String> next = leader.fetch("A", 3);
        came += "; A gets " + next + ", start " + leader.call("startOffset");
        leader.acknowledge("A", 3);
        store.done.get(1).run();
        return came + "; stored starts " + store.starts;
    }

    static void say(String name, String found, String control) {
        System.out.printf("{\"case\": \"%s\", \"found\": \"%s\", \"control\": \"%s\"}%n", name, found, control);
    }

    public static void main(String[] words) throws Exception {
        say("late", run(true), run(false));
        say("returns", returns(true, false), returns(false, false));
        say("amid", returns(true, true), returns(false, true));
        System.exit(0);
    }
}
