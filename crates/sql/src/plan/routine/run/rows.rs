//! The rows that a function returns: of queries, of variables, and of rows as values.

use super::{Running, converted};
use crate::error::SqlError;
use crate::plan::routine::code::Shape;
use crate::rows::Table;
use crate::types::{SqlType, TypeSpec};
use crate::values::composites::to_record;
use crate::values::records::fields;
use sardonyx::schema::Value;

impl Running<'_, '_> {
    /// The values of places are the next row of the result.
    pub(super) fn next(&mut self, places: &[usize]) -> Result<(), SqlError> {
        let values = places.iter().map(|place| self.frame.get(*place).cloned());
        let values: Vec<Value> = values.map(Option::unwrap_or_default).collect();
        self.memory.take(&values)?;
        self.table.values.extend(values);
        self.table.rows += 1;
        Ok(())
    }

    /// Takes rows of a query as rows of the result.
    pub(super) fn take(&mut self, table: Table, kinds: &[SqlType]) -> Result<(), SqlError> {
        let (columns, most) = match &self.code.result {
            Shape::Rows(columns) => (columns, usize::MAX),
            Shape::OneRow(columns) => (columns, 1),
            _ => return Ok(()),
        };
        self.memory.take(&table.values)?;
        let width = table.width.max(1);
        let are_rows = match kinds {
            [SqlType::Record] => columns.len() != 1,
            [kind @ SqlType::Composite(_)] => columns.len() != 1 || columns[0].kind != *kind,
            _ => false,
        };
        for row in table.values.chunks(width).take(most) {
            if are_rows {
                let row = match (&row[0], kinds[0]) {
                    (Value::Text(text), SqlType::Composite(of)) => to_record(of, text)?,
                    (row, _) => row.clone(),
                };
                self.take_fields(&row, columns)?;
                continue;
            }
            for ((value, from), to) in row.iter().zip(kinds).zip(columns) {
                let value = converted(value.clone(), *from, *to, self.with)?;
                self.table.values.push(value);
            }
            self.table.rows += 1;
        }
        Ok(())
    }

    /// Takes the fields of a row as a row of the result. A function that gives one row gives none for null.
    fn take_fields(&mut self, row: &Value, columns: &[TypeSpec]) -> Result<(), SqlError> {
        let Value::Bytes(bytes) = row else {
            if let Shape::Rows(_) = self.code.result {
                let nulls = columns.iter().map(|_| Value::Null);
                self.table.values.extend(nulls);
                self.table.rows += 1;
            }
            return Ok(());
        };
        let fields = fields(bytes)?;
        if fields.len() != columns.len() {
            let text = "the row of a function has another number of fields than its result";
            return Err(SqlError::new("42P13", text));
        }
        for (field, to) in fields.iter().zip(columns) {
            let value = converted(field.value.to_value(), field.kind, *to, self.with)?;
            self.table.values.push(value);
        }
        self.table.rows += 1;
        Ok(())
    }
}
