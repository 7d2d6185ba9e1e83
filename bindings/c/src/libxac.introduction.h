/*
 * The names of LIBXAC, for programs in its manner. Generated from the library's sources; do not edit.
 *
 *     xDurable(1);
 *     int *x = xMmap("input.db", n * PAGESIZE);
 *     do {
 *         xbegin();
 *         x[0]++;
 *     } while (xend() == ABORTED);
 *     xMunmap(x);
 *
 * One file is mapped at a time. One thread at a time runs a transaction; others get FAILED. Nested
 * transactions are undone alone by xabort. For more than that there is sardonyx.h, whose remarks on
 * processes, signals and system calls hold here, too.
 */
