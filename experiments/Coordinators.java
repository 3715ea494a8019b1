// Coordinators of groups (CoordinatorRuntime, GroupCoordinatorShard), without brokers: each has a log,
// a clock and timers of its own, and members call it.
//
//     java -cp 'libs/*' Coordinators.java CASE...
//
// For each case, with new coordinators, one line of JSON: what was done and came of it, and whether
// that shows what groups_by_classes.py asks of it. A topic, "t", with two partitions.

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.internals.Plugin;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.MemberAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.coordinator.group.streams.StreamsGroupHeartbeatResult;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class Coordinators {
    private static final String GROUP = "g", TOPIC = "t";
    private static final Uuid TOPIC_ID = new Uuid(1, 1);
    private static final int PARTITIONS = 2, SESSION_MS = 45_000, REBALANCE_MS = 300_000;
    private static final int WRITE_MS = 5_000, INTERVAL_MS = 1_000;
    private static final long TICK_MS = 3_000;
    private static final Duration WRITE = Duration.ofMillis(WRITE_MS);
    private static final CoordinatorMetadataDelta NO_DELTA = CoordinatorMetadataDelta.EMPTY;
    private static final ExecutorService AT_ONCE = (ExecutorService) java.lang.reflect.Proxy.newProxyInstance(
        Coordinators.class.getClassLoader(), new Class<?>[] {ExecutorService.class}, (self, method, in) -> {
            ((Runnable) in[0]).run();
            return null;
        });

    private static final List<String> steps = new ArrayList<>();
    private static Map<String, Object> settings = Map.of();
    private static CompletableFuture<Void> held = CompletableFuture.completedFuture(null);
    private static CoordinatorLoader<CoordinatorRecord> kafkas; // else the program reads the log

    public static void main(String[] args) throws Exception {
        for (String each : args) {
            steps.clear();
            settings = Map.of();
            held = CompletableFuture.completedFuture(null);
            boolean shown = run(each);
            System.out.println("{\"shown\":" + shown + ",\"steps\":[" + String.join(",", steps) + "]}");
        }
        System.exit(0);
    }

    private static boolean run(String name) throws Exception {
        return switch (name) {
            case "reassigned" -> reassigned(true);
            case "reassigned-control" -> reassigned(false);
            case "sent" -> !newTopic(new Uuid(2, 2), true);
            case "sent-control" -> !newTopic(new Uuid(2, 2), false);
            case "refused" -> refused("gone");
            case "refused-control" -> refused(null);
            case "unkept" -> unkept(true);
            case "unkept-control" -> unkept(false);
            case "disturbed" -> disturbed(true);
            case "disturbed-control" -> disturbed(false);
            case "recommitted" -> recommitted(true);
            case "recommitted-control" -> recommitted(false);
            case "unresolved" -> unresolved(1_000);
            case "unresolved-control" -> unresolved(11_000);
            case "sessions" -> sessions(true);
            case "sessions-control" -> sessions(false);
            case "orphaned" -> orphaned("upgrade");
            case "orphaned-control" -> orphaned("bidirectional");
            case "stamped" -> stamped(true);
            case "stamped-control" -> stamped(false);
            case "kept" -> kept(true);
            case "kept-control" -> kept(false);
            case "expired" -> expired(true);
            case "expired-control" -> expired(false);
            case "downgraded" -> downgraded(true);
            case "downgraded-control" -> downgraded(false);
            case "downgraded-classic" -> leftClassic();
            case "released" -> released(Set.of());
            case "released-control" -> released(Set.of(0));
            case "clock" -> clock(600_000);
            case "clock-control" -> clock(0);
            case "instance" -> instance("i");
            case "instance-control" -> instance(null);
            case "deposed" -> deposed(true);
            case "deposed-control" -> deposed(false);
            case "fenced-twice" -> fencedTwice(true);
            case "fenced-twice-control" -> fencedTwice(false);
            case "late-join" -> late(0);
            case "late-leave" -> late(-1);
            case "late-control" -> late(1);
            case "equal-epoch" -> equalEpoch(true, true);
            case "equal-epoch-control" -> equalEpoch(false, true);
            case "equal-epoch-there" -> equalEpoch(true, false);
            case "unheard" -> unheard(true);
            case "unheard-control" -> unheard(false);
            case "replaced" -> replaced(true);
            case "replaced-control" -> replaced(false);
            case "upgraded" -> upgraded(true, true);
            case "upgraded-control" -> upgraded(true, false);
            case "upgraded-eager" -> upgraded(false, true);
            case "tied" -> tied(Sticky.class, "uniform");
            case "tied-control" -> tied(Sticky.class, "sticky");
            case "tied-order" -> tied(Custom.class, "uniform");
            case "relabelled" -> relabelled("i", 2);
            case "relabelled-control" -> relabelled(null, 2);
            case "relabelled-uncached" -> relabelled("i", 0);
            case "told" -> told(true, false);
            case "told-control" -> told(false, false);
            case "told-generation" -> told(true, true);
            case "renumbered" -> renumbered(true, false);
            case "renumbered-control" -> renumbered(false, false);
            case "renumbered-else" -> renumbered(true, true);
            case "spared" -> spared(true);
            case "spared-control" -> spared(false);
            case "overtaken" -> overtaken(true);
            case "overtaken-control" -> overtaken(false);
            case "other-producer" -> otherProducer(200);
            case "other-producer-control" -> otherProducer(100);
            case "outdated-sends" -> outdatedSends(true);
            case "outdated-sends-control" -> outdatedSends(false);
            case "live-group" -> liveGroup(true);
            case "live-group-control" -> liveGroup(false);
            case "new-topic" -> newTopic(new Uuid(2, 2));
            case "new-topic-control" -> newTopic(TOPIC_ID);
            case "other-topic" -> otherTopic(new Uuid(2, 2));
            case "other-topic-control" -> otherTopic(TOPIC_ID);
            case "outlived" -> outlived(true);
            case "outlived-control" -> outlived(false);
            default -> throw new IllegalArgumentException(name);
        };
    }

    // --- Cases

    // 1. The last member of the consumer protocol leaves a group of both.
    private static boolean orphaned(String policy) throws Exception {
        settings = Map.of(GroupCoordinatorConfig.CONSUMER_GROUP_MIGRATION_POLICY_CONFIG, policy);
        var broker = new Broker(new Log(), 0);
        var stays = new Classic("stays", null);
        var leaves = new Consumer("leaves", null);
        both(broker, stays, leaves);
        leaves.leave(broker);
        return !takesOver(broker, stays);
    }

    // 2. A member that was removed joins again, and commits with its new epoch what it read before.
    private static boolean stamped(boolean restamped) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        int before = member.epoch;
        broker.passes(SESSION_MS + 1);
        var other = new Consumer("n", null);
        settle(broker, other);
        other.commit(broker, other.epoch, 100);
        member.heartbeat(broker);
        member.heartbeat(broker);
        var error = member.commit(broker, restamped ? member.epoch : before, 50);
        return error == Errors.NONE && committed(broker) == 50;
    }

    // 2b. A member gives one partition up, and owes its other one by then, or not; it commits for the
    // first what it asked for before that, in the epoch of then.
    private static boolean kept(boolean owes) throws Exception {
        Thread.currentThread().setContextClassLoader(Wanted.class.getClassLoader()); // where Kafka looks
        settings = Map.of(GroupCoordinatorConfig.CONSUMER_GROUP_ASSIGNORS_CONFIG, List.of(Wanted.class.getName()));
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        Wanted.of = Map.of("m", Set.of(0, 1));
        settle(broker, member);
        int before = member.epoch;
        Wanted.of = Map.of("m", Set.of(1), "n", Set.of(0));
        var other = new Consumer("n", null);
        other.heartbeat(broker);
        member.heartbeat(broker);
        if (owes)
            Wanted.of = Map.of("n", Set.of(0), "o", Set.of(1));
        broker.passes(TICK_MS); // the next assignment is not made at once
        new Consumer("o", null).heartbeat(broker);
        member.heartbeat(broker);
        settle(broker, other);
        tell("m has " + member.owned + ", n " + other.owned + "; the epoch of m", member.epoch);
        other.commit(broker, other.epoch, 100);
        var error = member.commit(broker, before, 50);
        return other.owned.contains(0) && error == Errors.NONE && committed(broker) == 50;
    }

    // 3. Offsets of a group that has just become empty.
    private static boolean expired(boolean consumers) throws Exception {
        settings = Map.of(GroupCoordinatorConfig.OFFSETS_RETENTION_MINUTES_CONFIG, 1);
        var broker = new Broker(new Log(), 0);
        var member = consumers ? new Consumer("m", null) : new Classic("m", null);
        settle(broker, member);
        member.commit(broker, member.epoch, 7);
        for (int i = 0; i < 30; i++) {
            broker.passes(TICK_MS);
            member.heartbeat(broker);
        }
        member.leave(broker);
        broker.passes(1_000);
        broker.write("cleanupGroupMetadata", GroupCoordinatorShard::cleanupGroupMetadata);
        return committed(broker) != 7;
    }

    // K2. A leader's second SyncGroup of one generation is written, too.
    private static boolean reassigned(boolean again) throws Exception {
        var first = new Broker(new Log(), 0);
        var one = new Classic("one", null);
        var two = new Classic("two", null);
        settle(first, one);
        two.heartbeat(first);
        first.commits = false;
        one.heartbeat(first);
        two.heartbeat(first);
        int end = first.log.size();
        if (again) {
            one.reversed = true;
            one.connects(first);
        }
        tell("records of the second request", first.log.size() - end);
        first.commits = true;
        first.commit();
        one.heartbeat(first);
        two.heartbeat(first);
        tell("one has " + one.owned + ", two", two.owned);
        var second = new Broker(first.log, 0);
        one.heartbeat(second);
        two.heartbeat(second);
        tell("after the move one has " + one.owned + ", two", two.owned);
        two.connects(second);
        one.heartbeat(second);
        two.heartbeat(second);
        var both = new TreeSet<>(one.owned);
        both.retainAll(two.owned);
        tell("after two has asked again, one has " + one.owned + " of generation " + one.epoch + ", two " + two.owned + " of " + two.epoch + "; both", both);
        tell("both commit", List.of(one.commit(second, one.epoch, 10), two.commit(second, two.epoch, 5)));
        return !both.isEmpty();
    }

    // K1. A JoinGroup that is refused removes the group from memory, without a record.
    private static boolean refused(String id) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        member.commit(broker, member.epoch, 7);
        member.leave(broker);
        committed(broker);
        int end = broker.log.size();
        if (id != null) {
            var stranger = new Classic(id, null);
            stranger.known = id;
            stranger.join(broker);
            tell("a classic member with an id joins", Errors.forCode(stranger.joining.get().errorCode()));
        }
        tell("records written", broker.log.size() - end);
        var request = new OffsetCommitRequestData().setGroupId("another").setMemberId("").setGenerationIdOrMemberEpoch(-1)
            .setTopics(List.of(new OffsetCommitRequestData.OffsetCommitRequestTopic().setName(TOPIC).setTopicId(TOPIC_ID)
                .setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition().setPartitionIndex(0).setCommittedOffset(1)))));
        tell("another group commits", errorOf(broker.write("commit", shard -> shard.commitOffset(context(ApiKeys.OFFSET_COMMIT, "x"), request))));
        long now = committed(broker);
        var groups = broker.runtime.scheduleReadOperation("list", broker.at, (shard, offset) -> shard.listGroups(List.of(), List.of(), offset)).get();
        tell("groups there", groups.stream().map(g -> g.groupId() + " " + g.groupType() + " " + g.groupState()).toList());
        long loaded = committed(new Broker(broker.log, 0));
        tell("this coordinator tells " + now + ", one that loads the log", loaded);
        return now != loaded;
    }

    // K5. The write of a leave fails, and no timer expires the member.
    private static boolean unkept(boolean leaves) throws Exception {
        var broker = new Broker(new Log(), 0);
        var one = new Consumer("m", null);
        var two = new Consumer("n", null);
        both(broker, one, two);
        broker.fails = true;
        if (leaves)
            one.leave(broker);
        else
            one.send(broker, 0);
        broker.fails = false;
        for (int i = 0; i < 200; i++) {
            broker.passes(TICK_MS);
            two.heartbeat(broker);
        }
        tell("ten minutes later n has", two.owned);
        return two.owned.size() < PARTITIONS;
    }

    // K9. A migration that is refused answers those that wait for a join.
    private static boolean disturbed(boolean asks) throws Exception {
        var broker = new Broker(new Log(), 0);
        var one = new Classic("one", null);
        one.user = true;
        var two = new Classic("two", null);
        settle(broker, one);
        two.heartbeat(broker);
        tell("two waits", two.joining != null && !two.joining.isDone());
        if (asks)
            new Consumer("c", null).send(broker, 0);
        boolean told = two.joining.isDone();
        tell("two is answered", told ? Errors.forCode(two.joining.get().errorCode()) : "not yet");
        return told;
    }

    // K3. What an administrator commits to an empty classic group expires with the group.
    private static boolean recommitted(boolean group) throws Exception {
        settings = Map.of(GroupCoordinatorConfig.OFFSETS_RETENTION_MINUTES_CONFIG, 1);
        var broker = new Broker(new Log(), 0);
        var member = new Classic("m", null);
        if (group) {
            settle(broker, member);
            member.commit(broker, member.epoch, 7);
            member.leave(broker);
        }
        broker.passes(59_000);
        new Consumer("", null).commit(broker, -1, 9);
        broker.passes(2_000);
        broker.write("cleanupGroupMetadata", GroupCoordinatorShard::cleanupGroupMetadata);
        return committed(broker) != 9;
    }

    // K12. Offsets of a live group expire while its new regular expression is not resolved. Kafka
    // resolves at most every ten seconds. ms: from one change of the expression to the next.
    private static boolean unresolved(long ms) throws Exception {
        settings = Map.of(GroupCoordinatorConfig.OFFSETS_RETENTION_MINUTES_CONFIG, 1);
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        member.regex = "t";
        settle(broker, member);
        member.commit(broker, member.epoch, 7);
        for (int i = 0; i < 30; i++) {
            broker.passes(TICK_MS);
            member.heartbeat(broker);
        }
        for (String next : List.of("t.*", "t|u")) {
            broker.passes(ms);
            member.regex = next;
            member.heartbeat(broker);
        }
        broker.write("cleanupGroupMetadata", GroupCoordinatorShard::cleanupGroupMetadata);
        for (int i = 0; i < 5; i++) {
            broker.passes(TICK_MS);
            member.heartbeat(broker);
        }
        tell("after " + 5 * TICK_MS / 1000 + " s m has", member.owned);
        return committed(broker) != 7;
    }

    // K4. After a move a classic member has the session timeout of the group.
    private static boolean sessions(boolean moves) throws Exception {
        var broker = new Broker(new Log(), 0);
        var stays = new Classic("stays", null);
        stays.session = 600_000;
        var other = new Consumer("other", null);
        both(broker, stays, other);
        if (moves)
            broker = new Broker(broker.log, 0);
        for (int i = 0; i < 20; i++) {
            broker.passes(TICK_MS);
            other.heartbeat(broker);
        }
        tell("after a minute other has", other.owned);
        var before = stays.isMember;
        stays.heartbeat(broker);
        tell("stays was member " + before + " and is", stays.isMember + " known as " + stays.known);
        return other.owned.size() == PARTITIONS || stays.known.isEmpty();
    }

    // 4. The group goes back to the classic protocol, and its coordinator moves at once.
    private static boolean downgraded(boolean moves) throws Exception {
        var broker = new Broker(new Log(), 0);
        var stays = new Classic("stays", null);
        var leaves = new Consumer("leaves", null);
        both(broker, stays, leaves);
        leaves.leave(broker);
        return !takesOver(moves ? new Broker(broker.log, 0) : broker, stays);
    }

    // 4. The same, in a group that never was of the new protocol.
    private static boolean leftClassic() throws Exception {
        var broker = new Broker(new Log(), 0);
        var stays = new Classic("stays", null);
        var leaves = new Classic("leaves", null);
        both(broker, stays, leaves);
        leaves.leave(broker);
        return !takesOver(new Broker(broker.log, 0), stays);
    }

    // 5. A member that is about to take a partition says all, without it.
    private static boolean released(Set<Integer> said) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        member.heartbeat(broker);
        var about = Set.copyOf(member.owned);
        member.owned = new TreeSet<>();
        var other = new Consumer("n", null);
        other.heartbeat(broker);
        broker.passes(INTERVAL_MS + 1);
        other.heartbeat(broker);
        member.owned = new TreeSet<>(said.isEmpty() ? said : about);
        member.send(broker, member.epoch);
        other.heartbeat(broker);
        var both = new TreeSet<>(about);
        both.retainAll(other.owned);
        tell("m is taking " + new TreeSet<>(about) + "; n has", both.isEmpty() ? "none of them" : both);
        return !both.isEmpty();
    }

    // 6. The clock of the coordinator before was fast.
    private static boolean clock(long fast) throws Exception {
        var first = new Broker(new Log(), fast);
        var one = new Consumer("m", null);
        var two = new Consumer("n", null);
        settle(first, one, two);
        var second = new Broker(first.log, 0);
        two.leave(second);
        for (int i = 0; i < 20; i++) {
            second.passes(TICK_MS);
            one.heartbeat(second);
        }
        tell("after " + 20 * TICK_MS / 1000 + " s m has", one.owned);
        return one.owned.size() < PARTITIONS;
    }

    // 7. The answer to a join was lost; the same member joins again.
    private static boolean instance(String instance) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", instance);
        member.send(broker, 0);
        var error = member.send(broker, 0);
        return error == Errors.UNRELEASED_INSTANCE_ID;
    }

    // 8. A coordinator that nobody told, and that commits nothing any more.
    private static boolean deposed(boolean quiet) throws Exception {
        var old = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(old, member);
        var now = new Broker(old.log.copy(), 0);
        var other = new Consumer("n", null);
        now.passes(SESSION_MS + 1);
        settle(now, other);
        old.commits = false;
        if (!quiet)
            new Consumer("k", null).send(old, 0);
        var said = new ArrayList<Errors>();
        for (int i = 0; i < 30; i++) {
            old.passes(TICK_MS);
            said.add(errorOf(member.asked(old, member.epoch)));
        }
        tell("answers of the old one to m", new TreeSet<>(said));
        tell("m and n have", member.owned + " and " + other.owned);
        return said.stream().allMatch(each -> each == Errors.NONE);
    }

    // 9. A removal is committed too late to count, and tried again, when the member has joined anew.
    private static boolean fencedTwice(boolean slow) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        broker.commits = !slow;
        broker.passes(SESSION_MS);
        var told = member.send(broker, member.epoch);
        broker.passes(1_000);
        member.owned = new TreeSet<>();
        var rejoins = member.asked(broker, 0);
        broker.passes(WRITE_MS - 900);
        broker.commit();
        broker.commits = true;
        tell("m, " + told + ", joins again", errorOf(rejoins));
        member.epoch = rejoins.get().memberEpoch();
        broker.passes(1_000);
        return member.send(broker, member.epoch) == Errors.UNKNOWN_MEMBER_ID;
    }

    // 10. A heartbeat of a connection that was closed is served after those of the next one.
    private static boolean late(int epoch) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        var other = new Consumer("n", null);
        other.heartbeat(broker);
        broker.passes(INTERVAL_MS + 1);
        other.heartbeat(broker);
        var fetches = Set.copyOf(member.owned);
        member.send(broker, member.epoch);
        if (epoch < 1) {
            var before = new Consumer("m", null);
            tell("late, epoch " + epoch, before.send(broker, epoch));
        }
        broker.passes(INTERVAL_MS + 1);
        other.heartbeat(broker);
        var both = new TreeSet<>(fetches);
        both.retainAll(other.owned);
        tell("m still fetches " + new TreeSet<>(fetches) + "; n has of them", both);
        return !both.isEmpty();
    }

    // 11. A static member leaves for a while, with what another one had before it; the group's log is
    // cleaned once the load of another broker has read the first segment, which says what that one
    // had. One control: it is cleaned before the load; the other one: the member has not left.
    private static boolean equalEpoch(boolean amid, boolean left) throws Exception {
        var broker = new Broker(new Log(), 0);
        var had = new Consumer("m", null);
        settle(broker, had);
        int first = broker.log.size();
        var has = new Consumer("n", "i");
        settle(broker, had, has);
        if (left)
            has.send(broker, -2);
        var comes = new Consumer("k", null);
        settle(broker, had, comes);
        kafkas = new Stored(broker.log, first, amid);
        var loaded = new Broker(broker.log, 0);
        kafkas = null;
        comes.send(loaded, comes.epoch);
        loaded.passes(REBALANCE_MS);
        return comes.send(loaded, comes.epoch) == Errors.NOT_COORDINATOR;
    }

    // 12. The high watermark reaches the end after a load has looked, and before it listens.
    private static boolean unheard(boolean missed) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        var next = new Broker(broker.log, 0, missed ? 1 : 0);
        var future = member.asked(next, member.epoch);
        next.passes(WRITE_MS + 1);
        var came = errorOf(future);
        tell("a heartbeat that changes nothing, after 5 s", came);
        var joined = new Consumer("n", null).send(next, 0);
        tell("after a write (" + joined + ")", member.send(next, member.epoch));
        return came == Errors.COORDINATOR_NOT_AVAILABLE || came == Errors.REQUEST_TIMED_OUT;
    }

    // A static member is restarted with the classic protocol, while another has yet to give up what is
    // to be its own; the control is a restart after that.
    private static boolean replaced(boolean early) throws Exception {
        var broker = new Broker(new Log(), 0);
        var stays = new Classic("stays", null);
        settle(broker, stays);
        var leaves = new Consumer("leaves", "i");
        leaves.heartbeat(broker);
        broker.passes(INTERVAL_MS + 1);
        leaves.heartbeat(broker);
        for (int i = 0; i < 10 && !early; i++) {
            broker.passes(TICK_MS);
            stays.heartbeat(broker);
            leaves.heartbeat(broker);
        }
        var again = new Classic("again", "i");
        again.heartbeat(broker);
        var both = new TreeSet<>(stays.owned);
        both.retainAll(again.owned);
        tell("stays has " + stays.owned + ", the restarted one " + again.owned + "; both", both);
        return !both.isEmpty();
    }

    // A member of the consumer protocol joins a classic group, while another one has yet to hear that
    // it is to give something up; one control is a join after that.
    private static boolean upgraded(boolean cooperative, boolean early) throws Exception {
        var broker = new Broker(new Log(), 0);
        var one = new Classic("one", null, cooperative);
        var two = new Classic("two", null, cooperative);
        settle(broker, one);
        two.heartbeat(broker);
        one.polls = !early;
        one.heartbeat(broker);
        two.heartbeat(broker);
        if (!early)
            settle(broker, two, one);
        var comes = new Consumer("comes", null);
        for (int i = 0; i < 3; i++) {
            comes.heartbeat(broker);
            two.heartbeat(broker);
            broker.passes(INTERVAL_MS + 1);
        }
        var both = new TreeSet<>(two.owned);
        both.addAll(comes.owned);
        both.retainAll(one.owned);
        tell("one has " + one.owned + ", two " + two.owned + ", who came " + comes.owned + "; both", both);
        return !both.isEmpty();
    }

    // --- Guards of offsets: each case shows that Kafka has one

    // A transaction has sent another offset, the group is empty, and the retention is over.
    private static boolean spared(boolean sent) throws Exception {
        settings = Map.of(GroupCoordinatorConfig.OFFSETS_RETENTION_MINUTES_CONFIG, 1);
        var broker = new Broker(new Log(), 0);
        var member = new Classic("m", null);
        settle(broker, member);
        member.commit(broker, member.epoch, 7);
        if (sent)
            sends(broker, member, member.epoch, 100, 0, 9);
        member.leave(broker);
        broker.passes(61_000);
        broker.write("cleanupGroupMetadata", GroupCoordinatorShard::cleanupGroupMetadata);
        return committed(broker) == 7;
    }

    // An administrator commits after, or before, a transaction has sent an offset, which is committed.
    private static boolean overtaken(boolean later) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        member.leave(broker);
        var administrator = new Consumer("", null);
        if (!later)
            administrator.commit(broker, -1, 7);
        sends(broker, administrator, -1, 100, 0, 5);
        if (later)
            administrator.commit(broker, -1, 7);
        ends(broker, 100);
        return committed(broker) == 7;
    }

    // Two producers have sent offsets, and the transaction of one is committed.
    private static boolean otherProducer(long committing) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        sends(broker, member, member.epoch, 100, 0, 5);
        sends(broker, member, member.epoch, 200, 1, 6);
        ends(broker, committing);
        return committed(broker) == -1;
    }

    // A member that was removed sends an offset in its transaction after its successor has committed.
    private static boolean outdatedSends(boolean outdated) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        broker.passes(SESSION_MS + 1);
        var other = new Consumer("n", null);
        settle(broker, other);
        other.commit(broker, other.epoch, 100);
        var sender = outdated ? member : other;
        return sends(broker, sender, sender.epoch, 100, 0, 50) != Errors.NONE;
    }

    // The group is deleted on request.
    private static boolean liveGroup(boolean live) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        member.commit(broker, member.epoch, 7);
        if (!live)
            member.leave(broker);
        tell("the group is deleted", errorOf(broker.write("delete", shard ->
            shard.deleteGroups(context(ApiKeys.DELETE_GROUPS, "a"), List.of(GROUP)))));
        return committed(broker) == 7;
    }

    // An offset is committed to a topic of this id, and then the coordinator hears that the first is gone.
    private static boolean newTopic(Uuid topic) throws Exception {
        return newTopic(topic, false);
    }

    private static boolean newTopic(Uuid topic, boolean sent) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        member.topic = topic;
        if (sent) {
            sends(broker, member, member.epoch, 1, 0, 7);
            ends(broker, 1);
        } else
            member.commit(broker, member.epoch, 7);
        for (var future : broker.runtime.scheduleWriteAllOperation("deletion", shard ->
                shard.onTopicsDeleted(List.of(new GroupCoordinatorShard.DeletedTopic(TOPIC_ID, TOPIC))))) {
            broker.run();
            tell("the topic is deleted", errorOf(future));
        }
        return committed(broker) == 7;
    }

    // An offset of the first topic is asked for by this id.
    private static boolean otherTopic(Uuid topic) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        member.commit(broker, member.epoch, 7);
        return committed(broker, topic) == -1;
    }

    private static Errors sends(Broker broker, Member member, int epoch, long producer, int partition, long offset)
            throws Exception {
        var request = new TxnOffsetCommitRequestData()
            .setGroupId(GROUP).setTransactionalId("t").setProducerId(producer).setProducerEpoch((short) 0)
            .setMemberId(member.named()).setGenerationId(epoch)
            .setTopics(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic().setName(TOPIC)
                .setPartitions(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition()
                    .setPartitionIndex(partition).setCommittedOffset(offset)))));
        var future = broker.runtime.scheduleTransactionalWriteOperation("send", broker.at, "t", producer, (short) 0,
            shard -> shard.commitTransactionalOffset(context(ApiKeys.TXN_OFFSET_COMMIT, member.id), request), 5);
        broker.run();
        var error = errorOf(future);
        tell("producer " + producer + " sends " + offset + " of partition " + partition + " with epoch " + epoch, error);
        return error;
    }

    private static void ends(Broker broker, long producer) throws Exception {
        var future = broker.runtime.scheduleTransactionCompletion("end", broker.at, producer, (short) 0, 0,
            TransactionResult.COMMIT, (short) 1);
        broker.run();
        tell("producer " + producer + " commits", errorOf(future));
    }

    // A topic is deleted while another broker loads the group's log, and made anew; the control is a
    // deletion after that. More metadata come after the load, as a controller writes a record every
    // half second. Who asks names the topic as clients do that know of no topic ids.
    private static boolean outlived(boolean early) throws Exception {
        var broker = new Broker(new Log(), 0);
        var member = new Consumer("m", null);
        settle(broker, member);
        member.commit(broker, member.epoch, 7);
        member.leave(broker);
        held = new CompletableFuture<>();
        var next = new Broker(broker.log, 0);
        next.present = new Uuid(2, 2);
        if (!early)
            next.loaded();
        for (var future : next.runtime.scheduleWriteAllOperation("deletion", shard ->
                shard.onTopicsDeleted(List.of(new GroupCoordinatorShard.DeletedTopic(TOPIC_ID, TOPIC))))) {
            next.run();
            tell("the topic is deleted", errorOf(future));
        }
        if (early)
            next.loaded();
        next.runtime.onMetadataUpdate(NO_DELTA, next);
        next.run();
        next.passes(REBALANCE_MS);
        long offset = committed(next);
        tell("committed, five minutes later", offset);
        return offset == 7;
    }

    // A follower asks for what is assigned to it when another broker has loaded that, which is not
    // committed, and the one after that lacks it. One control: it has it. The other one: members say
    // in which generation they were last, as Kafka's own do.
    private static boolean told(boolean lacks, boolean generation) throws Exception {
        var first = new Broker(new Log(), 0);
        var one = new Classic("one", null);
        var two = new Classic("two", null);
        two.tellsGeneration = generation;
        settle(first, one);
        var before = first.log.copy();
        first.commits = false;
        join(first, two, one);
        var second = new Broker(first.log.copy(), 0, first.log.size() - before.size());
        two.connects(second);
        var third = new Broker(lacks ? before : first.log, 0);
        one.connects(third);
        var both = new TreeSet<>(one.owned);
        both.retainAll(two.owned);
        tell("one has " + one.owned + ", two " + two.owned + "; both", both);
        two.heartbeat(third);
        return !both.isEmpty();
    }

    // Two brokers number a generation alike, with other members in it, and have it in their logs, not
    // committed. A follower is told of the one by a broker that has loaded it, and another one of the
    // other. One control: the first is not told; the other one: the numbers are not alike.
    private static boolean renumbered(boolean early, boolean other) throws Exception {
        var first = new Broker(new Log(), 0);
        var leads = new Classic("z", null);
        var one = new Classic("m", null);
        var two = new Classic("n", null);
        settle(first, leads);
        settle(first, leads, one, two);
        var before = first.log.copy();
        first.commits = false;
        join(first, new Classic("k", null), leads, one, two);
        var second = new Broker(before.copy(), 0);
        second.commits = false;
        var members = List.of(leads, one, two);
        for (Classic member : members)
            member.connects(second);
        leads.tellsGeneration = other; // so it says something new of itself: all join once more
        if (other)
            leads.connects(second);
        for (int i = 0; i < 3; i++)
            for (Classic member : members)
                member.heartbeat(second);
        var third = new Broker(second.log, 0, second.log.size() - before.size());
        if (early)
            two.connects(third);
        var again = new Broker(first.log, 0, first.log.size() - before.size());
        one.connects(again);
        again.commit();
        if (!early)
            two.connects(again);
        two.heartbeat(again);
        var both = new TreeSet<>(one.owned);
        both.retainAll(two.owned);
        tell("m has " + one.owned + ", n " + two.owned + "; both", both);
        var errors = List.of(one.commit(again, one.epoch, 10), two.commit(again, two.epoch, 5));
        tell("both commit", errors);
        return !both.isEmpty() && errors.equals(List.of(Errors.NONE, Errors.NONE));
    }

    // --- What cases share

    // A member joins, and all that are there join again, and ask for what is assigned to them.
    private static void join(Broker broker, Member comes, Member... there) throws Exception {
        comes.heartbeat(broker);
        for (int i = 0; i < 2; i++)
            for (Member member : there)
                member.heartbeat(broker);
        comes.heartbeat(broker);
    }

    // A classic member, then another: in the end each has a partition.
    private static void both(Broker broker, Member one, Member two) throws Exception {
        settle(broker, one);
        settle(broker, one, two);
        tell(one.id + " and " + two.id + " have", one.owned + " and " + two.owned);
        if (one.owned.size() != 1 || two.owned.size() != 1)
            throw new IllegalStateException("they have " + one.owned + " and " + two.owned);
    }

    private static void settle(Broker broker, Member... members) throws Exception {
        for (int i = 0; i < 12; i++) {
            for (Member member : members)
                member.heartbeat(broker);
            broker.passes(TICK_MS);
        }
    }

    // Whether who stays has all within ten minutes.
    private static boolean takesOver(Broker broker, Member stays) throws Exception {
        for (int i = 0; i < 200; i++) {
            broker.passes(TICK_MS);
            stays.heartbeat(broker);
        }
        tell("after " + 200 * TICK_MS / 60_000 + " minutes " + stays.id + " has", stays.owned);
        return stays.owned.size() == PARTITIONS;
    }

    // 13. One member prefers an assignor of Kafka, or not, and one an assignor of its users.
    private static boolean tied(Class<? extends UniformAssignor> own, String other) throws Exception {
        Thread.currentThread().setContextClassLoader(own.getClassLoader()); // where Kafka looks
        settings = Map.of(GroupCoordinatorConfig.CONSUMER_GROUP_ASSIGNORS_CONFIG,
            List.of("uniform", "range", own.getName()));
        var broker = new Broker(new Log(), 0);
        var one = new Consumer("m", null);
        one.assignor = other;
        var two = new Consumer("n", null);
        two.assignor = own.getDeclaredConstructor().newInstance().name();
        settle(broker, one);
        settle(broker, two);
        settle(broker, one);
        int before = one.epoch, end = broker.log.size();
        for (int i = 0; i < 10; i++) {
            broker.passes(TICK_MS);
            one.heartbeat(broker);
            two.heartbeat(broker);
        }
        tell("twenty heartbeats later the epoch of " + one.id + " is more by", one.epoch - before);
        tell("records that were written", broker.log.size() - end);
        return one.epoch > before;
    }

    // 14. A streams group gives a task away; meanwhile a second process asks to be its static member.
    private static boolean relabelled(String asks, int warmups) throws Exception {
        settings = Map.of("group.streams.num.warmup.replicas", warmups);
        var broker = new Broker(new Log(), 0);
        var member = new Streams("m", "i");
        settle(broker, member);
        tell(member.id + " has", member.owned);
        if (member.owned.isEmpty())
            return false; // before 4.4 a streams group has no static members
        var other = new Streams("n", null);
        other.heartbeat(broker);
        broker.passes(TICK_MS);
        if (asks != null)
            new Streams("second", asks).heartbeat(broker);
        var kept = new TreeSet<>(member.owned);
        for (int i = 0; i < 6; i++) {
            member.heartbeat(broker);
            kept.retainAll(member.owned);
            other.heartbeat(broker);
            tell(member.id + " has", member.owned + ", " + other.id + " " + other.owned);
            broker.passes(TICK_MS);
        }
        return kept.isEmpty();
    }

    public static class Sticky extends UniformAssignor {
        @Override
        public String name() {
            return "sticky";
        }
    }

    public static class Custom extends UniformAssignor {
        @Override
        public String name() {
            return "custom";
        }
    }

    public static class Wanted extends UniformAssignor {
        static Map<String, Set<Integer>> of;

        @Override
        public GroupAssignment assign(GroupSpec group, SubscribedTopicDescriber topics) {
            var assigned = new HashMap<String, MemberAssignment>();
            for (String member : group.memberIds())
                assigned.put(member, new MemberAssignmentImpl(Map.of(TOPIC_ID, of.getOrDefault(member, Set.of()))));
            return new GroupAssignment(assigned);
        }
    }

    private static long committed(Broker broker) throws Exception {
        return committed(broker, Uuid.ZERO_UUID);
    }

    private static long committed(Broker broker, Uuid topic) throws Exception {
        var asked = new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(GROUP).setTopics(List.of(
            new OffsetFetchRequestData.OffsetFetchRequestTopics().setName(TOPIC).setTopicId(topic)
                .setPartitionIndexes(List.of(0))));
        var came = broker.runtime.scheduleReadOperation("fetch", broker.at, (shard, offset) ->
            shard.fetchOffsets(asked, offset));
        long offset = came.get().topics().get(0).partitions().get(0).committedOffset();
        tell("committed is", offset);
        return offset;
    }

    private static void tell(String what, Object came) {
        steps.add("{\"what\":\"" + what + "\",\"came\":\"" + came + "\"}");
    }

    private static Errors errorOf(CompletableFuture<?> future) throws Exception {
        if (!future.isDone())
            return Errors.REQUEST_TIMED_OUT;
        try {
            Object data = future.get();
            if (data instanceof ConsumerGroupHeartbeatResponseData answer)
                return Errors.forCode(answer.errorCode());
            return Errors.NONE;
        } catch (Exception error) {
            return Errors.forException(Errors.maybeUnwrapException(error));
        }
    }

    private static RequestContext context(ApiKeys of, String client) {
        return new RequestContext(
            new RequestHeader(of, of.latestVersion(), client, 0), "1", InetAddress.getLoopbackAddress(),
            KafkaPrincipal.ANONYMOUS, ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT),
            SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
    }

    // --- Members: what they do at once, without callbacks

    private abstract static class Member {
        final String id, instance;
        int epoch;
        Uuid topic = TOPIC_ID;
        Set<Integer> owned = new TreeSet<>();

        Member(String id, String instance) {
            this.id = id;
            this.instance = instance;
        }

        abstract void heartbeat(Broker broker) throws Exception;

        abstract void leave(Broker broker) throws Exception;

        String named() {
            return id;
        }

        Errors commit(Broker broker, int epoch, long offset) throws Exception {
            var request = new OffsetCommitRequestData()
                .setGroupId(GROUP).setMemberId(named()).setGenerationIdOrMemberEpoch(epoch)
                .setTopics(List.of(new OffsetCommitRequestData.OffsetCommitRequestTopic().setName(TOPIC)
                    .setTopicId(topic).setPartitions(List.of(
                        new OffsetCommitRequestData.OffsetCommitRequestPartition()
                            .setPartitionIndex(0).setCommittedOffset(offset)))));
            var error = errorOf(broker.write("commit", shard ->
                shard.commitOffset(context(ApiKeys.OFFSET_COMMIT, id), request)));
            tell(id + " commits " + offset + " with epoch " + epoch, error);
            return error;
        }
    }

    private static class Consumer extends Member {
        String assignor, regex;

        Consumer(String id, String instance) {
            super(id, instance);
        }

        CompletableFuture<ConsumerGroupHeartbeatResponseData> asked(Broker broker, int epoch) {
            var request = new ConsumerGroupHeartbeatRequestData()
                .setGroupId(GROUP).setMemberId(id).setInstanceId(instance).setMemberEpoch(epoch)
                .setRebalanceTimeoutMs(REBALANCE_MS).setSubscribedTopicRegex(regex)
                .setSubscribedTopicNames(regex == null ? List.of(TOPIC) : null)
                .setServerAssignor(assignor)
                .setTopicPartitions(owned.isEmpty() || epoch == 0 ? List.of() : List.of(
                    new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                        .setTopicId(TOPIC_ID).setPartitions(List.copyOf(owned))));
            return broker.write("heartbeat", shard ->
                shard.consumerGroupHeartbeat(context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, id), request));
        }

        // Says all; does not do what it is told.
        Errors send(Broker broker, int epoch) throws Exception {
            var future = asked(broker, epoch);
            var error = errorOf(future);
            tell(id + " sends a heartbeat of epoch " + epoch + " with " + owned, error);
            return error;
        }

        @Override
        void heartbeat(Broker broker) throws Exception {
            var future = asked(broker, epoch);
            var error = errorOf(future);
            if (error == Errors.UNKNOWN_MEMBER_ID || error == Errors.FENCED_MEMBER_EPOCH) {
                tell(id + " with epoch " + epoch, error);
                epoch = 0;
                owned = new TreeSet<>();
            } else if (error == Errors.NONE) {
                epoch = future.get().memberEpoch();
                if (future.get().assignment() != null) {
                    var now = new TreeSet<Integer>();
                    future.get().assignment().topicPartitions().forEach(of -> now.addAll(of.partitions()));
                    owned = now;
                }
            } else {
                tell(id + " with epoch " + epoch, error);
            }
        }

        @Override
        void leave(Broker broker) throws Exception {
            tell(id + " leaves", errorOf(asked(broker, -1)));
            owned = new TreeSet<>();
        }
    }

    // A client of Kafka Streams, whose topology reads the topic and no more.
    private static class Streams extends Member {
        Streams(String id, String instance) {
            super(id, instance);
        }

        CompletableFuture<StreamsGroupHeartbeatResponseData> asked(Broker broker, int epoch) {
            var request = new StreamsGroupHeartbeatRequestData()
                .setGroupId(GROUP).setMemberId(id).setInstanceId(instance).setMemberEpoch(epoch)
                .setProcessId(id).setClientTags(List.of()).setRebalanceTimeoutMs(REBALANCE_MS)
                .setActiveTasks(owned.isEmpty() ? List.of() : List.of(
                    new StreamsGroupHeartbeatRequestData.TaskIds()
                        .setSubtopologyId("0").setPartitions(List.copyOf(owned))))
                .setStandbyTasks(List.of()).setWarmupTasks(List.of());
            if (epoch == 0)
                request.setTopology(new StreamsGroupHeartbeatRequestData.Topology().setSubtopologies(List.of(
                    new StreamsGroupHeartbeatRequestData.Subtopology()
                        .setSubtopologyId("0").setSourceTopics(List.of(TOPIC)))));
            return broker.write("heartbeat", shard ->
                shard.streamsGroupHeartbeat(context(ApiKeys.STREAMS_GROUP_HEARTBEAT, id), request))
                .thenApply(StreamsGroupHeartbeatResult::data);
        }

        @Override
        void heartbeat(Broker broker) throws Exception {
            var future = asked(broker, epoch);
            var error = errorOf(future);
            if (error != Errors.NONE) {
                tell(id + " with epoch " + epoch, error);
                return;
            }
            epoch = future.get().memberEpoch();
            if (future.get().activeTasks() != null) {
                owned = new TreeSet<>();
                future.get().activeTasks().forEach(of -> owned.addAll(of.partitions()));
            }
        }

        @Override
        void leave(Broker broker) throws Exception {
            tell(id + " leaves", errorOf(asked(broker, -1)));
            owned = new TreeSet<>();
        }
    }

    // Eager, it gives up all before it joins; cooperative, it says what it has, and joins again when it
    // has given some of that up.
    private static class Classic extends Member {
        final boolean cooperative;
        String known = "";
        CompletableFuture<JoinGroupResponseData> joining;
        CompletableFuture<SyncGroupResponseData> syncing;
        boolean isMember;
        boolean polls = true;
        boolean tellsGeneration;
        boolean reversed, user;
        int session = SESSION_MS;

        Classic(String id, String instance) {
            this(id, instance, false);
        }

        Classic(String id, String instance, boolean cooperative) {
            super(id, instance);
            this.cooperative = cooperative;
        }

        private String assignor() {
            return cooperative ? "cooperative-sticky" : "range";
        }

        @Override
        String named() {
            return known;
        }

        @Override
        void heartbeat(Broker broker) throws Exception {
            if (isMember && joining == null && syncing == null) {
                var request = new HeartbeatRequestData()
                    .setGroupId(GROUP).setMemberId(known).setGroupInstanceId(instance).setGenerationId(epoch);
                var future = broker.write("heartbeat", shard ->
                    shard.classicGroupHeartbeat(context(ApiKeys.HEARTBEAT, id), request));
                var error = future.isCompletedExceptionally() ? errorOf(future)
                    : Errors.forCode(future.get().errorCode());
                if (error == Errors.NONE)
                    return;
                tell(id + " in generation " + epoch, error);
            }
            for (int i = 0; i < 3; i++) {
                if (joining == null && syncing == null)
                    join(broker);
                if (joining != null && joining.isDone())
                    joined(broker);
                if (syncing != null && syncing.isDone() && polls)
                    synced();
                if (isMember)
                    return;
            }
        }

        // What it has asked for of another broker is not answered: it joins again.
        void connects(Broker broker) throws Exception {
            joining = null;
            syncing = null;
            isMember = false;
            heartbeat(broker);
        }

        private void join(Broker broker) {
            if (!cooperative)
                owned = new TreeSet<>();
            isMember = false;
            ByteBuffer metadata = ConsumerProtocol.serializeSubscription(
                new ConsumerPartitionAssignor.Subscription(List.of(TOPIC), null,
                    owned.stream().map(p -> new TopicPartition(TOPIC, p)).toList(),
                    tellsGeneration ? epoch : -1, Optional.empty()));
            var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
            protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName(assignor())
                .setMetadata(bytes(metadata)));
            var request = new JoinGroupRequestData()
                .setGroupId(GROUP).setMemberId(known).setGroupInstanceId(instance)
                .setSessionTimeoutMs(session).setRebalanceTimeoutMs(REBALANCE_MS)
                .setProtocolType("consumer").setProtocols(protocols);
            joining = new CompletableFuture<>();
            broker.write("join", shard ->
                shard.classicGroupJoin(context(ApiKeys.JOIN_GROUP, id), request, joining));
        }

        private void joined(Broker broker) throws Exception {
            var answer = joining.get();
            joining = null;
            var error = Errors.forCode(answer.errorCode());
            if (error == Errors.UNKNOWN_MEMBER_ID)
                known = "";
            else
                known = answer.memberId();
            if (error != Errors.NONE)
                return;
            epoch = answer.generationId();
            var request = new SyncGroupRequestData()
                .setGroupId(GROUP).setMemberId(known).setGroupInstanceId(instance).setGenerationId(epoch)
                .setProtocolType("consumer").setProtocolName(assignor());
            if (known.equals(answer.leader())) {
                var assignments = new ArrayList<SyncGroupRequestData.SyncGroupRequestAssignment>();
                var ids = answer.members().stream().map(JoinGroupResponseData.JoinGroupResponseMember::memberId)
                    .sorted(reversed ? Comparator.reverseOrder() : Comparator.<String>naturalOrder()).toList();
                var claimed = new HashMap<Integer, String>();
                for (var member : answer.members())
                    ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(member.metadata()))
                        .ownedPartitions().forEach(of -> claimed.put(of.partition(), member.memberId()));
                for (int at = 0; at < ids.size(); at++) {
                    var some = new ArrayList<TopicPartition>();
                    for (int p = at; p < PARTITIONS; p += ids.size())
                        if (claimed.getOrDefault(p, ids.get(at)).equals(ids.get(at)))
                            some.add(new TopicPartition(TOPIC, p));
                    assignments.add(new SyncGroupRequestData.SyncGroupRequestAssignment()
                        .setMemberId(ids.get(at)).setAssignment(bytes(ConsumerProtocol.serializeAssignment(
                            user ? new ConsumerPartitionAssignor.Assignment(some, ByteBuffer.wrap(new byte[] {1})) : new ConsumerPartitionAssignor.Assignment(some)))));
                }
                request.setAssignments(assignments);
            }
            syncing = new CompletableFuture<>();
            var future = broker.write("sync", shard ->
                shard.classicGroupSync(context(ApiKeys.SYNC_GROUP, id), request, syncing));
            if (future.isCompletedExceptionally())
                syncing = null;
        }

        private void synced() throws Exception {
            var answer = syncing.get();
            syncing = null;
            if (Errors.forCode(answer.errorCode()) != Errors.NONE)
                return;
            var before = owned;
            owned = new TreeSet<>();
            if (answer.assignment().length > 0)
                ConsumerProtocol.deserializeAssignment(ByteBuffer.wrap(answer.assignment())).partitions()
                    .forEach(of -> owned.add(of.partition()));
            isMember = owned.containsAll(before);
            tell(id + " is in generation " + epoch + " and has", owned);
        }

        @Override
        void leave(Broker broker) throws Exception {
            var request = new LeaveGroupRequestData().setGroupId(GROUP).setMembers(List.of(
                new LeaveGroupRequestData.MemberIdentity().setMemberId(known).setGroupInstanceId(instance)));
            tell(id + " leaves", errorOf(broker.write("leave", shard ->
                shard.classicGroupLeave(context(ApiKeys.LEAVE_GROUP, id), request))));
            owned = new TreeSet<>();
        }

        private static byte[] bytes(ByteBuffer of) {
            byte[] all = new byte[of.remaining()];
            of.duplicate().get(all);
            return all;
        }
    }

    // --- Brokers

    private static class Log extends ArrayList<CoordinatorRecord> {
        Log copy() {
            var other = new Log();
            other.addAll(this);
            return other;
        }
    }

    // Kafka's own log on a disk, its cleaner and its loader. first: how many records are in the first of
    // two segments, behind which a third one begins. amid: it is cleaned when a load has read the first
    // one; else before.
    private static class Stored implements CoordinatorLoader<CoordinatorRecord> {
        private final UnifiedLog log;
        private final CoordinatorLoaderImpl<CoordinatorRecord> loader;
        private final int first;
        private final boolean amid;

        Stored(Log records, int first, boolean amid) throws Exception {
            this.first = first;
            this.amid = amid;
            var folder = Files.createTempDirectory("kraftcheck-").resolve("__consumer_offsets-0").toFile();
            var scheduler = new KafkaScheduler(1);
            scheduler.startup();
            log = UnifiedLog.create(folder, new LogConfig(Map.of("cleanup.policy", "compact")), 0, 0, scheduler,
                new BrokerTopicStats(), Time.SYSTEM, 900_000, new ProducerStateManagerConfig(86_400_000, true), 600_000,
                new LogDirFailureChannel(1), true, Optional.empty());
            var serde = new GroupCoordinatorRecordSerde();
            for (CoordinatorRecord record : records) {
                if (log.logEndOffset() == first)
                    log.roll();
                log.appendAsLeader(MemoryRecords.withRecords(Compression.NONE,
                    new SimpleRecord(serde.serializeKey(record), serde.serializeValue(record))), 0);
            }
            log.roll();
            log.updateHighWatermark(log.logEndOffset());
            loader = new CoordinatorLoaderImpl<>(Time.SYSTEM, of -> Optional.of(log),
                of -> Optional.of(log.logEndOffset()), serde, 5 << 20, 16_384);
            if (!amid)
                clean();
        }

        private void clean() {
            try {
                var cleaner = new Cleaner(0, new SkimpyOffsetMap(1 << 20), 1 << 16, 1 << 20, 0.9,
                    new Throttler(Double.MAX_VALUE, 300, "cleaner", "bytes", Time.SYSTEM), Time.SYSTEM, of -> { });
                cleaner.clean(new LogToClean(log, 0, log.logEndOffset(), false));
                tell("the log is cleaned; its segments", log.numberOfSegments());
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public CompletableFuture<LoadSummary> load(TopicPartition tp, CoordinatorPlayback<CoordinatorRecord> into) {
            var done = loader.load(tp, new CoordinatorPlayback<>() {
                @Override
                public void replay(long offset, long producer, short epoch, CoordinatorRecord record) {
                    into.replay(offset, producer, epoch, record);
                    if (amid && offset == first - 1)
                        clean();
                }

                @Override
                public void replayEndTransactionMarker(long producer, short epoch, TransactionResult result) {
                    into.replayEndTransactionMarker(producer, epoch, result);
                }

                @Override
                public void updateLastWrittenOffset(long offset) {
                    into.updateLastWrittenOffset(offset);
                }

                @Override
                public void updateLastCommittedOffset(long offset) {
                    into.updateLastCommittedOffset(offset);
                }
            });
            done.handle((summary, error) -> {
                for (var cause = error; cause != null; cause = cause.getCause())
                    if (cause.getCause() == null)
                        tell("the load", cause.getMessage());
                return null;
            }).join();
            return done;
        }

        @Override
        public void close() {
        }
    }

    // A broker that leads the group's partition: it has loaded the log. uncommitted: how many records
    // at its end were above the high watermark as the load looked. Of its rising since nobody is told.
    private static class Broker implements Time, PartitionWriter, CoordinatorEventProcessor,
            CoordinatorLoader<CoordinatorRecord>, CoordinatorMetadataImage,
            org.apache.kafka.server.util.timer.Timer {
        final Log log;
        final TopicPartition at = new TopicPartition("__consumer_offsets", 0);
        final CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime;
        private final List<TimerTaskEntry> timers = new ArrayList<>();
        private final ArrayList<CoordinatorEvent> events = new ArrayList<>();
        private final GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        private final int uncommitted;
        private PartitionWriter.Listener listener;
        private boolean running;
        private long now;
        boolean commits = true, fails;
        Uuid present = TOPIC_ID;

        Broker(Log log, long clock) throws Exception {
            this(log, clock, 0);
        }

        Broker(Log log, long clock, int uncommitted) throws Exception {
            this.log = log;
            this.uncommitted = uncommitted;
            now = 1_700_000_000_000L + clock;
            var all = Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF));
            var given = new AbstractConfig(all, settings, false);
            var config = new GroupCoordinatorConfig(given);
            var share = new ShareGroupConfig(given);
            var groups = new GroupConfigManager(Map.of(), config, share);
            var metrics = new GroupCoordinatorMetrics(new com.yammer.metrics.core.MetricsRegistry(), new Metrics());
            var quiet = (CoordinatorRuntimeMetrics) java.lang.reflect.Proxy.newProxyInstance(
                Coordinators.class.getClassLoader(), new Class<?>[] {CoordinatorRuntimeMetrics.class},
                (proxy, method, arguments) -> null);
            runtime = new CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord>()
                .withTime(this).withTimer(this).withLogContext(new LogContext()).withEventProcessor(this)
                .withPartitionWriter(this).withLoader(this)
                .withCoordinatorShardBuilderSupplier(() ->
                    new GroupCoordinatorShard.Builder(config, groups).withAuthorizerPlugin(Optional.empty()))
                .withWriteTimeout(WRITE).withCoordinatorRuntimeMetrics(quiet)
                .withCoordinatorMetrics(metrics).withSerializer(serde).withAppendLingerMs(OptionalInt.of(0))
                .withExecutorService(AT_ONCE).withCachedBufferMaxBytesSupplier(() -> 1 << 20)
                .build();
            runtime.onMetadataUpdate(NO_DELTA, this);
            runtime.scheduleLoadOperation(at, 1);
            run();
        }

        <T> CompletableFuture<T> write(
            String name,
            CoordinatorRuntime.CoordinatorWriteOperation<GroupCoordinatorShard, T, CoordinatorRecord> operation
        ) {
            var future = runtime.scheduleWriteOperation(name, at, operation);
            run();
            return future;
        }

        void commit() {
            listener.onHighWatermarkUpdated(at, log.size());
            run();
        }

        private void run() {
            if (running)
                return;
            running = true;
            while (!events.isEmpty())
                events.remove(0).run();
            running = false;
        }

        // Time passes, and timers that are due go off in their order.
        void passes(long ms) {
            long end = now + ms;
            while (true) {
                var due = timers.stream().filter(each -> each.expirationMs <= end)
                    .min(Comparator.comparingLong(each -> each.expirationMs));
                if (due.isEmpty())
                    break;
                timers.remove(due.get());
                now = Math.max(now, due.get().expirationMs);
                if (!due.get().cancelled())
                    due.get().timerTask.run();
                run();
            }
            now = end;
        }

        @Override
        public void add(TimerTask task) {
            timers.add(new TimerTaskEntry(task, now + task.delayMs));
        }

        @Override
        public boolean advanceClock(long ms) {
            return false;
        }

        @Override
        public int size() {
            return timers.size();
        }

        @Override
        public void enqueueLast(CoordinatorEvent event) {
            events.add(event);
            run();
        }

        @Override
        public void enqueueFirst(CoordinatorEvent event) {
            events.add(0, event);
            run();
        }

        @Override
        public CompletableFuture<LoadSummary> load(TopicPartition tp, CoordinatorPlayback<CoordinatorRecord> into) {
            return kafkas != null ? kafkas.load(tp, into) : held.thenCompose(done -> read(into));
        }

        // The load goes on that was held.
        void loaded() {
            held.complete(null);
            run();
        }

        private CompletableFuture<LoadSummary> read(CoordinatorPlayback<CoordinatorRecord> into) {
            try {
                long offset = 0;
                for (CoordinatorRecord record : log)
                    into.replay(offset++, -1, (short) -1, record);
                if (offset > 0) {
                    into.updateLastWrittenOffset(offset);
                    into.updateLastCommittedOffset(offset - uncommitted);
                }
                return CompletableFuture.completedFuture(new LoadSummary(now, now, 0, offset, 0));
            } catch (RuntimeException error) {
                tell("the load", error.getMessage().replace('"', ' '));
                return CompletableFuture.failedFuture(error);
            }
        }

        @Override
        public long append(TopicPartition tp, VerificationGuard guard, MemoryRecords records, short version) {
            if (fails)
                throw new org.apache.kafka.common.errors.NotEnoughReplicasException();
            for (var batch : records.batches())
                for (var each : batch)
                    log.add(batch.isControlBatch() ? null : serde.deserialize(each.key(), each.value()));
            if (commits)
                listener.onHighWatermarkUpdated(tp, log.size());
            return log.size();
        }

        @Override
        public void registerListener(TopicPartition tp, PartitionWriter.Listener of) {
            listener = of;
        }

        @Override
        public void deregisterListener(TopicPartition tp, PartitionWriter.Listener of) {
        }

        @Override
        public LogConfig config(TopicPartition tp) {
            return new LogConfig(Map.of());
        }

        @Override
        public CompletableFuture<VerificationGuard> maybeStartTransactionVerification(
                TopicPartition tp, String id, long producer, short epoch, int version) {
            return CompletableFuture.completedFuture(VerificationGuard.SENTINEL);
        }

        @Override
        public CompletableFuture<Void> deleteRecords(TopicPartition tp, long before) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            now += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
        }

        @Override
        public Set<Uuid> topicIds() {
            return Set.of(present);
        }

        @Override
        public Set<String> topicNames() {
            return Set.of(TOPIC);
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(String name) {
            return name.equals(TOPIC) ? Optional.of(new Topic(present)) : Optional.empty();
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return id.equals(present) ? Optional.of(new Topic(present)) : Optional.empty();
        }

        @Override
        public CoordinatorMetadataDelta emptyDelta() {
            return CoordinatorMetadataDelta.EMPTY;
        }

        @Override
        public long version() {
            return 1;
        }

        @Override
        public boolean isEmpty() {
            return false;
        }

        @Override
        public void close() {
        }
    }

    private record Topic(Uuid id) implements CoordinatorMetadataImage.TopicMetadata {
        @Override
        public String name() {
            return TOPIC;
        }

        @Override
        public int partitionCount() {
            return PARTITIONS;
        }

        @Override
        public List<String> partitionRacks(int partition) {
            return new ArrayList<>();
        }
    }
}
