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

#ifndef LIBXAC_H
#define LIBXAC_H

#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of a page, the unit of conflicts.
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
 * The transaction is committed.
 */
#define COMMITTED 0

/**
 * Another transaction changed data that this one used. It had no effect; run it again.
 */
#define ABORTED 1

/**
 * The call failed; `xErrorMessage()` gives the reason. A transaction that was to be committed had no effect,
 * unless the message says that its fate is not known.
 */
#define FAILED -1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Maps a file: creates it, if there is none, and makes it at least `length` bytes long. Returns the address
 * of its first byte, null on failure. A page can be used between `xbegin` and `xend`.
 *
 * If durable, the file is a directory with a database. Otherwise it is memory that all processes share that
 * map the same path meanwhile; the last of them removes it. An existing file is refused either way, since
 * its contents would not be in the memory. So is a database's directory if the memory is not durable.
 *
 * Mapping the same file again makes it longer, at the same address. Another one can be mapped after
 * `xMunmap`. A forked child must map it again.
 */
void *xMmap(const char *file,
            size_t length);

/**
 * Unmaps the file that was mapped at this address. Returns 0, or `FAILED`.
 */
int xMunmap(const void *start);

/**
 * Begins a transaction; inside of one, a nested one. Returns 0, or `FAILED`: also if the program wrote to
 * the file while no transaction was running, which was undone now; the next call begins one.
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
 * One that was aborted six times in a row runs exclusively, and is not aborted again.
 */
int xend(void);

/**
 * Undoes the transaction that was begun last, and ends it, without `xend`. Returns 0, or `FAILED`.
 */
int xabort(void);

/**
 * Announces that the running transaction is going to read the page with this address
 * (`READ`), or to read and write it (`READ_WRITE`): cheaper than detecting it. Returns 0, or
 * `FAILED`.
 */
int setPageAccess(const void *pointer, int access);

/**
 * Sets the durability of later mappings: 1, or 0. Without a call, the environment's `XAC_DURABLE` decides,
 * and without that, they are durable. Returns 0, or `FAILED` if a file is mapped.
 */
int xDurable(int durable);

/**
 * The reason why this thread's last call failed, or returned null.
 */
const char *xErrorMessage(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LIBXAC_H */
