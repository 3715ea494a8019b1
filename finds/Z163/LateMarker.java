// Kafka's log of one partition (UnifiedLog), without a broker: a transaction's first batch, verified
// as ReplicaManager has it verified, and what comes late of an earlier transaction: its marker once
// more, or its own first batch.
//
//     java -cp 'libs/*' LateMarker.java DIRECTORY WHEN...
//
// WHEN the marker comes again: "amid" (while the batch is verified), "never", "before" (the
// verification), "next" (amid, but the batch is of the very next transaction), "used" (amid, but the
// partition had a part in the transaction between). "overtaken": it is the batch of a transaction
// that is being aborted which comes while the next one's is verified; "in-turn": before that.
// "second": the second batch of a transaction whose epoch only a marker has told of is appended before
// the first; "first": the first is. "higher": with version 1 and nothing known of the producer, a batch
// is appended while a lower one is verified; "alone": no lower one has come. For each, in a new log, one
// line of JSON: what became of each append.

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class LateMarker {
    private static final long PRODUCER = 1000;
    private static final short VERSION = 2, FIRST = 5;
    private static final int COORDINATOR = 1;

    private static UnifiedLog log;
    private static final List<String> steps = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        for (int at = 1; at < args.length; at++) {
            log = opened(new File(args[0], at + "/t-0"));
            switch (args[at]) {
                case "overtaken" -> lateBatch(true);
                case "in-turn" -> lateBatch(false);
                case "second" -> afterMarker(1);
                case "first" -> afterMarker(0);
                case "higher" -> unknownProducer(true);
                case "alone" -> unknownProducer(false);
                default -> lateMarker(args[at]);
            }
            log.close();
            System.out.println("[" + String.join(",", steps) + "]");
            steps.clear();
        }
        System.exit(0);
    }

    private static UnifiedLog opened(File folder) throws Exception {
        return UnifiedLog.create(
            folder, new LogConfig(new Properties()), 0, 0, new KafkaScheduler(1),
            new BrokerTopicStats(), Time.SYSTEM, 900_000, new ProducerStateManagerConfig(86_400_000, true),
            600_000, new LogDirFailureChannel(1), true, Optional.empty());
    }

    private static void lateMarker(String when) {
        batch("first transaction", FIRST, verify(FIRST));
        marker("its marker", FIRST + 1);
        if (when.equals("used")) {
            batch("second transaction", FIRST + 1, verify(FIRST + 1));
            marker("its marker", FIRST + 2);
        }
        if (when.equals("before")) {
            marker("the first marker again", FIRST + 1);
        }
        int last = when.equals("next") ? FIRST + 1 : FIRST + 2;
        VerificationGuard guard = verify(last);
        if (!when.equals("never") && !when.equals("before")) {
            marker("the first marker again", FIRST + 1);
        }
        batch("last transaction", last, guard);
    }

    private static void lateBatch(boolean overtaken) {
        VerificationGuard late = verify(FIRST);
        VerificationGuard next = overtaken ? verify(FIRST + 1) : null;
        batch("first transaction, late", FIRST, late);
        if (!overtaken) {
            next = verify(FIRST + 1);
        }
        marker("its marker", FIRST + 1);
        batch("last transaction", FIRST + 1, next);
    }

    private static void afterMarker(int sequence) {
        batch("first transaction", FIRST, verify(FIRST));
        marker("its marker", FIRST + 1);
        var guard = log.maybeStartTransactionVerification(PRODUCER, sequence, (short) (FIRST + 1), true);
        batch("batch " + sequence + " of the next", FIRST + 1, guard, sequence, VERSION);
    }

    private static void unknownProducer(boolean lower) {
        if (lower)
            log.maybeStartTransactionVerification(PRODUCER, 0, FIRST, false);
        var guard = log.maybeStartTransactionVerification(PRODUCER, 1, FIRST, false);
        batch("batch 1", FIRST, guard, 1, (short) 1);
    }

    private static VerificationGuard verify(int epoch) {
        return log.maybeStartTransactionVerification(PRODUCER, 0, (short) epoch, true);
    }

    private static void batch(String what, int epoch, VerificationGuard guard) {
        batch(what, epoch, guard, 0, VERSION);
    }

    private static void batch(String what, int epoch, VerificationGuard guard, int sequence, short version) {
        MemoryRecords records = MemoryRecords.withTransactionalRecords(
            Compression.NONE, PRODUCER, (short) epoch, sequence, new SimpleRecord("x".getBytes()));
        append(what, epoch, () -> log.appendAsLeader(
            records, 0, AppendOrigin.CLIENT, RequestLocal.noCaching(), guard, version).firstOffset());
    }

    private static void marker(String what, int epoch) {
        MemoryRecords records = MemoryRecords.withEndTransactionMarker(
            PRODUCER, (short) epoch, new EndTransactionMarker(ControlRecordType.COMMIT, COORDINATOR));
        append(what, epoch, () -> log.appendAsLeader(
            records, 0, AppendOrigin.COORDINATOR, RequestLocal.noCaching(), VerificationGuard.SENTINEL, VERSION)
            .firstOffset());
    }

    private interface Append {
        long get() throws Exception;
    }

    private static void append(String what, int epoch, Append append) {
        String came;
        try {
            came = "offset " + append.get();
        } catch (Exception error) {
            came = error.getClass().getSimpleName();
        }
        boolean guarded = log.verificationGuard(PRODUCER) != VerificationGuard.SENTINEL;
        steps.add("{\"what\":\"%s\",\"epoch\":%d,\"came\":\"%s\",\"guarded\":%b}".formatted(
            what, epoch, came, guarded));
    }
}
