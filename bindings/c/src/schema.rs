//! Schemas of tables: built column by column, and described.

use crate::boundary::{call, check_place, store, text};
use crate::handle::{Kind, Pool, alone, issue};
use crate::status::Failure;
use crate::status::sdx_status::{self, SDX_NOT_FOUND};
use sardonyx::schema::{Schema, SchemaBuilder, Type};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_rows::value_text::parse_value;
use std::collections::VecDeque;
use std::ffi::c_char;

/// The column may be null.
pub const SDX_NULLABLE: u32 = 1;
/// The index is ordered: it supports ranges, too.
pub const SDX_ORDERED: u32 = 1;
/// No two rows have the same key in the index.
pub const SDX_UNIQUE: u32 = 2;
/// Rows are deleted with the row that they refer to.
pub const SDX_CASCADE: u32 = 1;

/// A schema that is being built. One thread at a time uses it.
pub struct sdx_schema {
    _private: [u8; 0],
}

pub(crate) struct SchemaState {
    builder: SchemaBuilder,
    /// The last column's name and type.
    last: Option<(String, Type)>,
}

impl Kind for sdx_schema {
    type State = SchemaState;
    const MARK: u32 = u32::from_le_bytes(*b"sdxC");
    const NAME: &'static str = "schema";

    fn pool() -> &'static Pool<SchemaState> {
        static POOL: Pool<SchemaState> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// A column of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_column {
    /// `sizeof(sdx_column)`, set by the program.
    pub size: usize,
    /// Its name, as a string.
    pub name: [c_char; 64],
    /// Its type, as `sdx_schema_column` takes it, as a string.
    pub kind: [c_char; 32],
    /// 1 if it may be null.
    pub nullable: u32,
    /// Its place in the primary key, counted from 1; 0 if it is not in it.
    pub key: u32,
}

impl sdx_column {
    /// Stores the description of a column.
    ///
    /// # Safety
    /// Not null, aligned, and a structure that begins with its size.
    pub(crate) unsafe fn describe(
        to: *mut sdx_column,
        table: &str,
        schema: &Schema,
        number: u32,
    ) -> Result<(), Failure> {
        let (number, column) = schema.own_columns().nth(number as usize).ok_or_else(|| {
            let message = format!("table {table:?} has no column number {number}");
            Failure::new(SDX_NOT_FOUND, message)
        })?;
        // SAFETY: every version of the structure starts with its size.
        let size = unsafe { (&raw const (*to).size).read() };
        if size < size_of::<sdx_column>() {
            return Err(Failure::argument(format!(
                "the column's `size` is {size}: set it to sizeof(sdx_column) before the call"
            )));
        }
        let place = schema
            .primary
            .key
            .iter()
            .position(|part| part.column == number);
        let described = sdx_column {
            size,
            name: string(&column.name),
            kind: string(&column.kind.to_string()),
            nullable: column.is_nullable().into(),
            key: place.map_or(0, |place| place as u32 + 1),
        };
        // SAFETY: the caller's promise, and it has so many bytes.
        unsafe { to.write(described) };
        Ok(())
    }
}

/// A text as a string that ends with a zero byte. Names have at most 63 bytes.
fn string<const N: usize>(text: &str) -> [c_char; N] {
    let mut string = [0; N];
    for (to, from) in string[..N - 1].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    string
}

/// The schema built so far; it can be used again.
///
/// # Safety
/// As for [`alone`].
pub(crate) unsafe fn take_schema(schema: *const sdx_schema) -> Result<SchemaBuilder, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { alone(schema)? }.builder.clone())
}

/// Calls `body` with the builder.
///
/// # Safety
/// As for [`alone`].
unsafe fn with(
    schema: *mut sdx_schema,
    flags: u32,
    known: u32,
    step: impl FnOnce(&mut SchemaState) -> Result<SchemaBuilder, Failure>,
) -> sdx_status {
    call(|| {
        // SAFETY: the caller's promise.
        let mut state = unsafe { alone(schema)? };
        if flags & !known != 0 {
            return Err(Failure::argument(format!(
                "there are no flags {flags:#x} here"
            )));
        }
        state.builder = step(&mut state)?;
        Ok(())
    })
}

/// Names that are separated by commas.
fn names(names: &str) -> Vec<&str> {
    names.split(',').map(str::trim).collect()
}

/// Begins a schema without columns.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_new(schema: *mut *mut sdx_schema) -> sdx_status {
    call(|| {
        check_place("the schema", schema)?;
        let state = SchemaState {
            builder: Schema::new(),
            last: None,
        };
        // SAFETY: the header's promise.
        unsafe { store("the schema", schema, issue(state)) }
    })
}

/// Adds a column. `kind`: `bool`, `i8`, `i16`, `i32`, `i64`, `i128`, `u8` to `u128`, `f32`, `f64`,
/// `decimal(2)` (the number of fractional digits), `text`, `bytes`, `date`, `time`, `timestamp` or `uuid`.
/// `flags`: `SDX_NULLABLE`, or 0.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_column(
    schema: *mut sdx_schema,
    name: *const c_char,
    kind: *const c_char,
    flags: u32,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(schema, flags, SDX_NULLABLE, |state| {
            let (name, kind) = (text("the name", name)?, text("the type", kind)?);
            let of_column = |error| Failure::argument(format!("column {name:?}: {error}"));
            let kind: Type = kind.parse().map_err(of_column)?;
            state.last = Some((name.to_string(), kind));
            let builder = state.builder.clone().column(name, kind);
            Ok(match flags & SDX_NULLABLE {
                0 => builder,
                _ => builder.nullable(),
            })
        })
    }
}

/// The default of the last column, as text: `0`, `open`, `2026-01-31`.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_default(
    schema: *mut sdx_schema,
    value: *const c_char,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(schema, 0, 0, |state| {
            let (name, kind) = (state.last.clone()).ok_or_else(|| {
                Failure::argument("a default without a column: call sdx_schema_column first")
            })?;
            let value = parse_value(text("the value", value)?, kind)
                .map_err(|error| Failure::argument(format!("column {name:?}: {error}")))?;
            Ok(state.builder.clone().default_value(value))
        })
    }
}

/// Names the columns of the primary key, separated by commas: `id`, or `customer, id desc`. `flags`:
/// `SDX_ORDERED`, or 0 for an index by hash.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_key(
    schema: *mut sdx_schema,
    columns: *const c_char,
    flags: u32,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(schema, flags, SDX_ORDERED, |state| {
            let columns = names(text("the columns", columns)?);
            let builder = state.builder.clone().primary_key(columns);
            Ok(match flags & SDX_ORDERED {
                0 => builder,
                _ => builder.ordered(),
            })
        })
    }
}

/// Adds an index of columns. `flags`: `SDX_ORDERED`, `SDX_UNIQUE`.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_index(
    schema: *mut sdx_schema,
    name: *const c_char,
    columns: *const c_char,
    flags: u32,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(schema, flags, SDX_ORDERED | SDX_UNIQUE, |state| {
            let columns = names(text("the columns", columns)?);
            let name = text("the name", name)?;
            let mut builder = state.builder.clone().index(name, columns);
            if flags & SDX_ORDERED != 0 {
                builder = builder.ordered();
            }
            if flags & SDX_UNIQUE != 0 {
                builder = builder.unique();
            }
            Ok(builder)
        })
    }
}

/// Adds a condition for every row: `balance >= 0`, `length(name) > 2`. It is any expression of SQL whose result depends on
/// the row alone, and is checked when a table is created with the schema.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_check(
    schema: *mut sdx_schema,
    name: *const c_char,
    condition: *const c_char,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(schema, 0, 0, |state| {
            let (name, condition) = (text("the name", name)?, text("the condition", condition)?);
            Ok(state.builder.clone().check(name, condition))
        })
    }
}

/// Refers to rows of another table: the values of `columns` are those of `referenced` there, a key of a
/// unique index, or null. `flags`: `SDX_CASCADE`, or 0 to keep the other row while rows here refer to it.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_reference(
    schema: *mut sdx_schema,
    name: *const c_char,
    columns: *const c_char,
    table: *const c_char,
    referenced: *const c_char,
    flags: u32,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(schema, flags, SDX_CASCADE, |state| {
            let columns = names(text("the columns", columns)?);
            let referenced = names(text("the columns there", referenced)?);
            let (name, table) = (text("the name", name)?, text("the table", table)?);
            let builder = (state.builder.clone()).foreign_key(name, columns, table, referenced);
            Ok(match flags & SDX_CASCADE {
                0 => builder,
                _ => builder.cascade(),
            })
        })
    }
}

/// Closes a schema. Tables that were created with it stay.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_schema_close(schema: *mut sdx_schema) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { alone(schema)? };
        drop(used.close::<sdx_schema>());
        Ok(())
    })
}
