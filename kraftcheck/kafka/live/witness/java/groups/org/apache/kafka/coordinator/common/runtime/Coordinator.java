package org.apache.kafka.coordinator.common.runtime;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.coordinator.group.GroupMetadataManager;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.timeline.TimelineHashMap;
import org.apache.kafka.timeline.TimelineInteger;
import org.apache.kafka.timeline.TimelineObject;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The coordinator of a group, whoever it is: one broker after the other leads the partition of
 * __consumer_offsets, each with the classes that it has in Kafka (GroupTenure).
 *
 * A partition of the specification is a topic of its own, with one partition.
 */
public final class Coordinator extends LoggedNode<GroupTenure> {
    private static final int ID = 0;
    private static final String GROUP = "g";
    private static final int FIRST_EPOCH = 1;
    private static final int REBALANCE_MS = 300_000;
    /** What the specification has words for; all else ends the step without an answer, and is told. */
    private static final Set<Errors> TOLD = EnumSet.of(Errors.NONE, Errors.FENCED_MEMBER_EPOCH,
            Errors.UNKNOWN_MEMBER_ID, Errors.UNRELEASED_INSTANCE_ID, Errors.FENCED_INSTANCE_ID);
    /** For the member such an answer is as if none had come: it looks for the coordinator, and asks again. */
    private static final Set<Errors> UNHEARD = EnumSet.of(Errors.NOT_COORDINATOR,
            Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS);

    private final List<Integer> members = new ArrayList<>();
    private final List<Integer> partitions = new ArrayList<>();
    private final Map<Integer, String> instances = new HashMap<>();
    private final MetadataImage image;

    /** The one node there is. */
    public static List<Node> nodes(JsonNode constants) {
        return List.of(new Coordinator(constants));
    }

    private Coordinator(JsonNode constants) {
        super(ID, constants.get("maxCoordinators").asInt());
        constants.get("members").forEach(each -> members.add(each.asInt()));
        constants.get("static").forEach(of ->
                of.forEach(each -> instances.put(each.asInt(), "i" + of.get(0).asInt())));
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        constants.get("partitions").forEach(each -> partitions.add(each.asInt()));
        for (int each : partitions) {
            delta.replay(new TopicRecord().setName(topic(each)).setTopicId(id(each)));
            delta.replay(new PartitionRecord().setTopicId(id(each)).setPartitionId(0)
                    .setReplicas(List.of(0)).setIsr(List.of(0)).setLeader(0));
        }
        image = delta.apply(MetadataProvenance.EMPTY);
        lead(1);
        tableOfInputs();
        begin();
    }

    @Override
    protected GroupTenure led(int epoch, List<List<CoordinatorRecord>> log, long committed) {
        return new GroupTenure(epoch, log, committed, image, this::append);
    }

    private static String topic(int partition) {
        return "t" + partition;
    }

    private static Uuid id(int partition) {
        return new Uuid(1, partition);
    }

    private static String name(int member) {
        return "m" + member;
    }

    // --- Inputs

    private void tableOfInputs() {
        inputs.put("GroupHeartbeat", in -> () -> heartbeat(in));
        inputs.put("GroupSessionTimeout", in -> tenure.timer(
                GroupMetadataManager.groupSessionTimeoutKey(GROUP, name(in.get("member").asInt()))));
        // Until 4.0 of consumer groups only.
        String toRebalance = Mirror.has(GroupMetadataManager.class, "groupRebalanceTimeoutKey", 2)
                ? "groupRebalanceTimeoutKey" : "consumerGroupRebalanceTimeoutKey";
        inputs.put("RebalanceTimeout", in -> tenure.timer(
                Mirror.called(GroupMetadataManager.class, toRebalance, GROUP, name(in.get("member").asInt()))));
        inputs.put("GroupCommit", in -> commits());
        inputs.put("MoveCoordinator", this::moves);
    }

    private void heartbeat(JsonNode in) {
        int member = in.get("source").asInt();
        Set<String> given = new HashSet<>();
        in.get("given").forEach(each -> given.add(each.asText()));
        ConsumerGroupHeartbeatRequestData request = new ConsumerGroupHeartbeatRequestData()
                .setGroupId(GROUP).setMemberId(name(member)).setMemberEpoch(kafkas(in.get("epoch").asInt()))
                .setInstanceId(instances.get(member));
        if (given.contains("RebalanceTimeout")) {
            request.setRebalanceTimeoutMs(REBALANCE_MS);
        }
        if (given.contains("Subscription")) {
            List<String> topics = new ArrayList<>();
            in.get("subscribed").forEach(each -> topics.add(topic(each.asInt())));
            request.setSubscribedTopicNames(topics);
        }
        if (given.contains("Owned")) {
            List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned = new ArrayList<>();
            in.get("owned").forEach(each -> owned.add(new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                    .setTopicId(id(each.asInt())).setPartitions(List.of(0))));
            request.setTopicPartitions(owned);
        }
        ask(in, () -> service(in, request));
    }

    private void service(JsonNode in, ConsumerGroupHeartbeatRequestData request) {
        tenure.service.consumerGroupHeartbeat(context(), request).whenComplete((answer, error) -> {
            Errors code = error != null ? Errors.forException(error) : Errors.forCode(answer.errorCode());
            // A group that is not there is one without members, whom who leaves it is not among.
            if (code == Errors.GROUP_ID_NOT_FOUND && request.memberEpoch() < 0) {
                code = Errors.UNKNOWN_MEMBER_ID;
                answer.setErrorCode(code.code());
            }
            if (TOLD.contains(code)) {
                sent.add(new Message(in.get("source").asInt(), Json.text(form(in, answer)), null));
            } else if (!UNHEARD.contains(code)) {
                thrown = code.exception();
            }
        });
    }

    private static RequestContext context() {
        ApiKeys api = ApiKeys.CONSUMER_GROUP_HEARTBEAT;
        return new RequestContext(new RequestHeader(api, api.latestVersion(), "c", 0), "1",
                InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS,
                ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT,
                ClientInformation.EMPTY, false);
    }

    // --- The row

    /** Epochs begin with 1, as in Kafka since 4.3; before, with 0. What is no epoch is the same. */
    private int epoch(int kafkas) {
        return kafkas > 0 ? kafkas + FIRST_EPOCH - tenure.firstEpoch : kafkas;
    }

    private int kafkas(int epoch) {
        return epoch > 0 ? epoch - FIRST_EPOCH + tenure.firstEpoch : epoch;
    }

    @Override
    protected Map<String, Object> form(JsonNode asked, Object response) {
        ConsumerGroupHeartbeatResponseData answer = (ConsumerGroupHeartbeatResponseData) response;
        List<Integer> assigned = answer.assignment() == null ? List.of() : answer.assignment().topicPartitions()
                .stream().map(each -> number(each.topicId())).sorted().toList();
        return Json.fields("type", "GroupHeartbeatResponse", "source", ID, "destination", asked.get("source"),
                "correlation", asked.get("correlation"), "error", Errors.forCode(answer.errorCode()).name(),
                "epoch", epoch(answer.memberEpoch()), "tells", answer.assignment() != null, "assigned", assigned);
    }

    private static int number(Uuid topic) {
        return (int) topic.getLeastSignificantBits();
    }

    @Override
    protected Map<String, Object> state(long offset, int mark) {
        ConsumerGroup group = null;
        if (tenure.isActive()) {
            Object manager = Mirror.get(tenure.shard(), "groupMetadataManager");
            group = Mirror.<TimelineHashMap<String, ConsumerGroup>>get(manager, "groups").get(GROUP, offset);
        }
        ConsumerGroup known = group;
        Map<Integer, Object> byMember = new TreeMap<>();
        members.forEach(each -> byMember.put(each, member(known, each, offset)));
        return Json.fields("epoch", known == null ? FIRST_EPOCH
                        : epoch(Mirror.<TimelineInteger>get(known, "groupEpoch").get(offset)),
                "targetEpoch", known == null ? FIRST_EPOCH : epoch(targetEpoch(known, offset)),
                "members", byMember, "held", known == null ? List.of() : held(known, offset), "grown", List.of(),
                "gone", List.of());
    }

    /** With what is said of the assignment besides, since 4.3. */
    private static int targetEpoch(ConsumerGroup group, long offset) {
        return Mirror.has(group, "targetAssignmentEpoch")
                ? Mirror.<TimelineInteger>get(group, "targetAssignmentEpoch").get(offset)
                : Mirror.<Integer>call(Mirror.<TimelineObject<?>>get(group, "targetAssignmentMetadata").get(offset),
                        "assignmentEpoch");
    }

    private List<Integer> held(ConsumerGroup group, long offset) {
        TimelineHashMap<Uuid, TimelineHashMap<Integer, Integer>> epochs = Mirror.get(group, "currentPartitionEpoch");
        return partitions.stream().filter(each -> epochs.get(id(each), offset) != null
                && epochs.get(id(each), offset).get(0, offset) != null).toList();
    }

    private Map<String, Object> member(ConsumerGroup group, int member, long offset) {
        ConsumerGroupMember known = group == null ? null
                : Mirror.<TimelineHashMap<String, ConsumerGroupMember>>get(group, "members").get(name(member), offset);
        if (known == null) {
            return Json.fields("state", "None", "epoch", 0, "previousEpoch", -1, "subscribed", List.of(),
                    "target", List.of(), "assigned", List.of(), "pending", List.of());
        }
        Assignment target = Mirror.<TimelineHashMap<String, Assignment>>get(group, "targetAssignment")
                .get(name(member), offset);
        return Json.fields("state", switch (known.state()) {
            case STABLE -> "Stable";
            case UNREVOKED_PARTITIONS -> "Unrevoked";
            case UNRELEASED_PARTITIONS -> "Unreleased";
            default -> known.state().name();
        }, "epoch", epoch(known.memberEpoch()), "previousEpoch", epoch(known.previousMemberEpoch()),
                "subscribed", known.subscribedTopicNames().stream().map(each -> Integer.valueOf(each.substring(1)))
                        .sorted().toList(),
                "target", numbers(target == null ? List.of() : target.partitions().keySet()),
                "assigned", numbers(known.assignedPartitions().keySet()),
                "pending", numbers(known.partitionsPendingRevocation().keySet()));
    }

    private static List<Integer> numbers(Collection<Uuid> topics) {
        return topics.stream().map(Coordinator::number).sorted().toList();
    }
}
