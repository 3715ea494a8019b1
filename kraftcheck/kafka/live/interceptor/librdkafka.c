// Records the clients of librdkafka, as the interceptors beside this file record Java's:
//
//     cc -O2 -shared -fPIC -pthread -o recorder.so librdkafka.c LIBRDKAFKA.so
//
// plugin.library.paths=recorder.so, kraftcheck.history.path=FILE. traces/formats/clients.py reads
// the file, and says what each line means.
//
// The application never waits for the file: its threads append to a buffer, and one thread writes
// it. Lines without room are counted, and the file has their number. All clients of a process share
// one file; several processes may append to it, Java's among them, since each write is one chunk of
// whole lines that begins with a line feed.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define NAME "kraftcheck"
#define PATH NAME ".history.path"
#define HEADER NAME ".history.header"
#define ID_KEY "~k"
enum { BUFFER = 8 << 20, LINE = 1 << 16, RESERVED = 160, ID = 4, ID_MOST = 12 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *path, *lines, *taken;      // Lines that wait for the writer; those that it writes.
static size_t length;
static uint64_t dropped, process, counter;
static int file = -1, users, clients;
static off_t reserved_at;
static bool closing, failed, header = true;
static pthread_t writer;

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);  // What Java's nanoTime is here.
    return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

// -- The file

static bool write_all(const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t done = write(file, bytes, count);
        if (done < 0 && errno != EINTR) {
            return false;
        }
        bytes += done > 0 ? done : 0;
        count -= done > 0 ? done : 0;
    }
    return true;
}

// The line that says whether all could be written; overwriting it takes no space.
static void state(char *line, const char *what) {
    memset(line, ' ', RESERVED);
    int count = sprintf(line, "{\"event\":\"state\",\"jvm\":\"%08" PRIx64 "\",\"state\":\"%s\"}", process, what);
    line[count] = ' ';
    line[RESERVED - 1] = '\n';
}

static void fail(void) {
    char line[RESERVED + 1];
    if (!failed) {
        failed = true;
        fprintf(stderr, NAME ": %s: %s; the history is incomplete, and the application goes on\n",
            path, strerror(errno));
    }
    state(line, "failed");
    int again = open(path, O_WRONLY);  // `file` appends, wherever it is told to write.
    if (again < 0 || pwrite(again, line, RESERVED, reserved_at) != RESERVED) {
        fprintf(stderr, NAME ": %s: nor can the file say so\n", path);
    }
    close(again);
}

static void flush(void) {
    char said[128];
    pthread_mutex_lock(&mutex);
    char *mine = lines;
    size_t count = length;
    uint64_t missing = dropped;
    lines = taken;
    taken = mine;
    length = dropped = 0;
    pthread_mutex_unlock(&mutex);
    int more = sprintf(said, "\n");
    if (missing > 0) {
        more += sprintf(said + more, "{\"event\":\"dropped\",\"jvm\":\"%08" PRIx64 "\",\"events\":%" PRIu64 "}\n",
            process, missing);
    }
    // A chunk that failed is gone: from there on the file says that it is incomplete.
    if ((count > 0 || missing > 0) && !failed && !(write_all(said, more) && write_all(mine, count))) {
        fail();
    }
}

static void *run(void *unused) {
    struct timespec idle = {0, 1000000};
    while (!__atomic_load_n(&closing, __ATOMIC_ACQUIRE)) {
        flush();
        nanosleep(&idle, NULL);
    }
    flush();
    return NULL;
}

// Opens the file and begins this process's part of it. Returns what keeps it from that, or NULL.
static const char *begin(void) {
    char boot[64] = "", head[512 + RESERVED];
    if (path == NULL || *path == 0) {
        return "set " PATH " to the file of the history";
    }
    int known = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
    if (known >= 0) {
        ssize_t read_ = read(known, boot, sizeof boot - 1);
        boot[read_ > 0 ? strcspn(boot, "\n") : 0] = 0;
        close(known);
    }
    if (lines == NULL && ((lines = malloc(BUFFER)) == NULL || (taken = malloc(BUFFER)) == NULL)) {
        return "no memory";
    }
    if (process == 0 && getrandom(&process, ID, 0) != ID) {
        return strerror(errno);
    }
    file = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) {
        return strerror(errno);
    }
    int count = sprintf(head, "\n{\"event\":\"begin\",\"format\":\"kraftcheck-clients\",\"version\":1,"
        "\"jvm\":\"%08" PRIx64 "\",\"machine\":\"%s\",\"time\":%" PRId64 "}\n", process, boot, now());
    state(head + count, "recording");
    closing = failed = false;
    if (!write_all(head, count + RESERVED)
            || (reserved_at = lseek(file, 0, SEEK_CUR) - RESERVED) < 0
            || pthread_create(&writer, NULL, run, NULL) != 0) {
        const char *reason = strerror(errno);
        close(file);
        file = -1;
        return reason;
    }
    return NULL;
}

static void end(void) {
    char line[128];
    __atomic_store_n(&closing, true, __ATOMIC_RELEASE);
    pthread_join(writer, NULL);
    int count = sprintf(line, "\n{\"event\":\"end\",\"jvm\":\"%08" PRIx64 "\"}\n", process);
    if (!failed && !write_all(line, count)) {
        fail();
    }
    close(file);
    file = -1;
}

// -- Lines

// Puts a line of a client's into the buffer, or counts it as dropped. Returns whether it is there.
static bool put(void *client, const char *event, const char *form, ...) {
    char line[LINE];
    int head = snprintf(line, LINE, "{\"event\":\"%s\",\"jvm\":\"%08" PRIx64
        "\",\"client\":%d,\"time\":%" PRId64, event, process, (int) (intptr_t) client, now());
    va_list more;
    va_start(more, form);
    int tail = vsnprintf(line + head, LINE - head, form, more);
    va_end(more);
    size_t count = (size_t) head + (size_t) tail;
    pthread_mutex_lock(&mutex);
    bool room = count + 2 < LINE && length + count + 2 <= BUFFER;
    if (room) {
        memcpy(lines + length, line, count);
        memcpy(lines + length + count, "}\n", 2);
        length += count + 2;
    } else {
        dropped++;
    }
    pthread_mutex_unlock(&mutex);
    return room;
}

// A setting as a field. Topics' names need no escapes; settings lose what would need one.
static int field(char *to, const rd_kafka_conf_t *conf, const char *name, const char *setting) {
    char value[256] = "";
    size_t size = sizeof value;
    if (rd_kafka_conf_get(conf, setting, value, &size) != RD_KAFKA_CONF_OK || *value == 0) {
        return 0;
    }
    for (char *each = value; *each != 0; each++) {
        *each = *each == '"' || *each == '\\' || (unsigned char) *each < ' ' ? '?' : *each;
    }
    return sprintf(to, ",\"%s\":\"%s\"", name, value);
}

// The id in a record's header as JSON; null if its producer was not recorded.
static const char *id(char *text, const rd_kafka_message_t *record) {
    rd_kafka_headers_t *headers;
    const uint8_t *bytes;
    const void *value;
    size_t size;
    if (rd_kafka_message_headers(record, &headers) != 0
            || rd_kafka_header_get_last(headers, ID_KEY, &value, &size) != 0
            || size <= ID || size > ID_MOST) {
        return "null";
    }
    uint64_t number = 0;
    bytes = value;
    for (size_t at = ID; at < size; at++) {
        number = number << 8 | bytes[at];
    }
    sprintf(text, "\"%02x%02x%02x%02x-%" PRIu64 "\"", bytes[0], bytes[1], bytes[2], bytes[3], number);
    return text;
}

static void place(char *text, const rd_kafka_message_t *record) {
    *text = 0;
    if (record->partition >= 0) {
        sprintf(text, ",\"partition\":%d", record->partition);
    }
}

// -- Interceptors

static rd_kafka_resp_err_t on_send(rd_kafka_t *rk, rd_kafka_message_t *record, void *client) {
    rd_kafka_headers_t *headers;
    uint64_t number = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    uint8_t value[ID_MOST];
    char partition[40], name[96] = "";
    int size = ID + 1;
    while (size < ID_MOST && number >> 8 * (size - ID) != 0) {
        size++;
    }
    for (int at = 0; at < size; at++) {
        value[at] = at < ID ? process >> 8 * (ID - 1 - at) : number >> 8 * (size - 1 - at);
    }
    place(partition, record);
    if (header) {
        sprintf(name, "\"id\":\"%08" PRIx64 "-%" PRIu64 "\",\"thread\":%" PRIu64 ",", process, number,
            (uint64_t) pthread_self());
    }
    bool there = put(client, "send", ",%s\"topic\":\"%s\"%s", name, rd_kafka_topic_name(record->rkt),
        partition);
    if (rd_kafka_message_headers(record, &headers) != 0) {
        headers = rd_kafka_headers_new(1);
        rd_kafka_message_set_headers(record, headers);
    }
    // A record that is not in the file must not bear a name of ours, nor that of its original.
    rd_kafka_header_remove(headers, ID_KEY);
    return there && header ? rd_kafka_header_add(headers, ID_KEY, -1, value, size) : 0;
}

static rd_kafka_resp_err_t on_acknowledgement(rd_kafka_t *rk, rd_kafka_message_t *record, void *client) {
    char text[64], partition[40], named[80] = "";
    const char *name = id(text, record), *topic = rd_kafka_topic_name(record->rkt);
    if (header && *name == 'n') {
        return 0;  // It was dropped when it was sent.
    }
    place(partition, record);
    if (header) {
        sprintf(named, "\"id\":%s,", name);
    }
    if (record->err != 0) {
        put(client, "failed", ",%s\"topic\":\"%s\"%s,\"error\":\"%s\"", named, topic, partition,
            rd_kafka_err2name(record->err));
    } else {
        put(client, "acked", ",%s\"topic\":\"%s\"%s,\"offset\":%" PRId64, named, topic, partition,
            record->offset >= 0 ? record->offset : INT64_C(-1));
    }
    return 0;
}

static rd_kafka_resp_err_t on_consume(rd_kafka_t *rk, rd_kafka_message_t *record, void *client) {
    char text[64];
    if (record->err == 0) {
        put(client, "read", ",\"topic\":\"%s\",\"partition\":%d,\"records\":[[%" PRId64 ",%s]]",
            rd_kafka_topic_name(record->rkt), record->partition, record->offset, id(text, record));
    }
    return 0;
}

static rd_kafka_resp_err_t on_destroy(rd_kafka_t *rk, void *client) {
    put(client, "close", "");
    pthread_mutex_lock(&mutex);
    bool last = --users == 0;
    pthread_mutex_unlock(&mutex);
    if (last) {
        end();
    }
    return 0;
}

static rd_kafka_resp_err_t on_new(
        rd_kafka_t *rk, const rd_kafka_conf_t *conf, void *unused, char *text, size_t size) {
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    char fields[2048];
    pthread_mutex_lock(&opening);
    const char *reason = users == 0 ? begin() : NULL;
    if (reason != NULL) {
        fprintf(stderr, NAME ": nothing is recorded: %s: %s\n", path ? path : "", reason);
        pthread_mutex_unlock(&opening);
        return 0;
    }
    pthread_mutex_lock(&mutex);
    users++;
    void *client = (void *) (intptr_t) clients++;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&opening);
    bool producer = rd_kafka_type(rk) == RD_KAFKA_PRODUCER;
    int at = sprintf(fields, ",\"role\":\"%s\"", producer ? "producer" : "consumer");
    at += field(fields + at, conf, "id", "client.id");
    if (producer) {
        at += field(fields + at, conf, "acks", "acks");
        at += field(fields + at, conf, "idempotence", "enable.idempotence");
        at += field(fields + at, conf, "transactional_id", "transactional.id");
        at += field(fields + at, conf, "retries", "retries");
        at += field(fields + at, conf, "in_flight", "max.in.flight.requests.per.connection");
        sprintf(fields + at, "%s", header ? "" : ",\"header\":\"false\"");
        rd_kafka_interceptor_add_on_send(rk, NAME, on_send, client);
        rd_kafka_interceptor_add_on_acknowledgement(rk, NAME, on_acknowledgement, client);
    } else {
        at += field(fields + at, conf, "group", "group.id");
        field(fields + at, conf, "isolation", "isolation.level");
        rd_kafka_interceptor_add_on_consume(rk, NAME, on_consume, client);
    }
    put(client, "client", "%s", fields);
    return rd_kafka_interceptor_add_on_destroy(rk, NAME, on_destroy, client);
}

static rd_kafka_conf_res_t on_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value,
        char *text, size_t size, void *unused) {
    if (strcmp(name, HEADER) == 0) {
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
            snprintf(text, size, HEADER " is %s, not true or false", value);
            return RD_KAFKA_CONF_INVALID;
        }
        header = *value == 't';
        return RD_KAFKA_CONF_OK;
    }
    if (strcmp(name, PATH) != 0) {
        return RD_KAFKA_CONF_UNKNOWN;
    }
    if (path != NULL && strcmp(path, value) != 0 && users > 0) {
        snprintf(text, size, PATH ": this process records %s", path);
        return RD_KAFKA_CONF_INVALID;
    }
    free(path);
    path = strdup(value);
    return RD_KAFKA_CONF_OK;
}

rd_kafka_resp_err_t conf_init(rd_kafka_conf_t *conf, void **opaque, char *text, size_t size) {
    rd_kafka_conf_interceptor_add_on_conf_set(conf, NAME, on_conf_set, NULL);
    return rd_kafka_conf_interceptor_add_on_new(conf, NAME, on_new, NULL);
}
