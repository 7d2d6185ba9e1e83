/*
 * Figure 4-6 of the thesis (concurrency tests B and C), as printed, and the code around it: the
 * outermost loop, which the figure omits.
 *
 *     figure_4_6 b times, figure_4_6 c times
 */

#include <assert.h>
#include <libxac.h>
#include <stdio.h>
#include <stdlib.h>

#define INTEGERS ((int) (PAGESIZE/sizeof(int)))

static void test_b(int *x)
{
    int j;
xbegin();
for (j = 0;
     j < PAGESIZE/sizeof(int);
     j++) {
   x[j]++;
}
xend();
}

static void test_c(int *x)
{
    int j, k;
xbegin();
for (k = 0; k < 1000; k++) {
   for (j = 0;
        j < PAGESIZE/sizeof(int);
        j++) {
      x[j]++;
   }
}
xend();
}

int main(int count, char **arguments)
{
    assert(count == 3);
    int times = atoi(arguments[2]);
    int c = arguments[1][0] == 'c';
    int *x = xMmap("input.db", PAGESIZE);
    assert(x != NULL);
    for (int i = 0; i < times; i++)
        (c ? test_c : test_b)(x);
    assert(xbegin() == 0);
    int expected = times * (c ? 1000 : 1);
    for (int j = 0; j < INTEGERS; j++)
        if (x[j] != expected) {
            fprintf(stderr, "integer %d is %d and not %d\n", j, x[j], expected);
            return 1;
        }
    assert(xend() == COMMITTED);
    return xMunmap(x);
}
