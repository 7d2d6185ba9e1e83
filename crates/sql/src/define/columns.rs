//! Declared columns: their types, defaults and constraints.

use super::default::default_of;
use super::generated::is_generated_option;
use super::sequence::sequence_of;
use crate::error::{SqlError, code};
use crate::names::{collation_of, name_of, parts_of};
use crate::parse::declared_sequence;
use crate::relation::{ColumnNotes, ReferenceNotes, UpdateAction};
use crate::search_path::SearchPath;
use crate::sequence_names::with_schemas;
use crate::sequences::Sequence;
use crate::source::Source;
use crate::types::{Collation, SqlType, TypeSpec, dimensions_of};
use crate::user_types::TypeNames;
use sardonyx::schema::{INDEX_KEY, INDEX_WHERE, OnDelete, Value};
use sqlparser::ast::{
    self, CheckConstraint, ColumnDef, ColumnOption, ColumnOptionDef, ConstraintCharacteristics,
    ConstraintReferenceMatchKind, DataType, DeferrableInitial, Expr as Tree, ForeignKeyConstraint,
    GeneratedAs, GeneratedExpressionMode, KeyOrIndexDisplay, NullsDistinctOption,
    PrimaryKeyConstraint, ReferentialAction, SequenceOptions, UniqueConstraint,
};

/// A declared column.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub name: String,
    pub spec: TypeSpec,
    pub not_null: bool,
    /// The constant default, or null.
    pub default: Value,
    pub notes: ColumnNotes,
    /// The column's own sequence.
    pub sequence: Option<Sequence>,
    pub constraints: Vec<Constraint>,
    /// The expression of a generated column.
    pub generated: Option<Tree>,
}

/// When a constraint is checked, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Deferral {
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub deferred: bool,
    /// `NULLS NOT DISTINCT`, of a unique key.
    pub nulls_equal: bool,
}

impl Deferral {
    /// The notes of a unique key that is checked so.
    pub fn notes(self) -> ReferenceNotes {
        ReferenceNotes {
            deferrable: self.deferrable,
            deferred: self.deferred,
            ..ReferenceNotes::default()
        }
    }
}

/// A constraint of a table.
#[derive(Clone, Debug)]
pub(super) enum Constraint {
    Primary {
        name: Option<String>,
        columns: Vec<(String, bool)>,
        deferral: Deferral,
    },
    Unique {
        name: Option<String>,
        columns: Vec<(String, bool)>,
        deferral: Deferral,
    },
    Foreign {
        name: Option<String>,
        columns: Vec<String>,
        table: ast::ObjectName,
        referenced: Vec<String>,
        on_delete: OnDelete,
        notes: ReferenceNotes,
    },
    Check {
        name: Option<String>,
        condition: Box<Tree>,
    },
}

/// Compiles a column's declaration.
///
/// # Errors
/// Invalid SQL.
pub(super) fn declared(column: &ColumnDef, names: &TypeNames) -> Result<Declared, SqlError> {
    let ColumnDef {
        name,
        data_type,
        options,
    } = column;
    let name = name_of(name);
    check_column_name(&name)?;
    let (spec, draws) = type_of(data_type, names)?;
    check_column_type(&name, spec.kind)?;
    let domain = names.domain(data_type);
    let mut declared = Declared {
        notes: ColumnNotes {
            kind: spec.kind.oid(),
            modifier: spec.modifier,
            dimensions: dimensions_of(data_type),
            domain: domain.map(|(_, oid, _)| oid),
            ..ColumnNotes::default()
        },
        not_null: draws,
        default: Value::Null,
        constraints: Vec::new(),
        generated: None,
        name,
        sequence: match draws {
            true => Some(sequence_of(&[], spec.kind)?),
            false => None,
        },
        spec,
    };
    check_options(&declared.name, options, draws)?;
    for ColumnOptionDef { name, option } in options {
        declared.option(option, name.as_ref().map(name_of), names)?;
    }
    let has_own = |option: &ColumnOptionDef| {
        matches!(
            option.option,
            ColumnOption::Default(_) | ColumnOption::Generated { .. }
        )
    };
    if let Some((_, _, domain)) = domain
        && let Some(text) = &domain.default
        && !options.iter().any(has_own)
    {
        let tree = crate::parse::parse_expression(text)?;
        (declared.default, declared.notes.default) = default_of(&tree, spec, names)?;
    }
    Ok(declared)
}

/// The type of a column with the collation that is named.
///
/// # Errors
/// `42804` if its values have none; `0A000` for unknown ones.
pub(super) fn with_collation(spec: TypeSpec, name: &ast::ObjectName) -> Result<TypeSpec, SqlError> {
    match spec.kind.is_collatable() {
        true => Ok(spec.with_collation(Collation::of_column(collation_of(name)?))),
        false => Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            format!("collations are not supported by type {}", spec.kind.name()),
        )),
    }
}

/// The columns that every table of PostgreSQL has.
const SYSTEM_COLUMNS: [&str; 6] = ["cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"];

/// Checks that a column's name is not reserved: for the columns of indexes, and for those that every table has.
///
/// # Errors
/// `42P16` or `42701` if it is reserved.
pub(super) fn check_column_name(name: &str) -> Result<(), SqlError> {
    if SYSTEM_COLUMNS.contains(&name) {
        let text = format!("column name \"{name}\" conflicts with a system column name");
        return Err(SqlError::new(code::DUPLICATE_COLUMN, text));
    }
    match name.starts_with(INDEX_KEY) || name.starts_with(INDEX_WHERE) {
        true => Err(SqlError::new(
            code::INVALID_TABLE_DEFINITION,
            format!("the name \"{name}\" is one of the database's own"),
        )),
        false => Ok(()),
    }
}

/// Checks that the options of a column do not contradict each other.
///
/// # Errors
/// `42601` if they do.
fn check_options(column: &str, options: &[ColumnOptionDef], draws: bool) -> Result<(), SqlError> {
    let count = |is_it: fn(&ColumnOption) -> bool| {
        let found = options.iter().filter(|option| is_it(&option.option));
        found.count()
    };
    let nulls = count(|option| matches!(option, ColumnOption::Null));
    let not_nulls = count(|option| matches!(option, ColumnOption::NotNull));
    let defaults = count(|option| matches!(option, ColumnOption::Default(_))) + usize::from(draws);
    let generated = count(is_generated_option);
    let identities = count(|option| matches!(option, ColumnOption::Generated { .. })) - generated;
    let wrong = [
        (
            nulls > 0 && not_nulls + identities + usize::from(draws) > 0,
            "conflicting NULL/NOT NULL declarations",
        ),
        (defaults > 1, "multiple default values specified"),
        (identities > 1, "multiple identity specifications"),
        (
            identities > 0 && defaults > 0,
            "both default and identity specified",
        ),
        (generated > 1, "multiple generation clauses specified"),
        (
            generated > 0 && defaults > 0,
            "both default and generation expression specified",
        ),
        (
            generated > 0 && identities > 0,
            "both identity and generation expression specified",
        ),
    ];
    match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
        Some((_, what)) => Err(SqlError::syntax(format!("{what} for column \"{column}\""))),
        None => Ok(()),
    }
}

/// The type of a column, and true for the `serial` types.
fn type_of(data_type: &DataType, names: &TypeNames) -> Result<(TypeSpec, bool), SqlError> {
    if let DataType::Custom(name, modifiers) = data_type
        && modifiers.is_empty()
    {
        // Also as `"serial"`, as some libraries write each type.
        let kind = match parts_of(name)?.join(".").as_str() {
            "serial" | "serial4" => Some(SqlType::Int4),
            "bigserial" | "serial8" => Some(SqlType::Int8),
            "smallserial" | "serial2" => Some(SqlType::Int2),
            _ => None,
        };
        if let Some(kind) = kind {
            return Ok((TypeSpec::plain(kind), true));
        }
    }
    Ok((TypeSpec::of_data_type(data_type, names)?, false))
}

/// Refuses a type that columns of tables may not have.
///
/// # Errors
/// `42P16` for a pseudo-type, `0A000` for a type of the catalogue.
pub(super) fn check_column_type(column: &str, kind: SqlType) -> Result<(), SqlError> {
    let name = kind.name();
    match kind.is_of_columns() {
        true => Ok(()),
        false if kind.is_record() => Err(SqlError::new(
            code::INVALID_TABLE_DEFINITION,
            format!("column \"{column}\" has pseudo-type {name}"),
        )),
        false => Err(SqlError::unsupported(format!(
            "a column of type {name} is not supported"
        ))),
    }
}

/// Qualifies the names of sequences in a new default.
///
/// # Errors
/// Invalid or unknown names.
pub(super) fn name_sequences(
    source: &dyn Source,
    path: &SearchPath,
    table: &str,
    default: &mut Option<String>,
) -> Result<(), SqlError> {
    if let Some(text) = default {
        *text = with_schemas(source, path, table, text)?;
    }
    Ok(())
}

impl Declared {
    fn option(
        &mut self,
        option: &ColumnOption,
        name: Option<String>,
        names: &TypeNames,
    ) -> Result<(), SqlError> {
        let own = || vec![(self.name.clone(), false)];
        match option {
            ColumnOption::Null => {}
            ColumnOption::NotNull => self.not_null = true,
            ColumnOption::Collation(collation) => {
                self.spec = with_collation(self.spec, collation)?;
                self.notes.collation = self.spec.collation.noted();
            }
            ColumnOption::Default(tree) => {
                let (value, text) = default_of(tree, self.spec, names)?;
                self.default = value;
                self.notes.default = text;
            }
            ColumnOption::PrimaryKey(key) => {
                let deferral = check_primary(key)?;
                self.not_null = true;
                let columns = own();
                self.constraints.push(Constraint::Primary {
                    name,
                    columns,
                    deferral,
                });
            }
            ColumnOption::Unique(key) => {
                let deferral = check_unique(key)?;
                let columns = own();
                self.constraints.push(Constraint::Unique {
                    name,
                    columns,
                    deferral,
                });
            }
            ColumnOption::ForeignKey(key) => {
                let constraint = foreign(key, name, vec![self.name.clone()])?;
                self.constraints.push(constraint);
            }
            ColumnOption::Check(check) => {
                self.constraints.push(self::check(check, name)?);
            }
            ColumnOption::Generated {
                generated_as,
                sequence_options,
                generation_expr: None,
                generation_expr_mode: None,
                generated_keyword: _,
            } => {
                let options = sequence_options.as_deref().unwrap_or_default();
                self.identity(generated_as, options)?;
            }
            ColumnOption::Generated {
                generated_as: GeneratedAs::ExpStored,
                sequence_options: None,
                generation_expr: Some(expression),
                generation_expr_mode: Some(GeneratedExpressionMode::Stored),
                generated_keyword: true,
            } => self.generated = Some(expression.clone()),
            ColumnOption::Comment(text) if let Some(name) = declared_sequence(text) => {
                self.notes.sequence = Some(name.to_string());
            }
            other => {
                return Err(SqlError::unsupported(format!(
                    "the column option {other} is not supported"
                )));
            }
        }
        Ok(())
    }

    /// Compiles `GENERATED … AS IDENTITY`.
    fn identity(
        &mut self,
        generated: &GeneratedAs,
        options: &[SequenceOptions],
    ) -> Result<(), SqlError> {
        let letter = identity_of(self.spec.kind, *generated)?;
        self.not_null = true;
        self.sequence = Some(sequence_of(options, self.spec.kind)?);
        self.notes.identity = Some(letter);
        Ok(())
    }
}

/// The letter of an identity in the catalogue: `a` always, `d` by default.
///
/// # Errors
/// `22023` for a type without numbers.
pub(super) fn identity_of(kind: SqlType, generated: GeneratedAs) -> Result<char, SqlError> {
    if !matches!(kind, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) {
        return Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            "identity column type must be smallint, integer, or bigint",
        ));
    }
    match generated {
        GeneratedAs::Always => Ok('a'),
        GeneratedAs::ByDefault => Ok('d'),
        GeneratedAs::ExpStored => Err(SqlError::unsupported(
            "columns that are computed of others are not supported",
        )),
    }
}

/// When a constraint is checked.
///
/// # Errors
/// `42601` for contradictions, `0A000` for `NOT ENFORCED`.
fn deferral(of: Option<&ConstraintCharacteristics>) -> Result<Deferral, SqlError> {
    let Some(ConstraintCharacteristics {
        deferrable,
        initially,
        enforced,
    }) = of
    else {
        return Ok(Deferral::default());
    };
    if *enforced == Some(false) {
        return Err(SqlError::unsupported("NOT ENFORCED is not supported"));
    }
    let deferred = *initially == Some(DeferrableInitial::Deferred);
    if deferred && *deferrable == Some(false) {
        return Err(SqlError::syntax(
            "constraint declared INITIALLY DEFERRED must be DEFERRABLE",
        ));
    }
    Ok(Deferral {
        nulls_equal: false,
        deferrable: deferrable.unwrap_or(deferred),
        deferred,
    })
}

/// Rejects unsupported clauses of a constraint.
fn refuse(constraint: &str, asked: &[(bool, &str)]) -> Result<(), SqlError> {
    match asked.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(SqlError::unsupported(format!(
            "{constraint} with {what} is not supported"
        ))),
        None => Ok(()),
    }
}

/// Checks that a primary key has no unsupported clauses, and returns the time of its check.
///
/// # Errors
/// `0A000` with the unsupported clause.
pub(super) fn check_primary(key: &PrimaryKeyConstraint) -> Result<Deferral, SqlError> {
    let PrimaryKeyConstraint {
        name: _,
        index_name,
        index_type,
        columns: _,
        include,
        index_options,
        characteristics,
    } = key;
    let asked = [
        (index_name.is_some(), "the name of an index"),
        (index_type.is_some(), "USING"),
        (!include.is_empty(), "INCLUDE"),
        (!index_options.is_empty(), "options of its index"),
    ];
    refuse("PRIMARY KEY", &asked)?;
    deferral(characteristics.as_ref())
}

/// Checks that a unique constraint has no unsupported clauses, and returns the time of its check.
///
/// # Errors
/// `0A000` with the unsupported clause.
pub(super) fn check_unique(key: &UniqueConstraint) -> Result<Deferral, SqlError> {
    let UniqueConstraint {
        name: _,
        index_name,
        index_type_display,
        index_type,
        columns: _,
        include,
        index_options,
        characteristics,
        nulls_distinct,
    } = key;
    let asked = [
        (index_name.is_some(), "the name of an index"),
        (*index_type_display != KeyOrIndexDisplay::None, "KEY"),
        (index_type.is_some(), "USING"),
        (!include.is_empty(), "INCLUDE"),
        (!index_options.is_empty(), "options of its index"),
    ];
    refuse("UNIQUE", &asked)?;
    Ok(Deferral {
        nulls_equal: *nulls_distinct == NullsDistinctOption::NotDistinct,
        ..deferral(characteristics.as_ref())?
    })
}

/// Compiles a foreign key.
///
/// # Errors
/// `0A000` for unsupported options.
pub(super) fn foreign(
    key: &ForeignKeyConstraint,
    name: Option<String>,
    columns: Vec<String>,
) -> Result<Constraint, SqlError> {
    let ForeignKeyConstraint {
        name: own_name,
        index_name,
        columns: _,
        foreign_table,
        referred_columns,
        on_delete,
        on_update,
        match_kind,
        characteristics,
    } = key;
    refuse(
        "FOREIGN KEY",
        &[
            (index_name.is_some(), "the name of an index"),
            (
                *match_kind == Some(ConstraintReferenceMatchKind::Partial),
                "MATCH PARTIAL",
            ),
        ],
    )?;
    let Deferral {
        deferrable,
        deferred,
        nulls_equal: _,
    } = deferral(characteristics.as_ref())?;
    let on_delete_of = match on_delete {
        None | Some(ReferentialAction::NoAction | ReferentialAction::Restrict) => {
            OnDelete::Restrict
        }
        Some(ReferentialAction::Cascade) => OnDelete::Cascade,
        Some(ReferentialAction::SetNull) => OnDelete::SetNull,
        Some(ReferentialAction::SetDefault) => OnDelete::SetDefault,
    };
    Ok(Constraint::Foreign {
        name: name.or_else(|| own_name.as_ref().map(name_of)),
        columns,
        table: foreign_table.clone(),
        referenced: referred_columns.iter().map(name_of).collect(),
        on_delete: on_delete_of,
        notes: ReferenceNotes {
            deferrable,
            deferred,
            delete_restricts: *on_delete == Some(ReferentialAction::Restrict),
            update_restricts: *on_update == Some(ReferentialAction::Restrict),
            full: *match_kind == Some(ConstraintReferenceMatchKind::Full),
            on_update: match on_update {
                None | Some(ReferentialAction::NoAction | ReferentialAction::Restrict) => None,
                Some(ReferentialAction::Cascade) => Some(UpdateAction::Cascade),
                Some(ReferentialAction::SetNull) => Some(UpdateAction::SetNull),
                Some(ReferentialAction::SetDefault) => Some(UpdateAction::SetDefault),
            },
        },
    })
}

/// Compiles a check constraint.
///
/// # Errors
/// `0A000` for `NOT ENFORCED`.
pub(super) fn check(check: &CheckConstraint, name: Option<String>) -> Result<Constraint, SqlError> {
    let CheckConstraint {
        name: own_name,
        expr,
        // Tables do not inherit.
        no_inherit: _,
        enforced,
    } = check;
    refuse("CHECK", &[(*enforced == Some(false), "NOT ENFORCED")])?;
    Ok(Constraint::Check {
        name: name.or_else(|| own_name.as_ref().map(name_of)),
        condition: expr.clone(),
    })
}
