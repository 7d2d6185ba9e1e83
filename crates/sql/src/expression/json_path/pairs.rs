//! `keyvalue()`: the fields of an object as objects, which name their object by a number.
//!
//! The number is, as in PostgreSQL, the place of the object in the bytes of the whole value, in the form in which
//! PostgreSQL stores `jsonb`.

use super::{Item, Walk};
use crate::error::{SqlError, code};
use crate::values::json_tree::Json;
use sardonyx::schema::VALUE_BYTES_MAX;

/// The distance of the numbers of two values.
const VALUE_STEP: u64 = 10_000_000_000;

/// The most bytes that a walk copies into such objects: each copies the value of its field.
const COPIED_MAX: usize = 8 * VALUE_BYTES_MAX;

/// About the bytes of a value in memory.
fn weight(json: &Json) -> usize {
    size_of::<Json>()
        + match json {
            Json::Text(text) | Json::Number(text) => text.len(),
            Json::Array(items) => items.iter().map(weight).sum(),
            Json::Object(fields) => {
                let of_field = |(name, part): &(String, Json)| 24 + name.len() + weight(part);
                fields.iter().map(of_field).sum()
            }
            Json::Null | Json::Bool(_) => 0,
        }
}

impl<'a> Walk<'a> {
    /// The fields of an object.
    ///
    /// # Errors
    /// `54000` if the walk copies too much.
    pub(super) fn pairs(&mut self, item: &Item<'a>) -> Result<Vec<Item<'a>>, SqlError> {
        let Json::Object(fields) = item.json() else {
            return Ok(Vec::new());
        };
        let copied = fields.iter().map(|(_, value)| weight(value));
        self.copied += copied.sum::<usize>();
        if self.copied > COPIED_MAX {
            let text = "the values of keyvalue() take too much memory";
            return Err(SqlError::new(code::PROGRAM_LIMIT, text));
        }
        let number = match item {
            Item::Known(json) => {
                let within = |whole: &Json| place_of(whole, json, &mut 0);
                within(self.root).or_else(|| {
                    let variables = self.variables?;
                    within(variables).map(|place| VALUE_STEP + place)
                })
            }
            Item::Made(_) => None,
        };
        let number = number.unwrap_or(self.objects.saturating_mul(VALUE_STEP));
        let pairs = fields.iter().map(|(name, value)| {
            let parts = [
                ("key", Json::Text(name.clone())),
                ("value", value.clone()),
                ("id", Json::Number(number.to_string())),
            ];
            let parts = parts.map(|(name, part)| (name.to_string(), part));
            Item::made(Json::object(parts.into_iter()))
        });
        let pairs: Vec<_> = pairs.collect();
        self.objects += pairs.len() as u64;
        Ok(pairs)
    }
}

/// Bytes of the header of an array or an object, and of the entry of each of its parts.
const HEADER_BYTES: u64 = 4;

fn align(at: &mut u64) {
    *at = at.next_multiple_of(4);
}

/// The place of a part in the bytes of a value that begins at a place, which is moved behind the value.
fn place_of(whole: &Json, part: &Json, at: &mut u64) -> Option<u64> {
    let begin = match whole {
        Json::Null | Json::Bool(_) => return None,
        Json::Text(text) => {
            *at += text.len() as u64;
            return None;
        }
        Json::Number(number) => {
            align(at);
            *at += 6 + 2 * groups(number);
            return None;
        }
        Json::Array(_) | Json::Object(_) => {
            align(at);
            *at
        }
    };
    if std::ptr::eq(whole, part) {
        return Some(begin);
    }
    let parts: Vec<&Json> = match whole {
        Json::Array(items) => {
            *at += HEADER_BYTES * (1 + items.len() as u64);
            items.iter().collect()
        }
        Json::Object(fields) => {
            let names = fields.iter().map(|(name, _)| name.len() as u64);
            *at += HEADER_BYTES * (1 + 2 * fields.len() as u64) + names.sum::<u64>();
            fields.iter().map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    };
    parts.into_iter().find_map(|one| place_of(one, part, at))
}

/// The groups of four digits that a number is stored in.
fn groups(number: &str) -> u64 {
    let digits = number.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let zeros = whole.len().next_multiple_of(4) - whole.len();
    let mut all = "0".repeat(zeros) + whole + fraction;
    all += &"0".repeat(fraction.len().next_multiple_of(4) - fraction.len());
    let groups: Vec<&[u8]> = all.as_bytes().chunks(4).collect();
    let is_zero = |group: &&[u8]| group.iter().all(|digit| *digit == b'0');
    let first = groups.iter().position(|group| !is_zero(group));
    let last = groups.iter().rposition(|group| !is_zero(group));
    match (first, last) {
        (Some(first), Some(last)) => (last - first + 1) as u64,
        _ => 0,
    }
}
