package org.apache.kafka.raft;

import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;

import org.apache.kafka.common.message.EndQuorumEpochRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Messages of the quorum: a table of their fields, as the specification calls them, and as Kafka does. */
final class Forms {
    private record Field(String name, Function<Object, Object> value) {}

    private static final Field ERROR = new Field("error", p -> Errors.forCode(Mirror.call(p, "errorCode")).name());
    private static final Field EPOCH = field("epoch", "leaderEpoch");
    private static final Field LEADER = field("leader", "leaderId");

    /** What a fetch says since 4.1 (KIP-1166), where that is in the specification. */
    private static final Field KNOWN = field("highWatermark", "highWatermark");

    private static final Map<String, List<Field>> TABLE = Map.of(
            "VoteRequest", List.of(field("epoch", "replicaEpoch"), field("lastEpoch", "lastOffsetEpoch"),
                    field("lastOffset", "lastOffset"), field("preVote", "preVote")),
            "VoteResponse", List.of(ERROR, EPOCH, LEADER, field("granted", "voteGranted")),
            "BeginQuorumEpochRequest", List.of(EPOCH),
            "BeginQuorumEpochResponse", List.of(ERROR, EPOCH, LEADER),
            "EndQuorumEpochRequest", List.of(EPOCH, field("successors", EndQuorumEpochRequestData.PartitionData.class,
                    p -> p.preferredCandidates().stream().map(c -> c.candidateId()).toList())),
            "EndQuorumEpochResponse", List.of(ERROR, EPOCH, LEADER),
            "FetchRequest", List.of(field("epoch", "currentLeaderEpoch"), field("fetchOffset", "fetchOffset"),
                    field("lastFetchedEpoch", "lastFetchedEpoch")),
            "FetchResponse", List.of(ERROR, fetched("epoch", p -> p.currentLeader().leaderEpoch()),
                    fetched("leader", p -> p.currentLeader().leaderId()), fetched("records", VoterLog::entries),
                    fetched("diverging", p -> Json.fields(
                            "epoch", p.divergingEpoch().epoch(), "endOffset", p.divergingEpoch().endOffset())),
                    field("highWatermark", "highWatermark")));

    private Forms() {}

    private static Field field(String name, String inKafka) {
        return new Field(name, p -> Mirror.call(p, inKafka));
    }

    private static <P> Field field(String name, Class<P> of, Function<P, Object> value) {
        return new Field(name, p -> value.apply(of.cast(p)));
    }

    private static Field fetched(String name, Function<FetchResponseData.PartitionData, Object> value) {
        return field(name, FetchResponseData.PartitionData.class, value);
    }

    /** A message as the specification has it. request: what it answers, or null. */
    static Map<String, Object> of(int source, int destination, ApiMessage data, Message request, boolean since41) {
        String type = data.getClass().getSimpleName().replace("Data", "");
        List<?> topics = Mirror.call(data, type.equals("FetchResponse") ? "responses" : "topics");
        Object partition = Mirror.<List<?>>call(topics.get(0), "partitions").get(0);
        Map<String, Object> form = Json.fields("type", type, "source", source, "destination", destination);
        TABLE.get(type).forEach(field -> form.put(field.name(), field.value().apply(partition)));
        if (since41 && type.equals("FetchRequest")) {
            form.put(KNOWN.name(), KNOWN.value().apply(partition));
        }
        if (request != null) {
            form.put("request", Json.raw(request.text()));
        }
        return form;
    }
}
