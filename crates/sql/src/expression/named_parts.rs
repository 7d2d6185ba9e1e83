//! The names in a tree that mean objects: relations, functions, types and operator classes, and texts that name relations.
//!
//! The parser gives each its own node, so a word that means something else is none: a field of `EXTRACT`, the value behind
//! `IS DISTINCT FROM`, a column. A relation that a `WITH` around it names is none, either.

use super::trees::parts_of_tree;
use crate::names::{name_of, qualified};
use sqlparser::ast::{
    AlterTableOperation, ArrayElemTypeDef, DataType, Distinct, Expr as Tree, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, GroupByExpr, InTarget, JoinConstraint, JoinOperator,
    LimitClause, NamedWindowExpr, ObjectName, OrderByExpr, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias, TableConstraint, TableFactor,
    TableWithJoins, Value as Literal, ValueWithSpan, WindowSpec,
};

/// A name, by what it names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named<'t> {
    Relation(&'t ObjectName),
    Routine(&'t ObjectName),
    Type(&'t ObjectName),
    /// An operator class of an index.
    Class(&'t ObjectName),
    /// A literal that names a relation.
    Text(&'t ValueWithSpan),
}

/// All names below an expression, in their order.
pub(super) fn in_expression(tree: &Tree) -> Vec<Named<'_>> {
    let mut names = Names::default();
    names.tree(tree);
    names.found
}

/// The names in a query, in the definition of an index or a trigger, and in a constraint that is added to a table.
pub(super) fn in_statement(statement: &Statement) -> Vec<Named<'_>> {
    let mut names = Names::default();
    match statement {
        Statement::Query(query) => names.query(query),
        Statement::CreateIndex(index) => {
            names.found.push(Named::Relation(&index.table_name));
            for column in &index.columns {
                names.tree(&column.column.expr);
                let class = column.operator_class.iter();
                names.found.extend(class.map(Named::Class));
            }
            names.trees(index.predicate.iter());
        }
        Statement::CreateTrigger(trigger) => {
            names.found.push(Named::Relation(&trigger.table_name));
            names.trees(trigger.condition.iter());
            let body = trigger.exec_body.iter();
            let called = body.map(|body| Named::Routine(&body.func_desc.name));
            names.found.extend(called);
        }
        Statement::AlterTable(alter) => {
            for operation in &alter.operations {
                if let AlterTableOperation::AddConstraint { constraint, .. } = operation {
                    names.constraint(constraint);
                }
            }
        }
        _ => {}
    }
    names.found
}

/// The functions whose first argument is the name of a sequence.
const OF_SEQUENCES: [&str; 3] = ["nextval", "currval", "setval"];

#[derive(Default)]
struct Names<'t> {
    found: Vec<Named<'t>>,
    /// The names of the queries of `WITH` that are seen.
    queries: Vec<String>,
}

impl<'t> Names<'t> {
    fn constraint(&mut self, constraint: &'t TableConstraint) {
        match constraint {
            TableConstraint::Check(check) => self.tree(&check.expr),
            TableConstraint::ForeignKey(key) => {
                self.found.push(Named::Relation(&key.foreign_table));
            }
            _ => {}
        }
    }

    fn query(&mut self, query: &'t Query) {
        let before = self.queries.len();
        if let Some(with) = &query.with {
            let names = with.cte_tables.iter().map(|cte| name_of(&cte.alias.name));
            let mut names: Vec<String> = names.collect();
            if with.recursive {
                self.queries.append(&mut names);
            }
            let mut names = names.into_iter();
            for cte in &with.cte_tables {
                self.query(&cte.query);
                self.queries.extend(names.next());
            }
        }
        self.set(&query.body);
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(keys) = &order.kind
        {
            self.keys(keys);
        }
        match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                self.trees(limit);
                self.trees(offset.iter().map(|offset| &offset.value));
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => self.trees([offset, limit]),
            None => {}
        }
        let fetch = query.fetch.iter();
        self.trees(fetch.filter_map(|fetch| fetch.quantity.as_ref()));
        self.queries.truncate(before);
    }

    fn set(&mut self, mut body: &'t SetExpr) {
        // A chain of UNION is as deep on its left as it is long.
        while let SetExpr::SetOperation { left, right, .. } = body {
            self.set(right);
            body = left;
        }
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::Values(values) => {
                for row in &values.rows {
                    self.trees(&row.content);
                }
            }
            _ => {}
        }
    }

    fn select(&mut self, select: &'t Select) {
        if let Some(Distinct::On(trees)) = &select.distinct {
            self.trees(trees);
        }
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(tree)
                | SelectItem::ExprWithAlias { expr: tree, .. }
                | SelectItem::ExprWithAliases { expr: tree, .. }
                | SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(tree), _) => {
                    self.tree(tree);
                }
                SelectItem::QualifiedWildcard(..) | SelectItem::Wildcard(_) => {}
            }
        }
        for item in &select.from {
            self.joined(item);
        }
        self.trees(&select.selection);
        if let GroupByExpr::Expressions(trees, _) = &select.group_by {
            self.trees(trees);
        }
        self.trees(&select.having);
        for window in &select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = &window.1 {
                self.window(spec);
            }
        }
    }

    fn window(&mut self, spec: &'t WindowSpec) {
        self.trees(&spec.partition_by);
        self.keys(&spec.order_by);
    }

    fn keys(&mut self, keys: &'t [OrderByExpr]) {
        self.trees(keys.iter().map(|key| &key.expr));
    }

    fn joined(&mut self, item: &'t TableWithJoins) {
        self.factor(&item.relation);
        for join in &item.joins {
            self.factor(&join.relation);
            use JoinOperator::{
                CrossJoin, FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter,
            };
            if let Join(on) | Inner(on) | Left(on) | LeftOuter(on) | Right(on) | RightOuter(on)
            | FullOuter(on) | CrossJoin(on) = &join.join_operator
                && let JoinConstraint::On(tree) = on
            {
                self.tree(tree);
            }
        }
    }

    fn factor(&mut self, factor: &'t TableFactor) {
        match factor {
            TableFactor::Table {
                name, args, alias, ..
            } => {
                match args {
                    Some(called) => {
                        self.found.push(Named::Routine(name));
                        self.arguments(&called.args);
                    }
                    None => self.relation(name),
                }
                self.alias(alias);
            }
            TableFactor::Function {
                name, args, alias, ..
            } => {
                self.found.push(Named::Routine(name));
                self.arguments(args);
                self.alias(alias);
            }
            TableFactor::Derived { subquery, .. } => self.query(subquery),
            TableFactor::TableFunction { expr, alias } => {
                self.tree(expr);
                self.alias(alias);
            }
            TableFactor::UNNEST {
                array_exprs, alias, ..
            } => {
                self.trees(array_exprs);
                self.alias(alias);
            }
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.joined(table_with_joins),
            _ => {}
        }
    }

    fn relation(&mut self, name: &'t ObjectName) {
        let is_query = match qualified(name) {
            Ok((None, name)) => self.queries.contains(&name),
            _ => false,
        };
        if !is_query {
            self.found.push(Named::Relation(name));
        }
    }

    /// The types of columns that an alias declares.
    fn alias(&mut self, alias: &'t Option<TableAlias>) {
        let columns = alias.iter().flat_map(|alias| &alias.columns);
        for kind in columns.filter_map(|column| column.data_type.as_ref()) {
            self.kind(kind);
        }
    }

    fn arguments(&mut self, arguments: &'t [FunctionArg]) {
        for argument in arguments {
            let (FunctionArg::Unnamed(value)
            | FunctionArg::Named { arg: value, .. }
            | FunctionArg::ExprNamed { arg: value, .. }) = argument;
            if let FunctionArgExpr::Expr(tree) = value {
                self.tree(tree);
            }
        }
    }

    fn trees(&mut self, trees: impl IntoIterator<Item = &'t Tree>) {
        for tree in trees {
            self.tree(tree);
        }
    }

    fn tree(&mut self, tree: &'t Tree) {
        let mut rest = vec![tree];
        while let Some(tree) = rest.pop() {
            match tree {
                Tree::Function(function) => self.function(function),
                Tree::Cast {
                    expr, data_type, ..
                } => {
                    self.kind(data_type);
                    if is_regclass(data_type) {
                        self.found.extend(literal_of(expr));
                    }
                }
                Tree::TypedString(typed) => {
                    self.kind(&typed.data_type);
                    if is_regclass(&typed.data_type) {
                        self.found.push(Named::Text(&typed.value));
                    }
                }
                Tree::Subquery(query)
                | Tree::Exists {
                    subquery: query, ..
                }
                | Tree::In {
                    target: InTarget::Subquery(query),
                    ..
                } => self.query(query),
                _ => {}
            }
            rest.extend(parts_of_tree(tree));
        }
    }

    /// The names of a call, without those of its arguments.
    fn function(&mut self, function: &'t Function) {
        self.found.push(Named::Routine(&function.name));
        match &function.args {
            FunctionArguments::Subquery(query) => self.query(query),
            FunctionArguments::List(list) => {
                let draws = |(schema, name): (Option<String>, String)| {
                    schema.is_none_or(|schema| schema == "pg_catalog")
                        && OF_SEQUENCES.contains(&&*name)
                };
                if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first()
                    && qualified(&function.name).is_ok_and(draws)
                {
                    self.found.extend(literal_of(first));
                }
            }
            FunctionArguments::None => {}
        }
    }

    fn kind(&mut self, mut kind: &'t DataType) {
        while let DataType::Array(
            ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::Parenthesis(element)
            | ArrayElemTypeDef::ParenthesisNotNull(element)
            | ArrayElemTypeDef::Qualified(element, _),
        ) = kind
        {
            kind = element;
        }
        if let DataType::Custom(name, _) = kind {
            self.found.push(Named::Type(name));
        }
    }
}

fn is_regclass(kind: &DataType) -> bool {
    match kind {
        DataType::Regclass => true,
        DataType::Custom(name, _) => qualified(name).is_ok_and(|(_, name)| name == "regclass"),
        _ => false,
    }
}

/// The literal that an expression is.
fn literal_of(tree: &Tree) -> Option<Named<'_>> {
    match tree {
        Tree::Value(value) => match &value.value {
            Literal::SingleQuotedString(_) | Literal::EscapedStringLiteral(_) => {
                Some(Named::Text(value))
            }
            _ => None,
        },
        Tree::Nested(inner) => literal_of(inner),
        _ => None,
    }
}
