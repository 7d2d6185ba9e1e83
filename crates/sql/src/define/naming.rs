//! The names of constraints and indexes that are not given one: those that PostgreSQL would choose.
//!
//! Source: `ChooseRelationName` in PostgreSQL's `indexcmds.c`.

use crate::lexer;
use crate::names::object_name;
use sqlparser::tokenizer::Token;
use std::collections::BTreeSet;

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

/// The only column that a condition uses; `None` if it uses several.
pub(super) fn only_column<'c>(condition: &str, columns: &[&'c str]) -> Option<&'c str> {
    let tokens = lexer::tokens(condition);
    let mut found = BTreeSet::new();
    for token in tokens.iter().flatten() {
        if let Token::Word(word) = &token.token {
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
    use super::{chosen, only_column};
    use crate::names::object_name;

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
