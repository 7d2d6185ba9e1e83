//! Transactions on tables, and operations on their rows.

use crate::boundary::{attempt, call, check_place, store};
use crate::cursor::{CursorState, Wanted, sdx_cursor, sdx_range};
use crate::handle::{Kind, Pool, Used, alone, issue, shared};
use crate::snapshot::{Claim, issue_ticket, sdx_ticket};
use crate::statement::{Plan, StatementState, sdx_statement, writer};
use crate::status::Failure;
use crate::status::sdx_status::{self, SDX_NOT_FOUND, SDX_WRONG_THREAD};
use crate::tables::{TablesState, outside, sdx_tables};
use crate::transaction::{SDX_COMMIT_LATER, SDX_COMMIT_WAIT};
use sardonyx::{Durability, Error, OpenTransaction, Transaction};
use sardonyx_base::sync::futex::Mutex;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::ThreadId;

/// A transaction on tables. One thread at a time uses it.
pub struct sdx_transaction {
    _private: [u8; 0],
}

pub(crate) struct TransactionState {
    way: Way,
    home: TablesState,
}

enum Way {
    /// Between `sdx_transaction_begin` and its end.
    Open(Box<OpenTransaction>),
    /// In a function that `sdx_transaction_run` calls.
    Called(Called),
}

/// The rows of a transaction: of an open one, or of one in the serial stage.
enum Target<'t> {
    Open(&'t mut OpenTransaction),
    Called(&'t mut Transaction<'static>),
}

/// Calls a method on the rows of a statement's table, in either kind of transaction.
macro_rules! in_rows {
    ($running:ident, $plan:ident, |$rows:pat_param| $act:expr) => {{
        let done: Result<_, Error> = match $running.target()? {
            Target::Open(open) => open.rows(&$plan.table).and_then(|rows| {
                $plan.check(rows.schema())?;
                let $rows = rows;
                $act
            }),
            Target::Called(transaction) => transaction.rows(&$plan.table).and_then(|rows| {
                $plan.check(rows.schema())?;
                let $rows = rows;
                $act
            }),
        };
        done?
    }};
}

/// A transaction that runs in this thread, in a caller's frame.
struct Called {
    transaction: NonNull<Transaction<'static>>,
    thread: ThreadId,
}

// SAFETY: only `thread` uses the pointer, which is checked at each use.
unsafe impl Send for Called {}

impl Kind for sdx_transaction {
    type State = TransactionState;
    const MARK: u32 = u32::from_le_bytes(*b"sdxX");
    const NAME: &'static str = "transaction";

    fn pool() -> &'static Pool<TransactionState> {
        static POOL: Pool<TransactionState> = Mutex::new(VecDeque::new());
        &POOL
    }
}

impl TransactionState {
    /// The rows of the transaction.
    fn target(&mut self) -> Result<Target<'_>, Failure> {
        match &mut self.way {
            Way::Open(open) => Ok(Target::Open(open)),
            Way::Called(called) if called.thread == std::thread::current().id() => {
                // SAFETY: `sdx_transaction_run` closes the handle before the transaction ends, so the pointer
                // is valid. Only this thread uses it, one call at a time: `sdx_transaction_run` waits for the
                // function, and `alone` lends the handle to one call. `'static` replaces the lifetime that
                // the handle cannot name, and no reference of that length leaves this. The transaction's
                // methods only take and return references of the length of its borrow (`&self`, `&mut self`).
                // This borrow is as long as that of the handle, and the calls store only copies of values
                // (`in_rows!`).
                Ok(Target::Called(unsafe { called.transaction.as_mut() }))
            }
            Way::Called(_) => {
                let message = "only the thread whose function has this transaction can use it";
                Err(Failure::new(SDX_WRONG_THREAD, message))
            }
        }
    }

    /// Checks that `sdx_transaction_begin` began it.
    fn ending(&self) -> Result<(), Failure> {
        match self.way {
            Way::Open(_) => Ok(()),
            Way::Called(_) => Err(Failure::argument(
                "a function that sdx_transaction_run calls ends its transaction by returning: 0 commits it",
            )),
        }
    }
}

fn durability(flags: u32, ticket: *mut *mut sdx_ticket) -> Result<Durability, Failure> {
    if flags > SDX_COMMIT_LATER {
        return Err(Failure::argument(format!(
            "a commit has no flags {flags:#x}"
        )));
    }
    if !ticket.is_null() {
        check_place("the ticket", ticket)?;
        if flags != SDX_COMMIT_LATER {
            let message = "only a commit with SDX_COMMIT_LATER has a ticket";
            return Err(Failure::argument(message));
        }
    }
    Ok(match flags {
        SDX_COMMIT_WAIT => Durability::Durable,
        _ => Durability::Deferred,
    })
}

/// # Safety
/// Null, or memory for a handle.
unsafe fn store_ticket(home: &TablesState, ticket: *mut *mut sdx_ticket) -> Result<(), Failure> {
    if ticket.is_null() {
        return Ok(());
    }
    let claim = issue_ticket(Claim::Tables(home.tables.clone()));
    // SAFETY: the caller's promise.
    unsafe { store("the ticket", ticket, claim) }
}

/// Begins a transaction in the committed state. End it by `sdx_transaction_commit` or
/// `sdx_transaction_abort`. It blocks no other transaction, however long it lives, and may move between
/// threads between calls. It sees the state of its begin and its own changes. Its commit is `SDX_CONFLICT` if
/// data that it read was changed meanwhile. Then it had no effect: run it again, or by `sdx_transaction_run`,
/// which cannot conflict.
///
/// Its memory is bounded, and it changes at most 500,000 rows: at a bound an operation returns `SDX_LIMIT` or
/// `SDX_SNAPSHOT_ENDED`. Closing the database ends it: `SDX_CLOSED`. `SDX_INSIDE_TRANSACTION` in a function that
/// `sdx_transaction_run` calls.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_transaction_begin(
    tables: *mut sdx_tables,
    transaction: *mut *mut sdx_transaction,
) -> sdx_status {
    call(|| {
        check_place("the transaction", transaction)?;
        // SAFETY: the header's promise.
        let home = unsafe { outside(tables)? };
        let way = Way::Open(Box::new(home.tables.begin()?));
        // SAFETY: the header's promise.
        unsafe {
            store(
                "the transaction",
                transaction,
                issue(TransactionState { way, home }),
            )
        }
    })
}

/// Ends the transaction and makes all its changes visible, or, if the result is an error, none. `flags`: with
/// `SDX_COMMIT_WAIT` it returns when it is on stable storage, with `SDX_COMMIT_LATER` before. Then `ticket`
/// may be given to wait for that, or null.
///
/// Unless the error is about the call itself (`SDX_INVALID_ARGUMENT`, `SDX_INVALID_HANDLE`, `SDX_BUSY`,
/// `SDX_FORKED`) the transaction is over and the handle closed. It then had no effect, except with
/// `SDX_POISONED`: its changes were visible, and it is not known if they survive a restart.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_transaction_commit(
    transaction: *mut sdx_transaction,
    flags: u32,
    ticket: *mut *mut sdx_ticket,
) -> sdx_status {
    call(|| {
        let durability = durability(flags, ticket)?;
        // SAFETY: the header's promise.
        let used = unsafe { alone(transaction)? };
        used.ending()?;
        let TransactionState { way, home } = used.close::<sdx_transaction>();
        if let Way::Open(open) = way {
            open.commit_with(durability)?;
        }
        // SAFETY: the header's promise.
        unsafe { store_ticket(&home, ticket) }
    })
}

/// Ends the transaction without effect.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_transaction_abort(transaction: *mut sdx_transaction) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { alone(transaction)? };
        used.ending()?;
        drop(used.close::<sdx_transaction>());
        Ok(())
    })
}

/// The result of a program's function.
#[derive(Debug)]
struct Said(c_int);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the transaction's function returned {}", self.0)
    }
}

impl std::error::Error for Said {}

/// Calls a function as a transaction, in this thread: the fastest way. Returns the function's result; 0
/// commits the transaction, anything else undoes it. `flags` and `ticket` are those of
/// `sdx_transaction_commit`. An error of the commit is returned as an `sdx_status`.
///
/// The transaction passed to the function is over when it returns. It must return: no `longjmp`, no C++
/// exception, no `exit`.
///
/// # Safety
/// As for `sdx_open`; the function is one with this signature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_transaction_run(
    tables: *mut sdx_tables,
    body: Option<extern "C" fn(transaction: *mut sdx_transaction, user: *mut c_void) -> c_int>,
    user: *mut c_void,
    flags: u32,
    ticket: *mut *mut sdx_ticket,
) -> c_int {
    let outcome = attempt(|| {
        let body = body.ok_or_else(|| Failure::argument("the function is null"))?;
        let durability = durability(flags, ticket)?;
        // SAFETY: the header's promise.
        let home = unsafe { outside(tables)? };
        let ran = home
            .tables
            .transaction()
            .durability(durability)
            .run(|transaction| {
                let _driving = home.inside.enter();
                let called = Called {
                    transaction: NonNull::from(transaction).cast(),
                    thread: std::thread::current().id(),
                };
                let handle = issue::<sdx_transaction>(TransactionState {
                    way: Way::Called(called),
                    home: home.clone(),
                });
                let said = body(handle, user);
                // In a forked child the handle is the parent's. SAFETY: it was just issued.
                if let Ok(used) = unsafe { shared(handle) } {
                    drop(used.close::<sdx_transaction>());
                }
                match said {
                    0 => Ok(()),
                    other => Err(Error::other(Said(other))),
                }
            });
        match ran {
            // SAFETY: the header's promise.
            Ok(()) => unsafe { store_ticket(&home, ticket).map(|()| 0) },
            Err(error) => match error.downcast_ref::<Said>() {
                Some(Said(said)) => Ok(*said),
                None => Err(error.into()),
            },
        }
    });
    outcome.unwrap_or_else(|status| status as c_int)
}

/// The handles of an operation.
type Both = (Used<TransactionState>, Used<StatementState>);

/// # Safety
/// As for [`alone`].
unsafe fn both(
    transaction: *mut sdx_transaction,
    statement: *mut sdx_statement,
) -> Result<Both, Failure> {
    // SAFETY: the caller's promise.
    unsafe { Ok((alone(transaction)?, alone(statement)?)) }
}

pub(crate) fn no_row(plan: &Plan) -> Failure {
    let message = format!("table {:?} has no row with this key", plan.table);
    Failure::new(SDX_NOT_FOUND, message)
}

/// Inserts the row of a structure. `SDX_DUPLICATE` if there is one with its key.
///
/// # Safety
/// As for `sdx_open`; `row` is a structure of the statement's layout. So for the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_insert(
    transaction: *mut sdx_transaction,
    statement: *mut sdx_statement,
    row: *const c_void,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (mut running, prepared) = unsafe { both(transaction, statement)? };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let values = unsafe { plan.read(row)? };
        in_rows!(running, plan, |mut rows| rows.insert_row(&writer(&values)));
        Ok(())
    })
}

/// Inserts the row of a structure, or replaces the one with its key: unbound columns get their defaults. Sets
/// `replaced`, which may be null, to 1 if there was one, and otherwise to 0.
///
/// # Safety
/// As for `sdx_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_put(
    transaction: *mut sdx_transaction,
    statement: *mut sdx_statement,
    row: *const c_void,
    replaced: *mut c_int,
) -> sdx_status {
    call(|| {
        if !replaced.is_null() {
            check_place("whether there was one", replaced)?;
        }
        // SAFETY: the header's promise.
        let (mut running, prepared) = unsafe { both(transaction, statement)? };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let values = unsafe { plan.read(row)? };
        let was_there = in_rows!(running, plan, |mut rows| rows.put_row(&writer(&values)));
        match replaced.is_null() {
            true => Ok(()),
            // SAFETY: the header's promise.
            false => unsafe { store("whether there was one", replaced, was_there.into()) },
        }
    })
}

/// Changes the row with the key in a structure: the other bound columns get the structure's values.
/// `SDX_NOT_FOUND` if there is none.
///
/// # Safety
/// As for `sdx_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_update(
    transaction: *mut sdx_transaction,
    statement: *mut sdx_statement,
    row: *const c_void,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (mut running, prepared) = unsafe { both(transaction, statement)? };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let (key, mut others) = unsafe { (plan.read_key(row)?, plan.read(row)?) };
        others.retain(|(column, _)| !plan.is_key(*column));
        let was_there = in_rows!(running, plan, |mut rows| rows
            .update_row(&key, &writer(&others)));
        match was_there {
            true => Ok(()),
            false => Err(no_row(&prepared.plan)),
        }
    })
}

/// Fills the fields of a structure with the row that has the key in it. `SDX_NOT_FOUND` if there is none.
/// Texts are valid until the statement reads another row, or is closed.
///
/// # Safety
/// As for `sdx_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_get(
    transaction: *mut sdx_transaction,
    statement: *mut sdx_statement,
    row: *mut c_void,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (mut running, mut prepared) = unsafe { both(transaction, statement)? };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let key = unsafe { plan.read_key(row)? };
        let found = in_rows!(running, plan, |rows| {
            let row = rows.get(&key)?;
            row.map(|row| plan.values(&row)).transpose()
        });
        let plan = prepared.plan.clone();
        prepared.held = found.ok_or_else(|| no_row(&plan))?;
        // SAFETY: the header's promise.
        unsafe { plan.write(&prepared.held, row) }
    })
}

/// Deletes the row with the key in a structure. `SDX_NOT_FOUND` if there is none.
///
/// # Safety
/// As for `sdx_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_delete(
    transaction: *mut sdx_transaction,
    statement: *mut sdx_statement,
    row: *const c_void,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (mut running, prepared) = unsafe { both(transaction, statement)? };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let key = unsafe { plan.read_key(row)? };
        let was_there = in_rows!(running, plan, |mut rows| rows.delete(&key));
        match was_there {
            true => Ok(()),
            false => Err(no_row(&prepared.plan)),
        }
    })
}

/// Opens a cursor on the present rows of the statement's table: the transaction may change them while the
/// cursor is read. `range` may be null for all rows in no particular order.
///
/// # Safety
/// As for `sdx_insert`, with the structures of the range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_find(
    transaction: *mut sdx_transaction,
    statement: *mut sdx_statement,
    range: *const sdx_range,
    cursor: *mut *mut sdx_cursor,
) -> sdx_status {
    call(|| {
        check_place("the cursor", cursor)?;
        // SAFETY: the header's promise.
        let (mut running, prepared) = unsafe { both(transaction, statement)? };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let wanted = unsafe { Wanted::read(&plan, range)? };
        let found = in_rows!(running, plan, |rows| wanted.collect(&plan, &rows));
        let state = CursorState::of_rows(Arc::clone(&prepared.plan), found);
        // SAFETY: the header's promise.
        unsafe { store("the cursor", cursor, issue(state)) }
    })
}
