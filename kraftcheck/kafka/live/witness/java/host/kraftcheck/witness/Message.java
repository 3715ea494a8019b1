package kraftcheck.witness;

/** What one node sent to another. text: as the specification has it; what: as Kafka has it. */
public record Message(int destination, String text, Object what) {}
