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
