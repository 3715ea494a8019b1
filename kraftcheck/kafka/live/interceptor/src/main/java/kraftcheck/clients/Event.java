package kraftcheck.clients;

/** One line of the history, formatted by the thread that writes it and not by the application's. */
interface Event {
    void write(Line line);

    /** The number of calls that the written line covers. */
    default int count() {
        return 1;
    }
}
