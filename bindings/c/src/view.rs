//! Views: all tables as they were at one commit, to read from any thread while transactions continue. They are of the
//! process that writes, or of a follower.

use crate::boundary::{call, check_place, store, text};
use crate::cursor::{CursorState, Wanted, sdx_cursor, sdx_range};
use crate::handle::{Kind, Pool, alone, issue, shared};
use crate::schema::sdx_column;
use crate::statement::{StatementState, sdx_binding, sdx_statement};
use crate::status::{Failure, sdx_status};
use crate::table_transaction::no_row;
use crate::tables::{nth_table, outside, sdx_tables, store_name};
use sardonyx::Snapshot;
use sardonyx_base::sync::futex::Mutex;
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// All tables at one commit. Any number of threads may read it.
pub struct sdx_view {
    _private: [u8; 0],
}

impl Kind for sdx_view {
    type State = Arc<Snapshot>;
    const MARK: u32 = u32::from_le_bytes(*b"sdxV");
    const NAME: &'static str = "view";

    fn pool() -> &'static Pool<Arc<Snapshot>> {
        static POOL: Pool<Arc<Snapshot>> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// # Safety
/// As for [`shared`].
unsafe fn snapshot(view: *mut sdx_view) -> Result<Arc<Snapshot>, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { shared(view)? }.clone())
}

/// Opens a view of the committed state. It blocks no other transaction. Later changes keep old versions for
/// it in memory, up to a bound: then the oldest view is ended, and reading it is `SDX_SNAPSHOT_ENDED`.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_open(
    tables: *mut sdx_tables,
    view: *mut *mut sdx_view,
) -> sdx_status {
    call(|| {
        check_place("the view", view)?;
        // SAFETY: the header's promise.
        let taken = unsafe { outside(tables)? }.tables.snapshot()?;
        // SAFETY: the header's promise.
        unsafe { store("the view", view, issue(Arc::new(taken))) }
    })
}

/// As `sdx_prepare`, of a table of the view.
///
/// # Safety
/// As for `sdx_prepare`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_prepare(
    view: *mut sdx_view,
    table: *const c_char,
    bindings: *const sdx_binding,
    count: usize,
    row_bytes: usize,
    statement: *mut *mut sdx_statement,
) -> sdx_status {
    call(|| {
        check_place("the statement", statement)?;
        // SAFETY: the header's promise.
        let (taken, table) = unsafe { (snapshot(view)?, text("the table's name", table)?) };
        let schema = taken.rows(table)?.schema().clone();
        // SAFETY: the header's promise.
        let state = unsafe { StatementState::bound(table, schema, (bindings, count), row_bytes)? };
        // SAFETY: the header's promise.
        unsafe { store("the statement", statement, issue(state)) }
    })
}

/// As `sdx_table_name`, of the view's tables.
///
/// # Safety
/// As for `sdx_table_name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_table(
    view: *mut sdx_view,
    number: u32,
    name: *mut c_char,
    bytes: usize,
) -> sdx_status {
    call(|| {
        check_place("the name", name)?;
        // SAFETY: the header's promise.
        let taken = unsafe { snapshot(view)? };
        let is_readable = |name: &str| taken.rows(name).is_ok();
        let named = nth_table(taken.definitions(), number, is_readable);
        // SAFETY: the header's promise.
        unsafe { store_name(named, number, name, bytes) }
    })
}

/// As `sdx_table_column`, of a table of the view.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_column(
    view: *mut sdx_view,
    table: *const c_char,
    number: u32,
    column: *mut sdx_column,
) -> sdx_status {
    call(|| {
        check_place("the column", column)?;
        // SAFETY: the header's promise.
        let (taken, table) = unsafe { (snapshot(view)?, text("the table's name", table)?) };
        let schema = taken.rows(table)?.schema().clone();
        // SAFETY: it is a structure that begins with its size, as the header says.
        unsafe { sdx_column::describe(column, table, &schema, number) }
    })
}

/// As `sdx_get`, of the view's row.
///
/// # Safety
/// As for `sdx_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_get(
    view: *mut sdx_view,
    statement: *mut sdx_statement,
    row: *mut c_void,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (taken, mut prepared) = unsafe { (snapshot(view)?, alone(statement)?) };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let key = unsafe { plan.read_key(row)? };
        let rows = taken.rows(&plan.table)?;
        plan.check(rows.schema())?;
        let found = rows.get(&key)?.ok_or_else(|| no_row(&plan))?;
        prepared.held = plan.values(&found)?;
        // SAFETY: the header's promise.
        unsafe { plan.write(&prepared.held, row) }
    })
}

/// As `sdx_find`, of the view's rows. The cursor may be read after the view was closed.
///
/// # Safety
/// As for `sdx_find`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_find(
    view: *mut sdx_view,
    statement: *mut sdx_statement,
    range: *const sdx_range,
    cursor: *mut *mut sdx_cursor,
) -> sdx_status {
    call(|| {
        check_place("the cursor", cursor)?;
        // SAFETY: the header's promise.
        let (taken, prepared) = unsafe { (snapshot(view)?, alone(statement)?) };
        let plan = prepared.plan.clone();
        // SAFETY: the header's promise.
        let wanted = unsafe { Wanted::read(&plan, range)? };
        let state = CursorState::of_snapshot(plan, &taken, &wanted)?;
        // SAFETY: the header's promise.
        unsafe { store("the cursor", cursor, issue(state)) }
    })
}

/// The number of rows of a table in the view.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_rows(
    view: *mut sdx_view,
    table: *const c_char,
    rows: *mut u64,
) -> sdx_status {
    call(|| {
        check_place("the number of rows", rows)?;
        // SAFETY: the header's promise.
        let (taken, table) = unsafe { (snapshot(view)?, text("the table's name", table)?) };
        let counted = taken.rows(table)?.count()?;
        // SAFETY: the header's promise.
        unsafe { store("the number of rows", rows, counted) }
    })
}

/// Closes a view.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_view_close(view: *mut sdx_view) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { shared(view)? };
        drop(used.close::<sdx_view>());
        Ok(())
    })
}
