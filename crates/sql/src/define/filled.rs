//! `ADD COLUMN` with a default that is computed, or with a sequence, to a table that has rows: each of them gets a value of
//! its own, in the transaction that adds the column.

use super::columns::Declared;
use super::constraint::contains_nulls;
use super::default::compiled;
use crate::class::draws;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::expression::{Environment, Expr};
use crate::parse::parse_expression;
use crate::relation::Relation;
use crate::sequences::Sequence;
use crate::user_types::TypeNames;
use crate::values::cast::stored;
use sardonyx::schema::Value;
use sardonyx_rows::TableError;

/// The numbers that a new sequence gives to the rows.
struct Numbers {
    of: Sequence,
    next: i128,
}

impl Numbers {
    fn next(&mut self) -> Result<Value, SqlError> {
        let (least, most) = (i128::from(self.of.minimum), i128::from(self.of.maximum));
        if !(least..=most).contains(&self.next) {
            if !self.of.cycles {
                let rises = self.of.increment > 0;
                let (word, bound) = if rises {
                    ("maximum", most)
                } else {
                    ("minimum", least)
                };
                return Err(SqlError::new(
                    "2200H",
                    format!("nextval: reached {word} value of sequence ({bound})"),
                ));
            }
            self.next = if self.of.increment > 0 { least } else { most };
        }
        let number = self.next;
        self.next += i128::from(self.of.increment);
        Ok(Value::Int(number))
    }
}

/// The values of the rows.
enum Filling<'e> {
    Numbers(Numbers),
    Computed(Box<Expr>, &'e Environment<'e>),
}

/// Gives the rows of a table the values of a column that was added to it. A sequence of the column goes on behind them.
///
/// # Errors
/// `0A000` for a default that draws numbers of another sequence; evaluation errors; `23502` for nulls; the engine's errors.
pub(super) fn fill(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &mut Declared,
    names: &TypeNames,
    with: Option<&Environment<'_>>,
) -> Result<(), SqlError> {
    let mut filling = match (&column.sequence, &column.notes.default, with) {
        (Some(sequence), ..) => {
            tx.check_sequences()?;
            Filling::Numbers(Numbers {
                next: sequence.start.into(),
                of: sequence.clone(),
            })
        }
        (None, Some(text), Some(with)) if !draws(&text.to_ascii_lowercase()) => {
            let (expr, _) = compiled(&parse_expression(text)?, column.spec, names)?;
            Filling::Computed(Box::new(expr), with)
        }
        _ => {
            return Err(SqlError::unsupported(
                "a column whose default draws numbers of another sequence can be added to an empty table only",
            )
            .hint("Add the column without a default, UPDATE the rows, and then set the default."));
        }
    };
    let (number, newest) = (relation.number, relation.schema.columns.len());
    let mut failed = None;
    let mut value = |_: &[Value]| {
        let made = match &mut filling {
            Filling::Numbers(numbers) => numbers.next(),
            Filling::Computed(expr, with) => {
                let looked = with.context.look_at_row();
                let value = looked.and_then(|()| expr.constant(with));
                value.and_then(|value| stored(value, column.spec))
            }
        };
        let made = made.and_then(|value| match value {
            Value::Null if column.not_null => Err(contains_nulls(relation, &column.name)),
            value => Ok(value),
        });
        made.map_err(|error| {
            failed = Some(error);
            TableError::UnknownHandle { number }
        })
    };
    let set = tx.set_in_rows(number, newest, &mut value);
    if let Some(error) = failed {
        return Err(error);
    }
    set?;
    if let (Filling::Numbers(numbers), Some(sequence)) = (filling, &mut column.sequence) {
        sequence.usable_to = numbers.next;
    }
    Ok(())
}
