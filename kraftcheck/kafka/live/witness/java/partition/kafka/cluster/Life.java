package kafka.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatResponseData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData.ListenerCollection;
import org.apache.kafka.common.message.BrokerRegistrationResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.BrokerHeartbeatRequest;
import org.apache.kafka.common.requests.BrokerHeartbeatResponse;
import org.apache.kafka.common.requests.BrokerRegistrationRequest;
import org.apache.kafka.common.requests.BrokerRegistrationResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.queue.KafkaEventQueue;
import scala.jdk.javaapi.CollectionConverters;

import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The life of a broker's process as the controller sees it: Kafka's BrokerLifecycleManager, over a
 * channel and a queue of ours. Kafka names the last offset of metadata, the specification the next.
 */
final class Life {
    private static final int CONTROLLER = -2;
    private static final long UNDEFINED = -1;
    private static final String COMMUNICATION = "communication";

    /** What has been applied, as either version of Kafka asks for it. */
    private record Applied(Supplier<Long> next) implements Supplier<Long>, scala.Function0<Object> {
        @Override
        public Long get() {
            return next.get() - 1;
        }

        @Override
        public Object apply() {
            return get();
        }
    }

    private final Object kafka;
    private final KafkaEventQueue queue;
    private final Channel channel = new Channel();
    private final long incarnation;
    private final OptionalLong previous;
    private final Supplier<Long> applied;
    private Map<String, Object> inFlight;

    Life(long incarnation, OptionalLong previous, Object config, Time time, Supplier<Long> applied) {
        this.incarnation = incarnation;
        this.previous = previous;
        this.applied = applied;
        Runnable never = () -> { };
        kafka = Mirror.made(Mirror.type("org.apache.kafka.server.BrokerLifecycleManager",
                "kafka.server.BrokerLifecycleManager"), config, time, "", false, Map.of(),
                CollectionConverters.asScala(Set.of()).toSet(), never, (scala.Function0<Object>) () -> null,
                (Supplier<Boolean>) () -> false);
        queue = Mirror.get(kafka, "eventQueue");
    }

    /** A process that has been registered and unfenced, as those are that a run begins with. */
    void begun(long epoch) {
        communicate();
        channel.answered(new BrokerRegistrationResponse(new BrokerRegistrationResponseData().setBrokerEpoch(epoch)));
        for (int i = 0; i < 2; i++) {
            communicate();
            channel.answered(new BrokerHeartbeatResponse(new BrokerHeartbeatResponseData().setIsCaughtUp(true).setIsFenced(false)));
            Mirror.call(kafka, "setReadyToUnfence");
        }
        inFlight = null;
    }

    String state() {
        return Mirror.call(kafka, "state").toString();
    }

    long brokerEpoch() {
        return Mirror.<Long>call(kafka, "brokerEpoch");
    }

    long previousEpoch() {
        return previous.orElse(UNDEFINED);
    }

    Object inFlight() {
        return inFlight == null ? Json.fields("type", "None") : inFlight;
    }

    /** Whether it would register, or else send a heartbeat, if it were time. */
    boolean canSend(boolean registers) {
        return inFlight == null && registers == (brokerEpoch() == UNDEFINED);
    }

    /** What it sends now that it is time. */
    Map<String, Object> communicate() {
        if (state().equals("NOT_RUNNING")) {
            Mirror.call(kafka, "start", new Applied(applied), channel, "cluster", new ListenerCollection(), Map.of(), previous);
        } else {
            queue.happens(COMMUNICATION);
        }
        if (channel.request instanceof BrokerRegistrationRequest registration) {
            BrokerRegistrationRequestData data = registration.data();
            inFlight = Json.fields("type", "RegisterBrokerRequest", "source", data.brokerId(), "destination", CONTROLLER,
                    "incarnation", incarnation, "previousEpoch", data.previousBrokerEpoch());
        } else if (channel.request instanceof BrokerHeartbeatRequest heartbeat) {
            BrokerHeartbeatRequestData data = heartbeat.data();
            inFlight = Json.fields("type", "HeartbeatRequest", "source", data.brokerId(), "destination", CONTROLLER,
                    "brokerEpoch", data.brokerEpoch(), "metadataOffset", data.currentMetadataOffset() + 1,
                    "wantFence", data.wantFence(), "wantShutDown", data.wantShutDown());
        }
        return inFlight;
    }

    boolean awaits(JsonNode request) {
        return inFlight != null && Json.read(Json.text(inFlight)).equals(request);
    }

    /** Whether the answer was to the request under way: Kafka's connections know it by a number. */
    boolean answered(JsonNode answer) {
        if (!awaits(answer.get("request"))) {
            return false;
        }
        inFlight = null;
        short error = Errors.valueOf(answer.get("error").asText()).code();
        channel.answered(answer.get("type").asText().equals("RegisterBrokerResponse")
                ? new BrokerRegistrationResponse(new BrokerRegistrationResponseData().setErrorCode(error)
                        .setBrokerEpoch(answer.get("brokerEpoch").asLong()))
                : new BrokerHeartbeatResponse(new BrokerHeartbeatResponseData().setErrorCode(error)
                        .setIsCaughtUp(answer.get("isCaughtUp").asBoolean()).setIsFenced(answer.get("isFenced").asBoolean())
                        .setShouldShutDown(answer.get("shouldShutDown").asBoolean())));
        return true;
    }

    void timedOut() {
        inFlight = null;
        channel.timedOut();
    }

    void readyToUnfence() {
        Mirror.call(kafka, "setReadyToUnfence");
    }

    void beginControlledShutdown() {
        Mirror.call(kafka, "beginControlledShutdown");
    }
}
