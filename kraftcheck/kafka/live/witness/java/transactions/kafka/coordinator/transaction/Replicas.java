package kafka.coordinator.transaction;

import kafka.server.ReplicaManager;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * What a coordinator is given in place of its broker's replicas: the log is the host's, and an append
 * is acknowledged when the schedule says so.
 */
final class Replicas {
    interface Append {
        void made(MemoryRecords records, Consumer<Errors> told);
    }

    /** Whether who appends is told in a map of Java: since 4.3. */
    private static final boolean JAVA = Mirror.takesIn(ReplicaManager.class, "appendRecords", Map.class);

    private static final Uuid TOPIC_ID = new Uuid(1, 1);

    private Replicas() { }

    static ReplicaManager of(TailLog log, Append append) {
        UnifiedLog read = Mirror.standInOf(UnifiedLog.class, (self, method, in) -> switch (method.getName()) {
            case "logStartOffset" -> (long) log.start();
            case "read" -> read(log, (long) in[0], in[2]);
            default -> throw new AssertionError("nobody asks a log for " + method);
        });
        return Mirror.standInOf(ReplicaManager.class, (self, method, in) -> switch (method.getName()) {
            case "topicIdPartition" -> new TopicIdPartition(TOPIC_ID, (TopicPartition) in[0]);
            case "appendRecords" -> appended(append, in);
            case "getLog" -> Option.apply(read);
            case "getLogEndOffset" -> Option.apply((long) log.end());
            case "getLogConfig" -> Option.apply(new LogConfig(Map.of()));
            case "defaultActionQueue" -> null; // an argument of an append, until 4.0
            default -> throw new AssertionError("nobody asks replicas for " + method);
        });
    }

    /** The records are the first map among the arguments, by partition; who is told is the first function. */
    @SuppressWarnings("unchecked")
    private static Object appended(Append append, Object[] in) {
        var entries = (scala.collection.Map<Object, MemoryRecords>) first(in, scala.collection.Map.class);
        var told = (Function1<Object, Object>) first(in, Function1.class);
        Tuple2<Object, MemoryRecords> entry = entries.head();
        append.made(entry._2(), error -> {
            var answer = Map.of(entry._1(), new PartitionResponse(error));
            told.apply(JAVA ? answer : CollectionConverters.asScala(answer));
        });
        return null;
    }

    /** A map of Scala is a function as well. */
    private static Object first(Object[] in, Class<?> type) {
        boolean wantsMap = type == scala.collection.Map.class;
        return Stream.of(in).filter(each -> type.isInstance(each)
                && wantsMap == (each instanceof scala.collection.Map)).findFirst().orElseThrow();
    }

    private static FetchDataInfo read(TailLog log, long from, Object isolation) {
        int end = isolation == FetchIsolation.LOG_END ? log.end() : log.highWatermark();
        return new FetchDataInfo(new LogOffsetMetadata(from), log.read((int) from, end));
    }
}
