package kraftcheck.storage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import kraftcheck.witness.Mirror;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Kafka's own log of one partition, told what to do. The first line is ignored, for the host's sake;
 * each line after it is an operation, and is answered by one line: where the log stands then (end,
 * start, recovery point, high watermark, last stable offset), or "!" and what Kafka threw.
 *
 *   open DIR START RECOVERY_POINT CLEAN NOW CONFIG     leader EPOCH ORIGIN HEX    follower EPOCH HEX
 *   roll   flush   truncate OFFSET   anew OFFSET   hw OFFSET   start OFFSET   retain   tasks   now MS
 *   clean FIRST UPTO KEYS   close   drop (a crash of the process)   dump FILE
 */
public final class Logs {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** In Scala until 4.2. */
    private static final Class<?> DUMP =
        Mirror.type("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments");
    private final Clock clock = new Clock();
    private final BrokerTopicStats stats = new BrokerTopicStats();
    private Later later = new Later();
    private UnifiedLog log;

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // whatever Kafka prints is no answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Logs logs = new Logs();
        in.readLine();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String said;
            try {
                said = logs.told(line.split(" "));
            } catch (Throwable e) {
                said = "!" + e.getClass().getSimpleName() + " " + String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
            }
            out.print(said + "\n");
            if (!in.ready()) {
                out.flush();
            }
        }
        out.flush();
        Runtime.getRuntime().halt(0);
    }

    private String told(String[] words) throws Exception {
        switch (words[0]) {
            case "open" -> open(words);
            case "leader" -> lead(records(words[3]), Integer.parseInt(words[1]),
                words[2].equals("coordinator") ? AppendOrigin.COORDINATOR : AppendOrigin.CLIENT);
            case "follower" -> log.appendAsFollower(records(words[2]), Integer.parseInt(words[1]));
            case "roll" -> log.roll();
            case "flush" -> log.flush(false);
            case "flush-all" -> log.flush(true);
            case "truncate" -> log.truncateTo(Long.parseLong(words[1]));
            case "anew" -> log.truncateFullyAndStartAt(Long.parseLong(words[1]), Optional.empty());
            case "hw" -> log.updateHighWatermark(Long.parseLong(words[1]));
            case "start" -> log.maybeIncrementLogStartOffset(
                Long.parseLong(words[1]), LogStartOffsetIncrementReason.ClientRecordDeletion);
            case "retain" -> log.deleteOldSegments();
            case "tasks" -> later.run();
            case "now" -> clock.now = Long.parseLong(words[1]);
            case "clean" -> {
                return String.valueOf(clean(Long.parseLong(words[1]), Long.parseLong(words[2]), Integer.parseInt(words[3])));
            }
            case "close" -> {
                log.flush(true);
                log.close();
            }
            case "drop" -> {
                Mirror.drop(log);
                later = new Later();
            }
            case "dump" -> {
                return dump(words[1]);
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
        return log.logEndOffset() + " " + log.logStartOffset() + " " + log.recoveryPoint() + " "
            + log.highWatermark() + " " + log.lastStableOffset();
    }

    /** Since 4.2 with the transactions' version. */
    private void lead(MemoryRecords records, int epoch, AppendOrigin origin) {
        List<Object> in = new ArrayList<>(List.of(
            records, epoch, origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL));
        if (Mirror.has(log, "appendAsLeader", 6)) {
            in.add(TransactionVersion.TV_0.featureLevel());
        }
        Mirror.call(log, "appendAsLeader", in.toArray());
    }

    private static MemoryRecords records(String hex) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
    }

    private void open(String[] words) throws Exception {
        JsonNode told = JSON.readTree(words[6]);
        Properties settings = new Properties();
        told.fields().forEachRemaining(each -> settings.put(each.getKey(), each.getValue().asText()));
        settings.put(TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG, String.valueOf(Long.MAX_VALUE));
        clock.now = Long.parseLong(words[5]);
        later = new Later();
        log = UnifiedLog.create(
            new File(words[1]), new LogConfig(settings), Long.parseLong(words[2]), Long.parseLong(words[3]),
            later, stats, clock, 3_600_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false),
            Integer.MAX_VALUE, new LogDirFailureChannel(10), words[4].equals("true"), Optional.empty(),
            new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
    }

    /** A round of cleaning; the offset up to which it knows keys. */
    private long clean(long first, long upto, int keys) throws Exception {
        int slots = (int) Math.ceil((keys + 0.5) / 0.9);
        Throttler throttler = new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "cleaner-io", "bytes", clock);
        Cleaner cleaner = new Cleaner(
            0, new SkimpyOffsetMap(slots * 24), 1 << 16, 1 << 16, 0.9, throttler, clock, partition -> {});
        return cleaner.doClean(new LogToClean(log, first, upto, false), clock.now).getKey();
    }

    /** What Kafka's tool says of a file, its lines joined by tabs. */
    private static String dump(String file) throws Exception {
        PrintStream before = System.out;
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        try (PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8)) {
            System.setOut(out);
            Mirror.called(DUMP, "main", (Object) new String[] {"--files", file, "--deep-iteration"});
        } finally {
            System.setOut(before);
        }
        return said.toString(StandardCharsets.UTF_8).strip().replace("\n", "\t");
    }
}
