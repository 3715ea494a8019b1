package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Machine;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/**
 * The controller at a voter. What its managers make is replayed at once and goes into the quorum's log, in
 * the bytes of Kafka's serde; what others made is replayed when the voter knows it to be committed. Who is
 * deposed goes back to what is committed, as QuorumController does when it renounces.
 */
public final class VoterController extends Controller implements Machine {
    private static final MetadataRecordSerde SERDE = MetadataRecordSerde.INSTANCE;

    /** What anybody knows to be committed, by offset. */
    private final Map<Long, ApiMessage> log;
    /** What the decision that is being made says, not yet appended. */
    private final List<ApiMessageAndVersion> written = new ArrayList<>();
    /** How far this voter knows the metadata to be committed. */
    private long stands;
    private boolean leads;
    private boolean active;

    public VoterController(Uuid topicId, TopicPartition topic, List<Integer> replicas, JsonNode constants,
                           Map<Long, ApiMessage> log) {
        super(topicId, topic, replicas, constants);
        this.log = log;
        inputs.put("ControllerFailover", in -> leads && !active ? this::activate : null);
        begins();
    }

    private void activate() {
        cluster.activate();
        active = true;
    }

    @Override
    public void begins() {
        committed.clear();
        committed.put(0L, first());
        stands = committed.size();
        leads = false;
        goBack();
    }

    private void goBack() {
        active = false;
        written.clear();
        load();
        offset = stands;
    }

    @Override
    void keep(long at, ApiMessageAndVersion record) {
        written.add(record);
    }

    @Override
    public String behind() {
        StringBuilder said = new StringBuilder();
        for (ApiMessageAndVersion each : written) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer bytes = ByteBuffer.allocate(SERDE.recordSize(each, cache));
            SERDE.write(each, cache, new ByteBufferAccessor(bytes));
            said.append(' ').append(Base64.getEncoder().encodeToString(bytes.array()));
        }
        written.clear();
        return said.toString();
    }

    @Override
    public void committed(String record) {
        String[] parts = record.split(" ");
        for (int i = 1; i < parts.length; i++) {
            ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(parts[i]));
            ApiMessage message = SERDE.read(new ByteBufferAccessor(bytes), bytes.remaining()).message();
            committed.put(stands, List.of(message));
            log.putIfAbsent(stands, message);
            if (stands == offset) {  // none of its own, which it has replayed
                replay(message, offset++);
            }
            stands++;
        }
    }

    @Override
    public void leads(boolean leads) {
        this.leads = leads;
        if (active && !leads) {
            goBack();
        }
    }
}
