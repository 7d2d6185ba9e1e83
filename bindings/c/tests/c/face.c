/* sardonyx.h on a segment of one process, under every mechanism. */

#include <sardonyx.h>
#include <string.h>

#include "check.h"

#define PAGE 4096

static sdx_segment *segment;
static uint32_t mechanism;

static sdx_session *open_session(void)
{
    sdx_session *session;
    OK(sdx_session_open(segment, &session));
    return session;
}

static void put(sdx_session *session, uint64_t page, uint64_t value)
{
    OK(sdx_write(session, page * PAGE + 8, &value, sizeof value));
}

static uint64_t get(sdx_session *session, uint64_t page)
{
    uint64_t value;
    OK(sdx_read(session, page * PAGE + 8, &value, sizeof value));
    return value;
}

static uint64_t *memory(sdx_session *session)
{
    void *address;
    OK(sdx_session_address(session, &address));
    return address;
}

static void commit_and_abort(void)
{
    sdx_session *session = open_session();
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, 64 * PAGE));
    put(session, 3, 7);
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));

    OK(sdx_begin(session, 0));
    CHECK(get(session, 3) == 7);
    put(session, 3, 8);
    put(session, 4, 8);
    OK(sdx_touch(session, 5 * PAGE, 2 * PAGE, SDX_READ_WRITE));
    put(session, 5, 8);
    CHECK(get(session, 3) == 8);
    OK(sdx_abort(session));

    sdx_ticket *ticket;
    OK(sdx_begin(session, SDX_BEGIN_EXCLUSIVE));
    CHECK(get(session, 3) == 7 && get(session, 4) == 0 && get(session, 5) == 0);
    put(session, 3, 9);
    OK(sdx_commit(session, SDX_COMMIT_LATER, &ticket));
    OK(sdx_ticket_wait(ticket));
    OK(sdx_ticket_wait(ticket));
    OK(sdx_ticket_close(ticket));
    STATUS(SDX_INVALID_HANDLE, sdx_ticket_wait(ticket));
    OK(sdx_begin(session, 0));
    put(session, 3, 10);
    OK(sdx_commit(session, SDX_COMMIT_LATER, NULL));
    OK(sdx_session_close(session));
}

/* Ordinary loads and stores; with the explicit mechanism they are not seen. */
static void plain_memory(void)
{
    if (mechanism == SDX_MECHANISM_EXPLICIT)
        return;
    sdx_session *session = open_session();
    uint64_t *words = memory(session);
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, 4096 * PAGE));
    CHECK(memory(session) == words);
    for (int page = 0; page < 4096; page += 2)
        words[page * 512 + 2] = page + 1;
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_begin(session, SDX_BEGIN_READ_ONLY));
    for (int page = 0; page < 4096; page++)
        CHECK(words[page * 512 + 2] == (page % 2 ? 0u : page + 1u));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    /* A store outside of a transaction; the page was written in one before. */
    OK(sdx_begin(session, 0));
    words[2] = 100;
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    if (mechanism == SDX_MECHANISM_ASYNCHRONOUS) {
        words[2] = 101;
        STATUS(SDX_WRITTEN_OUTSIDE, sdx_begin(session, 0));
        STATUS(SDX_NO_TRANSACTION, sdx_abort(session));
    }
    OK(sdx_begin(session, SDX_BEGIN_UNCHECKED));
    CHECK(words[2] == 100);
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_session_close(session));
}

static void conflicts(void)
{
    sdx_session *one = open_session(), *other = open_session();
    OK(sdx_begin(one, 0));
    OK(sdx_begin(other, 0));
    put(one, 1, get(one, 1) + 1);
    put(other, 1, get(other, 1) + 1);
    OK(sdx_commit(one, SDX_COMMIT_WAIT, NULL));
    STATUS(SDX_CONFLICT, sdx_commit(other, SDX_COMMIT_WAIT, NULL));
    CHECK(strstr(sdx_error_message(), "page 1"));
    STATUS(SDX_NO_TRANSACTION, sdx_commit(other, SDX_COMMIT_WAIT, NULL));
    OK(sdx_begin(other, 0));
    put(other, 1, get(other, 1) + 1);
    OK(sdx_commit(other, SDX_COMMIT_WAIT, NULL));
    OK(sdx_begin(one, SDX_BEGIN_READ_ONLY));
    CHECK(get(one, 1) == 2);
    OK(sdx_abort(one));
    OK(sdx_session_close(one));
    OK(sdx_session_close(other));
}

static void savepoints(void)
{
    sdx_session *session = open_session();
    uint64_t first, second, third;
    STATUS(SDX_NO_TRANSACTION, sdx_savepoint(session, &first));
    OK(sdx_begin(session, 0));
    put(session, 10, 1);
    OK(sdx_savepoint(session, &first));
    put(session, 10, 2);
    put(session, 11, 2);
    OK(sdx_savepoint(session, &second));
    put(session, 10, 3);
    OK(sdx_rollback_to(session, second));
    CHECK(get(session, 10) == 2 && get(session, 11) == 2);
    put(session, 12, 4);
    OK(sdx_rollback_to(session, second));
    CHECK(get(session, 12) == 0);
    OK(sdx_rollback_to(session, first));
    CHECK(get(session, 10) == 1 && get(session, 11) == 0);
    STATUS(SDX_NOT_FOUND, sdx_rollback_to(session, second));
    OK(sdx_savepoint(session, &third));
    CHECK(third != second);
    put(session, 13, 5);
    OK(sdx_release(session, third));
    STATUS(SDX_NOT_FOUND, sdx_release(session, third));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    STATUS(SDX_NO_TRANSACTION, sdx_rollback_to(session, first));
    OK(sdx_begin(session, 0));
    STATUS(SDX_NOT_FOUND, sdx_rollback_to(session, first));
    CHECK(get(session, 10) == 1 && get(session, 11) == 0 && get(session, 13) == 5);
    OK(sdx_abort(session));
    OK(sdx_session_close(session));
}

static void snapshots(void)
{
    sdx_session *session = open_session();
    sdx_snapshot *old, *new;
    const void *address;
    uint64_t length;
    OK(sdx_begin(session, 0));
    put(session, 20, 1);
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_snapshot_open(segment, &old));
    OK(sdx_snapshot_address(old, &address));
    const uint64_t *then = (const uint64_t *) address + 20 * 512 + 1;
    for (uint64_t value = 2; value < 30; value++) {
        OK(sdx_begin(session, 0));
        put(session, 20, value);
        OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
        CHECK(*then == 1);
    }
    OK(sdx_snapshot_open(segment, &new));
    OK(sdx_snapshot_address(new, &address));
    CHECK(((const uint64_t *) address)[20 * 512 + 1] == 29 && *then == 1);
    OK(sdx_snapshot_length(new, &length));
    CHECK(length >= 64 * PAGE);
    OK(sdx_snapshot_close(old));
    OK(sdx_snapshot_close(new));
    STATUS(SDX_INVALID_HANDLE, sdx_snapshot_close(new));
    OK(sdx_session_close(session));
}

static void read_only(void)
{
    sdx_session *session = open_session();
    uint64_t value = 1, savepoint;
    OK(sdx_begin(session, SDX_BEGIN_READ_ONLY));
    STATUS(SDX_READ_ONLY, sdx_write(session, 0, &value, sizeof value));
    STATUS(SDX_READ_ONLY, sdx_touch(session, 0, 8, SDX_READ_WRITE));
    STATUS(SDX_READ_ONLY, sdx_grow(session, 1 << 30));
    STATUS(SDX_READ_ONLY, sdx_savepoint(session, &savepoint));
    STATUS(SDX_READ_ONLY, sdx_heap_make(session));
    OK(sdx_touch(session, 0, 8, SDX_READ));
    OK(sdx_abort(session));
    OK(sdx_session_close(session));
}

static void statistics(void)
{
    sdx_statistics found = { .size = sizeof found };
    uint64_t length;
    OK(sdx_segment_statistics(segment, &found));
    OK(sdx_segment_length(segment, &length));
    CHECK(found.size == sizeof found && found.length == length && length >= 64 * PAGE);
    CHECK(found.mechanism == mechanism && !found.durable);
    CHECK(found.conflicts == 1 && found.commits > 30 && found.aborts >= 3);
    CHECK(found.sessions >= 6 && found.slowest_reader == 0);
    OK(sdx_checkpoint(segment));
    found.size = 8;
    STATUS(SDX_INVALID_ARGUMENT, sdx_segment_statistics(segment, &found));

    sdx_page_conflicts pages[2] = { { 0, 0 }, { 0, 0 } };
    size_t count = 9;
    OK(sdx_conflicts(segment, NULL, 0, &count));
    CHECK(count == 1);
    OK(sdx_conflicts(segment, pages, 2, &count));
    CHECK(count == 1 && pages[0].conflicts == 1 && pages[1].conflicts == 0);
    CHECK(pages[0].page < length / PAGE);
    STATUS(SDX_INVALID_ARGUMENT, sdx_conflicts(segment, NULL, 1, &count));
    STATUS(SDX_INVALID_ARGUMENT, sdx_conflicts(segment, pages, 1, NULL));
}

/* The bound on a transaction is the program's to choose. */
static void large(void)
{
    sdx_options options = SDX_OPTIONS;
    const size_t bytes = 24 << 20;
    options.mechanism = mechanism;
    options.address_space_bytes = 1 << 30;
    for (int chosen = 0; chosen < 2; chosen++) {
        sdx_segment *large;
        sdx_session *session;
        void *memory;
        uint64_t length;
        uint32_t doomed = 7;
        options.transaction_bytes = chosen ? 23 << 20 : 0;
        OK(sdx_open_private(&options, &large));
        OK(sdx_session_open(large, &session));
        OK(sdx_begin(session, 0));
        OK(sdx_grow(session, bytes));
        OK(sdx_session_doomed(session, &doomed));
        CHECK(doomed == 0);
        OK(sdx_session_address(session, &memory));
        OK(sdx_touch(session, 0, bytes, SDX_READ_WRITE));
        memset(memory, 1, bytes);
        STATUS(chosen ? SDX_TOO_LARGE : SDX_OK, sdx_commit(session, SDX_COMMIT_WAIT, NULL));
        OK(sdx_session_close(session));
        OK(sdx_session_open(large, &session));
        OK(sdx_session_length(session, &length));
        CHECK(length >= bytes);
        OK(sdx_session_close(session));
        OK(sdx_close(large));
    }
    options.transaction_bytes = (uint64_t) 4 << 30;
    STATUS(SDX_CANNOT_OPEN, sdx_open_private(&options, &segment));
}

int main(void)
{
    for (mechanism = SDX_MECHANISM_ASYNCHRONOUS; mechanism <= SDX_MECHANISM_EXPLICIT;
         mechanism++) {
        sdx_options options = SDX_OPTIONS;
        options.mechanism = mechanism;
        options.address_space_bytes = 1 << 30;
        OK(sdx_open_private(&options, &segment));
        commit_and_abort();
        plain_memory();
        conflicts();
        savepoints();
        snapshots();
        read_only();
        statistics();
        OK(sdx_close(segment));
        if (mechanism != SDX_MECHANISM_EXPLICIT)
            large();
    }
    return 0;
}
