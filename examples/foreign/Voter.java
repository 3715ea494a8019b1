// A voter of a controller quorum that votes, follows and replicates, but never stands itself, and
// the trace of what it does for `kraftcheck conform` (docs/foreign-traces.md).
//
//     java Voter.java                     full rows
//     java Voter.java --partial           what such a voter might log in production
//     java Voter.java --bug               the same voter, which forgets its vote when it restarts
//     java Voter.java --rare-bug          a follower that never grants a pre-vote, which Peers never
//                                         ask one for that has not fetched yet
//     kraftcheck drive quorum --out DIR -- java Voter.java --driven
//                                         peers that seek what was not met, on stdin and stdout
//
// The voter is node 1. Nodes 2 and 3 are played by Peers, which knows nothing of the rules; a trace
// of one node claims nothing about the others. Needs Java 17, no library and no build.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

public class Voter {
    static final int NOBODY = -1;
    static final int UNDEFINED = -1;
    static final int[] VOTERS = {1, 2, 3};
    static final int FETCH_MAX_RECORDS = 2;
    static final int ME = 1;

    record Entry(int epoch, int value) {}

    record CacheEntry(int epoch, int start) {}

    record VoteRequest(
            int source, int epoch, int lastEpoch, int lastOffset, boolean preVote) {}

    record FetchRequest(int destination, int epoch, int fetchOffset, int lastFetchedEpoch) {}

    record FetchResponse(
            int source, int epoch, int leader, List<Entry> records, int divergingEpoch,
            int divergingEndOffset, int highWatermark, FetchRequest request) {}

    // --- The state of the voter. What survives a crash: the log up to `flushed`, the cache of
    // --- epochs, and the file with epoch, leader and vote.

    private String role = "Unattached";
    private int epoch = 0;
    private int leader = NOBODY;
    private int voted = NOBODY;
    private int[] file = {0, NOBODY, NOBODY};
    private List<Entry> log = new ArrayList<>();
    private int flushed = 0;
    private List<CacheEntry> epochCache = new ArrayList<>();
    private int highWatermark = UNDEFINED;
    private boolean hasFetched = false;
    private final String[] connections = {"Ready", "Ready", "Ready"};
    private FetchRequest inFlight;
    private final boolean forgetsVote;
    private final boolean refusesPreVotes;

    private final List<Map<String, Object>> sent = new ArrayList<>();
    private String ignored = "";

    Voter(List<String> options) {
        forgetsVote = options.contains("--bug");
        refusesPreVotes = options.contains("--rare-bug");
    }

    // --- What it does with its inputs

    void onVoteRequest(VoteRequest m) {
        String error = voteError(m);
        boolean granted = false;
        if (error.equals("NONE")) {
            if (m.epoch() > epoch) {
                enter("Unattached", m.epoch(), NOBODY);
            }
            granted = m.preVote() ? grantsPreVote(m) : grantsVote(m);
            if (granted && !m.preVote()) {
                voted = m.source();
            }
        }
        send("VoteResponse", m.source(), json(
                "error", error, "epoch", epoch, "leader", leader, "granted", granted,
                "request", toJson(m)));
        finish();
    }

    private String voteError(VoteRequest m) {
        boolean impossible = m.lastOffset() < 0 || m.lastEpoch() < 0 || m.lastEpoch() > m.epoch()
                || (!m.preVote() && m.lastEpoch() == m.epoch());
        if (impossible) {
            return "INVALID_REQUEST";
        }
        return m.epoch() < epoch ? "FENCED_LEADER_EPOCH" : "NONE";
    }

    private boolean grantsVote(VoteRequest m) {
        if (!role.equals("Unattached")) {
            return false;
        }
        if (voted != NOBODY) {
            return voted == m.source();
        }
        return leader == NOBODY && isUpToDate(m);
    }

    private boolean grantsPreVote(VoteRequest m) {
        boolean refuses = role.equals("Follower") && (hasFetched || refusesPreVotes);
        return !refuses && isUpToDate(m);
    }

    private boolean isUpToDate(VoteRequest m) {
        return m.lastEpoch() > lastEpoch()
                || (m.lastEpoch() == lastEpoch() && m.lastOffset() >= log.size());
    }

    void onBeginQuorumEpoch(int source, int ofEpoch) {
        String error = "NONE";
        if (ofEpoch < epoch) {
            error = "FENCED_LEADER_EPOCH";
        } else if (ofEpoch > epoch || leader == NOBODY) {
            enter("Follower", ofEpoch, source);
        }
        send("BeginQuorumEpochResponse", source, json(
                "error", error, "epoch", epoch, "leader", leader,
                "request", announcement(source, ofEpoch)));
        finish();
    }

    void onFetchResponse(FetchResponse m) {
        boolean awaited = connections[m.source() - 1].equals("Awaiting")
                && m.request().equals(inFlight) && m.source() == leader;
        if (!awaited) {
            ignored = "NotAwaited";
            return;
        }
        connections[m.source() - 1] = "Ready";
        hasFetched = true;
        if (m.divergingEpoch() != UNDEFINED) {
            int offset = truncationOffset(m);
            if (Math.min(m.divergingEndOffset(), offset) < highWatermark) {
                // The leader lacks what is committed: whoever went on would lose it.
                enter("Halted", epoch, leader);
                finish();
                return;
            }
            truncate(offset);
        } else {
            for (Entry entry : m.records()) {
                if (entry.epoch() > epoch) {
                    break;
                }
                if (lastEpoch() != entry.epoch()) {
                    epochCache.add(new CacheEntry(entry.epoch(), log.size()));
                }
                log.add(entry);
            }
            flushed = log.size();
            highWatermark = Math.max(highWatermark, Math.min(m.highWatermark(), log.size()));
        }
        finish();
    }

    // Where this log and the leader's part: at the end of the last epoch that both know.
    private int truncationOffset(FetchResponse m) {
        int own = 0;
        int ownEnd = log.size();
        for (CacheEntry entry : epochCache) {
            if (entry.epoch() <= m.divergingEpoch()) {
                own = entry.epoch();
            } else {
                ownEnd = Math.min(ownEnd, entry.start());
            }
        }
        if (m.divergingEpoch() == 0) {
            return Math.min(m.divergingEndOffset(), log.size());
        }
        return own == m.divergingEpoch() ? Math.min(ownEnd, m.divergingEndOffset()) : ownEnd;
    }

    private void truncate(int offset) {
        log = new ArrayList<>(log.subList(0, offset));
        flushed = Math.min(flushed, offset);
        epochCache.removeIf(entry -> entry.start() >= offset);
    }

    void onRequestTimeout(int peer) {
        connections[peer - 1] = "Ready";
        finish();
    }

    void onCrash() {
        enter("Down", file[0], file[1]);
        voted = file[2];
        highWatermark = UNDEFINED;
    }

    void onRestart() {
        if (forgetsVote) {
            voted = NOBODY;
        }
        if (file[0] < lastEpoch()) {
            enter("Unattached", lastEpoch(), NOBODY);
            voted = NOBODY;
        } else {
            enter(leader == NOBODY ? "Unattached" : "Follower", epoch, leader);
        }
        finish();
    }

    // A vote is for one epoch; whoever enters another one has not voted in it.
    private void enter(String newRole, int newEpoch, int newLeader) {
        if (newEpoch != epoch) {
            voted = NOBODY;
        }
        role = newRole;
        epoch = newEpoch;
        leader = newLeader;
        hasFetched = false;
        java.util.Arrays.fill(connections, "Ready");
    }

    // The end of every step: the file is written, and a follower asks its leader for more.
    private void finish() {
        file = new int[] {epoch, leader, voted};
        if (role.equals("Follower") && connections[leader - 1].equals("Ready")) {
            inFlight = new FetchRequest(leader, epoch, log.size(), lastEpoch());
            connections[leader - 1] = "Awaiting";
            sent.add(toJson(inFlight));
        }
    }

    private int lastEpoch() {
        return epochCache.isEmpty() ? 0 : epochCache.get(epochCache.size() - 1).epoch();
    }

    private void send(String type, int destination, Map<String, Object> fields) {
        Map<String, Object> message =
                json("type", type, "source", ME, "destination", destination);
        message.putAll(fields);
        sent.add(message);
    }

    // --- The trace: what stands in its rows, by the names of the specification

    Map<String, Object> fullRow() {
        return json(
                "role", role, "epoch", epoch, "leader", leader, "voted", voted,
                "quorumState", json("epoch", file[0], "leader", file[1], "voted", file[2]),
                "log", entries(log), "flushed", flushed, "epochCache", cache(),
                "highWatermark", highWatermark, "granted", List.of(), "rejected", List.of(),
                "hasFetched", hasFetched, "epochStart", UNDEFINED,
                "endOffsets", byVoter(UNDEFINED, UNDEFINED, UNDEFINED),
                "fetchedVoters", List.of(), "unacked", List.of(), "successors", List.of(),
                "connections", byVoter((Object[]) connections.clone()),
                "parked", List.of(), "announced", UNDEFINED);
    }

    // Neither the vote nor the log is logged: kraftcheck works out what they must have been.
    Map<String, Object> loggedRow() {
        return json(
                "role", role, "epoch", epoch, "leader", leader, "highWatermark", highWatermark);
    }

    private List<Object> cache() {
        List<Object> entries = new ArrayList<>();
        epochCache.forEach(e -> entries.add(json("epoch", e.epoch(), "start", e.start())));
        return entries;
    }

    static List<Object> entries(List<Entry> log) {
        List<Object> entries = new ArrayList<>();
        log.forEach(e -> entries.add(json("epoch", e.epoch(), "value", e.value())));
        return entries;
    }

    static Map<String, Object> byVoter(Object... entries) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int at = 0; at < VOTERS.length; at++) {
            map.put(String.valueOf(VOTERS[at]), entries[at]);
        }
        return map;
    }

    static Map<String, Object> toJson(VoteRequest m) {
        return json("type", "VoteRequest", "source", m.source(), "destination", ME,
                "epoch", m.epoch(), "lastEpoch", m.lastEpoch(), "lastOffset", m.lastOffset(),
                "preVote", m.preVote());
    }

    static Map<String, Object> toJson(FetchRequest m) {
        return json("type", "FetchRequest", "source", ME, "destination", m.destination(),
                "epoch", m.epoch(), "fetchOffset", m.fetchOffset(),
                "lastFetchedEpoch", m.lastFetchedEpoch());
    }

    static Map<String, Object> toJson(FetchResponse m) {
        return json("type", "FetchResponse", "source", m.source(), "destination", ME,
                "error", "NONE", "epoch", m.epoch(), "leader", m.leader(),
                "records", entries(m.records()),
                "diverging", json("epoch", m.divergingEpoch(),
                        "endOffset", m.divergingEndOffset()),
                "highWatermark", m.highWatermark(), "request", toJson(m.request()));
    }

    static Map<String, Object> announcement(int source, int ofEpoch) {
        return json("type", "BeginQuorumEpochRequest", "source", source, "destination", ME,
                "epoch", ofEpoch);
    }

    // --- The recorder: one line for each step

    private static final class Recorder {
        final Voter voter;
        final boolean partial;

        Recorder(Voter voter, boolean partial) {
            this.voter = voter;
            this.partial = partial;
            System.out.println(write(json(
                    "format", "kraftcheck steps 1",
                    "constants", json("protocol", "quorum", "voters", List.of(1, 2, 3),
                            "fetchMaxRecords", FETCH_MAX_RECORDS),
                    "rows", partial ? "partial" : "full",
                    "producer", "Voter.java")));
        }

        void step(Map<String, Object> input, Runnable handler) {
            Map<String, Object> before = voter.fullRow();
            voter.sent.clear();
            voter.ignored = "";
            handler.run();
            if (!partial) {
                System.out.println(write(json(
                        "node", ME, "before", before, "input", input, "after", voter.fullRow(),
                        "sent", new ArrayList<>(voter.sent), "ignored", voter.ignored)));
                return;
            }
            // Kafka matches responses to requests by a number, so a log has no request in them.
            List<Object> sent = new ArrayList<>();
            voter.sent.forEach(message -> sent.add(without(message, "request")));
            System.out.println(write(json(
                    "node", ME, "input", without(input, "request"), "after", voter.loggedRow(),
                    "sent", sent)));
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

    // --- Nodes 2 and 3, as they look from node 1

    private static final class Peers {
        // So many records at the end of a log may be cut by the next leader.
        static final int UNCOMMITTED = 2;
        final Random random = new Random(7);
        final Recorder recorder;
        final Voter voter;
        final List<Entry> log = new ArrayList<>();
        int nextValue = 1;
        FetchResponse last;

        Peers(Recorder recorder) {
            this.recorder = recorder;
            this.voter = recorder.voter;
        }

        void askForVote(int source, int ofEpoch, boolean preVote) {
            int last = log.isEmpty() ? 0 : log.get(log.size() - 1).epoch();
            VoteRequest m = new VoteRequest(source, ofEpoch, last, log.size(), preVote);
            recorder.step(toJson(m), () -> voter.onVoteRequest(m));
        }

        void announce(int source, int ofEpoch) {
            log.add(new Entry(ofEpoch, 0));
            recorder.step(announcement(source, ofEpoch),
                    () -> voter.onBeginQuorumEpoch(source, ofEpoch));
        }

        void append() {
            log.add(new Entry(log.get(log.size() - 1).epoch(), nextValue++));
        }

        void answerFetch() {
            FetchRequest asked = voter.inFlight;
            int end = 0;
            int endEpoch = 0;
            for (int at = 0; at < log.size(); at++) {
                if (log.get(at).epoch() <= asked.lastFetchedEpoch()) {
                    end = at + 1;
                    endEpoch = log.get(at).epoch();
                }
            }
            boolean diverges = asked.fetchOffset() > 0
                    && (endEpoch != asked.lastFetchedEpoch() || end < asked.fetchOffset());
            int from = Math.min(asked.fetchOffset(), log.size());
            int to = diverges ? from : Math.min(log.size(), from + FETCH_MAX_RECORDS);
            respond(new FetchResponse(asked.destination(), asked.epoch(), asked.destination(),
                    List.copyOf(log.subList(from, to)), diverges ? endEpoch : UNDEFINED,
                    diverges ? end : UNDEFINED, Math.max(0, from - UNCOMMITTED), asked));
        }

        void respond(FetchResponse m) {
            last = m;
            recorder.step(toJson(m), () -> voter.onFetchResponse(m));
        }

        void crashAndRestart() {
            recorder.step(json("type", "Crash", "keep", voter.flushed), voter::onCrash);
            recorder.step(json("type", "Restart"), voter::onRestart);
        }

        void timeOut() {
            int peer = voter.inFlight.destination();
            recorder.step(json("type", "RequestTimeout", "peer", peer),
                    () -> voter.onRequestTimeout(peer));
        }

        // An election, some replication, and a crash at a moment that chance chooses.
        void run(int ofEpoch, int winner, int loser) {
            askForVote(winner, ofEpoch - 1, true);
            askForVote(winner, ofEpoch, false);
            if (random.nextBoolean()) {
                crashAndRestart();
            }
            askForVote(loser, ofEpoch, false);
            announce(winner, ofEpoch);
            for (int round = 0; round < 4; round++) {
                switch (random.nextInt(4)) {
                    case 0 -> timeOut();
                    case 1 -> crashAndRestart();
                    default -> append();
                }
                answerFetch();
            }
            // The network is late with one message, and delivers another one twice.
            askForVote(loser, ofEpoch - 1, false);
            respond(last);
        }
    }

    // --- Driven: an input on each line of stdin, its step on stdout

    private static final class Driven {
        static void run(List<String> options) throws IOException {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            Recorder recorder = null;
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Map<String, Object> told = object(new Parser(line).value());
                if (told.containsKey("constants")) {
                    Voter voter = new Voter(options);
                    recorder = new Recorder(voter, options.contains("--partial"));
                } else {
                    take(recorder, object(told.get("input")));
                }
                System.out.flush();
            }
        }

        static void take(Recorder recorder, Map<String, Object> m) {
            Voter voter = recorder.voter;
            boolean failed = !m.getOrDefault("error", "NONE").equals("NONE");
            Runnable handler = failed ? null : switch ((String) m.get("type")) {
                case "VoteRequest" -> () -> voter.onVoteRequest(new VoteRequest(
                        number(m, "source"), number(m, "epoch"), number(m, "lastEpoch"),
                        number(m, "lastOffset"), (Boolean) m.get("preVote")));
                case "BeginQuorumEpochRequest" ->
                    () -> voter.onBeginQuorumEpoch(number(m, "source"), number(m, "epoch"));
                case "FetchResponse" -> () -> voter.onFetchResponse(response(m));
                case "RequestTimeout" -> () -> voter.onRequestTimeout(number(m, "peer"));
                case "Crash" -> voter::onCrash;
                case "Restart" -> voter::onRestart;
                default -> null;
            };
            if (handler == null) {
                String why = failed ? "this voter takes no errors" : "this voter never stands";
                System.out.println(write(json("notTaken", why)));
            } else {
                recorder.step(m, handler);
            }
        }

        static FetchResponse response(Map<String, Object> m) {
            List<Entry> records = new ArrayList<>();
            for (Object each : (List<?>) m.get("records")) {
                records.add(new Entry(number(object(each), "epoch"), number(object(each), "value")));
            }
            Map<String, Object> diverging = object(m.get("diverging"));
            Map<String, Object> asked = object(m.get("request"));
            return new FetchResponse(number(m, "source"), number(m, "epoch"), number(m, "leader"),
                    records, number(diverging, "epoch"), number(diverging, "endOffset"),
                    number(m, "highWatermark"),
                    new FetchRequest(number(asked, "destination"), number(asked, "epoch"),
                            number(asked, "fetchOffset"), number(asked, "lastFetchedEpoch")));
        }

        @SuppressWarnings("unchecked")
        static Map<String, Object> object(Object value) {
            return (Map<String, Object>) value;
        }

        static int number(Map<String, Object> of, String name) {
            return (Integer) of.get(name);
        }
    }

    // JSON as kraftcheck writes it: strings are words, numbers are ints, and nothing is null.
    private static final class Parser {
        final String text;
        int at = 0;

        Parser(String text) {
            this.text = text;
        }

        Object value() {
            switch (text.charAt(at)) {
                case '{': {
                    Map<String, Object> found = new LinkedHashMap<>();
                    for (at++; text.charAt(at) != '}'; ) {
                        at += text.charAt(at) == ',' ? 1 : 0;
                        String name = (String) value();
                        at++;  // the colon
                        found.put(name, value());
                    }
                    at++;
                    return found;
                }
                case '[': {
                    List<Object> found = new ArrayList<>();
                    for (at++; text.charAt(at) != ']'; ) {
                        at += text.charAt(at) == ',' ? 1 : 0;
                        found.add(value());
                    }
                    at++;
                    return found;
                }
                case '"': {
                    int end = text.indexOf('"', at + 1);
                    String found = text.substring(at + 1, end);
                    at = end + 1;
                    return found;
                }
                default: {
                    int begin = at;
                    while (at < text.length() && ",]}".indexOf(text.charAt(at)) < 0) {
                        at++;
                    }
                    String word = text.substring(begin, at);
                    return word.endsWith("e") ? (Object) word.equals("true") : Integer.valueOf(word);
                }
            }
        }
    }

    public static void main(String[] arguments) throws IOException {
        List<String> options = List.of(arguments);
        if (options.contains("--driven")) {
            Driven.run(options);
            return;
        }
        Voter voter = new Voter(options);
        Peers peers = new Peers(new Recorder(voter, options.contains("--partial")));
        for (int epoch = 1; epoch <= 4; epoch++) {
            peers.run(epoch, 2 + epoch % 2, 3 - epoch % 2);
            if (epoch == 2) {
                // The next leader never saw the last records: the voter has to cut them off.
                peers.log.subList(peers.log.size() - Peers.UNCOMMITTED, peers.log.size()).clear();
            }
        }
    }
}
