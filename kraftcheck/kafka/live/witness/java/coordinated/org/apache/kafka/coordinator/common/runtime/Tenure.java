package org.apache.kafka.coordinator.common.runtime;

import kraftcheck.witness.Mirror;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;


import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A broker while it leads a coordinator's partition: CoordinatorRuntime over a log that is given. Its
 * events happen when `run` is called; the clock stands still, and of its timers those go off that are
 * told to. An append is one batch, which is what it had to write for an operation.
 */
class Tenure<S extends CoordinatorShard<CoordinatorRecord>> implements CoordinatorEventProcessor, CoordinatorLoader<CoordinatorRecord>, Timer {
    private static final long START_MS = 1_700_000_000_000L;

    protected final CoordinatorRuntime<S, CoordinatorRecord> runtime;
    protected final TopicPartition partition;
    private final CoordinatorRecordSerde serde;
    protected final MockTime time = new MockTime(0, START_MS, START_MS * 1_000_000);
    private final Deque<CoordinatorEvent> events = new ArrayDeque<>();
    private final Collection<List<CoordinatorRecord>> loaded;
    private final long committed;
    private final Consumer<List<CoordinatorRecord>> appended;
    /** Hears of each event that waits for its turn. */
    private Consumer<CoordinatorEvent> heard = event -> { };
    private PartitionWriter.Listener listener;
    private long end;

    /**
     * log: its batches, of which so many records are committed. appended: hears of what is written.
     * Whoever makes it then has it lead, and calls `run`.
     */
    Tenure(TopicPartition partition, Collection<List<CoordinatorRecord>> log, long committed,
            CoordinatorShardBuilderSupplier<S, CoordinatorRecord> shards, CoordinatorMetrics metrics,
            CoordinatorRecordSerde serde, long timeoutMs, Consumer<List<CoordinatorRecord>> appended) {
        this.partition = partition;
        this.serde = serde;
        loaded = log;
        this.committed = committed;
        this.appended = appended;
        end = log.stream().mapToLong(List::size).sum();
        var builder = new CoordinatorRuntime.Builder<S, CoordinatorRecord>()
                .withTime(time).withTimer(this).withLogContext(new LogContext()).withEventProcessor(this)
                .withPartitionWriter(Mirror.standIn(PartitionWriter.class, this::asked)).withLoader(this)
                .withCoordinatorShardBuilderSupplier(shards)
                .withCoordinatorRuntimeMetrics(idle(CoordinatorRuntimeMetrics.class))
                .withCoordinatorMetrics(metrics).withSerializer(serde)
                // Regular expressions of groups are resolved by it; no member has one.
                .withExecutorService(idle(ExecutorService.class));
        Mirror.callOne(builder, Duration.ofMillis(timeoutMs), "withWriteTimeout", "withDefaultWriteTimeOut");
        boolean fixed = Mirror.takes(builder, "withAppendLingerMs", int.class);
        Mirror.callOne(builder, fixed ? (Object) 0 : OptionalInt.of(0), "withAppendLingerMs");
        if (Mirror.has(builder, "withCachedBufferMaxBytesSupplier", 1)) {
            Supplier<Integer> most = () -> 1 << 20;
            Mirror.call(builder, "withCachedBufferMaxBytesSupplier", most);
        }
        runtime = builder.build();
    }

    /** What is there, and is not asked anything here. */
    protected static <T> T idle(Class<?> type) {
        return Mirror.standIn(type, (self, method, in) -> null);
    }

    /** Leads in that epoch, with these metadata. */
    final void lead(int epoch, MetadataDelta delta, MetadataImage image) {
        Object seen = shown(image, "Image");
        Object change = shown(delta, "Delta");
        if (Mirror.has(runtime, "onMetadataUpdate", 2)) {
            Mirror.call(runtime, "onMetadataUpdate", change, seen);
        } else {
            Mirror.call(runtime, "onNewMetadataImage", seen, change);
        }
        runtime.scheduleLoadOperation(partition, epoch);
        run();
    }

    /** Metadata as a coordinator has it: since 4.2 in classes of its own. */
    protected static Object shown(Object metadata, String what) {
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
        listener.onHighWatermarkUpdated(partition, end);
        run();
    }

    /** Another broker leads, in that epoch. */
    void resign(int epoch) {
        runtime.scheduleUnloadOperation(partition, OptionalInt.of(epoch));
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

    protected final void run() {
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

    S shard() {
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

    private CoordinatorRuntime<S, CoordinatorRecord>.CoordinatorContext context() {
        return runtime.contextOrThrow(partition);
    }

    // --- Its log

    @Override
    public CompletableFuture<LoadSummary> load(TopicPartition of, CoordinatorPlayback<CoordinatorRecord> into) {
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
            default -> throw new AssertionError("a coordinator asks its partition for " + method);
        };
    }

    private long append(MemoryRecords records) {
        List<CoordinatorRecord> batch = new ArrayList<>();
        for (Record record : records.records()) {
            batch.add(serde.deserialize(record.key(), record.value()));
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
