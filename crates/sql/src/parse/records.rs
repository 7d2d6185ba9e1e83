//! The fields of record variables in the statements of a block: each becomes a literal of its value before the statement is
//! parsed.

use crate::changed_text::with_changes;
use crate::error::{SqlError, code};
use crate::lexer::{Placed, placed};
use sqlparser::tokenizer::Token;

/// A row that a variable has: the fields' names, and their values as SQL.
#[derive(Debug)]
pub(crate) struct Record {
    pub name: String,
    pub fields: Vec<(String, String)>,
}

/// A statement with values for fields of records. Of several records of a name, the last one counts.
///
/// # Errors
/// `42703` for a field that a record does not have, `42702` if the statement has the record's name in another place, too;
/// an error in the text.
pub(crate) fn with_fields(text: &str, records: &[Record]) -> Result<String, SqlError> {
    let tokens = placed(text).map_err(|error| SqlError::syntax(error.message))?;
    let mut changes = Vec::new();
    let mut before = None;
    let mut at = 0;
    let (mut read, mut others) = (Vec::new(), Vec::new());
    while let Some(token) = tokens.get(at) {
        let name = token.word();
        let found = match (&name, tokens.get(at + 1), tokens.get(at + 2)) {
            (Some(name), Some(dot), Some(field))
                if dot.token == Token::Period && before != Some(&Token::Period) =>
            {
                value_of(records, name, field)?.map(|value| (value, field))
            }
            _ => None,
        };
        if let Some((value, field)) = found {
            changes.push((token.at.start..field.at.end, value.to_string()));
            read.extend(name.zip(field.word()));
            at += 2;
        } else {
            others.extend(name);
        }
        before = tokens.get(at).map(|token| &token.token);
        at += 1;
    }
    // The other one may be a table, or another name of one, whose column is meant.
    if let Some((name, field)) = read.iter().find(|(name, _)| others.contains(name)) {
        let text = format!("column reference \"{name}.{field}\" is ambiguous");
        return Err(SqlError::new(code::AMBIGUOUS_COLUMN, text)
            .detail("It could refer to either a PL/pgSQL variable or a table column."));
    }
    Ok(with_changes(text, &changes))
}

/// The value of a field, if the name is that of a record.
fn value_of<'r>(
    records: &'r [Record],
    name: &str,
    field: &Placed,
) -> Result<Option<&'r str>, SqlError> {
    let mut records = records.iter().rev();
    let record = records.find(|record| record.name == name);
    let (Some(record), Some(field)) = (record, field.word()) else {
        return Ok(None);
    };
    let mut fields = record.fields.iter();
    match fields.find(|(name, _)| *name == field) {
        Some((_, value)) => Ok(Some(value)),
        None => Err(SqlError::new(
            code::UNKNOWN_COLUMN,
            format!("record \"{name}\" has no field \"{field}\""),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_values_and_other_names_stay() {
        let records = [Record {
            name: "r".into(),
            fields: vec![
                ("a".into(), "'x'::text".into()),
                ("B c".into(), "1::integer".into()),
            ],
        }];
        for (text, expected) in [
            (
                "select r.a, R.\"B c\" from t",
                "select 'x'::text, 1::integer from t",
            ),
            (
                "select s.r.a, 'r.a', \"R\".a, r",
                "select s.r.a, 'r.a', \"R\".a, r",
            ),
            ("/* r.a */ ä || r . a", "/* r.a */ ä || r . a"),
            ("(r.a)", "('x'::text)"),
        ] {
            assert_eq!(with_fields(text, &records).expect("a text"), expected);
        }
        for text in [
            "delete from items r where r.a = 5",
            "delete from public.r where r.a = 5",
            "with \"r\" as (select 1) select R.a from \"r\"",
        ] {
            let error = with_fields(text, &records).expect_err(text);
            assert_eq!(error.code, code::AMBIGUOUS_COLUMN, "{text}");
        }
        let error = with_fields("r.b", &records).expect_err("no such field");
        assert_eq!(error.message, "record \"r\" has no field \"b\"");
    }
}
