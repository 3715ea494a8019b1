// The leader of a quorum removes itself from the voters, and ends before another one has heard of it,
// on Kafka's own KafkaRaftClient, without a cluster: clients in one JVM, over the log, the channel and
// the clock of Kafka's own tests. Of each case a line of JSON: who led again within two minutes.
//
//     java -cp FOLDER:'libs/*' org.apache.kafka.raft.RemovedLeader CASE ...
//
// FOLDER: where this file was compiled to, for the class is in a package of Kafka's.
//
// stopped: of two voters the leader is stopped and started again. resigned: it resigns, as it does for
// a fault of the controller's. read: as stopped, and the other one has fetched the new set before.
// three: as stopped, of three voters, and neither of the others has fetched it.

package org.apache.kafka.raft;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.message.RemoveRaftVoterRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.raft.internals.BatchMemoryPool;
import org.apache.kafka.raft.internals.StringSerde;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;
import org.apache.kafka.snapshot.Snapshots;

public final class RemovedLeader {
    private static final String CLUSTER = "cluster";
    private static final QuorumConfig CONFIG =
        new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF, Map.of(), false));
    private static final SupportedVersionRange SUPPORTED = new SupportedVersionRange((short) 0, (short) 1);
    private static final long BEGINS_MS = 20_000, WAITS_MS = 120_000, PARKED_MS = 600, TICK_MS = 20;

    private final MockTime time = new MockTime(0, 1_000_000L, 0);
    private final MockExpirationService expiration = new MockExpirationService(time);
    private final Map<Integer, Voter> voters = new TreeMap<>();
    private final VoterSet first;
    /** Who is reached by nobody and does nothing. */
    private final Set<Integer> still = new TreeSet<>();

    public static void main(String[] cases) throws Exception {
        for (String each : cases) {
            System.out.println(new RemovedLeader(each.equals("three") ? 3 : 2).tried(each));
        }
        System.exit(0);
    }

    private RemovedLeader(int size) throws Exception {
        Map<Integer, VoterSet.VoterNode> nodes = new HashMap<>();
        for (int id = 1; id <= size; id++) {
            nodes.put(id, VoterSet.VoterNode.of(ReplicaKey.of(id, new Uuid(7, id)), endpoints(id), SUPPORTED));
        }
        first = VoterSet.fromMap(nodes);
        for (int id = 1; id <= size; id++) {
            voters.put(id, new Voter(id));
        }
    }

    private String tried(String which) throws Exception {
        pass(BEGINS_MS, 0);
        Voter leader = voters.values().stream().filter(Voter::leads).findFirst().orElseThrow();
        int epoch = leader.client.quorum().epoch();
        long before = leader.log.endOffset().offset();
        voters.keySet().stream().filter(id -> id != leader.id).forEach(still::add);
        for (long end = time.milliseconds() + PARKED_MS; time.milliseconds() < end; time.sleep(TICK_MS)) {
            leader.turn();  // whoever waits for records is told that there are none
        }
        leader.removeItself();
        for (int ticks = 0; ticks < 50 && leader.log.endOffset().offset() == before; ticks++) {
            leader.turn();
            time.sleep(TICK_MS);
        }
        if (which.equals("read")) {
            still.clear();
            for (int ticks = 0; ticks < 50 && lacking(before); ticks++) {
                turn();
            }
        }
        if (which.equals("resigned")) {
            leader.client.resign(epoch);
            leader.turn();
        } else {
            leader.stop();
            leader.start();
        }
        still.clear();
        List<Integer> led = pass(WAITS_MS, epoch);
        List<Long> ends = voters.values().stream().map(each -> each.log.endOffset().offset()).toList();
        return "{\"case\":\"%s\",\"removed\":%d,\"appended\":%b,\"led\":%s,\"ends\":%s}"
            .formatted(which, leader.id, ends.get(leader.id - 1) > before, led, ends);
    }

    private boolean lacking(long offset) {
        return voters.values().stream().anyMatch(each -> each.log.endOffset().offset() <= offset);
    }

    /** Who leads in an epoch above that one, until somebody does or the time is over. */
    private List<Integer> pass(long millis, int above) throws Exception {
        for (long end = time.milliseconds() + millis; time.milliseconds() < end; time.sleep(TICK_MS)) {
            turn();
            List<Integer> led = voters.values().stream()
                .filter(each -> above > 0 && each.leads() && each.client.quorum().epoch() > above)
                .map(each -> each.id).toList();
            if (!led.isEmpty()) {
                return led;
            }
        }
        return List.of();
    }

    private void turn() throws Exception {
        for (Voter each : voters.values()) {
            if (!still.contains(each.id)) {
                each.turn();
            }
        }
    }

    private static Endpoints endpoints(int id) {
        return Endpoints.fromInetSocketAddresses(Map.of(Wire.listener(), address(id)));
    }

    private static InetSocketAddress address(int id) {
        return InetSocketAddress.createUnresolved("localhost", 9000 + id);
    }

    private final class Voter {
        final int id;
        final MockLog log = new MockLog(
            new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID, new LogContext());
        final MockQuorumStateStore store = new MockQuorumStateStore();
        KafkaRaftClient<String> client;
        private final AtomicInteger numbers = new AtomicInteger();
        private Wire wire;
        private int started;

        Voter(int id) throws Exception {
            this.id = id;
            var builder = new RecordsSnapshotWriter.Builder()
                .setRawSnapshotWriter(log.createNewSnapshotUnchecked(Snapshots.BOOTSTRAP_SNAPSHOT_ID).orElseThrow())
                .setKraftVersion(KRaftVersion.KRAFT_VERSION_1)
                .setVoterSet(Optional.of(first));
            try (var writer = builder.build(new StringSerde())) {
                writer.freeze();
            }
            start();
        }

        void start() {
            wire = new Wire(numbers);
            client = new KafkaRaftClient<>(
                OptionalInt.of(id), new Uuid(7, id), new StringSerde(), wire.channel, wire.inbox, log,
                new BatchMemoryPool(5, 8 * 1024 * 1024), time, expiration, 500, true, CLUSTER,
                List.of(address(1), address(2)), endpoints(id), SUPPORTED, new LogContext(),
                new Random(31L * id + started++), CONFIG);
            client.initialize(Map.of(), store, new Metrics(time), unheard(ExternalKRaftMetrics.class));
        }

        void stop() {
            client = null;
            log.reopen();
        }

        boolean leads() {
            return client.quorum().isLeader();
        }

        void removeItself() {
            ask(new RemoveRaftVoterRequestData()
                .setClusterId(CLUSTER).setVoterId(id).setVoterDirectoryId(new Uuid(7, id)));
        }

        /** What is due, and what it asks of others. */
        void turn() {
            do {
                client.poll();
            } while (!wire.isEmpty());
            for (RaftRequest.Outbound request : wire.drain()) {
                Voter peer = voters.get(place(request));
                if (!still.contains(peer.id)) {
                    RaftMessageQueue waits = wire.inbox;
                    peer.ask(request.data()).thenAccept(response -> waits.add(new RaftResponse.Inbound(
                        request.correlationId(), response.data(), request.destination())));
                }
            }
        }

        /** By its port, since whoever is looked for as a bootstrap server has no number. */
        private int place(RaftRequest.Outbound request) {
            return request.destination().port() - 9000;
        }

        private CompletableFuture<RaftResponse.Outbound> ask(ApiMessage data) {
            var request = new RaftRequest.Inbound(
                Wire.listener(), 0, ApiKeys.forId(data.apiKey()).latestVersion(), (ApiMessage) data.duplicate(),
                time.milliseconds());
            return Wire.ask(client, request);
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> T unheard(Class<T> type) {
        return (T) java.lang.reflect.Proxy.newProxyInstance(
            RemovedLeader.class.getClassLoader(), new Class<?>[] {type}, (self, method, in) -> null);
    }
}
