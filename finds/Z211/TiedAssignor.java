package kraftcheck;

import org.apache.kafka.coordinator.group.assignor.UniformAssignor;

/** A server-side assignor that does as Kafka's own, under a name of its own. */
public class TiedAssignor extends UniformAssignor {
    @Override
    public String name() {
        return "sticky";
    }
}
