package kraftcheck.witness;

/** A move that is not possible. The text is one line. */
public final class Refusal extends RuntimeException {
    public Refusal(String why) {
        super(why);
    }
}
