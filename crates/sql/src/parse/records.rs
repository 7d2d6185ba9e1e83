//! The fields of record variables in the statements of a block: each becomes a literal of its value before the statement is
//! parsed.

use super::places::Reading;
use crate::error::{SqlError, code};
use crate::lexer;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

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
    let tokens = lexer::tokens(text).map_err(|error| SqlError::syntax(error.message))?;
    let (mut written, mut from) = (String::with_capacity(text.len()), 0);
    let mut reading = Reading::new(text);
    let mut before = None;
    let mut at = 0;
    let (mut read, mut others) = (Vec::new(), Vec::new());
    while let Some(token) = tokens.get(at) {
        let found = match (&token.token, tokens.get(at + 1), tokens.get(at + 2)) {
            (Token::Word(name), Some(dot), Some(field))
                if dot.token == Token::Period && before != Some(&Token::Period) =>
            {
                value_of(records, name, field)?.map(|value| (value, field))
            }
            _ => None,
        };
        if let Some((value, field)) = found {
            written.push_str(
                text.get(from..reading.byte(token.span.start))
                    .unwrap_or_default(),
            );
            written.push_str(value);
            from = reading.byte(field.span.end);
            if let (Token::Word(name), Token::Word(field)) = (&token.token, &field.token) {
                read.push((in_case(name), in_case(field)));
            }
            at += 2;
        } else if let Token::Word(name) = &token.token {
            others.push(in_case(name));
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
    written.push_str(text.get(from..).unwrap_or_default());
    Ok(written)
}

/// The value of a field, if the name is that of a record.
fn value_of<'r>(
    records: &'r [Record],
    name: &Word,
    field: &TokenWithSpan,
) -> Result<Option<&'r str>, SqlError> {
    let name = in_case(name);
    let mut records = records.iter().rev();
    let (Some(record), Token::Word(field)) =
        (records.find(|record| record.name == name), &field.token)
    else {
        return Ok(None);
    };
    let field = in_case(field);
    let mut fields = record.fields.iter();
    match fields.find(|(name, _)| *name == field) {
        Some((_, value)) => Ok(Some(value)),
        None => Err(SqlError::new(
            code::UNKNOWN_COLUMN,
            format!("record \"{name}\" has no field \"{field}\""),
        )),
    }
}

fn in_case(word: &Word) -> String {
    match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_lowercase(),
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
