package kafka.coordinator.transaction;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;
import kraftcheck.witness.Refusal;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData.AddPartitionsToTxnResult;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TxnTransitMetadata;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import scala.Option;
import scala.runtime.BoxedUnit;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * The transaction log with the coordinators that lead it, by leader epoch: the node of that name in
 * specs/transactions/steps. Each is a broker of its own, over one log and one image of metadata.
 */
public final class Coordinators extends Node implements Coordinator.Host {
    private static final int COORDINATOR = 0;
    private static final int UNKNOWN = -1;
    /** Of a request that a partition's leader makes. */
    private static final int NO_CLIENT = 0;
    /** The first of the producer ids; their epochs are counted on, from one id to the next. */
    private static final long FIRST_ID = 1000;
    private static final Map<String, Object> NOBODY = Json.fields("type", "None");
    private static final Map<String, Object> NOTHING_PENDING = pending("None", UNKNOWN, List.of(), false, NOBODY);
    private static final Set<String> REQUESTS =
            Set.of("InitProducerId", "BumpEpoch", "AddPartitions", "Verify", "EndTxn");
    private static final Set<Errors> NOT_ITS = Set.of(Errors.NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS);
    /** What ends the use of a producer, for those that note it. */
    private static final Set<Errors> FATAL = Set.of(Errors.PRODUCER_FENCED, Errors.INVALID_TXN_STATE);
    /** After these a producer asks again, that hears all others (`Retriable` of the specification). */
    private static final Set<Errors> RETRIABLE = Set.of(
            Errors.CONCURRENT_TRANSACTIONS, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.COORDINATOR_NOT_AVAILABLE,
            Errors.NOT_COORDINATOR, Errors.NOT_ENOUGH_REPLICAS, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.REQUEST_TIMED_OUT,
            Errors.NETWORK_EXCEPTION, Errors.KAFKA_STORAGE_ERROR);

    private final List<Integer> partitions;
    private final int most;
    private final long epochsOfId;
    /** So many epochs of each producer id are passed over, behind the first: runs come to its end. */
    private final long skipped;
    private final boolean hears;
    /** Whether producers hear every error. */
    private final boolean recovers;
    private final TransactionVersion cluster;
    private final TransactionVersion client;
    private final MockTime time = new MockTime(0, 1_000_000, 0);
    private final Image image;
    private final TailLog log;
    private final List<Coordinator> coordinators = new ArrayList<>();
    private final Map<String, Object> first;

    // Of the step that is taken.
    private JsonNode input;
    private String taken;
    private final List<String> before = new ArrayList<>();
    /** How much of what was sent is in lines. */
    private int told;
    /** What a request was refused with. */
    private Errors refused;
    /** It came to one that does not have the log: if nothing comes of it, it is no step. */
    private boolean disabled;
    /** The row as it was told last. */
    private String last = "";

    public static List<Node> nodes(JsonNode constants) {
        return List.of(new Coordinators(constants));
    }

    private Coordinators(JsonNode constants) {
        super(COORDINATOR);
        List<Integer> all = new ArrayList<>();
        constants.get("partitions").forEach(each -> all.add(each.asInt()));
        partitions = all;
        most = constants.get("maxCoordinators").asInt();
        epochsOfId = constants.get("maxEpoch").asLong() + 2;
        skipped = Short.MAX_VALUE + 1 - epochsOfId;
        hears = constants.get("hearsErrors").asBoolean();
        recovers = constants.get("recovers").asBoolean();
        int version = constants.get("version").asInt();
        cluster = TransactionVersion.fromFeatureLevel((short) version);
        client = version == 2 ? TransactionVersion.TV_2 : TransactionVersion.TV_0;
        image = new Image(partitions, cluster);
        TransactionMetadata row =
                Row.empty(Coordinator.ID, FIRST_ID, Coordinator.TIMEOUT, time.milliseconds(), client);
        log = new TailLog(each -> epoch(each.producerId(), each.producerEpoch()),
                TailLog.records(Coordinator.ID, row.prepareNoTransit(), cluster));
        first = txn(row, List.of());
        lead();
        current().load();
        tableOfInputs();
        fields.put("coordinators", () -> {
            List<Object> found = new ArrayList<>();
            for (int n = 1; n <= most; n++) {
                found.add(n <= coordinators.size() ? form(coordinators.get(n - 1)) : nobody(n));
            }
            return found;
        });
        fields.put("leaderEpoch", coordinators::size);
        fields.put("log", log::form);
        fields.put("leaderless", image::leaderless);
        begin();
    }

    private void lead() {
        coordinators.add(new Coordinator(coordinators.size() + 1, log, image, time,
                (row, made) -> (row == null ? id(made.epoch()) : row.producerId()) + 1, this));
    }

    private Coordinator current() {
        return coordinators.get(coordinators.size() - 1);
    }

    // --- Inputs

    private void tableOfInputs() {
        inputs.put("InitProducerId", in -> initialized(in, Option.empty(),
                epoch -> tell("Initialized", in, "epoch", epoch)));
        inputs.put("BumpEpoch", in -> initialized(in, Option.apply(new ProducerIdAndEpoch(id(in), epoch(in))),
                epoch -> tell("Bumped", in, "was", in.get("epoch").asLong(), "epoch", epoch)));
        inputs.put("AddPartitions", in -> asked(in, behind(in), c -> c.add(
                id(in), epoch(in), partition(in), client, error -> answer(in, error, () -> {
                    if (client == TransactionVersion.TV_2) {
                        tell("Allowed", in, "epoch", in.get("epoch").asLong());
                    } else {
                        tell("PartitionAdded", in, "partition", in.get("partition").asInt());
                    }
                }))));
        inputs.put("Verify", in -> asked(in, behind(in), c -> c.verify(
                id(in), epoch(in), partition(in), result -> answer(in, heard(result),
                        () -> tell("Allowed", in, "epoch", in.get("epoch").asLong())))));
        inputs.put("EndTxn", in -> asked(in, current(), c -> c.kafka.handleEndTransaction(
                Coordinator.ID, id(in), epoch(in),
                in.get("decision").asText().equals("Commit") ? TransactionResult.COMMIT : TransactionResult.ABORT,
                client, (error, id, epoch) -> answer(in, error, () -> tell("Ended", in, "txn", in.get("txn").asInt(),
                        "epoch", (long) id < 0 ? in.get("epoch").asLong() : epoch((long) id, (short) epoch))),
                RequestLocal.noCaching())));
        inputs.put("TransactionTimeout", in -> {
            Coordinator c = current();
            return !c.isActive() ? null : () -> {
                time.sleep(Coordinator.TIMEOUT + 1);
                c.fencing(() -> c.kafka.abortTimedOutTransactions(each -> (error, id, epoch) -> BoxedUnit.UNIT));
            };
        });
        inputs.put("Expire", in -> Row.isGone(current().row()) ? null : () -> {
            time.sleep(Coordinator.EXPIRY);
            // Who is not old enough, or has something under way, is passed over.
            disabled = true;
            current().expire();
        });
        inputs.put("Fence", in -> current().fences.isEmpty() ? null : () -> current().fences.pop().goOn());
        inputs.put("Acknowledged", in -> current().waiting() == null ? null : () -> {
            log.commit();
            current().acknowledged(Errors.NONE);
            send(current());
        });
        inputs.put("AppendTimeout", in -> current().waiting() == null ? null
                : () -> current().acknowledged(Errors.REQUEST_TIMED_OUT));
        inputs.put("MarkersAgain", in -> current().row() == null || toMark(current()).isEmpty() ? null : () -> {
            current().disconnected();
            send(current());
        });
        inputs.put("MarkersDone", in -> () -> send(current()));
        inputs.put("MarkerReply", this::marked);
        inputs.put("Elect", this::elect);
        inputs.put("Loaded", in -> !current().loads() ? null : () -> {
            current().load();
            send(current());
        });
        inputs.put("LoseLeader", in -> !image.hasLeader(in.get("partition").asInt()) ? null
                : () -> image.lead(in.get("partition").asInt(), false));
        inputs.put("FindLeader", in -> image.hasLeader(in.get("partition").asInt()) ? null
                : () -> image.lead(in.get("partition").asInt(), true));
        inputs.replaceAll((type, call) -> in -> {
            coordinators.forEach(this::skip);
            Runnable made = call.apply(in);
            return made == null ? null : () -> {
                input = in;
                taken = in.toString();
                made.run();
            };
        });
    }

    private interface Asking {
        void of(Coordinator coordinator);
    }

    private Runnable initialized(JsonNode in, Option<ProducerIdAndEpoch> named, LongConsumer told) {
        return asked(in, current(), c -> c.fencing(() -> c.initialize(named,
                said -> answer(in, Mirror.call(said, "error"), () -> told.accept(
                        epoch(Mirror.call(said, "producerId"), Mirror.<Short>call(said, "producerEpoch")))))));
    }

    /** As KafkaApis does: what is thrown is answered. */
    private Runnable asked(JsonNode in, Coordinator c, Asking what) {
        return c == null ? null : () -> {
            boolean leads = c.isActive();
            try {
                what.of(c);
            } catch (RuntimeException e) {
                answer(in, Errors.forException(e), null);
            }
            disabled = !leads && NOT_ITS.contains(refused);
        };
    }

    /** The coordinator that a request comes to, if there was one. */
    private Coordinator behind(JsonNode in) {
        int at = coordinators.size() - in.get("behind").asInt();
        return at < 1 ? null : coordinators.get(at - 1);
    }

    private Runnable marked(JsonNode in) {
        JsonNode said = in.get("marker");
        int n = said.get("coordinatorEpoch").asInt();
        if (n > coordinators.size()) {
            return null;
        }
        Coordinator c = coordinators.get(n - 1);
        for (Coordinator.Marker each : c.sent) {
            if (form(each).equals(said)) {
                return () -> {
                    disabled = !c.isActive();
                    c.answered(each, Errors.NONE);
                };
            }
        }
        return null;
    }

    private Runnable elect(JsonNode in) {
        return coordinators.size() == most ? null : () -> {
            if (!log.elect(in.get("tail"))) {
                throw new Refusal("no replica's log ends so");
            }
            current().resign(coordinators.size() + 1);
            lead();
        };
    }

    private static TopicPartition partition(JsonNode in) {
        return new TopicPartition(Image.TOPIC, in.get("partition").asInt());
    }

    private long id(JsonNode in) {
        return id(in.get("epoch").asLong());
    }

    private long id(long epoch) {
        return FIRST_ID + epoch / epochsOfId;
    }

    private short epoch(JsonNode in) {
        long of = in.get("epoch").asLong() % epochsOfId;
        TransactionMetadata row = current().row();
        boolean begins = row != null && row.producerId() == id(in) && row.producerEpoch() < skipped;
        return (short) (begins ? of : of + skipped);
    }

    private long epoch(long id, short epoch) {
        return (id - FIRST_ID) * epochsOfId + (epoch < skipped ? epoch : epoch - skipped);
    }

    /**
     * Passes over the epochs of an id that is new, when nothing is under way. Not while it is at the first one and
     * Kafka knows the id before: by that number it tells who asks again for the end that has begun this id.
     */
    private void skip(Coordinator c) {
        TransactionMetadata row = c.row();
        if (Row.isGone(row) || row.producerEpoch() >= skipped || Row.pending(row) != null
                || row.producerEpoch() == 0 && knowsTheIdBefore(row)) {
            return;
        }
        short last = Mirror.<Short>call(row, "lastProducerEpoch");
        Mirror.call(row, "setProducerEpoch", (short) (row.producerEpoch() + skipped));
        if (last >= 0 && last < skipped) {
            Mirror.call(row, "setLastProducerEpoch", (short) (last + skipped));
        }
    }

    // --- What is sent

    private BoxedUnit answer(JsonNode request, Errors error, Runnable told) {
        boolean isOfPartition = !request.has("client") || request.get("client").asInt() == NO_CLIENT;
        if (error == Errors.NONE) {
            told.run();
        } else if (recovers && !RETRIABLE.contains(error) && isOfPartition) {
            tell("NotAllowed", request, "epoch", request.get("epoch").asLong(), "error", error.name());
        } else if (recovers && !RETRIABLE.contains(error)) {
            tell("Refused", request, "request", request, "error", error.name());
        } else if (!recovers && hears && request.get("type").asText().equals("EndTxn") && FATAL.contains(error)) {
            tell("EndRefused", request, "txn", request.get("txn").asInt(), "error", error.name());
        } else {
            refused = error;
        }
        return BoxedUnit.UNIT;
    }

    /** As the partition's leader hears it (AddPartitionsToTxnManager). */
    private static Errors heard(AddPartitionsToTxnResult result) {
        Errors error = Errors.forCode(result.topicResults().iterator().next().resultsByPartition().iterator().next()
                .partitionErrorCode());
        return error == Errors.PRODUCER_FENCED ? Errors.INVALID_PRODUCER_EPOCH : error;
    }

    private void tell(String type, JsonNode request, Object... content) {
        int to = request.get("source").asInt();
        Map<String, Object> said = Json.fields("type", type, "source", COORDINATOR, "destination", to);
        said.putAll(Json.fields(content));
        sent.add(new Message(to, Json.text(said), null));
    }

    private void send(Coordinator c) {
        c.poll().forEach(each -> sent.add(new Message(each.partition(), form(each).toString(), null)));
    }

    private JsonNode form(Coordinator.Marker marker) {
        var entry = marker.entry();
        return Json.read(Json.text(Json.fields("type", "WriteTxnMarkers", "source", COORDINATOR,
                "destination", marker.partition(), "partition", marker.partition(),
                "epoch", epoch(entry.producerId(), entry.producerEpoch()),
                "decision", entry.transactionResult() == TransactionResult.COMMIT ? "Commit" : "Abort",
                "coordinatorEpoch", entry.coordinatorEpoch())));
    }

    // --- A step

    @Override
    public String request() {
        return REQUESTS.contains(input.get("type").asText()) ? taken : null;
    }

    /** Kafka writes the completion in the step of the last marker; in the specification that is one more. */
    @Override
    public void completes() {
        if (!input.get("type").asText().equals("MarkersDone")) {
            close();
            input = Json.read("{\"type\":\"MarkersDone\"}");
            taken = input.toString();
        }
    }

    /** The line of what has happened so far. */
    private void close() {
        List<Message> own = sent.subList(told, sent.size());
        Map<String, Object> after = read();
        String row = Json.text(after);
        ignored = refused != null && own.isEmpty() && row.equals(last) ? refused.name() : "";
        before.add(line(taken, after, own));
        last = row;
        told = sent.size();
        refused = null;
    }

    @Override
    protected void settle(Runnable call) {
        before.clear();
        told = 0;
        refused = null;
        disabled = false;
        if (last.isEmpty()) {
            last = Json.text(read());
        }
        try {
            call.run();
        } catch (RuntimeException e) {
            if (e instanceof Refusal) {
                throw e;
            }
            thrown = e;
        }
    }

    @Override
    protected List<String> lines(String text) {
        if (!disabled || sent.size() > told || !Json.text(read()).equals(last)) {
            close();
        }
        return List.copyOf(before);
    }

    @Override
    public void end() {
        coordinators.forEach(Coordinator::end);
    }

    // --- The row

    private static Map<String, Object> pending(
            String state, long epoch, List<Integer> partitions, boolean logged, Object request) {
        return Json.fields("state", state, "epoch", epoch, "partitions", partitions, "logged", logged,
                "request", request);
    }

    private Map<String, Object> txn(TransactionMetadata row, List<Integer> of) {
        return Json.fields("state", Row.state(row),
                "epoch", epoch(row.producerId(), row.producerEpoch()), "partitions", of);
    }

    private Map<String, Object> nobody(int n) {
        return Json.fields("active", false, "coordinatorEpoch", n, "txn", first,
                "pending", NOTHING_PENDING, "toMark", List.of(), "lastEpoch", UNKNOWN,
                "listed", UNKNOWN);
    }

    private Map<String, Object> form(Coordinator c) {
        if (!c.isActive()) {
            return nobody(c.epoch);
        }
        TransactionMetadata row = c.row();
        return Json.fields("active", true, "coordinatorEpoch", c.epoch, "txn", txnOf(c, row),
                "pending", pendingOf(c, row), "toMark", toMark(c), "lastEpoch", lastEpoch(row),
                // A sweep of Kafka lists and aborts in one call.
                "listed", UNKNOWN);
    }

    /** Kafka has no row of an id that was forgotten, or one without an epoch until it is back. */
    private Map<String, Object> txnOf(Coordinator c, TransactionMetadata row) {
        if (Row.isGone(row)) {
            return Json.fields("state", Row.DEAD, "epoch", c.made().epoch(), "partitions", List.of());
        }
        return txn(row, c.isMarking() ? c.made().partitions() : Row.partitions(row));
    }

    /** Kafka notes it of every end of version 2 as well, where nobody asks for epochs. */
    private long lastEpoch(TransactionMetadata row) {
        boolean asks = recovers && client != TransactionVersion.TV_2;
        short last = Row.isGone(row) ? UNKNOWN : Mirror.<Short>call(row, "lastProducerEpoch");
        if (!asks || last < 0) {
            return UNKNOWN;
        }
        if (last <= row.producerEpoch()) {
            return epoch(row.producerId(), last);
        }
        return knowsTheIdBefore(row) ? epoch(row.producerId() - 1, last) : UNKNOWN;
    }

    /** Until the next transition. */
    private static boolean knowsTheIdBefore(TransactionMetadata row) {
        long before = Mirror.<Long>call(row, "prevProducerId");
        return before >= FIRST_ID && before != row.producerId();
    }

    private static List<Integer> toMark(Coordinator c) {
        return c.isMarking() ? Row.partitions(c.row()) : List.of();
    }

    private Map<String, Object> pendingOf(Coordinator c, TransactionMetadata row) {
        String state = row == null ? null : Row.pending(row);
        if (state == null) {
            return NOTHING_PENDING;
        }
        if (state.equals(Row.FENCE)) {
            return pending(state, UNKNOWN, List.of(), false, NOBODY);
        }
        if (c.waiting() != null) {
            var entry = c.waiting().entry();
            return pending(state, entry.epoch(), entry.partitions(), true,
                    c.waiting().request() == null ? NOBODY : Json.raw(c.waiting().request()));
        }
        TxnTransitMetadata next = c.completion();
        return next == null ? pending(state, UNKNOWN, List.of(), false, NOBODY)
                : pending(state, epoch(next.producerId(), next.producerEpoch()),
                        Row.partitions(next), false, NOBODY);
    }
}
