package kafka.cluster;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

import java.util.Optional;

/** A connection to the controller, on which a request stays until somebody answers it or loses it. */
final class Channel implements NodeToControllerChannelManager {
    /** What waits or is under way; null: nothing. */
    AbstractRequest request;
    private ControllerRequestCompletionHandler handler;

    @Override
    public void start() { }

    @Override
    public void shutdown() { }

    @Override
    public Optional<NodeApiVersions> controllerApiVersions() {
        return Optional.empty();
    }

    @Override
    public void sendRequest(AbstractRequest.Builder<? extends AbstractRequest> builder,
                            ControllerRequestCompletionHandler callback) {
        request = builder.build();
        handler = callback;
    }

    @Override
    public long getTimeoutMs() {
        return Long.MAX_VALUE;
    }

    void answered(AbstractResponse response) {
        request = null;
        handler.onComplete(new ClientResponse(null, null, "", 0, 0, false, null, null, response));
    }

    void timedOut() {
        request = null;
        handler.onTimeout();
    }
}
