package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.server.ReplicaManager;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;
import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.common.runtime.ShareStates;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.server.share.ShareGroupListener;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.fetch.AcquisitionLockTimerTask;
import org.apache.kafka.server.share.fetch.InFlightBatch;
import org.apache.kafka.server.share.fetch.InFlightState;
import org.apache.kafka.server.share.fetch.RecordState;
import org.apache.kafka.server.share.fetch.ShareAcquiredRecords;
import org.apache.kafka.server.share.metrics.ShareGroupMetrics;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateResult;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateResult;
import org.apache.kafka.server.share.persister.PartitionStateBatchData;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.Persisters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryResult;
import org.apache.kafka.server.share.persister.WriteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;
import org.apache.kafka.server.share.session.ShareSessionCache;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The leader of a share partition, whichever broker it is: a SharePartition of Kafka, and another one
 * after it was dropped. What is the host's: the log, of which each record is a batch of its own; the
 * connections of Kafka's persister (Persisters); locks, which run out when they are told to; and the fetch that
 * makes a share partition. SharePartitionManager has it in its cache. Two brokers lead in turn, with one cache each.
 */
public final class Leader extends Node {
    private static final int LEADER = -2;
    private static final int COORDINATOR = 0;
    private static final int NOBODY = -1;
    private static final int LOCK_MS = 30_000;
    private static final int MOST = 500;
    /** More than any persister makes. */
    private static final int ATTEMPTS = 10;
    private static final TopicIdPartition OF =
            new TopicIdPartition(new Uuid(1, 1), new TopicPartition("t", 0));
    private static final String GROUP = "g";
    private static final SharePartitionKey KEY = new SharePartitionKey(GROUP, OF);
    private static final List<String> KINDS = List.of("", "ACCEPT", "RELEASE", "REJECT");
    private static final Map<String, String> STATES = Map.of("AVAILABLE", "Available", "ACQUIRED", "Acquired",
            "ACKNOWLEDGED", "Acknowledged", "ARCHIVED", "Archived");

    private final int records;
    private final int maxDelivery;
    private final int maxInFlight;
    private final int maxLeaders;
    private final int maxIncarnations;
    private final GroupConfigManager configs = configs();
    private final Persister persister = new Held();
    private final Timer timer = new Locks();
    private final ReplicaManager replicas = Mirror.standInOf(ReplicaManager.class, (self, method, in) ->
            switch (method.getName()) {
                case "completeDelayedShareFetchRequest", "removeListener" -> null;
                case "equals" -> self == in[0];
                default -> throw new AssertionError("nobody asks replicas for " + method);
            });

    private final Map<Integer, SharePartitionManager> managers = new HashMap<>();

    private int highWatermark;
    private int logStart = 1;
    private int leaderEpoch = 1;
    private int incarnation = 1;
    /** Null: nobody has fetched yet. */
    private SharePartition partition;
    private Read reading;
    private final List<Write> writes = new ArrayList<>();
    private final Persisters persisters;
    /** What the persister has said of reads and writes, which is not handed on yet. */
    private final Map<Object, Runnable> said = new IdentityHashMap<>();
    /** By incarnation, what was sent. */
    private final Map<Integer, String> reads = new HashMap<>();
    /** Of what is made in this step. */
    private Ack asking;
    private boolean wrote;
    private boolean disabled;
    /** Of several steps the input of the present one, the lines before it, and what was sent in them. */
    private String current;
    private final List<String> made = new ArrayList<>();
    private final List<Message> sentBefore = new ArrayList<>();

    /** An acknowledgement, or of nobody what the end of a session releases. */
    private record Ack(int source, int first, int last, String kind) { }

    /** A read without an answer. */
    private record Read(String text) { }

    /** A write without an answer; ack: what waits for it, or null. */
    private record Write(Map<String, Object> form, String text, int incarnation, Ack ack) { }

    public static List<Node> nodes(JsonNode constants) {
        Persisters persisters = new Persisters();
        return List.of(new Leader(constants, persisters), new ShareStates(constants, persisters));
    }

    private Leader(JsonNode constants, Persisters persisters) {
        super(LEADER);
        this.persisters = persisters;
        records = constants.get("records").asInt();
        maxDelivery = constants.get("maxDelivery").asInt();
        maxInFlight = constants.get("maxInFlight").asInt();
        maxLeaders = constants.get("maxLeaders").asInt();
        maxIncarnations = constants.get("maxIncarnations").asInt();
        highWatermark = records;
        tableOfInputs();
        tableOfFields();
        begin();
    }

    private static GroupConfigManager configs() {
        var all = Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF));
        var given = new AbstractConfig(all, Map.of(), false);
        var config = new GroupCoordinatorConfig(given);
        return Mirror.made(GroupConfigManager.class, Map.of(), config, Mirror.made(ShareGroupConfig.class, given));
    }

    private static String name(int member) {
        return "m" + member;
    }

    private static int member(String name) {
        return name.isEmpty() ? NOBODY : Integer.parseInt(name.substring(1));
    }

    // --- Inputs

    private void tableOfInputs() {
        inputs.put("ShareFetch", in -> () -> fetch(in.get("source").asInt()));
        inputs.put("ShareAcknowledge", in -> () -> acknowledge(new Ack(in.get("source").asInt(),
                in.get("first").asInt(), in.get("last").asInt(), in.get("kind").asText())));
        inputs.put("ReadShareGroupStateResponse", in -> answered(reads.getOrDefault(in.get("incarnation").asInt(), ""), in));
        inputs.put("WriteShareGroupStateResponse", in -> answered(in.get("write").toString(), in));
        inputs.put("LockTimeout", in -> lock(in.get("offset").asInt()));
        inputs.put("SessionEnd", in -> isActive() ? () -> endSession(in.get("member").asInt()) : null);
        inputs.put("RetryPersister", in -> () -> {
            next(in);
            retry();
        });
        inputs.put("GiveUpWrite", in -> {
            String text = in.get("write").toString();
            return awaited(text).isEmpty() ? null : () -> {
                next(in);
                giveUp(text);
            };
        });
        inputs.put("MoveLeader", in -> leaderEpoch == maxLeaders ? null : () -> {
            if (partition != null) {
                partition.listener().onBecomingFollower(OF.topicPartition());
            }
            gone();
            leaderEpoch++;
        });
        inputs.put("Recreate", in -> partition == null || incarnation >= maxIncarnations ? null : () -> {
            Mirror.<ShareGroupListener>get(Mirror.get(manager(), "cache"), "shareGroupListener").onGroupEmpty(GROUP);
            gone();
        });
        inputs.put("ProduceBatch", in -> highWatermark == records ? null : () -> highWatermark++);
        inputs.put("MoveLogStart", in -> {
            int to = in.get("to").asInt();
            return logStart < to && to <= highWatermark ? () -> logStart = to : null;
        });
    }

    @Override
    protected Runnable delivery(Message message) {
        JsonNode in = Json.read(message.text());
        return inputs.get(in.get("type").asText()).apply(in);
    }

    private boolean isActive() {
        return phase().equals("Active");
    }

    /** The broker that leads has dropped its share partition. */
    private void gone() {
        partition = null;
        reading = null;
        incarnation++;
    }

    private SharePartitionManager manager() {
        return managers.computeIfAbsent(leaderEpoch % Persisters.BROKERS, broker -> Mirror.made(SharePartitionManager.class,
                with44(replicas, Time.SYSTEM, new ShareSessionCache(MOST), new SharePartitionCache(), LOCK_MS, timer,
                        maxDelivery, maxInFlight, 0L, persister, configs, Mirror.made(ShareGroupMetrics.class, Time.SYSTEM),
                        Mirror.made(BrokerTopicStats.class, false))));
    }

    private SharePartitionCache cache() {
        return Mirror.get(manager(), "partitionCache");
    }

    private Object[] with44(Object... given) {
        return Stream.concat(Stream.of(given), since44().stream()).toArray();
    }

    private void fetch(int member) {
        if (partition == null) {
            var listener = Mirror.made(SharePartitionManager.SharePartitionListener.class, with44(KEY, replicas, cache()));
            Object[] given = with44(GROUP, OF, leaderEpoch, maxInFlight, maxDelivery, LOCK_MS, timer, Time.SYSTEM, persister,
                    replicas, configs, SharePartition.SharePartitionState.EMPTY, listener,
                    Mirror.standInOf(SharePartitionMetrics.class, Leader::unheard));
            partition = cache().computeIfAbsent(KEY, key -> Mirror.made(SharePartition.class, given));
            partition.maybeInitialize();
            return;
        }
        if (!isActive()) {
            ignored = "Initializing";
            return;
        }
        boolean may = partition.canAcquireRecords();
        long next = partition.nextFetchOffset();
        if (next > highWatermark) {
            ignored = "NoRecords";
        } else if (!may) {
            ignored = "AtLimit";
        } else if (next < logStart) {
            partition.updateCacheAndOffsets(logStart);
            deliver(member, List.of());
        } else {
            FetchPartitionData data = new FetchPartitionData(Errors.NONE, highWatermark + 1, logStart, batch(next),
                    Optional.empty(), OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
            ShareAcquiredRecords found = partition.acquire(name(member), ShareAcquireMode.BATCH_OPTIMIZED, MOST, MOST,
                    next, data, FetchIsolation.HIGH_WATERMARK);
            if (found.acquiredRecords().isEmpty()) {
                ignored = "AtLimit";
                return;
            }
            List<Object> shown = new ArrayList<>();
            found.acquiredRecords().forEach(each -> {
                for (long offset = each.firstOffset(); offset <= each.lastOffset(); offset++) {
                    shown.add(Json.fields("offset", offset, "count", each.deliveryCount(),
                            "leaderEpoch", leaderEpoch, "incarnation", incarnation));
                }
            });
            deliver(member, shown);
        }
    }

    /** In place of the replica manager, and what is new: the queue of dead letters is off. */
    private List<Object> since44() {
        Class<?> configured = Mirror.type(
                "org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider", "java.lang.Object");
        if (!Mirror.has(configured, "errorsDLQTopicName", 1)) {
            return List.of();
        }
        String share = "org.apache.kafka.server.share.";
        return List.of(Mirror.standIn(Mirror.type(share + "LogReader"), Leader::unheard),
                Mirror.standIn(Mirror.type(share + "PartitionMetadataProvider"), Leader::unheard),
                (Consumer<Object>) waiting -> { }, Mirror.made(configured, configs), (Supplier<Boolean>) () -> false,
                Mirror.standIn(Mirror.type(share + "dlq.ShareGroupDLQManager"), Leader::unheard));
    }

    private static Object unheard(Object self, Method method, Object[] in) {
        return method.getName().equals("equals") ? (Object) (self == in[0]) : null;
    }

    private static MemoryRecords batch(long offset) {
        MemoryRecordsBuilder made = MemoryRecords.builder(
                ByteBuffer.allocate(256), Compression.NONE, TimestampType.CREATE_TIME, offset, 1);
        made.appendWithOffset(offset, 0L, new byte[0], new byte[0]);
        return made.build();
    }

    private void acknowledge(Ack ack) {
        if (!isActive()) {
            tell(ack, Errors.NOT_LEADER_OR_FOLLOWER);
            return;
        }
        byte type = (byte) KINDS.indexOf(ack.kind);
        asking = ack;
        try {
            manager().acknowledge(name(ack.source), GROUP,
                    Map.of(OF, List.of(new ShareAcknowledgementBatch(ack.first, ack.last, List.of(type)))))
                    .thenAccept(found -> tell(ack, Errors.forCode(found.get(OF).errorCode())));
        } catch (RuntimeException thrown) { // as KafkaApis.handle
            tell(ack, Errors.forException(thrown));
        }
    }

    private Runnable lock(int offset) {
        InFlightState cell = isActive() ? cell(offset) : null;
        AcquisitionLockTimerTask task = cell == null ? null : cell.acquisitionLockTimeoutTask();
        return task == null || task.hasExpired() ? null : task::run;
    }

    private void endSession(int member) {
        asking = new Ack(NOBODY, 0, 0, "RELEASE");
        partition.releaseAcquiredRecords(name(member));
        disabled = !wrote;
    }

    // --- The persister

    /** Kafka's persister is asked; what it says is handed on when the schedule has a step of it. */
    private final class Held implements Persister {
        @Override
        public CompletableFuture<ReadShareGroupStateResult> readState(ReadShareGroupStateParameters asked) {
            reading = new Read(Json.text(Json.fields("type", "ReadShareGroupState", "source", LEADER,
                    "destination", COORDINATOR, "leaderEpoch", leaderEpoch, "incarnation", incarnation)));
            reads.put(incarnation, reading.text);
            sent.add(new Message(COORDINATOR, reading.text, null));
            return held(reading, persisters.of(leaderEpoch, reading.text).readState(asked));
        }

        @Override
        public CompletableFuture<WriteShareGroupStateResult> writeState(WriteShareGroupStateParameters asked) {
            PartitionStateBatchData data =
                    asked.groupTopicPartitionData().topicsData().get(0).partitions().get(0);
            List<Object> cells = new ArrayList<>();
            for (PersisterStateBatch each : data.stateBatches()) {
                for (long offset = each.firstOffset(); offset <= each.lastOffset(); offset++) {
                    cells.add(Json.fields("offset", offset, "state", state(each.deliveryState()),
                            "count", each.deliveryCount()));
                }
            }
            Map<String, Object> form = Json.fields("type", "WriteShareGroupState", "source", LEADER,
                    "destination", COORDINATOR, "leaderEpoch", data.leaderEpoch(), "incarnation", incarnation,
                    "stateEpoch", data.stateEpoch(), "start", data.startOffset(), "cells", cells);
            Write made = new Write(form, Json.text(form), incarnation, asking);
            writes.add(made);
            wrote = true;
            sent.add(new Message(COORDINATOR, made.text, null));
            return held(made, persisters.of(data.leaderEpoch(), made.text).writeState(asked));
        }

        private <T> CompletableFuture<T> held(Object asked, CompletableFuture<T> answer) {
            CompletableFuture<T> handed = new CompletableFuture<>();
            answer.thenAccept(result -> said.put(asked, () -> handed.complete(result)));
            return handed;
        }

        @Override
        public CompletableFuture<InitializeShareGroupStateResult> initializeState(InitializeShareGroupStateParameters in) {
            throw new AssertionError("no share partition initializes its state");
        }

        @Override
        public CompletableFuture<DeleteShareGroupStateResult> deleteState(DeleteShareGroupStateParameters in) {
            throw new AssertionError("no share partition deletes its state");
        }

        @Override
        public CompletableFuture<ReadShareGroupStateSummaryResult> readSummary(ReadShareGroupStateSummaryParameters in) {
            throw new AssertionError("no share partition asks for a summary");
        }

        @Override
        public void stop() { }
    }

    private static String state(byte id) {
        return STATES.get(RecordState.forId(id).name());
    }

    /** The writes of this text for which an acknowledgement, or the end of a session, waits. */
    private List<Write> awaited(String text) {
        return writes.stream().filter(each -> each.text.equals(text) && each.ack != null).toList();
    }

    private boolean isRead(String text) {
        return reading != null && reading.text.equals(text) && phase().equals("Initializing");
    }

    /** A response of the coordinator arrives: a step for each part of what it answers. */
    private Runnable answered(String text, JsonNode in) {
        List<Persisters.Part> parts = persisters.respond(text, in);
        if (parts.isEmpty()) {
            boolean here = in.path("write").path("incarnation").asInt() == incarnation && isActive();
            return here || isRead(text) || !awaited(text).isEmpty() ? null : () -> ignored = "Late";
        }
        return () -> {
            next(in);
            persisters.receive(parts);
            settled(text);
            String last = parts.get(parts.size() - 1).told().orElseThrow();
            for (Persisters.Part each : parts) {
                if (!each.text.equals(text) && (isRead(each.text) || !awaited(each.text).isEmpty() || isMine(each.text))) {
                    next(Json.read(each.told().orElse(last)));
                    settled(each.text);
                }
            }
        };
    }

    /** Whether this incarnation waits for a write of this text. */
    private boolean isMine(String text) {
        return writes.stream().anyMatch(each -> each.text.equals(text) && each.incarnation == incarnation);
    }

    /** What the persister has said of what was sent as this text is handed on. */
    private void settled(String text) {
        if (isRead(text)) {
            Runnable read = said.remove(reading);
            if (read != null) {
                read.run();
            }
            if (!isActive()) {
                partition.listener().onFailed(OF.topicPartition());
                gone();
            }
            return;
        }
        List<Write> those = writes.stream().filter(each -> each.text.equals(text) && said.containsKey(each)).toList();
        if (those.isEmpty() || awaited(text).isEmpty() && !isMine(text)) {
            ignored = "Late";
        }
        for (Write each : those) {
            writes.remove(each);
            said.remove(each).run();
            if (partition != null && cache().get(KEY) != partition) {
                gone();
            }
        }
    }

    private void retry() {
        Set<String> again = new LinkedHashSet<>();
        writes.stream().filter(each -> each.ack != null).forEach(each -> again.add(each.text));
        if (phase().equals("Initializing")) {
            again.add(reading.text);
        }
        disabled = again.isEmpty();
        if (!disabled) {
            Set<String> sentAgain = persisters.retry(again::contains);
            again.stream().filter(each -> sentAgain.contains(each) || isSaid(each))
                    .forEach(each -> sent.add(new Message(COORDINATOR, each, null)));
            again.stream().filter(this::isSaid).forEach(this::over);
        }
    }

    /** The attempts of a write fail, as those of others that are sent with it. */
    private void giveUp(String text) {
        for (int attempt = 0; attempt < ATTEMPTS && !isSaid(text); attempt++) {
            persisters.retry(each -> !awaited(each).isEmpty() || isRead(each));
        }
        settled(text);
        List<String> others = new ArrayList<>();
        writes.stream().filter(each -> each.ack != null && said.containsKey(each)).forEach(each -> others.add(each.text));
        if (reading != null && isSaid(reading.text)) {
            others.add(reading.text);
        }
        others.forEach(this::over);
    }

    private boolean isSaid(String text) {
        return isRead(text) && said.containsKey(reading)
                || writes.stream().anyMatch(each -> each.text.equals(text) && said.containsKey(each));
    }

    /** The persister has given up: a share partition that could not read is replaced. */
    private void over(String text) {
        next(Json.read(Json.text(isRead(text) ? Json.fields("type", "Recreate")
                : Json.fields("type", "GiveUpWrite", "write", Json.raw(text)))));
        settled(text);
    }

    /** Locks, which run out when they are told to. */
    private static final class Locks implements Timer {
        @Override
        public void add(TimerTask task) {
            new TimerTaskEntry(task, 0);  // without one it counts as cancelled
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

    // --- What is told

    private void tell(Ack ack, Errors error) {
        sent.add(new Message(ack.source, Json.text(Json.fields("type", "ShareAcknowledgeResponse", "source", LEADER,
                "destination", ack.source, "error", error.name(), "first", ack.first, "last", ack.last,
                "kind", ack.kind)), null));
    }

    private void deliver(int member, List<Object> shown) {
        sent.add(new Message(member, Json.text(Json.fields("type", "ShareFetchResponse", "source", LEADER,
                "destination", member, "leaderEpoch", leaderEpoch, "records", shown)), null));
    }

    // --- The row

    private String phase() {
        return partition == null ? "Empty"
                : partition.partitionState() == SharePartition.SharePartitionState.ACTIVE ? "Active" : "Initializing";
    }

    private void tableOfFields() {
        fields.put("highWatermark", () -> highWatermark);
        fields.put("logStart", () -> logStart);
        fields.put("leaderEpoch", () -> leaderEpoch);
        fields.put("incarnation", () -> incarnation);
        fields.put("stateEpoch", () -> isActive() ? partition.stateEpoch() : 0);
        fields.put("phase", this::phase);
        fields.put("start", () -> isActive() ? partition.startOffset() : 1);
        fields.put("end", this::endOfFlight);
        fields.put("cells", () -> {
            List<Object> found = new ArrayList<>();
            for (int offset = 1; offset <= records; offset++) {
                found.add(form(isActive() ? cell(offset) : null));
            }
            return found;
        });
        fields.put("gap", () -> window() == null ? 0 : window().gapStartOffset());
        fields.put("gapEnd", () -> window() == null ? 0 : window().endOffset() + 1);
        fields.put("pending", () -> {
            Set<Object> found = new LinkedHashSet<>();
            writes.stream().filter(each -> each.ack != null).forEach(each -> found.add(Json.fields(
                    "source", each.ack.source, "first", each.ack.first, "last", each.ack.last,
                    "kind", each.ack.kind, "write", each.form)));
            return found;
        });
    }

    /** The first offset that is not in flight: Kafka has the last one that is, where there is one. */
    private long endOfFlight() {
        if (!isActive()) {
            return 1;
        }
        var last = partition.cachedState().lastEntry();
        boolean some = last != null && last.getValue().lastOffset() >= partition.startOffset();
        return some ? partition.endOffset() + 1 : partition.endOffset();
    }

    /** The window of gaps, as long as it counts. */
    private SharePartition.GapWindow window() {
        SharePartition.GapWindow found = isActive() ? partition.persisterReadResultGapWindow() : null;
        return found != null && found.endOffset() == partition.endOffset() ? found : null;
    }

    private InFlightState cell(int offset) {
        var floor = partition.cachedState().floorEntry((long) offset);
        InFlightBatch batch = floor == null || floor.getValue().lastOffset() < offset ? null : floor.getValue();
        if (batch == null) {
            return null;
        }
        return batch.offsetState() == null ? Mirror.get(batch, "batchState") : batch.offsetState().get((long) offset);
    }

    private static Map<String, Object> form(InFlightState cell) {
        if (cell == null) {
            return Json.fields("state", "None", "count", 0, "member", NOBODY, "moving", false, "previous", NOBODY,
                    "expired", false, "final", false);
        }
        Object rollback = Mirror.get(cell, "rollbackState");
        InFlightState previous = rollback == null ? null : Mirror.call(rollback, "state");
        AcquisitionLockTimerTask task = cell.acquisitionLockTimeoutTask();
        boolean done = Mirror.<Boolean>get(cell, "isTerminalState");
        return Json.fields("state", STATES.get(cell.state().name()), "count", cell.deliveryCount(),
                "member", member(cell.memberId()), "moving", rollback != null,
                "previous", previous == null ? NOBODY : member(previous.memberId()),
                "expired", task != null && task.hasExpired(), "final", done);
    }

    // --- A step

    /** Another step of the same call. */
    private void next(JsonNode input) {
        if (current != null) {
            made.add(line(current, read(), sent));
            sentBefore.addAll(sent);
            sent.clear();
            ignored = "";
        }
        current = input.toString();
    }

    @Override
    protected void settle(Runnable call) {
        asking = null;
        wrote = false;
        disabled = false;
        current = null;
        made.clear();
        sentBefore.clear();
        super.settle(call);
        persisters.work();
    }

    @Override
    protected List<String> lines(String input) {
        if (disabled) {
            return List.of();
        }
        made.add(line(current == null ? input : current, read(), sent));
        sent.addAll(sentBefore);
        return made;
    }

    @Override
    public void end() {
        writes.clear();
    }
}
