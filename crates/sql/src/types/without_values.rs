//! Types of PostgreSQL's catalogue that have no values here: pseudo-types such as `trigger`, and arrays of the numbers of
//! objects. Tools name them (`'trigger'::regtype`) and read them in `pg_type`.
//!
//! `without_values.txt` has a line for each type, as `pg_type` of PostgreSQL 15 has it: number, name, name in SQL,
//! length, passed by value, kind, category, alignment, storage; numbers of the elements' type and of the arrays' type;
//! numbers of the functions for input, output, receiving, sending, subscripts and statistics.

use super::functions::{Numbers, TypeFunction};
use std::sync::LazyLock;

/// Such a type.
pub(crate) struct WithoutValues {
    pub number: u32,
    pub name: &'static str,
    /// Its name in SQL.
    pub sql: &'static str,
    pub size: i16,
    pub is_by_value: bool,
    pub kind: &'static str,
    pub category: &'static str,
    pub align: &'static str,
    pub storage: &'static str,
    pub element: u32,
    pub array: u32,
    pub functions: Numbers,
}

static LINES: &str = include_str!("without_values.txt");

static ALL: LazyLock<Vec<WithoutValues>> =
    LazyLock::new(|| LINES.lines().filter_map(of_line).collect());

fn of_line(line: &'static str) -> Option<WithoutValues> {
    let mut parts = line.split('|');
    let mut word = || parts.next();
    let number = |word: Option<&str>| word?.parse::<u32>().ok();
    Some(WithoutValues {
        number: number(word())?,
        name: word()?,
        sql: word()?,
        size: word()?.parse().ok()?,
        is_by_value: word()? == "t",
        kind: word()?,
        category: word()?,
        align: word()?,
        storage: word()?,
        element: number(word())?,
        array: number(word())?,
        functions: Numbers {
            input: number(word())?,
            output: number(word())?,
            receive: number(word())?,
            send: number(word())?,
            subscript: number(word())?,
            analyze: number(word())?,
            ..Numbers::default()
        },
    })
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static WithoutValues> {
    ALL.iter()
}

/// The type of a name in SQL or the catalogue. The bare word `any` is no name of a type.
pub(crate) fn named(name: &str) -> Option<&'static WithoutValues> {
    all().find(|one| one.sql == name || one.name == name && name != "any")
}

/// The type of a number.
pub(crate) fn numbered(number: u32) -> Option<&'static WithoutValues> {
    all().find(|one| one.number == number)
}

/// The number of the type of arrays of a type, if it is one of these.
pub(crate) fn array_of(element: u32) -> Option<u32> {
    let array = all().find(|one| one.element == element);
    array.map(|one| one.number)
}

/// The functions of these types. Arrays have those of all arrays.
pub(super) fn functions(
    (text, bytes, binary): (u32, u32, u32),
) -> impl Iterator<Item = TypeFunction> {
    let own = all().filter(|one| one.element == 0);
    own.flat_map(move |one| {
        let is_of_any = |end: &str| one.name.starts_with("any") && one.name.ends_with(end);
        let is_range = is_of_any("range");
        let is_array = is_of_any("array") && !is_of_any("nonarray");
        let more: &[u32] = match is_range {
            true => &[26, 23],
            false => &[],
        };
        let taken = [&[text], more].concat();
        let is_sent = one.name != "pg_ddl_command";
        let is_shown = is_range || is_array || is_of_any("enum");
        let (own, of) = (one.number, one.functions);
        [
            (of.input, "in", taken, own, is_range),
            (of.output, "out", vec![own], text, is_shown),
            (of.receive, "recv", vec![bytes], own, is_sent),
            (of.send, "send", vec![own], binary, is_sent),
        ]
        .into_iter()
        .filter(|(number, ..)| *number != 0)
        .map(|(number, end, arguments, result, is_stable)| TypeFunction {
            number,
            name: format!("{}_{end}", one.name),
            arguments,
            result,
            is_stable,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{ALL, LINES};

    #[test]
    fn every_line_is_a_type_without_values() {
        assert_eq!(ALL.len(), LINES.lines().count());
        for one in ALL.iter() {
            assert_eq!(
                crate::types::SqlType::from_oid(one.number),
                None,
                "{}",
                one.name
            );
        }
    }
}
