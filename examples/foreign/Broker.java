// Two brokers that hold one partition, leading it in turn, and the trace of what they do for
// `kraftcheck conform` (docs/foreign-traces.md).
//
//     java Broker.java                     full rows
//     java Broker.java --partial           what such brokers might log in production
//     java Broker.java --bug               a leader that does not wait for its follower: what it
//                                          has appended itself counts as committed
//
// A leader appends, serves fetches and advances its high watermark; a follower fetches, and cuts
// its log where it parts from the leader's (KIP-101, KIP-279). Metadata comes from a controller
// that is not in the trace. Needs Java 17, no library and no build.

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public class Broker {
    static final int NONE = -1;
    static final int CLIENTS = -3;
    static final int[] BROKERS = {1, 2};
    static final int FETCH_MAX_RECORDS = 2;

    record Entry(int epoch, int value) {}

    record CacheEntry(int epoch, int start) {}

    record Partition(int leader, int leaderEpoch, int partitionEpoch) {}

    record Fetch(int source, int destination, int epoch, int fetchOffset, int lastFetchedEpoch) {}

    record Fetched(
            Fetch request, String error, List<Entry> records, CacheEntry diverging,
            int highWatermark) {}

    // --- The state of a broker, as far as this partition goes

    final int me;
    private final int other;
    private final boolean countsOnlyItself;
    private Partition partition = new Partition(NONE, 0, 0);
    private int imageOffset = 1;
    private String role = "Follower";
    private List<Entry> log = new ArrayList<>();
    private int flushed = 0;
    private List<CacheEntry> epochCache = new ArrayList<>();
    private int highWatermark = 0;
    private int epochStart = NONE;
    private int followersEnd = NONE;
    private int followersBrokerEpoch = NONE;
    private boolean followerCaughtUp = false;
    private int lastFetchedEpoch = NONE;
    Fetch inFlight;

    private final List<Map<String, Object>> sent = new ArrayList<>();
    Fetched answer;

    Broker(int me, boolean countsOnlyItself) {
        this.me = me;
        this.other = me == BROKERS[0] ? BROKERS[1] : BROKERS[0];
        this.countsOnlyItself = countsOnlyItself;
    }

    // --- What it does with its inputs

    void onMetadata(Partition next) {
        boolean leads = next.leader() == me;
        boolean newEpoch = next.leaderEpoch() > partition.leaderEpoch();
        imageOffset++;
        partition = next;
        role = leads ? "Leader" : "Follower";
        followersEnd = NONE;
        followersBrokerEpoch = NONE;
        followerCaughtUp = leads;
        if (leads && newEpoch) {
            epochStart = log.size();
            lastFetchedEpoch = NONE;
            epochBegins(next.leaderEpoch(), log.size());
        } else if (newEpoch) {
            epochStart = NONE;
            lastFetchedEpoch = lastEpoch();
        }
    }

    void onProduce(Map<String, Object> request, int value) {
        int offset = log.size();
        log.add(new Entry(partition.leaderEpoch(), value));
        advance();
        sent.add(json("type", "ProduceResponse", "source", me, "destination", CLIENTS,
                "request", request, "error", "NONE", "offset", offset));
    }

    void onSendFetch() {
        inFlight = new Fetch(
                me, partition.leader(), partition.leaderEpoch(), log.size(), lastFetchedEpoch);
        sent.add(toJson(inFlight));
    }

    void onFetch(Fetch m) {
        if (m.epoch() != partition.leaderEpoch()) {
            boolean old = m.epoch() < partition.leaderEpoch();
            String error = old ? "FENCED_LEADER_EPOCH" : "UNKNOWN_LEADER_EPOCH";
            reply(new Fetched(m, error, List.of(), null, highWatermark));
            return;
        }
        CacheEntry end = endOf(m.lastFetchedEpoch());
        boolean diverges = m.lastFetchedEpoch() != NONE
                && (end.epoch() < m.lastFetchedEpoch() || end.start() < m.fetchOffset());
        if (diverges) {
            reply(new Fetched(m, "NONE", List.of(), end, highWatermark));
            return;
        }
        int until = Math.min(log.size(), m.fetchOffset() + FETCH_MAX_RECORDS);
        List<Entry> records = List.copyOf(log.subList(m.fetchOffset(), until));
        // The follower is told the high watermark as it was before this fetch.
        reply(new Fetched(m, "NONE", records, null, highWatermark));
        followerCaughtUp |= m.fetchOffset() >= log.size();
        followersBrokerEpoch = 0;
        followersEnd = m.fetchOffset();
        advance();
    }

    void onFetched(Fetched m) {
        boolean answersWhatIWouldAsk = role.equals("Follower")
                && m.request().epoch() == partition.leaderEpoch()
                && m.request().fetchOffset() == log.size();
        inFlight = null;
        if (!answersWhatIWouldAsk || !m.error().equals("NONE")) {
            return;
        }
        if (m.diverging() != null) {
            truncate(Math.min(m.diverging().start(), endOf(m.diverging().epoch()).start()));
            return;
        }
        for (Entry entry : m.records()) {
            epochBegins(entry.epoch(), log.size());
            log.add(entry);
            lastFetchedEpoch = entry.epoch();
        }
        highWatermark = Math.min(m.highWatermark(), log.size());
    }

    void onFlush() {
        flushed = log.size();
    }

    // A record is committed when all replicas in sync hold it.
    private void advance() {
        int held = countsOnlyItself ? log.size() : Math.min(log.size(), followersEnd);
        highWatermark = Math.max(highWatermark, held);
    }

    private void truncate(int offset) {
        log = new ArrayList<>(log.subList(0, offset));
        flushed = Math.min(flushed, offset);
        highWatermark = Math.min(highWatermark, offset);
        epochCache.removeIf(entry -> entry.start() >= offset);
        lastFetchedEpoch = lastEpoch();
    }

    private void epochBegins(int epoch, int start) {
        if (lastEpoch() != epoch) {
            epochCache.removeIf(entry -> entry.start() >= start);
            epochCache.add(new CacheEntry(epoch, start));
        }
    }

    // The last epoch up to this one, and where it ends in this log.
    private CacheEntry endOf(int epoch) {
        int found = epoch;
        for (CacheEntry entry : epochCache) {
            if (entry.epoch() > epoch) {
                return new CacheEntry(found, entry.start());
            }
            found = entry.epoch();
        }
        return new CacheEntry(found, log.size());
    }

    private int lastEpoch() {
        return epochCache.isEmpty() ? NONE : epochCache.get(epochCache.size() - 1).epoch();
    }

    private void reply(Fetched m) {
        answer = m;
        sent.add(toJson(m));
    }

    // --- The trace: what stands in its rows, by the names of the specification

    Map<String, Object> fullRow() {
        boolean leads = role.equals("Leader");
        Map<String, Object> registered = json("epoch", 0, "fenced", false, "stopping", false);
        return json(
                "status", "Running", "incarnation", 0, "brokerEpoch", 0, "previousEpoch", NONE,
                "cleanShutdown", NONE,
                "image", json("offset", imageOffset, "brokers", byBroker(registered, registered),
                        "partition", toJson(partition)),
                "controllerRequest", json("type", "None"), "alterRequest", json("type", "None"),
                "log", records(log), "logStart", 0, "flushed", flushed, "corrupt", NONE,
                "epochCache", cache(), "checkpoint", 0, "producers", List.of(),
                "highWatermark", highWatermark, "role", role, "leader", partition.leader(),
                "leaderEpoch", partition.leaderEpoch(),
                "partitionEpoch", partition.partitionEpoch(), "epochStart", epochStart,
                "isr", leads ? List.of(1, 2) : List.of(),
                "pending", json("kind", "None", "isr", List.of(), "refused", false),
                "remotes", byBroker(remote(1), remote(2)), "parked", List.of(),
                "lastFetchedEpoch", lastFetchedEpoch,
                "fetching", inFlight == null ? List.of() : List.of(toJson(inFlight)));
    }

    // No log and no epochs of it: kraftcheck works out what they must have been.
    Map<String, Object> loggedRow() {
        return json(
                "role", role, "leaderEpoch", partition.leaderEpoch(),
                "highWatermark", highWatermark);
    }

    private Map<String, Object> remote(int broker) {
        boolean known = broker == other;
        return json(
                "endOffset", known ? followersEnd : NONE,
                "brokerEpoch", known ? followersBrokerEpoch : NONE,
                "caughtUp", known && followerCaughtUp);
    }

    private List<Object> cache() {
        List<Object> entries = new ArrayList<>();
        epochCache.forEach(e -> entries.add(json("epoch", e.epoch(), "start", e.start())));
        return entries;
    }

    static List<Object> records(List<Entry> log) {
        List<Object> records = new ArrayList<>();
        log.forEach(e -> records.add(json(
                "epoch", e.epoch(), "value", e.value(), "producer", NONE, "producerEpoch", NONE,
                "sequence", NONE, "first", NONE, "last", NONE)));
        return records;
    }

    static Map<String, Object> byBroker(Object first, Object second) {
        return json("1", first, "2", second);
    }

    static Map<String, Object> toJson(Partition p) {
        return json("leader", p.leader(), "leaderEpoch", p.leaderEpoch(),
                "partitionEpoch", p.partitionEpoch(), "isr", List.of(1, 2), "elr", List.of(),
                "lastKnownLeader", NONE, "recovering", false);
    }

    static Map<String, Object> toJson(Fetch m) {
        return json("type", "ReplicaFetchRequest", "source", m.source(),
                "destination", m.destination(), "brokerEpoch", 0, "epoch", m.epoch(),
                "fetchOffset", m.fetchOffset(), "lastFetchedEpoch", m.lastFetchedEpoch());
    }

    static Map<String, Object> toJson(Fetched m) {
        boolean diverges = m.diverging() != null;
        return json("type", "ReplicaFetchResponse", "source", m.request().destination(),
                "destination", m.request().source(), "request", toJson(m.request()),
                "error", m.error(), "records", records(m.records()),
                "diverging", json("epoch", diverges ? m.diverging().epoch() : NONE,
                        "endOffset", diverges ? m.diverging().start() : NONE),
                "highWatermark", m.highWatermark(), "logStart", 0, "endOffset", NONE);
    }

    // --- The recorder: one line for each step

    private static final class Recorder {
        final boolean partial;
        int values = 0;

        Recorder(boolean partial) {
            this.partial = partial;
            System.out.println(write(json(
                    "format", "kraftcheck steps 1",
                    "constants", json("protocol", "partition", "replicas", List.of(1, 2),
                            "minInsyncReplicas", 2, "fetchMaxRecords", FETCH_MAX_RECORDS,
                            "elrEnabled", true, "uncleanElection", false),
                    "rows", partial ? "partial" : "full",
                    "producer", "Broker.java")));
        }

        void step(Broker broker, Map<String, Object> input, Runnable handler) {
            Map<String, Object> before = broker.fullRow();
            broker.sent.clear();
            handler.run();
            if (!partial) {
                System.out.println(write(json(
                        "node", broker.me, "before", before, "input", input,
                        "after", broker.fullRow(), "sent", new ArrayList<>(broker.sent),
                        "ignored", "")));
                return;
            }
            // Kafka matches responses to requests by a number, so a log has no request in them.
            List<Object> sent = new ArrayList<>();
            broker.sent.forEach(message -> sent.add(without(message, "request")));
            System.out.println(write(json(
                    "node", broker.me, "input", without(input, "request"),
                    "after", broker.loggedRow(), "sent", sent)));
        }

        // --- What happens around the brokers

        void elect(Broker broker, Partition next) {
            List<Object> records = List.of(json("kind", "Partition", "partition", toJson(next)));
            Map<String, Object> input = json(
                    "type", "MetadataUpdate", "offset", broker.imageOffset, "records", records);
            step(broker, input, () -> broker.onMetadata(next));
        }

        void produce(Broker leader) {
            int value = ++values;
            Map<String, Object> request = json(
                    "type", "ProduceRequest", "source", CLIENTS, "destination", leader.me,
                    "client", 1, "acks", 1, "values", List.of(value), "producer", NONE,
                    "producerEpoch", NONE, "sequence", NONE);
            step(leader, request, () -> leader.onProduce(request, value));
        }

        void fetch(Broker follower, Broker leader) {
            step(follower, json("type", "SendReplicaFetch"), follower::onSendFetch);
            Fetch asked = follower.inFlight;
            step(leader, toJson(asked), () -> leader.onFetch(asked));
            Fetched answer = leader.answer;
            step(follower, toJson(answer), () -> follower.onFetched(answer));
        }

        void flush(Broker broker) {
            step(broker, json("type", "BrokerFlush"), broker::onFlush);
        }
    }

    static Map<String, Object> without(Map<String, Object> message, String name) {
        Map<String, Object> rest = new LinkedHashMap<>(message);
        rest.remove(name);
        return rest;
    }

    static Map<String, Object> json(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) {
            map.put((String) pairs[at], pairs[at + 1]);
        }
        return map;
    }

    static String write(Object value) {
        StringBuilder text = new StringBuilder();
        if (value instanceof Map<?, ?> map) {
            map.forEach((name, part) -> text.append(text.isEmpty() ? "" : ",")
                    .append('"').append(name).append("\":").append(write(part)));
            return "{" + text + "}";
        }
        if (value instanceof List<?> list) {
            list.forEach(part -> text.append(text.isEmpty() ? "" : ",").append(write(part)));
            return "[" + text + "]";
        }
        return value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
    }

    public static void main(String[] arguments) {
        List<String> asked = List.of(arguments);
        Broker one = new Broker(1, asked.contains("--bug"));
        Broker two = new Broker(2, asked.contains("--bug"));
        Recorder recorder = new Recorder(asked.contains("--partial"));
        Partition led = new Partition(1, 1, 1);
        recorder.elect(one, led);
        recorder.elect(two, led);
        for (int fetches = 0; fetches < 3; fetches++) {
            recorder.produce(one);
            recorder.fetch(two, one);
        }
        recorder.fetch(two, one);
        recorder.flush(two);
        // These two the follower never sees: it leads next, and they are cut.
        recorder.produce(one);
        recorder.produce(one);
        led = new Partition(2, 2, 2);
        recorder.elect(two, led);
        recorder.produce(two);
        recorder.elect(one, led);
        for (int fetches = 0; fetches < 3; fetches++) {
            recorder.fetch(one, two);
        }
    }
}
