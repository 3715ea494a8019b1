package org.apache.kafka.coordinator.common.runtime;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Message;
import kraftcheck.witness.Mirror;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateResponseData;
import org.apache.kafka.common.message.WriteShareGroupStateRequestData;
import org.apache.kafka.common.message.WriteShareGroupStateResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.share.ShareCoordinatorConfig;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.share.ShareCoordinatorShard;
import org.apache.kafka.coordinator.share.ShareGroupOffset;
import org.apache.kafka.coordinator.share.metrics.ShareCoordinatorMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.fetch.RecordState;
import org.apache.kafka.server.share.persister.Persisters;
import org.apache.kafka.timeline.TimelineHashMap;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The share coordinator: ShareCoordinatorShard in its runtime. Its one key is initialized when the run
 * begins. Kafka has no number of an incarnation; a state has that of the read that was recorded last.
 */
public final class ShareStates extends LoggedNode<Tenure<ShareCoordinatorShard>> {
    private static final int ID = 0;
    private static final int LEADER = -2;
    private static final int FIRST_STATE_EPOCH = 1;
    private static final String GROUP = "g";
    private static final Uuid TOPIC = new Uuid(1, 1);
    private static final SharePartitionKey KEY = SharePartitionKey.getInstance(GROUP, TOPIC, 0);
    private static final TopicPartition PARTITION = new TopicPartition(Topic.SHARE_GROUP_STATE_TOPIC_NAME, 0);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    /** For the persister such an answer is as if none had come: it asks again. */
    private static final Set<Errors> UNHEARD = EnumSet.of(Errors.NOT_COORDINATOR,
            Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS);

    private final int records;
    private final MetadataImage image;
    private final MetadataDelta delta;
    /** The incarnation that reads in this step; 0: none does. */
    private int reading;
    private final Persisters persisters;

    public ShareStates(JsonNode constants, Persisters persisters) {
        super(ID, constants.get("maxCoordinators").asInt());
        this.persisters = persisters;
        records = constants.get("records").asInt();
        delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        delta.replay(new TopicRecord().setName("t").setTopicId(TOPIC));
        delta.replay(new PartitionRecord().setTopicId(TOPIC).setPartitionId(0)
                .setReplicas(List.of(0)).setIsr(List.of(0)).setLeader(0));
        image = delta.apply(MetadataProvenance.EMPTY);
        inputs.put("ReadShareGroupState", in -> taken(in, part -> read(in, part)));
        inputs.put("WriteShareGroupState", in -> taken(in, part -> write(in, part)));
        inputs.put("StateCommit", in -> commits());
        inputs.put("MoveShareCoordinator", this::moves);
        lead(1);
        settle(this::initialize);
        commit();
        begin();
    }

    @Override
    protected Tenure<ShareCoordinatorShard> led(int epoch, List<List<CoordinatorRecord>> log, long committed) {
        var given = new AbstractConfig(ShareCoordinatorConfig.CONFIG_DEF, Map.of(), false);
        var found = new Tenure<ShareCoordinatorShard>(PARTITION, log, committed,
                () -> new ShareCoordinatorShard.Builder(new ShareCoordinatorConfig(given)),
                new ShareCoordinatorMetrics(new Metrics()), new ShareCoordinatorRecordSerde(),
                TIMEOUT.toMillis(), this::append);
        found.lead(epoch, delta, image);
        return found;
    }

    @Override
    protected int mark(int before) {
        return Math.max(reading, before);
    }

    // --- Requests

    @Override
    protected Runnable delivery(Message message) {
        JsonNode in = Json.read(message.text());
        return inputs.get(in.get("type").asText()).apply(in);
    }

    private void initialize() {
        var asked = new InitializeShareGroupStateRequestData().setGroupId(GROUP).setTopics(List.of(
                new InitializeShareGroupStateRequestData.InitializeStateData().setTopicId(TOPIC).setPartitions(List.of(
                        new InitializeShareGroupStateRequestData.PartitionData().setPartition(0)
                                .setStateEpoch(FIRST_STATE_EPOCH).setStartOffset(1)))));
        tenure.call(() -> scheduled("initialize-share-group-state", shard -> shard.initializeState(asked)), event -> { });
    }

    /** What the persister has sent; null: nothing that reads so. */
    private Runnable taken(JsonNode in, Consumer<Persisters.Part> call) {
        Persisters.Part part = persisters.take(in.toString());
        return part == null ? null : () -> call.accept(part);
    }

    private void read(JsonNode in, Persisters.Part part) {
        reading = in.get("incarnation").asInt();
        var asked = new ReadShareGroupStateRequestData().setGroupId(GROUP).setTopics(List.of(
                new ReadShareGroupStateRequestData.ReadStateData().setTopicId(TOPIC).setPartitions(List.of(
                        (ReadShareGroupStateRequestData.PartitionData) part.data))));
        ask(in, () -> answered(in, part, scheduled("read-update-leader-epoch-state",
                shard -> shard.readStateAndMaybeUpdateLeaderEpoch(asked))));
        reading = 0;
    }

    private void write(JsonNode in, Persisters.Part part) {
        var asked = new WriteShareGroupStateRequestData().setGroupId(GROUP).setTopics(List.of(
                new WriteShareGroupStateRequestData.WriteStateData().setTopicId(TOPIC).setPartitions(List.of(
                        (WriteShareGroupStateRequestData.PartitionData) part.data))));
        ask(in, () -> answered(in, part, scheduled("write-share-group-state", shard -> shard.writeState(asked))));
    }

    private <R> CompletableFuture<R> scheduled(String name,
            CoordinatorRuntime.CoordinatorWriteOperation<ShareCoordinatorShard, R, CoordinatorRecord> operation) {
        return Mirror.has(tenure.runtime, "scheduleWriteOperation", 3)
                ? Mirror.call(tenure.runtime, "scheduleWriteOperation", name, PARTITION, operation)
                : Mirror.call(tenure.runtime, "scheduleWriteOperation", name, PARTITION, TIMEOUT, operation);
    }

    private void answered(JsonNode in, Persisters.Part part, CompletableFuture<?> answer) {
        answer.whenComplete((response, error) -> {
            if (error == null) {
                if (response instanceof ReadShareGroupStateResponseData read) {
                    split(read.results().get(0).partitions().get(0));
                }
                String told = Json.text(form(in, response));
                part.answered(told, (ApiMessage) response);
                sent.add(new Message(LEADER, told, null));
            } else if (!UNHEARD.contains(Errors.forException(error))) {
                thrown = error;
            }
        });
    }

    /** A batch of what is loaded is one record's, as a batch of the log is. */
    private static void split(ReadShareGroupStateResponseData.PartitionResult found) {
        List<ReadShareGroupStateResponseData.StateBatch> cells = new ArrayList<>();
        for (var each : found.stateBatches()) {
            for (long offset = each.firstOffset(); offset <= each.lastOffset(); offset++) {
                cells.add(each.duplicate().setFirstOffset(offset).setLastOffset(offset));
            }
        }
        found.setStateBatches(cells);
    }

    @Override
    protected Map<String, Object> form(JsonNode in, Object response) {
        if (response instanceof WriteShareGroupStateResponseData written) {
            Errors error = Errors.forCode(written.results().get(0).partitions().get(0).errorCode());
            return Json.fields("type", "WriteShareGroupStateResponse", "source", ID, "destination", LEADER,
                    "error", error.name(), "write", in);
        }
        var found = ((ReadShareGroupStateResponseData) response).results().get(0).partitions().get(0);
        List<Object> cells = noCells();
        boolean told = found.errorCode() == Errors.NONE.code();
        found.stateBatches().forEach(each -> put(cells, each.firstOffset(), each.lastOffset(), each.deliveryState(),
                each.deliveryCount()));
        return Json.fields("type", "ReadShareGroupStateResponse", "source", ID, "destination", LEADER,
                "error", Errors.forCode(found.errorCode()).name(), "incarnation", in.get("incarnation"),
                "stateEpoch", told ? found.stateEpoch() : FIRST_STATE_EPOCH,
                "start", told ? Math.max(found.startOffset(), 0) : 1, "cells", cells);
    }

    // --- The state

    @Override
    protected Map<String, Object> state(long offset, int mark) {
        Object shard = tenure.shard();
        ShareGroupOffset found =
                Mirror.<TimelineHashMap<SharePartitionKey, ShareGroupOffset>>get(shard, "shareStateMap").get(KEY, offset);
        List<Object> cells = noCells();
        found.stateBatches().forEach(each -> put(cells, each.firstOffset(), each.lastOffset(), each.deliveryState(),
                each.deliveryCount()));
        return Json.fields("start", Math.max(found.startOffset(), 0),
                "stateEpoch", epoch(shard, "stateEpochMap", offset),
                "leaderEpoch", epoch(shard, "leaderEpochMap", offset), "incarnation", mark, "cells", cells);
    }

    private static int epoch(Object shard, String map, long offset) {
        return Mirror.<TimelineHashMap<SharePartitionKey, Integer>>get(shard, map).get(KEY, offset);
    }

    private List<Object> noCells() {
        return new ArrayList<>(Collections.nCopies(records, Json.fields("state", "None", "count", 0)));
    }

    private static void put(List<Object> cells, long first, long last, byte state, int count) {
        String name = RecordState.forId(state).name();
        for (long offset = first; offset <= last; offset++) {
            cells.set((int) offset - 1, Json.fields(
                    "state", name.charAt(0) + name.substring(1).toLowerCase(), "count", count));
        }
    }
}
