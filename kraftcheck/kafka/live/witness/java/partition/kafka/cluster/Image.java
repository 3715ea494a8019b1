package kafka.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord.BrokerEndpoint;
import org.apache.kafka.common.metadata.RegisterBrokerRecord.BrokerEndpointCollection;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.controller.Controller;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicsDelta;
import org.apache.kafka.image.writer.ImageReWriter;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The metadata that a broker has read: Kafka's image and cache, fed with records. */
final class Image {
    private static final int FIRST_OFFSET = 1;

    /** What a broker is told. topics: what changes of them; null: nothing does. */
    record Change(TopicsDelta topics, MetadataImage image) {}

    final KRaftMetadataCache cache;
    private final int id;
    private final List<Integer> replicas;
    private final Map<Long, ApiMessage> committed;
    private MetadataImage image;
    private long offset;

    /** committed: the metadata log, by offset; null: records are made of what the specification says of them. */
    Image(int id, List<Integer> replicas, Map<Long, ApiMessage> committed) {
        this.id = id;
        this.replicas = replicas;
        this.committed = committed;
        cache = new KRaftMetadataCache(id, () -> KRaftVersion.KRAFT_VERSION_0);
        begin();
    }

    /** With the records that a metadata log begins with: all brokers, and a partition with no leader. */
    void begin() {
        image = MetadataImage.EMPTY;
        List<ApiMessage> records = new ArrayList<>(List.of(
                new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                        .setFeatureLevel(MetadataVersion.LATEST_PRODUCTION.featureLevel()),
                new TopicRecord().setName(Broker.TOPIC.topic()).setTopicId(Broker.TOPIC_ID)));
        replicas.forEach(each -> records.add(broker(each, 0, false, false)));
        records.add(new PartitionRecord().setPartitionId(Broker.TOPIC.partition()).setTopicId(Broker.TOPIC_ID).setReplicas(replicas).setIsr(replicas)
                .setLeader(-1).setLeaderEpoch(0).setPartitionEpoch(0));
        apply(records);
        offset = FIRST_OFFSET;
    }

    /** What changes with the records of an update. */
    Change read(JsonNode update) {
        List<ApiMessage> all = new ArrayList<>();
        update.get("records").forEach(each -> all.add(committed != null ? committed.get(offset + all.size()) : each.get("kind").asText().equals("Broker")
                ? broker(each) : partition(each.get("partition"))));
        offset += all.size();
        return apply(all);
    }

    /** All of it, as if nothing had been known before. */
    Change all() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        image.write(new ImageReWriter(delta), new ImageWriterOptions.Builder(image).build());
        return new Change(delta.topicsDelta(), image);
    }

    private Change apply(List<ApiMessage> records) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        records.forEach(delta::replay);
        image = delta.apply(new MetadataProvenance(offset, 0, 0, true));
        cache.setImage(image);
        return new Change(delta.topicsDelta(), image);
    }

    private static ApiMessage broker(JsonNode record) {
        JsonNode now = record.get("registration");
        return broker(record.get("broker").asInt(), now.get("epoch").asLong(), now.get("fenced").asBoolean(),
                now.get("stopping").asBoolean());
    }

    private static ApiMessage broker(int id, long epoch, boolean fenced, boolean stopping) {
        BrokerEndpointCollection listens = new BrokerEndpointCollection();
        listens.add(new BrokerEndpoint().setName("PLAINTEXT").setHost("localhost").setPort(1));
        return new RegisterBrokerRecord().setBrokerId(id).setEndPoints(listens).setBrokerEpoch(epoch).setFenced(fenced)
                .setInControlledShutdown(stopping).setIncarnationId(new Uuid(id, epoch + 1));
    }

    private ApiMessage partition(JsonNode p) {
        int last = p.get("lastKnownLeader").asInt();
        return new PartitionRecord().setPartitionId(Broker.TOPIC.partition()).setTopicId(Broker.TOPIC_ID).setReplicas(replicas)
                .setLeader(p.get("leader").asInt()).setLeaderEpoch(p.get("leaderEpoch").asInt())
                .setPartitionEpoch(p.get("partitionEpoch").asInt()).setIsr(ids(p.get("isr")))
                .setEligibleLeaderReplicas(ids(p.get("elr"))).setLastKnownElr(last < 0 ? List.of() : List.of(last))
                .setLeaderRecoveryState((p.get("recovering").asBoolean() ? LeaderRecoveryState.RECOVERING
                        : LeaderRecoveryState.RECOVERED).value());
    }

    static List<Integer> ids(JsonNode list) {
        List<Integer> found = new ArrayList<>();
        list.forEach(each -> found.add(each.asInt()));
        return found;
    }

    /** Where the metadata log goes on. */
    long offset() {
        return offset;
    }

    /** As the specification has it. */
    Map<String, Object> form() {
        Map<Integer, Object> brokers = new TreeMap<>();
        for (int each : replicas) {
            BrokerRegistration known = image.cluster().broker(each);
            brokers.put(each, Json.fields("epoch", known.epoch(), "fenced", known.fenced(),
                    "stopping", known.inControlledShutdown()));
        }
        return Json.fields("offset", offset, "brokers", brokers, "partition", Controller.form(
                image.topics().getPartition(Broker.TOPIC_ID, Broker.TOPIC.partition())));
    }
}
