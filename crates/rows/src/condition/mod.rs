//! Conditions over the columns of a row, as SQL writes them: the part of SQL's expressions that every program tests,
//! also one without SQL. [`Check`] is any condition, in SQL too. There is one language: each condition here is one of
//! SQL with the same value on every row, as [`Condition::in_sql`] writes it. A condition that is not here is compiled
//! by SQL if the program has registered it ([`speak_sql`]), and otherwise refused by name.
//!
//! ```text
//! balance >= 0 and (owner like 'A%' or owner is null) and kind in (1, 2)
//! ```
//!
//! A condition is parsed for a schema ([`Condition::parse`]): its columns exist, its operands can be compared, and an
//! error has the place in the text. It is then evaluated, given the values by the columns' numbers. A comparison with
//! a null is neither true nor false, as in SQL. [`Condition::holds`] needs true; [`Condition::allows`], for CHECK,
//! refuses only false.
//!
//! | condition | syntax |
//! | --- | --- |
//! | comparisons | `=`, `<>` or `!=`, `<`, `<=`, `>`, `>=`, `between 1 and 3`, `in (1, 2)`, `like 'A%_'` |
//! | nulls | `is null`, `is not null` |
//! | combined | `and`, `or`, `not`, parentheses; a column of type bool is a condition by itself |
//! | literals | `12`, `-0.5`, `1e3`, `'it''s'`, `true`, `null`, `x'0aff'`, `date '2026-01-31'`, `time '23:59:59'`, `timestamp '2026-01-31T23:59:59Z'`, `uuid '…'` |
//! | columns | `balance`, `address.street`, `"any name"` |
//!
//! Words of the language may be of either case; names are as the schema has them. A text literal beside a date, time,
//! timestamp or UUID is read as one. Numbers of all types compare with each other, exactly but where one of them is a
//! float and the other a decimal. NaN equals itself and is the largest number. Text is compared by its bytes. In
//! `like`, `%` matches any characters, `_` one, and `\` makes the next character literal.
//!
//! Invariants: parsing never panics, on any text. A text whose columns are renamed parses as the same condition.

mod check;
mod compare;
mod comparison;
mod error;
mod evaluate;
mod families;
mod like;
mod parser;
mod tokens;

pub use check::{
    Check, CheckFailure, CompileExpression, CompileSql, RowCheck, RowExpression, SqlCheck,
    SqlColumn, compile_expression, declared_check, speak_sql,
};
pub use compare::compare;
pub use comparison::{Comparison, decided, decided_by};
pub use error::ConditionError;
pub use like::is_like;

use crate::schema::Value;

/// The longest text of a condition, in bytes.
pub const CONDITION_BYTES_MAX: usize = 16 << 10;
/// The deepest nesting of parentheses and `not`.
pub const CONDITION_DEPTH_MAX: usize = 64;

/// A condition over the columns of a schema.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    root: Node,
}

/// A condition, or a part of one.
#[derive(Clone, PartialEq, Debug)]
enum Node {
    /// All hold; at least two.
    And(Vec<Node>),
    /// One holds; at least two.
    Or(Vec<Node>),
    Not(Box<Node>),
    Compare(Operand, Comparison, Operand),
    In(Operand, Vec<Operand>),
    Like(Operand, String),
    IsNull(Operand),
    /// A column or literal of type bool.
    Truth(Operand),
}

/// An operand of a comparison.
#[derive(Clone, PartialEq, Debug)]
enum Operand {
    /// The column's number.
    Column(usize),
    Literal(Value),
}

impl Condition {
    /// The numbers of the columns that it reads, each once, in order.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.root.collect_columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

impl Node {
    fn collect_columns(&self, columns: &mut Vec<usize>) {
        let mut add = |operand: &Operand| {
            if let Operand::Column(column) = operand {
                columns.push(*column);
            }
        };
        match self {
            Node::And(parts) | Node::Or(parts) => {
                for part in parts {
                    part.collect_columns(columns);
                }
            }
            Node::Not(part) => part.collect_columns(columns),
            Node::Compare(left, _, right) => {
                add(left);
                add(right);
            }
            Node::In(operand, list) => {
                add(operand);
                list.iter().for_each(add);
            }
            Node::Like(operand, _) | Node::IsNull(operand) | Node::Truth(operand) => add(operand),
        }
    }
}
