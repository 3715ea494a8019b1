package kraftcheck.clients;

/** One line of the history, formatted by the thread that writes it and not by the application's. */
interface Event {
    void write(Line line);

    /** How many events it has taken, with itself. */
    default int count() {
        return 1;
    }

    /** Takes the event that follows into this line, if one line can say both. */
    default boolean absorb(Event next) {
        return false;
    }
}
