package kafka.coordinator.transaction;

import kafka.server.ReplicaManager;
import kraftcheck.witness.Mirror;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.RecordValidationStats;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

import java.io.IOException;
import java.util.Map;

/**
 * What a coordinator is given in place of its broker's replicas: the log is the host's, and an append
 * is acknowledged when the schedule says so. Neither constructor is run.
 */
final class Replicas extends ReplicaManager {
    interface Append {
        void made(MemoryRecords records, Function1<Map<TopicIdPartition, PartitionResponse>, BoxedUnit> told);
    }

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

    static TopicIdPartition of(int partition) {
        return new TopicIdPartition(TOPIC_ID, partition, Topic.TRANSACTION_STATE_TOPIC_NAME);
    }

    @Override
    public TopicIdPartition topicIdPartition(TopicPartition partition) {
        return new TopicIdPartition(TOPIC_ID, partition);
    }

    @Override
    public void appendRecords(
            long timeout, short acks, boolean internal, AppendOrigin origin,
            scala.collection.Map<TopicIdPartition, MemoryRecords> entries,
            Function1<Map<TopicIdPartition, PartitionResponse>, BoxedUnit> told,
            Function1<scala.collection.Map<TopicIdPartition, RecordValidationStats>, BoxedUnit> validated,
            RequestLocal local, scala.collection.Map<TopicPartition, VerificationGuard> guards, short version) {
        append.made(entries.head()._2(), told);
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
