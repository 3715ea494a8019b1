package org.apache.kafka.clients.producer.internals;

import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.MockClient;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.AddOffsetsToTxnResponseData;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData;
import org.apache.kafka.common.message.ApiVersionsResponseData.ApiVersion;
import org.apache.kafka.common.message.ApiVersionsResponseData.FinalizedFeatureKey;
import org.apache.kafka.common.message.ApiVersionsResponseData.SupportedFeatureKey;
import org.apache.kafka.common.message.EndTxnResponseData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.AddOffsetsToTxnResponse;
import org.apache.kafka.common.requests.AddPartitionsToTxnResponse;
import org.apache.kafka.common.requests.EndTxnResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.requests.RequestTestUtils;
import org.apache.kafka.common.requests.TxnOffsetCommitResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * What becomes of Kafka's own transactional producer that is told an error: its TransactionManager
 * and Sender, over the client that Kafka's tests have. Arguments: names of errors, among them
 * TIMED_OUT, which is no answer to a batch within delivery.timeout.ms. A line for each version,
 * request and error: version, asked, error, becomes (in the words of TransactionRules.tla, or the
 * state in Kafka's, if it goes on), thrown (in the Sender's loop).
 */
public final class Told {
    /** What is asked when the error is told. Since version 2 partitions are added by brokers. */
    private enum Asked {
        INITIALIZE(ApiKeys.INIT_PRODUCER_ID, 1, 2),
        BUMP(ApiKeys.INIT_PRODUCER_ID, 1, 1),
        ADD_PARTITIONS(ApiKeys.ADD_PARTITIONS_TO_TXN, 1, 1),
        ADD_OFFSETS(ApiKeys.ADD_OFFSETS_TO_TXN, 1, 1),
        PRODUCE(ApiKeys.PRODUCE, 1, 2),
        OFFSETS(ApiKeys.TXN_OFFSET_COMMIT, 1, 2),
        COMMIT(ApiKeys.END_TXN, 1, 2),
        ABORT(ApiKeys.END_TXN, 1, 2);

        private final ApiKeys api;
        private final int first;
        private final int last;

        Asked(ApiKeys api, int first, int last) {
            this.api = api;
            this.first = first;
            this.last = last;
        }
    }

    private static final String UNANSWERED = "TIMED_OUT";
    private static final String TOPIC = "topic";
    private static final TopicPartition PARTITION = new TopicPartition(TOPIC, 0);
    private static final Node NODE = new Node(0, "localhost", 9092);
    private static final int BACKOFF_MS = 100;
    private static final int REQUEST_MS = 1_000;
    private static final int DELIVERY_MS = 3_000;
    /** Of the Sender's loop, after each of which the backoff is over: more than a delivery takes. */
    private static final int ROUNDS = 60;
    private static final int MOST = 1 << 20;
    private static final int BATCH = 1 << 14;
    private static final long PRODUCER = 7;

    private final MockTime time = new MockTime();
    private final LogContext context = new LogContext();
    private final ProducerMetadata metadata =
        new ProducerMetadata(0, 0, Long.MAX_VALUE, Long.MAX_VALUE, context, new ClusterResourceListeners(), time);
    private final MockClient client = new MockClient(time, metadata);
    private final RecordAccumulator accumulator;
    private final TransactionManager manager;
    private final Sender sender;
    private final String error;
    private ApiKeys about;
    private int times;
    private short epoch;
    private long offset;
    /** After an error that it survives a producer of version 1 asks for another epoch: here of its batch. */
    private boolean bumps;
    private String thrown = "";
    /** Of what the application has called and waits for. */
    private TransactionalRequestResult called;
    private boolean poisons = true;

    private Told(int version, String error) {
        this.error = error;
        metadata.add(TOPIC, time.milliseconds());
        client.updateMetadata(RequestTestUtils.metadataUpdateWith(1, Map.of(TOPIC, 1)));
        manager = new TransactionManager(context, "id", 60_000, BACKOFF_MS, of(version), false) {
            @Override
            protected boolean shouldPoisonStateOnInvalidTransition() {
                return poisons;  // As in the thread of a Sender; not when the application calls.
            }
        };
        Metrics metrics = new Metrics(time);
        BufferPool pool = new BufferPool(MOST, BATCH, metrics, time, "producer-metrics");
        accumulator = new RecordAccumulator(context, BATCH, Compression.NONE, 0, 0L, 0L, DELIVERY_MS, metrics,
            "producer-metrics", time, manager, pool);
        sender = new Sender(context, client, metadata, accumulator, true, MOST, (short) -1, Integer.MAX_VALUE,
            new SenderMetricsRegistry(metrics), time, REQUEST_MS, BACKOFF_MS, manager);
    }

    /** What the one broker says that it can. */
    private static ApiVersions of(int version) {
        ApiVersions versions = new ApiVersions();
        short produce = version == 2 ? ApiKeys.PRODUCE.latestVersion() : 11;
        short offsets = version == 2 ? ApiKeys.TXN_OFFSET_COMMIT.latestVersion() : 4;
        String feature = "transaction.version";
        versions.update(NODE.idString(), new NodeApiVersions(
            List.of(api(ApiKeys.INIT_PRODUCER_ID, (short) 6), api(ApiKeys.PRODUCE, produce),
                api(ApiKeys.TXN_OFFSET_COMMIT, offsets)),
            List.of(new SupportedFeatureKey().setName(feature).setMinVersion((short) 0).setMaxVersion((short) version)),
            List.of(new FinalizedFeatureKey().setName(feature).setMinVersionLevel((short) version)
                .setMaxVersionLevel((short) version)),
            0));
        return versions;
    }

    private static ApiVersion api(ApiKeys key, short most) {
        return new ApiVersion().setApiKey(key.id).setMinVersion((short) 0).setMaxVersion(most);
    }

    public static void main(String[] errors) throws InterruptedException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        for (int version = 1; version <= 2; version++) {
            for (Asked asked : Asked.values()) {
                for (String error : errors) {
                    boolean waits = asked == Asked.PRODUCE || !error.equals(UNANSWERED);
                    if (asked.first <= version && version <= asked.last && waits) {
                        Told told = new Told(version, error);
                        told.ask(asked);
                        out.println(Json.text(Json.fields("version", version, "asked", asked.name(), "error", error,
                            "becomes", told.becomes(), "thrown", told.thrown)));
                    }
                }
            }
        }
        out.flush();
    }

    private void ask(Asked asked) throws InterruptedException {
        if (asked == Asked.INITIALIZE) {
            about = asked.api;
        }
        called = manager.initializeTransactions(false);
        run();
        if (asked == Asked.INITIALIZE) {
            return;
        }
        called.await(0, TimeUnit.MILLISECONDS, "to initialize");
        manager.maybeUpdateTransactionV2Enabled(true);
        manager.beginTransaction();
        bumps = asked == Asked.BUMP;
        if (asked == Asked.PRODUCE) {
            // That the log has lost what was acknowledged is another matter (UNKNOWN_PRODUCER_ID).
            send();
            run();
        }
        about = asked.api;
        if (asked == Asked.ADD_OFFSETS || asked == Asked.OFFSETS) {
            manager.sendOffsetsToTransaction(Map.of(PARTITION, new OffsetAndMetadata(1)), new ConsumerGroupMetadata("group"));
        } else {
            send();
        }
        run();
        if (asked == Asked.COMMIT) {
            called = manager.beginCommit();
        } else if (asked == Asked.ABORT || asked == Asked.BUMP) {
            called = manager.beginAbort();
        }
        run();
    }

    private void send() throws InterruptedException {
        manager.maybeAddPartition(PARTITION);
        long now = time.milliseconds();
        accumulator.append(TOPIC, 0, now, new byte[1], new byte[1], Record.EMPTY_HEADERS, null, 0, now, metadata.fetch());
    }

    /** The Sender's loop, for longer than anything may take. */
    private void run() {
        for (int round = 0; round < ROUNDS; round++) {
            try {
                sender.runOnce();
            } catch (RuntimeException e) {
                thrown = e.getClass().getSimpleName();
            }
            while (!client.requests().isEmpty() && answered(client.requests().peek())) {
            }
            time.sleep(BACKOFF_MS);
        }
    }

    private boolean answered(ClientRequest request) {
        boolean asked = request.apiKey() == about;
        if (asked && error.equals(UNANSWERED)) {
            return false;
        }
        Errors said = bumps && request.apiKey() == ApiKeys.PRODUCE ? Errors.INVALID_PRODUCER_EPOCH : Errors.NONE;
        client.respond(answer(request, asked && times++ == 0 ? Errors.valueOf(error) : said));
        return true;
    }

    private AbstractResponse answer(ClientRequest request, Errors said) {
        return switch (request.apiKey()) {
            case FIND_COORDINATOR -> {
                FindCoordinatorRequest sought = (FindCoordinatorRequest) request.requestBuilder().build();
                List<String> keys = sought.data().coordinatorKeys();
                String key = keys.isEmpty() ? sought.data().key() : keys.get(0);
                yield FindCoordinatorResponse.prepareResponse(said, key, NODE);
            }
            case INIT_PRODUCER_ID -> new InitProducerIdResponse(new InitProducerIdResponseData()
                .setErrorCode(said.code()).setProducerId(PRODUCER).setProducerEpoch(epoch++));
            case ADD_PARTITIONS_TO_TXN -> new AddPartitionsToTxnResponse(new AddPartitionsToTxnResponseData()
                .setResultsByTopicV3AndBelow(AddPartitionsToTxnResponse.resultForTransaction(
                    AddPartitionsToTxnResponse.V3_AND_BELOW_TXN_ID, Map.of(PARTITION, said)).topicResults()));
            case ADD_OFFSETS_TO_TXN ->
                new AddOffsetsToTxnResponse(new AddOffsetsToTxnResponseData().setErrorCode(said.code()));
            case PRODUCE -> new ProduceResponse(Map.of(new TopicIdPartition(Uuid.ZERO_UUID, PARTITION),
                new ProduceResponse.PartitionResponse(said, offset++, -1, 0)), 0);
            case TXN_OFFSET_COMMIT -> new TxnOffsetCommitResponse(0, Map.of(PARTITION, said));
            case END_TXN -> new EndTxnResponse(new EndTxnResponseData()
                .setErrorCode(said.code()).setProducerId(PRODUCER).setProducerEpoch(epoch++));
            default -> throw new IllegalStateException(request.apiKey().name());
        };
    }

    private String becomes() {
        if (manager.hasAbortableError()) {
            return "Abortable";
        }
        if (manager.hasFatalError()) {
            for (Throwable cause = manager.lastError(); cause != null; cause = cause.getCause()) {
                if (cause instanceof ProducerFencedException) {
                    return "Fenced";
                } else if (cause instanceof InvalidTxnStateException) {
                    return "Failed";
                }
            }
            return "Unusable";
        }
        if (times > 1) {
            return "Retry";
        }
        String state = Mirror.get(manager, "currentState").toString();
        hear();
        if (state.equals("UNINITIALIZED")) {
            return initializes() ? "Off" : state;
        }
        boolean goesOn = Stream.<Runnable>of(manager::beginTransaction, manager::beginCommit, manager::beginAbort)
            .anyMatch(this::isAllowed);
        return goesOn ? state : "Unusable";
    }

    /** Before its next call the application has heard how the last one failed. */
    private void hear() {
        try {
            called.await(0, TimeUnit.MILLISECONDS, "to end");
        } catch (KafkaException e) {
            // What the call is told; the state says the rest.
        }
    }

    private boolean initializes() {
        boolean allowed = isAllowed(() -> called = manager.initializeTransactions(false));
        run();
        return allowed && called.isSuccessful() && !manager.hasError();
    }

    private boolean isAllowed(Runnable call) {
        poisons = false;
        try {
            call.run();
        } catch (IllegalStateException e) {
            return false;
        }
        return true;
    }
}
