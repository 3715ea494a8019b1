package org.apache.kafka.coordinator.common.runtime;

import com.fasterxml.jackson.databind.JsonNode;
import kraftcheck.witness.Json;
import kraftcheck.witness.Mirror;
import kraftcheck.witness.Node;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A coordinator, whichever broker it is: one after the other leads its partition, each with the classes
 * that it has in Kafka (Tenure). The partition beneath is the host's: what is committed, what the leader
 * has besides, and what others who may lead have.
 */
abstract class LoggedNode<T extends Tenure<?>> extends Node {
    protected T tenure;
    private final int maxTenures;
    private final List<Batch> committed = new ArrayList<>();
    private List<Batch> leader = new ArrayList<>();
    private List<List<Batch>> tails = List.of(List.of());
    /** Who asked for an operation of Kafka's queue. */
    private final Map<Object, JsonNode> asked = new IdentityHashMap<>();

    /** What is written for an operation. state: what it was made into, as it was read then. */
    private static final class Batch {
        final List<CoordinatorRecord> records;
        final int mark;
        Map<String, Object> state;

        Batch(List<CoordinatorRecord> records, int mark) {
            this.records = records;
            this.mark = mark;
        }
    }

    protected LoggedNode(int id, int maxTenures) {
        super(id);
        this.maxTenures = maxTenures;
        fields.put("leaderEpoch", () -> tenure.epoch());
        fields.put("log", this::log);
        fields.put("waiting", this::waiting);
    }

    /** The broker that leads, in that epoch. log: its batches, of which so many records are committed. */
    protected abstract T led(int epoch, List<List<CoordinatorRecord>> log, long committed);

    /** What the records before an offset have made, of which there is a snapshot; and with what mark. */
    protected abstract Map<String, Object> state(long offset, int mark);

    /** An answer in the specification's words. */
    protected abstract Map<String, Object> form(JsonNode asked, Object response);

    /** What a batch is marked with that is written in this step, behind one with the mark `before`. */
    protected int mark(int before) {
        return before;
    }

    protected final void lead(int epoch) {
        tenure = led(epoch, Stream.concat(committed.stream(), leader.stream()).map(each -> each.records).toList(),
                sizeOf(committed));
    }

    /** A request comes. */
    protected final void ask(JsonNode in, Runnable call) {
        tenure.call(call, event -> asked.put(event, in));
    }

    // --- The partition

    private static long sizeOf(List<Batch> batches) {
        return batches.stream().mapToLong(each -> each.records.size()).sum();
    }

    private static int markOf(List<Batch> batches, int before) {
        return batches.isEmpty() ? before : batches.get(batches.size() - 1).mark;
    }

    protected final void append(List<CoordinatorRecord> records) {
        int last = markOf(leader, markOf(committed, 0));
        leader = new ArrayList<>(leader);
        leader.add(new Batch(records, mark(last)));
    }

    /** Of a batch that was written in this step, what the state is now. */
    private void noteAppended() {
        Batch last = leader.isEmpty() ? null : leader.get(leader.size() - 1);
        if (last != null && last.state == null) {
            last.state = state(sizeOf(committed) + sizeOf(leader), last.mark);
            JsonNode form = form(leader);
            List<List<Batch>> longer = new ArrayList<>(tails);
            longer.removeIf(each -> form(each).equals(form));
            longer.add(leader);
            tails = longer;
        }
    }

    /** What commits all; null: there is nothing. */
    protected final Runnable commits() {
        return leader.isEmpty() ? null : this::commit;
    }

    protected final void commit() {
        tenure.commit();
        committed.addAll(leader);
        leader = new ArrayList<>();
        tails = List.of(List.of());
    }

    /** What has another broker lead, with a tail; null: nobody has that. */
    protected final Runnable moves(JsonNode in) {
        List<Batch> tail = tails.stream().filter(each -> form(each).equals(in.get("tail"))).findFirst().orElse(null);
        return tail == null || tenure.epoch() == maxTenures ? null : () -> {
            int epoch = tenure.epoch() + 1;
            tenure.resign(epoch);
            leader = tail;
            lead(epoch);
        };
    }

    @Override
    protected void settle(Runnable call) {
        super.settle(call);
        noteAppended();
    }

    // --- The row

    private Map<String, Object> log() {
        List<Object> uncommitted = new ArrayList<>();
        long at = sizeOf(committed);
        for (Batch each : leader) {
            at += each.records.size();
            uncommitted.add(state(at, each.mark));
        }
        return Json.fields("committed", state(tenure.isActive() ? tenure.committed() : 0, markOf(committed, 0)),
                "leader", uncommitted, "tails", tails.stream().map(LoggedNode::records).toList());
    }

    private static Map<String, Object> records(List<Batch> tail) {
        return Json.fields("records", tail.stream().map(each -> each.state).toList());
    }

    private static JsonNode form(List<Batch> tail) {
        return Json.read(Json.text(records(tail)));
    }

    private List<Object> waiting() {
        Set<Object> found = new LinkedHashSet<>();
        for (Object each : tenure.waiting()) {
            JsonNode in = asked.get(each);
            if (in != null) {
                CoordinatorResult<?, ?> result = Mirror.get(each, "result");
                found.add(form(in, result.response()));
            }
        }
        return List.copyOf(found);
    }
}
