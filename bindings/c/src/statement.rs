//! Statements: a table's columns bound once to the fields of a structure in C, for every operation on its rows.
//!
//! Invariants: a field lies within the structure, which is checked when the statement is prepared. The
//! statement or the cursor that stored a text in a structure keeps its bytes.

use crate::boundary::{call, check_place, store, text};
use crate::handle::{Kind, Pool, alone, issue};
use crate::status::Failure;
use crate::status::sdx_status::{self, SDX_REFUSED};
use crate::tables::{outside, sdx_tables};
use sardonyx::Error;
use sardonyx::rows::{ReadRow, RowWriter};
use sardonyx::schema::{KeyPart, Schema, Type, Value};
use sardonyx_base::sync::futex::Mutex;
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// One byte, 0 or 1 (`bool`). For columns of type bool.
pub const SDX_TYPE_BOOL: u32 = 1;
/// `int64_t`. For integers; a value that does not fit is `SDX_REFUSED`.
pub const SDX_TYPE_INT64: u32 = 2;
/// `uint64_t`. For integers; a value that does not fit is `SDX_REFUSED`.
pub const SDX_TYPE_UINT64: u32 = 3;
/// `double`. For f32 and f64.
pub const SDX_TYPE_DOUBLE: u32 = 4;
/// `sdx_text`, UTF-8. For text.
pub const SDX_TYPE_TEXT: u32 = 5;
/// `sdx_text`, any bytes. For bytes, and for plain data of programs in Rust.
pub const SDX_TYPE_BYTES: u32 = 6;
/// `sdx_int128`: units of the column's last digit; 12.34 of a decimal(2) is 1234. For decimals.
pub const SDX_TYPE_DECIMAL: u32 = 7;
/// `int32_t`: days since 1970-01-01. For dates.
pub const SDX_TYPE_DATE: u32 = 8;
/// `int64_t`: microseconds since midnight. For times.
pub const SDX_TYPE_TIME: u32 = 9;
/// `int64_t`: microseconds since 1970-01-01 00:00 UTC. For timestamps.
pub const SDX_TYPE_TIMESTAMP: u32 = 10;
/// 16 bytes, in the order of the text form. For UUIDs.
pub const SDX_TYPE_UUID: u32 = 11;
/// `sdx_int128`. For integers except u128.
pub const SDX_TYPE_INT128: u32 = 12;

/// For `null_offset`: there is no flag, and the column is never null here.
pub const SDX_NEVER_NULL: u32 = 0xffff_ffff;

/// A text or bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_text {
    /// The first byte; need not be followed by a zero byte. May be null if there are no bytes.
    pub data: *const c_char,
    /// The number of bytes.
    pub bytes: usize,
}

/// An integer of 128 bits, in two's complement.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct sdx_int128 {
    /// The lower half.
    pub low: u64,
    /// The upper half, with the sign.
    pub high: i64,
}

/// A field of a structure and its column.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_binding {
    /// The column's name.
    pub column: *const c_char,
    /// The field's type: one of `SDX_TYPE_...`.
    pub kind: u32,
    /// `offsetof` the field.
    pub offset: u32,
    /// `offsetof` a field of one byte that is 1 if the column is null, and otherwise 0; `SDX_NEVER_NULL` if
    /// there is none.
    pub null_offset: u32,
    /// Zero.
    pub reserved: u32,
}

/// A table's columns, bound to fields of a structure. One thread at a time uses it; prepare one for each.
pub struct sdx_statement {
    _private: [u8; 0],
}

pub(crate) struct StatementState {
    pub plan: Arc<Plan>,
    /// The values that the texts of the last filled structure point to.
    pub held: Vec<Value>,
}

impl Kind for sdx_statement {
    type State = StatementState;
    const MARK: u32 = u32::from_le_bytes(*b"sdxP");
    const NAME: &'static str = "statement";

    fn pool() -> &'static Pool<StatementState> {
        static POOL: Pool<StatementState> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// The prepared bindings.
pub(crate) struct Plan {
    pub table: String,
    schema: Arc<Schema>,
    fields: Vec<Field>,
}

struct Field {
    column: usize,
    kind: u32,
    offset: usize,
    null_offset: Option<usize>,
}

/// Values of some columns, by their numbers.
pub(crate) type Values = Vec<(usize, Value)>;

/// Values for a row.
pub(crate) fn writer<'v>(values: impl IntoIterator<Item = &'v (usize, Value)>) -> RowWriter<'v> {
    let mut writer = RowWriter::new(0);
    for (column, value) in values {
        writer.set(*column, value.as_ref());
    }
    writer
}

impl Plan {
    /// Checks that the table's bound columns are still those that the statement was prepared for.
    pub fn check(&self, now: &Arc<Schema>) -> Result<(), Error> {
        if Arc::ptr_eq(now, &self.schema) {
            return Ok(());
        }
        let column = |schema: &Schema, field: &Field| {
            let column = schema.columns.get(field.column);
            column
                .filter(|column| !column.dropped)
                .map(|column| (column.name.clone(), is_of(field.kind, column.kind)))
        };
        let is_same = |field| column(now, field) == column(&self.schema, field);
        match self.fields.iter().all(is_same) {
            true => Ok(()),
            false => Err(Error::Refused(
                format!(
                    "table {:?} was changed since the statement was prepared: prepare it again",
                    self.table
                )
                .into(),
            )),
        }
    }

    /// The values of the primary key's columns in a structure, in its order.
    ///
    /// # Safety
    /// As [`Plan::read`].
    pub unsafe fn read_key(&self, row: *const c_void) -> Result<Vec<Value>, Failure> {
        let key = &self.schema.primary.key;
        // SAFETY: the caller's promise.
        unsafe { self.read_parts(key, "the primary key", row) }
    }

    /// The values of the first columns of an index in a structure.
    ///
    /// # Safety
    /// As [`Plan::read`].
    pub unsafe fn read_of_index(
        &self,
        index: &str,
        columns: usize,
        row: *const c_void,
    ) -> Result<Vec<Value>, Failure> {
        let mut all = std::iter::once(&self.schema.primary).chain(&self.schema.indexes);
        let definition = all.find(|definition| definition.name == index);
        let definition = definition.ok_or_else(|| {
            let message = format!("table {:?} has no index {index:?}", self.table);
            Failure::new(SDX_REFUSED, message)
        })?;
        let key = definition.key.get(..columns).ok_or_else(|| {
            let has = definition.key.len();
            let message = format!("index {index:?} has {has} columns, and {columns} are asked for");
            Failure::new(SDX_REFUSED, message)
        })?;
        // SAFETY: the caller's promise.
        unsafe { self.read_parts(key, &format!("index {index:?}"), row) }
    }

    /// # Safety
    /// As [`Plan::read`].
    unsafe fn read_parts(
        &self,
        key: &[KeyPart],
        of: &str,
        row: *const c_void,
    ) -> Result<Vec<Value>, Failure> {
        check_row(row)?;
        let value = |part: &KeyPart| {
            let mut fields = self.fields.iter();
            let field = fields.find(|field| field.column == part.column);
            let field = field.ok_or_else(|| {
                let name = &self.schema.columns[part.column].name;
                let message = format!(
                    "column {name:?} of table {:?} is in {of}, and the statement has no field for it",
                    self.table
                );
                Failure::new(SDX_REFUSED, message)
            })?;
            // SAFETY: the caller's promise; fields lie within the structure.
            unsafe { self.read_field(field, row.cast()) }
        };
        key.iter().map(value).collect()
    }

    /// Returns true if a column is in the primary key.
    pub fn is_key(&self, column: usize) -> bool {
        let mut key = self.schema.primary.key.iter();
        key.any(|part| part.column == column)
    }

    /// The values of a row, in the order of the fields.
    pub fn values(&self, row: &impl ReadRow) -> Result<Vec<Value>, Error> {
        let values = self.fields.iter();
        let values = values.map(|field| Ok(row.value_at(field.column)?.to_value()));
        values.collect()
    }

    /// Reads the values of a structure.
    ///
    /// # Safety
    /// Null, or a structure of the statement's layout, with valid texts.
    pub unsafe fn read(&self, row: *const c_void) -> Result<Values, Failure> {
        check_row(row)?;
        let mut values = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            // SAFETY: the fields lie within the structure, as was checked when it was prepared.
            let value = unsafe { self.read_field(field, row.cast())? };
            values.push((field.column, value));
        }
        Ok(values)
    }

    /// # Safety
    /// As [`Plan::read`], not null.
    unsafe fn read_field(&self, field: &Field, row: *const u8) -> Result<Value, Failure> {
        if let Some(flag) = field.null_offset {
            // SAFETY: within the structure.
            match unsafe { row.add(flag).read() } {
                0 => {}
                1 => return Ok(Value::Null),
                other => return Err(self.unfit(field, &format!("its null flag is {other}"))),
            }
        }
        // SAFETY: within the structure; any bytes are values of these types.
        unsafe {
            let place = row.add(field.offset);
            Ok(match field.kind {
                SDX_TYPE_BOOL => match place.read() {
                    flag @ (0 | 1) => Value::Bool(flag == 1),
                    other => {
                        return Err(
                            self.unfit(field, &format!("{other} is not a bool: use 0 or 1"))
                        );
                    }
                },
                SDX_TYPE_INT64 => Value::Int(place.cast::<i64>().read_unaligned().into()),
                SDX_TYPE_UINT64 => Value::Int(place.cast::<u64>().read_unaligned().into()),
                SDX_TYPE_DOUBLE => Value::Float(place.cast::<f64>().read_unaligned()),
                SDX_TYPE_TEXT | SDX_TYPE_BYTES => {
                    let bytes =
                        self.read_bytes(field, place.cast::<sdx_text>().read_unaligned())?;
                    match field.kind {
                        SDX_TYPE_BYTES => Value::Bytes(bytes.to_vec()),
                        _ => match std::str::from_utf8(bytes) {
                            Ok(text) => Value::Text(text.to_string()),
                            Err(error) => {
                                let at = error.valid_up_to();
                                let what = format!("the text is not UTF-8 at byte {at}");
                                return Err(self.unfit(field, &what));
                            }
                        },
                    }
                }
                SDX_TYPE_DECIMAL => {
                    let units = wide(place.cast::<sdx_int128>().read_unaligned());
                    let scale = match self.schema.columns[field.column].kind {
                        Type::Decimal { scale } => scale,
                        _ => 0,
                    };
                    Value::Decimal(units, scale)
                }
                SDX_TYPE_DATE => Value::Date(place.cast::<i32>().read_unaligned()),
                SDX_TYPE_TIME => Value::Time(place.cast::<i64>().read_unaligned()),
                SDX_TYPE_TIMESTAMP => Value::Timestamp(place.cast::<i64>().read_unaligned()),
                SDX_TYPE_UUID => Value::Uuid(place.cast::<[u8; 16]>().read_unaligned()),
                _ => Value::Int(wide(place.cast::<sdx_int128>().read_unaligned())),
            })
        }
    }

    /// # Safety
    /// The text is valid as long as the result is used.
    unsafe fn read_bytes<'a>(&self, field: &Field, text: sdx_text) -> Result<&'a [u8], Failure> {
        if text.bytes == 0 {
            return Ok(&[]);
        }
        if text.data.is_null() || isize::try_from(text.bytes).is_err() {
            return Err(self.unfit(field, "its text is null, or longer than memory"));
        }
        // SAFETY: not null, with so many valid bytes, which is the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(text.data.cast(), text.bytes) })
    }

    /// Stores values, in the order of the fields, in a structure; its texts point into the values.
    ///
    /// # Safety
    /// Null, or memory for a structure of the statement's layout.
    pub unsafe fn write(&self, values: &[Value], row: *mut c_void) -> Result<(), Failure> {
        check_row(row)?;
        for (field, value) in self.fields.iter().zip(values) {
            // SAFETY: the fields lie within the structure, as was checked when it was prepared.
            unsafe { self.write_field(field, value, row.cast())? };
        }
        Ok(())
    }

    /// # Safety
    /// As [`Plan::write`], not null.
    unsafe fn write_field(
        &self,
        field: &Field,
        value: &Value,
        row: *mut u8,
    ) -> Result<(), Failure> {
        let is_null = *value == Value::Null;
        match field.null_offset {
            // SAFETY: within the structure.
            Some(flag) => unsafe { row.add(flag).write(is_null.into()) },
            None if is_null => {
                return Err(self.unfit(field, "it is null, and the binding has no flag for that"));
            }
            None => {}
        }
        let beyond = |kind| self.unfit(field, &format!("{value:?} is beyond {kind}"));
        // SAFETY: within the structure.
        unsafe {
            let place = row.add(field.offset);
            match (field.kind, value) {
                (_, Value::Null) => place.write_bytes(0, width(field.kind)),
                (SDX_TYPE_BOOL, Value::Bool(flag)) => place.write((*flag).into()),
                (SDX_TYPE_INT64, Value::Int(number)) => {
                    let number = i64::try_from(*number).map_err(|_| beyond("int64_t"))?;
                    place.cast::<i64>().write_unaligned(number);
                }
                (SDX_TYPE_UINT64, Value::Int(number)) => {
                    let number = u64::try_from(*number).map_err(|_| beyond("uint64_t"))?;
                    place.cast::<u64>().write_unaligned(number);
                }
                (SDX_TYPE_DOUBLE, Value::Float(number)) => {
                    place.cast::<f64>().write_unaligned(*number);
                }
                (SDX_TYPE_TEXT, Value::Text(text)) => write_bytes(place, text.as_bytes()),
                (SDX_TYPE_BYTES, Value::Bytes(bytes)) => write_bytes(place, bytes),
                (SDX_TYPE_DECIMAL, Value::Decimal(number, _))
                | (SDX_TYPE_INT128, Value::Int(number)) => {
                    place.cast::<sdx_int128>().write_unaligned(halves(*number));
                }
                (SDX_TYPE_DATE, Value::Date(days)) => place.cast::<i32>().write_unaligned(*days),
                (SDX_TYPE_TIME, Value::Time(time))
                | (SDX_TYPE_TIMESTAMP, Value::Timestamp(time)) => {
                    place.cast::<i64>().write_unaligned(*time);
                }
                (SDX_TYPE_UUID, Value::Uuid(bytes)) => {
                    place.cast::<[u8; 16]>().write_unaligned(*bytes);
                }
                (SDX_TYPE_DECIMAL, Value::NonFinite(value)) => {
                    let what = format!("it is {value}, for which the field has no number");
                    return Err(self.unfit(field, &what));
                }
                _ => return Err(self.unfit(field, "it is of another type than the field")),
            }
        }
        Ok(())
    }

    fn unfit(&self, field: &Field, what: &str) -> Failure {
        let name = &self.schema.columns[field.column].name;
        let message = format!("column {name:?} of table {:?}: {what}", self.table);
        Failure::new(SDX_REFUSED, message)
    }
}

/// # Safety
/// Memory for a text.
unsafe fn write_bytes(place: *mut u8, bytes: &[u8]) {
    let text = sdx_text {
        data: bytes.as_ptr().cast(),
        bytes: bytes.len(),
    };
    // SAFETY: the caller's promise.
    unsafe { place.cast::<sdx_text>().write_unaligned(text) };
}

fn check_row(row: *const c_void) -> Result<(), Failure> {
    match row.is_null() {
        true => Err(Failure::argument("the row is null")),
        false => Ok(()),
    }
}

fn wide(number: sdx_int128) -> i128 {
    i128::from(number.high) << 64 | i128::from(number.low)
}

fn halves(number: i128) -> sdx_int128 {
    sdx_int128 {
        low: number as u64,
        high: (number >> 64) as i64,
    }
}

/// Bytes of a field.
fn width(kind: u32) -> usize {
    match kind {
        SDX_TYPE_BOOL => 1,
        SDX_TYPE_DATE => 4,
        SDX_TYPE_INT64 | SDX_TYPE_UINT64 | SDX_TYPE_DOUBLE => 8,
        SDX_TYPE_TIME | SDX_TYPE_TIMESTAMP => 8,
        SDX_TYPE_TEXT | SDX_TYPE_BYTES => size_of::<sdx_text>(),
        _ => 16,
    }
}

/// Returns true if a field can hold a column of this type.
fn is_of(field: u32, column: Type) -> bool {
    use Type::{I8, I16, I32, I64, I128, U8, U16, U32, U64};
    let is_integer = matches!(column, I8 | I16 | I32 | I64 | I128 | U8 | U16 | U32 | U64);
    match field {
        SDX_TYPE_BOOL => column == Type::Bool,
        SDX_TYPE_INT64 | SDX_TYPE_UINT64 | SDX_TYPE_INT128 => is_integer,
        SDX_TYPE_DOUBLE => matches!(column, Type::F32 | Type::F64),
        SDX_TYPE_TEXT => column == Type::Text,
        SDX_TYPE_BYTES => matches!(column, Type::Bytes | Type::Plain { .. }),
        SDX_TYPE_DECIMAL => matches!(column, Type::Decimal { .. }),
        SDX_TYPE_DATE => column == Type::Date,
        SDX_TYPE_TIME => column == Type::Time,
        SDX_TYPE_TIMESTAMP => column == Type::Timestamp,
        SDX_TYPE_UUID => column == Type::Uuid,
        _ => false,
    }
}

/// Binds columns of a table to fields of a structure of `row_bytes` bytes (`sizeof` it), for operations on
/// its rows. Unbound columns get their defaults in new rows, and keep their values otherwise. After a change
/// of these columns the statement is `SDX_REFUSED`: prepare it again.
///
/// # Safety
/// As for `sdx_open`; `bindings` are `count` ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_prepare(
    tables: *mut sdx_tables,
    table: *const c_char,
    bindings: *const sdx_binding,
    count: usize,
    row_bytes: usize,
    statement: *mut *mut sdx_statement,
) -> sdx_status {
    call(|| {
        check_place("the statement", statement)?;
        // SAFETY: the header's promise.
        let (found, table) = unsafe { (outside(tables)?, text("the table's name", table)?) };
        let schema = found.tables.read(|view| {
            let rows = view.rows(table)?;
            Ok(rows.schema().clone())
        })?;
        // SAFETY: the header's promise.
        let state = unsafe { StatementState::bound(table, schema, (bindings, count), row_bytes)? };
        // SAFETY: the header's promise.
        unsafe { store("the statement", statement, issue(state)) }
    })
}

impl StatementState {
    /// Binds columns of a table of this schema.
    ///
    /// # Safety
    /// `bindings` are null or so many ones, whose names are strings.
    pub(crate) unsafe fn bound(
        table: &str,
        schema: Arc<Schema>,
        (bindings, count): (*const sdx_binding, usize),
        row_bytes: usize,
    ) -> Result<StatementState, Failure> {
        check_place("the bindings", bindings)?;
        if count > schema.columns.len() {
            let message = format!("{count} bindings: table {table:?} has fewer columns");
            return Err(Failure::argument(message));
        }
        let mut fields: Vec<Field> = Vec::with_capacity(count);
        for number in 0..count {
            // SAFETY: the caller's promise that there are so many.
            let binding = unsafe { bindings.add(number).read() };
            // SAFETY: the caller's promise.
            let name = unsafe { text("a binding's column", binding.column)? };
            let field = bind(&schema, table, name, &binding, row_bytes)?;
            if fields.iter().any(|other| other.column == field.column) {
                let message = format!("column {name:?} of table {table:?} is bound twice");
                return Err(Failure::new(SDX_REFUSED, message));
            }
            fields.push(field);
        }
        let plan = Plan {
            table: table.to_string(),
            schema,
            fields,
        };
        Ok(StatementState {
            plan: Arc::new(plan),
            held: Vec::new(),
        })
    }
}

fn bind(
    schema: &Schema,
    table: &str,
    name: &str,
    binding: &sdx_binding,
    row_bytes: usize,
) -> Result<Field, Failure> {
    let refused = |message: String| Failure::new(SDX_REFUSED, message);
    let column = schema
        .column(name)
        .ok_or_else(|| refused(format!("table {table:?} has no column {name:?}")))?;
    let kind = schema.columns[column].kind;
    if !is_of(binding.kind, kind) {
        return Err(refused(format!(
            "column {name:?} of table {table:?} is of type {kind}, which no field of SDX_TYPE {} is for",
            binding.kind
        )));
    }
    let (offset, width) = (binding.offset as usize, width(binding.kind));
    let null_offset = Some(binding.null_offset).filter(|offset| *offset != SDX_NEVER_NULL);
    let null_offset = null_offset.map(|offset| offset as usize);
    let is_inside = offset
        .checked_add(width)
        .is_some_and(|end| end <= row_bytes)
        && null_offset.is_none_or(|flag| flag < row_bytes);
    if !is_inside || binding.reserved != 0 {
        return Err(Failure::argument(format!(
            "the field of column {name:?} of table {table:?}, {width} bytes at {offset}, or its flag, is not in \
             the structure of {row_bytes} bytes"
        )));
    }
    Ok(Field {
        column,
        kind: binding.kind,
        offset,
        null_offset,
    })
}

/// Closes a statement. Texts that it stored in structures are freed.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_statement_close(statement: *mut sdx_statement) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { alone(statement)? };
        drop(used.close::<sdx_statement>());
        Ok(())
    })
}
