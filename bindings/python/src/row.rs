//! Rows and keys in Python's forms: dictionaries, tuples, keywords.

use crate::lent::lock;
use crate::value::{from_python, to_python};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use sardonyx::Error;
use sardonyx::rows::ReadRow;
use sardonyx::schema::{Schema, Value};
use std::sync::{Arc, Mutex};

/// A row's values, with the schema that has their names.
pub type Found = (Arc<Schema>, Vec<Value>);

/// The values of a row that was searched.
pub fn found(schema: &Arc<Schema>, row: Option<impl ReadRow>) -> Result<Option<Found>, Error> {
    let values = row.map(|row| values_of(schema, &row)).transpose()?;
    Ok(values.map(|values| (schema.clone(), values)))
}

/// The values of the columns that are neither dropped nor indexes' own, in order.
pub fn values_of(schema: &Schema, row: &impl ReadRow) -> Result<Vec<Value>, Error> {
    let columns = schema.own_columns();
    let values = columns.map(|(number, _)| Ok(row.value_at(number)?.to_value()));
    values.collect()
}

/// The same for Python.
pub fn dictionary_of<'py>(
    py: Python<'py>,
    found: Option<Found>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    found
        .map(|(schema, values)| to_dictionary(py, &schema, &values))
        .transpose()
}

/// The names of a table's columns as Python has them, of the schema that was used last.
#[derive(Default)]
pub struct Names(Mutex<Option<OfSchema>>);

/// A schema, and the names of its own columns.
type OfSchema = (Arc<Schema>, Vec<Py<PyString>>);

impl Names {
    /// A row of these columns, if there is one.
    pub fn dictionary_of<'py>(
        &self,
        py: Python<'py>,
        found: Option<Found>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some((schema, values)) = found else {
            return Ok(None);
        };
        // Not locked while Python's objects are made: that may run a program's finalizer, which comes here again.
        let known = lock(&self.0).take();
        let known = known.filter(|(known, _)| Arc::ptr_eq(known, &schema));
        let known = known.unwrap_or_else(|| {
            let names = schema.own_columns();
            let names = names.map(|(_, column)| PyString::intern(py, &column.name).unbind());
            (schema.clone(), names.collect())
        });
        let row = PyDict::new(py);
        for (name, value) in known.1.iter().zip(&values) {
            row.set_item(name, to_python(py, value.as_ref())?)?;
        }
        *lock(&self.0) = Some(known);
        Ok(Some(row))
    }
}

/// A row by its columns' names.
pub fn to_dictionary<'py>(
    py: Python<'py>,
    schema: &Schema,
    values: &[Value],
) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    for ((_, column), value) in schema.own_columns().zip(values) {
        row.set_item(&column.name, to_python(py, value.as_ref())?)?;
    }
    Ok(row)
}

/// Rows by their columns' names.
pub fn to_dictionaries<'py>(
    py: Python<'py>,
    schema: &Schema,
    rows: &[Vec<Value>],
) -> PyResult<Bound<'py, PyList>> {
    let rows = rows.iter().map(|row| to_dictionary(py, schema, row));
    PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}

/// The values of a key's columns, one argument for each.
pub fn values(key: &Bound<'_, PyTuple>) -> PyResult<Vec<Value>> {
    key.iter().map(|part| from_python(&part)).collect()
}

/// A key that is one argument: a tuple, or the value of the only column.
pub fn key<'py>(key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    match key.cast::<PyTuple>() {
        Ok(key) => Ok(key.clone()),
        Err(_) => PyTuple::new(key.py(), [key]),
    }
}

pub fn named(columns: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, Value)>> {
    let columns = columns.into_iter().flatten();
    columns
        .map(|(name, value)| Ok((name.extract()?, from_python(&value)?)))
        .collect()
}

/// The same as the engine takes them.
pub fn borrowed(columns: &[(String, Value)]) -> Vec<(&str, Value)> {
    let columns = columns.iter();
    columns
        .map(|(name, value)| (&**name, value.clone()))
        .collect()
}

/// One name, or several.
pub fn names(names: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match names.extract::<String>() {
        Ok(name) => Ok(vec![name]),
        Err(_) => names.extract(),
    }
}

/// The error that there is no row with a key.
pub fn no_row(key: &Bound<'_, PyTuple>) -> PyErr {
    PyKeyError::new_err(key.clone().unbind())
}

/// Returns true if an exception left a ``with`` block, from the arguments of ``__exit__``.
pub fn failed(exception: &Bound<'_, PyTuple>) -> bool {
    exception.get_item(0).is_ok_and(|kind| !kind.is_none())
}
