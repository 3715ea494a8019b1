package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.server.KafkaRaftServer;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;

import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.metadata.BrokerHeartbeatReply;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.timeline.SnapshotRegistry;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * The controller of a partition: ClusterControlManager and ReplicationControlManager, which make
 * records of requests. What they make is committed and replayed at once, as QuorumController does
 * when the quorum has it. Offsets of metadata: the specification names the next, Kafka the last.
 */
public class Controller extends Node {
    static final int ID = -2;
    private static final int METADATA_LOG = -4;
    private static final long UNDEFINED = -1;
    private static final int NOBODY = -1;
    private static final String CLUSTER = "cluster";
    private static final String LISTENER = "PLAINTEXT";
    private static final LogContext LOGS = new LogContext();

    private final Uuid topicId;
    private final TopicPartition topic;
    private final List<Integer> replicas;
    private final JsonNode constants;
    private final MockTime time = new MockTime(0, 1_000_000L, 1_000_000_000_000L);
    /** All that is committed, for who takes over. */
    final Map<Long, List<ApiMessage>> committed = new TreeMap<>();
    private FeatureControlManager features;
    private ConfigurationControlManager configuration;
    ClusterControlManager cluster;
    private ReplicationControlManager replication;
    long offset;

    public Controller(Uuid topicId, TopicPartition topic, List<Integer> replicas, JsonNode constants) {
        super(ID);
        this.topicId = topicId;
        this.topic = topic;
        this.replicas = replicas;
        this.constants = constants;
        committed.put(0L, first());
        offset = 1;
        takeOver();
        replicas.forEach(each -> cluster.heartbeatManager().touch(each, false, 0));
        tableOfInputs();
        tableOfFields();
        begin();
    }

    // --- What is there at the beginning, and whenever another controller takes over

    /** The records that a metadata log begins with, all at one offset. */
    List<ApiMessage> first() {
        List<ApiMessage> records = cluster(null);
        records.addAll(records.size() - 1, replicas.stream().map(each -> registered(each, 0, 0, false)).toList());
        return records;
    }

    /** What there is beside brokers, the partition last. now: it, as the specification has it; null: as it begins. */
    private List<ApiMessage> cluster(JsonNode now) {
        PartitionRecord first = new PartitionRecord().setPartitionId(topic.partition()).setTopicId(topicId)
                .setReplicas(replicas).setIsr(replicas).setLeader(NOBODY).setLeaderEpoch(0).setPartitionEpoch(0)
                .setDirectories(replicas.stream().map(Controller::folder).toList());
        if (now != null) {
            int known = now.get("lastKnownLeader").asInt();
            first.setIsr(ids(now.get("isr"))).setLeader(now.get("leader").asInt())
                    .setLeaderEpoch(now.get("leaderEpoch").asInt()).setPartitionEpoch(now.get("partitionEpoch").asInt())
                    .setEligibleLeaderReplicas(ids(now.get("elr")))
                    .setLastKnownElr(known == NOBODY ? List.of() : List.of(known))
                    .setLeaderRecoveryState((now.get("recovering").asBoolean() ? LeaderRecoveryState.RECOVERING
                            : LeaderRecoveryState.RECOVERED).value());
        }
        return new ArrayList<>(List.of(
                new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                        .setFeatureLevel(MetadataVersion.LATEST_PRODUCTION.featureLevel()),
                new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME)
                        .setFeatureLevel((short) (constants.get("elrEnabled").asBoolean() ? 1 : 0)),
                new TopicRecord().setName(topic.topic()).setTopicId(topicId),
                config(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, constants.get("minInsyncReplicas").asText()),
                config(TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG, constants.get("uncleanElection").asText()),
                first));
    }

    private static RegisterBrokerRecord registered(int broker, long epoch, long incarnation, boolean fenced) {
        var listens = new RegisterBrokerRecord.BrokerEndpointCollection();
        listens.add(new RegisterBrokerRecord.BrokerEndpoint().setName(LISTENER).setHost("localhost").setPort(1));
        return new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(epoch).setEndPoints(listens)
                .setIncarnationId(incarnation(broker, incarnation)).setFenced(fenced).setLogDirs(List.of(folder(broker)));
    }

    private static List<Integer> ids(JsonNode list) {
        List<Integer> found = new ArrayList<>();
        list.forEach(each -> found.add(each.asInt()));
        return found;
    }

    private ConfigRecord config(String name, String value) {
        return new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName(topic.topic())
                .setName(name).setValue(value);
    }

    private static Uuid incarnation(int broker, long number) {
        return new Uuid(1000 + broker, 1 + number);
    }

    private static Uuid folder(int broker) {
        return new Uuid(2000 + broker, 1);
    }

    private void takeOver() {
        load();
        cluster.activate();
    }

    /** New managers, with what is committed. */
    final void load() {
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
        committed.forEach((at, records) -> records.forEach(each -> replay(each, at)));
    }

    /** As QuorumController.replay; another record ends the host. */
    final void replay(ApiMessage record, long at) {
        switch (record.getClass().getSimpleName()) {
            case "FeatureLevelRecord" -> features.replay((FeatureLevelRecord) record);
            case "TopicRecord" -> replication.replay((TopicRecord) record);
            case "ConfigRecord" -> configuration.replay((ConfigRecord) record);
            case "RegisterBrokerRecord" -> cluster.replay((RegisterBrokerRecord) record, at);
            case "BrokerRegistrationChangeRecord" -> cluster.replay((BrokerRegistrationChangeRecord) record);
            case "PartitionRecord" -> replication.replay((PartitionRecord) record);
            case "PartitionChangeRecord" -> replication.replay((PartitionChangeRecord) record);
            default -> throw new AssertionError("a record of another kind: " + record);
        }
    }

    // --- Inputs

    private void tableOfInputs() {
        inputs.put("RegisterBrokerRequest", in -> () -> register(in));
        inputs.put("HeartbeatRequest", in -> () -> heartbeat(in));
        inputs.put("AlterPartitionRequest", in -> () -> alter(in));
        inputs.put("SessionTimeout", in -> ends(in.get("broker").asInt()));
        inputs.put("ElectLeaders", in -> () -> elect(in.get("election").asText()));
        inputs.put("ControllerFailover", in -> this::takeOver);
    }

    @Override
    protected Runnable delivery(Message message) {
        JsonNode input = Json.read(message.text());
        return inputs.get(input.get("type").asText()).apply(input);
    }

    @Override
    protected boolean awaits(Message message) {
        return true;
    }

    private void register(JsonNode in) {
        int broker = in.get("source").asInt();
        var supported = new BrokerRegistrationRequestData.FeatureCollection();
        QuorumFeatures.defaultSupportedFeatureMap(true).forEach((name, range) ->
                supported.add(new BrokerRegistrationRequestData.Feature().setName(name)
                        .setMinSupportedVersion(range.min()).setMaxSupportedVersion(range.max())));
        var listens = new BrokerRegistrationRequestData.ListenerCollection();
        listens.add(new BrokerRegistrationRequestData.Listener().setName(LISTENER).setHost("localhost").setPort(1));
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker)
                .setClusterId(CLUSTER).setListeners(listens).setIncarnationId(incarnation(broker, in.get("incarnation").asLong()))
                .setFeatures(supported).setLogDirs(List.of(folder(broker)))
                .setPreviousBrokerEpoch(in.get("previousEpoch").asLong());
        Map<String, Object> answer = answer("RegisterBrokerResponse", in);
        tried(answer, () -> cluster.registerBroker(request, offset, features.finalizedFeatures(Long.MAX_VALUE), true));
        answer.put("brokerEpoch", answer.get("error").equals(Errors.NONE.name())
                ? cluster.registration(broker).epoch() : UNDEFINED);
        send(answer);
    }

    private void heartbeat(JsonNode in) {
        int broker = in.get("source").asInt();
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(broker)
                .setBrokerEpoch(in.get("brokerEpoch").asLong())
                .setCurrentMetadataOffset(in.get("metadataOffset").asLong() - 1)
                .setWantFence(in.get("wantFence").asBoolean()).setWantShutDown(in.get("wantShutDown").asBoolean());
        cluster.trackBrokerHeartbeat(broker, request.brokerEpoch());
        Map<String, Object> answer = answer("HeartbeatResponse", in);
        BrokerHeartbeatReply reply = tried(answer, () -> replication.processBrokerHeartbeat(
                request, cluster.registerBrokerRecordOffset(broker).getAsLong()));
        if (reply != null && reply.inControlledShutdown()) {
            cluster.heartbeatManager().maybeUpdateControlledShutdownOffset(broker, offset - 1);
        }
        answer.put("isCaughtUp", reply != null && reply.isCaughtUp());
        answer.put("isFenced", reply != null && reply.isFenced());
        answer.put("shouldShutDown", reply != null && reply.shouldShutDown());
        send(answer);
    }

    private void alter(JsonNode in) {
        List<AlterPartitionRequestData.BrokerState> isr = new ArrayList<>();
        in.get("isr").forEach(each -> isr.add(new AlterPartitionRequestData.BrokerState()
                .setBrokerId(each.get("broker").asInt()).setBrokerEpoch(each.get("epoch").asLong())));
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(in.get("source").asInt())
                .setBrokerEpoch(in.get("brokerEpoch").asLong()).setTopics(List.of(
                        new AlterPartitionRequestData.TopicData().setTopicId(topicId).setPartitions(List.of(
                                new AlterPartitionRequestData.PartitionData().setPartitionIndex(topic.partition())
                                        .setLeaderEpoch(in.get("leaderEpoch").asInt()).setNewIsrWithEpochs(isr)
                                        .setPartitionEpoch(in.get("partitionEpoch").asInt())
                                        .setLeaderRecoveryState((in.get("recovering").asBoolean()
                                                ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
                                                .value())))));
        ControllerRequestContext context = new ControllerRequestContext(new RequestHeaderData()
                .setRequestApiVersion(ApiKeys.ALTER_PARTITION.latestVersion()), KafkaPrincipal.ANONYMOUS,
                OptionalLong.empty());
        Map<String, Object> answer = answer("AlterPartitionResponse", in);
        var found = tried(answer, () -> replication.alterPartition(context, request));
        var partition = found == null ? null : found.topics().get(0).partitions().get(0);
        Errors error = partition == null ? Errors.NONE : Errors.forCode(partition.errorCode());
        if (error != Errors.NONE) {
            answer.put("error", error.name());
            partition = null;
        }
        answer.put("leader", partition == null ? NOBODY : partition.leaderId());
        answer.put("leaderEpoch", partition == null ? UNDEFINED : partition.leaderEpoch());
        answer.put("partitionEpoch", partition == null ? UNDEFINED : partition.partitionEpoch());
        answer.put("isr", partition == null ? List.of() : new TreeSet<>(partition.isr()));
        send(answer);
    }

    /** A session, alone: no clock moves. */
    private Runnable ends(int broker) {
        BrokerIdAndEpoch session = new BrokerIdAndEpoch(broker, cluster.registration(broker).epoch());
        return !lives(broker) ? null : () -> {
            cluster.heartbeatManager().tracker().updateContactTime(session, 0);
            commit(replication.maybeFenceOneStaleBroker().records());
        };
    }

    private void elect(String election) {
        if (election.equals("ONLINE")) {
            // Nobody asks for one: it is what follows when a broker comes or goes.
            List<ApiMessageAndVersion> records = new ArrayList<>();
            replication.generateLeaderAndIsrUpdates("", NOBODY, NOBODY, NOBODY, records,
                    List.of(new TopicIdPartition(topicId, topic.partition())).iterator());
            commit(records);
            return;
        }
        var wanted = new ElectLeadersRequestData.TopicPartitionsCollection();
        wanted.add(new ElectLeadersRequestData.TopicPartitions().setTopic(topic.topic())
                .setPartitions(List.of(topic.partition())));
        var result = replication.electLeaders(new ElectLeadersRequestData().setTopicPartitions(wanted)
                .setElectionType(ElectionType.valueOf(election).value));
        Errors error = Errors.forCode(result.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode());
        ignored = error == Errors.ELECTION_NOT_NEEDED ? error.name() : "";
        commit(result.records());
    }

    /**
     * The row that another implementation has come to. If it is not this one, others take over: with
     * records that say of brokers and partition what the row says, and then what nothing records.
     */
    @Override
    protected void follow(JsonNode row) {
        if (Json.read(Json.text(read())).equals(row)) {
            return;
        }
        committed.clear();
        committed.put(0L, cluster(row.get("partition")));
        replicas.forEach(each -> {
            JsonNode known = row.get("registrations").get("" + each);
            committed.computeIfAbsent(known.get("recordOffset").asLong(), at -> new ArrayList<>()).add(registered(each,
                    known.get("epoch").asLong(), known.get("incarnation").asLong(), known.get("fenced").asBoolean())
                    .setInControlledShutdown(known.get("stopping").asBoolean()));
        });
        offset = row.get("offset").asLong();
        takeOver();
        Map<BrokerIdAndEpoch, Long> sessions = Mirror.get(cluster.heartbeatManager().tracker(), "contactTimes");
        sessions.clear();
        replicas.forEach(each -> {
            JsonNode contact = row.get("contacts").get("" + each);
            BrokerRegistration known = cluster.registration(each);
            cluster.heartbeatManager().touch(each, known.fenced(), last(contact.get("metadataOffset").asLong()));
            if (contact.get("shutdownOffset").asLong() != UNDEFINED && !known.fenced()) {
                cluster.heartbeatManager().maybeUpdateControlledShutdownOffset(each,
                        contact.get("shutdownOffset").asLong() - 1);
            }
            if (contact.get("live").asBoolean()) {
                cluster.trackBrokerHeartbeat(each, known.epoch());
            }
        });
    }

    // --- What follows

    /** Commits what a manager makes, and says what it answers; null: an error, which is in the answer. */
    private <T> T tried(Map<String, Object> answer, Supplier<ControllerResult<T>> work) {
        try {
            ControllerResult<T> result = work.get();
            commit(result.records());
            answer.put("error", Errors.NONE.name());
            return result.response();
        } catch (ApiException e) {
            answer.put("error", Errors.forException(e).name());
            return null;
        }
    }

    private void commit(List<ApiMessageAndVersion> records) {
        if (records.isEmpty()) {
            return;
        }
        List<Object> told = new ArrayList<>();
        long first = offset;
        for (ApiMessageAndVersion each : records) {
            ApiMessage record = each.message();
            keep(offset, each);
            replay(record, offset++);
            told.add(form(record));
        }
        sent.add(new Message(METADATA_LOG, Json.text(Json.fields("type", "MetadataRecords", "source", ID,
                "destination", METADATA_LOG, "offset", first, "records", told)), null));
    }

    /** A record that a manager has made, on its way to where all are kept. */
    void keep(long at, ApiMessageAndVersion record) {
        committed.put(at, List.of(record.message()));
    }

    /** A record, as the specification has it: what it makes of a broker or of the partition. */
    private Map<String, Object> form(ApiMessage record) {
        if (record instanceof PartitionChangeRecord) {
            return Json.fields("kind", "Partition", "partition", partition());
        }
        int broker = record instanceof RegisterBrokerRecord r ? r.brokerId()
                : ((BrokerRegistrationChangeRecord) record).brokerId();
        BrokerRegistration now = cluster.registration(broker);
        return Json.fields("kind", "Broker", "broker", broker, "registration", Json.fields("epoch", now.epoch(),
                "fenced", now.fenced(), "stopping", now.inControlledShutdown()));
    }

    // --- The row

    private void tableOfFields() {
        fields.put("registrations", () -> byNumber(replicas, this::registration));
        fields.put("partition", this::partition);
        fields.put("offset", () -> offset);
        fields.put("contacts", () -> byNumber(replicas, this::contact));
    }

    private Object registration(int broker) {
        BrokerRegistration known = cluster.registration(broker);
        return Json.fields("epoch", known.epoch(), "incarnation", known.incarnationId().getLeastSignificantBits() - 1,
                "recordOffset", cluster.registerBrokerRecordOffset(broker).getAsLong(), "fenced", known.fenced(),
                "stopping", known.inControlledShutdown());
    }

    private Object contact(int broker) {
        long known = cluster.heartbeatManager().brokers().stream().filter(each -> each.id() == broker)
                .findFirst().orElseThrow().metadataOffset();
        return Json.fields("live", lives(broker), "metadataOffset", next(known),
                "shutdownOffset", next(cluster.heartbeatManager().controlledShutdownOffset(broker).orElse(UNDEFINED)));
    }

    private boolean lives(int broker) {
        return cluster.heartbeatManager().hasValidSession(broker, cluster.registration(broker).epoch());
    }

    private static long next(long last) {
        return last == UNDEFINED ? UNDEFINED : last + 1;
    }

    private static long last(long next) {
        return next == UNDEFINED ? UNDEFINED : next - 1;
    }

    private Map<String, Object> partition() {
        return form(replication.getPartition(topicId, topic.partition()));
    }

    public static Map<String, Object> form(PartitionRegistration p) {
        return Json.fields("leader", p.leader, "leaderEpoch", p.leaderEpoch, "partitionEpoch", p.partitionEpoch,
                "isr", sorted(p.isr), "elr", sorted(p.elr),
                "lastKnownLeader", p.lastKnownElr.length == 0 ? NOBODY : p.lastKnownElr[0],
                "recovering", p.leaderRecoveryState == LeaderRecoveryState.RECOVERING);
    }

    // --- Messages

    private static Map<String, Object> answer(String type, JsonNode request) {
        return Json.fields("type", type, "source", ID, "destination", request.get("source"), "request", request);
    }

    private void send(Map<String, Object> form) {
        sent.add(new Message(((JsonNode) form.get("destination")).asInt(), Json.text(form), null));
    }
}
