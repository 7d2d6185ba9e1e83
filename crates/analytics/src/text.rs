//! The text of a statement, made into a tree that DataFusion plans as PostgreSQL would.
//!
//! - Columns that are not named get PostgreSQL's names; where two of a list have one name, the later ones have a mark
//!   behind it, which [`shown_name`] takes off again.
//! - `now()` and its like become the time that it is.
//! - Casts: to whole numbers they round, to texts they write PostgreSQL's format, times have microseconds.
//! - Parameters: those that are cast have the type of the cast, if nobody said another.
//!
//! A `WITH` query that is named twice is planned twice, so how many tables there are in all is bounded.

use crate::convert::Conversion;
use crate::error::unsupported;
use datafusion::sql::sqlparser::ast::{
    self, CastKind, CharacterLength, DataType, DateTimeField, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Query, Select, SelectItem, SetExpr, Statement, TimezoneInfo, TypedString,
    Value, ValueWithSpan, VisitMut, VisitorMut, visit_relations,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Span;
use sardonyx_sql::{AnalyticQuery, SqlError, SqlType, TypeSpec, ValueRef, code, encode_text};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// How deep parentheses and the like may be nested: the SQL layer has this bound, too.
const NESTING_MAX: usize = 100;
/// The most tables of a statement, those of its `WITH` queries each time that they are named.
const TABLES_MAX: u64 = 500;
/// What stands between a name and a number that makes it different.
const MARK: char = '\u{1}';

/// A statement that is ready to be planned.
#[derive(Debug)]
pub struct Text {
    /// The statement.
    pub statement: Statement,
    /// The tables that it names, by how it names them: no schema, or `public`.
    pub tables: Vec<String>,
    /// Names that are those of `WITH` queries, at least somewhere.
    pub queries: HashSet<String>,
    /// The types that casts give to parameters, by their numbers from 1.
    pub cast: HashMap<usize, SqlType>,
    /// The highest number of a parameter.
    pub parameters: usize,
}

/// A name without what makes it different.
pub fn shown_name(name: &str) -> &str {
    name.split(MARK).next().unwrap_or(name)
}

/// The name that an identifier is: in small letters, if it is not quoted.
fn name_of(ident: &Ident) -> String {
    match ident.quote_style {
        None => ident.value.to_lowercase(),
        Some(_) => ident.value.clone(),
    }
}

/// Reads and rewrites the text of a query.
///
/// # Errors
/// `42601`; `0A000` for what is not known; `54001` beyond the bound.
pub fn prepare(query: &AnalyticQuery) -> Result<Text, SqlError> {
    let parser = Parser::new(&PostgreSqlDialect {}).with_recursion_limit(NESTING_MAX);
    let statements = parser
        .try_with_sql(&query.text)
        .and_then(|mut parser| parser.parse_statements());
    let statements = statements.map_err(|error| SqlError::new(code::SYNTAX, error.to_string()))?;
    let [mut statement] = <[Statement; 1]>::try_from(statements)
        .map_err(|_| SqlError::new(code::SYNTAX, "one statement is read at once"))?;
    let Statement::Query(whole) = &statement else {
        return Err(unsupported("only queries are read analytically"));
    };
    check_size(whole)?;
    let (mut tables, mut queries) = (Vec::new(), HashSet::new());
    let mut wrong = None;
    let _ = visit_relations(&statement, |name| {
        match table_of(name) {
            Ok(name) if !tables.contains(&name) => tables.push(name),
            Ok(_) => {}
            Err(error) => wrong = Some(error),
        }
        ControlFlow::<()>::Continue(())
    });
    if let Some(error) = wrong {
        return Err(error);
    }
    let mut rewriter = Rewriter {
        query,
        queries: &mut queries,
        cast: HashMap::new(),
        parameters: 0,
        wrong: None,
    };
    let _ = statement.visit(&mut rewriter);
    let Rewriter {
        cast,
        parameters,
        wrong,
        ..
    } = rewriter;
    match wrong {
        Some(error) => Err(error),
        None => Ok(Text {
            statement,
            tables,
            queries,
            cast,
            parameters,
        }),
    }
}

fn table_of(name: &ObjectName) -> Result<String, SqlError> {
    let parts = name.0.iter().map(|part| match part {
        ObjectNamePart::Identifier(ident) => Some(name_of(ident)),
        _ => None,
    });
    let parts = parts.collect::<Option<Vec<_>>>();
    match parts.as_deref() {
        Some([name]) => Ok(name.clone()),
        Some([schema, name]) if schema == "public" => Ok(name.clone()),
        Some([schema, _]) if schema == "pg_catalog" || schema == "information_schema" => Err(
            unsupported("tables of the catalogue are not read analytically"),
        ),
        _ => Err(SqlError::new(
            code::UNKNOWN_TABLE,
            format!("relation \"{name}\" does not exist"),
        )),
    }
}

/// Checks how many tables a query has once the queries of its `WITH` stand where they are named.
fn check_size(query: &Query) -> Result<(), SqlError> {
    let mut sizes = HashMap::new();
    match size_of(query, &mut sizes) <= TABLES_MAX {
        true => Ok(()),
        false => Err(SqlError::new(
            code::TOO_COMPLEX,
            format!(
                "a statement has at most {TABLES_MAX} tables, those of WITH each time that they are named"
            ),
        )),
    }
}

fn size_of(query: &Query, sizes: &mut HashMap<String, u64>) -> u64 {
    for one in query.with.iter().flat_map(|with| &with.cte_tables) {
        let size = size_of(&one.query, sizes);
        let there = sizes.entry(name_of(&one.alias.name)).or_default();
        *there = size.max(*there);
    }
    let mut size = 0_u64;
    let _ = visit_relations(query, |name| {
        let named = table_of(name).ok().and_then(|name| sizes.get(&name));
        size = size.saturating_add(named.copied().unwrap_or(1).max(1));
        ControlFlow::<()>::Continue(())
    });
    size
}

struct Rewriter<'q> {
    query: &'q AnalyticQuery,
    queries: &'q mut HashSet<String>,
    cast: HashMap<usize, SqlType>,
    parameters: usize,
    wrong: Option<SqlError>,
}

impl VisitorMut for Rewriter<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for one in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.queries.insert(name_of(&one.alias.name));
        }
        if !query.locks.is_empty() {
            return self.fail(unsupported("an analytic read locks no rows"));
        }
        name_all(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<()> {
        match factor {
            ast::TableFactor::Table { args: Some(_), .. } => {
                self.fail(unsupported("functions as tables are not read analytically"))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expression
            && let Value::Placeholder(name) = &value.value
            && let Some(number) = number_of(name)
        {
            self.parameters = self.parameters.max(number);
        }
        if let Expr::Cast {
            expr, data_type, ..
        } = expression
            && let Some(number) = parameter_of(expr)
            && let Ok(kind) = known_type(data_type)
        {
            self.cast.entry(number).or_insert(kind);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let rewritten = match expression {
            Expr::Cast { .. } => rewritten_cast(expression),
            Expr::TypedString(TypedString { data_type, .. }) => {
                microseconds(data_type);
                Ok(())
            }
            Expr::Extract { field, .. } => check_part(field),
            Expr::Function(function) => self.rewritten_function(function).map(|new| {
                if let Some(new) = new {
                    *expression = new;
                }
            }),
            Expr::Trim {
                trim_what: Some(_), ..
            } => Ok(()),
            _ => Ok(()),
        };
        match rewritten {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => self.fail(error),
        }
    }
}

impl Rewriter<'_> {
    fn fail(&mut self, error: SqlError) -> ControlFlow<()> {
        self.wrong = Some(error);
        ControlFlow::Break(())
    }

    /// What stands for a function that means something else here.
    fn rewritten_function(&self, function: &mut Function) -> Result<Option<Expr>, SqlError> {
        if let [
            ObjectNamePart::Identifier(schema),
            ObjectNamePart::Identifier(_),
        ] = &function.name.0[..]
            && name_of(schema) == "pg_catalog"
        {
            function.name.0.remove(0);
        }
        let [ObjectNamePart::Identifier(name)] = &mut function.name.0[..] else {
            return Ok(None);
        };
        let begun = self.query.transaction_started;
        let time = |kind: SqlType, micros: i64| {
            let mut text = String::new();
            encode_text(kind, &ValueRef::Timestamp(micros), &mut text);
            match kind {
                SqlType::Date => {
                    let days = micros.div_euclid(86_400_000_000);
                    let mut text = String::new();
                    let days = i32::try_from(days).unwrap_or(0);
                    encode_text(kind, &ValueRef::Date(days), &mut text);
                    literal(&text, DataType::Date)
                }
                SqlType::Timestamptz => literal(&text, timestamp(TimezoneInfo::WithTimeZone)),
                _ => literal(&text, timestamp(TimezoneInfo::None)),
            }
        };
        Ok(match name_of(name).as_str() {
            "now" | "current_timestamp" | "transaction_timestamp" => {
                Some(time(SqlType::Timestamptz, begun))
            }
            "statement_timestamp" | "clock_timestamp" => {
                Some(time(SqlType::Timestamptz, self.query.statement_started))
            }
            "localtimestamp" => Some(time(SqlType::Timestamp, begun)),
            "current_date" => Some(time(SqlType::Date, begun)),
            "every" => renamed(name, "bool_and"),
            "char_length" | "length" => renamed(name, "character_length"),
            "substring" => renamed(name, "substr"),
            "ceiling" => renamed(name, "ceil"),
            "stddev_samp" => renamed(name, "stddev"),
            "variance" | "var_samp" => renamed(name, "var"),
            "pow" => renamed(name, "power"),
            "log" => renamed(name, "log10"),
            "date_part" => {
                let part = match &function.args {
                    FunctionArguments::List(list) => list.args.first().map(ToString::to_string),
                    _ => None,
                };
                let part = part.unwrap_or_default().trim_matches('\'').to_lowercase();
                check_part_named(&part)?;
                None
            }
            _ => None,
        })
    }
}

fn renamed(name: &mut Ident, to: &str) -> Option<Expr> {
    *name = Ident::new(to);
    None
}

fn number_of(placeholder: &str) -> Option<usize> {
    placeholder.strip_prefix('$')?.parse().ok()
}

fn parameter_of(expression: &Expr) -> Option<usize> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => number_of(name),
            _ => None,
        },
        Expr::Nested(inner) => parameter_of(inner),
        _ => None,
    }
}

fn timestamp(zone: TimezoneInfo) -> DataType {
    DataType::Timestamp(Some(6), zone)
}

fn microseconds(data_type: &mut DataType) {
    if let DataType::Timestamp(digits @ None, _) = data_type {
        *digits = Some(6);
    }
}

/// A literal of a type.
fn literal(text: &str, data_type: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text.to_string()),
            span: Span::empty(),
        })),
        data_type,
        array: false,
        format: None,
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(FunctionArgExpr::Expr);
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.map(FunctionArg::Unnamed).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The SQL layer's type of a type's name.
fn known_type(data_type: &DataType) -> Result<SqlType, SqlError> {
    let kind = match data_type {
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            Some(SqlType::Timestamptz)
        }
        DataType::Timestamp(..) => Some(SqlType::Timestamp),
        DataType::Numeric(_) | DataType::Decimal(_) => Some(SqlType::Numeric),
        DataType::Int(_) | DataType::Int4(_) | DataType::Integer(_) => Some(SqlType::Int4),
        DataType::SmallInt(_) | DataType::Int2(_) => Some(SqlType::Int2),
        DataType::BigInt(_) | DataType::Int8(_) => Some(SqlType::Int8),
        DataType::Real | DataType::Float4 => Some(SqlType::Float4),
        DataType::Float8 | DataType::DoublePrecision => Some(SqlType::Float8),
        other => SqlType::named(&other.to_string().to_lowercase()),
    };
    kind.ok_or_else(|| unsupported(format!("a cast to {data_type} is not read analytically")))
}

/// A cast as PostgreSQL has it.
fn rewritten_cast(expression: &mut Expr) -> Result<(), SqlError> {
    let Expr::Cast {
        kind,
        expr,
        data_type,
        ..
    } = expression
    else {
        return Ok(());
    };
    if !matches!(kind, CastKind::Cast | CastKind::DoubleColon) {
        return Err(unsupported("this kind of cast is not supported"));
    }
    microseconds(data_type);
    let is_parameter = parameter_of(expr).is_some();
    let mut inner = || {
        let nothing = Expr::Value(ValueWithSpan {
            value: Value::Null,
            span: Span::empty(),
        });
        std::mem::replace(&mut **expr, nothing)
    };
    let converted = |conversion: Conversion, of: Expr| call(conversion.name(), vec![of]);
    let length = match data_type {
        DataType::Varchar(length)
        | DataType::CharacterVarying(length)
        | DataType::CharVarying(length) => Some(*length),
        DataType::Char(length) | DataType::Character(length) => {
            Some(length.or(Some(CharacterLength::IntegerLength {
                length: 1,
                unit: None,
            })))
        }
        DataType::Text | DataType::Uuid => Some(None),
        _ => None,
    };
    match (length, &*data_type) {
        (Some(length), _) => {
            let inner = match is_parameter {
                true => {
                    // It is a text already, which the cast says.
                    *data_type = DataType::Text;
                    expression.clone()
                }
                false => converted(Conversion::Text, inner()),
            };
            *expression = match length {
                Some(CharacterLength::IntegerLength { length, .. }) => {
                    let length = Value::Number(length.to_string(), false);
                    let length = Expr::Value(ValueWithSpan {
                        value: length,
                        span: Span::empty(),
                    });
                    call("left", vec![inner, length])
                }
                _ => inner,
            };
        }
        (
            None,
            DataType::Numeric(ExactNumberInfo::None) | DataType::Decimal(ExactNumberInfo::None),
        ) if !is_parameter => {
            *expression = converted(Conversion::Numeric, inner());
        }
        (None, data_type) => match known_type(data_type)? {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 if !is_parameter => {
                let inner = inner();
                **expr = converted(Conversion::Whole, inner);
            }
            SqlType::Bytea if !is_parameter => {
                return Err(unsupported("a cast to bytea is not read analytically"));
            }
            SqlType::Oid | SqlType::Regclass | SqlType::Name | SqlType::OneChar => {
                return Err(unsupported(format!(
                    "a cast to {data_type} is not read analytically"
                )));
            }
            _ => {}
        },
    }
    Ok(())
}

fn check_part(field: &DateTimeField) -> Result<(), SqlError> {
    check_part_named(&field.to_string().to_lowercase())
}

/// Parts of times that DataFusion has as PostgreSQL has them: seconds would be whole.
fn check_part_named(part: &str) -> Result<(), SqlError> {
    let known = [
        "year", "quarter", "month", "week", "day", "dow", "doy", "hour", "minute", "epoch",
    ];
    match known.contains(&part) {
        true => Ok(()),
        false => Err(unsupported(format!(
            "the part {part:?} of a time is not read analytically"
        ))),
    }
}

/// Gives names to the columns of a body's select lists; queries in it are visited themselves.
fn name_all(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => name_items(select),
        SetExpr::SetOperation { left, right, .. } => {
            name_all(left);
            name_all(right);
        }
        _ => {}
    }
}

/// Gives names to the columns of a select list, which are all different.
fn name_items(select: &mut Select) {
    let mut names: HashSet<String> = HashSet::new();
    let all = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    };
    let has_all = select.projection.iter().any(all);
    for (place, item) in select.projection.iter_mut().enumerate() {
        let (name, is_named) = match item {
            SelectItem::UnnamedExpr(expression) => {
                let is_column = matches!(
                    expression,
                    Expr::Identifier(_) | Expr::CompoundIdentifier(_)
                );
                (name_of_expression(expression), is_column)
            }
            SelectItem::ExprWithAlias { alias, .. } => (name_of(alias), true),
            _ => continue,
        };
        // Any column is among all of a table.
        let is_column = matches!(item, SelectItem::UnnamedExpr(_)) && is_named;
        let is_new = names.insert(name.clone()) && !(has_all && is_column);
        if is_new && is_named {
            continue;
        }
        let name = match is_new {
            true => name,
            false => format!("{name}{MARK}{place}"),
        };
        let alias = Ident::with_quote('"', name);
        match item {
            SelectItem::UnnamedExpr(expression) => {
                *item = SelectItem::ExprWithAlias {
                    expr: expression.clone(),
                    alias,
                };
            }
            SelectItem::ExprWithAlias { alias: there, .. } => *there = alias,
            _ => {}
        }
    }
}

/// The name that PostgreSQL gives to a column.
fn name_of_expression(expression: &Expr) -> String {
    let inner = match expression {
        Expr::Identifier(ident) => return name_of(ident),
        Expr::CompoundIdentifier(parts) => parts.last().map(name_of),
        Expr::Function(function) => match function.name.0.last() {
            Some(ObjectNamePart::Identifier(name)) => Some(name_of(name)),
            _ => None,
        },
        Expr::Cast {
            expr, data_type, ..
        } => match name_of_expression(expr) {
            name if name == "?column?" => known_type(data_type)
                .ok()
                .map(|kind| TypeSpec::plain(kind).kind.internal_name().to_string()),
            name => Some(name),
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => Some(name_of_expression(inner)),
        Expr::Case { else_result, .. } => match else_result {
            Some(otherwise) => match name_of_expression(otherwise) {
                name if name == "?column?" => Some("case".into()),
                name => Some(name),
            },
            None => Some("case".into()),
        },
        Expr::Extract { .. } => Some("extract".into()),
        Expr::Substring { .. } => Some("substring".into()),
        Expr::Trim { .. } => Some("btrim".into()),
        Expr::Position { .. } => Some("position".into()),
        Expr::Ceil { .. } => Some("ceil".into()),
        Expr::Floor { .. } => Some("floor".into()),
        Expr::Exists { .. } => Some("exists".into()),
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match &select.projection[..] {
                [SelectItem::UnnamedExpr(expression)] => Some(name_of_expression(expression)),
                [SelectItem::ExprWithAlias { alias, .. }] => Some(name_of(alias)),
                _ => None,
            },
            _ => None,
        },
        Expr::TypedString(typed) => known_type(&typed.data_type)
            .ok()
            .map(|kind| kind.internal_name().to_string()),
        Expr::Interval(_) => Some("interval".into()),
        Expr::Value(value) if matches!(value.value, ast::Value::Boolean(_)) => Some("bool".into()),
        _ => None,
    };
    inner.unwrap_or_else(|| "?column?".into())
}
