/*
 * A host with signals of all kinds: handlers that touch the segment whenever they come, on an alternate
 * stack or not, and other programs started in all ways. `signals mechanism`
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sardonyx.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { PAGES = 64, WORDS = 512 };

static sdx_segment *segment;
static sdx_session *session, *other;
static volatile uint64_t *words, *theirs;
static volatile uint64_t seen;
static volatile sig_atomic_t alarms, own_faults;
static char *guarded;

/* Touches every page of both views, whatever the program is doing. */
static void on_alarm(int number)
{
    (void) number;
    for (int page = 0; page < PAGES; page++)
        seen += words[page * WORDS] + theirs[page * WORDS];
    alarms++;
}

/* The host's own faults: it makes the page right, and touches the segment on the way. */
static void on_fault(int number, siginfo_t *information, void *context)
{
    (void) context;
    char *address = information->si_addr;
    if (address < guarded || address >= guarded + 4096)
        _exit(10);
    for (int page = 0; page < PAGES; page++)
        seen += words[page * WORDS];
    CHECK(mprotect(guarded, 4096, PROT_READ | PROT_WRITE) == 0);
    own_faults += number == SIGSEGV;
}

static void install(int number, void *handler, int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = (void (*)(int, siginfo_t *, void *)) handler;
    action.sa_flags = flags;
    CHECK(sigaction(number, &action, NULL) == 0);
}

static void own_fault(void)
{
    int before = own_faults;
    CHECK(mprotect(guarded, 4096, PROT_NONE) == 0);
    *(volatile char *) guarded = 1;
    CHECK(own_faults == before + 1);
}

static uint64_t value;

/* Others change every page, while an old snapshot keeps the changes from being folded. */
static void change(void)
{
    OK(sdx_begin(other, SDX_BEGIN_UNCHECKED));
    value++;
    for (int page = 0; page < PAGES; page++)
        theirs[page * WORDS] = value;
    OK(sdx_commit(other, SDX_COMMIT_WAIT, NULL));
}

static void round_of_work(void)
{
    sdx_snapshot *old;
    OK(sdx_snapshot_open(segment, &old));
    change();
    OK(sdx_begin(session, SDX_BEGIN_UNCHECKED));
    for (int page = 0; page < PAGES; page++)
        CHECK(words[page * WORDS] == value);
    words[5 * WORDS + 1]++;
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_snapshot_close(old));
}

static void *on_an_alternate_stack(void *unused)
{
    (void) unused;
    stack_t stack = { .ss_size = 64 << 10 };
    stack.ss_sp = malloc(stack.ss_size);
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (int round = 0; round < 20; round++) {
        round_of_work();
        own_fault();
    }
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, NULL) == 0);
    free(stack.ss_sp);
    return NULL;
}

static void storm(int flags)
{
    struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
    sigset_t set;
    int before = alarms;
    install(SIGALRM, (void *) on_alarm, flags);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int round = 0; round < 300 || alarms < before + 10; round++) {
        round_of_work();
        own_fault();
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    /* A thread that waits for signals by a call, while they are blocked, still gets them all. */
    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR2) == 0);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    for (int sent = 0; sent < 100; sent++) {
        CHECK(kill(getpid(), SIGUSR2) == 0);
        siginfo_t information;
        CHECK(sigwaitinfo(&set, &information) == SIGUSR2);
    }
    CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void succeeds(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Other programs, while a transaction runs; and children that read what they inherit. */
static void children(void)
{
    char *arguments[] = { "true", NULL }, *environment[] = { NULL };
    pid_t child;
    sdx_snapshot *old;
    OK(sdx_snapshot_open(segment, &old));
    change();
    OK(sdx_begin(session, 0));
    CHECK((words[3 * WORDS] = 77) == 77);
    if ((child = fork()) == 0) {
        execve("/bin/true", arguments, environment);
        _exit(1);
    }
    succeeds(child);
    if ((child = vfork()) == 0) {
        execve("/bin/true", arguments, environment);
        _exit(1);
    }
    succeeds(child);
    CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environment) == 0);
    succeeds(child);
    for (int how = 0; how < 2; how++) {
        child = how == 0 ? fork() : (pid_t) syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            /* Earlier writes are unchanged; every page can be read and written here. */
            uint64_t sum = words[3 * WORDS];
            if (sum != 77)
                _exit(2);
            for (int page = 0; page < PAGES; page++) {
                sum += words[page * WORDS] + theirs[page * WORDS];
                words[page * WORDS] = 5;
            }
            int null = open("/dev/null", O_WRONLY);
            if (write(null, (void *) theirs, PAGES * 4096) != PAGES * 4096)
                _exit(3);
            if (sdx_commit(session, SDX_COMMIT_WAIT, NULL) != SDX_FORKED)
                _exit(4);
            if (sdx_session_close(session) != SDX_FORKED || sdx_close(segment) != SDX_FORKED)
                _exit(5);
            _exit(0);
        }
        succeeds(child);
    }
    CHECK(words[3 * WORDS] == 77 && words[4 * WORDS] == value);
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_snapshot_close(old));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    sdx_options options = SDX_OPTIONS;
    void *address, *others;
    pthread_t thread;
    struct rlimit limit = { 60, 60 };
    CHECK(setrlimit(RLIMIT_CPU, &limit) == 0);
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED);
    install(SIGSEGV, (void *) on_fault, SA_SIGINFO | SA_ONSTACK);
    options.mechanism = atoi(arguments[1]);
    options.address_space_bytes = 1 << 30;
    OK(sdx_open_private(&options, &segment));
    OK(sdx_session_open(segment, &session));
    OK(sdx_session_open(segment, &other));
    OK(sdx_session_address(session, &address));
    OK(sdx_session_address(other, &others));
    words = address;
    theirs = others;
    OK(sdx_begin(session, 0));
    OK(sdx_grow(session, PAGES * 4096));
    OK(sdx_commit(session, SDX_COMMIT_WAIT, NULL));
    OK(sdx_begin(other, 0));
    OK(sdx_abort(other));
    children();
    /* Its stores would be undone, and reported. */
    storm(0);
    storm(SA_NODEFER | SA_ONSTACK | SA_RESTART);
    CHECK(pthread_create(&thread, NULL, on_an_alternate_stack, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(sdx_session_close(session));
    OK(sdx_session_close(other));
    OK(sdx_close(segment));
    return 0;
}
