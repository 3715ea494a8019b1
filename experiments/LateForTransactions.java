// Kafka's own classes of transactions, without a cluster, with something that comes late, or all at
// once. One line of JSON for each case: what came of it, and of the same where nothing is late.
//
//     java -cp 'libs/*' LateForTransactions.java
//
// young, ended: TransactionCoordinator and TransactionStateManager, whose log acknowledges at once and
// whose markers are written at once. Between the listing of transactions that took too long and their
// abort one of them ends; in "young" its producer begins the next one. gap: the same classes; a commit
// comes between the two locks of such an abort, or after both. offsets: GroupCoordinatorShard;
// the first of two commits of offsets in one transaction comes once more, after the second. marker,
// batch: UnifiedLog, with transactions of version 1, and of version 2 as the control; the marker of one
// transaction comes again amid the next, or a batch comes and is verified after the marker. bulk:
// ProducerStateManager; which offset is the last stable one once a transaction is aborted, if what comes
// after it was copied in the same append. tombstone, absent: the classes of young, whose log waits; the
// tombstone of an expired id is acknowledged after the same broker was elected again, or before. mixed:
// AddPartitionsToTxnManager; what a client is told of a verification that shares its request with another's.

import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;
import javassist.util.proxy.MethodHandler;
import javassist.util.proxy.ProxyFactory;
import kafka.coordinator.transaction.CoordinatorEpochAndTxnMetadata;
import kafka.coordinator.transaction.TransactionConfig;
import kafka.coordinator.transaction.TransactionCoordinator;
import kafka.coordinator.transaction.TransactionMarkerChannelManager;
import kafka.coordinator.transaction.TransactionStateManager;
import kafka.coordinator.transaction.TransactionalIdAndProducerIdEpoch;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AddPartitionsToTxnRequest;
import org.apache.kafka.common.requests.AddPartitionsToTxnResponse;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.coordinator.transaction.TxnTransitMetadata;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.transaction.AddPartitionsToTxnManager.TransactionSupportedOperation;
import org.apache.kafka.server.transaction.AddPartitionsToTxnManager;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.apache.kafka.timeline.SnapshotRegistry;
import scala.Function1;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;
import scala.util.Either;

public class LateForTransactions {
    private static final int TIMEOUT = 1000, LOG_PARTITIONS = 50, WEEK = 604_800_000;
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final TopicPartition OFFSETS = new TopicPartition("__consumer_offsets", 0);

    public static void main(String[] args) throws Exception {
        say("young", young(true), young(false));
        say("ended", ended(true), ended(false));
        say("gap", gap(true), gap(false));
        say("offsets", offsets(true), offsets(false));
        say("marker", marker((short) 1), marker((short) 2));
        say("batch", batch((short) 1), batch((short) 2));
        say("bulk", bulk(true), bulk(false));
        say("tombstone", tombstone(true, true), tombstone(false, true));
        say("absent", tombstone(true, false), tombstone(false, false));
        say("mixed", mixed(TransactionSupportedOperation.DEFAULT_ERROR), mixed(TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED));
        System.exit(0);
    }

    private static String bulk(boolean copied) throws Exception {
        var state = new ProducerStateManager(
            new TopicPartition("t", 0), Files.createTempDirectory("kraftcheck").toFile(), 900_000,
            new ProducerStateManagerConfig(86_400_000, true), Time.SYSTEM);
        var abort = new EndTransactionMarker(ControlRecordType.ABORT, 0);
        var one = state.prepareUpdate(1, AppendOrigin.REPLICATION);
        one.appendDataBatch((short) 0, 0, 0, 1, new LogOffsetMetadata(9), 9, true);
        var first = one.appendEndTxnMarker(abort, (short) 0, 10, 1, (short) 1).orElseThrow();
        if (copied) {
            one.appendDataBatch((short) 0, 1, 4, 1, new LogOffsetMetadata(11), 14, true);
        }
        state.update(one);
        if (copied) {
            var other = state.prepareUpdate(2, AppendOrigin.REPLICATION);
            other.appendDataBatch((short) 0, 0, 0, 1, new LogOffsetMetadata(15), 15, true);
            state.update(other);
        }
        return String.valueOf(state.lastStableOffset(first));
    }

    // What the answer to a tombstone does that comes in a newer epoch of the coordinator, or in its own:
    // if the producer has initialised anew by then, or nobody has.
    private static String tombstone(boolean late, boolean anew) {
        var waiting = new ArrayDeque<Runnable>();
        World world = new World(answersLater(waiting));
        new Instance(world, "a");
        waiting.remove().run();
        world.clock.now += WEEK + 1;
        world.rows.removeExpiredTransactionalIds();
        String came = late ? "" : answered(waiting.remove());
        world.elected(1); // The load reads the tombstone, so it knows no id.
        Instance again = anew ? new Instance(world, "a") : null;
        while (!waiting.isEmpty()) {
            came += answered(waiting.remove());
        }
        return came + (anew ? again.initialised ? "initialised" : "not answered" : "");
    }

    private static String answered(Runnable append) {
        try {
            append.run();
            return "";
        } catch (RuntimeException problem) {
            return problem.getClass().getSimpleName() + " ";
        }
    }

    // The replicas of a broker, whose appends are answered when somebody runs what they leave here.
    private static ReplicaManager answersLater(Queue<Runnable> waiting) {
        return stand(ReplicaManager.class, (self, method, proceed, in) -> switch (method.getName()) {
            case "topicIdPartition" -> new TopicIdPartition(new Uuid(1, 1), (TopicPartition) in[0]);
            case "getLogConfig" -> Option.apply(new LogConfig(Map.of()));
            case "appendRecords" -> {
                var map = (scala.collection.Map<?, ?>) first(in, scala.collection.Map.class);
                @SuppressWarnings("unchecked")
                var told = (Function1<Object, Object>) first(in, Function1.class);
                Map<?, ?> answer = Map.of(map.head()._1(), new PartitionResponse(Errors.NONE));
                waiting.add(() -> told.apply(answer));
                yield null;
            }
            default -> throw new AssertionError("nobody asks replicas for " + method);
        });
    }

    // A map of Scala is a function as well.
    private static Object first(Object[] in, Class<?> type) {
        return Arrays.stream(in).filter(each -> type.isInstance(each)
            && (type == scala.collection.Map.class) == (each instanceof scala.collection.Map)).findFirst().orElseThrow();
    }

    // An object of a subclass of which no constructor was run.
    private static <T> T stand(Class<T> type, MethodHandler called) {
        try {
            var made = new ProxyFactory();
            made.setSuperclass(type);
            made.setFilter(method -> !method.getName().equals("finalize") && !method.getName().contains("$"));
            var unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            unsafe.setAccessible(true);
            Object object = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(made.createClass());
            ((javassist.util.proxy.Proxy) object).setHandler(called);
            return type.cast(object);
        } catch (ReflectiveOperationException problem) {
            throw new IllegalStateException(problem);
        }
    }

    // What a client of version 1 of transactions is told whose transaction is not there, if it is verified
    // in one request with that of a client which understands this much.
    private static String mixed(TransactionSupportedOperation beside) {
        var node = Optional.of(new Node(1, "localhost", 1));
        var leader = Optional.of(new LeaderAndIsr(1, List.of(1)));
        var cache = (MetadataCache) Proxy.newProxyInstance(
            MetadataCache.class.getClassLoader(), new Class<?>[] {MetadataCache.class}, (self, method, in) ->
                method.getName().equals("getLeaderAndIsr") ? leader : node);
        var manager = new AddPartitionsToTxnManager(config(), null, cache, id -> 0, new Clock()) {
            @Override
            public void wakeup() { }
        };
        Map<String, Object> told = new HashMap<>();
        for (String id : List.of("old", "new")) {
            manager.addOrVerifyTransaction(
                id, 1, (short) 0, List.of(PARTITION), errors -> told.put(id, errors.get(PARTITION)),
                id.equals("old") ? beside : TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED);
        }
        var sent = manager.generateRequests().iterator().next();
        var request = (AddPartitionsToTxnRequest) sent.request.build();
        var results = new AddPartitionsToTxnResponseData.AddPartitionsToTxnResultCollection();
        for (String id : List.of("old", "new")) {
            results.add(request.errorResponseForTransaction(id, Errors.TRANSACTION_ABORTABLE));
        }
        var answer = new AddPartitionsToTxnResponse(
            new AddPartitionsToTxnResponseData().setResultsByTransaction(results));
        sent.handler.onComplete(new ClientResponse(
            new RequestHeader(ApiKeys.ADD_PARTITIONS_TO_TXN, (short) 5, "", 0), null, "1", 0, 0, false, null, null, answer));
        return String.valueOf(told.get("new"));
    }

    private static void say(String name, String found, String control) {
        System.out.println("{\"case\":\"%s\",\"found\":\"%s\",\"control\":\"%s\"}".formatted(
            name, found, control));
    }

    // What becomes of a transaction that has just begun: if its predecessor ended after it was listed,
    // or before.
    private static String young(boolean late) {
        World world = new World();
        Instance a = world.begun("a");
        world.clock.now += TIMEOUT + 500;
        Runnable next = () -> {
            a.end(TransactionResult.COMMIT);
            a.add();
        };
        if (late) {
            world.rows.meanwhile = next;
        } else {
            next.run();
        }
        world.sweep();
        return a.row().state() + ", its commit: " + a.end(TransactionResult.COMMIT);
    }

    // How many of two transactions that took too long are aborted by one sweep: if the one that it comes
    // to first ends after it was listed, or not.
    private static String ended(boolean late) {
        World world = new World();
        Map<String, Instance> both = new HashMap<>();
        for (String id : List.of("a", "b")) {
            both.put(id, world.begun(id));
        }
        world.clock.now += TIMEOUT + 500;
        if (late) {
            world.rows.meanwhile = () -> both.get(world.rows.listed).end(TransactionResult.COMMIT);
        }
        String came = world.sweep();
        long open = both.values().stream().filter(each -> each.row().state() == TransactionState.ONGOING).count();
        return came + ", still open: " + open;
    }

    // What a commit is told that comes while the coordinator has noted the fence of its producer and not
    // written it, or once it has; and what has become of the transaction.
    private static String gap(boolean between) {
        World world = new World();
        Instance a = world.begun("a");
        String[] told = new String[1];
        Runnable commit = () -> {
            try {
                told[0] = a.end(TransactionResult.COMMIT).name();
            } catch (RuntimeException problem) {
                told[0] = problem.getClass().getSimpleName();
            }
        };
        if (between) {
            world.rows.fenced = commit;
        }
        world.clock.now += TIMEOUT + 500;
        world.sweep();
        if (!between) {
            commit.run();
        }
        return told[0] + ", " + a.row().state();
    }

    private static class Clock implements Time {
        long now = 1_000_000;

        public long milliseconds() {
            return now;
        }

        public long nanoseconds() {
            return now * 1_000_000;
        }

        public void sleep(long ms) {
            now += ms;
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }
    }

    private static class Nothing implements Scheduler {
        public void startup() { }

        public void shutdown() { }

        public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
            return null;
        }

        public void resizeThreadPool(int size) { }
    }

    // The rows, with a log whose records are acknowledged at once.
    private static class Rows extends TransactionStateManager {
        Runnable meanwhile = () -> { };
        Runnable fenced;
        String listed;

        private final boolean waits;

        Rows(TransactionConfig config, Time time, ReplicaManager replicas) {
            super(1, new Nothing(), replicas, idle(MetadataCache.class), config, time, new Metrics());
            waits = replicas != null;
        }

        @Override
        public TransactionVersion transactionVersionLevel() {
            return TransactionVersion.TV_2;
        }

        @Override
        public scala.collection.Iterable<TransactionalIdAndProducerIdEpoch> timedOutTransactions() {
            var found = super.timedOutTransactions();
            listed = found.isEmpty() ? null : found.head().transactionalId();
            meanwhile.run();
            return found;
        }

        // Whoever ends a transaction asks for its row: of an abort that is noted, between the two locks.
        @Override
        public Either<Errors, Option<CoordinatorEpochAndTxnMetadata>> getTransactionState(String id) {
            var found = super.getTransactionState(id);
            if (fenced != null && row(found).pendingState().equals(Optional.of(TransactionState.PREPARE_EPOCH_FENCE))) {
                Runnable now = fenced;
                fenced = null;
                now.run();
            }
            return found;
        }

        @Override
        public void appendTransactionToLog(
            String id, int epoch, TxnTransitMetadata next, Function1<Errors, BoxedUnit> told,
            Function1<Errors, Object> again, RequestLocal local
        ) {
            if (waits) {
                super.appendTransactionToLog(id, epoch, next, told, again, local);
                return;
            }
            row(id).completeTransitionTo(next);
            told.apply(Errors.NONE);
        }

        TransactionMetadata row(String id) {
            return row(getTransactionState(id));
        }

        private static TransactionMetadata row(Either<Errors, Option<CoordinatorEpochAndTxnMetadata>> found) {
            return found.toOption().get().get().transactionMetadata();
        }
    }

    // Markers, each of which is written at once.
    private static class Markers extends TransactionMarkerChannelManager {
        Markers(KafkaConfig config, Rows rows, Time time) {
            super(config, idle(MetadataCache.class), null, rows, time);
        }

        @Override
        public void start() { }

        @Override
        public void addTxnMarkersToSend(
            int epoch, TransactionResult result, TransactionMetadata row, TxnTransitMetadata next
        ) {
            row.completeTransitionTo(next);
        }
    }

    private static class World {
        final Clock clock = new Clock();
        final Rows rows;
        final TransactionCoordinator coordinator;
        long nextId = 1000;

        World() {
            this(null);
        }

        // replicas: of the log, or null: it acknowledges at once.
        World(ReplicaManager replicas) {
            var config = new TransactionConfig(
                WEEK, 900_000, LOG_PARTITIONS, (short) 1, 1 << 20, 1 << 20, 1, 10_000, 3_600_000, false, 30_000);
            rows = new Rows(config, clock, replicas);
            Markers markers = new Markers(LateForTransactions.config(), rows, clock);
            coordinator = new TransactionCoordinator(
                config, new Nothing(), () -> () -> nextId++, rows, markers, clock, new LogContext());
            coordinator.startup(() -> LOG_PARTITIONS, false);
            elected(0);
        }

        // The broker leads all partitions of the log, in which no id is found.
        final void elected(int epoch) {
            for (int p = 0; p < LOG_PARTITIONS; p++) {
                rows.addLoadedTransactionsToCache(p, epoch, new ConcurrentHashMap<>());
            }
        }

        Instance begun(String id) {
            Instance made = new Instance(this, id);
            made.add();
            return made;
        }

        // What is thrown ends a sweep: the scheduler notes it, and comes again ten seconds later.
        String sweep() {
            try {
                coordinator.abortTimedOutTransactions(each -> (error, id, epoch) -> BoxedUnit.UNIT);
                return "a whole sweep";
            } catch (RuntimeException problem) {
                return problem.getClass().getSimpleName();
            }
        }
    }

    private static class Instance {
        private final World world;
        private final String id;
        private long producer;
        private short epoch;
        boolean initialised;

        Instance(World world, String id) {
            this.world = world;
            this.id = id;
            world.coordinator.handleInitProducerId(id, TIMEOUT, false, false, Option.empty(), told -> {
                initialised = told.error() == Errors.NONE;
                producer = told.producerId();
                epoch = told.producerEpoch();
                return BoxedUnit.UNIT;
            }, RequestLocal.noCaching());
        }

        TransactionMetadata row() {
            return world.rows.row(id);
        }

        void add() {
            world.coordinator.handleAddPartitionsToTransaction(id, producer, epoch, Set.of(PARTITION), error -> {
                if (error != Errors.NONE) {
                    throw new IllegalStateException(error.name());
                }
                return BoxedUnit.UNIT;
            }, TransactionVersion.TV_2, RequestLocal.noCaching());
        }

        Errors end(TransactionResult result) {
            Errors[] told = new Errors[1];
            world.coordinator.handleEndTransaction(
                id, producer, epoch, result, TransactionVersion.TV_2, (error, newId, newEpoch) -> {
                    told[0] = error;
                    if (error == Errors.NONE) {
                        producer = (long) newId;
                        epoch = (short) newEpoch;
                    }
                    return BoxedUnit.UNIT;
                }, RequestLocal.noCaching());
            return told[0];
        }
    }

    // The offset that the group has after a transaction that committed 10, and then 20.
    private static String offsets(boolean late) throws Exception {
        var shard = new Group();
        shard.commit(10);
        shard.commit(20);
        if (late) {
            shard.commit(10);
        }
        return shard.ended();
    }

    private static class Group {
        private static final long PRODUCER = 1000;
        private static final short EPOCH = 5;
        private final GroupCoordinatorShard shard;
        private long offset = 0;

        Group() {
            var all = LateForTransactions.config();
            var config = all.groupCoordinatorConfig();
            var share = all.shareGroupConfig();
            var registry = new SnapshotRegistry(new LogContext());
            var metrics = new GroupCoordinatorMetrics();
            var groups = new GroupConfigManager(Map.of(), config, share);
            shard = (GroupCoordinatorShard) new GroupCoordinatorShard.Builder(config, groups)
                .withAuthorizerPlugin(Optional.empty())
                .withLogContext(new LogContext())
                .withTime(new Clock())
                .withTimer(idle(CoordinatorTimer.class))
                .withExecutor(idle(CoordinatorExecutor.class))
                .withCoordinatorMetrics(metrics)
                .withTopicPartition(OFFSETS)
                .withSnapshotRegistry(registry)
                .build();
            shard.onLoaded(CoordinatorMetadataImage.EMPTY);
        }

        void commit(int committed) throws Exception {
            var asked = new TxnOffsetCommitRequestData().setGroupId("g").setTransactionalId("a")
                .setProducerId(PRODUCER).setProducerEpoch(EPOCH).setTopics(List.of(
                    new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic().setName("t").setPartitions(List.of(
                        new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition().setPartitionIndex(0)
                            .setCommittedOffset(committed)))));
            // Kafka's own request has no number; that of changes/Z87.diff has.
            for (var method : asked.getClass().getMethods()) {
                if (method.getName().equals("setSequence")) {
                    method.invoke(asked, committed);
                }
            }
            for (var record : shard.commitTransactionalOffset(idle(AuthorizableRequestContext.class), asked).records()) {
                shard.replay(offset++, PRODUCER, EPOCH, record);
            }
        }

        String ended() {
            shard.replayEndTransactionMarker(PRODUCER, EPOCH, TransactionResult.COMMIT);
            var asked = new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId("g").setTopics(List.of(
                new OffsetFetchRequestData.OffsetFetchRequestTopics().setName("t").setPartitionIndexes(List.of(0))));
            return "" + shard.fetchOffsets(asked, Long.MAX_VALUE).topics().get(0).partitions().get(0).committedOffset();
        }
    }

    // What becomes of a marker that comes again while the next transaction is open.
    private static String marker(short version) throws Exception {
        try (Log log = new Log(version)) {
            log.batch(0, 0);
            log.marker(1);
            log.batch(1, version == 2 ? 0 : 1);
            return log.marker(1) + log.openly();
        }
    }

    // What becomes of a batch that comes, and is let in, after the marker of its transaction.
    private static String batch(short version) throws Exception {
        try (Log log = new Log(version)) {
            log.batch(0, 0);
            log.marker(1);
            return log.batch(0, 1) + log.openly();
        }
    }

    // A log of one partition; transactions are counted from 0, and share an epoch with version 1.
    private static class Log implements AutoCloseable {
        private static final long PRODUCER = 1000;
        private final short version;
        private final UnifiedLog log;

        Log(short version) throws Exception {
            this.version = version;
            var folder = Files.createTempDirectory("late").resolve("t-0").toFile();
            log = UnifiedLog.create(
                folder, new LogConfig(new Properties()), 0, 0, new KafkaScheduler(1), new BrokerTopicStats(), Time.SYSTEM,
                900_000, new ProducerStateManagerConfig(86_400_000, true), 600_000, new LogDirFailureChannel(1), true,
                Optional.empty());
        }

        private short epoch(int transaction) {
            return (short) (version == 2 ? transaction : 0);
        }

        String batch(int transaction, int sequence) {
            MemoryRecords records = MemoryRecords.withTransactionalRecords(
                Compression.NONE, PRODUCER, epoch(transaction), sequence, new SimpleRecord("x".getBytes()));
            return came(() -> log.appendAsLeader(records, 0, AppendOrigin.CLIENT, RequestLocal.noCaching(),
                log.maybeStartTransactionVerification(PRODUCER, sequence, epoch(transaction), version == 2), version));
        }

        // With version 2 a marker has the epoch of the next transaction.
        String marker(int next) {
            MemoryRecords records = MemoryRecords.withEndTransactionMarker(
                PRODUCER, epoch(next), new EndTransactionMarker(ControlRecordType.COMMIT, 1));
            return came(() -> log.appendAsLeader(records, 0, AppendOrigin.COORDINATOR, RequestLocal.noCaching(),
                VerificationGuard.SENTINEL, version));
        }

        String openly() {
            return log.hasOngoingTransaction(PRODUCER, epoch(1)) ? ", open" : "";
        }

        private static String came(Callable<LogAppendInfo> append) {
            try {
                return "appended at " + append.call().firstOffset();
            } catch (Exception problem) {
                return problem.getClass().getSimpleName();
            }
        }

        public void close() {
            log.close();
        }
    }

    private static KafkaConfig config() {
        Properties properties = new Properties();
        properties.putAll(Map.of(
            "process.roles", "broker,controller", "node.id", "1", "controller.quorum.voters", "1@localhost:9093",
            "listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names", "CONTROLLER"));
        return KafkaConfig.fromProps(properties);
    }

    // What is never asked anything that matters here.
    private static <T> T idle(Class<T> of) {
        return of.cast(Proxy.newProxyInstance(of.getClassLoader(), new Class<?>[] {of}, (self, method, arguments) -> {
            Class<?> type = method.getReturnType();
            return type == boolean.class ? (Object) false : type == int.class ? (Object) 0
                : type == String.class ? "" : null;
        }));
    }
}
