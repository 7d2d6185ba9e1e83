//! The names of constraints and indexes that are not given one: those that PostgreSQL would choose.
//!
//! Source: `makeObjectName` and `ChooseRelationName` in PostgreSQL's `indexcmds.c`.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};
use std::collections::BTreeSet;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 63;

/// The given name, or one made of the table, its columns and a suffix: the first that is not taken.
pub(super) fn chosen(
    given: Option<&String>,
    table: &str,
    columns: &[&str],
    suffix: &str,
    mut is_taken: impl FnMut(&str) -> bool,
) -> String {
    if let Some(given) = given {
        return given.clone();
    }
    let mut label = suffix.to_string();
    let mut number = 0;
    loop {
        let name = object_name(table, &columns.join("_"), &label);
        if !is_taken(&name) {
            return name;
        }
        number += 1;
        label = format!("{suffix}{number}");
    }
}

/// The name of a column's sequence.
pub(crate) fn name_of_sequence(table: &str, column: &str) -> String {
    object_name(table, column, "seq")
}

/// `table_columns_label`, with the longer part cut until it fits.
fn object_name(table: &str, columns: &str, label: &str) -> String {
    let points = 1 + usize::from(!columns.is_empty());
    let most = NAME_BYTES_MAX.saturating_sub(label.len() + points);
    let (mut of_table, mut of_columns) = (table.len(), columns.len());
    while of_table + of_columns > most {
        match of_table > of_columns {
            true => of_table -= 1,
            false => of_columns -= 1,
        }
    }
    let (table, columns) = (cut(table, of_table), cut(columns, of_columns));
    match columns.is_empty() {
        true => format!("{table}_{label}"),
        false => format!("{table}_{columns}_{label}"),
    }
}

/// The longest prefix of a text within a number of bytes that ends between characters.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes).rev().find(|&at| text.is_char_boundary(at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The only column that a condition uses; `None` if it uses several.
pub(super) fn only_column<'c>(condition: &str, columns: &[&'c str]) -> Option<&'c str> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, condition).tokenize();
    let mut found = BTreeSet::new();
    for token in tokens.iter().flatten() {
        if let Token::Word(word) = token {
            let name = match word.quote_style {
                Some(_) => word.value.clone(),
                None => word.value.to_lowercase(),
            };
            found.extend(columns.iter().find(|column| **column == name));
        }
    }
    match found.len() {
        1 => found.pop_first(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{chosen, object_name, only_column};

    #[test]
    fn names_are_those_of_postgresql() {
        let long = "a".repeat(40);
        for (table, columns, label, name) in [
            ("t", "", "pkey", "t_pkey".to_string()),
            ("t", "a_b", "key", "t_a_b_key".to_string()),
            // Both parts are cut to the same length.
            (
                &long,
                &*long,
                "key",
                format!("{}_{}_key", "a".repeat(29), "a".repeat(29)),
            ),
            (&long, "b", "key", format!("{long}_b_key")),
            // Characters are not split.
            (
                &"ä".repeat(30),
                "b",
                "check",
                format!("{}_b_check", "ä".repeat(27)),
            ),
        ] {
            assert_eq!(object_name(table, columns, label), name);
        }
        let taken = ["t_a_check", "t_a_check1"];
        let name = chosen(None, "t", &["a"], "check", |name| taken.contains(&name));
        assert_eq!(name, "t_a_check2");
    }

    #[test]
    fn the_column_of_a_condition_is_found() {
        let columns = ["a", "b", "Ä"];
        assert_eq!(only_column("a > 0 AND A < 'b'", &columns), Some("a"));
        assert_eq!(only_column("\"Ä\" > 0", &columns), Some("Ä"));
        assert_eq!(only_column("a > b", &columns), None);
        assert_eq!(only_column("1 > 0", &columns), None);
    }
}
