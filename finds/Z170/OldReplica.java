// Kafka's Partition of one broker, without a cluster: a follower's fetch is read, and is noted when
// the broker has stopped leading and leads again.
//
//     java -cp 'libs/*' OldReplica.java DIRECTORY WHEN...
//
// Broker 1 leads, 2 is out of the ISR, 3 is in it. 2's fetch of offset 10 stands still where
// Partition.fetchRecords has let go of its lock (updateFollowerFetchState asks numDelayedDelete
// there); 3 leads in epoch 2 meanwhile, 1 cuts its log to 4 and copies five records of that epoch; 1
// leads again in epoch 3, and 2 fetches from offset 4. WHEN the first fetch goes on: "behind" (all
// that), "before" (anything), "unasked" (behind all that, but 2 has not fetched in epoch 3), "raced"
// (nobody holds it: it begins beside all that). For each one line of JSON: the ISR that 1 asks the controller for, if it does, its high watermark, its
// log's end, and that of 2.

import java.io.File;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import kafka.cluster.DelayedOperations;
import kafka.cluster.Partition;
import kafka.server.AlterPartitionManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpoints;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;
import scala.Some;

public class OldReplica {
    private static final Uuid TOPIC_ID = new Uuid(7, 7);
    private static final TopicPartition TOPIC = new TopicPartition("t", 0);
    private static final long BROKER_EPOCH = 5;

    private final List<LeaderAndIsr> asked = new ArrayList<>();
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);
    private final UnifiedLog log;
    private final Partition partition;
    private volatile Thread held;

    public static void main(String[] args) throws Exception {
        for (int at = 1; at < args.length; at++) {
            new OldReplica(new File(args[0], at + "/t-0")).run(args[at]);
        }
        System.exit(0);
    }

    private OldReplica(File folder) throws Exception {
        log = UnifiedLog.create(
            folder, new LogConfig(new Properties()), 0, 0, new KafkaScheduler(1), new BrokerTopicStats(), Time.SYSTEM,
            900_000, new ProducerStateManagerConfig(86_400_000, true), 600_000, new LogDirFailureChannel(1), true,
            Optional.empty());
        // Every broker is alive and unfenced, with one epoch.
        MetadataCache cache = (MetadataCache) Proxy.newProxyInstance(
            MetadataCache.class.getClassLoader(), new Class<?>[] {MetadataCache.class}, (self, method, words) ->
                switch (method.getName()) {
                    case "getAliveBrokerEpoch" -> Optional.of(BROKER_EPOCH);
                    case "isBrokerFenced", "isBrokerShuttingDown" -> false;
                    default -> throw new UnsupportedOperationException(method.getName());
                });
        AlterPartitionManager controller = new AlterPartitionManager() {
            public void start() { }

            public void shutdown() { }

            @Override
            public CompletableFuture<LeaderAndIsr> submit(TopicIdPartition topic, LeaderAndIsr wanted) {
                asked.add(wanted);
                return new CompletableFuture<>();
            }
        };
        DelayedOperations nobody = new DelayedOperations(Option.empty(), TOPIC, null, null, null, null) {
            @Override
            public void checkAndCompleteAll() { }

            @Override
            public int numDelayedDelete() {
                if (Thread.currentThread() == held) {
                    held = null;
                    reached.countDown();
                    try {
                        released.await();
                    } catch (InterruptedException error) {
                        throw new IllegalStateException(error);
                    }
                }
                return 0;
            }
        };
        partition = new Partition(TOPIC, 30_000, 1, () -> BROKER_EPOCH, Time.SYSTEM, new AlterPartitionListener() {
            @Override
            public void markIsrExpand() { }

            @Override
            public void markIsrShrink() { }

            @Override
            public void markFailed() { }
        }, nobody, cache, null, controller, new Some<>(TOPIC_ID));
        partition.log_$eq(new Some<>(log));
    }

    private void run(String when) throws Exception {
        leads(1, 1, 1, 3);
        append(10, 1);
        fetch(3, 4, 1);
        Thread fetching = new Thread(() -> fetch(2, 10, 1));
        if (when.equals("before")) {
            fetching.start();
            fetching.join();
        } else if (when.equals("raced")) {
            fetching.start();
        } else {
            held = fetching;
            fetching.start();
            reached.await();
        }
        leads(3, 2, 3);
        log.truncateTo(4);
        copy(5, 2);
        leads(1, 3, 1, 3);
        fetch(3, 9, 3);
        int asksFor = asked.size();
        if (!when.equals("unasked")) {
            fetch(2, 4, 3);
        }
        released.countDown();
        fetching.join();
        Set<Integer> isr = asked.size() > asksFor ? new TreeSet<>(asked.get(asked.size() - 1).isr()) : Set.of();
        System.out.println("{\"when\":\"%s\",\"asked\":%s,\"highWatermark\":%d,\"end\":%d,\"follower\":4}".formatted(
            when, isr, log.highWatermark(), log.logEndOffset()));
        log.close();
    }

    private void leads(int leader, int epoch, int... isr) {
        PartitionRegistration now = new PartitionRegistration.Builder().setReplicas(new int[] {1, 2, 3})
            .setDirectories(new Uuid[] {new Uuid(1, 1), new Uuid(1, 2), new Uuid(1, 3)}).setIsr(isr).setLeader(leader)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(epoch).setPartitionEpoch(epoch).build();
        OffsetCheckpoints none = (folder, topic) -> Optional.empty();
        if (leader == 1) {
            partition.makeLeader(now, false, none, new Some<>(TOPIC_ID), Option.empty());
        } else {
            partition.makeFollower(now, false, none, new Some<>(TOPIC_ID), Option.empty());
        }
    }

    private void append(int count, int epoch) throws Exception {
        for (int at = 0; at < count; at++) {
            log.appendAsLeader(MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("x".getBytes())), epoch);
        }
    }

    private void copy(int count, int epoch) throws Exception {
        for (int at = 0; at < count; at++) {
            MemoryRecords records = MemoryRecords.withRecords(
                log.logEndOffset(), Compression.NONE, epoch, new SimpleRecord("y".getBytes()));
            partition.appendRecordsToFollowerOrFutureReplica(records, false, epoch);
        }
    }

    private void fetch(int follower, long offset, int epoch) {
        FetchParams how = new FetchParams(
            follower, BROKER_EPOCH, 0, 1, 1 << 20, FetchIsolation.LOG_END, Optional.empty());
        partition.fetchRecords(how, new FetchRequest.PartitionData(TOPIC_ID, offset, 0, 1 << 20, Optional.of(epoch)),
            Time.SYSTEM.milliseconds(), 1 << 20, true, true);
    }
}
