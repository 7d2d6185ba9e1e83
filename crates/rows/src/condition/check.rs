//! Conditions of tables, of which every row that is written meets all: CHECK.
//!
//! A condition is a text of the language here, which is a part of SQL, or any other expression of SQL. The schema stores an expression with the
//! columns that it reads, as they were when it was created:
//!
//! ```text
//! $sql 1:23:-1:"b" => b % 2 = 0
//! ```
//!
//! is a condition on column 1, which has the type 23 of PostgreSQL's catalogue without a modifier, and which the text
//! names `b`. So programs without SQL know its columns, and a column's new name does not change the stored text.
//!
//! This crate compiles no SQL. A program that does registers its compiler once for the process ([`speak_sql`]). The
//! libraries of C and Python do. Other programs can read rows of a table with such a condition, and fail to write them
//! ([`CheckFailure`]). The expressions
//! of generated columns are written in the same way.
//!
//! Invariant: no row is stored that was not tested by all conditions of its table.

use super::{Condition, ConditionError};
use crate::schema::{Declared, DeclaredDefault, Schema, Value, ValueRef};
use sardonyx_base::waiting::Reason;
use std::fmt::{Debug, Write};
use std::sync::{Arc, OnceLock};

/// With which a condition in SQL begins. No condition of the language here does.
const SQL: &str = "$sql ";
/// SQLSTATE of a column that is unknown.
const UNKNOWN_COLUMN: &str = "42703";
/// The separator before the expression.
const ARROW: &str = "=> ";

/// A condition in SQL, as the schema stores it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlCheck {
    /// The columns that it reads.
    pub columns: Vec<SqlColumn>,
    /// The expression.
    pub text: String,
}

/// A column of a condition in SQL, as it was when the condition was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlColumn {
    /// Its number in the schema.
    pub number: usize,
    /// The number of its type in PostgreSQL's catalogue.
    pub kind: u32,
    /// The type's modifier; -1 for none.
    pub modifier: i32,
    /// Its name in the expression.
    pub name: String,
}

impl SqlCheck {
    /// Reads the text of a condition; `None` if it is one of the language here.
    ///
    /// # Errors
    /// [`ConditionError::Syntax`].
    pub fn parse(text: &str) -> Result<Option<SqlCheck>, ConditionError> {
        let Some(mut rest) = text.strip_prefix(SQL) else {
            return Ok(None);
        };
        let mut columns = Vec::new();
        let text = loop {
            if let Some(expression) = rest.strip_prefix(ARROW) {
                break expression.to_string();
            }
            let found = SqlColumn::parse(rest).ok_or_else(|| ConditionError::Syntax {
                at: text.len() - rest.len(),
                expected: "a column of a condition in SQL",
                found: rest.chars().take(20).collect(),
            })?;
            columns.push(found.0);
            rest = found.1;
        };
        Ok(Some(SqlCheck { columns, text }))
    }

    /// The text that the schema stores.
    #[inline]
    pub fn to_text(&self) -> String {
        let mut text = SQL.to_string();
        for column in &self.columns {
            let SqlColumn {
                number,
                kind,
                modifier,
                name,
            } = column;
            let name = name.replace('"', "\"\"");
            let _ = write!(text, "{number}:{kind}:{modifier}:\"{name}\" ");
        }
        text + ARROW + &self.text
    }

    /// The expression of a condition in SQL, or the condition itself, for people.
    pub fn shown(text: &str) -> String {
        match SqlCheck::parse(text) {
            Ok(Some(check)) => check.text,
            _ => text.to_string(),
        }
    }
}

impl Schema {
    /// True if a new row may need expressions of SQL, which may take any time: of conditions, defaults and generated columns.
    #[doc(hidden)]
    pub fn computes_sql(&self) -> bool {
        let mut conditions = self.checks.iter();
        let mut declared = self.declared.iter();
        conditions.any(|(_, text)| text.starts_with(SQL))
            || declared.any(|declared| {
                matches!(
                    declared.default,
                    Some(DeclaredDefault::Sql(_) | DeclaredDefault::Generated(_))
                )
            })
    }
}

impl SqlColumn {
    /// Reads a column; returns it and the rest of the text.
    fn parse(text: &str) -> Option<(SqlColumn, &str)> {
        let (number, rest) = text.split_once(':')?;
        let (kind, rest) = rest.split_once(':')?;
        let (modifier, rest) = rest.split_once(':')?;
        let mut name = String::new();
        let mut rest = rest.strip_prefix('"')?;
        loop {
            let (part, behind) = rest.split_once('"')?;
            name += part;
            rest = behind;
            match rest.strip_prefix('"') {
                Some(behind) => rest = behind,
                None => break,
            }
            name.push('"');
        }
        let column = SqlColumn {
            number: number.parse().ok()?,
            kind: kind.parse().ok()?,
            modifier: modifier.parse().ok()?,
            name,
        };
        Some((column, rest.strip_prefix(' ')?))
    }
}

/// A condition in SQL, compiled.
pub trait RowCheck: Debug + Send + Sync {
    /// Returns true unless it is false for a row, given the row's values by the columns' numbers.
    ///
    /// # Errors
    /// The reason, if it cannot be computed.
    fn allows(&self, values: &[ValueRef<'_>]) -> Result<bool, CheckFailure>;
}

/// The reason why a condition cannot be tested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckFailure {
    /// SQLSTATE.
    pub code: &'static str,
    /// A half sentence that ends the message.
    pub reason: String,
    /// The interruption of the statement, if that ended the evaluation.
    pub interrupted: Option<Reason>,
}

/// An expression in SQL, compiled, of which a column always has the value.
pub trait RowExpression: Debug + Send + Sync {
    /// Its value of a row, of which these are the values by the columns' numbers, as its column stores it.
    ///
    /// # Errors
    /// The reason, if it cannot be computed.
    fn value(&self, values: &[ValueRef<'_>]) -> Result<Value, CheckFailure>;
}

/// Compiles SQL for this crate.
#[derive(Clone, Copy, Debug)]
pub struct CompileSql {
    /// A condition.
    pub check: fn(&SqlCheck) -> Result<Arc<dyn RowCheck>, CheckFailure>,
    /// The expression of a column that is declared so.
    pub expression: CompileExpression,
    /// The text that the schema stores of a condition that a program declares in SQL.
    pub declare: fn(&str, &Schema) -> Result<String, CheckFailure>,
}

/// Compiles the expression of a column that is declared so; the last argument is true if a value that would be stored
/// rounded is an error.
pub type CompileExpression =
    fn(&SqlCheck, &Declared, bool) -> Result<Arc<dyn RowExpression>, CheckFailure>;

static COMPILE_SQL: OnceLock<CompileSql> = OnceLock::new();

/// Registers the compiler of conditions and expressions in SQL, for the whole process. The first one registered
/// counts.
pub fn speak_sql(compile: CompileSql) {
    let _ = COMPILE_SQL.set(compile);
}

fn compiler() -> Result<&'static CompileSql, CheckFailure> {
    COMPILE_SQL.get().ok_or_else(|| CheckFailure {
        code: "0A000",
        reason: "it is in SQL, which this program does not speak: a program in Rust calls \
                 `sardonyx_sql::enforce_checks` first, and the libraries of C and Python are built with their feature `sql`"
            .to_string(),
        interrupted: None,
    })
}

/// Compiles the expression of a generated column.
///
/// # Errors
/// The reason, if the text is no such expression, or the program does not speak SQL.
pub fn compile_expression(
    expression: &SqlCheck,
    declared: &Declared,
    is_exact: bool,
) -> Result<Arc<dyn RowExpression>, CheckFailure> {
    (compiler()?.expression)(expression, declared, is_exact)
}

/// A condition of a table, ready to be tested.
#[derive(Clone, Debug)]
pub struct Check {
    /// The numbers of the columns that it reads.
    columns: Vec<usize>,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    /// A condition of the language here.
    Plain(Condition),
    /// One in SQL; or why it is not compiled.
    Sql(Result<Arc<dyn RowCheck>, CheckFailure>),
}

/// The text that the schema stores of a condition that a program declares. A program that speaks SQL may declare any
/// condition of SQL; others those of the language here, which is the part of SQL that every program tests.
///
/// # Errors
/// [`ConditionError`]; [`ConditionError::NeedsSql`] of a condition that may be one of SQL.
pub fn declared_check(text: &str, schema: &Schema) -> Result<String, ConditionError> {
    let plain = match Condition::parse(text, schema) {
        Err(plain) if SqlCheck::parse(text)?.is_none() => plain,
        _ => return Ok(text.to_string()),
    };
    let is_column = matches!(plain, ConditionError::UnknownColumn { .. });
    match COMPILE_SQL.get() {
        _ if matches!(plain, ConditionError::Limit { .. }) => Err(plain),
        Some(compile) => {
            let declared = (compile.declare)(text, schema);
            declared.map_err(|CheckFailure { code, reason, .. }| match is_column {
                // It has the place.
                true if code == UNKNOWN_COLUMN => plain,
                _ => ConditionError::Sql { code, reason },
            })
        }
        None if is_column => Err(plain),
        None => Err(ConditionError::NeedsSql {
            plain: Box::new(plain),
        }),
    }
}

impl Check {
    /// Reads a table's condition. One in SQL that cannot be compiled is a condition that cannot be tested.
    ///
    /// # Errors
    /// [`ConditionError`].
    pub fn parse(text: &str, schema: &Schema) -> Result<Check, ConditionError> {
        let Some(check) = SqlCheck::parse(text)? else {
            let condition = Condition::parse(text, schema)?;
            return Ok(Check {
                columns: condition.columns(),
                test: Test::Plain(condition),
            });
        };
        let is_there = |column: &&SqlColumn| {
            let column = schema.columns.get(column.number);
            column.is_some_and(|column| !column.dropped)
        };
        if let Some(column) = check.columns.iter().find(|column| !is_there(column)) {
            let column = column.name.clone();
            return Err(ConditionError::UnknownColumn { at: 0, column });
        }
        let compiled = compiler().and_then(|compile| (compile.check)(&check));
        let columns = check.columns.iter().map(|column| column.number);
        Ok(Check {
            columns: columns.collect(),
            test: Test::Sql(compiled),
        })
    }

    /// The numbers of the columns that it reads.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Returns true unless it is false for a row, given the row's values by the columns' numbers.
    ///
    /// # Errors
    /// The reason, if it cannot be computed, or the program does not speak SQL.
    pub fn allows(&self, values: &[ValueRef<'_>]) -> Result<bool, CheckFailure> {
        match &self.test {
            Test::Plain(condition) => Ok(condition.allows(|column| values[column])),
            Test::Sql(Ok(check)) => check.allows(values),
            Test::Sql(Err(failure)) => Err(failure.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Type;
    use proptest::prelude::*;

    #[test]
    fn the_text_of_a_condition_in_sql_is_the_one_of_the_documents() {
        let check = SqlCheck {
            columns: vec![SqlColumn {
                number: 1,
                kind: 23,
                modifier: -1,
                name: "b".to_string(),
            }],
            text: "b % 2 = 0".to_string(),
        };
        assert_eq!(check.to_text(), "$sql 1:23:-1:\"b\" => b % 2 = 0");
        assert_eq!(SqlCheck::shown(&check.to_text()), "b % 2 = 0");
        assert_eq!(SqlCheck::parse("b > 0"), Ok(None));
        assert!(Condition::parse(&check.to_text(), &Schema::default()).is_err());
    }

    #[test]
    fn a_program_without_sql_declares_the_part_that_it_tests_and_is_refused_more() {
        let schema = Schema::new()
            .column("b", Type::I64)
            .column("name", Type::Text)
            .primary_key(["b"])
            .build()
            .expect("a schema");
        let plain = "b >= 0 and name like 'A%'";
        assert_eq!(declared_check(plain, &schema), Ok(plain.to_string()));
        for sql in [
            "b % 2 = 0",
            "length(name) > 2",
            "case b when 1 then true end",
            "name > varchar 'x'",
            "name = any(array['x'])",
            "b::text = '1'",
            "(b + 1) > 2",
        ] {
            let refused = declared_check(sql, &schema).expect_err(sql);
            assert!(
                matches!(refused, ConditionError::NeedsSql { .. }),
                "{sql}: {refused}"
            );
            assert!(refused.to_string().contains("enforce_checks"));
            let built = Schema::new()
                .column("b", Type::I64)
                .column("name", Type::Text);
            let built = built.primary_key(["b"]).check("c", sql).build();
            assert!(built.is_err(), "{sql}");
        }
        let unknown = declared_check("c > 0", &schema);
        assert!(matches!(
            unknown,
            Err(ConditionError::UnknownColumn { at: 0, .. })
        ));
    }

    proptest! {
        #[test]
        fn a_condition_in_sql_reads_as_it_was_written(
            columns in prop::collection::vec((0_usize..99, any::<u32>(), any::<i32>(), ".*"), 0..4),
            text in ".*",
        ) {
            let columns = columns.into_iter().map(|(number, kind, modifier, name)| SqlColumn {
                number,
                kind,
                modifier,
                name,
            });
            let check = SqlCheck { columns: columns.collect(), text };
            prop_assert_eq!(SqlCheck::parse(&check.to_text()), Ok(Some(check)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\$sql .*") {
            let _ = SqlCheck::parse(&text);
        }
    }
}
