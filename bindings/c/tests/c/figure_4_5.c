/*
 * Figure 4-5 of the thesis (concurrency test A), as printed, and the code around it.
 *
 *     figure_4_5 single       one process
 *     figure_4_5 fork         two processes, forked before xMmap
 *     figure_4_5 1, 2         one of two that were started on their own
 *     figure_4_5 check a b    checks that the first and the second page's integers have these values
 */

#include <assert.h>
#include <libxac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int *map(void)
{
    int *x = xMmap("input.db", 2 * PAGESIZE);
    if (x == NULL) {
        fprintf(stderr, "%s\n", xErrorMessage());
        exit(1);
    }
    return x;
}

static void single(void)
{
    int *x = map();
    int i;
for (i = 0; i < 10000; i++) {
   xbegin();
    x[0]++;
   xend();
}
}

static void process_1(void)
{
    int *x = map();
    int i;
for (i = 0; i < 5000; i++) {
   xbegin();
    x[0]++;
   xend();
}
}

static void process_2(void)
{
    int *x = map();
    int i;
for (i = 0; i < 5000; i++) {
    xbegin();
    x[PAGESIZE/sizeof(int)]++;
    xend();
}
}

static int check(int first, int second)
{
    int *x = map();
    assert(xbegin() == 0);
    int a = x[0], b = x[PAGESIZE / sizeof(int)];
    assert(xend() == COMMITTED);
    if (a != first || b != second)
        fprintf(stderr, "found %d and %d\n", a, b);
    return a != first || b != second;
}

int main(int count, char **arguments)
{
    assert(count >= 2);
    if (strcmp(arguments[1], "single") == 0) {
        single();
    } else if (strcmp(arguments[1], "1") == 0) {
        process_1();
    } else if (strcmp(arguments[1], "2") == 0) {
        process_2();
    } else if (strcmp(arguments[1], "check") == 0) {
        return check(atoi(arguments[2]), atoi(arguments[3]));
    } else {
        pid_t child = fork();
        if (child == 0) {
            process_2();
            exit(0);
        }
        process_1();
        int status;
        assert(waitpid(child, &status, 0) == child);
        return status != 0 || check(5000, 5000);
    }
    return 0;
}
