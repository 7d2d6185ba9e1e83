/*
 * Sardonyx: tables, and transactions on plain memory. Generated from the library's sources; do not edit.
 *
 * Memory (sdx_open):
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
 * Tables (sdx_tables_open), in a database of their own; examples/shop.c has a whole program:
 *
 *     sdx_binding columns[] = {
 *         { "id", SDX_TYPE_UINT64, offsetof(struct account, id), SDX_NEVER_NULL, 0 },
 *         { "owner", SDX_TYPE_TEXT, offsetof(struct account, owner), SDX_NEVER_NULL, 0 },
 *     };
 *     sdx_prepare(tables, "accounts", columns, 2, sizeof(struct account), &accounts);
 *     sdx_transaction_begin(tables, &transaction);
 *     sdx_insert(transaction, accounts, &(struct account) { 1, { "Ada", 3 } });
 *     sdx_transaction_commit(transaction, SDX_COMMIT_WAIT, NULL);
 *
 * An operation on rows that fails has done nothing, and its transaction goes on: commit or abort it. The message
 * names table, column and value.
 *
 * Results. Every call returns a code; 0 is success, and then what the call was to store is stored.
 * Otherwise sdx_error_message() says what is wrong, where, and what to do. There is no longjmp and no
 * exception: a fault of the library's own is SDX_PANICKED.
 *
 * Pointers. Handles are null, or were given out by this library; closed ones, and those of another
 * kind, are SDX_INVALID_HANDLE. Strings end with a zero byte and are UTF-8. Places for results are
 * memory of the caller's. All this is the caller's promise where it cannot be checked.
 *
 * Threads. A segment, a snapshot, a database of tables, a view and a ticket may be used by any number of threads.
 * Transactions on tables, statements, cursors and schemas are used by one at a time. A session, and the
 * memory at its address, is used by one thread at a time; it may go from one to another between calls,
 * but for an exclusive transaction, which ends where it was begun.
 *
 * Processes. One at a time has a database of tables open. Any number may have the same segment open, and any of
 * them may be killed at any time.
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
 * The column may be null.
 */
#define SDX_NULLABLE 1

/**
 * The index is ordered: it finds ranges, too.
 */
#define SDX_ORDERED 1

/**
 * No two rows have one key in the index.
 */
#define SDX_UNIQUE 2

/**
 * Rows go with the row that they refer to.
 */
#define SDX_CASCADE 1

/**
 * One byte, 0 or 1 (`bool`). For columns of type bool.
 */
#define SDX_TYPE_BOOL 1

/**
 * `int64_t`. For integers; a value that does not fit is `SDX_REFUSED`.
 */
#define SDX_TYPE_INT64 2

/**
 * `uint64_t`. For integers; a value that does not fit is `SDX_REFUSED`.
 */
#define SDX_TYPE_UINT64 3

/**
 * `double`. For f32 and f64.
 */
#define SDX_TYPE_DOUBLE 4

/**
 * `sdx_text`, UTF-8. For text.
 */
#define SDX_TYPE_TEXT 5

/**
 * `sdx_text`, any bytes. For bytes, and for plain data of programs in Rust.
 */
#define SDX_TYPE_BYTES 6

/**
 * `sdx_int128`: units of the column's last digit, 12.34 of a decimal(2) being 1234. For decimals.
 */
#define SDX_TYPE_DECIMAL 7

/**
 * `int32_t`: days since 1970-01-01. For dates.
 */
#define SDX_TYPE_DATE 8

/**
 * `int64_t`: microseconds since midnight. For times.
 */
#define SDX_TYPE_TIME 9

/**
 * `int64_t`: microseconds since 1970-01-01 00:00 UTC. For timestamps.
 */
#define SDX_TYPE_TIMESTAMP 10

/**
 * 16 bytes, in the order in which they are written. For UUIDs.
 */
#define SDX_TYPE_UUID 11

/**
 * `sdx_int128`. For integers but u128.
 */
#define SDX_TYPE_INT128 12

/**
 * For `null_offset`: there is no flag, and the column is never null here.
 */
#define SDX_NEVER_NULL 4294967295

/**
 * Without the rows whose key is that of `from`.
 */
#define SDX_RANGE_FROM_EXCLUDED 1

/**
 * Without the rows whose key is that of `to`.
 */
#define SDX_RANGE_TO_EXCLUDED 2

/**
 * The last row first.
 */
#define SDX_RANGE_REVERSE 4

/**
 * The rows whose key begins with that of `from`, of which the last column, a text or bytes, may go on. `to`
 * is null.
 */
#define SDX_RANGE_STARTS_WITH 8

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
   * Another thread is using the handle at this moment.
   */
  SDX_BUSY = 4,
  /**
   * The transaction belongs to another thread.
   */
  SDX_WRONG_THREAD = 5,
  /**
   * The handle is a parent's; this process was forked from it. Open the segment or database again.
   */
  SDX_FORKED = 6,
  /**
   * No transaction is running in the session.
   */
  SDX_NO_TRANSACTION = 7,
  /**
   * A transaction is running already: in the session, or in this thread.
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
   * There is no root of this name, no such savepoint, no row with this key, no such table or column.
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
  /**
   * There is a row with this key already, in the primary key or a unique index. Nothing was done.
   */
  SDX_DUPLICATE = 30,
  /**
   * A value, a column, a table or a schema that cannot be; the message names it. Nothing was done.
   */
  SDX_REFUSED = 31,
  /**
   * Beyond a limit, which the message names: a value, a key, a transaction. Nothing was done.
   */
  SDX_LIMIT = 32,
  /**
   * No memory, or no room on the disk. Nothing was done.
   */
  SDX_FULL = 33,
  /**
   * The database is open elsewhere, in a way that does not go with this one.
   */
  SDX_LOCKED = 34,
  /**
   * The database was closed.
   */
  SDX_CLOSED = 35,
  /**
   * Too much changed since the snapshot was taken, and it was ended: take a new one.
   */
  SDX_SNAPSHOT_ENDED = 36,
  /**
   * There are no more rows.
   */
  SDX_END = 37,
  /**
   * Others have to act first. Try again then.
   */
  SDX_UNAVAILABLE = 38,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sdx_status sdx_status;
#else
typedef int32_t sdx_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Rows that were found. One thread at a time uses it.
 */
typedef struct sdx_cursor sdx_cursor;

/**
 * A schema that is being built. One thread at a time uses it.
 */
typedef struct sdx_schema sdx_schema;

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
 * A table's columns, bound to fields of a structure. One thread at a time uses it; prepare one for each.
 */
typedef struct sdx_statement sdx_statement;

/**
 * A database that is open as tables. Any number of threads may use it.
 */
typedef struct sdx_tables sdx_tables;

/**
 * A committed transaction's claim to be on stable storage.
 */
typedef struct sdx_ticket sdx_ticket;

/**
 * A transaction on tables. One thread at a time uses it.
 */
typedef struct sdx_transaction sdx_transaction;

/**
 * All tables at one commit. Any number of threads may read it.
 */
typedef struct sdx_view sdx_view;

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

/**
 * What a column is.
 */
typedef struct sdx_column {
  /**
   * `sizeof(sdx_column)`, set by the program.
   */
  size_t size;
  /**
   * Its name, as a string.
   */
  char name[64];
  /**
   * Its type, as `sdx_schema_column` takes it, as a string.
   */
  char kind[32];
  /**
   * 1 if it may be null.
   */
  uint32_t nullable;
  /**
   * Its place in the primary key, counted from 1; 0 if it is not in it.
   */
  uint32_t key;
} sdx_column;

/**
 * Which field of a structure is which column.
 */
typedef struct sdx_binding {
  /**
   * The column's name.
   */
  const char *column;
  /**
   * What the field is: one of `SDX_TYPE_...`.
   */
  uint32_t kind;
  /**
   * `offsetof` the field.
   */
  uint32_t offset;
  /**
   * `offsetof` a field of one byte that is 1 where the column is null, and else 0; `SDX_NEVER_NULL` if
   * there is none.
   */
  uint32_t null_offset;
  /**
   * Zero.
   */
  uint32_t reserved;
} sdx_binding;

/**
 * Which rows a cursor finds. All zero bytes but for `size` are all rows.
 */
typedef struct sdx_range {
  /**
   * `sizeof(sdx_range)`.
   */
  size_t size;
  /**
   * The ordered index, in whose order the rows come; `primary` is that of an ordered primary key. Null: all
   * rows, in no particular order.
   */
  const char *index;
  /**
   * A structure as the statement was prepared for, with the first key; null for no bound.
   */
  const void *from;
  /**
   * One with the last key; null for no bound.
   */
  const void *to;
  /**
   * How many of the index's columns count in `from`, from the first. Keys that begin with these are the bound.
   */
  uint32_t from_columns;
  /**
   * The same of `to`.
   */
  uint32_t to_columns;
  /**
   * `SDX_RANGE_...`, or 0.
   */
  uint32_t flags;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The most rows; 0 for no limit.
   */
  uint64_t limit;
} sdx_range;

/**
 * A text or bytes.
 */
typedef struct sdx_text {
  /**
   * The first byte; need not be followed by a zero byte. May be null if there are no bytes.
   */
  const char *data;
  /**
   * How many there are.
   */
  size_t bytes;
} sdx_text;

/**
 * An integer of 128 bits, in two's complement.
 */
typedef struct sdx_int128 {
  /**
   * The lower half.
   */
  uint64_t low;
  /**
   * The upper half, with the sign.
   */
  int64_t high;
} sdx_int128;

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

/**
 * Opens the database in a directory as tables, or makes one. One process has it open at a time.
 */
sdx_status sdx_tables_open(const char *directory, struct sdx_tables **tables);

/**
 * Makes everything durable and closes the database. Statements, views and cursors of it are still to be
 * closed by themselves, and so are transactions, which are over. `SDX_INSIDE_TRANSACTION` while a function of
 * `sdx_transaction_run` runs.
 */
sdx_status sdx_tables_close(struct sdx_tables *tables);

/**
 * Waits until everything that was committed so far is on stable storage.
 */
sdx_status sdx_tables_flush(struct sdx_tables *tables);

/**
 * Writes a backup into a directory, which is absent or empty, while transactions go on.
 */
sdx_status sdx_tables_backup(struct sdx_tables *tables, const char *directory);

/**
 * Creates a table with a schema, durably. If there is one of this name with the same schema, nothing is done;
 * with another, `SDX_REFUSED`.
 */
sdx_status sdx_table_create(struct sdx_tables *tables,
                            const char *name,
                            struct sdx_schema *schema);

/**
 * Drops a table with all its rows, durably.
 */
sdx_status sdx_table_drop(struct sdx_tables *tables, const char *name);

/**
 * Stores the name of the table with this number, counted from 0, as a string in `name`, which has room for
 * `bytes` bytes: 64 are enough. `SDX_NOT_FOUND` if there are not so many.
 */
sdx_status sdx_table_name(struct sdx_tables *tables,
                          uint32_t number,
                          char *name,
                          size_t bytes);

/**
 * Describes the column with this number, counted from 0, of a table. `SDX_NOT_FOUND` if there are not so many
 * columns; `SDX_REFUSED` if there is no such table. The program sets `size` before.
 */
sdx_status sdx_table_column(struct sdx_tables *tables,
                            const char *table,
                            uint32_t number,
                            struct sdx_column *column);

/**
 * How many rows a table has, as committed now.
 */
sdx_status sdx_table_rows(struct sdx_tables *tables, const char *table, uint64_t *rows);

/**
 * Begins a schema without columns.
 */
sdx_status sdx_schema_new(struct sdx_schema **schema);

/**
 * Adds a column. `kind`: `bool`, `i8`, `i16`, `i32`, `i64`, `i128`, `u8` to `u128`, `f32`, `f64`,
 * `decimal(2)` (digits behind the point), `text`, `bytes`, `date`, `time`, `timestamp` or `uuid`. `flags`:
 * `SDX_NULLABLE`, or 0.
 */
sdx_status sdx_schema_column(struct sdx_schema *schema,
                             const char *name,
                             const char *kind,
                             uint32_t flags);

/**
 * What rows get that do not say the last column's value, as text: `0`, `open`, `2026-01-31`.
 */
sdx_status sdx_schema_default(struct sdx_schema *schema, const char *value);

/**
 * Names the columns of the primary key, separated by commas: `id`, or `customer, id desc`. `flags`:
 * `SDX_ORDERED`, or 0 for an index by hash.
 */
sdx_status sdx_schema_key(struct sdx_schema *schema,
                          const char *columns,
                          uint32_t flags);

/**
 * Adds an index of columns. `flags`: `SDX_ORDERED`, `SDX_UNIQUE`.
 */
sdx_status sdx_schema_index(struct sdx_schema *schema,
                            const char *name,
                            const char *columns,
                            uint32_t flags);

/**
 * Adds a condition that every row meets: `balance >= 0`.
 */
sdx_status sdx_schema_check(struct sdx_schema *schema, const char *name, const char *condition);

/**
 * Refers to rows of another table: the values of `columns` are those of `referenced` there, a key of a unique
 * index, or null. `flags`: `SDX_CASCADE`, or 0 to keep the row there while there are such rows here.
 */
sdx_status sdx_schema_reference(struct sdx_schema *schema,
                                const char *name,
                                const char *columns,
                                const char *table,
                                const char *referenced,
                                uint32_t flags);

/**
 * Gives a schema back. Tables that were created with it stay.
 */
sdx_status sdx_schema_close(struct sdx_schema *schema);

/**
 * Binds columns of a table to fields of a structure of `row_bytes` bytes (`sizeof` it), for operations on its
 * rows. Columns that are not bound get their defaults in new rows, and are not touched otherwise. A change of
 * these columns makes the statement `SDX_REFUSED`: prepare it again then.
 */
sdx_status sdx_prepare(struct sdx_tables *tables,
                       const char *table,
                       const struct sdx_binding *bindings,
                       size_t count,
                       size_t row_bytes,
                       struct sdx_statement **statement);

/**
 * Gives a statement back. Texts that it stored in structures are gone.
 */
sdx_status sdx_statement_close(struct sdx_statement *statement);

/**
 * Begins a transaction in the state that is committed now. End it by `sdx_transaction_commit` or
 * `sdx_transaction_abort`. It blocks no other transaction, however long it lives, and may go from one thread to another between
 * calls: it sees the state of its begin and its own changes, and its commit is `SDX_CONFLICT` if something that it read was
 * changed meanwhile. Then it had no effect: run it again, or by `sdx_transaction_run`, where nothing can be in its way.
 *
 * Its memory is bounded: at a bound an operation returns `SDX_LIMIT` or `SDX_SNAPSHOT_ENDED`. When the database is closed it
 * is over: `SDX_CLOSED`. `SDX_INSIDE_TRANSACTION` in a function that `sdx_transaction_run` calls.
 */
sdx_status sdx_transaction_begin(struct sdx_tables *tables,
                                 struct sdx_transaction **transaction);

/**
 * Ends the transaction and makes what it did visible to all: all of it, or, if the result is an error, nothing. `flags`: `SDX_COMMIT_WAIT` returns when it is on
 * stable storage, `SDX_COMMIT_LATER` before; then `ticket` may be given to wait for that, or null.
 *
 * Unless the error is about the call itself (`SDX_INVALID_ARGUMENT`, `SDX_INVALID_HANDLE`, `SDX_BUSY`,
 * `SDX_FORKED`) the transaction is over and the handle closed. It then had no effect, but for `SDX_POISONED`:
 * that it happened was visible, and whether it is there after a restart is not known.
 */
sdx_status sdx_transaction_commit(struct sdx_transaction *transaction,
                                  uint32_t flags,
                                  struct sdx_ticket **ticket);

/**
 * Ends the transaction without effect.
 */
sdx_status sdx_transaction_abort(struct sdx_transaction *transaction);

/**
 * Calls a function as a transaction, in this thread: the fastest way. What the function returns is returned; 0
 * commits the transaction, anything else undoes it. `flags` and `ticket` are those of
 * `sdx_transaction_commit`. An error of the commit is returned as an `sdx_status`.
 *
 * The transaction that the function is given is over when it returns. It must return: no `longjmp`, no C++
 * exception, no `exit`.
 */
int sdx_transaction_run(struct sdx_tables *tables,
                        int (*body)(struct sdx_transaction *transaction, void *user),
                        void *user,
                        uint32_t flags,
                        struct sdx_ticket **ticket);

/**
 * Inserts the row of a structure. `SDX_DUPLICATE` if there is one with its key.
 */
sdx_status sdx_insert(struct sdx_transaction *transaction,
                      struct sdx_statement *statement,
                      const void *row);

/**
 * Puts the row of a structure in the place of the one with its key, if there is one: columns that are not
 * bound get their defaults. Sets `replaced`, which may be null, to 1 if there was one, and else to 0.
 */
sdx_status sdx_put(struct sdx_transaction *transaction,
                   struct sdx_statement *statement,
                   const void *row,
                   int *replaced);

/**
 * Changes the row with the key in a structure: the other columns that are bound become what stands there.
 * `SDX_NOT_FOUND` if there is none.
 */
sdx_status sdx_update(struct sdx_transaction *transaction,
                      struct sdx_statement *statement,
                      const void *row);

/**
 * Fills the fields of a structure with the row that has the key in it. `SDX_NOT_FOUND` if there is none. Texts
 * are there until the statement gets another row, or is closed.
 */
sdx_status sdx_get(struct sdx_transaction *transaction,
                   struct sdx_statement *statement,
                   void *row);

/**
 * Deletes the row with the key in a structure. `SDX_NOT_FOUND` if there is none.
 */
sdx_status sdx_delete(struct sdx_transaction *transaction,
                      struct sdx_statement *statement,
                      const void *row);

/**
 * Opens a cursor on rows of the statement's table, as they are now: the transaction may change them while the
 * cursor is read. `range` may be null for all rows in no particular order.
 */
sdx_status sdx_find(struct sdx_transaction *transaction,
                    struct sdx_statement *statement,
                    const struct sdx_range *range,
                    struct sdx_cursor **cursor);

/**
 * Opens a view of everything that is committed now. Nobody waits for it; what changes meanwhile is kept for it
 * in memory, up to a bound: then the oldest view is ended, and reading it is `SDX_SNAPSHOT_ENDED`.
 */
sdx_status sdx_view_open(struct sdx_tables *tables,
                         struct sdx_view **view);

/**
 * As `sdx_get`, of the view's row.
 */
sdx_status sdx_view_get(struct sdx_view *view, struct sdx_statement *statement, void *row);

/**
 * As `sdx_find`, of the view's rows. The cursor may be read when the view was closed.
 */
sdx_status sdx_view_find(struct sdx_view *view,
                         struct sdx_statement *statement,
                         const struct sdx_range *range,
                         struct sdx_cursor **cursor);

/**
 * How many rows a table has in the view.
 */
sdx_status sdx_view_rows(struct sdx_view *view, const char *table, uint64_t *rows);

/**
 * Closes a view.
 */
sdx_status sdx_view_close(struct sdx_view *view);

/**
 * Fills the fields of a structure, as the cursor's statement was prepared for, with the next row. `SDX_END` if
 * there is none. Texts are there until the next call, or the cursor is closed.
 */
sdx_status sdx_next(struct sdx_cursor *cursor,
                    void *row);

/**
 * Gives a cursor back, at its end or before.
 */
sdx_status sdx_cursor_close(struct sdx_cursor *cursor);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SARDONYX_H */

/** Options that are all by default: `sdx_options options = SDX_OPTIONS;` */
#define SDX_OPTIONS { sizeof(sdx_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
