//! The rule that all rows of a table must meet before a statement can add a constraint. In a large table, the rows are
//! checked concurrently, before the statement runs.

use super::checks::check_of;
use super::columns::Constraint;
use super::constraint::{check_violated, contains_nulls, name_of_check};
use super::create::constraint_of;
use super::reference::reference_of;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, mixed_nulls};
use crate::expression::{Use, inlined};
use crate::indexed::named_columns;
use crate::names::{full_match_of, name_of, reference_of_full_match};
use crate::relation::Relation;
use crate::rows::InputRow;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::violations::of_new_reference;
use sardonyx::schema::{ForeignKey, IndexDefinition, Value, ValueRef};
use sardonyx_rows::condition::Check;
use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Statement};

/// A rule that each row must meet.
#[derive(Debug, PartialEq)]
pub(crate) enum Rule {
    NotNull(Vec<usize>),
    Check(Condition),
    /// The row must refer to an existing row, found by the unique index of this name or by the primary key.
    Refers(ForeignKey, Option<String>),
}

/// A condition on the rows of a table.
#[derive(Debug)]
pub(crate) struct Condition {
    /// The constraint's name.
    name: String,
    /// The text as stored in the schema.
    text: String,
    check: Check,
    /// The number of the table's columns.
    columns: usize,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text && self.columns == other.columns
    }
}

impl Condition {
    /// A condition of a table, with its text as stored in the schema.
    fn of(relation: &Relation, name: &str, text: &str) -> Result<Condition, SqlError> {
        let check = Check::parse(text, &relation.schema);
        Ok(Condition {
            name: name.to_string(),
            text: text.to_string(),
            check: check.map_err(sardonyx_rows::TableError::from)?,
            columns: relation.schema.columns.len(),
        })
    }

    /// True if the row meets the condition.
    ///
    /// # Errors
    /// Read errors; the error of the condition, such as a division by zero.
    fn allows(&self, row: &dyn InputRow) -> Result<bool, SqlError> {
        let mut values = vec![ValueRef::Null; self.columns];
        for &column in self.check.columns() {
            values[column] = row.value(column)?;
        }
        self.check.allows(&values).map_err(|failure| {
            let error = || SqlError::new(failure.code, failure.reason.clone());
            failure
                .interrupted
                .map_or_else(error, SqlError::interrupted)
        })
    }
}

/// The rule that a statement requires of a table's rows, with the table; `None` if it requires nothing.
///
/// # Errors
/// Invalid SQL.
pub(super) fn rule_to_meet(
    tx: &dyn DefineTarget,
    statement: &Statement,
    path: &SearchPath,
) -> Result<Option<(u16, Rule)>, SqlError> {
    let Statement::AlterTable(alter) = statement else {
        return Ok(None);
    };
    let relation = Relation::named(tx.view(), &path.find(tx.view(), &alter.name)?)?;
    let rule = match &alter.operations[..] {
        [
            AlterTableOperation::AddConstraint {
                constraint,
                not_valid: false,
            },
        ] => {
            match constraint_of(constraint)? {
                Constraint::Check { name, condition } => {
                    let name = name_of_check(&relation, name.as_ref(), &condition);
                    let columns = named_columns(&relation);
                    let condition = (&*condition, Use::Check);
                    let condition = inlined(tx.view(), path, Some(&columns), condition)?;
                    let text = check_of(&relation, &condition, path.zone())?;
                    Some(Rule::Check(Condition::of(&relation, &name, &text)?))
                }
                constraint @ Constraint::Foreign { .. } => {
                    let reference = reference_of(tx, &relation.name, &constraint, path)?;
                    // Mixed references would need a condition in addition.
                    let reference = reference.filter(|reference| !reference.is_mixed());
                    reference.map(|reference| Rule::Refers(reference.key, reference.index))
                }
                Constraint::Primary { columns, .. } => {
                    let mut numbers = Vec::with_capacity(columns.len());
                    for (column, _) in &columns {
                        let column = relation.column(column)?;
                        numbers.extend((!column.not_null).then_some(column.number));
                    }
                    (!numbers.is_empty()).then_some(Rule::NotNull(numbers))
                }
                Constraint::Unique { .. } => None,
            }
        }
        [
            AlterTableOperation::AlterColumn {
                column_name,
                op: AlterColumnOperation::SetNotNull,
            },
        ] => {
            let column = relation.column(&name_of(column_name))?;
            (!column.not_null).then(|| Rule::NotNull(vec![column.number]))
        }
        [AlterTableOperation::ValidateConstraint { name }] => {
            let name = name_of(name);
            let is_it = relation.notes.not_valid.contains(&name);
            let mut rules = match is_it {
                true => rules_of(tx.view(), &relation, &name)?,
                false => Vec::new(),
            };
            // Mixed references have two.
            rules.pop().filter(|_| rules.is_empty())
        }
        _ => None,
    };
    Ok(rule.map(|rule| (relation.number, rule)))
}

/// The rules of an existing reference or condition of a table.
///
/// # Errors
/// Read errors.
pub(super) fn rules_of(
    source: &dyn Source,
    relation: &Relation,
    name: &str,
) -> Result<Vec<Rule>, SqlError> {
    let schema = &relation.schema;
    let mut rules = Vec::new();
    let mut references = schema.foreign_keys.iter();
    let reference = references.find(|key| key.name == name);
    if let Some(key) = reference {
        let parent = Relation::numbered(source, key.table)?;
        let has_columns = |index: &IndexDefinition| {
            let columns = index.key.iter().map(|part| &part.column);
            columns.eq(&key.referenced)
        };
        let mut indexes = parent.schema.indexes.iter();
        let index = match has_columns(&parent.schema.primary) {
            true => None,
            false => indexes.find(|index| index.unique && has_columns(index)),
        };
        let index = index.map(|index| index.name.clone());
        rules.push(Rule::Refers(key.clone(), index));
    }
    let condition = match reference {
        Some(_) => full_match_of(name),
        None => name.to_string(),
    };
    let mut conditions = schema.checks.iter();
    if let Some((name, text)) = conditions.find(|(there, _)| *there == condition) {
        rules.push(Rule::Check(Condition::of(relation, name, text)?));
    }
    Ok(rules)
}

impl Rule {
    /// The columns that the table must have at their current places.
    pub fn columns(&self) -> &[usize] {
        match self {
            Rule::Refers(key, _) => &key.columns,
            _ => &[],
        }
    }

    /// The referenced table.
    pub fn parent(&self) -> Option<u16> {
        match self {
            Rule::Refers(key, _) => Some(key.table),
            _ => None,
        }
    }

    /// True if a row of the table meets the rule, in the state that has the row. False if this cannot be determined.
    ///
    /// # Errors
    /// Fails if the row cannot be read, or a condition cannot be computed of it.
    pub fn is_met(&self, row: &dyn InputRow, source: &dyn Source) -> Result<bool, SqlError> {
        match self {
            Rule::NotNull(columns) => Ok(!values_of(row, columns)?.contains(&Value::Null)),
            Rule::Check(condition) => condition.allows(row),
            Rule::Refers(key, index) => {
                let values = values_of(row, &key.columns)?;
                if values.contains(&Value::Null) {
                    return Ok(true);
                }
                Ok(is_there(key, index.as_deref(), &values, source))
            }
        }
    }

    /// The statement's error for a row that violates the rule, in the state that has the row. `None` if no violation
    /// was found.
    ///
    /// # Errors
    /// Read errors.
    pub fn violation(
        &self,
        table: u16,
        row: &dyn InputRow,
        source: &dyn Source,
    ) -> Result<Option<SqlError>, SqlError> {
        let relation = Relation::numbered(source, table)?;
        Ok(match self {
            Rule::NotNull(columns) => {
                let values = values_of(row, columns)?;
                let at = values.iter().position(|value| *value == Value::Null);
                let column = at.and_then(|at| relation.numbered_column(columns[at]));
                column.map(|column| contains_nulls(&relation, &column.name))
            }
            Rule::Check(condition) => {
                let is_met = condition.allows(row)?;
                (!is_met).then(|| match reference_of_full_match(&condition.name) {
                    Some(reference) => mixed_nulls(&relation.name, reference),
                    None => check_violated(&relation, &condition.name),
                })
            }
            Rule::Refers(key, _) => {
                let parent = Relation::numbered(source, key.table)?;
                let values = values_of(row, &key.columns)?;
                let error = sardonyx_rows::TableError::NoSuchReference {
                    table: relation.name.clone(),
                    foreign_key: key.name.clone().into(),
                    referenced: parent.name.clone(),
                    key: Box::default(),
                    values: values.into(),
                };
                let error = sardonyx::Error::from(error).into();
                Some(of_new_reference(error, (&relation, &parent), key))
            }
        })
    }

    /// True if rows that met the rule still do after a row of the other table was changed or deleted. This is so if the
    /// later state has its key.
    ///
    /// # Errors
    /// Fails if a row cannot be read.
    pub fn is_kept(
        &self,
        was: Option<&dyn InputRow>,
        is: Option<&dyn InputRow>,
        later: &dyn Source,
    ) -> Result<bool, SqlError> {
        let (Rule::Refers(key, index), Some(was)) = (self, was) else {
            return Ok(true);
        };
        let values = values_of(was, &key.referenced)?;
        let is_same = match is {
            Some(is) => values == values_of(is, &key.referenced)?,
            None => false,
        };
        let is_kept = is_same || values.contains(&Value::Null);
        Ok(is_kept || is_there(key, index.as_deref(), &values, later))
    }
}

/// True if a table has a row with a referenced key. False if this cannot be determined.
fn is_there(key: &ForeignKey, index: Option<&str>, values: &[Value], source: &dyn Source) -> bool {
    let mut is_there = false;
    let each = &mut |_: &dyn InputRow| {
        is_there = true;
        Ok(false)
    };
    let found = match index {
        None => source.point(key.table, values, each),
        Some(index) => source.first(key.table, index, values, each),
    };
    found.is_ok() && is_there
}

fn values_of(row: &dyn InputRow, columns: &[usize]) -> Result<Vec<Value>, SqlError> {
    let values = columns
        .iter()
        .map(|column| Ok(row.value(*column)?.to_value()));
    values.collect()
}
