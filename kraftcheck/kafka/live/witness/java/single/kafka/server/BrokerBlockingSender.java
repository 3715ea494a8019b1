package kafka.server;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.server.util.ShutdownableThread;

import java.util.function.Function;

/**
 * In place of Kafka's class of this name: a connection to a leader, on which a fetch stays until its
 * answer is given. What is asked because of that answer is answered with it.
 */
public class BrokerBlockingSender implements BlockingSend {
    private final BrokerEndPoint leader;
    /** The fetch that is on its way, or null. */
    public FetchRequest asked;
    /** What answers from now on; null: nothing does. */
    public Function<AbstractRequest, AbstractResponse> answers;

    public BrokerBlockingSender(BrokerEndPoint leader, KafkaConfig config, Metrics metrics, Time time, int fetcherId,
                                String clientId, LogContext logContext) {
        this.leader = leader;
    }

    @Override
    public BrokerEndPoint brokerEndPoint() {
        return leader;
    }

    @Override
    public ClientResponse sendRequest(AbstractRequest.Builder<? extends AbstractRequest> builder) {
        AbstractRequest request = builder.build();
        if (request instanceof FetchRequest fetch) {
            asked = fetch;
            ShutdownableThread.standStill();
            asked = null;
        }
        if (answers == null) {
            throw new org.apache.kafka.common.errors.DisconnectException();
        }
        return new ClientResponse(new RequestHeader(request.apiKey(), request.version(), "", 0), null, "", 0, 0,
                false, null, null, answers.apply(request));
    }

    @Override
    public void initiateClose() {
        answers = null;
    }

    @Override
    public void close() { }
}
