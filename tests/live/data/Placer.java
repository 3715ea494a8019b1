import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Scanner;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/** For each line "factor id:rack:fenced ...": what Kafka's placer chooses, over many seeds. */
public final class Placer {
    private static final int SEEDS = 200;
    private static final int PARTITIONS = 6;

    public static void main(String[] args) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            List<UsableBroker> brokers = new ArrayList<>();
            for (int i = 1; i < words.length; i++) {
                String[] of = words[i].split(":");
                brokers.add(new UsableBroker(
                    Integer.parseInt(of[0]), Optional.of(of[1]), of[2].equals("fenced")));
            }
            System.out.println(String.join(" ", chosen(brokers, Short.parseShort(words[0]))));
        }
    }

    private static TreeSet<String> chosen(List<UsableBroker> brokers, short factor) {
        ClusterDescriber cluster = new ClusterDescriber() {
            @Override
            public Iterator<UsableBroker> usableBrokers() {
                return brokers.iterator();
            }

            @Override
            public Uuid defaultDir(int broker) {
                return Uuid.ZERO_UUID;
            }
        };
        TreeSet<String> found = new TreeSet<>();
        for (int seed = 0; seed < SEEDS; seed++) {
            StripedReplicaPlacer placer = new StripedReplicaPlacer(new Random(seed));
            try {
                PlacementSpec asked = new PlacementSpec(0, PARTITIONS, factor);
                for (PartitionAssignment each : placer.place(asked, cluster).assignments()) {
                    found.add(each.replicas().toString().replaceAll("[\\[\\] ]", ""));
                }
            } catch (InvalidReplicationFactorException error) {
                found.add("refused");
            }
        }
        return found;
    }
}
