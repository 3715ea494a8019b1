package kafka.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.server.DefaultAlterPartitionManager;
import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;

/**
 * What a leader proposes to the controller: Kafka's DefaultAlterPartitionManager, over a channel on
 * which a request stays until it is told to be sent, and is lost when it is told to be. A request
 * that is lost is sent again as it was, as NodeToControllerChannelManager does.
 */
final class Proposals {
    private static final int CONTROLLER = -2;
    /** Errors of the whole answer, not of the partition in it (AlterPartitionResponse.json). */
    private static final List<Errors> OF_THE_ANSWER = List.of(Errors.STALE_BROKER_EPOCH);

    final DefaultAlterPartitionManager manager;
    private final int id;
    private final Channel channel = new Channel();
    private Map<String, Object> inFlight;
    private final Deque<Runnable> later = new ArrayDeque<>();

    Proposals(int id, Time time, Supplier<Long> brokerEpoch) {
        this.id = id;
        Scheduler scheduler = new Scheduler() {
            @Override
            public void startup() { }

            @Override
            public void shutdown() { }

            @Override
            public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
                later.add(task);
                return null;
            }

            @Override
            public void resizeThreadPool(int size) { }
        };
        // Before 4.4 it is of Scala, and has the time.
        manager = Mirror.made(DefaultAlterPartitionManager.class, channel, scheduler, time, id, brokerEpoch,
                (scala.Function0<Object>) brokerEpoch::get);
    }

    /** Whether a proposal has been submitted and not been answered. */
    boolean has() {
        return !Mirror.<Map<?, ?>>get(manager, "unsentIsrUpdates").isEmpty();
    }

    boolean canSend() {
        return inFlight == null && (channel.request != null || !later.isEmpty());
    }

    /** The request, as it leaves. */
    Map<String, Object> send() {
        while (channel.request == null) {
            later.remove().run();
        }
        later.clear();
        AlterPartitionRequestData request = ((AlterPartitionRequest) channel.request).data();
        var partition = request.topics().get(0).partitions().get(0);
        inFlight = Json.fields("type", "AlterPartitionRequest", "source", id, "destination", CONTROLLER,
                "brokerEpoch", request.brokerEpoch(), "leaderEpoch", partition.leaderEpoch(),
                "partitionEpoch", partition.partitionEpoch(), "isr", members(partition.newIsrWithEpochs()),
                "recovering", partition.leaderRecoveryState() != 0);
        return inFlight;
    }

    Object inFlight() {
        return inFlight == null ? Json.fields("type", "None") : inFlight;
    }

    /** The channel has lost the request. */
    void lost(JsonNode which) {
        if (awaits(which)) {
            inFlight = null;
        }
    }

    /** Whether the answer was to the request under way: Kafka's connections know it by a number. */
    boolean answered(JsonNode answer) {
        if (!awaits(answer.get("request"))) {
            return false;
        }
        Errors error = Errors.valueOf(answer.get("error").asText());
        AlterPartitionResponseData data = new AlterPartitionResponseData();
        if (OF_THE_ANSWER.contains(error)) {
            data.setErrorCode(error.code());
        } else {
            List<Integer> isr = new ArrayList<>();
            answer.get("isr").forEach(member -> isr.add(member.asInt()));
            data.topics().add(new AlterPartitionResponseData.TopicData().setTopicId(Broker.TOPIC_ID).setPartitions(
                    List.of(new AlterPartitionResponseData.PartitionData().setErrorCode(error.code())
                            .setPartitionIndex(Broker.TOPIC.partition()).setLeaderId(answer.get("leader").asInt())
                            .setLeaderEpoch(answer.get("leaderEpoch").asInt())
                            .setPartitionEpoch(answer.get("partitionEpoch").asInt()).setIsr(isr))));
        }
        inFlight = null;
        channel.answered(new AlterPartitionResponse(data));
        return true;
    }

    private boolean awaits(JsonNode which) {
        return inFlight != null && Json.read(Json.text(inFlight)).equals(which);
    }

    static List<Object> members(List<BrokerState> isr) {
        return isr.stream().sorted(Comparator.comparing(BrokerState::brokerId))
                .<Object>map(each -> Json.fields("broker", each.brokerId(), "epoch", each.brokerEpoch())).toList();
    }
}
