package kafka.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.server.ReplicaFetcherThread;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;
import kraftcheck.witness.Refusal;

import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.FetchRequestData.FetchPartition;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.controller.Controller;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.partition.PendingExpandIsr;
import org.apache.kafka.server.partition.PendingPartitionChange;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.server.replica.ReplicaState;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LeaderHwChange;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogReadInfo;
import scala.Option;
import scala.Some;

import java.io.File;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A broker, as far as it concerns one partition: its ReplicaManager with the partition, its log and
 * its fetchers, the metadata cache, what sends AlterPartition, and its life. Its time stands still.
 */
public final class Broker extends Node {
    public static final Uuid TOPIC_ID = new Uuid(7, 7);
    public static final TopicPartition TOPIC = new TopicPartition("t", 0);
    private static final int CLIENTS = -3;
    private static final int NOBODY = -1;
    private static final long UNDEFINED = -1;
    private static final long LAG_MS = 500_000;
    /** A produce request that waits for copies, as DelayedProduce does. */
    private record Waiting(JsonNode request, long offset, long required) {
        boolean deletes() {
            return request.get("type").asText().equals("DeleteRecordsRequest");
        }
    }

    /** A fetch that is on its way, and whose it is. */
    private record Fetch(int leader, String request, ReplicaFetcherThread thread) {}

    /** What is left of a process, on disk. corrupt: from where on it cannot be read; UNDEFINED: all can. */
    private record Disk(List<Object> log, long logStart, long flushed, long corrupt, List<Object> epochCache, long checkpoint) {}

    private final List<Integer> replicas;
    private final int minInSync;
    private final int fetchMaxRecords;
    private final File folder;
    private final MockTime time = new MockTime(0, 1_000_000L, 0);
    private final Image image;
    private final List<Waiting> parked = new ArrayList<>();
    private final List<Fetch> fetching = new ArrayList<>();
    private Replicas replicasHere;
    private Partition partition;
    private PartitionLog log;
    private Proposals proposals;
    private boolean mayComplete;
    private Life life;
    private long incarnation;
    private long flushed;
    private long end;
    /** Of a broker that is down; else null. */
    private Disk down;

    /** The brokers of a partition that begins, and its controller. */
    public static List<Node> nodes(JsonNode constants) {
        List<Node> nodes = new ArrayList<>(List.of(new Controller(TOPIC_ID, TOPIC, Image.ids(constants.get("replicas")), constants)));
        nodes.addAll(brokers(constants, null));
        return nodes;
    }

    /** The brokers alone. committed: the metadata log, by offset; null: they are told what its records say. */
    public static List<Broker> brokers(JsonNode constants, Map<Long, ApiMessage> committed) {
        List<Integer> replicas = Image.ids(constants.get("replicas"));
        return replicas.stream().map(id -> new Broker(id, replicas, constants, committed)).toList();
    }

    private Broker(int id, List<Integer> replicas, JsonNode constants, Map<Long, ApiMessage> committed) {
        super(id);
        this.replicas = replicas;
        minInSync = constants.get("minInsyncReplicas").asInt();
        fetchMaxRecords = constants.get("fetchMaxRecords").asInt();
        folder = new File(System.getProperty("witness.disks"), "" + id);
        image = new Image(id, replicas, committed);
        tableOfInputs();
        tableOfFields();
        start();
        life.begun(0);
        publish(image.all());
        begin();
    }

    /** A process, with what is on disk. */
    private void start() {
        proposals = new Proposals(id, time, () -> life.brokerEpoch());
        replicasHere = new Replicas(id, folder, minInSync, LAG_MS, image, proposals, time, () -> life.brokerEpoch(),
                () -> mayComplete = true);
        life = new Life(incarnation, replicasHere.logs.readBrokerEpochFromCleanShutdownFiles(), replicasHere.config,
                time, image::offset);
        partition = replicasHere.load(time);
        log = new PartitionLog(partition.localLogOrException());
        parked.clear();
        fetching.clear();
        end = log.kafka.logEndOffset();
        flushed = Math.min(flushed, end);
    }

    @Override
    public void end() {
        if (down == null) {
            replicasHere.drop(log);
        }
        PartitionLog.tried(() -> {
            Utils.delete(folder);
            return null;
        });
    }

    // --- Inputs

    private void tableOfInputs() {
        inputs.put("MetadataUpdate", in -> up(() -> publish(image.read(in))));
        inputs.put("ProduceRequest", in -> up(() -> produce(in)));
        inputs.put("ProduceTimeout", in -> waitsTooLong(in.get("request")));
        inputs.put("ReplicaFetchRequest", in -> up(() -> serve(in)));
        inputs.put("ConsumerFetchRequest", in -> up(() -> read(in)));
        inputs.put("ListOffsetsRequest", in -> up(() -> list(in)));
        inputs.put("DeleteRecordsRequest", in -> up(() -> delete(in)));
        inputs.put("ReplicaLagTimeout", in -> lags(in.get("replica").asInt()));
        inputs.put("IsrShrinkTimeout", in -> up(() -> partition.maybeShrinkIsr()));
        inputs.put("SendAlterPartition", in -> down == null && proposals.canSend() ? this::propose : null);
        inputs.put("AlterPartitionResponse", in -> up(() -> ignored = proposals.answered(in) ? "" : "NotAwaited"));
        inputs.put("ControllerRequestTimeout", in -> up(() -> {
            if (life.awaits(in.get("request"))) {
                life.timedOut();
            } else {
                proposals.lost(in.get("request"));
            }
        }));
        inputs.put("SendRegistration", in -> down == null && life.canSend(true) ? this::communicate : null);
        inputs.put("SendHeartbeat", in -> down == null && life.canSend(false) ? this::communicate : null);
        inputs.put("RegisterBrokerResponse", in -> up(() -> ignored = life.answered(in) ? "" : "NotAwaited"));
        inputs.put("HeartbeatResponse", in -> up(() -> heard(in)));
        inputs.put("ControlledShutdown", in -> up(this::shutDown));
        inputs.put("BrokerCrash", in -> up(() -> crash(in.get("keep").asInt(), in.get("corrupt").asLong())));
        inputs.put("BrokerFlush", in -> up(() -> {
            log.kafka.flush(true);
            flushed = log.kafka.recoveryPoint();
            replicasHere.logs.checkpointLogRecoveryOffsets();
        }));
        inputs.put("CheckpointHighWatermark", in -> up(() -> replicasHere.manager.checkpointHighWatermarks()));
        inputs.put("SendReplicaFetch", in -> down == null ? fetch(replicasHere.fetcher()) : null);
        inputs.put("ReplicaFetchResponse", in -> up(() -> fetched(in)));
        inputs.put("ReplicaFetchTimeout", in -> awaited(in.get("request")).<Runnable>map(one -> () -> over(one, null)).orElse(null));
        inputs.put("BrokerRestart", in -> down == null ? null : this::restart);
    }

    private Runnable up(Runnable call) {
        return down == null ? call : null;
    }

    @Override
    protected Runnable delivery(Message message) {
        JsonNode input = Json.read(message.text());
        return inputs.get(input.get("type").asText()).apply(input);
    }

    @Override
    protected boolean awaits(Message message) {
        return true;
    }

    private void publish(Image.Change change) {
        if (status().equals("Starting") || change.topics() == null) {
            return;  // BrokerServer publishes nothing before it has caught up
        }
        replicasHere.manager.applyDelta(change.topics(), change.image());
        partition = replicasHere.manager.getPartitionOrException(TOPIC);
    }

    /** A round of the fetcher's work, up to where it waits for an answer. */
    private Runnable fetch(ReplicaFetcherThread thread) {
        if (thread == null || Replicas.connection(thread).asked != null) {
            return null;
        }
        return () -> {
            thread.goOn();
            FetchRequest asked = Replicas.connection(thread).asked;
            if (asked != null) {
                FetchPartition of = asked.data().topics().get(0).partitions().get(0);
                String request = Json.text(Json.fields("type", "ReplicaFetchRequest", "source", asked.replicaId(),
                        "destination", thread.leader().brokerEndPoint().id(), "brokerEpoch", asked.replicaEpoch(),
                        "epoch", of.currentLeaderEpoch(), "fetchOffset", of.fetchOffset(),
                        "lastFetchedEpoch", of.lastFetchedEpoch(), "logStart", of.logStartOffset()));
                fetching.add(new Fetch(thread.leader().brokerEndPoint().id(), request, thread));
                sent.add(new Message(thread.leader().brokerEndPoint().id(), request, null));
            }
        };
    }

    private Optional<Fetch> awaited(JsonNode request) {
        return fetching.stream().filter(each -> Json.read(each.request).equals(request)).findFirst();
    }

    private void fetched(JsonNode in) {
        awaited(in.get("request")).ifPresentOrElse(
                one -> over(one, request -> request instanceof FetchRequest ? Forms.fetched(in)
                        : Forms.listed(in, (ListOffsetsRequest) request)),
                () -> ignored = "NotAwaited");
    }

    /** What the fetcher does with the answer, or without; none that has nothing to fetch there any more is left. */
    private void over(Fetch one, Function<AbstractRequest, AbstractResponse> answers) {
        fetching.remove(one);
        if (Replicas.connection(one.thread).asked != null) {
            Replicas.connection(one.thread).answers = answers;
            one.thread.goOn();
        }
    }

    // --- Its life

    private void communicate() {
        Map<String, Object> request = life.communicate();
        sent.add(new Message(((Number) request.get("destination")).intValue(), Json.text(request), null));
    }

    /** What BrokerServer does when its lifecycle manager says so: it begins to serve, or it ends. */
    private void heard(JsonNode in) {
        boolean starts = status().equals("Starting");
        ignored = life.answered(in) ? "" : "NotAwaited";
        if (starts && status().equals("Running")) {
            publish(image.all());
            life.readyToUnfence();
        }
        stopIfToldTo();
    }

    private void shutDown() {
        replicasHere.manager.beginControlledShutdown();
        life.beginControlledShutdown();
        stopIfToldTo();
    }

    private void stopIfToldTo() {
        if (life.state().equals("SHUTTING_DOWN")) {
            Disk last = disk();
            replicasHere.stop(life.brokerEpoch());
            gone(new Disk(last.log, last.logStart, replicasHere.recoveryPoint(), UNDEFINED, last.epochCache,
                    replicasHere.checkpointed().orElse(0L)));
        }
    }

    /** keep, corrupt: what is left of the log, and from where on it cannot be read. */
    private void crash(int keep, long corrupt) {
        Disk last = disk();
        replicasHere.drop(log);
        PartitionLog.damage(new File(folder, TOPIC.toString()), keep, corrupt);
        gone(new Disk(PartitionLog.left(last.log, keep, corrupt), last.logStart,
                keep < last.log.size() ? keep : last.flushed, corrupt, last.epochCache, last.checkpoint));
    }

    private Disk disk() {
        return new Disk(log.entries(), log.kafka.logStartOffset(), flushed(), UNDEFINED, log.epochCache(),
                replicasHere.checkpointed().orElse(0L));
    }

    /** Nothing is left but what is on disk; the rest of a row is that of a process that has done nothing. */
    private void gone(Disk left) {
        down = left;
        image.begin();
        proposals = new Proposals(id, time, () -> UNDEFINED);
        partition = replicasHere.untouched(time);
        parked.clear();
        fetching.clear();
    }

    private void restart() {
        incarnation++;
        flushed = down.flushed;
        down = null;
        start();
    }

    private String status() {
        return down != null ? "Down" : switch (life.state()) {
            case "NOT_RUNNING", "STARTING" -> "Starting";
            case "RECOVERY", "RUNNING" -> "Running";
            default -> "ShuttingDown";
        };
    }

    private void produce(JsonNode in) {
        int acks = in.get("acks").asInt();
        try {
            LogAppendInfo info = appended(PartitionLog.records(in), acks);
            // As ReplicaManager.addCompletePurgatoryAction: those that wait are asked if it has moved.
            mayComplete |= info.leaderHwChange() == LeaderHwChange.INCREASED;
            if (acks == 1) {
                produced(in, Errors.NONE, info.firstOffset());
            } else if (acks == -1) {
                parked.add(new Waiting(in, info.firstOffset(), info.lastOffset() + 1));
                mayComplete = true;
            }
        } catch (ApiException e) {
            if (acks == 0) {
                ignored = Errors.forException(e).name();
            } else {
                produced(in, Errors.forException(e), UNDEFINED);
            }
        }
    }

    /** Of transactions, which are not driven, and of their version, which 4.2 knows first, nothing is said. */
    private LogAppendInfo appended(Object records, int acks) {
        Object guard = partition.appendRecordsToLeader$default$5();
        String what = "appendRecordsToLeader";
        return Mirror.has(partition, what, 5)
                ? Mirror.call(partition, what, records, AppendOrigin.CLIENT, acks, RequestLocal.noCaching(), guard)
                : Mirror.call(partition, what, records, AppendOrigin.CLIENT, acks, RequestLocal.noCaching(), guard,
                        Mirror.call(partition, "appendRecordsToLeader$default$6"));
    }

    private Runnable waitsTooLong(JsonNode request) {
        List<Waiting> alike = parked.stream().filter(each -> each.request.equals(request)).toList();
        return alike.isEmpty() ? null : () -> {
            parked.removeAll(alike);
            alike.forEach(each -> answered(each, Errors.REQUEST_TIMED_OUT));
        };
    }

    private void serve(JsonNode in) {
        long before = log.kafka.highWatermark();
        int follower = in.get("source").asInt();
        FetchParams how = reader(follower, in.get("brokerEpoch").asLong(), FetchIsolation.LOG_END, Optional.empty());
        Map<String, Object> answer = answer("ReplicaFetchResponse", in);
        LogReadInfo found = null;
        Errors error = Errors.NONE;
        try {
            found = fetched(how, in, in.get("epoch"), in.get("lastFetchedEpoch").asInt());
        } catch (ApiException e) {
            error = Errors.forException(e);
        }
        answer.put("error", error.name());
        answer.put("records", found == null ? List.of()
                : log.entries(Mirror.<FetchDataInfo>get(found, "fetchedData").records, in.get("fetchOffset").asLong(), fetchMaxRecords));
        Optional<EpochEndOffset> diverging = found == null ? Optional.empty() : Mirror.get(found, "divergingEpoch");
        answer.put("diverging", Json.fields("epoch", diverging.map(d -> d.epoch()).orElse(NOBODY),
                "endOffset", diverging.map(d -> d.endOffset()).orElse(UNDEFINED)));
        answer.put("highWatermark", found == null ? (Object) before : Mirror.get(found, "highWatermark"));
        answer.put("logStart", found == null ? (Object) log.kafka.logStartOffset() : Mirror.get(found, "logStartOffset"));
        // A follower that is out of range asks for it.
        answer.put("endOffset", error == Errors.OFFSET_OUT_OF_RANGE ? log.kafka.logEndOffset() : UNDEFINED);
        send(follower, answer);
        // As Partition.updateFollowerFetchState, which asks the purgatory of deletions whether one waits.
        mayComplete |= parked.stream().anyMatch(Waiting::deletes);
    }

    private void read(JsonNode in) {
        Optional<ClientMetadata> client = in.get("fromFollower").asBoolean()
                ? Optional.of(new ClientMetadata.DefaultClientMetadata("", "", null, null, "")) : Optional.empty();
        FetchParams how = reader(FetchRequest.ORDINARY_CONSUMER_ID, UNDEFINED, FetchIsolation.HIGH_WATERMARK, client);
        Map<String, Object> answer = answer("ConsumerFetchResponse", in);
        LogReadInfo found = null;
        Errors error = Errors.NONE;
        try {
            found = fetched(how, in, in.get("epoch"), NOBODY);
        } catch (ApiException e) {
            error = Errors.forException(e);
        }
        answer.put("error", error.name());
        answer.put("records", found == null ? List.of()
                : log.entries(Mirror.<FetchDataInfo>get(found, "fetchedData").records, in.get("fetchOffset").asLong(), fetchMaxRecords));
        answer.put("highWatermark", found == null ? (Object) log.kafka.highWatermark() : Mirror.get(found, "highWatermark"));
        answer.put("logStart", found == null ? (Object) log.kafka.logStartOffset() : Mirror.get(found, "logStartOffset"));
        send(CLIENTS, answer);
    }

    /** Before 4.1 it has the version of the request first. */
    private static FetchParams reader(int id, long brokerEpoch, FetchIsolation until, Optional<ClientMetadata> client) {
        return Mirror.made(FetchParams.class, ApiKeys.FETCH.latestVersion(), id, brokerEpoch, 0L, 1, Integer.MAX_VALUE,
                until, client, false);
    }

    private LogReadInfo fetched(FetchParams how, JsonNode in, JsonNode epoch, int lastFetched) {
        return partition.fetchRecords(how, new FetchRequest.PartitionData(TOPIC_ID, in.get("fetchOffset").asLong(),
                in.path("logStart").asLong(0), Integer.MAX_VALUE, known(epoch.asInt()), known(lastFetched)), time.milliseconds(),
                Integer.MAX_VALUE, true, true);
    }

    private void list(JsonNode in) {
        boolean latest = in.get("timestamp").asText().equals("Latest");
        Map<String, Object> answer = answer("ListOffsetsResponse", in);
        try {
            var found = partition.fetchOffsetForTimestamp(
                    latest ? ListOffsetsRequest.LATEST_TIMESTAMP : ListOffsetsRequest.EARLIEST_TIMESTAMP,
                    new Some<>(IsolationLevel.READ_UNCOMMITTED), known(in.get("epoch").asInt()), true, Option.empty());
            answer.put("error", Errors.NONE.name());
            answer.put("offset", found.timestampAndOffsetOpt().orElseThrow().offset);
        } catch (ApiException e) {
            answer.put("error", Errors.forException(e).name());
            answer.put("offset", UNDEFINED);
        }
        send(CLIENTS, answer);
    }

    /** It waits, as DelayedDeleteRecords does, until all live replicas have deleted them. */
    private void delete(JsonNode in) {
        long offset = in.get("offset").asLong();
        Waiting waiting = new Waiting(in, offset, offset);
        try {
            partition.deleteRecordsOnLeader(offset);
            parked.add(waiting);
            mayComplete = true;
        } catch (ApiException e) {
            answered(waiting, Errors.forException(e));
        }
    }

    private void answered(Waiting waiting, Errors error) {
        long offset = error == Errors.NONE ? waiting.offset : UNDEFINED;
        if (!waiting.deletes()) {
            produced(waiting.request, error, offset);
            return;
        }
        Map<String, Object> answer = answer("DeleteRecordsResponse", waiting.request);
        answer.put("error", error.name());
        answer.put("offset", offset);
        send(CLIENTS, answer);
    }

    /** replica.lag.time.max.ms has passed since it was caught up last, and for nobody else. */
    private Runnable lags(int id) {
        Replica replica = down == null && leads() ? partition.getReplica(id).getOrElse(() -> null) : null;
        if (replica == null) {
            return null;
        }
        return () -> {
            ReplicaState s = replica.stateSnapshot();
            Mirror.call(Mirror.get(replica, "replicaState"), "set", Mirror.made(ReplicaState.class, s.logStartOffset(),
                    s.logEndOffsetMetadata(), s.lastFetchLeaderLogEndOffset(), s.lastFetchTimeMs(), 0L, s.brokerEpoch()));
        };
    }

    private void propose() {
        Map<String, Object> request = proposals.send();
        sent.add(new Message(((Number) request.get("destination")).intValue(), Json.text(request), null));
    }

    // --- A step

    @Override
    protected void settle(Runnable call) {
        mayComplete = false;
        try {
            call.run();
        } catch (Refusal e) {
            throw e;
        } catch (RuntimeException e) {
            thrown = e;
        }
        if (down == null && mayComplete) {
            for (Waiting each : List.copyOf(parked)) {
                boolean done;
                Errors error = Errors.NONE;
                if (each.deletes()) {
                    try {
                        done = partition.lowWatermarkIfLeader() >= each.required;
                    } catch (ApiException e) {
                        done = true;
                        error = Errors.forException(e);
                    }
                } else {
                    var reached = partition.checkEnoughReplicasReachOffset(each.required);
                    error = reached._2();
                    done = (Boolean) reached._1() || error != Errors.NONE;
                }
                if (done) {
                    parked.remove(each);
                    answered(each, error);
                }
            }
        }
    }

    @Override
    protected List<String> lines(String input) {
        return super.lines(input);
    }

    // --- The row

    private void tableOfFields() {
        fields.put("status", this::status);
        fields.put("incarnation", () -> incarnation);
        field("brokerEpoch", () -> life.brokerEpoch(), disk -> UNDEFINED);
        field("previousEpoch", () -> life.previousEpoch(), disk -> UNDEFINED);
        fields.put("cleanShutdown", () -> replicasHere.cleanShutdown());
        fields.put("image", image::form);
        field("controllerRequest", () -> life.inFlight(), disk -> Json.fields("type", "None"));
        fields.put("alterRequest", () -> proposals.inFlight());
        field("log", () -> log.entries(), Disk::log);
        field("logStart", () -> log.kafka.logStartOffset(), Disk::logStart);
        field("flushed", this::flushed, Disk::flushed);
        field("corrupt", () -> UNDEFINED, Disk::corrupt);
        field("epochCache", () -> log.epochCache(), Disk::epochCache);
        field("checkpoint", () -> replicasHere.checkpointed().orElse(0L), Disk::checkpoint);
        field("producers", () -> log.producers(), disk -> List.of());
        field("highWatermark", () -> log.kafka.highWatermark(), disk -> 0);
        fields.put("role", () -> knows() ? leads() ? "Leader" : "Follower" : "None");
        fields.put("leader", () -> knows() ? partition.leaderReplicaIdOpt().get() : NOBODY);
        fields.put("leaderEpoch", () -> knows() ? partition.getLeaderEpoch() : UNDEFINED);
        fields.put("partitionEpoch", () -> knows() ? partition.getPartitionEpoch() : UNDEFINED);
        fields.put("epochStart", () -> partition.leaderEpochStartOffsetOpt().getOrElse(() -> UNDEFINED));
        fields.put("isr", () -> new TreeSet<>(committed()));
        fields.put("pending", this::pending);
        fields.put("remotes", () -> byNumber(replicas, this::remote));
        fields.put("parked", () -> parked.stream().sorted(Comparator.comparing(Waiting::offset)
                .thenComparing(Waiting::required)).map(each -> Json.fields("request", each.request,
                "offset", each.offset, "required", each.required)).distinct().toList());
        field("lastFetchedEpoch", this::lastFetchedEpoch, disk -> NOBODY);
        fields.put("fetching", () -> fetching.stream().sorted(Comparator.comparing(Fetch::leader))
                .map(each -> Json.raw(each.request)).toList());
    }

    /** A field that is read elsewhere while the broker is down. */
    private void field(String name, Supplier<Object> value, Function<Disk, Object> left) {
        fields.put(name, () -> down == null ? value.get() : left.apply(down));
    }

    /**
     * The recovery point, but where it is only that the log begins there, behind what has been deleted;
     * and nothing is left to be flushed of a log that was begun anew, or of what a crash has left.
     */
    private long flushed() {
        long point = log.kafka.recoveryPoint(), start = log.kafka.logStartOffset(), before = end;
        end = log.kafka.logEndOffset();
        flushed = start > before ? start : Math.max(Math.min(flushed, end), point == start ? 0 : point);
        return flushed;
    }

    /** Of a fetcher; who fetches from nobody has none, and will begin with what the log has. */
    private int lastFetchedEpoch() {
        if (leads()) {
            return NOBODY;
        }
        Optional<Integer> known = knows() ? replicasHere.fetchState()
                .map(state -> Forms.<Integer>optional(Mirror.call(state, "lastFetchedEpoch"))).orElseGet(log::latestEpoch)
                : Optional.empty();
        return known.orElse(NOBODY);
    }

    private boolean knows() {
        return partition.leaderReplicaIdOpt().isDefined();
    }

    private boolean leads() {
        return partition.isLeader();
    }

    private java.util.Set<Integer> committed() {
        return Forms.set(Mirror.call(partition.partitionState(), "isr"));
    }

    private Map<String, Object> pending() {
        if (!(partition.partitionState() instanceof PendingPartitionChange change)) {
            return Json.fields("kind", "None", "isr", List.of(), "refused", false);
        }
        return Json.fields("kind", change instanceof PendingExpandIsr ? "Expand" : "Shrink",
                "isr", Proposals.members(change.sentLeaderAndIsr().isrWithBrokerEpoch()), "refused", !proposals.has());
    }

    private Object remote(int id) {
        ReplicaState known = leads() ? partition.getReplica(id).map(Replica::stateSnapshot).getOrElse(() -> null) : null;
        if (known == null) {
            return Json.fields("endOffset", UNDEFINED, "brokerEpoch", UNDEFINED, "caughtUp", false, "logStart", 0);
        }
        return Json.fields("endOffset", known.logEndOffset(), "brokerEpoch", Forms.<Long>optional(known.brokerEpoch()).orElse(UNDEFINED),
                "caughtUp", time.milliseconds() - known.lastCaughtUpTimeMs() <= LAG_MS,
                "logStart", Math.max(0, known.logStartOffset()));
    }

    private static Optional<Integer> known(int epoch) {
        return epoch == NOBODY ? Optional.empty() : Optional.of(epoch);
    }

    // --- Messages

    private Map<String, Object> answer(String type, JsonNode request) {
        return Json.fields("type", type, "source", id, "destination", request.get("source"), "request", request);
    }

    private void produced(JsonNode request, Errors error, long offset) {
        Map<String, Object> answer = answer("ProduceResponse", request);
        answer.put("error", error.name());
        answer.put("offset", offset);
        send(CLIENTS, answer);
    }

    private void send(int destination, Map<String, Object> form) {
        sent.add(new Message(destination, Json.text(form), null));
    }
}
