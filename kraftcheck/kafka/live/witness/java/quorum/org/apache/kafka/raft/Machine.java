package org.apache.kafka.raft;

/** What stands on the log of a voter: in Kafka a listener, which is a controller. */
public interface Machine {
    Machine NONE = new Machine() { };

    /** A process of the voter begins, and with it this. */
    default void begins() { }

    /** What the record that is appended now has behind its value. */
    default String behind() {
        return "";
    }

    /** The next record that the voter knows to be committed, with what it has behind its value. */
    default void committed(String record) { }

    /** This voter leads, and has heard of all that was committed before; or it does not. */
    default void leads(boolean leads) { }
}
