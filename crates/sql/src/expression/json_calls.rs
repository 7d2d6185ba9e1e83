//! Functions that build JSON.

use super::datum::kind_at;
use super::{Datum, Function};
use crate::error::SqlError;
use crate::values::json::{push_name, push_value};
use sardonyx::schema::{Value, ValueRef};

/// Calls a function whose arguments are types' numbers and values in turn.
///
/// # Errors
/// `22023` for a name that is none.
pub(super) fn call(function: Function, values: &[Datum<'_>]) -> Result<Value, SqlError> {
    let count = values.len() / 2;
    let at = |number: usize| (kind_at(values, 2 * number), values[2 * number + 1].as_ref());
    let mut out = String::new();
    match function {
        Function::JsonObject => {
            out.push('{');
            for number in (0..count).step_by(2) {
                if number > 0 {
                    out.push_str(", ");
                }
                let (kind, name) = at(number);
                push_name(kind, name, number + 1, &mut out)?;
                out.push_str(" : ");
                let (kind, value) = at(number + 1);
                push_value(kind, value, &mut out)?;
            }
            out.push('}');
        }
        Function::JsonbObject => {
            let mut fields: Vec<(String, String)> = Vec::new();
            for number in (0..count).step_by(2) {
                let (mut field, mut text) = (String::new(), String::new());
                let (kind, name) = at(number);
                push_name(kind, name, number + 1, &mut field)?;
                let (kind, value) = at(number + 1);
                push_value(kind, value, &mut text)?;
                fields.retain(|(there, _)| *there != field);
                fields.push((field, text));
            }
            fields.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}: {value}"));
            out = format!("{{{}}}", fields.collect::<Vec<_>>().join(", "));
        }
        Function::JsonArray => {
            out.push('[');
            for number in 0..count {
                if number > 0 {
                    out.push_str(", ");
                }
                let (kind, value) = at(number);
                push_value(kind, value, &mut out)?;
            }
            out.push(']');
        }
        _ => {
            let (kind, value) = at(0);
            if value == ValueRef::Null {
                return Ok(Value::Null);
            }
            push_value(kind, value, &mut out)?;
        }
    }
    Ok(Value::Text(out))
}
