//! Columns as they are declared: their types, defaults and constraints.

use crate::error::{SqlError, code};
use crate::expression::cast::{Coercion, stored};
use crate::expression::{Compiler, Expr, Parameters, Scope};
use crate::names::name_of;
use crate::relation::ColumnNotes;
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::{OnDelete, Value};
use sqlparser::ast::{
    self, CheckConstraint, ColumnDef, ColumnOption, DataType, Expr as Tree, ForeignKeyConstraint,
    GeneratedAs, IndexColumn, ReferentialAction,
};

/// A column that is declared.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub name: String,
    pub spec: TypeSpec,
    pub not_null: bool,
    /// What rows get that do not say it: a value, or nothing.
    pub default: Value,
    pub notes: ColumnNotes,
    /// Whether a sequence goes with it.
    pub draws: bool,
    pub constraints: Vec<Constraint>,
}

/// A constraint of a table.
#[derive(Clone, Debug)]
pub(super) enum Constraint {
    Primary {
        name: Option<String>,
        columns: Vec<(String, bool)>,
    },
    Unique {
        name: Option<String>,
        columns: Vec<(String, bool)>,
    },
    Foreign {
        name: Option<String>,
        columns: Vec<String>,
        table: ast::ObjectName,
        referenced: Vec<String>,
        on_delete: OnDelete,
    },
    Check {
        name: Option<String>,
        condition: String,
    },
}

/// Compiles a column's declaration.
///
/// # Errors
/// What is wrong with it.
pub(super) fn declared(column: &ColumnDef) -> Result<Declared, SqlError> {
    let name = name_of(&column.name);
    let (spec, draws) = type_of(&column.data_type)?;
    let mut declared = Declared {
        notes: ColumnNotes {
            kind: spec.kind.oid(),
            modifier: spec.modifier,
            ..ColumnNotes::default()
        },
        not_null: draws,
        default: Value::Null,
        constraints: Vec::new(),
        name,
        spec,
        draws,
    };
    for option in &column.options {
        let constraint_name = option.name.as_ref().map(name_of);
        declared.option(&option.option, constraint_name)?;
    }
    Ok(declared)
}

/// The type of a column, and whether it is one of `serial`s.
fn type_of(data_type: &DataType) -> Result<(TypeSpec, bool), SqlError> {
    if let DataType::Custom(name, modifiers) = data_type
        && modifiers.is_empty()
    {
        let kind = match name.to_string().to_ascii_lowercase().as_str() {
            "serial" | "serial4" => Some(SqlType::Int4),
            "bigserial" | "serial8" => Some(SqlType::Int8),
            "smallserial" | "serial2" => Some(SqlType::Int2),
            _ => None,
        };
        if let Some(kind) = kind {
            return Ok((TypeSpec::plain(kind), true));
        }
    }
    let spec = TypeSpec::of_data_type(data_type)?;
    match spec.kind.is_storable() {
        true => Ok((spec, false)),
        false => Err(SqlError::unsupported(format!(
            "a column of type {} is not supported",
            spec.kind.name()
        ))),
    }
}

/// The default of a column: a value, or an expression's text that is computed for each row.
///
/// # Errors
/// What is wrong with it.
pub(super) fn default_of(tree: &Tree, spec: TypeSpec) -> Result<(Value, Option<String>), SqlError> {
    let scope = Scope::default();
    let mut parameters = Parameters::default();
    let mut compiler = Compiler::new(&scope, &mut parameters);
    let typed = compiler.compile(tree)?;
    match compiler.coerce(typed, spec, Coercion::Assignment)? {
        Expr::Literal(value) => Ok((stored(value, spec)?, None)),
        _ => Ok((Value::Null, Some(tree.to_string()))),
    }
}

impl Declared {
    fn option(&mut self, option: &ColumnOption, name: Option<String>) -> Result<(), SqlError> {
        let own = || vec![(self.name.clone(), false)];
        match option {
            ColumnOption::Null | ColumnOption::Collation(_) | ColumnOption::Comment(_) => {}
            ColumnOption::NotNull => self.not_null = true,
            ColumnOption::Default(tree) => {
                let (value, text) = default_of(tree, self.spec)?;
                self.default = value;
                self.notes.default = text;
            }
            ColumnOption::PrimaryKey(_) => {
                self.not_null = true;
                let columns = own();
                self.constraints.push(Constraint::Primary { name, columns });
            }
            ColumnOption::Unique(_) => {
                let columns = own();
                self.constraints.push(Constraint::Unique { name, columns });
            }
            ColumnOption::ForeignKey(key) => {
                let constraint = foreign(key, name, vec![self.name.clone()])?;
                self.constraints.push(constraint);
            }
            ColumnOption::Check(check) => self.constraints.push(self::check(check, name)),
            ColumnOption::Generated {
                generated_as: generated @ (GeneratedAs::Always | GeneratedAs::ByDefault),
                generation_expr: None,
                ..
            } => {
                if !matches!(
                    self.spec.kind,
                    SqlType::Int2 | SqlType::Int4 | SqlType::Int8
                ) {
                    return Err(SqlError::new(
                        code::INVALID_PARAMETER_VALUE,
                        "identity column type must be smallint, integer, or bigint",
                    ));
                }
                self.not_null = true;
                self.draws = true;
                self.notes.identity = Some(match generated {
                    GeneratedAs::Always => 'a',
                    _ => 'd',
                });
            }
            other => {
                return Err(SqlError::unsupported(format!(
                    "the column option {other} is not supported"
                )));
            }
        }
        Ok(())
    }
}

/// The columns of a key, and whether they are descending.
///
/// # Errors
/// `0A000` for expressions.
pub(super) fn key_columns(columns: &[IndexColumn]) -> Result<Vec<(String, bool)>, SqlError> {
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        let by = &column.column;
        let Tree::Identifier(name) = &by.expr else {
            return Err(SqlError::unsupported(
                "indexes are of columns, not of expressions",
            ));
        };
        let descending = crate::plan::tail::is_descending(by)?;
        if by
            .options
            .nulls_first
            .is_some_and(|first| first != descending)
        {
            return Err(SqlError::unsupported(
                "an index has nulls last, and first where it is descending",
            ));
        }
        names.push((name_of(name), descending));
    }
    Ok(names)
}

/// A reference.
///
/// # Errors
/// `0A000` for what is not supported.
pub(super) fn foreign(
    key: &ForeignKeyConstraint,
    name: Option<String>,
    columns: Vec<String>,
) -> Result<Constraint, SqlError> {
    let on_delete = match key.on_delete {
        None | Some(ReferentialAction::NoAction | ReferentialAction::Restrict) => {
            OnDelete::Restrict
        }
        Some(ReferentialAction::Cascade) => OnDelete::Cascade,
        Some(other) => {
            return Err(SqlError::unsupported(format!(
                "ON DELETE {other} is not supported"
            )));
        }
    };
    if !matches!(
        key.on_update,
        None | Some(ReferentialAction::NoAction | ReferentialAction::Restrict)
    ) {
        return Err(SqlError::unsupported(
            "ON UPDATE is supported with NO ACTION and RESTRICT only",
        ));
    }
    Ok(Constraint::Foreign {
        name: name.or_else(|| key.name.as_ref().map(name_of)),
        columns,
        table: key.foreign_table.clone(),
        referenced: key.referred_columns.iter().map(name_of).collect(),
        on_delete,
    })
}

/// A condition, as the engine's language of conditions has it.
pub(super) fn check(check: &CheckConstraint, name: Option<String>) -> Constraint {
    let mut condition = &*check.expr;
    while let Tree::Nested(inner) = condition {
        condition = inner;
    }
    Constraint::Check {
        name: name.or_else(|| check.name.as_ref().map(name_of)),
        condition: condition.to_string(),
    }
}
