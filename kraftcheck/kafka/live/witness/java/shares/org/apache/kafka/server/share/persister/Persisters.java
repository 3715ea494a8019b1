package org.apache.kafka.server.share.persister;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Refusal;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.RequestCompletionHandler;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ReadShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateResponseData;
import org.apache.kafka.common.message.WriteShareGroupStateRequestData;
import org.apache.kafka.common.message.WriteShareGroupStateResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ReadShareGroupStateResponse;
import org.apache.kafka.common.requests.WriteShareGroupStateResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.share.persister.PersisterStateManager.PersisterStateManagerHandler;
import org.apache.kafka.server.share.persister.PersisterStateManager.RPCType;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;

import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The persisters of the brokers that lead the share partition: DefaultStatePersister over
 * PersisterStateManager. Their connections are the host's. A read or write is under way for the schedule when it is
 * made; the coordinator takes it when Kafka has sent it, in a request of its own or together with others. Such a
 * request has one response, which is that of its last part (ShareCoordinatorService waits for that one).
 */
public final class Persisters {
    private static final Node COORDINATOR = new Node(0, "coordinator", 1);
    private static final int TIMEOUT_MS = 30_000;
    /** They lead in turn, so that one leads again whose writes of an earlier epoch are under way. */
    public static final int BROKERS = 2;

    private final Map<Integer, Broker> brokers = new TreeMap<>();
    private final List<Sending> sendings = new ArrayList<>();
    /** Parts of requests that timed out; they may still arrive. */
    private final List<Part> late = new ArrayList<>();
    /** What a handler carries, as the schedule has it. */
    private final Map<PersisterStateManagerHandler, String> texts = new IdentityHashMap<>();
    private String text;
    private Broker working;

    /** A read or write that was sent. */
    public static final class Part {
        public final String text;
        /** As Kafka has sent it. */
        public final Object data;
        private boolean taken;
        /** What the coordinator has answered, in the schedule's words, and in Kafka's. */
        private String told;
        private ApiMessage answer;

        private Part(String text, Object data) {
            this.text = text;
            this.data = data;
        }

        public void answered(String told, ApiMessage answer) {
            this.told = told;
            this.answer = answer;
        }

        /** Empty: the coordinator has not answered. */
        public Optional<String> told() {
            return Optional.ofNullable(told);
        }
    }

    private record Sending(Broker broker, RPCType type, ClientRequest request, List<Part> parts) {
        private Part last() {
            return parts.get(parts.size() - 1);
        }

        /** Whose answer is the first to arrive. */
        private Part first() {
            return parts.stream().filter(each -> each.told != null).findFirst().orElseThrow();
        }
    }

    private final class Broker extends PersisterStateManager {
        private final DefaultStatePersister persister = new DefaultStatePersister(this);
        private final Object thread = Mirror.get(this, "sender");
        private final Queue<?> queue = Mirror.get(thread, "queue");
        private final Map<RPCType, ArrayDeque<PersisterStateManagerHandler>> unsent = new EnumMap<>(RPCType.class);
        private final Backoffs backoffs;

        private Broker(Backoffs backoffs) {
            super(Mirror.standIn(KafkaClient.class, Persisters.this::client),
                    Mirror.standIn(ShareCoordinatorMetadataCacheHelper.class, (self, method, in) ->
                            method.getName().equals("containsTopic") ? (Object) true : COORDINATOR),
                    Mirror.standIn(Time.class, (self, method, in) -> 0L), backoffs);
            this.backoffs = backoffs;
        }

        /** Its thread works when it is told to. */
        @Override
        public void start() { }

        @Override
        public void enqueue(PersisterStateManagerHandler handler) {
            texts.putIfAbsent(handler, text);
            unsent.computeIfAbsent(handler.rpcType(), type -> new ArrayDeque<>()).add(handler);
            super.enqueue(handler);
        }

        /** Its thread works until nothing is left to do. */
        private void work() {
            int before;
            do {
                before = sendings.size();
                working = this;
                Mirror.call(thread, "doWork");
            } while (!queue.isEmpty() || sendings.size() > before);
        }
    }

    /** Retries that wait for their time. */
    private static final class Backoffs implements Timer {
        private final List<TimerTask> tasks = new ArrayList<>();

        @Override
        public void add(TimerTask task) {
            tasks.add(task);
        }

        @Override
        public boolean advanceClock(long ms) {
            return false;
        }

        @Override
        public int size() {
            return tasks.size();
        }

        @Override
        public void close() { }
    }

    private Object client(Object self, Method method, Object[] in) {
        return switch (method.getName()) {
            case "newClientRequest" -> new ClientRequest((String) in[0], (AbstractRequest.Builder<?>) in[1], 0, "host", 0,
                    true, TIMEOUT_MS, (RequestCompletionHandler) in[5]);
            case "ready" -> true;
            case "connectionFailed" -> false;
            case "poll" -> List.of();
            case "wakeup" -> null;
            case "send" -> {
                send((ClientRequest) in[0]);
                yield null;
            }
            default -> throw new AssertionError("nobody asks a connection for " + method);
        };
    }

    private void send(ClientRequest request) {
        ApiMessage data = request.requestBuilder().build().data();
        boolean reads = data instanceof ReadShareGroupStateRequestData;
        RPCType type = reads ? RPCType.READ : RPCType.WRITE;
        List<Object> asked = reads
                ? List.copyOf(((ReadShareGroupStateRequestData) data).topics().get(0).partitions())
                : List.copyOf(((WriteShareGroupStateRequestData) data).topics().get(0).partitions());
        ArrayDeque<PersisterStateManagerHandler> unsent = working.unsent.get(type);
        List<Part> parts = asked.stream().map(each -> new Part(texts.get(unsent.remove()), each)).toList();
        sendings.add(new Sending(working, type, request, parts));
    }

    // --- What a share partition asks

    /** The persister of the broker that leads in an epoch, which is told next what is sent as this text. */
    public DefaultStatePersister of(int leaderEpoch, String text) {
        this.text = text;
        return brokers.computeIfAbsent(leaderEpoch % BROKERS, each -> new Broker(new Backoffs())).persister;
    }

    /** Kafka's threads work. */
    public void work() {
        brokers.values().forEach(Broker::work);
    }

    // --- What arrives

    /** What the coordinator takes; null: nothing of this text is under way. */
    public Part take(String text) {
        Optional<Part> old = late.stream().filter(each -> each.text.equals(text)).findFirst();
        if (old.isPresent()) {
            late.remove(old.get());
            return old.get();
        }
        for (Sending each : sendings) {
            Part next = each.parts.stream().filter(part -> !part.taken).findFirst().orElse(null);
            if (next != null && next.text.equals(text)) {
                next.taken = true;
                return next;
            }
        }
        boolean comes = Stream.concat(queued(), sendings.stream().flatMap(each -> each.parts.stream())
                .filter(each -> !each.taken).map(each -> each.text)).anyMatch(text::equals);
        if (comes) {
            throw new Refusal("others are sent before it");
        }
        return null;
    }

    private Stream<String> queued() {
        return brokers.values().stream().flatMap(each -> each.unsent.values().stream()).flatMap(Collection::stream)
                .map(texts::get);
    }

    /**
     * A response arrives, as whose part one with this answer to this text comes. The request's parts; none: the
     * persister does not wait for it.
     */
    public List<Part> respond(String text, JsonNode told) {
        Sending found = sendings.stream().filter(each -> each.parts.stream().anyMatch(part ->
                part.text.equals(text) && told.toString().equals(part.told))).findFirst().orElse(null);
        if (found == null) {
            return List.of();
        }
        if (found.last().told == null || !found.first().text.equals(text)) {
            throw new Refusal("it is answered together with others");
        }
        return found.parts;
    }

    /** The response to a request with these parts is received. */
    public void receive(List<Part> parts) {
        Sending found = sendings.stream().filter(each -> each.parts == parts).findFirst().orElseThrow();
        complete(found, found.last().answer);
        work();
    }

    private void complete(Sending sending, ApiMessage answer) {
        sendings.remove(sending);
        AbstractResponse response = sending.type == RPCType.READ
                ? new ReadShareGroupStateResponse((ReadShareGroupStateResponseData) answer)
                : new WriteShareGroupStateResponse((WriteShareGroupStateResponseData) answer);
        ClientRequest request = sending.request;
        request.callback().onComplete(new ClientResponse(request.makeHeader(request.requestBuilder().latestAllowedVersion()),
                request.callback(), request.destination(), 0, 0, false, null, null, response));
    }

    /** Requests under way fail, and those of these texts are made again. What is under way then. */
    public Set<String> retry(Predicate<String> awaited) {
        for (Sending each : List.copyOf(sendings)) {
            each.parts.stream().filter(part -> !part.taken).forEach(late::add);
            complete(each, unavailable(each));
        }
        work();
        for (Broker each : brokers.values()) {
            List<TimerTask> due = each.backoffs.tasks.stream().filter(task ->
                    awaited.test(texts.get(Mirror.<PersisterStateManagerHandler>get(task, "handler")))).toList();
            each.backoffs.tasks.removeAll(due);
            due.forEach(TimerTask::run);
        }
        work();
        Set<String> found = new LinkedHashSet<>();
        sendings.forEach(each -> each.parts.forEach(part -> found.add(part.text)));
        queued().forEach(found::add);
        return found;
    }

    private static ApiMessage unavailable(Sending sending) {
        Errors error = Errors.COORDINATOR_NOT_AVAILABLE;
        Object data = sending.last().data;
        return data instanceof WriteShareGroupStateRequestData.PartitionData
                ? WriteShareGroupStateResponse.toErrorResponseData(topic(sending), 0, error, "")
                : ReadShareGroupStateResponse.toErrorResponseData(topic(sending), 0, error, "");
    }

    private static Uuid topic(Sending sending) {
        ApiMessage data = sending.request.requestBuilder().build().data();
        return data instanceof ReadShareGroupStateRequestData read ? read.topics().get(0).topicId()
                : ((WriteShareGroupStateRequestData) data).topics().get(0).topicId();
    }
}
