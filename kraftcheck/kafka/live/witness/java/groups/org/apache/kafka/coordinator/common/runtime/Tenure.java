package org.apache.kafka.coordinator.common.runtime;

import kraftcheck.witness.Mirror;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.timeline.SnapshotRegistry;

import com.yammer.metrics.core.MetricsRegistry;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A broker while it leads the group's partition: GroupCoordinatorService and CoordinatorRuntime over
 * a log that is given. Its events happen when `run` is called; the clock stands still, and of its
 * timers those go off that are told to. An append is one batch, which is what it had to write for an
 * operation.
 */
final class Tenure implements CoordinatorEventProcessor, CoordinatorLoader<CoordinatorRecord>, Timer {
    private static final TopicPartition PARTITION = new TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, 0);
    private static final long START_MS = 1_700_000_000_000L;
    private static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();
    /** The specification has no interval between assignments, nor has Kafka before 4.3. */
    private static final Map<String, ?> SETTINGS = Map.of("group.consumer.assignment.interval.ms", 0);
    private static final Class<?> SHOWN = Mirror.type("org.apache.kafka.server.util.PartitionMetadataClient",
            "org.apache.kafka.coordinator.group.PartitionMetadataClient", "java.lang.Runnable");

    final GroupCoordinatorService service;
    /** Of a group that has no member yet. */
    final int firstEpoch;
    private final CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime;
    private final MockTime time = new MockTime(0, START_MS, START_MS * 1_000_000);
    private final Deque<CoordinatorEvent> events = new ArrayDeque<>();
    private final Collection<List<CoordinatorRecord>> loaded;
    private final long committed;
    private final Consumer<List<CoordinatorRecord>> appended;
    /** Hears of each event that waits for its turn. */
    private Consumer<CoordinatorEvent> heard = event -> { };
    private PartitionWriter.Listener listener;
    private long end;

    /** log: its batches, of which so many records are committed. appended: hears of what is written. */
    Tenure(int epoch, Collection<List<CoordinatorRecord>> log, long committed, MetadataImage image,
            Consumer<List<CoordinatorRecord>> appended) {
        loaded = log;
        this.committed = committed;
        this.appended = appended;
        end = log.stream().mapToLong(List::size).sum();
        AbstractConfig given = new AbstractConfig(Utils.mergeConfigs(definitions()), SETTINGS, false);
        GroupCoordinatorConfig config = new GroupCoordinatorConfig(given);
        GroupConfigManager groups =
                Mirror.made(GroupConfigManager.class, Map.of(), config, Mirror.made(ShareGroupConfig.class, given));
        GroupCoordinatorMetrics metrics = new GroupCoordinatorMetrics(new MetricsRegistry(), new Metrics());
        LogContext logs = new LogContext();
        SnapshotRegistry nowhere = new SnapshotRegistry(logs);
        ConsumerGroup anew = Mirror.made(ConsumerGroup.class, logs, nowhere, PARTITION.topic(),
                metrics.newMetricsShard(nowhere, PARTITION));
        firstEpoch = anew.groupEpoch();
        var builder = new CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord>()
                .withTime(time).withTimer(this).withLogContext(logs).withEventProcessor(this)
                .withPartitionWriter(Mirror.standIn(PartitionWriter.class, this::asked)).withLoader(this)
                .withCoordinatorShardBuilderSupplier(() -> Mirror.callOne(new GroupCoordinatorShard.Builder(config, groups),
                        Optional.empty(), "withAuthorizerPlugin", "withAuthorizer"))
                .withCoordinatorRuntimeMetrics(idle(CoordinatorRuntimeMetrics.class))
                .withCoordinatorMetrics(metrics).withSerializer(SERDE)
                // Regular expressions are resolved by it; no member has one.
                .withExecutorService(idle(ExecutorService.class));
        Mirror.callOne(builder, Duration.ofMillis(config.offsetCommitTimeoutMs()), "withWriteTimeout", "withDefaultWriteTimeOut");
        boolean fixed = Mirror.takes(builder, "withAppendLingerMs", int.class);
        Mirror.callOne(builder, fixed ? (Object) 0 : OptionalInt.of(0), "withAppendLingerMs");
        if (Mirror.has(builder, "withCachedBufferMaxBytesSupplier", 1)) {
            Supplier<Integer> most = () -> 1 << 20;
            Mirror.call(builder, "withCachedBufferMaxBytesSupplier", most);
        }
        runtime = builder.build();
        service = Mirror.made(GroupCoordinatorService.class, logs, config, runtime, metrics, groups,
                idle(Persister.class), this, idle(SHOWN), Optional.empty(), time);
        service.startup(() -> 1);
        publish(new MetadataDelta.Builder().setImage(image).build(), image);
        service.onElection(PARTITION.partition(), epoch);
        run();
    }

    /** All settings of groups: in one list since 4.1. */
    private static List<ConfigDef> definitions() {
        List<ConfigDef> found = new ArrayList<>(List.of(ShareGroupConfig.CONFIG_DEF));
        found.addAll(Mirror.constants(GroupCoordinatorConfig.class, ConfigDef.class));
        return found;
    }

    /** What is there, and is not asked anything here. */
    private static <T> T idle(Class<?> type) {
        return Mirror.standIn(type, (self, method, in) -> null);
    }

    /** Of metadata: in 4.2 as CoordinatorMetadataImage has it, and before 4.3 the image first. */
    private void publish(MetadataDelta delta, MetadataImage image) {
        if (Mirror.has(service, "onMetadataUpdate", 2)) {
            Mirror.call(service, "onMetadataUpdate", delta, image);
        } else {
            Mirror.call(service, "onNewMetadataImage", shown(image, "Image"), shown(delta, "Delta"));
        }
    }

    private static Object shown(Object metadata, String what) {
        Class<?> type = Mirror.type(
                Tenure.class.getPackageName() + ".KRaftCoordinatorMetadata" + what, metadata.getClass().getName());
        return type.isInstance(metadata) ? metadata : Mirror.made(type, metadata);
    }

    // --- What is told to it

    /** Makes a call, and all that follows; `heard` is told of the events of the call itself. */
    void call(Runnable call, Consumer<CoordinatorEvent> heard) {
        this.heard = heard;
        call.run();
        this.heard = event -> { };
        run();
    }

    /** The high watermark reaches the end of the log. */
    void commit() {
        listener.onHighWatermarkUpdated(PARTITION, end);
        run();
    }

    /** Another broker leads, in that epoch. */
    void resign(int epoch) {
        service.onResignation(PARTITION.partition(), OptionalInt.of(epoch));
        run();
    }

    /** What makes the timer of that name go off; null: there is none. */
    Runnable timer(String key) {
        Map<String, TimerTask> tasks = Mirror.get(context().timer, "tasks");
        TimerTask task = tasks.get(key);
        return task == null ? null : () -> {
            task.run();
            run();
        };
    }

    private void run() {
        while (!events.isEmpty()) {
            events.removeFirst().run();
        }
    }

    // --- What is read of it

    int epoch() {
        return context().epoch;
    }

    /** Whether the log could be loaded. */
    boolean isActive() {
        return context().state == CoordinatorRuntime.CoordinatorState.ACTIVE;
    }

    GroupCoordinatorShard shard() {
        return context().coordinator.coordinator();
    }

    long committed() {
        return context().coordinator.lastCommittedOffset();
    }

    /** The operations that wait until what they are made of is committed. */
    List<Object> waiting() {
        List<Object> found = new ArrayList<>();
        Map<Long, List<Object>> pending = Mirror.get(context().deferredEventQueue, "pending");
        pending.values().forEach(all -> all.forEach(each -> {
            if (each.getClass().getSimpleName().equals("DeferredEventCollection")) {
                found.addAll(Mirror.<List<Object>>get(each, "events"));
            } else {
                found.add(each);
            }
        }));
        return found;
    }

    private CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord>.CoordinatorContext context() {
        return runtime.contextOrThrow(PARTITION);
    }

    // --- Its log

    @Override
    public CompletableFuture<LoadSummary> load(TopicPartition partition, CoordinatorPlayback<CoordinatorRecord> into) {
        // As CoordinatorLoaderImpl, which has it from UnifiedLog.
        long offset = 0;
        try {
            for (List<CoordinatorRecord> batch : loaded) {
                for (CoordinatorRecord record : batch) {
                    into.replay(offset++, -1, (short) -1, record);
                }
                if (offset >= committed) {
                    into.updateLastWrittenOffset(offset);
                }
                if (offset == committed) {
                    into.updateLastCommittedOffset(offset);
                }
            }
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        return CompletableFuture.completedFuture(new LoadSummary(START_MS, START_MS, 0, offset, 0));
    }

    private Object asked(Object self, Method method, Object[] in) {
        return switch (method.getName()) {
            case "append" -> append((MemoryRecords) in[2]);
            case "registerListener" -> {
                listener = (PartitionWriter.Listener) in[1];
                yield null;
            }
            case "config" -> new LogConfig(Map.of());
            case "maybeStartTransactionVerification" -> CompletableFuture.completedFuture(VerificationGuard.SENTINEL);
            case "deregisterListener" -> null;
            default -> throw new AssertionError("a group's coordinator asks its partition for " + method);
        };
    }

    private long append(MemoryRecords records) {
        List<CoordinatorRecord> batch = new ArrayList<>();
        for (Record record : records.records()) {
            batch.add(SERDE.deserialize(record.key(), record.value()));
        }
        end += batch.size();
        appended.accept(batch);
        return end;
    }

    // --- Its queue and its timers

    @Override
    public void enqueueLast(CoordinatorEvent event) {
        heard.accept(event);
        events.addLast(event);
    }

    @Override
    public void enqueueFirst(CoordinatorEvent event) {
        events.addFirst(event);
    }

    @Override
    public void add(TimerTask task) {
        new TimerTaskEntry(task, time.milliseconds() + task.delayMs);  // which the task then knows
    }

    @Override
    public boolean advanceClock(long ms) {
        return false;
    }

    @Override
    public int size() {
        return 0;
    }

    @Override
    public void close() { }
}
