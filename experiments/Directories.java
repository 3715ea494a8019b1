// LogManager of Apache Kafka with two log directories, without a broker: what a start makes of a replica
// that has moved between them, or of one whose directory is offline. A line of JSON for each case.
//
//     java -cp 'libs/*' Directories.java
//
// abandoned: the replica has ten records, and its future log six; the metadata name the future log's
// directory (it was accepted when the copy had caught up once). Control: the future log has all ten.
// unassigned: the replica's directory is offline, and the metadata name none. It counts as new, as
// every partition does after a start (ReplicaManager.getOrCreatePartition). Control: it is not new.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import kafka.log.LogManager;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.image.TopicsImage;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

public class Directories {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final Uuid TOPIC_ID = new Uuid(1, 1), FIRST_ID = new Uuid(2, 2), SECOND_ID = new Uuid(3, 3);
    private static final int RECORDS = 10;

    private final Path first, second;
    private LogManager logs;

    public static void main(String[] args) throws Exception {
        say("abandoned", new Directories().promoted(6), new Directories().promoted(RECORDS));
        say("unassigned", new Directories().made(true), new Directories().made(false));
        System.exit(0);
    }

    private static void say(String name, String found, String control) {
        System.out.printf("{\"case\":\"%s\",\"found\":\"%s\",\"control\":\"%s\"}%n", name, found, control);
    }

    Directories() throws Exception {
        Path root = Files.createTempDirectory("kraftcheck");
        first = directory(root.resolve("first"), FIRST_ID);
        second = directory(root.resolve("second"), SECOND_ID);
    }

    private static Path directory(Path path, Uuid id) throws Exception {
        Files.createDirectories(path);
        Files.writeString(path.resolve("meta.properties"),
            "version=1\ncluster.id=abcdefghijklmnopqrstuv\nnode.id=1\ndirectory.id=" + id + "\n");
        return path;
    }

    // What the replica has after a start, if the future log has copied so many records.
    private String promoted(int copied) throws Exception {
        starts();
        var log = logIn(first, false);
        append(log, RECORDS);
        log.updateHighWatermark(RECORDS);
        var future = logIn(second, true);
        for (int i = 0; i < copied; i++) {
            future.appendAsFollower(record(i), 0);
        }
        logs.shutdown(1);
        starts();
        var registration = new PartitionRegistration.Builder()
            .setReplicas(new int[] {1}).setDirectories(new Uuid[] {SECOND_ID}).setIsr(new int[] {1}).setLeader(1)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(0).setPartitionEpoch(1).build();
        logs.recoverAbandonedFutureLogs(
            1, TopicsImage.EMPTY.including(new TopicImage("t", TOPIC_ID, Map.of(0, registration))));
        return said(logs.getLog(PARTITION, false).get());
    }

    // What becomes of a replica whose directory is offline, if it counts as new, or not.
    private String made(boolean isNew) throws Exception {
        starts();
        append(logIn(first, false), RECORDS);
        logs.shutdown(1);
        starts(first.toString());
        try {
            return said(logs.getOrCreateLog(
                PARTITION, isNew, false, Optional.of(TOPIC_ID), Option.apply(DirectoryId.UNASSIGNED)));
        } catch (KafkaStorageException problem) {
            return problem.getClass().getSimpleName();
        }
    }

    private void starts(String... offline) {
        var properties = new Properties();
        properties.putAll(Map.of(
            "process.roles", "broker", "node.id", "1", "controller.quorum.bootstrap.servers", "localhost:1",
            "controller.listener.names", "CONTROLLER", "listeners", "PLAINTEXT://localhost:1",
            "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs", first + "," + second));
        var scheduler = new KafkaScheduler(1);
        scheduler.startup();
        logs = LogManager.apply(
            KafkaConfig.fromProps(properties), CollectionConverters.asScala(List.of(offline)).toList(),
            resource -> new Properties(), scheduler, Time.SYSTEM, new BrokerTopicStats(), new LogDirFailureChannel(2));
        logs.startup(CollectionConverters.asScala(Map.of()).keySet().toSet(), log -> false);
    }

    private UnifiedLog logIn(Path directory, boolean future) {
        logs.maybeUpdatePreferredLogDir(PARTITION, directory.toString());
        return logs.getOrCreateLog(PARTITION, true, future, Optional.of(TOPIC_ID), Option.empty());
    }

    private static void append(UnifiedLog log, int records) throws Exception {
        for (int i = 0; i < records; i++) {
            log.appendAsLeader(record(0), 0);
        }
    }

    private static MemoryRecords record(long offset) {
        return MemoryRecords.withRecords(offset, Compression.NONE, 0, new SimpleRecord("v".getBytes()));
    }

    private static String said(UnifiedLog log) {
        return log.logEndOffset() + " records in the " + Path.of(log.parentDir()).getFileName();
    }
}
