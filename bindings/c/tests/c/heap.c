/* Allocation and roots from C: their effects, those of an abort, and the refusals. */

#include <sardonyx.h>
#include <string.h>

#include "check.h"

#define ROOT(call, name, tag, ...) call(session, name, tag, 24, 8, __VA_ARGS__)

static sdx_session *open_one(sdx_segment **segment)
{
    sdx_session *session;
    sdx_options options = SDX_OPTIONS;
    options.address_space_bytes = 4 << 20;
    OK(sdx_open_private(&options, segment));
    OK(sdx_session_open(*segment, &session));
    return session;
}

static void use(sdx_session *session)
{
    uint64_t small, large, other, found;
    OK(sdx_begin(session, 0));
    STATUS(SDX_NOT_A_HEAP, sdx_allocate(session, 24, 8, &small));
    OK(sdx_heap_make(session));
    OK(sdx_heap_make(session));
    OK(sdx_allocate(session, 24, 8, &small));
    OK(sdx_allocate(session, 10000, 4096, &large));
    CHECK(small != 0 && small % 8 == 0 && large % 4096 == 0);
    OK(ROOT(sdx_root_set, "list", "item", small));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));

    OK(sdx_begin(session, 0));
    OK(ROOT(sdx_root_get, "list", "item", &found));
    CHECK(found == small);
    STATUS(SDX_NOT_FOUND, ROOT(sdx_root_get, "tree", "item", &found));
    STATUS(SDX_ROOT_TYPE, ROOT(sdx_root_get, "list", "other", &found));
    STATUS(SDX_ROOT_TYPE, sdx_root_get(session, "list", "item", 32, 8, &found));
    STATUS(SDX_INVALID_ARGUMENT, ROOT(sdx_root_set, "", "item", small));
    STATUS(SDX_INVALID_ARGUMENT, ROOT(sdx_root_set, NULL, "item", small));
    STATUS(SDX_INVALID_ARGUMENT, sdx_allocate(session, 8, 3, &other));
    STATUS(SDX_INVALID_ARGUMENT, sdx_allocate(session, 8, 8, NULL));
    STATUS(SDX_NOT_ALLOCATED, sdx_free(session, small, 500, 8));
    STATUS(SDX_NOT_ALLOCATED, sdx_free(session, small + 1, 24, 8));
    STATUS(SDX_ADDRESS_SPACE_FULL, sdx_allocate(session, 8 << 20, 8, &other));
    STATUS(SDX_NOT_FOUND, sdx_root_remove(session, "tree"));
    OK(sdx_root_remove(session, "list"));
    OK(sdx_free(session, small, 24, 8));
    STATUS(SDX_NOT_ALLOCATED, sdx_free(session, small, 24, 8));
    OK(sdx_abort(session));

    /* The abort undid the removal and the freeing. */
    OK(sdx_begin(session, 0));
    OK(ROOT(sdx_root_get, "list", "item", &found));
    OK(sdx_free(session, found, 24, 8));
    OK(sdx_free(session, large, 10000, 4096));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
}

int main(void)
{
    sdx_segment *segment;
    sdx_session *session = open_one(&segment);
    use(session);
    OK(sdx_session_close(session));
    OK(sdx_close(segment));

    /* A segment that the program uses from its first byte on is no heap, and does not become one. */
    session = open_one(&segment);
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, 4096));
    OK(sdx_write(session, 100, "mine", 4));
    STATUS(SDX_NOT_A_HEAP, sdx_heap_make(session));
    OK(sdx_session_close(session));
    OK(sdx_close(segment));
    return 0;
}
