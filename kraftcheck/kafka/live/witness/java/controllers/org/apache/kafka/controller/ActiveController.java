package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.server.KafkaRaftServer;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;

import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.NotControllerException;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.BatchReader;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;

import java.util.AbstractMap.SimpleEntry;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * QuorumController over the quorum of the reference. A decision with records sets a config of all brokers to a
 * value that has the record's offset in it, so which records the state has can be read. Offset 0 has the metadata
 * version, and record n of the specification is at offset n.
 */
@SuppressWarnings("unchecked")
public final class ActiveController extends Node {
    private static final int LOG = 0;
    private static final int CLIENTS = -2;
    private static final ConfigResource DEFAULTS = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final String CHANGE = "incrementalAlterConfigs";
    private static final String CONFIG = "log.retention.ms";
    /** More than there are offsets: a value is the record's epoch times this, and its offset. */
    private static final long EPOCH = 1_000_000;
    private static final ControllerRequestContext CONTEXT =
            new ControllerRequestContext(new RequestHeaderData(), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());

    private final MockTime time = new MockTime(0, 1_000_000L, 1_000_000_000_000L);
    private final QuorumController controller;
    private final OffsetControlManager offsets;
    private RaftClient.Listener<ApiMessageAndVersion> listener;
    /** Where the leader's log ends. */
    private long next;
    private int asked;
    /** Of the last record that is committed, and of the last one with a decision. */
    private long committed;
    private int committedEpoch;
    private long decided;
    private int decidedEpoch;
    /** Of the last decision of this controller's own since it is active. */
    private long own;
    private final Map<Integer, Asked> waiting = new TreeMap<>();

    private record Asked(boolean writes, CompletableFuture<?> answer) { }

    public static List<Node> nodes(JsonNode constants) {
        List<Node> found = new ArrayList<>();
        int most = constants.get("maxOperations").asInt();
        constants.get("controllers").forEach(id -> found.add(new ActiveController(id.asInt(), most)));
        return found;
    }

    /** most: requests to it. */
    private ActiveController(int id, int most) {
        super(id);
        var features = new QuorumFeatures(id, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(id));
        try {
            controller = new QuorumController.Builder(id, "cluster").setTime(time).setRaftClient(raft())
                    .setQuorumFeatures(features).setConfigSchema(KafkaRaftServer.configSchema())
                    .setBootstrapMetadata(BootstrapMetadata.fromVersion(MetadataVersion.latestProduction(), "here"))
                    .setFatalFaultHandler(ActiveController::failed).setNonFatalFaultHandler(ActiveController::failed)
                    .build();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
        offsets = Mirror.get(controller, "offsetControl");
        commit(Batch.data(0, 0, 0, 1, List.of(message(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                .setFeatureLevel(MetadataVersion.latestProduction().featureLevel())))));
        inputs.put("WriteEvent", in -> asked == most ? null : () -> ask(in.get("writes").asBoolean()));
        inputs.put("BatchCommitted", in -> () -> committed(in.get("end").asLong(), in.get("epoch").asInt()));
        inputs.put("LeaderAndEpoch", in -> () -> leads(in));
        fields.put("epoch", this::epoch);
        fields.put("end", this::known);
        fields.put("last", () -> offsets.active() && own > committed ? epoch() : committedEpoch);
        fields.put("committed", () -> knows() ? committed : offsets.lastStableOffset());
        fields.put("committedEpoch", () -> knows() ? committedEpoch : offsets.lastCommittedEpoch());
        fields.put("asked", () -> asked);
        fields.put("deferred", this::deferred);
        begin();
    }

    private static RuntimeException failed(String message, Throwable cause) {
        throw new IllegalStateException(message, cause);
    }

    private static ApiMessageAndVersion message(ApiMessage record) {
        return new ApiMessageAndVersion(record, (short) 0);
    }

    // --- The quorum

    private RaftClient<ApiMessageAndVersion> raft() {
        return Mirror.standIn(RaftClient.class, (self, method, given) -> switch (method.getName()) {
            case "register" -> {
                listener = (RaftClient.Listener<ApiMessageAndVersion>) given[0];
                yield null;
            }
            case "prepareAppend" -> append((int) given[0], (List<?>) given[1]);
            case "logEndOffset" -> next;
            case "leaderAndEpoch" -> LeaderAndEpoch.UNKNOWN;
            case "kraftVersion" -> KRaftVersion.KRAFT_VERSION_0;
            case "nodeId" -> OptionalInt.of(id);
            case "highWatermark" -> OptionalLong.empty();
            case "hashCode" -> id;
            case "toString" -> "raft";
            default -> null;
        });
    }

    private long append(int epoch, List<?> records) {
        next += records.size();
        own = next - 1;
        sent.add(new Message(LOG, Json.text(Json.fields("type", "ScheduleAppend", "source", id, "destination", LOG,
                "epoch", epoch, "operation", asked, "end", own)), null));
        return own;
    }

    private void committed(long end, int epoch) {
        boolean begins = epoch > committedEpoch;
        committed = end;
        committedEpoch = epoch;
        if (begins) {
            // A controller does not read control records, which are made otherwise in other versions.
            commit(Batch.control(end, epoch, 0, 1, Collections.singletonList(null)));
        } else {
            decided = end;
            decidedEpoch = epoch;
            commit(Batch.data(end, epoch, 0, 1, List.of(message(new ConfigRecord().setName(CONFIG)
                    .setResourceType(DEFAULTS.type().id()).setResourceName("").setValue(value(epoch, end))))));
        }
    }

    private static String value(int epoch, long offset) {
        return Long.toString(epoch * EPOCH + offset);
    }

    private void commit(Batch<ApiMessageAndVersion> batch) {
        Iterator<Batch<ApiMessageAndVersion>> batches = List.of(batch).iterator();
        listener.handleCommit(Mirror.standIn(BatchReader.class, (self, method, given) -> switch (method.getName()) {
            case "hasNext" -> batches.hasNext();
            case "next" -> batches.next();
            case "baseOffset" -> batch.baseOffset();
            case "lastOffset" -> OptionalLong.of(batch.lastOffset());
            default -> null;
        }));
    }

    private void leads(JsonNode in) {
        int epoch = in.get("epoch").asInt();
        if (in.get("leader").asInt() == id) {
            own = 0;
            next = in.get("end").asLong() + 1;
            committed(next - 1, epoch);
            listener.handleLeaderChange(new LeaderAndEpoch(OptionalInt.of(id), epoch));
        } else {
            ignored = offsets.active() ? "" : "Standby";
            listener.handleLeaderChange(new LeaderAndEpoch(OptionalInt.empty(), epoch));
        }
    }

    // --- Clients

    private void ask(boolean writes) {
        int operation = ++asked;
        var changes = Map.of(DEFAULTS, Map.of(CONFIG, new SimpleEntry<>(OpType.SET, value(epoch(), next))));
        CompletableFuture<?> answer = Mirror.has(controller, CHANGE, 4)
                ? Mirror.call(controller, CHANGE, CONTEXT, changes, !writes, false)
                : Mirror.call(controller, CHANGE, CONTEXT, changes, !writes);
        waiting.put(operation, new Asked(writes, answer));
    }

    @Override
    protected void settle(Runnable call) {
        Map<Integer, Long> ends = ends();
        super.settle(call);
        List.copyOf(waiting.entrySet()).stream().filter(each -> each.getValue().answer.isDone()).forEach(each -> {
            waiting.remove(each.getKey());
            each.getValue().answer.whenComplete((response, error) -> answered(each.getKey(), each.getValue(), ends, error));
        });
    }

    private void answered(int operation, Asked of, Map<Integer, Long> ends, Throwable error) {
        if (error != null && !(error instanceof NotControllerException)) {
            thrown = error;
            return;
        }
        long end = ends.getOrDefault(operation, offsets.nextWriteOffset() - 1);
        sent.add(new Message(CLIENTS, Json.text(Json.fields("type", "ControllerResponse", "source", id,
                "destination", CLIENTS, "operation", operation, "writes", of.writes,
                "error", error == null ? "NONE" : "NOT_CONTROLLER", "epoch", error == null ? epoch() : 0,
                "end", error == null ? end : 0)), null));
    }

    // --- The row

    private int epoch() {
        return Math.max(controller.curClaimEpoch(), 0);
    }

    /** Whether Kafka has noted what is committed: of control records it notes nothing. */
    private boolean knows() {
        return offsets.lastStableOffset() == decided && offsets.lastCommittedEpoch() == decidedEpoch;
    }

    /** Of the records that the state has, by the config's value; control records are behind those before them. */
    private long known() {
        var found = controller.configurationControl().getConfigs(DEFAULTS).get(CONFIG);
        long last = found == null ? 0 : Long.parseLong(found) % EPOCH;
        if (last != Math.max(decided, offsets.active() ? own : 0)) {
            return last;
        }
        return offsets.active() ? offsets.nextWriteOffset() - 1 : committed;
    }

    private Map<Integer, Long> ends() {
        Map<Integer, Long> found = new TreeMap<>();
        Map<Long, List<Object>> pending = Mirror.get(Mirror.get(controller, "deferredEventQueue"), "pending");
        pending.forEach((end, events) -> events.forEach(event -> waiting.forEach((operation, each) -> {
            if (Mirror.get(event, "future") == each.answer) {
                found.put(operation, end);
            }
        })));
        return found;
    }

    private List<Object> deferred() {
        List<Object> found = new ArrayList<>();
        ends().forEach((operation, end) ->
                found.add(Json.fields("operation", operation, "writes", waiting.get(operation).writes, "end", end)));
        return found;
    }
}
