/*
 * A host with a SIGSEGV handler of its own, installed before the library's or after it: it is called
 * for the host's own faults, and the library's memory works. `faults before|after mechanism`
 */

#include <pthread.h>
#include <sardonyx.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static volatile sig_atomic_t mine;
static char *guarded;
static struct sigaction replaced;

static void on_fault(int number, siginfo_t *information, void *context)
{
    char *address = information->si_addr;
    if (address >= guarded && address < guarded + 4096) {
        mine++;
        siglongjmp(back, 1);
    }
    if (replaced.sa_flags & SA_SIGINFO)
        replaced.sa_sigaction(number, information, context);
    else
        _Exit(3);
}

static void install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    CHECK(sigaction(SIGSEGV, &action, &replaced) == 0);
}

static void own_fault(void)
{
    int before = mine;
    if (sigsetjmp(back, 1) == 0) {
        *(volatile char *) guarded = 1;
        CHECK(!"the store does not come back");
    }
    CHECK(mine == before + 1);
}

static volatile uint64_t *kept;

static void *store_in_a_snapshot(void *unused)
{
    (void) unused;
    int before = mine;
    if (sigsetjmp(back, 1) == 0) {
        kept[3] = 1;
        CHECK(!"the store does not come back");
    }
    CHECK(mine == before + 1);
    return NULL;
}

/* A store into a snapshot is the program's fault, whichever thread does it. */
static void snapshots_are_not_written(sdx_segment *segment)
{
    sdx_snapshot *snapshot;
    const void *address;
    pthread_t thread;
    OK(sdx_snapshot_open(segment, &snapshot));
    OK(sdx_snapshot_address(snapshot, &address));
    kept = (volatile uint64_t *) address;
    CHECK(kept[3] == 0);
    char *before = guarded;
    guarded = (char *) address;
    store_in_a_snapshot(NULL);
    CHECK(pthread_create(&thread, NULL, store_in_a_snapshot, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    guarded = before;
    CHECK(kept[3] == 0);
    OK(sdx_snapshot_close(snapshot));
}

int main(int count, char **arguments)
{
    CHECK(count == 3);
    int after = strcmp(arguments[1], "after") == 0;
    sdx_options options = SDX_OPTIONS;
    sdx_segment *segment;
    sdx_session *session, *other;
    void *address, *others;
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED);
    if (!after)
        install();
    options.mechanism = atoi(arguments[2]);
    options.address_space_bytes = 1 << 30;
    OK(sdx_open_private(&options, &segment));
    OK(sdx_session_open(segment, &session));
    OK(sdx_session_open(segment, &other));
    OK(sdx_session_address(session, &address));
    OK(sdx_session_address(other, &others));
    if (after)
        install();
    volatile uint64_t *words = address, *theirs = others;
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, 16 << 20));
    own_fault();
    for (int page = 0; page < 4096; page += 64)
        words[page * 512] = page;
    own_fault();
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    own_fault();
    /* Pages that others changed are detected by a fault, too. */
    for (int round = 1; round < 10; round++) {
        OK(sdx_begin(other, 0));
        CHECK(theirs[64 * 512] == 64u + round - 1);
        theirs[64 * 512]++;
        OK(sdx_commit(other, SDX_COMMIT_WAIT, NULL));
        OK(sdx_begin(session, 0));
        own_fault();
        CHECK(words[64 * 512] == 64u + round);
        OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    }
    if (!after)
        snapshots_are_not_written(segment);
    OK(sdx_session_close(session));
    OK(sdx_session_close(other));
    OK(sdx_close(segment));
    own_fault();
    return 0;
}
