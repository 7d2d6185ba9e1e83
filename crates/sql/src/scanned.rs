//! The rows of a scan as bytes: columns are tested where they stand, and the rows that pass are given one by one, or as a
//! batch of columns.
//!
//! A test that the bytes of a row do not decide passes the row on as undecided. A row that does not fit the batch (a null,
//! a long text, a number of more than 64 bits, a row from before a column was added) is given by itself, after the batch
//! of the rows before it. So all rows come in their order.
//!
//! Source: batches of columns: Boncz, Zukowski, Nes: MonetDB/X100: Hyper-Pipelining Query Execution (CIDR 2005).

use crate::error::SqlError;
use crate::rows::InputRow;
use crate::values::Comparison;
use sardonyx::rows::ReadRow;
use sardonyx::schema::{Type, ValueRef};
use sardonyx_rows::{Placed, PlacedText};

/// The rows of a batch at most: its columns stay in the nearest caches.
pub(crate) const BATCH_ROWS: usize = 1024;
/// A scan with this many rows that did not fit gives up batches if they are more than a fifth.
const UNFIT_MIN: usize = 64;

/// A test of a row's columns.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ColumnTest {
    /// A number, or a moment, is compared with another one of its type.
    Number(Placed, Comparison, i128),
    /// Two columns of one type are compared.
    Numbers(Placed, Comparison, Placed),
    /// A text is compared by its bytes.
    Text(Placed, Comparison, Box<[u8]>),
    /// A text is one of several.
    AnyText(Placed, Box<[Box<[u8]>]>),
}

impl ColumnTest {
    /// True if the row meets it; false also if a column is null. `None` if the bytes do not decide.
    #[inline(always)]
    fn holds(&self, fixed: &[u8]) -> Option<bool> {
        match self {
            ColumnTest::Number(column, comparison, value) => {
                let number = column.number(fixed);
                Some(number.is_some_and(|number| comparison.accepts(number.cmp(value))))
            }
            ColumnTest::Numbers(left, comparison, right) => {
                Some(match (left.number(fixed), right.number(fixed)) {
                    (Some(left), Some(right)) => comparison.accepts(left.cmp(&right)),
                    _ => false,
                })
            }
            ColumnTest::Text(column, comparison, value) => match column.text(fixed) {
                PlacedText::Null => Some(false),
                PlacedText::Whole(text) => Some(comparison.accepts(text.cmp(value))),
                PlacedText::Outside(length) => match comparison {
                    Comparison::Equal if length != value.len() => Some(false),
                    Comparison::Unequal if length != value.len() => Some(true),
                    _ => None,
                },
            },
            ColumnTest::AnyText(column, values) => match column.text(fixed) {
                PlacedText::Null => Some(false),
                PlacedText::Whole(text) => Some(values.iter().any(|value| **value == *text)),
                PlacedText::Outside(length) => {
                    match values.iter().any(|value| value.len() == length) {
                        true => None,
                        false => Some(false),
                    }
                }
            },
        }
    }
}

/// The values of one column for the rows of a batch.
#[derive(Debug)]
pub(crate) struct BatchColumn {
    /// Its number in the table.
    number: usize,
    place: Placed,
    /// The numbers, and other values of a fixed width, as [`Placed::word`] has them.
    words: Vec<i64>,
    /// The texts, one after another, with the end of each.
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl BatchColumn {
    /// An empty column; `None` if batches have no columns of its type.
    fn new(number: usize, place: Placed) -> Option<Self> {
        let fits = matches!(
            place.kind(),
            Type::Bool
                | Type::I8
                | Type::I16
                | Type::I32
                | Type::I64
                | Type::U8
                | Type::U16
                | Type::U32
                | Type::U64
                | Type::F32
                | Type::F64
                | Type::Decimal { .. }
                | Type::Text
                | Type::Date
                | Type::Time
                | Type::Timestamp
        );
        fits.then(|| BatchColumn {
            number,
            place,
            words: Vec::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// The type of all of its values.
    pub fn kind(&self) -> Type {
        self.place.kind()
    }

    /// Its values as words, unless they are texts.
    pub fn words(&self) -> &[i64] {
        &self.words
    }

    /// The bytes of the text that a row has here.
    pub fn text(&self, row: usize) -> &[u8] {
        let from = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[from as usize..self.ends[row] as usize]
    }

    /// Adds the value of a row; false if it does not fit.
    #[inline(always)]
    fn push(&mut self, fixed: &[u8]) -> bool {
        if self.place.kind() == Type::Text {
            let PlacedText::Whole(text) = self.place.text(fixed) else {
                return false;
            };
            self.bytes.extend_from_slice(text);
            self.ends.push(self.bytes.len() as u32);
            return true;
        }
        match self.place.word(fixed) {
            Some(word) => {
                self.words.push(word);
                true
            }
            None => false,
        }
    }

    fn truncate(&mut self, rows: usize) {
        self.words.truncate(rows);
        self.ends.truncate(rows);
        let end = self.ends.last().map_or(0, |end| *end as usize);
        self.bytes.truncate(end);
    }
}

/// The value of a type that a word encodes.
pub(crate) fn value_of_word(kind: Type, word: i64) -> ValueRef<'static> {
    match kind {
        Type::Decimal { scale } => ValueRef::Decimal(word.into(), scale),
        Type::Bool => ValueRef::Bool(word != 0),
        Type::F32 | Type::F64 => ValueRef::Float(f64::from_bits(word as u64)),
        Type::Date => ValueRef::Date(word as i32),
        Type::Time => ValueRef::Time(word),
        Type::Timestamp => ValueRef::Timestamp(word),
        _ => ValueRef::Int(word.into()),
    }
}

/// Some columns of several rows, none of which is null.
#[derive(Debug)]
pub(crate) struct ColumnBatch {
    columns: Vec<BatchColumn>,
    rows: usize,
}

impl ColumnBatch {
    /// An empty batch of the columns with these numbers and places; `None` if it cannot have one of them.
    pub fn new(columns: impl Iterator<Item = (usize, Placed)>) -> Option<Self> {
        let columns = columns.map(|(number, place)| BatchColumn::new(number, place));
        Some(ColumnBatch {
            columns: columns.collect::<Option<_>>()?,
            rows: 0,
        })
    }

    pub fn columns(&self) -> &[BatchColumn] {
        &self.columns
    }

    /// The place in the batch of the column with a number.
    pub fn place_of(&self, number: usize) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.number == number)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A row of it.
    pub fn row(&self, row: usize) -> BatchRow<'_> {
        BatchRow { batch: self, row }
    }

    pub fn clear(&mut self) {
        self.rows = 0;
        self.columns
            .iter_mut()
            .for_each(|column| column.truncate(0));
    }

    /// Keeps the rows with these numbers, which ascend.
    pub fn keep(&mut self, rows: &[usize]) {
        for column in &mut self.columns {
            if column.place.kind() == Type::Text {
                let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
                for row in rows {
                    bytes.extend_from_slice(column.text(*row));
                    ends.push(bytes.len() as u32);
                }
                (column.bytes, column.ends) = (bytes, ends);
                continue;
            }
            for (to, from) in rows.iter().enumerate() {
                column.words[to] = column.words[*from];
            }
            column.words.truncate(rows.len());
        }
        self.rows = rows.len();
    }

    /// Adds a row; false if it does not fit, and is not added.
    #[inline(always)]
    fn push(&mut self, fixed: &[u8]) -> bool {
        if !self.columns.iter_mut().all(|column| column.push(fixed)) {
            let rows = self.rows;
            self.columns
                .iter_mut()
                .for_each(|column| column.truncate(rows));
            return false;
        }
        self.rows += 1;
        true
    }
}

/// A row of a batch. Columns that the batch does not have are not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchRow<'b> {
    batch: &'b ColumnBatch,
    row: usize,
}

impl InputRow for BatchRow<'_> {
    fn value(&self, place: usize) -> Result<ValueRef<'_>, SqlError> {
        let Some(column) = self.batch.columns.iter().find(|of| of.number == place) else {
            return Ok(ValueRef::Null);
        };
        match column.place.kind() {
            Type::Text => match std::str::from_utf8(column.text(self.row)) {
                Ok(text) => Ok(ValueRef::Text(text)),
                Err(_) => Err(not_utf8()),
            },
            kind => Ok(value_of_word(kind, column.words[self.row])),
        }
    }
}

#[cold]
fn not_utf8() -> SqlError {
    SqlError::new(
        crate::error::code::DATA_CORRUPTED,
        "a text of a table is not UTF-8",
    )
}

/// A row or a batch that a scan gives.
pub(crate) enum Given<'r> {
    /// A row, and true if it passed all tests: else they are to be made by its values.
    Row(&'r dyn InputRow, bool),
    /// Rows that passed all tests, at least one.
    Batch(&'r mut ColumnBatch),
}

/// The consumer: it returns true for more.
pub(crate) type EachGiven<'s> = &'s mut dyn FnMut(Given<'_>) -> Result<bool, SqlError>;

/// The statement of a scan: it counts the rows, and may end the scan.
pub(crate) trait Looks {
    /// Looks at another row.
    ///
    /// # Errors
    /// The reason for the statement's end.
    fn look(&self) -> Result<(), SqlError>;
}

/// Takes the rows of a scan, in any store.
pub(crate) struct Scanned<'s> {
    tests: &'s [ColumnTest],
    batch: Option<&'s mut ColumnBatch>,
    /// Rows that went to the batch, and those that did not fit.
    fit: usize,
    unfit: usize,
    looks: &'s dyn Looks,
    each: EachGiven<'s>,
}

impl<'s> Scanned<'s> {
    /// Gives rows that pass the tests to `each`, in batches if there is one to fill. The statement counts the
    /// rows, and may end the scan.
    pub fn new(
        tests: &'s [ColumnTest],
        batch: Option<&'s mut ColumnBatch>,
        looks: &'s dyn Looks,
        each: EachGiven<'s>,
    ) -> Self {
        Scanned {
            tests,
            batch,
            fit: 0,
            unfit: 0,
            looks,
            each,
        }
    }

    /// Gives the rows that wait in the batch. Returns true if more are wanted.
    ///
    /// # Errors
    /// Errors of the consumer.
    pub fn flush(&mut self) -> Result<bool, SqlError> {
        match &mut self.batch {
            Some(batch) if batch.rows > 0 => {
                let more = (self.each)(Given::Batch(batch));
                batch.clear();
                more
            }
            _ => Ok(true),
        }
    }

    fn unfit(&mut self, row: &dyn InputRow, is_decided: bool) -> Result<bool, SqlError> {
        if !self.flush()? {
            return Ok(false);
        }
        self.unfit += 1;
        if self.unfit >= UNFIT_MIN && self.unfit > self.fit / 4 {
            self.batch = None;
        }
        (self.each)(Given::Row(row, is_decided))
    }
}

impl sardonyx_rows::EachRow<SqlError> for Scanned<'_> {
    #[inline]
    fn take(&mut self, row: &impl ReadRow) -> Result<bool, SqlError> {
        self.looks.look()?;
        let Some(fixed) = row.newest_fixed() else {
            return self.unfit(row, self.tests.is_empty());
        };
        let mut is_decided = true;
        for test in self.tests {
            match test.holds(fixed) {
                Some(true) => {}
                Some(false) => return Ok(true),
                None => is_decided = false,
            }
        }
        let Some(batch) = &mut self.batch else {
            return (self.each)(Given::Row(row, is_decided));
        };
        if !is_decided || !batch.push(fixed) {
            return self.unfit(row, is_decided);
        }
        self.fit += 1;
        match batch.rows < BATCH_ROWS {
            true => Ok(true),
            false => self.flush(),
        }
    }
}
