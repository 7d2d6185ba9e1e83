//! `CREATE DOMAIN`, `ALTER DOMAIN`: types with a default and conditions.
//!
//! A column of a domain has the domain's base type. The domain's conditions are hidden conditions of the table. So
//! programs without SQL satisfy them, too, and existing rows are checked when a condition is added.
//!
//! Invariant: each column of a domain has one hidden condition for each of the domain's conditions ([`apply`],
//! [`withdraw`]). There is one more if the domain does not allow nulls.

use super::checks::check_of;
use super::default;
use super::options::skipped;
use super::type_names::{check_new_name, columns_of_type, free_oids};
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::{Expr, NamedColumn, Typed, Use, declared_expression, inlined, with_names};
use crate::names::{DOMAIN_NOT_NULL, collation_of, domain_check_of, name_of, quoted};
use crate::parse::{TypeChange, parse_expression};
use crate::path::{local, written};
use crate::relation::Relation;
use crate::result::{Complete, Tag};
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::{DomainCheck, DomainDefinition, TypeNames, UserType, UserTypes};
use crate::values::zones::SessionZone;
use sardonyx::schema::Value;
use sqlparser::ast::{ColumnOption, DataType, Expr as Tree, ObjectName};

/// Runs `CREATE DOMAIN`.
///
/// # Errors
/// Invalid SQL; `42710` if the name is taken; `0A000` for base types and options that are not supported.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    name: &ObjectName,
    base: &DataType,
    options: &[(Option<String>, ColumnOption)],
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    let name = path.new_name(tx.view(), name, false)?;
    check_new_name(tx, &name)?;
    let names = TypeNames::of(tx.view(), path)?;
    if names.domain(base).is_some() {
        return Err(SqlError::unsupported(
            "a domain over another domain is not supported",
        ));
    }
    let spec = TypeSpec::of_data_type(base, &names)?;
    if !spec.kind.is_of_columns() || spec.kind.element().is_some() {
        return Err(SqlError::unsupported(format!(
            "a domain over {} is not supported",
            spec.kind.name()
        )));
    }
    let mut made = DomainDefinition {
        base: spec.kind.oid(),
        modifier: spec.modifier,
        ..DomainDefinition::default()
    };
    let (mut is_null, mut is_set) = (false, false);
    for (given, option) in options {
        match option {
            ColumnOption::NotNull => made.not_null = true,
            ColumnOption::Null => is_null = true,
            ColumnOption::Collation(collation) => {
                let name = collation_of(collation)?;
                if name.is_of_icu() {
                    return Err(SqlError::unsupported(format!(
                        "a domain with the collation \"{}\" is not supported: columns of it can have one",
                        name.name()
                    )));
                }
            }
            ColumnOption::Default(tree) => {
                if std::mem::replace(&mut is_set, true) {
                    return Err(SqlError::syntax("multiple default expressions"));
                }
                made.default = default_of(tree, spec, &names)?;
            }
            ColumnOption::Check(check) if check.enforced != Some(false) => {
                let given = given.clone().or_else(|| check.name.as_ref().map(name_of));
                let condition = with_bodies(tx.view(), path, &check.expr, spec)?;
                add_check(&mut made, &name, given, &condition, (spec, names.zone()))?;
            }
            other => {
                return Err(SqlError::unsupported(format!(
                    "{other} is not supported for domains"
                )));
            }
        }
    }
    if is_null && made.not_null {
        return Err(SqlError::syntax("conflicting NULL/NOT NULL constraints"));
    }
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    let oid = free_oids(tx, &types, 2)?;
    let made = UserType {
        oid,
        labels: Vec::new(),
        comment: None,
        domain: Some(made),
        fields: None,
    };
    types.change().insert(name, made);
    types.store(tx)?;
    Ok(Complete::of(Tag::plain("CREATE DOMAIN")))
}

/// The text of a default; `None` if it is null.
fn default_of(tree: &Tree, spec: TypeSpec, names: &TypeNames) -> Result<Option<String>, SqlError> {
    let (expr, text) = default::compiled(tree, spec, names)?;
    Ok((expr != Expr::Literal(Value::Null)).then_some(text))
}

/// The value of which a domain's condition speaks.
fn value_column(spec: TypeSpec) -> NamedColumn<'static> {
    NamedColumn {
        number: 0,
        name: "value",
        spec,
    }
}

/// A condition without calls of users' functions.
fn with_bodies(
    source: &dyn Source,
    path: &SearchPath,
    condition: &Tree,
    spec: TypeSpec,
) -> Result<Tree, SqlError> {
    let columns = [value_column(spec)];
    let plain = inlined(source, path, Some(&columns), (condition, Use::Check))?;
    Ok(plain.into_owned())
}

/// Adds a condition, if it is valid.
fn add_check(
    to: &mut DomainDefinition,
    domain: &str,
    name: Option<String>,
    condition: &Tree,
    (spec, zone): (TypeSpec, Option<&SessionZone>),
) -> Result<u32, SqlError> {
    // Compiling it over a value of the type finds errors in it.
    let text = domain_check(&condition.to_string(), spec, zone)?;
    let is_taken = |name: &str| to.checks.iter().any(|check| check.name == name);
    let name = match name {
        Some(name) if is_taken(&name) => {
            return Err(SqlError::new(
                code::DUPLICATE_OBJECT,
                format!(
                    "constraint \"{name}\" for domain \"{}\" already exists",
                    local(domain)
                ),
            ));
        }
        Some(name) => name,
        None => {
            let plain = format!("{}_check", local(domain));
            let mut numbered = (1..).map(|number| format!("{plain}{number}"));
            match is_taken(&plain) {
                false => plain,
                true => numbered
                    .find(|name| !is_taken(name))
                    .unwrap_or_else(|| plain.clone()),
            }
        }
    };
    to.last += 1;
    to.checks.push(DomainCheck {
        number: to.last,
        name,
        text,
    });
    Ok(to.last)
}

/// Returns the stored text of a domain's condition. Its moments are read in a zone, or in UTC.
fn domain_check(
    text: &str,
    spec: TypeSpec,
    zone: Option<&SessionZone>,
) -> Result<String, SqlError> {
    let columns = [value_column(spec)];
    let tree = parse_expression(text)?;
    let names = TypeNames::in_zone(zone);
    let (typed, check): (Typed, _) =
        declared_expression(&tree, "", &columns, (Use::Check, None), &names)?;
    if spec.kind.enum_type().is_some() && !check.columns.is_empty() {
        return Err(SqlError::unsupported(format!(
            "a condition of a domain over type {} is not supported",
            spec.kind.name()
        )));
    }
    match typed.kind() {
        SqlType::Bool => Ok(check.text),
        other => Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "argument of CHECK must be type boolean, not type {}",
                other.name()
            ),
        )),
    }
}

/// A condition in which a column replaces `VALUE`.
fn of_column(text: &str, column: &str) -> String {
    with_names(text, &|names| match names {
        [name] if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("value") => {
            Some(quoted(column))
        }
        _ => None,
    })
}

/// Adds the conditions of a domain to a new column of the domain.
///
/// # Errors
/// `23514`, `23502` if a value violates one.
pub(super) fn apply(
    tx: &mut dyn DefineTarget,
    table: u16,
    column: usize,
    domain: u32,
) -> Result<(), SqlError> {
    let types = UserTypes::of(tx.view())?;
    let Some((_, there)) = types.with_oid(domain) else {
        return Ok(());
    };
    let Some(definition) = &there.domain else {
        return Ok(());
    };
    if definition.not_null {
        put(
            tx,
            table,
            column,
            domain,
            DOMAIN_NOT_NULL,
            "value is not null",
        )?;
    }
    for check in &definition.checks {
        put(tx, table, column, domain, check.number, &check.text)?;
    }
    Ok(())
}

fn put(
    tx: &mut dyn DefineTarget,
    table: u16,
    column: usize,
    domain: u32,
    number: u32,
    text: &str,
) -> Result<(), SqlError> {
    let relation = Relation::numbered(tx.view(), table)?;
    let Some(named) = relation.numbered_column(column) else {
        return Ok(());
    };
    let tree = parse_expression(&of_column(text, &named.name))?;
    let condition = check_of(&relation, &tree, None)?;
    let name = domain_check_of(column, domain, number);
    let added = tx.add_check(table, &name, &condition);
    added.map_err(|error| {
        let error = SqlError::from(error);
        let is_violation = matches!(error.code, code::CHECK | code::NOT_NULL);
        if !is_violation {
            return error;
        }
        let (of, what) = match number {
            DOMAIN_NOT_NULL => (code::NOT_NULL, "contains null values"),
            _ => (
                code::CHECK,
                "contains values that violate the new constraint",
            ),
        };
        SqlError::new(
            of,
            format!(
                "column \"{}\" of table \"{}\" {what}",
                named.name,
                relation.local()
            ),
        )
    })
}

/// Drops a condition of a domain from all columns of the domain.
fn withdraw(tx: &mut dyn DefineTarget, domain: &str, number: u32) -> Result<(), SqlError> {
    for (relation, column, oid) in columns_of(tx, domain)? {
        tx.drop_check(relation, &domain_check_of(column, oid, number))?;
    }
    Ok(())
}

/// The columns of a domain: the numbers of their tables, their own numbers, and the domain's number.
fn columns_of(tx: &dyn DefineTarget, domain: &str) -> Result<Vec<(u16, usize, u32)>, SqlError> {
    let types = UserTypes::of(tx.view())?;
    let oid = types.types.get(domain).map_or(0, |there| there.oid);
    let mut found = Vec::new();
    for (table, column) in columns_of_type(tx, domain)? {
        let relation = Relation::named(tx.view(), &table)?;
        found.push((relation.number, relation.column(&column)?.number, oid));
    }
    Ok(found)
}

/// Runs `ALTER DOMAIN` of a domain by its stored name.
///
/// # Errors
/// `42704` if there is no such constraint; `23514`, `23502` if a value violates the new one.
pub(super) fn alter(
    tx: &mut dyn DefineTarget,
    name: &str,
    change: &TypeChange,
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    const WORD: &str = "ALTER DOMAIN";
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    let names = TypeNames::of(tx.view(), path)?;
    let not_one = || {
        SqlError::new(
            code::WRONG_OBJECT_TYPE,
            format!("{} is not a domain", written(name)),
        )
    };
    let domain = types.change().get_mut(name);
    let domain = domain.and_then(|there| there.domain.as_mut());
    let domain = domain.ok_or_else(not_one)?;
    let base = UserTypes::of(tx.view())?.numbered(domain.base);
    let spec = TypeSpec::new(base.unwrap_or(SqlType::Text), domain.modifier);
    let unknown = |constraint: &str| {
        SqlError::new(
            code::UNKNOWN_OBJECT,
            format!(
                "constraint \"{constraint}\" of domain \"{}\" does not exist",
                local(name)
            ),
        )
    };
    // The number of the new condition, which is added to all columns.
    let mut added = None;
    match change {
        TypeChange::SetDefault(tree) => {
            domain.default = match tree {
                Some(tree) => default_of(tree, spec, &names)?,
                None => None,
            };
        }
        TypeChange::SetNotNull(not_null) => {
            let before = std::mem::replace(&mut domain.not_null, *not_null);
            match (before, *not_null) {
                (false, true) => added = Some((DOMAIN_NOT_NULL, "value is not null".to_string())),
                (true, false) => withdraw(tx, name, DOMAIN_NOT_NULL)?,
                _ => {}
            }
        }
        TypeChange::AddCheck {
            name: given,
            condition,
        } => {
            let of = (spec, names.zone());
            let condition = &with_bodies(tx.view(), path, condition, spec)?;
            let number = add_check(domain, name, given.clone(), condition, of)?;
            let kept = domain.checks.last().map(|check| check.text.clone());
            added = kept.map(|text| (number, text));
        }
        TypeChange::DropConstraint {
            name: constraint,
            if_exists,
        } => {
            let place = domain.checks.iter().position(|c| c.name == *constraint);
            match place {
                Some(place) => {
                    let check = domain.checks.remove(place);
                    withdraw(tx, name, check.number)?;
                }
                None if *if_exists => {
                    let message = format!("{}, skipping", unknown(constraint).message);
                    return Ok(skipped(WORD, "00000", message));
                }
                None => return Err(unknown(constraint)),
            }
        }
        TypeChange::ValidateConstraint(constraint) => {
            if !domain.checks.iter().any(|check| check.name == *constraint) {
                return Err(unknown(constraint));
            }
        }
        TypeChange::RenameConstraint(from, to) => {
            if domain.checks.iter().any(|check| check.name == *to) {
                return Err(SqlError::new(
                    code::DUPLICATE_OBJECT,
                    format!(
                        "constraint \"{to}\" for domain \"{}\" already exists",
                        local(name)
                    ),
                ));
            }
            let mut checks = domain.checks.iter_mut();
            let check = checks.find(|check| check.name == *from);
            check.ok_or_else(|| unknown(from))?.name.clone_from(to);
        }
        _ => {
            return Err(SqlError::unsupported(
                "this change of a domain is not supported",
            ));
        }
    }
    types.store(tx)?;
    if let Some((number, text)) = added {
        for (table, column, oid) in columns_of(tx, name)? {
            put(tx, table, column, oid, number, &text)?;
        }
    }
    Ok(Complete::of(Tag::plain(WORD)))
}
