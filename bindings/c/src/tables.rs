//! Databases of tables: opening, closing, listing tables.

use crate::boundary::{call, check_place, store, text};
use crate::handle::{Kind, Pool, issue, shared};
use crate::schema::{sdx_column, sdx_schema, take_schema};
use crate::status::Failure;
use crate::status::sdx_status::{self, SDX_INSIDE_TRANSACTION, SDX_LIMIT, SDX_NOT_FOUND};
use sardonyx::Tables;
use sardonyx::low_level::Inside;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::catalogue::Definitions;
use std::collections::VecDeque;
use std::ffi::c_char;
use std::sync::Arc;

/// A database that is open as tables. Any number of threads may use it.
pub struct sdx_tables {
    _private: [u8; 0],
}

/// The state of a database's handle.
#[derive(Clone)]
pub(crate) struct TablesState {
    pub tables: Arc<Tables>,
    pub inside: Inside,
}

impl Kind for sdx_tables {
    type State = TablesState;
    const MARK: u32 = u32::from_le_bytes(*b"sdxD");
    const NAME: &'static str = "database";

    fn pool() -> &'static Pool<TablesState> {
        static POOL: Pool<TablesState> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// The database of a handle.
///
/// # Safety
/// As for [`shared`].
pub(crate) unsafe fn database(tables: *const sdx_tables) -> Result<TablesState, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { shared(tables)? }.clone())
}

/// The same, for calls that would wait for this thread's own transaction.
///
/// # Safety
/// As for [`shared`].
pub(crate) unsafe fn outside(tables: *const sdx_tables) -> Result<TablesState, Failure> {
    // SAFETY: the caller's promise.
    let found = unsafe { database(tables)? };
    found.inside.check_outside()?;
    Ok(found)
}

/// Opens the database in a directory as tables, or makes one. One process has it open at a time.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_tables_open(
    directory: *const c_char,
    tables: *mut *mut sdx_tables,
) -> sdx_status {
    call(|| {
        check_place("the database", tables)?;
        // The process evaluates SQL's expressions from then on: conditions of tables, and generated columns.
        #[cfg(feature = "sql")]
        sardonyx_sql::enforce_checks();
        // SAFETY: the header's promise.
        let directory = unsafe { text("the directory", directory)? };
        let opened = TablesState {
            tables: Arc::new(Tables::open(directory)?),
            inside: Inside::default(),
        };
        // SAFETY: the header's promise.
        unsafe { store("the database", tables, issue(opened)) }
    })
}

/// Makes everything durable and closes the database. Its statements, views and cursors must still be closed,
/// and so must transactions, which are over. `SDX_INSIDE_TRANSACTION` while a function of
/// `sdx_transaction_run` runs.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_tables_close(tables: *mut sdx_tables) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { shared(tables)? };
        if used.inside.is_any() {
            let message = "a transaction is running on these tables; end it before closing";
            return Err(Failure::new(SDX_INSIDE_TRANSACTION, message));
        }
        let state = used.close::<sdx_tables>();
        Ok(state.tables.close()?)
    })
}

/// Waits until everything committed so far is on stable storage.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_tables_flush(tables: *mut sdx_tables) -> sdx_status {
    // SAFETY: the header's promise.
    call(|| Ok(unsafe { outside(tables)? }.tables.flush()?))
}

/// Writes a backup into a directory, which is absent or empty, while transactions continue.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_tables_backup(
    tables: *mut sdx_tables,
    directory: *const c_char,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (found, to) = unsafe { (outside(tables)?, text("the directory", directory)?) };
        found.tables.backup(to)?;
        Ok(())
    })
}

/// Creates a table with a schema, durably. No effect if there is one of this name with the same schema;
/// `SDX_REFUSED` if it has another.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_table_create(
    tables: *mut sdx_tables,
    name: *const c_char,
    schema: *mut sdx_schema,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (found, name) = unsafe { (outside(tables)?, text("the table's name", name)?) };
        // SAFETY: the header's promise.
        let schema = unsafe { take_schema(schema)? };
        found.tables.create_table(name, schema)?;
        Ok(())
    })
}

/// Drops a table with all its rows, durably.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_table_drop(
    tables: *mut sdx_tables,
    name: *const c_char,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let (found, name) = unsafe { (outside(tables)?, text("the table's name", name)?) };
        Ok(found.tables.drop_table(name)?)
    })
}

/// Stores the name of the table with this number, counted from 0, as a string in `name`, which has room for
/// `bytes` bytes: 64 are enough. `SDX_NOT_FOUND` if there are fewer tables.
///
/// # Safety
/// As for `sdx_open`; `name` is memory for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_table_name(
    tables: *mut sdx_tables,
    number: u32,
    name: *mut c_char,
    bytes: usize,
) -> sdx_status {
    call(|| {
        check_place("the name", name)?;
        // SAFETY: the header's promise.
        let found = unsafe { outside(tables)? };
        let named = found.tables.read(|view| {
            let is_readable = |name: &str| view.rows(name).is_ok();
            Ok(nth_table(view.definitions(), number, is_readable))
        })?;
        // SAFETY: the header's promise.
        unsafe { store_name(named, number, name, bytes) }
    })
}

/// The name of the table with this number among those of the program.
pub(crate) fn nth_table(
    definitions: &Definitions,
    number: u32,
    is_readable: impl Fn(&str) -> bool,
) -> Option<String> {
    let names = definitions.iter().map(|definition| &definition.name);
    let names = names.filter(|name| !name.starts_with("sardonyx."));
    let mut names = names.filter(|name| is_readable(name));
    names.nth(number as usize).cloned()
}

/// Stores the name of a table as a string.
///
/// # Safety
/// `name` is memory for `bytes` bytes.
pub(crate) unsafe fn store_name(
    named: Option<String>,
    number: u32,
    name: *mut c_char,
    bytes: usize,
) -> Result<(), Failure> {
    let named = named
        .ok_or_else(|| Failure::new(SDX_NOT_FOUND, format!("there is no table number {number}")))?;
    if named.len() >= bytes {
        let message = format!("the name of a table has {} bytes and a zero", named.len());
        return Err(Failure::new(SDX_LIMIT, message));
    }
    // SAFETY: there is room for `bytes` bytes, more than these.
    unsafe {
        std::ptr::copy_nonoverlapping(named.as_ptr(), name.cast(), named.len());
        name.add(named.len()).write(0);
    }
    Ok(())
}

/// Describes the column with this number, counted from 0, of a table. `SDX_NOT_FOUND` if there are fewer
/// columns; `SDX_REFUSED` if there is no such table. The program sets `size` before.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_table_column(
    tables: *mut sdx_tables,
    table: *const c_char,
    number: u32,
    column: *mut sdx_column,
) -> sdx_status {
    call(|| {
        check_place("the column", column)?;
        // SAFETY: the header's promise.
        let (found, table) = unsafe { (outside(tables)?, text("the table's name", table)?) };
        let schema = found.tables.read(|view| {
            let rows = view.rows(table)?;
            Ok(rows.schema().clone())
        })?;
        // SAFETY: it is a structure that begins with its size, as the header says.
        unsafe { sdx_column::describe(column, table, &schema, number) }
    })
}

/// The number of committed rows of a table.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_table_rows(
    tables: *mut sdx_tables,
    table: *const c_char,
    rows: *mut u64,
) -> sdx_status {
    call(|| {
        check_place("the number of rows", rows)?;
        // SAFETY: the header's promise.
        let (found, table) = unsafe { (outside(tables)?, text("the table's name", table)?) };
        let counted = found.tables.read(|view| {
            let rows = view.rows(table)?;
            rows.count()
        })?;
        // SAFETY: the header's promise.
        unsafe { store("the number of rows", rows, counted) }
    })
}
