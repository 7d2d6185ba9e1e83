/* The rest of libxac.h: results, nesting, abort, misuse, conflicts between processes. */

#include <libxac.h>
#include <pthread.h>
#include <sardonyx.h>
#include <string.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int *x;

static void misuse(void)
{
    CHECK(xbegin() == FAILED);
    CHECK(strstr(xErrorMessage(), "xMmap"));
    CHECK(xend() == FAILED && xabort() == FAILED);
    CHECK(xMunmap(&x) == FAILED);
    CHECK(setPageAccess(&x, READ) == FAILED);
    CHECK(xMmap(NULL, 1) == NULL);
    CHECK(xMmap("no/such/directory/input.db", 1) == NULL);
    CHECK(xDurable(0) == 0);
    x = xMmap("input.db", 4 * PAGESIZE);
    CHECK(x != NULL);
    CHECK(xMmap("input.db", 8 * PAGESIZE) == x);
    CHECK(xMmap("other.db", PAGESIZE) == NULL);
    CHECK(xDurable(1) == FAILED);
    CHECK(xend() == FAILED);
    CHECK(strstr(xErrorMessage(), "xbegin"));
    CHECK(xabort() == FAILED);
    CHECK(xMunmap(x + 1) == FAILED);
    CHECK(xbegin() == 0);
    CHECK(xMunmap(x) == FAILED);
    CHECK(xMmap("input.db", PAGESIZE) == NULL);
    CHECK(setPageAccess(x, 7) == FAILED);
    CHECK(setPageAccess(x - 1, READ) == FAILED);
    CHECK(setPageAccess((char *) x + (1L << 40), READ) == FAILED);
    CHECK(xend() == COMMITTED);
}

static void nesting(void)
{
    CHECK(xbegin() == 0);
    x[0] = 1;
    CHECK(xbegin() == 0);
    x[0] = 2;
    x[1024] = 2;
    CHECK(xbegin() == 0);
    x[0] = 3;
    x[2048] = 3;
    CHECK(xend() == COMMITTED);
    CHECK(x[0] == 3);
    CHECK(xabort() == 0);
    CHECK(x[0] == 1 && x[1024] == 0 && x[2048] == 0);
    CHECK(xbegin() == 0);
    x[3072] = 4;
    CHECK(xend() == COMMITTED);
    CHECK(xend() == COMMITTED);
    CHECK(xend() == FAILED);
    CHECK(xbegin() == 0);
    CHECK(x[0] == 1 && x[1024] == 0 && x[2048] == 0 && x[3072] == 4);
    x[0] = 9;
    CHECK(xabort() == 0);
    CHECK(xbegin() == 0);
    CHECK(x[0] == 1);
    CHECK(xend() == COMMITTED);
    x[0] = 5;
    CHECK(xbegin() == FAILED);
    CHECK(strstr(xErrorMessage(), "outside"));
    CHECK(xbegin() == 0);
    CHECK(x[0] == 1);
    CHECK(xend() == COMMITTED);
}

static void *from_another_thread(void *unused)
{
    (void) unused;
    CHECK(xbegin() == FAILED && xend() == FAILED && xabort() == FAILED);
    return NULL;
}

static void one_thread_at_a_time(void)
{
    pthread_t thread;
    CHECK(xbegin() == 0);
    CHECK(pthread_create(&thread, NULL, from_another_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(xend() == COMMITTED);
}

/* During our transaction a child changes data that it uses. */
static void conflict(void)
{
    int go[2], done[2];
    char byte = 0;
    CHECK(pipe(go) == 0 && pipe(done) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(xbegin() == FAILED);
        CHECK(strstr(xErrorMessage(), "fork"));
        CHECK(setPageAccess(x, READ) == FAILED && xMunmap(x) == FAILED);
        int *mine = xMmap("input.db", PAGESIZE);
        CHECK(mine != NULL);
        CHECK(read(go[0], &byte, 1) == 1);
        CHECK(xbegin() == 0);
        mine[0] += 100;
        CHECK(xend() == COMMITTED);
        CHECK(write(done[1], &byte, 1) == 1);
        exit(0);
    }
    CHECK(xbegin() == 0);
    int before = x[0];
    CHECK(write(go[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1);
    CHECK(x[0] == before);
    x[0] = before + 1;
    CHECK(xend() == ABORTED);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    do {
        CHECK(xbegin() == 0);
        x[0]++;
    } while (xend() == ABORTED);
    CHECK(xbegin() == 0);
    CHECK(x[0] == before + 101);
    CHECK(xend() == COMMITTED);
}

/* A child made by a system call that the C library's handlers do not see gets the error, too. */
static void raw_fork(void)
{
    CHECK(xbegin() == 0);
    x[0] = 5;
    pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        /* A child inherits only the memory. */
        int code = x[0] == 5 ? 0 : 2;
        x[0] = x[1024] = 6;
        if (xend() != FAILED || !strstr(xErrorMessage(), "fork"))
            code = 3;
        if (xbegin() != FAILED || xabort() != FAILED)
            code = 4;
        _exit(code);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(x[0] == 5);
    CHECK(xend() == COMMITTED);
}

/* Two processes count on one page. */
static void retried(void)
{
    CHECK(xbegin() == 0);
    x[0] = 0;
    CHECK(xend() == COMMITTED);
    pid_t child = fork();
    int *mine = child == 0 ? xMmap("input.db", PAGESIZE) : x;
    CHECK(mine != NULL);
    for (int i = 0; i < 2000; i++) {
        int outcome;
        do {
            CHECK(xbegin() == 0);
            mine[0]++;
        } while ((outcome = xend()) == ABORTED);
        CHECK(outcome == COMMITTED);
    }
    if (child == 0)
        exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(xbegin() == 0);
    CHECK(x[0] == 4000);
    CHECK(xend() == COMMITTED);
}

/* The file of a name is mapped, or refused. */
static void what_is_there(void)
{
    FILE *file = fopen("plain", "w");
    CHECK(file && fputs("contents", file) >= 0 && fclose(file) == 0);
    for (int durable = 0; durable < 2; durable++) {
        CHECK(xDurable(durable) == 0);
        CHECK(xMmap("plain", PAGESIZE) == NULL);
        CHECK(strstr(xErrorMessage(), "plain is a file"));
    }
    char contents[16] = "";
    CHECK((file = fopen("plain", "r")) && fgets(contents, sizeof contents, file));
    CHECK(fclose(file) == 0 && strcmp(contents, "contents") == 0);
    CHECK((x = xMmap("durable.db", PAGESIZE)));
    CHECK(xbegin() == 0 && (x[0] = 7) && xend() == COMMITTED && xMunmap(x) == 0);
    CHECK(xDurable(0) == 0);
    CHECK(xMmap("durable.db", PAGESIZE) == NULL);
    CHECK(strstr(xErrorMessage(), "xDurable(1)"));
    CHECK(xDurable(1) == 0);
    CHECK((x = xMmap("durable.db", PAGESIZE)));
    CHECK(xbegin() == 0 && x[0] == 7 && xend() == COMMITTED && xMunmap(x) == 0);
}

int main(void)
{
    what_is_there();
    misuse();
    nesting();
    one_thread_at_a_time();
    conflict();
    raw_fork();
    retried();
    CHECK(xMunmap(x) == 0);
    CHECK(xMunmap(x) == FAILED);
    /* No process has it open any more, so it is new. */
    x = xMmap("input.db", PAGESIZE);
    CHECK(x != NULL && xbegin() == 0 && x[0] == 0 && xend() == COMMITTED);
    return 0;
}
