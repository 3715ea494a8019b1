package kraftcheck.clients;

/** One line of the history, formatted by the thread that writes it and not by the application's. */
interface Event {
    void write(Line line);

    /** Takes the event that follows into this line, if one line can say both. */
    default boolean absorb(Event next) {
        return false;
    }
}
