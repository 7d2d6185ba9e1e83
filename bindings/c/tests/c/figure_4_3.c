/* Figure 4-3 of the thesis, as printed; `. . .` is the code around it here. */

#include <assert.h>
#include <libxac.h>
#include <stdlib.h>

/* (a) Transaction that reads from n pages. */
static int figure_a(int n)
{
    int sum = 0;
int* x = xMmap("input.db",
               n*PAGESIZE);
int i, value;
    assert(x != NULL);
xbegin();
for (i = 0; i < n; i++) {
  int j = i*PAGESIZE/sizeof(int);
  setPageAccess(&(x[j]),
                READ);
  value = x[j];
    sum += value;
}
xend();
    return sum;
}

/* (b) Transaction that writes to n pages. */
static void figure_b(int n)
{
int* x = xMmap("input.db",
               n*PAGESIZE);
int i;
    assert(x != NULL);
xbegin();
for (i = 0; i < n; i++) {
  int j = i*PAGESIZE/sizeof(int);
  setPageAccess(&(x[j]),
                READ_WRITE);
  x[j] = i;
}
xend();
}

/* With `write`: (b), then (a). With `read`: (a) alone, of what another process wrote. */
int main(int count, char **arguments)
{
    assert(count == 3);
    int n = atoi(arguments[2]);
    if (arguments[1][0] == 'w')
        figure_b(n);
    return figure_a(n) == n * (n - 1) / 2 ? 0 : 1;
}
