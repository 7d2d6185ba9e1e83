//! Calls of aggregates, compiled: arguments, order and filter.

use super::cast::{Coercion, is_number_of};
use super::coercion::padded;
use super::compile::Compiler;
use super::functions::{INET_TEXT, JSON_MOMENT, NOT_A_NAME, in_session, unknown};
use super::order::sort_key;
use super::ordered_sets::check_direct;
use super::trees::parts_of_function;
use super::whole_rows::{counted, with_whole_rows};
use super::{Expr, Function, SortKey, Typed, ordered, sortable};
use crate::aggregate::{Aggregate, AggregateKind, Grouping, Named};
use crate::error::{SqlError, code};
use crate::names::function_name;
use crate::types::{SqlType, TypeSpec};
use crate::values::json::is_no_name;
use crate::values::order_keys::check_comparable;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments};

/// The function of the keys by which a row is not grouped, and the most arguments that it takes.
pub(super) const GROUPING: &str = "grouping";
const GROUPING_MAX: usize = 31;

/// The error of `GROUPING` with an argument that is no key.
pub(super) fn no_grouping() -> SqlError {
    SqlError::new(
        code::GROUPING,
        "arguments to GROUPING must be grouping expressions of the associated query level",
    )
}

/// The argument of an aggregate, and its separator or name.
type Arguments = (Option<Typed>, Option<Expr>);

impl Compiler<'_> {
    /// `GROUPING(…)`, if that is the function.
    ///
    /// # Errors
    /// `42803` if an argument is no key of the query's groups.
    pub(super) fn grouping_bits(
        &mut self,
        function: &ast::Function,
        grouping: &Grouping,
    ) -> Result<Option<Typed>, SqlError> {
        if function_name(function)? != GROUPING {
            return Ok(None);
        }
        let FunctionArguments::List(list) = &function.args else {
            return Err(no_grouping());
        };
        if list.args.len() > GROUPING_MAX {
            return Err(SqlError::new(
                "54023",
                format!(
                    "GROUPING must have fewer than {} arguments",
                    GROUPING_MAX + 1
                ),
            ));
        }
        let mut places = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
                return Err(no_grouping());
            };
            let key = match grouping.key_of_tree(tree) {
                Some(key) => Some(key),
                None => grouping.key(&self.compile(tree)?),
            };
            match key.map(|key| key.expr) {
                Some(Expr::Column(place)) => places.push(place),
                _ => return Err(no_grouping()),
            }
        }
        let bits = grouping.bits_of(&places);
        Ok(Some(Typed::new(bits, SqlType::Int4)))
    }

    /// An aggregate, if the function is one, as its place in the row of a group.
    pub(super) fn aggregate(
        &mut self,
        function: &ast::Function,
        grouping: &mut Grouping,
    ) -> Result<Option<Typed>, SqlError> {
        let named = Aggregate::called(function, &function_name(function)?);
        let Some(named) = named.filter(|_| function.over.is_none()) else {
            return Ok(None);
        };
        if let Some(outer) = self.outer_aggregate(named, function)? {
            return Ok(Some(outer));
        }
        let made = self.without_windows(|compiler| {
            compiler.without_rows(|compiler| compiler.aggregate_call(named, function))
        });
        let aggregate = made.map_err(|error| match error.code {
            code::WINDOWING => SqlError::new(
                code::GROUPING,
                "aggregate function calls cannot contain window function calls",
            ),
            _ => error,
        })?;
        check_direct(&aggregate, grouping)?;
        let reads = |is_it: &dyn Fn(&Expr) -> bool| aggregate.parts().any(|part| part.any(is_it));
        let reads_outer = reads(&|part| matches!(part, Expr::Outer(_)));
        if reads_outer && !reads(&|part| matches!(part, Expr::Column(_))) {
            return Err(SqlError::unsupported(
                "an aggregate of a subquery that reads a query around this one is not supported",
            ));
        }
        Ok(Some(grouping.add(aggregate)))
    }

    /// An aggregate with its arguments.
    pub(super) fn aggregate_call(
        &mut self,
        named: Named,
        function: &ast::Function,
    ) -> Result<Aggregate, SqlError> {
        if let AggregateKind::OrderedSet { set, .. } = named.kind {
            return self.ordered_set((named.name, set), function);
        }
        let FunctionArguments::List(list) = &function.args else {
            return Err(SqlError::syntax(
                "an aggregate needs arguments in parentheses",
            ));
        };
        if !function.within_group.is_empty() {
            let mut kinds = Vec::new();
            for tree in parts_of_function(function) {
                kinds.push(self.compile(tree)?.kind());
            }
            return Err(unknown(named.name, &kinds));
        }
        let kind = named.kind;
        let filter = self.filter_of(function)?;
        let is_distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
        let (argument, separator) = self.aggregate_arguments(kind, function, list)?;
        let needs_two = matches!(
            kind,
            AggregateKind::Texts | AggregateKind::JsonObject | AggregateKind::Pair(_)
        );
        if needs_two && separator.is_none() {
            return Err(SqlError::new(
                code::UNKNOWN_FUNCTION,
                format!("{} needs two arguments", function.name),
            ));
        }
        let is_kept = self.is_of_kept_text();
        let argument = argument.map(|argument| match kind {
            // Kept texts have averages of numbers of objects, which were whole numbers in an earlier version.
            AggregateKind::Average if is_kept && is_number_of(argument.kind()) => {
                Typed::new(argument.expr, SqlType::Int8)
            }
            AggregateKind::Array | AggregateKind::JsonArray | AggregateKind::JsonObject => Typed {
                spec: TypeSpec::plain(argument.spec.kind).with_collation(argument.spec.collation),
                expr: padded(argument),
            },
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor
                if argument.kind() == SqlType::Varbit =>
            {
                Typed::new(argument.expr, SqlType::Bit)
            }
            AggregateKind::Count if !is_distinct => Typed {
                spec: argument.spec,
                expr: counted(argument.expr),
            },
            AggregateKind::Count => Typed {
                spec: argument.spec,
                expr: ordered(argument),
            },
            _ => argument,
        });
        let mut aggregate = Aggregate::new(named, argument.clone(), is_distinct, filter)?;
        let of = aggregate.of;
        let had_own_type = of.is_object() || matches!(of, SqlType::Name | SqlType::OneChar);
        if let AggregateKind::Minimum | AggregateKind::Maximum = kind
            && is_kept
            && had_own_type
        {
            aggregate.result = of;
        }
        let order = self.beside(|compiler| compiler.aggregate_order(function, list))?;
        if is_distinct {
            if let Some(argument) = &argument {
                check_comparable(argument.kind(), "equality")?;
            }
            self.check_order(argument.as_ref(), &order, list)?;
        }
        (aggregate.separator, aggregate.order) = (separator, order);
        Ok(aggregate)
    }

    /// The filter of a call. As in PostgreSQL, its errors go before that of an aggregate that no type has, and behind those of
    /// the arguments themselves.
    ///
    /// # Errors
    /// An error in the filter, or in an argument.
    pub(super) fn filter_of(&mut self, function: &ast::Function) -> Result<Option<Expr>, SqlError> {
        let Some(filter) = &function.filter else {
            return Ok(None);
        };
        let filter = self.beside(|compiler| compiler.condition(filter, "FILTER"));
        filter.map(Some).map_err(|error| {
            let mut trees = trees_of(function).into_iter();
            let of_argument = trees.find_map(|tree| self.compile(tree).err());
            of_argument.unwrap_or(error)
        })
    }

    fn aggregate_arguments(
        &mut self,
        kind: AggregateKind,
        function: &ast::Function,
        list: &FunctionArgumentList,
    ) -> Result<Arguments, SqlError> {
        Ok(match (kind, &*with_whole_rows(&list.args)) {
            (_, [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]) => (None, None),
            (_, [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))]) => {
                let argument = self.decided(argument)?;
                match kind {
                    AggregateKind::JsonArray => (Some(in_session(self, "json", argument)?), None),
                    _ => (Some(argument), None),
                }
            }
            (
                AggregateKind::Texts,
                [
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)),
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(between)),
                ],
            ) => {
                let argument = self.decided(argument)?;
                let separator = match argument.kind() {
                    SqlType::Bytea => {
                        let between = self.compile(between)?;
                        if !matches!(between.kind(), SqlType::Bytea | SqlType::Unknown) {
                            return Err(unknown("string_agg", &[SqlType::Bytea, between.kind()]));
                        }
                        self.as_type(between, SqlType::Bytea)?.expr
                    }
                    _ => self.text(between, "string_agg")?,
                };
                let argument = match argument.kind() {
                    SqlType::Char => self.as_type(argument, SqlType::Text)?,
                    _ => argument,
                };
                (Some(argument), Some(separator))
            }
            (
                AggregateKind::Pair(_),
                [
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(y)),
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(x)),
                ],
            ) => {
                let (y, x) = (self.compile(y)?, self.compile(x)?);
                let kinds = [y.kind(), x.kind()];
                let is_number = |kind: &SqlType| kind.is_number() || *kind == SqlType::Unknown;
                if !kinds.iter().all(is_number) {
                    return Err(unknown(&function_name(function)?, &kinds));
                }
                let float = TypeSpec::plain(SqlType::Float8);
                let y = self.coerce(y, float, Coercion::Implicit)?;
                let x = self.coerce(x, float, Coercion::Implicit)?;
                (Some(Typed::new(y, SqlType::Float8)), Some(x))
            }
            (
                AggregateKind::JsonObject,
                [
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(name)),
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)),
                ],
            ) => {
                let name = self.decided(name)?;
                let text = TypeSpec::plain(SqlType::Text);
                let is_time = matches!(name.kind(), SqlType::Timestamp | SqlType::Timestamptz);
                let kind = name.kind();
                let is_name = !is_no_name(kind);
                let mut name = match kind {
                    // Without the mask of a host, which a cast adds.
                    SqlType::Inet => Expr::Call(Function(&INET_TEXT), vec![name.expr]),
                    // With its blanks.
                    SqlType::Char => padded(name),
                    _ => self.coerce(name, text, Coercion::Explicit)?,
                };
                if !is_name {
                    name = Expr::Call(Function(&NOT_A_NAME), vec![name]);
                }
                if is_time {
                    name = Expr::Call(Function(&JSON_MOMENT), vec![name]);
                }
                let argument = self.decided(argument)?;
                (Some(in_session(self, "json", argument)?), Some(name))
            }
            (_, given) => {
                let name = function_name(function)?;
                if given.is_empty() && kind == AggregateKind::Count {
                    let text = "count(*) must be used to call a parameterless aggregate function";
                    return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text));
                }
                let mut kinds = Vec::with_capacity(given.len());
                for argument in given {
                    let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
                        return Err(SqlError::unsupported(format!(
                            "aggregates with these arguments are not supported: {function}"
                        )));
                    };
                    kinds.push(self.compile(tree)?.kind());
                }
                return Err(unknown(&name, &kinds));
            }
        })
    }

    /// Checks that an aggregate with `DISTINCT` is ordered by its arguments only. Texts that are kept may be ordered by
    /// whatever reads the columns of the first one, as in earlier versions.
    ///
    /// # Errors
    /// `42P10` if it is not.
    fn check_order(
        &mut self,
        argument: Option<&Typed>,
        order: &[SortKey],
        list: &FunctionArgumentList,
    ) -> Result<(), SqlError> {
        let is_other = match self.is_of_kept_text() {
            true => {
                let own = argument.map_or_else(Vec::new, |argument| columns_of(&argument.expr));
                let is_of_others = |key: &SortKey| {
                    let columns = columns_of(&key.expression);
                    columns.iter().any(|column| !own.contains(column))
                };
                order.iter().any(is_of_others)
            }
            false if order.is_empty() => false,
            false => {
                let given = with_whole_rows(&list.args);
                let mut own = Vec::with_capacity(given.len());
                for argument in given.iter() {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument {
                        let argument = self.beside(|compiler| compiler.decided(tree))?;
                        own.push(sortable(argument)?);
                    }
                }
                // Each place compiles a subquery anew: its text is compared, too.
                let is_given = |tree: &ast::Expr| {
                    let mut given = given.iter();
                    given.any(|argument| matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(own)) if own == tree))
                };
                let mut keys = order.iter().zip(ordering(list));
                keys.any(|(key, by)| !own.contains(&key.expression) && !is_given(&by.expr))
            }
        };
        match is_other {
            false => Ok(()),
            true => Err(SqlError::new(
                code::INVALID_COLUMN_REFERENCE,
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
            )),
        }
    }

    fn aggregate_order(
        &mut self,
        function: &ast::Function,
        list: &FunctionArgumentList,
    ) -> Result<Vec<SortKey>, SqlError> {
        let mut order = Vec::new();
        for clause in &list.clauses {
            let ast::FunctionArgumentClause::OrderBy(keys) = clause else {
                return Err(SqlError::unsupported(format!(
                    "clauses inside of aggregates are not supported: {function}"
                )));
            };
            for by in keys {
                let expression = sortable(self.decided(&by.expr)?)?;
                order.push(sort_key(expression, by)?);
            }
        }
        Ok(order)
    }
}

/// The keys of an aggregate's order.
fn ordering(list: &FunctionArgumentList) -> impl Iterator<Item = &ast::OrderByExpr> {
    let keys = list.clauses.iter().filter_map(|clause| match clause {
        ast::FunctionArgumentClause::OrderBy(keys) => Some(keys),
        _ => None,
    });
    keys.flatten()
}

/// The arguments of a call, and the values of `WITHIN GROUP`.
fn trees_of(function: &ast::Function) -> Vec<&ast::Expr> {
    let list = match &function.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    let mut trees = Vec::with_capacity(list.len() + function.within_group.len());
    trees.extend(list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) => Some(tree),
        _ => None,
    }));
    trees.extend(function.within_group.iter().map(|by| &by.expr));
    trees
}

/// The columns that an expression reads.
fn columns_of(expression: &Expr) -> Vec<usize> {
    let mut columns = Vec::new();
    expression.walk(&mut |part| {
        if let Expr::Column(column) = part {
            columns.push(*column);
        }
    });
    columns
}
