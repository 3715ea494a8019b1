package kafka.cluster;

import kafka.log.LogManager;
import kafka.server.BrokerBlockingSender;
import kafka.server.KafkaConfig;
import kafka.server.QuotaFactory;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.config.ReplicationQuotaManagerConfig;
import org.apache.kafka.server.purgatory.DelayedOperation;
import org.apache.kafka.server.purgatory.TopicPartitionOperationKey;
import org.apache.kafka.server.quota.QuotaType;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;
import scala.Some;
import scala.jdk.javaapi.CollectionConverters;

import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * The replicas of a broker's process: Kafka's ReplicaManager with its LogManager and fetchers, over
 * the files of the broker. A process begins with what is in them.
 */
final class Replicas {
    private static final String CHECKPOINT = "replication-offset-checkpoint";
    private static final BrokerTopicStats STATS = new BrokerTopicStats();
    /** A run begins with three of them, which take longer to read than what is done with them. */
    private static final Map<String, KafkaConfig> CONFIGS = new HashMap<>();
    /** Parameters of ReplicaManager that may be left out; the most that a version has. */
    private static final int LEFT_OUT = 12;
    /** What is to be done at once is; what Kafka does from time to time is not. */
    private static final Scheduler AT_ONCE = new Scheduler() {
        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
            if (delay == 0 && period < 0) {
                task.run();
            }
            return new Never();
        }

        @Override
        public void resizeThreadPool(int size) { }
    };

    /** What would be done from time to time. */
    private static final class Never extends CompletableFuture<Void> implements ScheduledFuture<Void> {
        @Override
        public long getDelay(TimeUnit unit) {
            return Long.MAX_VALUE;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }

    final ReplicaManager manager;
    final LogManager logs;
    final KafkaConfig config;
    private final File folder;
    private final OffsetCheckpointFile checkpoint;

    /** asked: is told when Kafka asks requests that wait for copies whether they are done. */
    Replicas(int id, File folder, int minInSync, long lagMs, Image image, Proposals proposals, Time time,
             Supplier<Object> brokerEpoch, Runnable asked) {
        this.folder = folder;
        config = CONFIGS.computeIfAbsent(folder + " " + minInSync, each -> config(id, folder, minInSync, lagMs));
        Metrics metrics = new Metrics(time);
        LogDirFailureChannel channel = new LogDirFailureChannel(1);
        Class<?> maker = Mirror.type("kafka.log.LogManager");
        Object nothing = maker == LogManager.class ? CollectionConverters.asScala(List.of()).toSeq() : Set.of();
        logs = Mirror.has(maker, "apply", 7)
                ? Mirror.called(maker, "apply", config, nothing, image.cache, AT_ONCE, time, STATS, channel)
                : Mirror.called(maker, "apply", config, nothing, image.cache, AT_ONCE, time, STATS, channel, true);
        ReplicationQuotaManager all = new ReplicationQuotaManager(new ReplicationQuotaManagerConfig(), metrics,
                QuotaType.FOLLOWER_REPLICATION, time);
        List<Object> parts = new ArrayList<>(List.of(config, metrics, time, AT_ONCE, logs, image.cache, channel, STATS,
                new QuotaFactory.QuotaManagers(null, null, null, null, all, all, all, Optional.empty()),
                proposals.manager, new AtomicBoolean(), DirectoryEventHandler.NOOP,
                (scala.Function0<Object>) brokerEpoch::get, Mirror.made(Mirror.type(
                        "org.apache.kafka.server.DelayedActionQueue", "kafka.server.DelayedActionQueue"))));
        for (int i = 0; i < LEFT_OUT; i++) {
            parts.add(Option.empty());
        }
        manager = Mirror.made(ReplicaManager.class, parts.toArray());
        checkpoint = file(CHECKPOINT);
        watch(asked);
    }

    private OffsetCheckpointFile file(String name) {
        return PartitionLog.tried(() -> new OffsetCheckpointFile(new File(folder, name), new LogDirFailureChannel(1)));
    }

    private static KafkaConfig config(int id, File folder, int minInSync, long lagMs) {
        Properties said = new Properties();
        String[] settings = {
            "process.roles", "broker", "node.id", "" + id, "controller.listener.names", "CONTROLLER",
            "controller.quorum.bootstrap.servers", "localhost:1", "listeners", "PLAINTEXT://localhost:1",
            "log.dirs", folder.getAbsolutePath(), "min.insync.replicas", "" + minInSync,
            "replica.lag.time.max.ms", "" + lagMs, "replica.fetch.backoff.ms", "0",
            "log.index.size.max.bytes", "1024", "log.cleaner.enable", "false",
            "num.recovery.threads.per.data.dir", "1", "transaction.partition.verification.enable", "false",
        };
        for (int i = 0; i < settings.length; i += 2) {
            said.put(settings[i], settings[i + 1]);
        }
        return KafkaConfig.fromProps(said);
    }

    /** One that waits for good, for the sake of being asked. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private void watch(Runnable asked) {
        DelayedOperation one = new DelayedOperation(Integer.MAX_VALUE) {
            @Override
            public void onExpiration() { }

            @Override
            public void onComplete() { }

            @Override
            public boolean tryComplete() {
                asked.run();
                return false;
            }
        };
        ((org.apache.kafka.server.purgatory.DelayedOperationPurgatory) manager.delayedProducePurgatory())
                .tryCompleteElseWatch(one, List.of(new TopicPartitionOperationKey(Broker.TOPIC)));
    }

    /**
     * What Kafka does with its files as it starts. The partition, which Kafka makes when it is told of
     * it first, is one that is not used: its log is there, with the high watermark it will have.
     */
    Partition load(Time time) {
        Set<String> topics = Set.of();
        if (Mirror.has(logs, "startup", 1)) {
            Mirror.call(logs, "startup", topics);
        } else {
            Mirror.call(logs, "startup", CollectionConverters.asScala(topics), Mirror.call(logs, "startup$default$2"));
        }
        Partition partition = untouched(time);
        partition.createLogIfNotExists(true, false, (folder, topic) -> checkpointed(), new Some<>(Broker.TOPIC_ID), Option.empty());
        PartitionLog.tried(() -> {
            checkpoint.write(Map.of(Broker.TOPIC, partition.localLogOrException().highWatermark()));
            return null;
        });
        return partition;
    }

    Partition untouched(Time time) {
        return Partition.apply(Broker.TOPIC, time, manager, new Some<>(Broker.TOPIC_ID));
    }

    /** What the file says with which a process leaves that was told to; there is none while one runs. */
    long cleanShutdown() {
        return new CleanShutdownFileHandler(folder.getPath()).read().orElse(-1);
    }

    /** What the file says of it. */
    long recoveryPoint() {
        return file("recovery-point-offset-checkpoint").read().get(Broker.TOPIC);
    }

    Optional<Long> checkpointed() {
        return Optional.ofNullable(checkpoint.read().get(Broker.TOPIC));
    }

    /** The thread that has the partition, if one has. */
    ReplicaFetcherThread fetcher() {
        return (ReplicaFetcherThread) manager.replicaFetcherManager().getFetcher(Broker.TOPIC).getOrElse(() -> null);
    }

    static BrokerBlockingSender connection(ReplicaFetcherThread fetcher) {
        return Mirror.get(fetcher.leader(), "blockingSender");
    }

    /** What the fetcher has of the partition; empty: there is none. */
    Optional<Object> fetchState() {
        ReplicaFetcherThread fetcher = fetcher();
        return fetcher == null ? Optional.empty() : Forms.optional(fetcher.fetchState(Broker.TOPIC));
    }

    /** The process stops, as it is told to. */
    void stop(long brokerEpoch) {
        manager.shutdown(true);
        Mirror.call(logs, "shutdown", brokerEpoch);
    }

    /** The process is gone. */
    void drop(PartitionLog log) {
        manager.replicaFetcherManager().shutdown();
        logs.checkpointLogStartOffsets();
        Mirror.drop(log.kafka);
        Object locks = Mirror.get(logs, "dirLocks");
        List<?> all = locks instanceof List<?> list ? list : CollectionConverters.asJava((scala.collection.Seq<?>) locks);
        all.forEach(each -> Mirror.call(each, "destroy"));
    }
}
