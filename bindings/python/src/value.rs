//! Values of columns as Python's objects, and back.
//!
//! | column | Python |
//! | --- | --- |
//! | bool, integers, floats, text, bytes, plain | `bool`, `int`, `float`, `str`, `bytes` |
//! | decimal | `decimal.Decimal` |
//! | date, time, timestamp | `datetime.date`, `datetime.time`, `datetime.datetime` in UTC |
//! | uuid | `uuid.UUID` |
//! | none | `None` |

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDelta, PyFloat, PyInt, PyString, PyTime, PyTzInfo,
};
use sardonyx::schema::{NonFinite, Value, ValueRef};

/// A value as a Python object.
pub fn to_python<'py>(py: Python<'py>, value: ValueRef<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        ValueRef::Null => py.None().into_bound(py),
        ValueRef::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        // Python's stable interface has no integers of 128 bits: they are put together of shorter ones.
        ValueRef::Int(value) => match i64::try_from(value) {
            Ok(short) => short.into_pyobject(py)?.into_any(),
            Err(_) => value.into_pyobject(py)?.into_any(),
        },
        ValueRef::U128(value) => value.into_pyobject(py)?.into_any(),
        ValueRef::Float(value) => PyFloat::new(py, value).into_any(),
        ValueRef::Text(text) => PyString::new(py, text).into_any(),
        ValueRef::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        ValueRef::Decimal(units, scale) => {
            static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let class = imported(py, &CLASS, "decimal", "Decimal")?;
            let digits = units.unsigned_abs().to_string();
            let digits = digits.bytes().map(|digit| digit - b'0');
            let digits = pyo3::types::PyTuple::new(py, digits)?;
            class.call1(((u8::from(units < 0), digits, -i32::from(scale)),))?
        }
        ValueRef::NonFinite(value) => {
            static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let class = imported(py, &CLASS, "decimal", "Decimal")?;
            class.call1((value.name(),))?
        }
        ValueRef::Date(days) => {
            let date = PyDate::new(py, 1970, 1, 1)?;
            date.call_method1("__add__", (PyDelta::new(py, days, 0, 0, true)?,))?
        }
        ValueRef::Time(microseconds) => {
            let moment = since_epoch(py, microseconds)?;
            moment.call_method0("time")?
        }
        ValueRef::Timestamp(microseconds) => {
            let moment = since_epoch(py, microseconds)?;
            let keywords = pyo3::types::PyDict::new(py);
            keywords.set_item("tzinfo", PyTzInfo::utc(py)?)?;
            moment.call_method("replace", (), Some(&keywords))?
        }
        ValueRef::Uuid(bytes) => {
            static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let keywords = pyo3::types::PyDict::new(py);
            keywords.set_item("bytes", PyBytes::new(py, bytes))?;
            imported(py, &CLASS, "uuid", "UUID")?.call((), Some(&keywords))?
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "{other:?} has no type in Python yet"
            )));
        }
    })
}

/// A Python object as a value. The engine checks that it fits a column.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = object.py();
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        if let Ok(short) = object.extract::<i64>() {
            return Ok(Value::Int(short.into()));
        }
        return match object.extract::<i128>() {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => Ok(Value::U128(object.extract()?)),
        };
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(object.extract()?));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::Text(text.to_str()?.to_string()));
    }
    if let Ok(moment) = object.cast::<PyDateTime>() {
        return Ok(Value::Timestamp(timestamp(moment)?));
    }
    if object.is_instance_of::<PyDate>() {
        let days: i32 = object.call_method0("toordinal")?.extract()?;
        return Ok(Value::Date(days - EPOCH_ORDINAL));
    }
    if object.is_instance_of::<PyTime>() {
        let part = |name| object.getattr(name)?.extract::<i64>();
        let seconds = part("hour")? * 3600 + part("minute")? * 60 + part("second")?;
        return Ok(Value::Time(seconds * 1_000_000 + part("microsecond")?));
    }
    if let Ok(bytes) = object.extract::<Vec<u8>>() {
        return Ok(Value::Bytes(bytes));
    }
    static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if object.is_instance(&imported(py, &DECIMAL, "decimal", "Decimal")?)? {
        return decimal(object);
    }
    static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if object.is_instance(&imported(py, &UUID, "uuid", "UUID")?)? {
        return Ok(Value::Uuid(object.getattr("bytes")?.extract()?));
    }
    static INTEGRAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // Such as NumPy's scalars.
    if object.is_instance(&imported(py, &INTEGRAL, "numbers", "Number")?)? {
        let plain = object.call_method0("item");
        if let Ok(plain) = plain
            && !plain.get_type().is(object.get_type())
        {
            return from_python(&plain);
        }
    }
    Err(PyTypeError::new_err(format!(
        "a value of a column cannot be a {}",
        object.get_type().name()?
    )))
}

/// `datetime.date(1970, 1, 1).toordinal()`.
const EPOCH_ORDINAL: i32 = 719_163;

fn since_epoch(py: Python<'_>, microseconds: i64) -> PyResult<Bound<'_, PyAny>> {
    let (days, rest) = (
        microseconds.div_euclid(86_400_000_000),
        microseconds.rem_euclid(86_400_000_000),
    );
    let days = i32::try_from(days)?;
    let (seconds, microseconds) = ((rest / 1_000_000) as i32, (rest % 1_000_000) as i32);
    let epoch = PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, None)?;
    epoch.call_method1(
        "__add__",
        (PyDelta::new(py, days, seconds, microseconds, true)?,),
    )
}

/// Microseconds since 1970-01-01 00:00 UTC; a time without a zone is taken for UTC.
fn timestamp(moment: &Bound<'_, PyDateTime>) -> PyResult<i64> {
    let py = moment.py();
    let zone = PyTzInfo::utc(py)?;
    let epoch = match moment.getattr("tzinfo")?.is_none() {
        true => PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, None)?,
        false => PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&zone))?,
    };
    let since = moment.call_method1("__sub__", (epoch,))?;
    let part = |name| since.getattr(name)?.extract::<i64>();
    Ok((part("days")? * 86_400 + part("seconds")?) * 1_000_000 + part("microseconds")?)
}

fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let refused =
        || PyValueError::new_err(format!("{object} is not a decimal of at most 38 digits"));
    let is_true = |name| object.call_method0(name)?.extract::<bool>();
    if is_true("is_qnan")? {
        return Ok(Value::NonFinite(NonFinite::NaN));
    }
    let tuple = object.call_method0("as_tuple")?;
    if is_true("is_infinite")? {
        let is_negative = tuple.getattr("sign")?.extract::<u8>()? == 1;
        return Ok(Value::NonFinite(match is_negative {
            true => NonFinite::NegativeInfinity,
            false => NonFinite::Infinity,
        }));
    }
    let exponent = tuple.getattr("exponent")?;
    let exponent: i32 = exponent.extract().map_err(|_| refused())?;
    let digits: Vec<u8> = tuple.getattr("digits")?.extract()?;
    let add = |units: i128, digit: u8| units.checked_mul(10)?.checked_add(digit.into());
    let zeroes = usize::try_from(exponent.max(0)).unwrap_or(0).min(39);
    let digits = digits.into_iter().chain(std::iter::repeat_n(0, zeroes));
    let units = digits.into_iter().try_fold(0, add).ok_or_else(refused)?;
    let scale = u8::try_from((-exponent).max(0)).ok();
    let scale = scale.filter(|scale| *scale <= 38).ok_or_else(refused)?;
    let negative: u8 = tuple.getattr("sign")?.extract()?;
    Ok(Value::Decimal(
        if negative == 1 { -units } else { units },
        scale,
    ))
}

fn imported<'py>(
    py: Python<'py>,
    place: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let class = place.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import(module)?.getattr(name)?.unbind())
    })?;
    Ok(class.bind(py).clone())
}
