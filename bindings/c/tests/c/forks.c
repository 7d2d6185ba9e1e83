/* In a forked child the parent's handles are error codes, and it can open the segment again. */

#include <sardonyx.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static sdx_segment *segment;
static sdx_session *session;
static sdx_snapshot *snapshot;
static sdx_ticket *ticket;

/* The shared memory's file: its name is this test's alone, and the same in the child. */
static char file[64];

static void open_it(sdx_segment **opened)
{
    sdx_options options = SDX_OPTIONS;
    options.address_space_bytes = 1 << 30;
    OK(sdx_open_volatile(strrchr(file, '/') + 1, &options, opened));
}

static void in_the_child(void)
{
    uint64_t number;
    void *address;
    const void *other;
    sdx_session *opened;
    sdx_statistics statistics = { .size = sizeof statistics };
    STATUS(SDX_FORKED, sdx_segment_length(segment, &number));
    STATUS(SDX_FORKED, sdx_segment_statistics(segment, &statistics));
    STATUS(SDX_FORKED, sdx_session_open(segment, &opened));
    STATUS(SDX_FORKED, sdx_begin(session, 0));
    STATUS(SDX_FORKED, sdx_write(session, 0, &number, 8));
    STATUS(SDX_FORKED, sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    STATUS(SDX_FORKED, sdx_abort(session));
    STATUS(SDX_FORKED, sdx_session_address(session, &address));
    STATUS(SDX_FORKED, sdx_session_close(session));
    STATUS(SDX_FORKED, sdx_snapshot_address(snapshot, &other));
    STATUS(SDX_FORKED, sdx_snapshot_close(snapshot));
    STATUS(SDX_FORKED, sdx_ticket_wait(ticket));
    STATUS(SDX_FORKED, sdx_ticket_close(ticket));
    STATUS(SDX_FORKED, sdx_close(segment));
    sdx_segment *own;
    open_it(&own);
    OK(sdx_session_open(own, &opened));
    OK(sdx_begin(opened, 0));
    OK(sdx_read(opened, 4096, &number, sizeof number));
    CHECK(number == 7);
    number = 8;
    OK(sdx_write(opened, 4096, &number, sizeof number));
    OK(sdx_commit(opened, SDX_COMMIT_WAIT, NULL));
    OK(sdx_session_close(opened));
    OK(sdx_close(own));
}

int main(void)
{
    uint64_t number = 7;
    int status;
    snprintf(file, sizeof file, "/dev/shm/sardonyx-test-forks-%d", (int) getpid());
    open_it(&segment);
    OK(sdx_session_open(segment, &session));
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, 8192));
    OK(sdx_write(session, 4096, &number, sizeof number));
    OK(sdx_commit(session, SDX_COMMIT_LATER, &ticket));
    OK(sdx_snapshot_open(segment, &snapshot));
    /* One runs while the process forks; it is the parent's alone. */
    OK(sdx_begin(session, 0));
    OK(sdx_read(session, 4096, &number, sizeof number));
    pid_t child = fork();
    if (child == 0) {
        in_the_child();
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    number = 9;
    OK(sdx_write(session, 4096, &number, sizeof number));
    STATUS(SDX_CONFLICT, sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_begin(session, 0));
    OK(sdx_read(session, 4096, &number, sizeof number));
    CHECK(number == 8);
    OK(sdx_abort(session));
    OK(sdx_snapshot_close(snapshot));
    OK(sdx_ticket_close(ticket));
    OK(sdx_session_close(session));
    OK(sdx_close(segment));
    CHECK(access(file, F_OK) != 0);
    return 0;
}
