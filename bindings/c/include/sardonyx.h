/*
 * Sardonyx: transactions on plain memory. Generated from the library's sources; do not edit.
 *
 *     sdx_segment *segment;
 *     sdx_session *session;
 *     void *memory;
 *     sdx_open("bank.sdx", NULL, &segment);
 *     sdx_session_open(segment, &session);
 *     sdx_session_address(session, &memory);
 *     uint64_t *balances = memory;
 *     sdx_begin(session, 0);
 *     sdx_grow(session, 8192);
 *     balances[3] -= 10;
 *     balances[512] += 10;
 *     sdx_status status = sdx_commit(session, SDX_COMMIT_WAIT, NULL);   // SDX_CONFLICT: again
 *
 * Results. Every call returns a code; 0 is success, and then what the call was to store is stored.
 * Otherwise sdx_error_message() says what is wrong, where, and what to do. There is no longjmp and no
 * exception: a fault of the library's own is SDX_PANICKED.
 *
 * Pointers. Handles are null, or were given out by this library; closed ones, and those of another
 * kind, are SDX_INVALID_HANDLE. Strings end with a zero byte and are UTF-8. Places for results are
 * memory of the caller's. All this is the caller's promise where it cannot be checked.
 *
 * Threads. A segment, a snapshot and a ticket may be used by any number of threads. A session, and the
 * memory at its address, is used by one thread at a time; it may go from one to another between calls,
 * but for an exclusive transaction, which ends where it was begun.
 *
 * Processes. Any number may have the same segment open, and any of them may be killed at any time.
 * After fork, the child's copies of handles are SDX_FORKED: open the segment again in the child. The
 * memory at a session's or snapshot's address is the child's own then, to be read and written without
 * effect on anybody: a page is as it was when the process was forked if the session had its own copy of
 * it, and else some committed state. After exec nothing of the segment is left in the process.
 *
 * Signals. The library handles SIGSEGV for its own memory and passes all other faults to the handler
 * that was installed before, with the signals blocked that it asked for. A program that installs one
 * later must call the one it replaces for faults that are not its own. Handlers of the program's may
 * touch the memory at any time: in the middle of a call for the same session they find it as outside
 * of a transaction. They may not call the library. Its own threads take no signals.
 *
 * Conflicts. Two transactions conflict if one changes a page of 4096 bytes that the other one uses, be it
 * other bytes of it. Rows that different threads or processes change all the time should stand on
 * different pages: one row on a page (`struct row { _Alignas(4096) ... }`), or each process' rows on
 * pages of their own. sdx_conflicts says on which pages there were many.
 *
 * System calls. The kernel does not fault as programs do. Calls that read from the memory (write, send)
 * always work in snapshots and in transactions that only read; else announce the range by sdx_touch
 * (SDX_READ), or open the segment with SDX_OPEN_SYSTEM_CALLS: without, they fail with EFAULT on pages
 * that others changed, and with the mechanism "signal" on all that were not touched. Calls that write
 * into it (read, recv) need sdx_touch (SDX_READ_WRITE), or use sdx_write.
 */

#ifndef SARDONYX_H
#define SARDONYX_H

#include <stddef.h>
#include <stdint.h>

/**
 * The best mechanism that the kernel offers.
 */
#define SDX_MECHANISM_BEST 0

/**
 * Page tables tell what was touched; no signal.
 */
#define SDX_MECHANISM_ASYNCHRONOUS 1

/**
 * SIGSEGV and changes of protection tell, as in the LIBXAC thesis.
 */
#define SDX_MECHANISM_SIGNAL 2

/**
 * The program tells, by `sdx_read` and `sdx_write`. Stores through pointers are lost.
 */
#define SDX_MECHANISM_EXPLICIT 3

/**
 * System calls can read from the memory (`write`, `send`), also in a transaction that may write and
 * outside of one, without `sdx_touch`. Otherwise they fail with `EFAULT` on pages that others have
 * changed, but in snapshots and transactions that only read, where they always can. It costs a copy
 * of each such page at `sdx_begin`, which then counts as read. With `SDX_MECHANISM_SIGNAL` a transaction
 * that may write has to touch its pages nevertheless.
 */
#define SDX_OPEN_SYSTEM_CALLS 1

/**
 * Nobody else commits while it runs, so that it cannot conflict. The same thread must end it.
 */
#define SDX_BEGIN_EXCLUSIVE 1

/**
 * It only reads. It never conflicts and holds nobody up.
 */
#define SDX_BEGIN_READ_ONLY 2

/**
 * Nothing is done to find out whether the memory was written while no transaction was running, which
 * costs a little. Such a store then becomes part of the transaction, or is lost.
 */
#define SDX_BEGIN_UNCHECKED 4

/**
 * The commit returns when the transaction is on stable storage.
 */
#define SDX_COMMIT_WAIT 0

/**
 * The commit returns when the transaction is visible to all, with a ticket for its durability.
 */
#define SDX_COMMIT_LATER 1

/**
 * The pages are going to be read.
 */
#define SDX_READ 0

/**
 * The pages are going to be read and written.
 */
#define SDX_READ_WRITE 1

/**
 * How a call ended. The numbers are stable; new ones are added at the end.
 */
enum sdx_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It did what was asked.
   */
  SDX_OK = 0,
  /**
   * Another transaction changed what this one used. It is over and had no effect: run it again.
   */
  SDX_CONFLICT = 1,
  /**
   * An argument that cannot be: null, unknown flags, no UTF-8.
   */
  SDX_INVALID_ARGUMENT = 2,
  /**
   * The handle is null, closed, or of another kind.
   */
  SDX_INVALID_HANDLE = 3,
  /**
   * Another thread is using the session at this moment.
   */
  SDX_BUSY = 4,
  /**
   * An exclusive transaction was begun by another thread.
   */
  SDX_WRONG_THREAD = 5,
  /**
   * The handle is a parent's; this process was forked from it. Open the segment again.
   */
  SDX_FORKED = 6,
  /**
   * No transaction is running in the session.
   */
  SDX_NO_TRANSACTION = 7,
  /**
   * A transaction is running already: in the session, or an exclusive one in this thread.
   */
  SDX_INSIDE_TRANSACTION = 8,
  /**
   * The transaction was begun to read only.
   */
  SDX_READ_ONLY = 9,
  /**
   * The range is not inside of the segment.
   */
  SDX_OUTSIDE = 10,
  /**
   * Someone wrote to the memory while no transaction was running; that was undone.
   */
  SDX_WRITTEN_OUTSIDE = 11,
  /**
   * The transaction changed more than fits. It is over and had no effect.
   */
  SDX_TOO_LARGE = 12,
  /**
   * The segment would be longer than its address space.
   */
  SDX_ADDRESS_SPACE_FULL = 13,
  /**
   * The file system of the shared memory is full.
   */
  SDX_SHARED_MEMORY_FULL = 14,
  /**
   * The log is full.
   */
  SDX_LOG_FULL = 15,
  /**
   * A snapshot is kept for so long that there is no room for new versions.
   */
  SDX_SLOW_READER = 16,
  /**
   * The log cannot be written: whether what was waited for is there after a restart is not known.
   */
  SDX_POISONED = 17,
  /**
   * The shared memory is not one that this library can use.
   */
  SDX_INCOMPATIBLE = 18,
  /**
   * The kernel does not offer the mechanism that was asked for.
   */
  SDX_MECHANISM_UNAVAILABLE = 19,
  /**
   * All places for sessions or processes are taken.
   */
  SDX_TOO_MANY = 20,
  /**
   * The operating system refused something.
   */
  SDX_SYSTEM = 21,
  /**
   * The database cannot be opened.
   */
  SDX_CANNOT_OPEN = 22,
  /**
   * There is no root of this name, or no such savepoint.
   */
  SDX_NOT_FOUND = 23,
  /**
   * The segment is no heap, and not blank either; or a heap of another version.
   */
  SDX_NOT_A_HEAP = 24,
  /**
   * The heap's data is damaged. Abort.
   */
  SDX_DAMAGED = 25,
  /**
   * What is freed is not allocated, or with another size.
   */
  SDX_NOT_ALLOCATED = 26,
  /**
   * The root is of another type.
   */
  SDX_ROOT_TYPE = 27,
  /**
   * A fault of the library's own. Close the handle.
   */
  SDX_PANICKED = 28,
  /**
   * An error that this version has no code for; see the message.
   */
  SDX_OTHER = 29,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sdx_status sdx_status;
#else
typedef int32_t sdx_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An open segment. Any number of threads may use it.
 */
typedef struct sdx_segment sdx_segment;

/**
 * A session. One thread at a time uses it: a second one that calls meanwhile gets `SDX_BUSY`, and
 * must not use the memory either.
 */
typedef struct sdx_session sdx_session;

/**
 * The segment as it was at one moment. Any number of threads may read it.
 */
typedef struct sdx_snapshot sdx_snapshot;

/**
 * A committed transaction's claim to be on stable storage.
 */
typedef struct sdx_ticket sdx_ticket;

/**
 * A snapshot for which a writer waits.
 */
typedef struct sdx_slow_reader {
  /**
   * Process id of the reader.
   */
  uint32_t process;
  /**
   * Not used.
   */
  uint32_t reserved;
  /**
   * For how long it has kept its snapshot, in milliseconds.
   */
  uint64_t milliseconds;
} sdx_slow_reader;

/**
 * How a segment is opened. All zero bytes but for `size` are the defaults: see `SDX_OPTIONS`.
 */
typedef struct sdx_options {
  /**
   * `sizeof(sdx_options)`: tells the library which fields the program knows.
   */
  size_t size;
  /**
   * One of `SDX_MECHANISM_...`.
   */
  uint32_t mechanism;
  /**
   * `SDX_OPEN_...`, or 0.
   */
  uint32_t flags;
  /**
   * Bytes of memory for versions that are older than the last commit, and for what is to be
   * logged. The changes of a larger transaction take memory of their own. 0: 64 MiB.
   */
  uint64_t versions_bytes;
  /**
   * The most bytes that the segment can have; address space only. 0: 96 GiB, so that
   * a process can have all 1,024 sessions, or twice what the database has already.
   */
  uint64_t address_space_bytes;
  /**
   * Directory in a memory file system for the file of the shared memory. Null: `/dev/shm`.
   */
  const char *shared_memory;
  /**
   * How long a writer waits for a snapshot that keeps all versions there is room for, in
   * milliseconds. 0: ten seconds.
   */
  uint64_t slow_reader_wait_milliseconds;
  /**
   * Called by a writer that begins to wait for a snapshot, in its thread; may be null. It must be
   * quick, must not use the segment, and must return.
   */
  void (*slow_reader)(void *user, const struct sdx_slow_reader *reader);
  /**
   * Passed to `slow_reader`, in whatever thread calls it.
   */
  void *slow_reader_user;
  /**
   * The most bytes of changes that a transaction of this process may have, and 8 for each range of bytes
   * that it changes; at most 4 GiB less a page. 0: what there is memory for, and the log can take: 2 GiB
   * less two segments of 64 MiB. A larger bound makes the log larger.
   */
  uint64_t transaction_bytes;
  /**
   * Directory for the log of a new database, on a disk of its own, or where that of an old one was moved
   * to. Null: where it is, or in the database's directory. A segment without a log refuses it.
   */
  const char *log_directory;
  /**
   * The same for the backup.
   */
  const char *backup_directory;
} sdx_options;

/**
 * What a segment is and what was done by this handle's sessions.
 */
typedef struct sdx_statistics {
  /**
   * `sizeof(sdx_statistics)`, set by the program: so many bytes are filled in.
   */
  size_t size;
  /**
   * Bytes of the segment.
   */
  uint64_t length;
  /**
   * The mechanism in use: one of `SDX_MECHANISM_...`, never `SDX_MECHANISM_BEST`.
   */
  uint32_t mechanism;
  /**
   * 1 if it is a database in a directory, 0 if it goes with its last user.
   */
  uint32_t durable;
  /**
   * Transactions committed.
   */
  uint64_t commits;
  /**
   * Transactions that ended with `SDX_CONFLICT`.
   */
  uint64_t conflicts;
  /**
   * Transactions ended by `sdx_abort`, or by another error.
   */
  uint64_t aborts;
  /**
   * Sessions opened, also those closed since.
   */
  uint64_t sessions;
  /**
   * Process that keeps the most old versions by a snapshot or a running transaction; 0 if none
   * does.
   */
  uint32_t slowest_reader;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * For how long it has done so, in milliseconds.
   */
  uint64_t slowest_reader_milliseconds;
} sdx_statistics;

/**
 * On which page transactions conflicted, and how often.
 */
typedef struct sdx_page_conflicts {
  /**
   * The page's number: its offset in the segment by 4096.
   */
  uint64_t page;
  /**
   * How many there were.
   */
  uint64_t conflicts;
} sdx_page_conflicts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The message of the last call of this thread that failed: what is wrong, where, and what to do.
 * Never null. Valid until the next call of this thread that fails. A call that succeeds leaves it.
 */
const char *sdx_error_message(void);

/**
 * A code's name, such as `"SDX_CONFLICT"`; `"unknown"` for other numbers.
 */
const char *sdx_status_name(int32_t status);

/**
 * Opens the database in a directory as a segment, or makes one. Several processes can have it open
 * at once. What is committed there survives crashes.
 *
 * `options` may be null.
 */
sdx_status sdx_open(const char *directory,
                    const struct sdx_options *options,
                    struct sdx_segment **segment);

/**
 * Opens a segment without a log, shared by all who open this name, or makes one. It is gone with the
 * last process that has it open. The name is one of a file: it has no `/`.
 */
sdx_status sdx_open_volatile(const char *name,
                             const struct sdx_options *options,
                             struct sdx_segment **segment);

/**
 * Makes a segment without a log that only this process has.
 */
sdx_status sdx_open_private(const struct sdx_options *options, struct sdx_segment **segment);

/**
 * Closes a segment. Its sessions, snapshots and tickets stay valid; the last of them that is closed
 * takes the segment with it.
 */
sdx_status sdx_close(struct sdx_segment *segment);

/**
 * Bytes of the segment: what a transaction that begins now can use.
 */
sdx_status sdx_segment_length(struct sdx_segment *segment, uint64_t *length);

/**
 * Takes a checkpoint that has everything committed now, so that less is to be redone when the
 * database is opened again. Checkpoints are also taken as the log grows. No effect without a log.
 */
sdx_status sdx_checkpoint(struct sdx_segment *segment);

/**
 * Fills in what the segment is and what was done by this handle's sessions. `statistics->size` is
 * set by the program.
 */
sdx_status sdx_segment_statistics(struct sdx_segment *segment,
                                  struct sdx_statistics *statistics);

/**
 * On which pages this process' transactions conflicted with others since it opened the segment, the
 * page with the most conflicts first: fills in at most `capacity` and says in `count` how many pages
 * there are. (Some thousand are told apart; what is on others is not in the list.) Transactions conflict
 * by page: keep what different threads or processes change on different ones.
 */
sdx_status sdx_conflicts(struct sdx_segment *segment,
                         struct sdx_page_conflicts *pages,
                         size_t capacity,
                         size_t *count);

/**
 * Opens a session. Each takes address space for the whole segment; keep it for many transactions.
 */
sdx_status sdx_session_open(struct sdx_segment *segment,
                            struct sdx_session **session);

/**
 * Closes a session; a running transaction is aborted. Its memory is no longer there.
 */
sdx_status sdx_session_close(struct sdx_session *session);

/**
 * The address of the segment's first byte in this session. It stays the same until the session is
 * closed, also when the segment grows; in other sessions it is another one, so links that are
 * stored must be offsets.
 *
 * The memory may be used by ordinary loads and stores while a transaction is running. Outside of
 * one, loads find some committed state of each page, and stores are undone by the `sdx_begin` that
 * follows, which says so.
 */
sdx_status sdx_session_address(struct sdx_session *session,
                               void **address);

/**
 * Whether the running transaction can no longer commit, whatever it does: 1 or 0. Its snapshot was in
 * the way of others for too long; end it, and run it again. Others find a conflict when they commit.
 */
sdx_status sdx_session_doomed(struct sdx_session *session,
                              uint32_t *doomed);

/**
 * Bytes that may be used at the session's address, also before its first transaction. What others let
 * grow is added when a transaction begins.
 */
sdx_status sdx_session_length(struct sdx_session *session,
                              uint64_t *length);

/**
 * Begins a transaction. What it reads is the state of this moment and does not change, also if it
 * cannot commit any more. `flags`: `SDX_BEGIN_...`, or 0.
 *
 * `SDX_WRITTEN_OUTSIDE` if the program wrote to the session's memory while no transaction was running:
 * that was undone now, and the next call begins one.
 */
sdx_status sdx_begin(struct sdx_session *session,
                     uint32_t flags);

/**
 * Ends the transaction and makes what it did visible to all.
 *
 * `flags`: `SDX_COMMIT_WAIT` or `SDX_COMMIT_LATER`. With the latter, `ticket` may be given to wait
 * for durability when that is wanted; null if it is not. With the former it must be null.
 *
 * Unless the error is about the call itself (`SDX_INVALID_ARGUMENT`, `SDX_INVALID_HANDLE`,
 * `SDX_BUSY`, `SDX_WRONG_THREAD`, `SDX_FORKED`, `SDX_NO_TRANSACTION`) the transaction is over. It
 * then had no effect, but for `SDX_POISONED`: that it happened is visible, and whether it is there
 * after a restart is not known. After `SDX_CONFLICT`, run it again.
 */
sdx_status sdx_commit(struct sdx_session *session,
                      uint32_t flags,
                      struct sdx_ticket **ticket);

/**
 * Ends the transaction without effect.
 */
sdx_status sdx_abort(struct sdx_session *session);

/**
 * Makes a savepoint in the running transaction. It costs a copy of each page written so far.
 */
sdx_status sdx_savepoint(struct sdx_session *session, uint64_t *savepoint);

/**
 * Undoes what was written since a savepoint. It stays, so that one can go back to it again; those
 * made after it are gone.
 */
sdx_status sdx_roll_back_to(struct sdx_session *session,
                            uint64_t savepoint);

/**
 * Forgets a savepoint and those made after it. What was written stays.
 */
sdx_status sdx_release(struct sdx_session *session, uint64_t savepoint);

/**
 * Gives the segment at least so many bytes; what is added is zero. It stays also if the transaction
 * aborts.
 */
sdx_status sdx_grow(struct sdx_session *session,
                    uint64_t bytes);

/**
 * Says that a range is going to be touched, which is cheaper than finding out page by page.
 * `access`: `SDX_READ` or `SDX_READ_WRITE`. Only advice: what is not announced may be touched, too.
 */
sdx_status sdx_touch(struct sdx_session *session,
                     uint64_t offset,
                     uint64_t length,
                     uint32_t access);

/**
 * Copies bytes out of the segment, as the transaction sees it.
 */
sdx_status sdx_read(struct sdx_session *session, uint64_t offset, void *to, size_t length);

/**
 * Copies bytes into the segment: with the explicit mechanism the way to write, with the others the
 * same as storing them at the session's address.
 */
sdx_status sdx_write(struct sdx_session *session,
                     uint64_t offset,
                     const void *data,
                     size_t length);

/**
 * Opens a snapshot of what is committed now. It never fails for what others do and holds nobody up,
 * but old versions are kept for it: a writer that has no room for more waits, and gets
 * `SDX_SLOW_READER` in the end.
 */
sdx_status sdx_snapshot_open(struct sdx_segment *segment,
                             struct sdx_snapshot **snapshot);

/**
 * The address of the snapshot's first byte, until it is closed. The memory is not to be written: a
 * store is a SIGSEGV, or lost.
 */
sdx_status sdx_snapshot_address(struct sdx_snapshot *snapshot,
                                const void **address);

/**
 * Bytes of the snapshot.
 */
sdx_status sdx_snapshot_length(struct sdx_snapshot *snapshot, uint64_t *length);

/**
 * Closes a snapshot. Its memory must not be used any more.
 */
sdx_status sdx_snapshot_close(struct sdx_snapshot *snapshot);

/**
 * Returns when the transaction is on stable storage. Any number of times, from any thread.
 */
sdx_status sdx_ticket_wait(struct sdx_ticket *ticket);

/**
 * Gives a ticket back, waited for or not. The transaction will be durable anyway.
 */
sdx_status sdx_ticket_close(struct sdx_ticket *ticket);

/**
 * Makes a blank segment a heap; no effect if it is one. A segment either is a heap, in which the
 * program uses what it allocates, or it is the program's from its first byte on.
 */
sdx_status sdx_heap_make(struct sdx_session *session);

/**
 * Allocates bytes. What they hold is whatever was there before. `align`: a power of two up to 4096.
 * Sets `offset` from the segment's start, never 0.
 */
sdx_status sdx_allocate(struct sdx_session *session,
                        uint64_t bytes,
                        uint64_t align,
                        uint64_t *offset);

/**
 * Frees bytes that were allocated with this size and alignment.
 */
sdx_status sdx_free(struct sdx_session *session,
                    uint64_t offset,
                    uint64_t bytes,
                    uint64_t align);

/**
 * Sets the root of a name, new or not. `type_tag` names the type of what stands there for other
 * programs and later versions of this one; `type_bytes` and `type_align` are its `sizeof` and
 * `_Alignof`. Change the tag when the type's meaning changes.
 */
sdx_status sdx_root_set(struct sdx_session *session,
                        const char *name,
                        const char *type_tag,
                        uint64_t type_bytes,
                        uint32_t type_align,
                        uint64_t offset);

/**
 * Sets `offset` to that of the root of a name, which must have been set with the same type.
 * `SDX_NOT_FOUND` if there is none.
 */
sdx_status sdx_root_get(struct sdx_session *session,
                        const char *name,
                        const char *type_tag,
                        uint64_t type_bytes,
                        uint32_t type_align,
                        uint64_t *offset);

/**
 * Removes the root of a name. What it led to stays allocated.
 */
sdx_status sdx_root_remove(struct sdx_session *session, const char *name);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SARDONYX_H */

/** Options that are all by default: `sdx_options options = SDX_OPTIONS;` */
#define SDX_OPTIONS { sizeof(sdx_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
