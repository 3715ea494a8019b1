package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;
import kraftcheck.witness.Refusal;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.raft.errors.NotLeaderException;
import org.apache.kafka.raft.internals.BatchMemoryPool;
import org.apache.kafka.raft.internals.StringSerde;

import java.io.File;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.IntFunction;

/**
 * A voter of the quorum: a KafkaRaftClient. Its time stands still, its messages wait for us, and each
 * of its timers goes off when it is told to. A step is one input, and `poll` until nothing moves.
 */
public final class Voter extends Node {
    private static final QuorumConfig CONFIG = new QuorumConfig(new AbstractConfig(
            QuorumConfig.CONFIG_DEF, Map.of(QuorumConfig.QUORUM_LINGER_MS_CONFIG, 0), false));
    private static final BatchMemoryPool MEMORY = new BatchMemoryPool(5, 8 * 1024 * 1024);
    /** Whether an answer to an earlier request of the same content counts, as it does in the specification. */
    private static final boolean BY_CONTENT = System.getProperty("witness.answers", "").equals("content");
    private static final int NOBODY = -1;
    private static final long UNDEFINED = -1;

    /** A request or an answer as Kafka has it. outbound: the request, as its asker sent it. */
    private record Sent(ApiMessage data, Message answers, RaftRequest.Outbound outbound, int asker) {
        /** In what goes from one to another. */
        @Override
        public boolean equals(Object other) {
            return other instanceof Sent sent && data.equals(sent.data);
        }

        @Override
        public int hashCode() {
            return data.hashCode();
        }
    }

    /** A request that is being handled; a fetch may be so for long, until its wait expires. */
    private static final class Held {
        final Message message;
        CompletableFuture<RaftResponse.Outbound> answer;
        CompletableFuture<?> wait;

        Held(Message message) {
            this.message = message;
        }
    }

    private final List<Integer> voters;
    /** Whether the specification is that of 4.1 and later: then a search for a leader is shown. */
    private final boolean since41;
    private int lookedAt;
    private final MockTime time = new MockTime(0, 1_000_000L, 0);
    private final VoterLog log;
    private final Machine machine;
    private final MockQuorumStateStore store = new MockQuorumStateStore();
    private KafkaRaftClient<String> client;
    private Wire wire;
    private LeaderAndEpoch announced;
    private long consumed;
    private final AtomicInteger numbers = new AtomicInteger();
    /** The latest number of what it asked since it began, by text. */
    private final Map<String, Integer> asked = new HashMap<>();
    private final List<Held> parked = new ArrayList<>();
    private CompletableFuture<?> newWait;
    private int searches;
    private Throwable fault;
    private boolean led;
    // Of this step: the row as a leader is about to flush, and how much it had sent by then.
    private Map<String, Object> unflushed;
    private int sentUnflushed;

    /** The voters of a quorum that begins. */
    public static List<Node> nodes(JsonNode constants) {
        return nodes(constants, id -> Machine.NONE);
    }

    /** machines: by voter, what stands on its log. */
    public static List<Node> nodes(JsonNode constants, IntFunction<Machine> machines) {
        List<Integer> ids = new ArrayList<>();
        constants.get("voters").forEach(id -> ids.add(id.asInt()));
        String folder = System.getProperty("witness.logs", "");
        boolean since41 = constants.get("protocol").asText().equals("quorum41");
        int alone = constants.path("alone").asInt(NOBODY);
        return ids.stream().filter(id -> alone == NOBODY || id == alone).<Node>map(id ->
                new Voter(id, ids, since41, constants.get("fetchMaxRecords").asInt(),
                folder.isEmpty() ? null : new File(folder, "voter-" + id + "/__cluster_metadata-0"),
                machines.apply(id))).toList();
    }

    private Voter(int id, List<Integer> voters, boolean since41, int fetchMaxRecords, File folder, Machine machine) {
        super(id);
        this.voters = voters;
        this.since41 = since41;
        this.machine = machine;
        log = new VoterLog(folder, time, fetchMaxRecords, this::beforeFlush);
        tableOfInputs();
        tableOfFields();
        if (since41) {
            stop(0);
        } else {  // a voter begins when it has started, and has asked nobody
            settle(this::start);
            sent.clear();
        }
        begin();
    }

    @Override
    public void end() {
        log.discard();
    }

    // --- Inputs

    private void tableOfInputs() {
        inputs.put("ElectionTimeout", in -> goesOff("electionTimer"));
        inputs.put("FetchTimeout", in -> goesOff("fetchTimer"));
        inputs.put("CheckQuorumTimeout", in -> goesOff("checkQuorumTimer"));
        inputs.put("BeginQuorumEpochTimeout", in -> goesOff("beginQuorumEpochTimer"));
        inputs.put("RequestTimeout", in -> overdue(in.get("peer").asInt()));
        inputs.put("FetchMaxWait", in -> waited(in.get("request").toString()));
        inputs.put("Append", in -> runs() ? () -> append(in.get("value").asInt()) : null);
        inputs.put("Flush", in -> null);  // done in the step that appended
        inputs.put("Resign", in -> runs() ? () -> client.resign(client.quorum().epoch()) : null);
        inputs.put("Crash", in -> runs() ? () -> crash(in.get("keep").asLong()) : null);
        inputs.put("Restart", in -> client == null ? this::start : null);
    }

    @Override
    protected Runnable delivery(Message message) {
        if (!runs()) {
            return null;
        }
        Sent sent = (Sent) message.what();
        ApiMessage data = (ApiMessage) sent.data().duplicate();
        if (sent.answers() == null) {
            RaftRequest.Inbound request = new RaftRequest.Inbound(Wire.listener(), 0,
                    ApiKeys.forId(data.apiKey()).latestVersion(), data, time.milliseconds());
            return () -> {
                Held held = new Held(message);
                newWait = null;
                parked.add(held);
                held.answer = Wire.ask(client, request);
                pollOnce();
                held.wait = newWait;
            };
        }
        ignored = expects(sent) ? "" : "NotAwaited";
        RaftResponse.Inbound response =
                new RaftResponse.Inbound(number(sent), data, sent.outbound().destination());
        return () -> wire.inbox.add(response);
    }

    /** Kafka knows an answer by a number, the specification by the request in it. */
    private int number(Sent answer) {
        return BY_CONTENT ? asked.getOrDefault(answer.answers().text(), NOBODY) : answer.outbound().correlationId();
    }

    @Override
    protected boolean awaits(Message message) {
        Sent sent = (Sent) message.what();
        return sent.answers() == null || runs() && expects(sent);
    }

    private boolean expects(Sent answer) {
        return Mirror.<RequestManager>get(client, "requestManager")
                .isResponseExpected(answer.outbound().destination(), number(answer));
    }

    /** A timer of the role that the voter is in, alone: no clock moves. */
    private Runnable goesOff(String timer) {
        if (!runs() || !Mirror.has(state(), timer)) {
            return null;
        }
        return () -> {
            if (timer.equals("beginQuorumEpochTimer") && !since41) {
                // Kafka tells only who has not fetched lately; here nobody has.
                ((LeaderState<?>) state()).voterStates().values()
                        .forEach(peer -> Mirror.set(peer, "lastFetchTimestamp", 0L));
            }
            // Who has lost an election waits by another timer, before 4.1.
            boolean lost = Mirror.has(state(), "isBackingOff") && Mirror.<Boolean>get(state(), "isBackingOff");
            Mirror.<Timer>get(state(), lost ? "backoffTimer" : timer).reset(0);
        };
    }

    private Runnable overdue(int peer) {
        Object connection = runs() ? connection(peer) : null;
        if (connection == null) {
            return null;
        }
        return () -> {
            Mirror.set(connection, "lastSendTimeMs", 0L);
            Mirror.set(connection, "lastFailTimeMs", 0L);
        };
    }

    /** Requests that are alike are one in the specification: they have all waited. */
    private Runnable waited(String request) {
        List<Held> alike = parked.stream().filter(held -> held.message.text().equals(request)).toList();
        return alike.isEmpty() ? null : () -> alike.forEach(held ->
                held.wait.completeExceptionally(new TimeoutException("it has waited enough")));
    }

    private void append(int value) {
        try {
            client.prepareAppend(client.quorum().epoch(), List.of(value + machine.behind()));
            client.schedulePreparedAppend();
        } catch (NotLeaderException e) {
            ignored = "NotLeader";
        }
    }

    private void crash(long keep) {
        if (keep != log.end()) {
            throw new Refusal("Kafka has flushed all that it appended: a crash keeps " + log.end() + ", not " + keep);
        }
        client = null;
    }

    private void stop(long keptOfTail) {
        client = null;
        parked.clear();
        log.reopen(keptOfTail);
    }

    // --- A step

    @Override
    protected void settle(Runnable call) {
        led = runs() && state() instanceof LeaderState;
        unflushed = null;
        try {
            call.run();
            if (client == null) {
                return;
            }
            List<Object> before;
            do {
                before = progress();
                pollOnce();
            } while (!before.equals(progress()));
        } catch (Refusal e) {
            throw e;
        } catch (RuntimeException e) {
            if (client != null && client.quorum() == null) {
                throw e;  // it has not even begun
            }
            fault = thrown = e;
            collect();
        }
    }

    private List<Object> progress() {
        return List.of(state(), sent.size(), searches, log.end(), consumed, announced, wire.isEmpty());
    }

    private void pollOnce() {
        client.poll();
        collect();
        // A timer that falls due by what a step does goes off when it is an input.
        for (String name : List.of("electionTimer", "backoffTimer", "fetchTimer")) {
            if (Mirror.has(state(), name)) {
                Timer timer = Mirror.get(state(), name);
                timer.update(time.milliseconds());
                if (timer.isExpired()) {
                    timer.reset(1000);
                }
            }
        }
    }

    /** What was sent, with the answers to requests that were held until now. */
    private void collect() {
        wire.drain().forEach(this::asks);
        for (Held held : List.copyOf(parked)) {
            if (held.answer != null && held.answer.isDone()) {
                parked.remove(held);
                answers(held.message, held.answer.join().data());
            }
        }
    }

    /** Whether what a flush is to bring to the disk will come there. */
    private boolean beforeFlush() {
        if (!runs() || !(state() instanceof LeaderState)) {
            return true;  // a follower appends and flushes in one
        }
        collect();
        unflushed = read();
        sentUnflushed = sent.size();
        return tear == WHOLE;
    }

    /**
     * A leader appends and flushes in one turn, the specification in two steps. Who begins to lead
     * announces itself behind the flush, in the specification before it.
     */
    @Override
    protected List<String> lines(String input) {
        if (client == null) {
            stop(0);
        }
        if (unflushed == null) {
            return super.lines(input);
        }
        List<Message> later = sent.subList(sentUnflushed, sent.size());
        if (tear != WHOLE) {
            String step = line(input, read(), sent);
            lost.addAll(later);  // it comes behind the flush, in which the voter crashes
            later.clear();
            stop(tear);
            return List.of(step, line(Json.text(Json.fields("type", "Crash", "keep", log.end())), read(), List.of()));
        }
        Map<String, Object> after = read();
        if (!led) {
            unflushed.put("connections", after.get("connections"));
            later = List.of();
        }
        String step = line(input, unflushed, sent.subList(0, sent.size() - later.size()));
        return List.of(step, line(Json.text(Json.fields("type", "Flush")), after, later));
    }

    @SuppressWarnings("unchecked")
    private void start() {
        machine.begins();
        asked.clear();
        searches = 0;
        // Numbers go on: an answer to what asked before a restart never reaches the new process.
        wire = new Wire(numbers);
        announced = LeaderAndEpoch.UNKNOWN;
        consumed = 0;
        Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
        voters.forEach(v -> addresses.put(v, InetSocketAddress.createUnresolved("voter-" + v, 9000 + v)));
        ExpirationService expiration = new ExpirationService() {
            @Override
            public <T> CompletableFuture<T> failAfter(long timeoutMs) {
                CompletableFuture<T> future = new CompletableFuture<>();
                newWait = future;
                return future;
            }
        };
        Random random = new Random() {  // time-outs are least
            @Override
            public int nextInt(int bound) {
                if (client == null || bound != voters.size()) {
                    return 0;
                }
                return since41 ? nextOther() : Math.max(0, voters.indexOf(client.quorum().leaderIdOrSentinel()));
            }
        };
        client = Mirror.made(KafkaRaftClient.class, OptionalInt.of(id), new Uuid(7, id), new StringSerde(),
                wire.channel, wire.inbox, log.kafka, MEMORY, time, expiration, 500, true, "cluster", List.of(),
                Endpoints.fromInetSocketAddresses(Map.of(Wire.listener(), addresses.get(id))),
                new SupportedVersionRange((short) 0, (short) 1), new LogContext(), random, CONFIG);
        client.register((RaftClient.Listener<String>) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[] {RaftClient.Listener.class}, this::heard));
        client.initialize(addresses, store, new Metrics(time), (ExternalKRaftMetrics) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {ExternalKRaftMetrics.class}, (self, method, in) -> null));
    }

    /** Whom to ask for a leader, by place: one after the other, and never itself. */
    private int nextOther() {
        do {
            lookedAt = (lookedAt + 1) % voters.size();
        } while (voters.get(lookedAt) == id);
        return lookedAt;
    }

    /** The state machine takes at once what is committed. */
    @SuppressWarnings("unchecked")
    private Object heard(Object listener, Method method, Object[] in) {
        switch (method.getName()) {
            case "handleLeaderChange" -> {
                announced = (LeaderAndEpoch) in[0];
                machine.leads(announced.isLeader(id));
            }
            case "handleCommit" -> {
                try (BatchReader<String> reader = (BatchReader<String>) in[0]) {
                    reader.forEachRemaining(batch -> {
                        batch.records().forEach(machine::committed);
                        consumed = batch.lastOffset() + 1;
                    });
                }
            }
            case "hashCode" -> {
                return id;
            }
            case "equals" -> {
                return listener == in[0];
            }
            default -> { }
        }
        return null;
    }

    // --- The row

    private void tableOfFields() {
        fields.put("role", () -> client == null ? "Down" : fault != null ? "Halted" : state().name());
        fields.put("epoch", () -> client == null ? file().get("epoch") : client.quorum().epoch());
        fields.put("leader", () -> client == null ? file().get("leader") : client.quorum().leaderIdOrSentinel());
        fields.put("voted", () -> client == null ? file().get("voted")
                : voted(client.quorum().leaderIdOrSentinel(), client.quorum().votedKey()));
        fields.put("quorumState", this::file);
        fields.put("log", log::entries);
        fields.put("flushed", log::flushed);
        fields.put("epochCache", () -> client == null ? log.cacheLeft() : log.epochCache());
        fields.put("highWatermark", () -> client == null ? UNDEFINED : offset(client.quorum().highWatermark()));
        fields.put("granted", () -> in(NomineeState.class, List.of(),
                s -> new TreeSet<>(s.epochElection().grantingVoters())));
        fields.put("rejected", () -> in(NomineeState.class, List.of(),
                s -> new TreeSet<>(s.epochElection().rejectingVoters())));
        fields.put("hasFetched", () -> in(FollowerState.class, false, s -> Mirror.get(s, "hasFetchedFromLeader")));
        fields.put("epochStart", () -> in(LeaderState.class, UNDEFINED, s -> s.epochStartOffset()));
        fields.put("endOffsets", () -> byVoter(v -> in(LeaderState.class, UNDEFINED,
                s -> v == id ? UNDEFINED : offset(((LeaderState<?>) s).voterStates().get(v).endOffset()))));
        fields.put("fetchedVoters", () -> in(LeaderState.class, List.of(),
                s -> new TreeSet<>(Mirror.<Set<Integer>>get(s, "fetchedVoters"))));
        fields.put("unacked", () -> in(ResignedState.class, List.of(), s -> new TreeSet<>(s.unackedVoters())));
        fields.put("successors", () -> in(ResignedState.class, List.of(),
                s -> s.preferredSuccessors().stream().map(ReplicaKey::id).toList()));
        fields.put("connections", () -> byVoter(this::connectionState));
        fields.put("parked", () -> parked.stream().map(held -> held.message.text()).distinct().sorted()
                .map(Json::raw).toList());
        fields.put("announced", () -> in(LeaderState.class, UNDEFINED, s ->
                announced.epoch() == s.epoch() && announced.isLeader(id) ? s.epoch() : UNDEFINED));
    }

    private boolean runs() {
        return client != null && fault == null;
    }

    private EpochState state() {
        return Mirror.get(client.quorum(), "state");
    }

    private <S> Object in(Class<S> role, Object otherwise, Function<S, Object> field) {
        return runs() && role.isInstance(state()) ? field.apply(role.cast(state())) : otherwise;
    }

    /** A file that there is not yet says what a new one would. */
    private Map<String, Object> file() {
        Optional<ElectionState> file = store.readElectionState();
        int leader = file.map(ElectionState::leaderIdOrSentinel).orElse(NOBODY);
        return Json.fields("epoch", file.map(ElectionState::epoch).orElse(0), "leader", leader,
                "voted", voted(leader, file.flatMap(ElectionState::optionalVotedKey)));
    }

    /** Who leads has voted for itself, which Kafka does not note beside it (KAFKA-18389). */
    private int voted(int leader, Optional<ReplicaKey> key) {
        return leader == id ? id : key.map(ReplicaKey::id).orElse(NOBODY);
    }

    /** What an Unattached voter asks in search of a leader is not in the specification before 4.1. */
    private Object connectionState(int peer) {
        boolean hidden = peer == id || !runs() || !since41 && state() instanceof UnattachedState;
        Object connection = hidden ? null : connection(peer);
        if (connection == null) {
            return "Ready";
        }
        return switch (Mirror.get(connection, "state").toString()) {
            case "AWAITING_RESPONSE" -> Mirror.<Long>get(connection, "lastSendTimeMs") > 0 ? "Awaiting" : "Ready";
            case "BACKING_OFF" -> Mirror.<Long>get(connection, "lastFailTimeMs") > 0 ? "BackingOff" : "Ready";
            default -> "Ready";
        };
    }

    private Object connection(int peer) {
        return Mirror.<Map<String, ?>>get(Mirror.get(client, "requestManager"), "connections").get("" + peer);
    }

    private static long offset(Optional<LogOffsetMetadata> known) {
        return known.map(LogOffsetMetadata::offset).orElse(UNDEFINED);
    }

    private Map<Integer, Object> byVoter(Function<Integer, Object> value) {
        Map<Integer, Object> map = new TreeMap<>();
        voters.forEach(v -> map.put(v, value.apply(v)));
        return map;
    }

    // --- Messages

    private void asks(RaftRequest.Outbound request) {
        int peer = request.destination().id();
        boolean fetch = request.data().apiKey() == ApiKeys.FETCH.id;
        if (!since41 && fetch && (state() instanceof UnattachedState || peer != client.quorum().leaderIdOrSentinel())) {
            searches++;  // in search of a leader: lost
            return;
        }
        Message message = new Message(peer, Json.text(Forms.of(id, peer, request.data(), null, since41)),
                new Sent(request.data(), null, request, id));
        asked.put(message.text(), request.correlationId());
        sent.add(message);
    }

    private void answers(Message request, ApiMessage data) {
        if (data instanceof FetchResponseData response) {
            VoterLog.send(response.responses().get(0).partitions().get(0));
        }
        Sent asking = (Sent) request.what();
        int peer = asking.asker();
        sent.add(new Message(peer, Json.text(Forms.of(id, peer, data, request, since41)),
                new Sent(data, request, asking.outbound(), asking.asker())));
    }
}
