package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.server.KafkaRaftServer;
import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;

import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The controller of a topic whose partition moves: ReplicationControlManager and
 * ClusterControlManager, which make records of requests. What they make is committed and replayed at
 * once. Topics are neither made nor deleted here.
 */
public final class Assignments extends Node {
    private static final int ID = -2;
    private static final int NOBODY = -1;
    private static final String CLUSTER = "cluster";
    private static final String TOPIC = "t";
    private static final Uuid TOPIC_ID = new Uuid(1, 1);
    private static final LogContext LOGS = new LogContext();

    private final List<Integer> brokers = new ArrayList<>();
    private final MockTime time = new MockTime(0, 1_000_000L, 1_000_000_000_000L);
    private final FeatureControlManager features;
    private final ConfigurationControlManager configuration;
    private final ClusterControlManager cluster;
    private ReplicationControlManager replication;
    private long offset;
    private long incarnations;
    private boolean isMinIsrSet;
    private List<Integer> target;

    /** The one node there is. */
    public static List<Node> nodes(JsonNode constants) {
        return List.of(new Assignments(constants));
    }

    private Assignments(JsonNode constants) {
        super(ID);
        constants.get("brokers").forEach(id -> brokers.add(id.asInt()));
        target = integers(constants.get("firstReplicas"));
        SnapshotRegistry registry = new SnapshotRegistry(LOGS);
        features = new FeatureControlManager.Builder().setSnapshotRegistry(registry).setQuorumFeatures(
                new QuorumFeatures(1, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(1))).build();
        configuration = new ConfigurationControlManager.Builder().setSnapshotRegistry(registry)
                .setFeatureControl(features).setKafkaConfigSchema(KafkaRaftServer.configSchema()).build();
        cluster = new ClusterControlManager.Builder().setClusterId(CLUSTER).setTime(time).setSnapshotRegistry(registry)
                .setFeatureControlManager(features).setBrokerShutdownHandler((broker, clean, records) ->
                        replication.handleBrokerShutdown(broker, clean, records)).build();
        replication = new ReplicationControlManager.Builder().setSnapshotRegistry(registry)
                .setConfigurationControl(configuration).setClusterControl(cluster).setFeatureControl(features).build();
        first(constants).forEach(each -> replay(each, 0));
        offset = 1;
        cluster.activate();
        brokers.forEach(each -> cluster.heartbeatManager().touch(each, false, 0));
        tableOfInputs();
        tableOfFields();
        begin();
    }

    private List<ApiMessage> first(JsonNode constants) {
        List<Integer> directories = integers(constants.get("directories"));
        List<ApiMessage> records = new ArrayList<>(List.of(
                new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                        .setFeatureLevel(MetadataVersion.LATEST_PRODUCTION.featureLevel()),
                new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME)
                        .setFeatureLevel((short) (constants.get("elrEnabled").asBoolean() ? 1 : 0)),
                new TopicRecord().setName(TOPIC).setTopicId(TOPIC_ID),
                config(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, constants.get("minInsyncReplicas").asText()),
                config(TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG, constants.get("uncleanElection").asText())));
        brokers.forEach(each -> records.add(new RegisterBrokerRecord().setBrokerId(each).setBrokerEpoch(0)
                .setIncarnationId(new Uuid(1000 + each, ++incarnations)).setFenced(false)
                .setLogDirs(folders(each, directories))));
        records.add(new PartitionRecord().setPartitionId(0).setTopicId(TOPIC_ID).setReplicas(target).setIsr(target)
                .setLeader(target.get(0)).setLeaderEpoch(0).setPartitionEpoch(0)
                .setDirectories(target.stream().map(each -> directories.size() == 1
                        ? folder(each, directories.get(0)) : DirectoryId.UNASSIGNED).toList()));
        return records;
    }

    private static ConfigRecord config(String name, String value) {
        return new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName(TOPIC)
                .setName(name).setValue(value);
    }

    private static Uuid folder(int broker, int directory) {
        return new Uuid(2000 + broker, directory);
    }

    private static List<Uuid> folders(int broker, List<Integer> directories) {
        return directories.stream().map(each -> folder(broker, each)).toList();
    }

    private static List<Integer> integers(JsonNode list) {
        List<Integer> found = new ArrayList<>();
        list.forEach(each -> found.add(each.asInt()));
        return found;
    }

    /** As QuorumController.replay; another record ends the host. */
    private void replay(ApiMessage record, long at) {
        switch (record.getClass().getSimpleName()) {
            case "FeatureLevelRecord" -> features.replay((FeatureLevelRecord) record);
            case "TopicRecord" -> replication.replay((TopicRecord) record);
            case "ConfigRecord" -> configuration.replay((ConfigRecord) record);
            case "ClearElrRecord" -> replication.replay((ClearElrRecord) record);
            case "RegisterBrokerRecord" -> cluster.replay((RegisterBrokerRecord) record, at);
            case "BrokerRegistrationChangeRecord" -> cluster.replay((BrokerRegistrationChangeRecord) record);
            case "UnregisterBrokerRecord" -> cluster.replay((UnregisterBrokerRecord) record);
            case "PartitionRecord" -> replication.replay((PartitionRecord) record);
            case "PartitionChangeRecord" -> replication.replay((PartitionChangeRecord) record);
            default -> throw new AssertionError("a record of another kind: " + record);
        }
    }

    private void commit(List<ApiMessageAndVersion> records) {
        records.forEach(each -> replay(each.message(), offset++));
    }

    // --- Inputs

    private void tableOfInputs() {
        inputs.put("RegisterBroker", in -> () -> register(in));
        inputs.put("UnfenceBroker", in -> is(in, "Fenced") ? () -> unfence(in) : null);
        inputs.put("FenceBroker", in -> is(in, "Active") || is(in, "Stopping")
                ? () -> made(records -> replication.handleBrokerFenced(broker(in), records)) : null);
        inputs.put("ShutDownBroker", in -> is(in, "Active") ? () -> made(records ->
                replication.handleBrokerInControlledShutdown(broker(in), epoch(in), records)) : null);
        inputs.put("UnregisterBroker", in -> () -> commit(replication.unregisterBroker(broker(in)).records()));
        inputs.put("DirectoryFailure", in -> online(broker(in)).contains(in.get("directory").asInt())
                ? () -> made(records -> replication.handleDirectoriesOffline(broker(in), epoch(in),
                        List.of(folder(broker(in), in.get("directory").asInt())), records)) : null);
        inputs.put("AssignDirectory", in -> () -> assign(in));
        inputs.put("AlterPartition", in -> () -> alter(in));
        inputs.put("Reassign", in -> () -> reassign(integers(in.get("target")), integers(in.get("target"))));
        inputs.put("CancelReassignment", in -> () -> {
            List<Integer> left = list(partition().replicas);
            left.removeAll(list(partition().addingReplicas));
            reassign(null, left);
        });
        inputs.put("ElectPartitionLeader", in -> () -> elect(in.get("election").asText()));
        inputs.put("ChangeMinIsr", in -> () -> changeMinIsr(in.get("minIsr").asText()));
    }

    private static int broker(JsonNode in) {
        return in.get("broker").asInt();
    }

    private long epoch(JsonNode in) {
        return cluster.registration(broker(in)).epoch();
    }

    private boolean is(JsonNode in, String state) {
        return state(broker(in)).equals(state);
    }

    private void silence(int broker) {
        cluster.heartbeatManager().tracker().updateContactTime(
                new BrokerIdAndEpoch(broker, cluster.registration(broker).epoch()), 0);
    }

    private interface Making {
        void into(List<ApiMessageAndVersion> records);
    }

    private void made(Making making) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        making.into(records);
        commit(records);
    }

    private void register(JsonNode in) {
        int broker = broker(in);
        BrokerRegistration known = cluster.registration(broker);
        if (known != null && known.fenced()) {
            silence(broker);
        }
        var supported = new BrokerRegistrationRequestData.FeatureCollection();
        QuorumFeatures.defaultSupportedFeatureMap(true).forEach((name, range) ->
                supported.add(new BrokerRegistrationRequestData.Feature().setName(name)
                        .setMinSupportedVersion(range.min()).setMaxSupportedVersion(range.max())));
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker)
                .setClusterId(CLUSTER).setIncarnationId(new Uuid(1000 + broker, ++incarnations))
                .setFeatures(supported).setLogDirs(folders(broker, integers(in.get("directories"))))
                .setPreviousBrokerEpoch(known != null && in.get("clean").asBoolean() ? known.epoch() : -1);
        commit(cluster.registerBroker(request, offset, features.finalizedFeatures(Long.MAX_VALUE), true).records());
    }

    private void unfence(JsonNode in) {
        int broker = broker(in);
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(broker)
                .setBrokerEpoch(epoch(in)).setCurrentMetadataOffset(offset).setWantFence(false).setWantShutDown(false)
                .setOfflineLogDirs(folders(broker, integers(in.get("failed"))));
        cluster.trackBrokerHeartbeat(broker, request.brokerEpoch());
        commit(replication.processBrokerHeartbeat(
                request, cluster.registerBrokerRecordOffset(broker).getAsLong()).records());
    }

    private void assign(JsonNode in) {
        int broker = broker(in);
        BrokerRegistration known = cluster.registration(broker);
        var result = replication.handleAssignReplicasToDirs(new AssignReplicasToDirsRequestData().setBrokerId(broker)
                .setBrokerEpoch(known == null ? 0 : known.epoch()).setDirectories(List.of(
                        new AssignReplicasToDirsRequestData.DirectoryData()
                                .setId(folder(broker, in.get("directory").asInt())).setTopics(List.of(
                                        new AssignReplicasToDirsRequestData.TopicData().setTopicId(TOPIC_ID)
                                                .setPartitions(List.of(new AssignReplicasToDirsRequestData
                                                        .PartitionData().setPartitionIndex(0))))))));
        note(result.response().directories().get(0).topics().get(0).partitions().get(0).errorCode());
        commit(result.records());
    }

    private void alter(JsonNode in) {
        int source = in.get("source").asInt();
        List<AlterPartitionRequestData.BrokerState> isr = new ArrayList<>();
        integers(in.get("isr")).forEach(each -> isr.add(new AlterPartitionRequestData.BrokerState().setBrokerId(each)));
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(source)
                .setBrokerEpoch(cluster.registration(source).epoch()).setTopics(List.of(
                        new AlterPartitionRequestData.TopicData().setTopicId(TOPIC_ID).setPartitions(List.of(
                                new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
                                        .setLeaderEpoch(in.get("leaderEpoch").asInt()).setNewIsrWithEpochs(isr)
                                        .setPartitionEpoch(in.get("partitionEpoch").asInt())
                                        .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED.value())))));
        ControllerRequestContext context = new ControllerRequestContext(new RequestHeaderData()
                .setRequestApiVersion(ApiKeys.ALTER_PARTITION.latestVersion()), KafkaPrincipal.ANONYMOUS,
                OptionalLong.empty());
        var result = replication.alterPartition(context, request);
        note(result.response().topics().get(0).partitions().get(0).errorCode());
        commit(result.records());
    }

    private void reassign(List<Integer> wanted, List<Integer> told) {
        var result = replication.alterPartitionReassignments(new AlterPartitionReassignmentsRequestData().setTopics(
                List.of(new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(TOPIC).setPartitions(
                        List.of(new AlterPartitionReassignmentsRequestData.ReassignablePartition()
                                .setPartitionIndex(0).setReplicas(wanted))))));
        short error = result.response().responses().get(0).partitions().get(0).errorCode();
        note(error);
        commit(result.records());
        target = error == Errors.NONE.code() ? told : target;
    }

    private void elect(String election) {
        var wanted = new ElectLeadersRequestData.TopicPartitionsCollection();
        wanted.add(new ElectLeadersRequestData.TopicPartitions().setTopic(TOPIC).setPartitions(List.of(0)));
        var result = replication.electLeaders(new ElectLeadersRequestData().setTopicPartitions(wanted)
                .setElectionType(ElectionType.valueOf(election).value));
        note(result.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode());
        commit(result.records());
    }

    /** Before 4.3 Kafka does not ask whether the request was forwarded. */
    private void changeMinIsr(String value) {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, TOPIC);
        List<Object> in = new ArrayList<>(List.of(Map.of(topic, Map.of(
                TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, Map.entry(AlterConfigOp.OpType.SET, value))), false));
        String name = "incrementalAlterConfigs";
        if (in.size() < Mirror.arguments(ConfigurationControlManager.class, name)) {
            in.add(true);
        }
        ControllerResult<Map<ConfigResource, ApiError>> result = Mirror.call(configuration, name, in.toArray());
        note(result.response().get(topic).error().code());
        commit(result.records());
        isMinIsrSet |= !result.records().isEmpty();
    }

    private void note(short code) {
        ignored = code == Errors.NONE.code() ? "" : Errors.forCode(code).name();
    }

    @Override
    protected void settle(Runnable call) {
        super.settle(call);
        if (thrown instanceof ApiException e) {
            ignored = Errors.forException(e).name();
            thrown = null;
        }
    }

    // --- The row

    private void tableOfFields() {
        fields.put("registrations", () -> byNumber(brokers, each ->
                Json.fields("state", state(each), "directories", online(each))));
        fields.put("topicId", () -> 1);
        fields.put("topicsMade", () -> 1);
        fields.put("partitions", () -> List.of(form(partition())));
        fields.put("targets", () -> List.of(Json.fields("replicas", target)));
        // What leaders know of fetches is no matter of the controller: without it (leader_notes) it is none.
        fields.put("leaders", () -> List.of());
        fields.put("minIsr", () -> isMinIsrSet ? Integer.parseInt(
                configuration.getTopicConfig(TOPIC, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG).value()) : 0);
    }

    private String state(int broker) {
        BrokerRegistration known = cluster.registration(broker);
        if (known == null) {
            return "Unregistered";
        }
        return known.fenced() ? "Fenced" : known.inControlledShutdown() ? "Stopping" : "Active";
    }

    private List<Integer> online(int broker) {
        BrokerRegistration known = cluster.registration(broker);
        return known == null ? List.of() : known.directories().stream()
                .map(each -> (int) each.getLeastSignificantBits()).sorted().toList();
    }

    private PartitionRegistration partition() {
        return replication.getPartition(TOPIC_ID, 0);
    }

    private Map<String, Object> form(PartitionRegistration p) {
        List<Integer> replicas = list(p.replicas);
        return Json.fields("leader", p.leader, "leaderEpoch", p.leaderEpoch, "partitionEpoch", p.partitionEpoch,
                "isr", sorted(p.isr), "elr", sorted(p.elr),
                "lastKnownLeader", p.lastKnownElr.length == 0 ? NOBODY : p.lastKnownElr[0],
                "recovering", p.leaderRecoveryState == LeaderRecoveryState.RECOVERING,
                "replicas", replicas, "adding", sorted(p.addingReplicas), "removing", sorted(p.removingReplicas),
                "directories", byNumber(brokers, each -> !replicas.contains(each)
                        || p.directory(each).equals(DirectoryId.UNASSIGNED)
                        ? 0 : (int) p.directory(each).getLeastSignificantBits()));
    }

    private static List<Integer> list(int[] ids) {
        return new ArrayList<>(Arrays.stream(ids).boxed().toList());
    }
}
