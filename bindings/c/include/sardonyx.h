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
* A failed operation on rows has no effect, and its transaction continues: commit or abort it. The message
 * names table, column and value.
 *
 * Results. Every call returns a code; 0 is success, and then the call's results are stored.
 * Otherwise sdx_error_message() names the error, its place and a remedy. There is no longjmp and no
 * exception: a fault of the library is SDX_PANICKED.
 *
 * Pointers. Handles are null, or were returned by this library; closed ones, and those of another
 * kind, are SDX_INVALID_HANDLE. Strings end with a zero byte and are UTF-8. Places for results are
 * the caller's memory. The caller guarantees the parts of this that cannot be checked.
 *
 * Threads. A segment, a snapshot, a database of tables, a follower, a view and a ticket may be used by any number of
 * threads.
 * Transactions on tables, statements, cursors and schemas are used by one at a time. A session, and the
 * memory at its address, is used by one thread at a time. It may move between threads between calls,
 * except during an exclusive transaction, which ends in the thread that began it.
 *
 * Processes. One at a time has a database of tables open, and any number follow it (sdx_follow) to read. Any number
 * may have the same segment open. Any of them may be killed at any time.
 * After fork, the child's copies of handles are SDX_FORKED: open the segment again in the child. The
 * memory at a session's or snapshot's address is then the child's own, to read and write without
 * effect on others. A page has its state at the fork if the session had a copy of its own,
 * and otherwise some committed state. After exec the segment is not mapped any more.
 *
 * Signals. The library handles SIGSEGV for its own memory and passes all other faults to the previous
 * handler, with the signals blocked that it asked for. A program that installs a handler
 * later must call the one it replaces for faults that are not its own. The program's handlers may
 * touch the memory at any time: in the middle of a call for the same session they find it as outside
 * of a transaction. They must not call the library. The library's threads take no signals.
 *
 * Conflicts. Two transactions conflict if one changes a page of 4096 bytes that the other one uses, even
 * other bytes of it. Place rows that different threads or processes often change on
 * different pages: one row on a page (`struct row { _Alignas(4096) ... }`), or each process' rows on
 * pages of their own. sdx_conflicts lists the pages with the most conflicts.
 *
 * System calls. The kernel does not fault as programs do. Calls that read from the memory (write, send)
 * always work in snapshots and in read-only transactions. Otherwise announce the range by sdx_touch
 * (SDX_READ), or open the segment with SDX_OPEN_SYSTEM_CALLS. Without these, they fail with EFAULT on
 * pages that others changed, and with the mechanism "signal" on all untouched pages. Calls that write
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
 * Page tables record the touched pages; no signal.
 */
#define SDX_MECHANISM_ASYNCHRONOUS 1

/**
 * SIGSEGV and changes of protection record them, as in the LIBXAC thesis.
 */
#define SDX_MECHANISM_SIGNAL 2

/**
 * The program announces them, by `sdx_read` and `sdx_write`. Stores through pointers are lost.
 */
#define SDX_MECHANISM_EXPLICIT 3

/**
 * System calls can read from the memory (`write`, `send`) without `sdx_touch`, also in a transaction that
 * may write and outside of one. Otherwise they fail with `EFAULT` on pages that others have changed, except
 * in snapshots and read-only transactions, where they always can. It costs a copy of each such page at
 * `sdx_begin`, which then counts as read. With `SDX_MECHANISM_SIGNAL` a transaction that may write has to
 * touch its pages nevertheless.
 */
#define SDX_OPEN_SYSTEM_CALLS 1

/**
 * No other transaction commits while it runs, so that it cannot conflict. The same thread must end it.
 */
#define SDX_BEGIN_EXCLUSIVE 1

/**
 * Read-only. It never conflicts and never blocks others.
 */
#define SDX_BEGIN_READ_ONLY 2

/**
 * Stores that were made while no transaction was running are not searched, which saves a little. Such a
 * store then becomes part of the transaction, or is lost.
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
 * The index is ordered: it supports ranges, too.
 */
#define SDX_ORDERED 1

/**
 * No two rows have the same key in the index.
 */
#define SDX_UNIQUE 2

/**
 * Rows are deleted with the row that they refer to.
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
 * `sdx_int128`: units of the column's last digit; 12.34 of a decimal(2) is 1234. For decimals.
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
 * 16 bytes, in the order of the text form. For UUIDs.
 */
#define SDX_TYPE_UUID 11

/**
 * `sdx_int128`. For integers except u128.
 */
#define SDX_TYPE_INT128 12

/**
 * For `null_offset`: there is no flag, and the column is never null here.
 */
#define SDX_NEVER_NULL 4294967295

/**
 * A lag without a bound, and one that is not known.
 */
#define SDX_ANY_LAG UINT64_MAX

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
 * The rows whose key begins with that of `from`; its last column, a text or bytes, is a prefix. `to` is
 * null.
 */
#define SDX_RANGE_STARTS_WITH 8

/**
 * The outcome of a call. The numbers are stable; new ones are added at the end.
 */
enum sdx_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The call succeeded.
   */
  SDX_OK = 0,
  /**
   * Another transaction changed data that this one used. It is over and had no effect: run it again.
   */
  SDX_CONFLICT = 1,
  /**
   * An argument that is not valid: null, unknown flags, no UTF-8.
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
   * The program wrote to the memory while no transaction was running; that was undone.
   */
  SDX_WRITTEN_OUTSIDE = 11,
  /**
   * The transaction changed more bytes than fit. It is over and had no effect.
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
   * The log cannot be written: it is not known if the awaited transaction survives a restart.
   */
  SDX_POISONED = 17,
  /**
   * This library cannot use the shared memory.
   */
  SDX_INCOMPATIBLE = 18,
  /**
   * The kernel does not offer the requested mechanism.
   */
  SDX_MECHANISM_UNAVAILABLE = 19,
  /**
   * All places for sessions or processes are taken.
   */
  SDX_TOO_MANY = 20,
  /**
   * The operating system returned an error.
   */
  SDX_SYSTEM = 21,
  /**
   * The database cannot be opened.
   */
  SDX_CANNOT_OPEN = 22,
  /**
   * There is no root of this name, no such savepoint, no row with this key, no such table, column or database.
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
   * The freed memory is not allocated, or has another size.
   */
  SDX_NOT_ALLOCATED = 26,
  /**
   * The root is of another type.
   */
  SDX_ROOT_TYPE = 27,
  /**
   * A fault of the library. Close the handle.
   */
  SDX_PANICKED = 28,
  /**
   * An error that this version has no code for; see the message.
   */
  SDX_OTHER = 29,
  /**
   * There is a row with this key already, in the primary key or a unique index. The call had no effect.
   */
  SDX_DUPLICATE = 30,
  /**
   * A value, a column, a table or a schema that is not valid; the message names it. The call had no
   * effect.
   */
  SDX_REFUSED = 31,
  /**
   * Beyond a limit, which the message names: a value, a key, a transaction. The call had no effect.
   */
  SDX_LIMIT = 32,
  /**
   * No memory, or no room on the disk. The call had no effect.
   */
  SDX_FULL = 33,
  /**
   * The database is open elsewhere, in an incompatible way.
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
   * Other processes must act first, or a follower is too far behind. Try again then.
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
 * The rows of a range. One thread at a time uses it.
 */
typedef struct sdx_cursor sdx_cursor;

/**
 * The tables of a database that another process has open, to read. Any number of threads may use it.
 */
typedef struct sdx_follower sdx_follower;

/**
 * A schema that is being built. One thread at a time uses it.
 */
typedef struct sdx_schema sdx_schema;

/**
 * An open segment. Any number of threads may use it.
 */
typedef struct sdx_segment sdx_segment;

/**
 * A session. One thread at a time uses it: a concurrent call of a second one gets `SDX_BUSY`, and that
 * thread must not use the memory either.
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
   * The time for which it has kept its snapshot, in milliseconds.
   */
  uint64_t milliseconds;
} sdx_slow_reader;

/**
 * The options of a segment. If all bytes except `size` are zero, they are the defaults: see `SDX_OPTIONS`.
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
   * Bytes of memory for versions that are older than the last commit, and for redo records. The changes of
   * a larger transaction take memory of their own. 0: 64 MiB.
   */
  uint64_t versions_bytes;
  /**
   * The most bytes of the segment; address space only. 0: 96 GiB, so that a process can have all 1,024
   * sessions, or twice the database's present size.
   */
  uint64_t address_space_bytes;
  /**
   * Directory in a memory file system for the file of the shared memory. Null: `/dev/shm`.
   */
  const char *shared_memory;
  /**
   * The time that a writer waits for a snapshot that keeps all versions there is room for, in
   * milliseconds. 0: ten seconds.
   */
  uint64_t slow_reader_wait_milliseconds;
  /**
   * Called by a writer that begins to wait for a snapshot, in its thread; may be null. It must be quick,
   * must not use the segment, and must return.
   */
  void (*slow_reader)(void *user, const struct sdx_slow_reader *reader);
  /**
   * Passed to `slow_reader`, in the thread that calls it.
   */
  void *slow_reader_user;
  /**
   * The most bytes of changes of a transaction of this process, and 8 for each range of bytes that it
   * changes; at most 4 GiB less a page. 0: the limit of memory and of the log: 2 GiB less two segments of
   * 64 MiB. A larger bound makes the log larger.
   */
  uint64_t transaction_bytes;
  /**
   * Directory of the log, on a disk of its own: for a new database, or where the log of an existing one was
   * moved. Null: its present place, or the database's directory. A segment without a log refuses it.
   */
  const char *log_directory;
  /**
   * The same for the backup.
   */
  const char *backup_directory;
} sdx_options;

/**
 * The properties of a segment, and the counts of this handle's sessions.
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
   * 1 if it is a database in a directory, 0 if it is removed with its last user.
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
   * The time for which it has done so, in milliseconds.
   */
  uint64_t slowest_reader_milliseconds;
} sdx_statistics;

/**
 * A page with conflicts of transactions, and their number.
 */
typedef struct sdx_page_conflicts {
  /**
   * The page's number: its offset in the segment divided by 4096.
   */
  uint64_t page;
  /**
   * The number of conflicts.
   */
  uint64_t conflicts;
} sdx_page_conflicts;

/**
 * A column of a table.
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
 * A field of a structure and its column.
 */
typedef struct sdx_binding {
  /**
   * The column's name.
   */
  const char *column;
  /**
   * The field's type: one of `SDX_TYPE_...`.
   */
  uint32_t kind;
  /**
   * `offsetof` the field.
   */
  uint32_t offset;
  /**
   * `offsetof` a field of one byte that is 1 if the column is null, and otherwise 0; `SDX_NEVER_NULL` if
   * there is none.
   */
  uint32_t null_offset;
  /**
   * Zero.
   */
  uint32_t reserved;
} sdx_binding;

/**
 * The range of a cursor. If all bytes except `size` are zero, it is all rows.
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
   * A structure of the statement's layout with the first key; null for no bound.
   */
  const void *from;
  /**
   * A structure with the last key; null for no bound.
   */
  const void *to;
  /**
   * The number of the index's columns that count in `from`, from the first on. Keys that begin with these
   * are the bound.
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
   * The number of bytes.
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
 * The message of this thread's last failed call: the error, its place, and a remedy. Never null. Valid until
 * the next failed call of this thread; a successful call does not change it.
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
 * Opens a segment without a log, shared by all processes that open this name, or makes one. The last process
 * that has it open removes it. The name is one of a file: it has no `/`.
 */
sdx_status sdx_open_volatile(const char *name,
                             const struct sdx_options *options,
                             struct sdx_segment **segment);

/**
 * Makes a segment without a log that only this process has.
 */
sdx_status sdx_open_private(const struct sdx_options *options, struct sdx_segment **segment);

/**
 * Closes a segment. Its sessions, snapshots and tickets stay valid; the segment ends with the last of them.
 */
sdx_status sdx_close(struct sdx_segment *segment);

/**
 * Bytes of the segment that a transaction which begins now can use.
 */
sdx_status sdx_segment_length(struct sdx_segment *segment, uint64_t *length);

/**
 * Takes a checkpoint with everything committed so far, so that the next opening has less to redo.
 * Checkpoints are also taken as the log grows. No effect without a log.
 */
sdx_status sdx_checkpoint(struct sdx_segment *segment);

/**
 * Fills in the properties of the segment and the counts of this handle's sessions. The program sets
 * `statistics->size`.
 */
sdx_status sdx_segment_statistics(struct sdx_segment *segment,
                                  struct sdx_statistics *statistics);

/**
 * The pages on which this process' transactions conflicted with others since it opened the segment, the page
 * with the most conflicts first. Fills in at most `capacity` pages and stores their number in `count`. (Some
 * thousand pages are counted; others are not in the list.) Transactions conflict by page: place data that
 * different threads or processes change on different pages.
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
 * Closes a session; a running transaction is aborted. Its memory is unmapped.
 */
sdx_status sdx_session_close(struct sdx_session *session);

/**
 * The address of the segment's first byte in this session. It stays the same until the session is closed,
 * also when the segment grows. Other sessions have other addresses, so stored links must be offsets.
 *
 * The memory may be used by ordinary loads and stores while a transaction is running. Outside of one, loads
 * find some committed state of each page, and the next `sdx_begin` undoes stores and reports them.
 */
sdx_status sdx_session_address(struct sdx_session *session,
                               void **address);

/**
 * Sets `doomed` to 1 if the running transaction can no longer commit, and to 0 otherwise. Its snapshot kept
 * old versions for too long; end it, and run it again. Other conflicts are found at the commit.
 */
sdx_status sdx_session_doomed(struct sdx_session *session,
                              uint32_t *doomed);

/**
 * Bytes that may be used at the session's address, also before its first transaction. Growth by others is
 * added when a transaction begins.
 */
sdx_status sdx_session_length(struct sdx_session *session,
                              uint64_t *length);

/**
 * Begins a transaction. It reads the state of this moment, which does not change, even if it cannot commit
 * any more. `flags`: `SDX_BEGIN_...`, or 0.
 *
 * `SDX_WRITTEN_OUTSIDE` if the program wrote to the session's memory while no transaction was running: that
 * was undone now, and the next call begins one.
 */
sdx_status sdx_begin(struct sdx_session *session,
                     uint32_t flags);

/**
 * Ends the transaction and makes its changes visible to all.
 *
 * `flags`: `SDX_COMMIT_WAIT` or `SDX_COMMIT_LATER`. With the latter, `ticket` may be given to wait for
 * durability later, or null. With the former it must be null.
 *
 * Unless the error is about the call itself (`SDX_INVALID_ARGUMENT`, `SDX_INVALID_HANDLE`, `SDX_BUSY`,
 * `SDX_WRONG_THREAD`, `SDX_FORKED`, `SDX_NO_TRANSACTION`) the transaction is over. It then had no effect,
 * except with `SDX_POISONED`: its changes are visible, and it is not known if they survive a restart. After
 * `SDX_CONFLICT`, run it again.
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
 * Undoes all writes since a savepoint. The savepoint stays, so that it can be used again; later ones are
 * removed.
 */
sdx_status sdx_rollback_to(struct sdx_session *session,
                           uint64_t savepoint);

/**
 * Removes a savepoint and later ones. Writes since then stay.
 */
sdx_status sdx_release(struct sdx_session *session, uint64_t savepoint);

/**
 * Enlarges the segment to at least so many bytes; the new ones are zero. It stays enlarged even if the
 * transaction aborts.
 */
sdx_status sdx_grow(struct sdx_session *session,
                    uint64_t bytes);

/**
 * Announces that a range is going to be touched, which is cheaper than detecting it page by page. `access`:
 * `SDX_READ` or `SDX_READ_WRITE`. Only advice: other pages may be touched, too.
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
 * Copies bytes into the segment: with the explicit mechanism the way to write, with the others the same as
 * storing them at the session's address.
 */
sdx_status sdx_write(struct sdx_session *session,
                     uint64_t offset,
                     const void *data,
                     size_t length);

/**
 * Opens a snapshot of the committed state. It never fails because of others and never blocks them. But old
 * versions are kept for it: a writer without room for more waits, and gets `SDX_SLOW_READER` in the end.
 */
sdx_status sdx_snapshot_open(struct sdx_segment *segment,
                             struct sdx_snapshot **snapshot);

/**
 * The address of the snapshot's first byte, until it is closed. The memory is read-only: a store is a
 * SIGSEGV, or lost.
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
 * Returns when the transaction is on stable storage. May be called any number of times, from any thread.
 */
sdx_status sdx_ticket_wait(struct sdx_ticket *ticket);

/**
 * Closes a ticket, waited for or not. The transaction becomes durable anyway.
 */
sdx_status sdx_ticket_close(struct sdx_ticket *ticket);

/**
 * Makes a blank segment a heap; no effect if it is one. A segment is either a heap, in which the program
 * uses only allocated memory, or the program's own from its first byte on.
 */
sdx_status sdx_heap_make(struct sdx_session *session);

/**
 * Allocates bytes, with undefined contents. `align`: a power of two up to 4096. Sets `offset` from the
 * segment's start, never 0.
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
 * Sets the root of a name, new or not. `type_tag` names the type of the object there, for other programs and
 * later versions of this one; `type_bytes` and `type_align` are its `sizeof` and `_Alignof`. Change the tag
 * when the type's meaning changes.
 */
sdx_status sdx_root_set(struct sdx_session *session,
                        const char *name,
                        const char *type_tag,
                        uint64_t type_bytes,
                        uint32_t type_align,
                        uint64_t offset);

/**
 * Sets `offset` to that of the root of a name, which must have been set with the same type. `SDX_NOT_FOUND`
 * if there is none.
 */
sdx_status sdx_root_get(struct sdx_session *session,
                        const char *name,
                        const char *type_tag,
                        uint64_t type_bytes,
                        uint32_t type_align,
                        uint64_t *offset);

/**
 * Removes the root of a name. The object stays allocated.
 */
sdx_status sdx_root_remove(struct sdx_session *session, const char *name);

/**
 * Opens the database in a directory as tables, or makes one. One process has it open at a time.
 */
sdx_status sdx_tables_open(const char *directory, struct sdx_tables **tables);

/**
 * Makes everything durable and closes the database. Its statements, views and cursors must still be closed,
 * and so must transactions, which are over. `SDX_INSIDE_TRANSACTION` while a function of
 * `sdx_transaction_run` runs.
 */
sdx_status sdx_tables_close(struct sdx_tables *tables);

/**
 * Waits until everything committed so far is on stable storage.
 */
sdx_status sdx_tables_flush(struct sdx_tables *tables);

/**
 * Writes a backup into a directory, which is absent or empty, while transactions continue.
 */
sdx_status sdx_tables_backup(struct sdx_tables *tables, const char *directory);

/**
 * Creates a table with a schema, durably. No effect if there is one of this name with the same schema;
 * `SDX_REFUSED` if it has another.
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
 * `bytes` bytes: 64 are enough. `SDX_NOT_FOUND` if there are fewer tables.
 */
sdx_status sdx_table_name(struct sdx_tables *tables,
                          uint32_t number,
                          char *name,
                          size_t bytes);

/**
 * Describes the column with this number, counted from 0, of a table. `SDX_NOT_FOUND` if there are fewer
 * columns; `SDX_REFUSED` if there is no such table. The program sets `size` before.
 */
sdx_status sdx_table_column(struct sdx_tables *tables,
                            const char *table,
                            uint32_t number,
                            struct sdx_column *column);

/**
 * The number of committed rows of a table.
 */
sdx_status sdx_table_rows(struct sdx_tables *tables, const char *table, uint64_t *rows);

/**
 * Begins a schema without columns.
 */
sdx_status sdx_schema_new(struct sdx_schema **schema);

/**
 * Adds a column. `kind`: `bool`, `i8`, `i16`, `i32`, `i64`, `i128`, `u8` to `u128`, `f32`, `f64`,
 * `decimal(2)` (the number of fractional digits), `text`, `bytes`, `date`, `time`, `timestamp` or `uuid`.
 * `flags`: `SDX_NULLABLE`, or 0.
 */
sdx_status sdx_schema_column(struct sdx_schema *schema,
                             const char *name,
                             const char *kind,
                             uint32_t flags);

/**
 * The default of the last column, as text: `0`, `open`, `2026-01-31`.
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
 * Adds a condition for every row: `balance >= 0`, `length(name) > 2`. It is any expression of SQL whose result depends on
 * the row alone, and is checked when a table is created with the schema.
 */
sdx_status sdx_schema_check(struct sdx_schema *schema,
                            const char *name,
                            const char *condition);

/**
 * Refers to rows of another table: the values of `columns` are those of `referenced` there, a key of a
 * unique index, or null. `flags`: `SDX_CASCADE`, or 0 to keep the other row while rows here refer to it.
 */
sdx_status sdx_schema_reference(struct sdx_schema *schema,
                                const char *name,
                                const char *columns,
                                const char *table,
                                const char *referenced,
                                uint32_t flags);

/**
 * Closes a schema. Tables that were created with it stay.
 */
sdx_status sdx_schema_close(struct sdx_schema *schema);

/**
 * Binds columns of a table to fields of a structure of `row_bytes` bytes (`sizeof` it), for operations on
 * its rows. Unbound columns get their defaults in new rows, and keep their values otherwise. After a change
 * of these columns the statement is `SDX_REFUSED`: prepare it again.
 */
sdx_status sdx_prepare(struct sdx_tables *tables,
                       const char *table,
                       const struct sdx_binding *bindings,
                       size_t count,
                       size_t row_bytes,
                       struct sdx_statement **statement);

/**
 * Closes a statement. Texts that it stored in structures are freed.
 */
sdx_status sdx_statement_close(struct sdx_statement *statement);

/**
 * Begins a transaction in the committed state. End it by `sdx_transaction_commit` or
 * `sdx_transaction_abort`. It blocks no other transaction, however long it lives, and may move between
 * threads between calls. It sees the state of its begin and its own changes. Its commit is `SDX_CONFLICT` if
 * data that it read was changed meanwhile. Then it had no effect: run it again, or by `sdx_transaction_run`,
 * which cannot conflict.
 *
 * Its memory is bounded, and it changes at most 500,000 rows: at a bound an operation returns `SDX_LIMIT` or
 * `SDX_SNAPSHOT_ENDED`. Closing the database ends it: `SDX_CLOSED`. `SDX_INSIDE_TRANSACTION` in a function that
 * `sdx_transaction_run` calls.
 */
sdx_status sdx_transaction_begin(struct sdx_tables *tables,
                                 struct sdx_transaction **transaction);

/**
 * Ends the transaction and makes all its changes visible, or, if the result is an error, none. `flags`: with
 * `SDX_COMMIT_WAIT` it returns when it is on stable storage, with `SDX_COMMIT_LATER` before. Then `ticket`
 * may be given to wait for that, or null.
 *
 * Unless the error is about the call itself (`SDX_INVALID_ARGUMENT`, `SDX_INVALID_HANDLE`, `SDX_BUSY`,
 * `SDX_FORKED`) the transaction is over and the handle closed. It then had no effect, except with
 * `SDX_POISONED`: its changes were visible, and it is not known if they survive a restart.
 */
sdx_status sdx_transaction_commit(struct sdx_transaction *transaction,
                                  uint32_t flags,
                                  struct sdx_ticket **ticket);

/**
 * Ends the transaction without effect.
 */
sdx_status sdx_transaction_abort(struct sdx_transaction *transaction);

/**
 * Calls a function as a transaction, in this thread: the fastest way. Returns the function's result; 0
 * commits the transaction, anything else undoes it. `flags` and `ticket` are those of
 * `sdx_transaction_commit`. An error of the commit is returned as an `sdx_status`.
 *
 * The transaction passed to the function is over when it returns. It must return: no `longjmp`, no C++
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
 * Inserts the row of a structure, or replaces the one with its key: unbound columns get their defaults. Sets
 * `replaced`, which may be null, to 1 if there was one, and otherwise to 0.
 */
sdx_status sdx_put(struct sdx_transaction *transaction,
                   struct sdx_statement *statement,
                   const void *row,
                   int *replaced);

/**
 * Changes the row with the key in a structure: the other bound columns get the structure's values.
 * `SDX_NOT_FOUND` if there is none.
 */
sdx_status sdx_update(struct sdx_transaction *transaction,
                      struct sdx_statement *statement,
                      const void *row);

/**
 * Fills the fields of a structure with the row that has the key in it. `SDX_NOT_FOUND` if there is none.
 * Texts are valid until the statement reads another row, or is closed.
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
 * Opens a cursor on the present rows of the statement's table: the transaction may change them while the
 * cursor is read. `range` may be null for all rows in no particular order.
 */
sdx_status sdx_find(struct sdx_transaction *transaction,
                    struct sdx_statement *statement,
                    const struct sdx_range *range,
                    struct sdx_cursor **cursor);

/**
 * Opens a view of the committed state. It blocks no other transaction. Later changes keep old versions for
 * it in memory, up to a bound: then the oldest view is ended, and reading it is `SDX_SNAPSHOT_ENDED`.
 */
sdx_status sdx_view_open(struct sdx_tables *tables,
                         struct sdx_view **view);

/**
 * As `sdx_prepare`, of a table of the view.
 */
sdx_status sdx_view_prepare(struct sdx_view *view,
                            const char *table,
                            const struct sdx_binding *bindings,
                            size_t count,
                            size_t row_bytes,
                            struct sdx_statement **statement);

/**
 * As `sdx_table_name`, of the view's tables.
 */
sdx_status sdx_view_table(struct sdx_view *view, uint32_t number, char *name, size_t bytes);

/**
 * As `sdx_table_column`, of a table of the view.
 */
sdx_status sdx_view_column(struct sdx_view *view,
                           const char *table,
                           uint32_t number,
                           struct sdx_column *column);

/**
 * As `sdx_get`, of the view's row.
 */
sdx_status sdx_view_get(struct sdx_view *view, struct sdx_statement *statement, void *row);

/**
 * As `sdx_find`, of the view's rows. The cursor may be read after the view was closed.
 */
sdx_status sdx_view_find(struct sdx_view *view,
                         struct sdx_statement *statement,
                         const struct sdx_range *range,
                         struct sdx_cursor **cursor);

/**
 * The number of rows of a table in the view.
 */
sdx_status sdx_view_rows(struct sdx_view *view, const char *table, uint64_t *rows);

/**
 * Closes a view.
 */
sdx_status sdx_view_close(struct sdx_view *view);

/**
 * Follows the database in a directory, which another process of this host has open or will open. The follower is
 * read-only, and has all tables in its own memory: at most `memory_bytes_max` bytes of them, and `snapshot_bytes_max`
 * bytes of older pages for views; 0 is the default of either. `SDX_NOT_FOUND` if there is no database; none is made.
 */
sdx_status sdx_follow(const char *directory,
                      uint64_t memory_bytes_max,
                      uint64_t snapshot_bytes_max,
                      struct sdx_follower **follower);

/**
 * Opens a view of the newest commit that the follower has read. `SDX_UNAVAILABLE` if that may be more than `lag_max`
 * microseconds behind the last commit, or if the lag is not known; with `SDX_ANY_LAG` it may be any. The view may be
 * read after the follower was closed.
 */
sdx_status sdx_follower_view(struct sdx_follower *follower,
                             uint64_t lag_max,
                             struct sdx_view **view);

/**
 * The most microseconds by which a view would be behind the last commit now; `SDX_ANY_LAG` if that is not known.
 */
sdx_status sdx_follower_lag(struct sdx_follower *follower,
                            uint64_t *microseconds);

/**
 * The position up to which a view would have every commit now. Positions grow; `sdx_tables_position` has the
 * writing program's.
 */
sdx_status sdx_follower_position(struct sdx_follower *follower,
                                 uint64_t *position);

/**
 * Waits until a view would have every commit before a position of `sdx_tables_position`. `SDX_UNAVAILABLE` if that
 * takes longer than so many microseconds. A close of the follower ends the wait with `SDX_CLOSED`.
 * A wait that begins after the close is `SDX_INVALID_HANDLE`.
 */
sdx_status sdx_follower_wait(struct sdx_follower *follower,
                             uint64_t position,
                             uint64_t microseconds);

/**
 * Ends following, and closes the follower. Its views stay readable.
 */
sdx_status sdx_follower_close(struct sdx_follower *follower);

/**
 * The end of the durable log now, for `sdx_follower_wait` in another process: every transaction that was committed
 * with `SDX_COMMIT_WAIT` is before it.
 */
sdx_status sdx_tables_position(struct sdx_tables *tables,
                               uint64_t *position);

/**
 * Fills the fields of a structure of the statement's layout with the next row. `SDX_END` if there is none.
 * Texts are valid until the next call, or until the cursor is closed.
 */
sdx_status sdx_next(struct sdx_cursor *cursor,
                    void *row);

/**
 * Closes a cursor, at its end or before.
 */
sdx_status sdx_cursor_close(struct sdx_cursor *cursor);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SARDONYX_H */

/** Options with all defaults: `sdx_options options = SDX_OPTIONS;` */
#define SDX_OPTIONS { sizeof(sdx_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
