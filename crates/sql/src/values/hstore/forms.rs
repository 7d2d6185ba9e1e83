//! `hstore` from arrays, and as JSON: apart from its own form, on which the modules of arrays and JSON depend.

use super::{Hstore, null_key};
use crate::error::SqlError;
use crate::values::arrays::Array;
use crate::values::json_text::push_text;

/// The code of an error of arrays that do not fit each other.
const ARRAY_SUBSCRIPT: &str = "2202E";

impl Hstore {
    /// The value of an array of keys and values in turn, or of rows of two.
    ///
    /// # Errors
    /// `2202E` for an array of another form, `22004` for a key that is null.
    pub fn of_array(array: Array) -> Result<Hstore, SqlError> {
        let wrong = |message: &str| Err(SqlError::new(ARRAY_SUBSCRIPT, message));
        match array.bounds[..] {
            [] => return Ok(Hstore::default()),
            [(_, length)] if length % 2 == 1 => {
                return wrong("array must have even number of elements");
            }
            [_] => {}
            [_, (_, width)] if width != 2 => return wrong("array must have two columns"),
            [_, _] => {}
            _ => return wrong("wrong number of array subscripts"),
        }
        let mut pairs = Vec::with_capacity(array.elements.len() / 2);
        let mut elements = array.elements.into_iter();
        while let (Some(key), Some(value)) = (elements.next(), elements.next()) {
            pairs.push((key.ok_or_else(null_key)?, value));
        }
        Ok(Hstore::of(pairs))
    }

    /// The value of an array of keys and one of values; without the second one all values are null.
    ///
    /// # Errors
    /// `2202E` for arrays of another form, `22004` for a key that is null.
    pub fn of_arrays(keys: Array, values: Option<Array>) -> Result<Hstore, SqlError> {
        let wrong = |message: &str| Err(SqlError::new(ARRAY_SUBSCRIPT, message));
        let has_more = |array: &Array| array.bounds.len() > 1;
        if has_more(&keys) || values.as_ref().is_some_and(has_more) {
            return wrong("wrong number of array subscripts");
        }
        let values = match values {
            Some(values) if values.bounds != keys.bounds => {
                return wrong("arrays must have same bounds");
            }
            Some(values) => values.elements,
            None => vec![None; keys.elements.len()],
        };
        let keys = keys.elements.into_iter().zip(values);
        let pairs = keys.map(|(key, value)| Ok((key.ok_or_else(null_key)?, value)));
        Ok(Hstore::of(pairs.collect::<Result<_, SqlError>>()?))
    }

    /// An object of JSON; if loosely, with booleans and numbers in place of texts that look like them.
    pub fn json(&self, is_loose: bool) -> String {
        let mut json = String::from("{");
        for (at, (key, value)) in self.pairs.iter().enumerate() {
            if at > 0 {
                json.push_str(", ");
            }
            push_text(key, &mut json);
            json.push_str(": ");
            match value.as_deref() {
                None => json.push_str("null"),
                Some("t") if is_loose => json.push_str("true"),
                Some("f") if is_loose => json.push_str("false"),
                Some(value) if is_loose && is_number(value) => json.push_str(value),
                Some(value) => push_text(value, &mut json),
            }
        }
        json.push('}');
        json
    }
}

/// True for a number as JSON writes it.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    if whole == 0 || whole > 1 && text.starts_with('0') {
        return false;
    }
    let mut rest = text.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}
