package kafka.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;
import org.apache.kafka.common.message.FetchResponseData.FetchableTopicResponse;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsPartitionResponse;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsTopicResponse;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.jdk.javaapi.OptionConverters;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What is Scala's in one version of Kafka and Java's in the next, as Java's. */
@SuppressWarnings("unchecked")
final class Forms {
    private Forms() {}

    /** An Option or an Optional, with what a number is boxed in. */
    static <T> Optional<T> optional(Object either) {
        return either instanceof Option<?> scala ? (Optional<T>) OptionConverters.toJava(scala) : (Optional<T>) either;
    }

    static Set<Integer> set(Object either) {
        return either instanceof scala.collection.Set<?> scala
                ? (Set<Integer>) CollectionConverters.asJava(scala) : (Set<Integer>) either;
    }

    /** The answer of a leader, as a fetcher gets it. */
    static FetchResponse fetched(JsonNode in) {
        PartitionData data = new PartitionData().setPartitionIndex(Broker.TOPIC.partition())
                .setErrorCode(Errors.valueOf(in.get("error").asText()).code())
                .setHighWatermark(in.get("highWatermark").asLong()).setLogStartOffset(in.get("logStart").asLong())
                .setRecords(PartitionLog.records(in.get("records"), in.get("request").get("fetchOffset").asLong()))
                .setDivergingEpoch(new EpochEndOffset().setEpoch(in.get("diverging").get("epoch").asInt())
                        .setEndOffset(in.get("diverging").get("endOffset").asLong()));
        return Mirror.made(FetchResponse.class, new FetchResponseData().setResponses(List.of(new FetchableTopicResponse()
                .setTopic(Broker.TOPIC.topic()).setTopicId(Broker.TOPIC_ID).setPartitions(List.of(data)))));
    }

    /** What a fetcher that is out of range asks for, which the specification has in the same answer. */
    static ListOffsetsResponse listed(JsonNode in, ListOffsetsRequest request) {
        long asked = request.topics().get(0).partitions().get(0).timestamp();
        String what = asked == ListOffsetsRequest.LATEST_TIMESTAMP ? "endOffset" : "logStart";
        return new ListOffsetsResponse(new ListOffsetsResponseData().setTopics(List.of(new ListOffsetsTopicResponse()
                .setName(Broker.TOPIC.topic()).setPartitions(List.of(new ListOffsetsPartitionResponse()
                        .setPartitionIndex(Broker.TOPIC.partition()).setOffset(in.get(what).asLong()))))));
    }
}
