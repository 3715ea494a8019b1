package org.apache.kafka.coordinator.common.runtime;

import kraftcheck.witness.Mirror;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.timeline.SnapshotRegistry;

import com.yammer.metrics.core.MetricsRegistry;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** A broker while it leads the group's partition: GroupCoordinatorService over its runtime. */
final class GroupTenure extends Tenure<GroupCoordinatorShard> {
    private static final TopicPartition PARTITION = new TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, 0);
    /** The specification has no interval between assignments, nor has Kafka before 4.3. */
    private static final Map<String, ?> SETTINGS = Map.of("group.consumer.assignment.interval.ms", 0);
    private static final Class<?> SHOWN = Mirror.type("org.apache.kafka.server.util.PartitionMetadataClient",
            "org.apache.kafka.coordinator.group.PartitionMetadataClient", "java.lang.Runnable");
    private static final AbstractConfig GIVEN = new AbstractConfig(Utils.mergeConfigs(definitions()), SETTINGS, false);
    private static final GroupCoordinatorConfig CONFIG = new GroupCoordinatorConfig(GIVEN);
    private static final GroupConfigManager GROUPS =
            Mirror.made(GroupConfigManager.class, Map.of(), CONFIG, Mirror.made(ShareGroupConfig.class, GIVEN));

    final GroupCoordinatorService service;
    /** Of a group that has no member yet. */
    final int firstEpoch;

    GroupTenure(int epoch, Collection<List<CoordinatorRecord>> log, long committed, MetadataImage image,
            Consumer<List<CoordinatorRecord>> appended) {
        this(epoch, log, committed, image, appended, new GroupCoordinatorMetrics(new MetricsRegistry(), new Metrics()));
    }

    private GroupTenure(int epoch, Collection<List<CoordinatorRecord>> log, long committed, MetadataImage image,
            Consumer<List<CoordinatorRecord>> appended, GroupCoordinatorMetrics metrics) {
        super(PARTITION, log, committed,
                () -> Mirror.callOne(new GroupCoordinatorShard.Builder(CONFIG, GROUPS),
                        Optional.empty(), "withAuthorizerPlugin", "withAuthorizer"),
                metrics, new GroupCoordinatorRecordSerde(), CONFIG.offsetCommitTimeoutMs(), appended);
        LogContext logs = new LogContext();
        SnapshotRegistry nowhere = new SnapshotRegistry(logs);
        ConsumerGroup anew = Mirror.made(ConsumerGroup.class, logs, nowhere, PARTITION.topic(),
                metrics.newMetricsShard(nowhere, PARTITION));
        firstEpoch = anew.groupEpoch();
        service = Mirror.made(GroupCoordinatorService.class, logs, CONFIG, runtime, metrics, GROUPS,
                idle(Persister.class), this, idle(SHOWN), Optional.empty(), time);
        service.startup(() -> 1);
        publish(new MetadataDelta.Builder().setImage(image).build(), image);
        service.onElection(PARTITION.partition(), epoch);
        run();
    }

    /** All settings of groups: in one list since 4.1. */
    private static List<ConfigDef> definitions() {
        List<ConfigDef> found = new ArrayList<>(List.of(ShareGroupConfig.CONFIG_DEF));
        found.addAll(Mirror.constants(GroupCoordinatorConfig.class, ConfigDef.class));
        return found;
    }

    /** Of metadata: in 4.2 as CoordinatorMetadataImage has it, and before 4.3 the image first. */
    private void publish(MetadataDelta delta, MetadataImage image) {
        if (Mirror.has(service, "onMetadataUpdate", 2)) {
            Mirror.call(service, "onMetadataUpdate", delta, image);
        } else {
            Mirror.call(service, "onNewMetadataImage", shown(image, "Image"), shown(delta, "Delta"));
        }
    }
}
