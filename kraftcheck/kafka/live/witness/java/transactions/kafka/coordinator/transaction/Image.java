package kafka.coordinator.transaction;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord.BrokerEndpoint;
import org.apache.kafka.common.metadata.RegisterBrokerRecord.BrokerEndpointCollection;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.TransactionVersion;

import java.util.ArrayList;
import java.util.List;

/** The metadata that coordinators have read: each data partition has a broker of its number alone. */
final class Image {
    static final String TOPIC = "t";
    static final String LISTENER = "PLAINTEXT";
    private static final Uuid TOPIC_ID = new Uuid(2, 2);
    private static final int NOBODY = -1;

    final KRaftMetadataCache cache = new KRaftMetadataCache(0, () -> KRaftVersion.KRAFT_VERSION_0);
    private final List<Integer> partitions;
    private MetadataImage image = MetadataImage.EMPTY;
    private long offset;

    Image(List<Integer> partitions, TransactionVersion version) {
        this.partitions = partitions;
        List<ApiMessage> records = new ArrayList<>(List.of(
                new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                        .setFeatureLevel(MetadataVersion.LATEST_PRODUCTION.featureLevel()),
                new FeatureLevelRecord().setName(TransactionVersion.FEATURE_NAME)
                        .setFeatureLevel(version.featureLevel()),
                new TopicRecord().setName(TOPIC).setTopicId(TOPIC_ID)));
        for (int each : partitions) {
            BrokerEndpointCollection listens = new BrokerEndpointCollection();
            listens.add(new BrokerEndpoint().setName(LISTENER).setHost("localhost").setPort(each));
            records.add(new RegisterBrokerRecord().setBrokerId(each).setEndPoints(listens).setFenced(false)
                    .setIncarnationId(new Uuid(3, each)));
            records.add(new PartitionRecord().setPartitionId(each).setTopicId(TOPIC_ID).setReplicas(List.of(each))
                    .setIsr(List.of(each)).setLeader(each));
        }
        apply(records);
    }

    /** A partition has its leader, or none. */
    void lead(int partition, boolean has) {
        apply(List.of(new PartitionChangeRecord().setPartitionId(partition).setTopicId(TOPIC_ID)
                .setLeader(has ? partition : NOBODY)));
    }

    boolean hasLeader(int partition) {
        return image.topics().getPartition(TOPIC_ID, partition).leader != NOBODY;
    }

    List<Integer> leaderless() {
        return partitions.stream().filter(each -> !hasLeader(each)).sorted().toList();
    }

    private void apply(List<ApiMessage> records) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        records.forEach(delta::replay);
        image = delta.apply(new MetadataProvenance(++offset, 0, 0, true));
        cache.setImage(image);
    }
}
