/* A program's faults are error codes: null, closed and wrong handles, wrong arguments. */

#include <pthread.h>
#include <sardonyx.h>
#include <string.h>

#include "check.h"

#define ANY(type, handle) ((type *) (void *) (handle))

static sdx_segment *segment;
static sdx_session *session;

static void arguments(void)
{
    char data[64] = { 0 };
    uint64_t place;
    void *address;
    STATUS(SDX_INVALID_ARGUMENT, sdx_open_private(NULL, NULL));
    STATUS(SDX_INVALID_ARGUMENT, sdx_open(NULL, NULL, &segment));
    STATUS(SDX_INVALID_ARGUMENT, sdx_open("\xff\xfe", NULL, &segment));
    STATUS(SDX_INVALID_ARGUMENT, sdx_open_volatile("a/b", NULL, &segment));
    STATUS(SDX_INVALID_ARGUMENT, sdx_open_volatile("", NULL, &segment));
    sdx_options options = SDX_OPTIONS;
    options.size = 8;
    STATUS(SDX_INVALID_ARGUMENT, sdx_open_private(&options, &segment));
    CHECK(strstr(sdx_error_message(), "SDX_OPTIONS"));
    options.size = sizeof options;
    options.mechanism = 77;
    STATUS(SDX_INVALID_ARGUMENT, sdx_open_private(&options, &segment));
    /* A program that knows more than the library, and does not use it; and one that does. */
    struct { sdx_options known; uint64_t later; } newer = { SDX_OPTIONS, 0 };
    newer.known.size = sizeof newer;
    newer.known.address_space_bytes = 1 << 30;
    sdx_segment *opened;
    OK(sdx_open_private(&newer.known, &opened));
    OK(sdx_close(opened));
    newer.later = 1;
    STATUS(SDX_INVALID_ARGUMENT, sdx_open_private(&newer.known, &opened));

    STATUS(SDX_INVALID_ARGUMENT, sdx_session_open(segment, NULL));
    STATUS(SDX_INVALID_ARGUMENT, sdx_begin(session, 64));
    STATUS(SDX_INVALID_ARGUMENT,
           sdx_begin(session, SDX_BEGIN_EXCLUSIVE | SDX_BEGIN_READ_ONLY));
    STATUS(SDX_NO_TRANSACTION, sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    CHECK(strstr(sdx_error_message(), "begin"));
    STATUS(SDX_NO_TRANSACTION, sdx_abort(session));
    STATUS(SDX_NO_TRANSACTION, sdx_grow(session, 8192));
    STATUS(SDX_NO_TRANSACTION, sdx_write(session, 0, data, 8));
    STATUS(SDX_NO_TRANSACTION, sdx_read(session, 0, data, 8));
    STATUS(SDX_NO_TRANSACTION, sdx_allocate(session, 8, 8, &place));
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, 4096));
    STATUS(SDX_INSIDE_TRANSACTION, sdx_begin(session, 0));
    STATUS(SDX_OUTSIDE, sdx_write(session, 1 << 30, data, 8));
    STATUS(SDX_OUTSIDE, sdx_write(session, UINT64_MAX - 3, data, 8));
    STATUS(SDX_OUTSIDE, sdx_read(session, UINT64_MAX, data, 8));
    STATUS(SDX_OUTSIDE, sdx_touch(session, 1 << 30, 8, SDX_READ));
    STATUS(SDX_OUTSIDE, sdx_touch(session, UINT64_MAX, 8, SDX_READ));
    STATUS(SDX_INVALID_ARGUMENT, sdx_touch(session, 0, 8, 9));
    STATUS(SDX_ADDRESS_SPACE_FULL, sdx_grow(session, UINT64_MAX / 2));
    STATUS(SDX_INVALID_ARGUMENT, sdx_read(session, 0, NULL, 8));
    STATUS(SDX_INVALID_ARGUMENT, sdx_write(session, 0, NULL, 8));
    OK(sdx_write(session, 0, NULL, 0));
    STATUS(SDX_INVALID_ARGUMENT, sdx_savepoint(session, NULL));
    STATUS(SDX_NOT_FOUND, sdx_rollback_to(session, 99));
    sdx_ticket *ticket;
    STATUS(SDX_INVALID_ARGUMENT, sdx_commit(session, 8, NULL));
    STATUS(SDX_INVALID_ARGUMENT, sdx_commit(session, SDX_COMMIT_WAIT, &ticket));
    STATUS(SDX_INVALID_ARGUMENT, sdx_session_address(session, NULL));
    STATUS(SDX_INVALID_ARGUMENT,
           sdx_session_address(session, (void **) (void *) ((char *) &address + 1)));
    /* None of these ended it. */
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
}

static void handles(void)
{
    sdx_snapshot *snapshot;
    uint64_t length;
    OK(sdx_snapshot_open(segment, &snapshot));
    STATUS(SDX_INVALID_HANDLE, sdx_close(NULL));
    STATUS(SDX_INVALID_HANDLE, sdx_begin(NULL, 0));
    STATUS(SDX_INVALID_HANDLE, sdx_snapshot_close(NULL));
    STATUS(SDX_INVALID_HANDLE, sdx_ticket_wait(NULL));
    STATUS(SDX_INVALID_HANDLE, sdx_begin(ANY(sdx_session, segment), 0));
    STATUS(SDX_INVALID_HANDLE, sdx_begin(ANY(sdx_session, snapshot), 0));
    STATUS(SDX_INVALID_HANDLE, sdx_close(ANY(sdx_segment, session)));
    STATUS(SDX_INVALID_HANDLE, sdx_snapshot_length(ANY(sdx_snapshot, session), &length));
    STATUS(SDX_INVALID_HANDLE, sdx_begin(ANY(sdx_session, (char *) session + 1), 0));
    OK(sdx_snapshot_close(snapshot));
    STATUS(SDX_INVALID_HANDLE, sdx_snapshot_length(snapshot, &length));
    /* Closed handles are detected for a long time. */
    sdx_session *closed;
    OK(sdx_session_open(segment, &closed));
    OK(sdx_session_close(closed));
    for (int n = 0; n < 200; n++) {
        sdx_session *another;
        OK(sdx_session_open(segment, &another));
        CHECK(another != closed);
        OK(sdx_session_close(another));
        STATUS(SDX_INVALID_HANDLE, sdx_begin(closed, 0));
    }
}

static void *end_it(void *unused)
{
    (void) unused;
    STATUS(SDX_WRONG_THREAD, sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    STATUS(SDX_WRONG_THREAD, sdx_abort(session));
    STATUS(SDX_WRONG_THREAD, sdx_session_close(session));
    CHECK(strstr(sdx_error_message(), "thread"));
    return NULL;
}

static void *go_on(void *unused)
{
    (void) unused;
    uint64_t value = 5;
    OK(sdx_write(session, 8, &value, sizeof value));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    sdx_session *other;
    OK(sdx_session_open(segment, &other));
    OK(sdx_begin(session, SDX_BEGIN_EXCLUSIVE));
    STATUS(SDX_INSIDE_TRANSACTION, sdx_begin(other, SDX_BEGIN_EXCLUSIVE));
    CHECK(pthread_create(&thread, NULL, end_it, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_begin(other, SDX_BEGIN_EXCLUSIVE));
    OK(sdx_session_close(other));
    /* An ordinary one may go from thread to thread. */
    OK(sdx_begin(session, 0));
    CHECK(pthread_create(&thread, NULL, go_on, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    STATUS(SDX_NO_TRANSACTION, sdx_abort(session));
}

int main(void)
{
    sdx_options options = SDX_OPTIONS;
    options.address_space_bytes = 1 << 30;
    CHECK(strcmp(sdx_error_message(), "") == 0);
    OK(sdx_open_private(&options, &segment));
    OK(sdx_session_open(segment, &session));
    arguments();
    handles();
    threads();
    /* Open objects outlive the segment's handle. */
    OK(sdx_close(segment));
    STATUS(SDX_INVALID_HANDLE, sdx_close(segment));
    OK(sdx_begin(session, 0));
    OK(sdx_session_close(session));
    STATUS(SDX_INVALID_HANDLE, sdx_session_close(session));
    return 0;
}
