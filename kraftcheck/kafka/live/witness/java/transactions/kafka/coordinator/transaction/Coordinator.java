package kafka.coordinator.transaction;

// Explicit, since they are in another package since 4.4.
import kafka.coordinator.transaction.CoordinatorEpochAndTxnMetadata;
import kafka.coordinator.transaction.TransactionConfig;
import kafka.coordinator.transaction.TxnMetadataCacheEntry;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import kraftcheck.witness.Mirror;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData.AddPartitionsToTxnResult;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest.TxnMarkerEntry;
import org.apache.kafka.common.requests.WriteTxnMarkersResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TxnTransitMetadata;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;

import org.apache.kafka.server.util.RequestAndCompletionHandler;
import org.apache.kafka.server.util.Scheduler;
import scala.Function1;
import scala.Option;
import scala.Some;
import scala.runtime.BoxedUnit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/**
 * A broker while it leads the transaction log: Kafka's TransactionCoordinator, its
 * TransactionStateManager and its TransactionMarkerChannelManager. What they would give to threads, to
 * the network and to the log waits until the schedule says so.
 */
final class Coordinator {
    static final String ID = "id";
    static final int TIMEOUT = 60_000;
    /** After which an id that nobody uses is forgotten. */
    static final int EXPIRY = 604_800_000;
    /** Of the one partition that the transaction log has here. */
    private static final int LOG = 0;
    private static final KafkaConfig CONFIG = config();

    /** An append that nobody has acknowledged. request: that waits for it, as it came; null: none does. */
    record Waiting(TailLog.Entry entry, String request, Consumer<Errors> told) {}

    /** A marker on its way. */
    record Marker(TxnMarkerEntry entry, int partition, RequestAndCompletionHandler request) {}

    /** What the host is told of, as it happens. */
    interface Host {
        /** Which input is being taken: of requests and only of those, its text. */
        String request();

        /** A completion is about to be written. */
        void completes();
    }

    /** What gives out producer ids. made: of what the row was made, or would be if there were one. */
    interface Ids {
        long next(TransactionMetadata row, TailLog.Entry made);
    }

    final int epoch;
    final TransactionCoordinator kafka;
    /** Markers that nobody has answered. */
    final List<Marker> sent = new ArrayList<>();
    /** Calls that stand between the two locks of a fence, the latest first. */
    final Deque<Call> fences = new ArrayDeque<>();
    private final Rows rows;
    private final Markers markers;
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private final TailLog log;
    private final Host host;
    private Waiting waiting;
    /** The record that the row was made of last: partitions with a marker leave the row, and not the record. */
    private TailLog.Entry made;
    private Call running;

    Coordinator(int epoch, TailLog log, Image image, MockTime time, Ids ids, Host host) {
        this.epoch = epoch;
        this.log = log;
        this.host = host;
        TransactionConfig config = Mirror.made(TransactionConfig.class,
                EXPIRY, 900_000, 1, (short) 1, 1 << 20, 1 << 20, 1, 10_000, 3_600_000, false, 30_000);
        Scheduler later = new Scheduler() {
            @Override
            public void startup() { }

            @Override
            public void shutdown() { }

            @Override
            public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
                if (period < 0) {
                    tasks.add(task);
                }
                return null;
            }

            @Override
            public void resizeThreadPool(int size) { }
        };
        rows = new Rows(config, later, Replicas.of(log, this::append), image, time);
        markers = new Markers(image, rows, time);
        kafka = new TransactionCoordinator(
                config, later, () -> () -> ids.next(row(), made), rows, markers, time, new LogContext());
        kafka.startup(() -> 1, false);
        kafka.onElection(LOG, epoch);
    }

    /** Kafka's, with two places where the host looks in. */
    final class Rows extends TransactionStateManager {
        Rows(TransactionConfig config, Scheduler later, ReplicaManager replicas, Image image, MockTime time) {
            super(1, later, replicas, image.cache, config, time, new Metrics());
        }

        /** Between the two locks of a fence nothing is locked, and anything may come. */
        @Override
        public scala.util.Either<Errors, Option<CoordinatorEpochAndTxnMetadata>> getTransactionState(String id) {
            if (running != null && Thread.currentThread() == running && isFencing()) {
                Call self = running;
                running = null;
                fences.push(self);
                self.standStill();
            }
            return super.getTransactionState(id);
        }

        @Override
        public void appendTransactionToLog(
                String id, int of, TxnTransitMetadata next, Function1<Errors, BoxedUnit> told,
                Function1<Errors, Object> again, RequestLocal local) {
            if (Row.COMPLETED.contains(Row.name(next.txnState()))) {
                host.completes();
            }
            super.appendTransactionToLog(id, of, next, told, again, local);
        }
    }

    /** Kafka's, without a thread. */
    final class Markers extends TransactionMarkerChannelManager {
        /** What the row will be when all markers are written. */
        private TxnTransitMetadata next;

        Markers(Image image, Rows rows, MockTime time) {
            super(CONFIG, image.cache, null, rows, time);
        }

        @Override
        public void start() { }

        @Override
        public void wakeup() { }

        @Override
        public void addTxnMarkersToSend(
                int of, TransactionResult result, TransactionMetadata row, TxnTransitMetadata next) {
            this.next = next;
            super.addTxnMarkersToSend(of, result, row, next);
        }
    }

    private static KafkaConfig config() {
        Properties said = new Properties();
        said.putAll(Map.of("process.roles", "broker", "node.id", "1", "controller.listener.names", "CONTROLLER",
                "controller.quorum.bootstrap.servers", "localhost:1", "listeners", Image.LISTENER + "://localhost:1"));
        return KafkaConfig.fromProps(said);
    }

    // --- What Kafka asks for

    private void append(MemoryRecords records, Consumer<Errors> told) {
        waiting = new Waiting(log.append(records, epoch, row()), host.request(), told);
    }

    private boolean isFencing() {
        TransactionMetadata row = row();
        return row != null && Row.FENCE.equals(Row.pending(row));
    }

    /** A call that may begin a fence; another's may have begun. */
    void fencing(Runnable what) {
        if (isFencing()) {
            what.run();
            return;
        }
        running = new Call(what);
        try {
            running.goOn();
        } finally {
            running = null;
        }
    }

    // --- Requests whose arguments differ from version to version

    /** named: the id and the epoch that the producer has, if it says so (KIP-360). */
    void initialize(Option<ProducerIdAndEpoch> named, Function1<Object, BoxedUnit> told) {
        // Since 4.1 with two words on two-phase commits.
        boolean says = Mirror.has(kafka, "handleInitProducerId", 7);
        List<Object> in = new ArrayList<>(List.of(ID, TIMEOUT));
        in.addAll(says ? List.of(false, false) : List.of());
        in.addAll(List.of(named, told, RequestLocal.noCaching()));
        Mirror.call(kafka, "handleInitProducerId", in.toArray());
    }

    void add(long id, short epoch, TopicPartition partition, TransactionVersion client,
            Function1<Errors, BoxedUnit> told) {
        Mirror.call(kafka, "handleAddPartitionsToTransaction", ID, id, epoch, Row.set(partition), told, client,
                RequestLocal.noCaching());
    }

    void verify(long id, short epoch, TopicPartition partition,
            Function1<AddPartitionsToTxnResult, BoxedUnit> told) {
        Mirror.call(kafka, "handleVerifyPartitionsInTransaction", ID, id, epoch, Row.set(partition), told);
    }

    /** Ids that nobody has used for long are forgotten. */
    void expire() {
        Mirror.call(rows, "removeExpiredTransactionalIds");
    }

    /** The markers that the sender's thread would send now; completions that it writes again are written. */
    List<Marker> poll() {
        List<Marker> found = new ArrayList<>();
        for (RequestAndCompletionHandler each : markers.generateRequests()) {
            WriteTxnMarkersRequest request = (WriteTxnMarkersRequest) each.request.build();
            List<TxnMarkerEntry> entries = request.markers();
            if (entries.size() != 1 || entries.get(0).partitions().size() != 1) {
                throw new AssertionError("a broker has one partition: " + request);
            }
            found.add(new Marker(entries.get(0), entries.get(0).partitions().get(0).partition(), each));
        }
        sent.addAll(found);
        return found;
    }

    // --- What it is told

    Waiting waiting() {
        return waiting;
    }

    void acknowledged(Errors error) {
        Waiting of = waiting;
        waiting = null;
        if (error == Errors.NONE) {
            made = of.entry;
        }
        of.told.accept(error);
    }

    void load() {
        made = log.last();
        tasks.remove().run();
    }

    boolean loads() {
        return !tasks.isEmpty();
    }

    void answered(Marker marker, Errors error) {
        sent.remove(marker);
        complete(marker, false, new WriteTxnMarkersResponse(Map.of(marker.entry.producerId(),
                Map.of(new TopicPartition(Image.TOPIC, marker.partition), error))));
    }

    /** Nobody answers what is on its way. */
    void disconnected() {
        List<Marker> lost = List.copyOf(sent);
        sent.clear();
        lost.forEach(each -> complete(each, true, null));
    }

    private void complete(Marker marker, boolean lost, WriteTxnMarkersResponse response) {
        RequestHeader header = new RequestHeader(
                ApiKeys.WRITE_TXN_MARKERS, ApiKeys.WRITE_TXN_MARKERS.latestVersion(), "", 0);
        marker.request.handler.onComplete(
                new ClientResponse(header, null, "", 0, 0, lost, null, null, response));
    }

    /** Another leads the log: what waits for copies fails first, as in Kafka. */
    void resign(int next) {
        if (waiting != null) {
            acknowledged(Errors.NOT_LEADER_OR_FOLLOWER);
        }
        kafka.onResignation(LOG, new Some<>(next));
        end();
    }

    void end() {
        fences.forEach(Call::drop);
        fences.clear();
    }

    // --- What it knows

    boolean isActive() {
        return rows.transactionMetadataCache().contains(LOG);
    }

    TransactionMetadata row() {
        Option<TxnMetadataCacheEntry> known = rows.transactionMetadataCache().get(LOG);
        return known.isEmpty() ? null : known.get().metadataPerTransactionalId().get(ID);
    }

    /** Whether it writes markers, or waits to say that all are written. */
    boolean isMarking() {
        return row() != null && Row.PREPARED.contains(Row.state(row()));
    }

    TailLog.Entry made() {
        return made;
    }

    TxnTransitMetadata completion() {
        return markers.next;
    }
}
