/*
* The names of LIBXAC, for programs written for it. Generated from the library's sources; do not edit.
 *
 *     xDurable(1);
 *     int *x = xMmap("input.db", n * PAGESIZE);
 *     do {
 *         xbegin();
 *         x[0]++;
 *     } while (xend() == ABORTED);
 *     xMunmap(x);
 *
* Parts of LIBXAC that are not supported here:
 *  - Existing files. xMmap makes memory that begins with zeroes, or maps a database that it has made. It
 *    refuses an ordinary file, durable or not.
 *  - Several files. One is mapped at a time; xMunmap it before the next.
 *  - Several threads. One at a time runs a transaction; others get FAILED. Processes are not limited.
* sardonyx.h has more; its remarks on processes, signals and system calls hold here, too.
 * Nested transactions are undone alone by xabort.
 */
