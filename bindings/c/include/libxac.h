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
 * What LIBXAC has and is missing here:
 *  - Existing files. xMmap makes memory that begins with zeroes, or maps a database that it has made; it does
 *    not read, or write to, an ordinary file, and refuses one, durable or not.
 *  - Several files. One is mapped at a time; xMunmap it before the next.
 *  - Several threads. One at a time runs a transaction; others get FAILED. Processes are not limited.
 * For more than that there is sardonyx.h, whose remarks on processes, signals and system calls hold here, too.
 * Nested transactions are undone alone by xabort.
 */

#ifndef LIBXAC_H
#define LIBXAC_H

#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of a page: what conflicts are found by.
 */
#define PAGESIZE 4096

/**
 * For `setPageAccess`: the page is going to be read.
 */
#define READ 0

/**
 * For `setPageAccess`: the page is going to be read and written.
 */
#define READ_WRITE 1

/**
 * The transaction happened.
 */
#define COMMITTED 0

/**
 * Another transaction changed what this one used. It had no effect; run it again.
 */
#define ABORTED 1

/**
 * It could not be done; `xErrorMessage()` says why. A transaction that was to be committed had no
 * effect, unless the message says that its fate is not known.
 */
#define FAILED -1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Maps a file: makes it, if there is none, and at least `length` bytes long. Returns the address of
 * its first byte, null on failure. A page can be used between `xbegin` and `xend`.
 *
 * Durable, the file is a directory with a database. Not durable, it is memory that all have in common
 * that map the same path meanwhile, and is gone with the last of them. An existing file is refused either
 * way, since its contents would not be there; and so is a database's directory if the memory is not to be
 * durable.
 *
 * Mapping the same file again makes it longer, at the same address. Another one can be mapped after
 * `xMunmap`. A forked child must map anew.
 */
void *xMmap(const char *file,
            size_t length);

/**
 * Unmaps the file that was mapped at this address. Returns 0, or `FAILED`.
 */
int xMunmap(const void *start);

/**
 * Begins a transaction; inside of one, a nested one. Returns 0, or `FAILED`: also if the program wrote
 * to the file while no transaction was running, which was undone now; the next call begins one.
 */
int xbegin(void);

/**
 * Ends the transaction that was begun last. Returns `COMMITTED`, `ABORTED` or `FAILED`; after each of
 * them it is over. A nested transaction is always `COMMITTED`, into the one around it.
 *
 * ```c
 * do { xbegin(); x[0]++; } while (xend() == ABORTED);
 * ```
 *
 * One that was aborted six times in a row runs as the only one, and is not aborted again.
 */
int xend(void);

/**
 * Undoes the transaction that was begun last, and ends it; there is no `xend` for it then. Returns 0,
 * or `FAILED`.
 */
int xabort(void);

/**
 * Says that the page with this address is going to be read (`READ`), or read and written
 * (`READ_WRITE`), by the running transaction: cheaper than finding out. Returns 0, or `FAILED`.
 */
int setPageAccess(const void *pointer, int access);

/**
 * Whether what is mapped from now on is durable: 1, or 0. Said by nobody, the environment's
 * `XAC_DURABLE` counts, and without it, it is. Returns 0, or `FAILED` if a file is mapped.
 */
int xDurable(int durable);

/**
 * Why the last call of this thread failed, or returned null.
 */
const char *xErrorMessage(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LIBXAC_H */
