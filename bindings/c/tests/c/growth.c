/* A committed growth stays when the database is opened again, and can be stored to; an aborted one
 * does not. */

#include <sardonyx.h>

#include "check.h"

#define MIB ((uint64_t)1 << 20)

static sdx_session *session_of(sdx_segment *segment)
{
    sdx_session *session;
    OK(sdx_session_open(segment, &session));
    return session;
}

static sdx_segment *open_it(uint32_t mechanism)
{
    sdx_segment *segment;
    sdx_options options = SDX_OPTIONS;
    options.mechanism = mechanism;
    options.address_space_bytes = 256 * MIB;
    OK(sdx_open("growth.sdx", &options, &segment));
    return segment;
}

static void expect_length(sdx_segment *segment, uint64_t expected)
{
    uint64_t length;
    OK(sdx_segment_length(segment, &length));
    CHECK(length == expected);
}

static void live(uint32_t mechanism, int with_checkpoint, uint64_t from)
{
    sdx_segment *segment = open_it(mechanism);
    expect_length(segment, from);
    sdx_session *session = session_of(segment);
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, from + 2 * MIB));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, from + 9 * MIB));
    OK(sdx_abort(session));
    if (with_checkpoint)
        OK(sdx_checkpoint(segment));
    OK(sdx_session_close(session));
    OK(sdx_close(segment));

    segment = open_it(mechanism);
    expect_length(segment, from + 2 * MIB);
    session = session_of(segment);
    void *address;
    OK(sdx_session_address(session, &address));
    OK(sdx_begin(session, 0));
    uint64_t *last = (uint64_t *)((char *)address + from + 2 * MIB) - 1;
    if (mechanism == SDX_MECHANISM_EXPLICIT)
        OK(sdx_write(session, from + 2 * MIB - 8, &from, 8));
    else
        *last = from;
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_session_close(session));
    OK(sdx_close(segment));
}

/* A database whose log is elsewhere is opened again, with the directory to which the log was moved. */
static void elsewhere(void)
{
    sdx_segment *segment;
    sdx_session *session;
    sdx_options options = SDX_OPTIONS, other = SDX_OPTIONS;
    options.address_space_bytes = other.address_space_bytes = 256 * MIB;
    options.log_directory = "fast.log";
    STATUS(SDX_CANNOT_OPEN, sdx_open_private(&options, &segment));
    STATUS(SDX_CANNOT_OPEN, sdx_open_volatile("elsewhere", &options, &segment));
    OK(sdx_open("elsewhere.sdx", &options, &segment));
    session = session_of(segment);
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, 2 * MIB));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_session_close(session));
    OK(sdx_close(segment));
    OK(sdx_open("elsewhere.sdx", &other, &segment));
    expect_length(segment, 2 * MIB);
    OK(sdx_close(segment));
    CHECK(rename("fast.log", "faster.log") == 0);
    STATUS(SDX_CANNOT_OPEN, sdx_open("elsewhere.sdx", &other, &segment));
    options.log_directory = "faster.log";
    OK(sdx_open("elsewhere.sdx", &options, &segment));
    expect_length(segment, 2 * MIB);
    OK(sdx_close(segment));
}

int main(void)
{
    uint64_t length = 0;
    elsewhere();
    const uint32_t mechanisms[] = {SDX_MECHANISM_BEST, SDX_MECHANISM_SIGNAL, SDX_MECHANISM_EXPLICIT};
    for (int n = 0; n < 6; n++) {
        live(mechanisms[n % 3], n / 3, length);
        length += 2 * MIB;
    }
    return 0;
}
