//! Conditions of tables as SQL declares and shows them: CHECK. Expressions of indexes and of generated columns are kept
//! in the same way.
//!
//! A condition is compiled here by SQL's rules in each case. If programs without SQL read it, too, with the same meaning,
//! the schema gets the text itself. So every program tests it ([`is_of_every_program`]). Otherwise the schema gets SQL
//! with the columns that it reads ([`SqlCheck`]).
//!
//! Source: PostgreSQL's documentation, 5.4.1. PostgreSQL lets conditions ask for the time and draw numbers, and advises
//! against it. Here they are refused, since every program that writes a row tests them.

use super::functions::{COLLATION_KEY, COLLATION_ORDER, LOWER, UPPER};
use super::labels::{kept_spec, with_numbers};
use super::shown::with_names;
use super::{
    Compiler, Expr, Function, Parameters, Scope, ScopeColumn, ScopeTable, Typed, kept_expression,
    parts_of_tree,
};
use crate::aggregate::Aggregate;
use crate::error::{SqlError, code};
use crate::names::{function_name, name_of, quoted};
use crate::parse::{parse_expression, tokens};
use crate::path::split;
use crate::types::{EnumType, NamedCollation, SqlType, TypeSpec};
use crate::user_types::{TypeNames, is_of_user};
use crate::values::cast::Coercion;
use crate::values::zones::SessionZone;
use sardonyx::schema::{Schema, Type, Value};
use sardonyx_rows::condition::{Condition, SqlCheck, SqlColumn};
use sqlparser::ast::{self, AccessExpr, Expr as Tree, InTarget, Value as Literal};
use sqlparser::tokenizer::Token;

/// A column that a condition may name.
pub(crate) struct NamedColumn<'c> {
    /// Its number in the schema.
    pub number: usize,
    pub name: &'c str,
    pub spec: TypeSpec,
}

/// The use of an expression on a table's columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Check,
    IndexKey,
    IndexWhere,
    Generated,
    /// `USING` of a column's new type.
    Transform,
}

impl Use {
    /// PostgreSQL's words for it, singular and plural.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Use::Check => ("check constraint", "check constraints"),
            Use::IndexKey => ("index expression", "index expressions"),
            Use::IndexWhere => ("index predicate", "index predicates"),
            Use::Generated => (
                "column generation expression",
                "column generation expressions",
            ),
            Use::Transform => ("transform expression", "transform expressions"),
        }
    }
}

/// An expression on the columns of a table: compiled, and as the table's schema keeps it. A literal is read as the
/// wanted type, if there is one.
///
/// # Errors
/// Invalid SQL; `0A000`, `42803`, `42P17`, `42P20` for parts that are not allowed in such an expression.
pub(crate) fn declared_expression(
    tree: &Tree,
    table: &str,
    columns: &[NamedColumn<'_>],
    (of, wanted): (Use, Option<TypeSpec>),
    names: &TypeNames,
) -> Result<(Typed, SqlCheck), SqlError> {
    let mut inner = tree;
    while let Tree::Nested(nested) = inner {
        inner = nested;
    }
    refuse_parts(inner, of)?;
    let enums = enums_of(columns);
    let names = names.clone().beside(&enums);
    let mut crosses_zone = false;
    let mut compile = |tree: &Tree,
                       columns: &[NamedColumn<'_>],
                       wanted: Option<TypeSpec>,
                       parameters: &mut Parameters| {
        let scope = scope_of_columns(table, columns);
        let mut compiler = Compiler::new(&scope, parameters);
        let mut typed = match of {
            Use::Check | Use::IndexWhere => {
                Typed::new(compiler.condition(tree, "WHERE")?, SqlType::Bool)
            }
            Use::IndexKey | Use::Generated | Use::Transform => compiler.compile(tree)?,
        };
        if let Some(spec) = wanted
            && typed.kind() == SqlType::Unknown
        {
            let expr = compiler.coerce(typed, spec, Coercion::Assignment)?;
            typed = Typed { expr, spec };
        }
        crosses_zone |= compiler.crosses_zone;
        Ok(typed)
    };
    let (typed, text) = kept_expression(inner, &names, &mut |tree, parameters| {
        compile(tree, columns, wanted, parameters)
    })?;
    check_immutable(&typed.expr, of)?;
    let check = match of {
        Use::Transform => with_columns(text, &typed.expr, columns),
        _ => numbered(text, (&typed.expr, columns, of), &mut |tree, is_kept| {
            let (names, columns) = match is_kept {
                true => (TypeNames::default(), kept_columns(columns)),
                false => (names.clone(), copied(columns)),
            };
            let wanted = wanted.map(|spec| if is_kept { kept_spec(spec) } else { spec });
            let mut parameters = Parameters::default().naming(names);
            Ok(compile(tree, &columns, wanted, &mut parameters)?.expr)
        })?,
    };
    let is_kept = !matches!(of, Use::Check | Use::Transform);
    if is_kept && crosses_zone {
        return Err(not_immutable(of));
    }
    Ok((typed, check))
}

/// The enum types that conditions on these columns may name.
fn enums_of(columns: &[NamedColumn<'_>]) -> Vec<EnumType> {
    let columns = columns.iter();
    columns
        .filter_map(|column| column.spec.kind.enum_type())
        .collect()
}

fn copied<'c>(columns: &[NamedColumn<'c>]) -> Vec<NamedColumn<'c>> {
    columns.iter().map(|one| NamedColumn { ..*one }).collect()
}

/// The columns as a kept text has them: numbers for labels.
fn kept_columns<'c>(columns: &[NamedColumn<'c>]) -> Vec<NamedColumn<'c>> {
    let columns = columns.iter().map(|one| NamedColumn {
        spec: kept_spec(one.spec),
        ..*one
    });
    columns.collect()
}

/// A compiled text as a schema keeps it: with the columns that it reads, and without types of users. `compile` compiles
/// one, over the columns as they are or as they are kept.
///
/// # Errors
/// `0A000` if the text depends on more than the numbers of labels.
fn numbered(
    text: String,
    (expr, columns, of): (&Expr, &[NamedColumn<'_>], Use),
    compile: &mut dyn FnMut(&Tree, bool) -> Result<Expr, SqlError>,
) -> Result<SqlCheck, SqlError> {
    let enums = enums_of(columns);
    let numbers = match enums.is_empty() {
        true => text.clone(),
        false => with_numbers(&text, &enums, &mut |tree| compile(tree, false).map(drop))?,
    };
    // A row has no form that a kept text could name.
    let is_row = |spec: TypeSpec| is_of_user(kept_spec(spec).kind.oid());
    if let Some(column) = column_of(expr, columns, is_row) {
        return Err(SqlError::unsupported(format!(
            "column \"{}\" of type {} is not supported in {}",
            column.name,
            column.spec.kind.name(),
            of.words().1,
        ))
        .hint("A BEFORE trigger can test its fields, or compute another column of them."));
    }
    let read = column_of(expr, columns, |spec| is_of_user(spec.kind.oid()));
    if numbers == text && read.is_none() {
        return Ok(with_columns(text, expr, columns));
    }
    let compiled = parse_expression(&numbers).and_then(|tree| compile(&tree, true));
    if compiled.is_ok_and(|compiled| compiled == *expr) {
        return Ok(with_columns(numbers, expr, &kept_columns(columns)));
    }
    // The text of a label may change.
    let is_text = |part: &Expr| match part {
        Expr::Cast(_, from, to, _) => from.enum_type().is_some() != to.kind.enum_type().is_some(),
        _ => false,
    };
    if of != Use::Check && expr.any(&is_text) {
        return Err(not_immutable(of));
    }
    let words = of.words().1;
    Err(match read {
        Some(column) => SqlError::unsupported(format!(
            "column \"{}\" of type {} is not supported in {words} in this way",
            column.name,
            column.spec.kind.name(),
        )),
        None => SqlError::unsupported(format!(
            "labels of an enum type are not supported in {words} in this way"
        )),
    }
    .hint("Compare the column with labels: its text is not kept."))
}

/// Compiles an expression of a schema, as a value of the wanted type, if there is one. Its rows are indexed by the
/// columns' numbers.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn stored_expression(
    check: &SqlCheck,
    wanted: Option<TypeSpec>,
) -> Result<Typed, SqlError> {
    let columns = stored_columns(check)?;
    let tree = parse_expression(&check.text)?;
    let scope = scope_of_columns("", &columns);
    let mut parameters = Parameters::default();
    let mut compiler = Compiler::new(&scope, &mut parameters);
    let typed = compiler.compile(&tree)?;
    let Some(spec) = wanted else {
        return Ok(typed);
    };
    let expr = compiler.coerce(typed, spec, Coercion::Assignment)?;
    Ok(Typed { expr, spec })
}

/// The text of a condition for a table's schema. Its moments are of the zone, or of UTC.
///
/// # Errors
/// Invalid SQL; `0A000`, `42803`, `42P17`, `42P20` for parts that are not allowed in a condition.
pub(crate) fn declared_check(
    tree: &Tree,
    table: &str,
    columns: &[NamedColumn<'_>],
    schema: &Schema,
    zone: Option<&SessionZone>,
) -> Result<String, SqlError> {
    let mut condition = tree;
    while let Tree::Nested(inner) = condition {
        condition = inner;
    }
    refuse_parts(condition, Use::Check)?;
    let names = TypeNames::in_zone(zone).beside(&enums_of(columns));
    let scope = scope_of_columns(table, columns);
    let (expr, text) = kept_expression(condition, &names, &mut |tree, parameters| {
        compiled(tree, &scope, parameters)
    })?;
    let check = numbered(text, (&expr, columns, Use::Check), &mut |tree, is_kept| {
        let (names, columns) = match is_kept {
            true => (TypeNames::default(), kept_columns(columns)),
            false => (names.clone(), copied(columns)),
        };
        let mut parameters = Parameters::default().naming(names);
        compiled(tree, &scope_of_columns(table, &columns), &mut parameters)
    })?;
    // Every program knows the numbers of labels, and people are shown the labels.
    let has_labels = !enums_of(columns).is_empty() && check.text.contains("/*");
    match !has_labels && is_of_every_program(&check, &expr, schema) {
        true => Ok(check.text),
        false => Ok(check.to_text()),
    }
}

/// A text with the columns that it reads.
fn with_columns(text: String, expr: &Expr, columns: &[NamedColumn<'_>]) -> SqlCheck {
    let mut read = std::collections::BTreeSet::new();
    expr.walk(&mut |part| {
        if let Expr::Column(number) = part {
            read.insert(*number);
        }
    });
    let read = columns
        .iter()
        .filter(|column| read.contains(&column.number));
    let read = read.map(|column| SqlColumn {
        number: column.number,
        kind: column.spec.kind.oid(),
        modifier: column.spec.modifier,
        name: column.name.to_string(),
    });
    // The table may be renamed. Programs without SQL read the letters of a name as they are.
    let is_folded = |name: &ast::Ident| {
        let folded = name_of(name);
        folded != name.value && columns.iter().any(|column| column.name == folded)
    };
    let text = with_names(&text, &|names| match names {
        [column] if is_folded(column) => Some(quoted(&name_of(column))),
        [_, .., column] => Some(quoted(&name_of(column))),
        _ => None,
    });
    let columns = read.collect();
    SqlCheck { columns, text }
}

/// Compiles a condition of a schema. Its rows are indexed by the columns' numbers.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn stored_check(check: &SqlCheck) -> Result<Expr, SqlError> {
    let tree = parse_expression(&check.text)?;
    let scope = scope_of_columns("", &stored_columns(check)?);
    compiled(&tree, &scope, &mut Parameters::default())
}

fn stored_columns(check: &SqlCheck) -> Result<Vec<NamedColumn<'_>>, SqlError> {
    let mut columns = Vec::with_capacity(check.columns.len());
    for column in &check.columns {
        let kind = SqlType::from_oid(column.kind);
        columns.push(NamedColumn {
            number: column.number,
            name: &column.name,
            spec: TypeSpec::new(
                kind.ok_or_else(|| SqlError::unknown_column(&column.name))?,
                column.modifier,
            ),
        });
    }
    Ok(columns)
}

/// Compiles a condition of a search on rows of a schema, with the types of the engine's columns.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn row_condition(text: &str, schema: &Schema) -> Result<Expr, SqlError> {
    let tree = parse_expression(text)?;
    refuse_parts(&tree, Use::Check)?;
    let scope = scope_of_columns("", &engine_columns(schema));
    compiled(&tree, &scope, &mut Parameters::default())
}

/// The text for a table's schema of a condition that a program declares, with the types of the engine's columns.
///
/// # Errors
/// As [`declared_check`]; a column's name with capitals and without quotes, which is another name in SQL than in the
/// conditions that every program tests.
pub(crate) fn program_check(text: &str, schema: &Schema) -> Result<String, SqlError> {
    for token in tokens(text)? {
        if let Token::Word(word) = &token.token
            && word.quote_style.is_none()
            && schema.column(&word.value).is_some()
            && word.value != word.value.to_lowercase()
        {
            let name = &word.value;
            return Err(SqlError::new(
                code::UNKNOWN_COLUMN,
                format!("{name} without quotes is another column: write \"{name}\""),
            ));
        }
    }
    let tree = parse_expression(text)?;
    declared_check(&tree, "", &engine_columns(schema), schema, None)
}

fn engine_columns(schema: &Schema) -> Vec<NamedColumn<'_>> {
    let columns = schema.live_columns().map(|(number, column)| NamedColumn {
        number,
        name: &column.name,
        spec: SqlType::of_stored(column.kind),
    });
    columns.collect()
}

/// The columns of a table with a kept name, as its expressions find them.
pub(crate) fn scope_of_columns(table: &str, columns: &[NamedColumn<'_>]) -> Scope {
    let (schema, table) = split(table);
    let own = columns
        .iter()
        .map(|column| ScopeColumn::new(column.name, column.spec, column.number));
    let mut scope = Scope {
        tables: vec![ScopeTable {
            alias: table.to_string(),
            columns: own.collect(),
            schema: Some(schema.to_string()),
            ..ScopeTable::default()
        }],
    };
    // The fields of nested structs have names with a point.
    for column in columns {
        if let Some((outer, field)) = column.name.rsplit_once('.') {
            scope.tables.push(ScopeTable {
                alias: outer.to_string(),
                columns: vec![ScopeColumn::new(field, column.spec, column.number)],
                is_aside: true,
                ..ScopeTable::default()
            });
        }
    }
    scope
}

fn compiled(tree: &Tree, scope: &Scope, parameters: &mut Parameters) -> Result<Expr, SqlError> {
    let expr = Compiler::new(scope, parameters).condition(tree, "CHECK")?;
    check_immutable(&expr, Use::Check)?;
    Ok(expr)
}

/// The first column of some types that an expression reads.
fn column_of<'n, 'c>(
    expr: &Expr,
    columns: &'n [NamedColumn<'c>],
    is_it: impl Fn(TypeSpec) -> bool,
) -> Option<&'n NamedColumn<'c>> {
    let mut found = None;
    expr.walk(&mut |part| {
        if let Expr::Column(number) = part {
            let mut columns = columns.iter().filter(|column| column.number == *number);
            found = found.or(columns.find(|column| is_it(column.spec)));
        }
    });
    found
}

/// The collation whose rules compute a part.
fn collation_in(part: &Expr) -> Option<NamedCollation> {
    let Expr::Call(function, parts) = part else {
        return None;
    };
    let of_language = [&COLLATION_KEY, &COLLATION_ORDER, &LOWER, &UPPER];
    if !of_language.iter().any(|known| *function == Function(known)) {
        return None;
    }
    match parts.last()? {
        Expr::Literal(Value::Int(number)) => {
            NamedCollation::of_number(i64::try_from(*number).ok()?)
        }
        _ => None,
    }
}

/// Refuses functions that give rows, or may give another value each time.
fn check_immutable(expr: &Expr, of: Use) -> Result<(), SqlError> {
    let all = of.words().1;
    let of_rows = |part: &Expr| matches!(part, Expr::Call(function, _) if function.gives_rows());
    if expr.any(&of_rows) {
        let message = format!("set-returning functions are not allowed in {all}");
        return Err(SqlError::unsupported(message));
    }
    // A comparison by a language's rules would depend on their release, and a kept expression has no collations of
    // columns.
    let mut collation = None;
    expr.walk(&mut |part| collation = collation.or_else(|| collation_in(part)));
    if let Some(name) = collation.filter(|_| of != Use::Transform) {
        return Err(name.unknown_to(all));
    }
    let mut long = None;
    expr.walk(&mut |part| {
        if let Expr::Call(function, _) = part
            && function.0.is_long
        {
            long = Some(function.0.name);
        }
    });
    if let Some(name) = long.filter(|_| of != Use::Transform) {
        let message = format!("{name} is not supported in {all}");
        return Err(SqlError::unsupported(message).hint("It may take long for each row."));
    }
    let is_mutable =
        |part: &Expr| matches!(part, Expr::Call(function, _) if !function.is_immutable());
    if expr.any(&is_mutable) {
        return Err(not_immutable(of));
    }
    Ok(())
}

/// The error of an expression whose value may change each time, or in another session.
pub(crate) fn not_immutable(of: Use) -> SqlError {
    let message = match of {
        Use::Generated => "generation expression is not immutable".to_string(),
        _ => format!("functions in {} must be marked IMMUTABLE", of.words().0),
    };
    SqlError::new(code::INVALID_OBJECT_DEFINITION, message)
}

/// Refuses parts that are not allowed in such an expression: queries, aggregates, window functions, parameters.
fn refuse_parts(tree: &Tree, of: Use) -> Result<(), SqlError> {
    match tree {
        Tree::Subquery(_)
        | Tree::Exists { .. }
        | Tree::In {
            target: InTarget::Subquery(_),
            ..
        } => {
            let message = format!("cannot use subquery in {}", of.words().0);
            return Err(SqlError::unsupported(message));
        }
        Tree::Function(function) => refuse_function(function, of)?,
        // The kept text has no name of the table.
        Tree::CompoundFieldAccess { root, access_chain }
            if matches!(access_chain.first(), Some(AccessExpr::Dot(_))) && is_name(root) =>
        {
            let message = format!("fields of a row are not supported in {}", of.words().1);
            return Err(SqlError::unsupported(message)
                .hint("Write the column without the name of the table in parentheses."));
        }
        Tree::Value(literal) => {
            if let Literal::Placeholder(name) = &literal.value {
                let message = format!("there is no parameter {name}");
                return Err(SqlError::new(code::UNKNOWN_PARAMETER, message));
            }
        }
        _ => {}
    }
    let mut parts = parts_of_tree(tree).into_iter();
    parts.try_for_each(|part| refuse_parts(part, of))
}

/// True for a name, also in parentheses.
fn is_name(tree: &Tree) -> bool {
    match tree {
        Tree::Nested(inner) => is_name(inner),
        Tree::Identifier(_) => true,
        _ => false,
    }
}

fn refuse_function(function: &ast::Function, of: Use) -> Result<(), SqlError> {
    let all = of.words().1;
    if function.over.is_some() {
        let message = format!("window functions are not allowed in {all}");
        return Err(SqlError::new(code::WINDOWING, message));
    }
    match Aggregate::called(function, &function_name(function)?) {
        None => Ok(()),
        Some(_) => {
            let message = format!("aggregate functions are not allowed in {all}");
            Err(SqlError::new(code::GROUPING, message))
        }
    }
}

/// True if every program tests a condition as SQL does: without SQL it is read, and what is read there is compiled to the
/// same expression. It reads no columns but those of types whose values and literals have one meaning. A pattern's end may
/// be an escape character there, which is an error in SQL. A number with an exponent is a float there, and exact in SQL.
/// A `char(n)` is compared without the blanks at its end.
fn is_of_every_program(check: &SqlCheck, expr: &Expr, schema: &Schema) -> bool {
    let text = &check.text;
    let is_padded = |column: &SqlColumn| column.kind == SqlType::Char.oid();
    let Ok(condition) = Condition::parse(text, schema) else {
        return false;
    };
    let has_one_meaning = |number: &usize| {
        use Type::{Bytes, F32, F64, Plain, Time, Timestamp, Uuid};
        let kind = schema.columns.get(*number).map(|column| column.kind);
        !matches!(
            kind,
            None | Some(F32 | F64 | Bytes | Time | Timestamp | Uuid | Plain { .. })
        )
    };
    let has_open_escape = |part: &Expr| match part {
        Expr::Like(like) => match &like.pattern {
            Expr::Literal(Value::Text(pattern)) => pattern.ends_with('\\'),
            _ => true,
        },
        _ => false,
    };
    let in_sql = || row_condition(&Condition::in_sql(text, quoted).ok()?, schema).ok();
    condition.columns().iter().all(has_one_meaning)
        && !check.columns.iter().any(is_padded)
        && !has_exponents(text)
        && !expr.any(&has_open_escape)
        && in_sql().is_some_and(|there| there == *expr)
}

fn has_exponents(text: &str) -> bool {
    tokens(text).is_ok_and(|tokens| {
        let mut tokens = tokens.iter();
        tokens.any(
            |one| matches!(&one.token, Token::Number(digits, _) if digits.contains(['e', 'E'])),
        )
    })
}
