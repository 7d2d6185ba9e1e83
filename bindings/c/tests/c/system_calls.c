/*
 * write(2) and send(2) from a segment, to a file, a pipe and a socket, within a transaction, while another
 * process changes pages: the bytes are the snapshot's. `system_calls mechanism`
 */

#include <fcntl.h>
#include <sardonyx.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { PAGES = 12, PAGE = 4096, BYTES = PAGES * PAGE };

static char name[64];
static unsigned mechanism;

static void open_it(uint32_t flags, sdx_segment **segment, sdx_session **session)
{
    sdx_options options = SDX_OPTIONS;
    options.mechanism = mechanism;
    options.flags = flags;
    options.address_space_bytes = 1 << 30;
    OK(sdx_open_volatile(name, &options, segment));
    OK(sdx_session_open(*segment, session));
}

/* Every page becomes full of one byte. */
static void fill(sdx_session *session, int byte)
{
    char page[PAGE];
    memset(page, byte, PAGE);
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, BYTES));
    for (int n = 0; n < PAGES; n++)
        OK(sdx_write(session, n * PAGE, page, PAGE));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
}

/* The other process: fills all pages with each received byte. */
static void in_the_child(int from)
{
    sdx_segment *segment;
    sdx_session *session;
    char byte;
    open_it(0, &segment, &session);
    while (read(from, &byte, 1) == 1) {
        fill(session, byte);
        if (write(from, &byte, 1) != 1)
            exit(1);
    }
    OK(sdx_session_close(session));
    OK(sdx_close(segment));
    exit(0);
}

static void order(int to, char byte)
{
    CHECK(write(to, &byte, 1) == 1 && read(to, &byte, 1) == 1);
}

static void is_full(const char *bytes, size_t count, char byte)
{
    for (size_t n = 0; n < count; n++)
        CHECK(bytes[n] == byte);
}

static void write_everywhere(const void *memory, char byte)
{
    char copy[BYTES];
    int ends[2], file = open("bytes", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(write(file, memory, BYTES) == BYTES);
    CHECK(pread(file, copy, BYTES, 0) == BYTES);
    is_full(copy, BYTES, byte);
    close(file);
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], memory, BYTES) == BYTES && read(ends[0], copy, BYTES) == BYTES);
    is_full(copy, BYTES, byte);
    close(ends[0]);
    close(ends[1]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(send(ends[1], memory, BYTES, 0) == BYTES);
    CHECK(recv(ends[0], copy, BYTES, MSG_WAITALL) == BYTES);
    is_full(copy, BYTES, byte);
    close(ends[0]);
    close(ends[1]);
}

int main(int count, char **arguments)
{
    sdx_segment *segment, *plain;
    sdx_session *session, *other;
    sdx_snapshot *snapshot, *old;
    const void *seen;
    void *memory, *others;
    int ends[2], status;
    CHECK(count == 2);
    mechanism = atoi(arguments[1]);
    snprintf(name, sizeof name, "sardonyx-test-calls-%d", (int) getpid());
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        in_the_child(ends[0]);
    }
    close(ends[0]);
    open_it(SDX_OPEN_SYSTEM_CALLS, &segment, &session);
    open_it(0, &plain, &other);
    OK(sdx_session_address(session, &memory));
    OK(sdx_session_address(other, &others));
    order(ends[1], 'a');
    for (char byte = 'b'; byte < 'h'; byte++) {
        /* Every other time an old snapshot keeps later changes from being folded. */
        if (byte % 2)
            OK(sdx_snapshot_open(plain, &old));
        order(ends[1], byte);
        OK(sdx_begin(session, 0));
        OK(sdx_begin(other, 0));
        OK(sdx_snapshot_open(plain, &snapshot));
        OK(sdx_snapshot_address(snapshot, &seen));
        order(ends[1], 'A');
        if (mechanism == SDX_MECHANISM_SIGNAL)
            OK(sdx_touch(session, 0, BYTES, SDX_READ));
        write_everywhere(memory, byte);
        OK(sdx_touch(other, 0, BYTES, SDX_READ));
        write_everywhere(others, byte);
        write_everywhere(seen, byte);
        OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
        OK(sdx_abort(other));
        OK(sdx_snapshot_close(snapshot));
        /* Outside of a transaction: the pages need not be of one moment. */
        int null = open("/dev/null", O_WRONLY);
        CHECK(write(null, memory, BYTES) == BYTES);
        close(null);
        if (byte % 2)
            OK(sdx_snapshot_close(old));
    }
    close(ends[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(sdx_session_close(session));
    OK(sdx_session_close(other));
    OK(sdx_close(segment));
    OK(sdx_close(plain));
    return 0;
}
