package kafka.coordinator.transaction;

import kafka.server.ReplicaManager;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What a coordinator is given in place of its broker's replicas: the log is the host's, and an append
 * is acknowledged when the schedule says so. Neither constructor is run.
 */
final class Replicas extends ReplicaManager {
    interface Append {
        void made(MemoryRecords records, Consumer<Errors> told);
    }

    /** Whether who appends is told in a map of Java: since 4.3. */
    private static final boolean JAVA = Mirror.takesIn(ReplicaManager.class, "appendRecords", Map.class);

    private static final Uuid TOPIC_ID = new Uuid(1, 1);

    private TailLog log;
    private Append append;

    private Replicas() {
        super(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
                null, null, null, null);
    }

    static Replicas of(TailLog log, Append append) {
        Replicas made = Mirror.bare(Replicas.class);
        made.log = log;
        made.append = append;
        return made;
    }

    @Override
    public TopicIdPartition topicIdPartition(TopicPartition partition) {
        return new TopicIdPartition(TOPIC_ID, partition);
    }

    /** Raw, as what is told has another type before 4.3. */
    @Override
    @SuppressWarnings({"rawtypes", "unchecked"})
    public void appendRecords(
            long timeout, short acks, boolean internal, AppendOrigin origin, scala.collection.Map entries,
            Function1 told, Function1 validated, RequestLocal local, scala.collection.Map guards, short version) {
        var entry = (Tuple2<TopicIdPartition, MemoryRecords>) entries.head();
        append.made(entry._2(), error -> {
            var answer = Map.of(entry._1(), new PartitionResponse(error));
            told.apply(JAVA ? answer : CollectionConverters.asScala(answer));
        });
    }

    @Override
    public Option<UnifiedLog> getLog(TopicPartition partition) {
        return Option.apply(Log.of(log));
    }

    @Override
    public Option<Object> getLogEndOffset(TopicPartition partition) {
        return Option.apply((long) log.end());
    }

    private static final class Log extends UnifiedLog {
        private TailLog log;

        private Log() throws IOException {
            super(0, null, null, 0, null, null, null, false, null);
        }

        static Log of(TailLog log) {
            Log made = Mirror.bare(Log.class);
            made.log = log;
            return made;
        }

        @Override
        public long logStartOffset() {
            return log.start();
        }

        @Override
        public FetchDataInfo read(long from, int most, FetchIsolation isolation, boolean one) {
            int end = isolation == FetchIsolation.LOG_END ? log.end() : log.highWatermark();
            return new FetchDataInfo(new LogOffsetMetadata(from), log.read((int) from, end));
        }
    }
}
