package kafka.coordinator.transaction;

import kraftcheck.witness.Mirror;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.server.common.TransactionVersion;
import scala.jdk.javaapi.CollectionConverters;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What Kafka has of a transaction, in words that all versions share: Scala's until 4.1, and its states until 4.0. */
final class Row {
    static final Set<String> PREPARED = Set.of("PrepareCommit", "PrepareAbort");
    static final Set<String> COMPLETED = Set.of("CompleteCommit", "CompleteAbort");
    static final String FENCE = "PrepareEpochFence";
    static final String DEAD = "Dead";

    /** Whether sets of partitions are Java's: since 4.2. */
    private static final boolean JAVA =
            Mirror.takesIn(TransactionCoordinator.class, "handleAddPartitionsToTransaction", Set.class);

    private Row() { }

    static String state(TransactionMetadata row) {
        return name(row.state());
    }

    /** Of the state that it is on its way to; null: it is on none. */
    static String pending(TransactionMetadata row) {
        Object found = Mirror.call(row, "pendingState");
        return Mirror.<Boolean>call(found, "isEmpty") ? null : name(Mirror.call(found, "get"));
    }

    static String name(Object state) {
        return Mirror.call(state, Mirror.has(state, "stateName", 0) ? "stateName" : "name");
    }

    /** Whether there is none, or one that nothing was written of: its id is forgotten, or was never there. */
    static boolean isGone(TransactionMetadata row) {
        return row == null || row.producerEpoch() < 0;
    }

    /** Of a row, or of what it is to become. */
    @SuppressWarnings("unchecked")
    static List<Integer> partitions(Object row) {
        Object found = Mirror.call(row, "topicPartitions");
        Collection<TopicPartition> all = found instanceof scala.collection.Set<?> of
                ? CollectionConverters.asJava((scala.collection.Set<TopicPartition>) of)
                : (Collection<TopicPartition>) found;
        return all.stream().map(TopicPartition::partition).sorted().toList();
    }

    /** A set of partitions, as Kafka takes it. */
    static Object set(TopicPartition... partitions) {
        Set<TopicPartition> made = new HashSet<>(List.of(partitions));
        return JAVA ? made : CollectionConverters.asScala(made);
    }

    static TransactionMetadata empty(String id, long producerId, int timeout, long now, TransactionVersion client) {
        Object state = Mirror.call(Mirror.called(TransactionState.class, "fromName", "Empty"), "get");
        return Mirror.made(TransactionMetadata.class, id, producerId, -1L, -1L, (short) 0, (short) -1, timeout, state,
                set(), -1L, now, client);
    }
}
