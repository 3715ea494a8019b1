package org.apache.kafka.raft;

import kraftcheck.witness.Mirror;

import org.apache.kafka.common.network.ListenerName;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Where a KafkaRaftClient's messages come and go: they wait until they are taken. Who asks is told of
 * the answer by a future in the request, and since 4.4 by what `handle` and `add` return.
 */
final class Wire {
    private static final ListenerName LISTENER = ListenerName.normalised("LISTENER");
    private static final boolean STAGES = Mirror.returns(KafkaRaftClient.class, "handle", CompletionStage.class);

    final RaftMessageQueue inbox = Mirror.standIn(RaftMessageQueue.class, (self, method, in) -> switch (method.getName()) {
        case "add" -> add((RaftMessage) in[0]);
        case "poll" -> poll();
        case "isEmpty" -> isEmpty();
        default -> null;
    });
    final NetworkChannel channel;
    private final Queue<Object> arrived = new ArrayDeque<>();
    private List<RaftRequest.Outbound> sent = new ArrayList<>();

    Wire(AtomicInteger numbers) {
        channel = Mirror.standIn(NetworkChannel.class, (self, method, in) -> switch (method.getName()) {
            case "newCorrelationId" -> numbers.getAndIncrement();
            case "listenerName" -> LISTENER;
            case "send" -> {
                sent.add((RaftRequest.Outbound) in[0]);
                yield STAGES ? new CompletableFuture<>() : null;
            }
            default -> null;
        });
    }

    static ListenerName listener() {
        return LISTENER;
    }

    boolean isEmpty() {
        return arrived.isEmpty();
    }

    List<RaftRequest.Outbound> drain() {
        List<RaftRequest.Outbound> left = sent;
        sent = new ArrayList<>();
        return left;
    }

    /** Hands a request to a client. What it returns is complete when the client has answered. */
    static CompletableFuture<RaftResponse.Outbound> ask(KafkaRaftClient<?> client, RaftRequest.Inbound request) {
        CompletionStage<RaftResponse.Outbound> answer = Mirror.call(client, "handle", request);
        return STAGES ? answer.toCompletableFuture() : Mirror.get(request, "completion");
    }

    private Object add(RaftMessage message) {
        if (!STAGES) {
            arrived.add(message);
            return null;
        }
        CompletableFuture<Object> answer = new CompletableFuture<>();
        arrived.add(Mirror.standIn(Mirror.type("org.apache.kafka.raft.RaftMessageQueue$QueueEntry"), (self, method, in) ->
                method.getName().equals("message") ? message : answer));
        return answer;
    }

    private Object poll() {
        return STAGES ? Optional.ofNullable(arrived.poll()) : arrived.poll();
    }
}
