//! `x operator ANY (array)` and `ALL` for operators that do not compare, such as `@>`, `&&`, `~` and `LIKE`.
//!
//! Of the elements of `ARRAY[…]` a chain of `OR` or `AND` is made. Any other array is a query over its elements.

use super::Typed;
use super::compile::Compiler;
use crate::error::{SqlError, code};
use crate::parse::{ALL, ANY, parse_expression};
use crate::types::SqlType;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CaseWhen, CastKind, DataType, Expr as Tree, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart, Query, Select, SelectItem, SetExpr,
    TableFactor,
};

/// The element, in the query over the elements.
const ELEMENT: &str = "?element";

/// The query: of nothing it is `ANY` or `ALL` of no element, of null it is null.
fn template(is_all: bool) -> String {
    let (found, otherwise, each) = match is_all {
        true => ("false", "true", "not met"),
        false => ("true", "false", "met"),
    };
    format!(
        "(select case when bool_or({each}) then {found} when bool_or(met is null) then null else {otherwise} end \
         from (select null as met from unnest(null) as \"?elements\" (\"{ELEMENT}\")) as \"?met\")"
    )
}

/// The array of `ANY` or `ALL`, as the parser's text has it behind such operators, and true for `ALL`.
pub(super) fn quantified(tree: &Tree) -> Option<(&Tree, bool)> {
    let Tree::Function(function) = tree else {
        return None;
    };
    let [ObjectNamePart::Identifier(name)] = &function.name.0[..] else {
        return None;
    };
    let is_all = match name.value.as_str() {
        ANY => false,
        ALL => true,
        _ => return None,
    };
    match &function.args {
        FunctionArguments::List(list) => match &list.args[..] {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] => Some((array, is_all)),
            _ => None,
        },
        _ => None,
    }
}

/// `ARRAY(query)`.
fn array_of(query: &Query) -> Result<Tree, SqlError> {
    let mut tree = parse_expression("array(select null)")?;
    match &mut tree {
        Tree::Function(function) => {
            function.args = FunctionArguments::Subquery(Box::new(query.clone()));
            Ok(tree)
        }
        _ => Err(SqlError::new(
            code::INTERNAL,
            "ARRAY of a query is no function",
        )),
    }
}

fn select_of(query: &mut Query) -> Option<&mut Select> {
    match &mut *query.body {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

fn inner_of(select: &mut Select) -> Option<&mut Select> {
    match &mut select.from.first_mut()?.relation {
        TableFactor::Derived { subquery, .. } => select_of(subquery),
        _ => None,
    }
}

/// Puts the test of an element, and the array, into the query.
fn fill(tree: &mut Tree, test: Tree, array: Tree) -> Option<()> {
    let tree = match tree {
        Tree::Nested(inner) => &mut **inner,
        tree => tree,
    };
    let Tree::Subquery(query) = tree else {
        return None;
    };
    let inner = inner_of(select_of(query)?)?;
    match inner.projection.first_mut()? {
        SelectItem::ExprWithAlias { expr, .. } => *expr = test,
        _ => return None,
    }
    let relation = &mut inner.from.first_mut()?.relation;
    match relation {
        TableFactor::Table {
            args: Some(arguments),
            ..
        } => {
            arguments.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(array))];
        }
        TableFactor::UNNEST { array_exprs, .. } => *array_exprs = vec![array],
        _ => return None,
    }
    Some(())
}

impl Compiler<'_> {
    /// `left operator ANY (right)`; `test` makes the test of one element.
    ///
    /// # Errors
    /// `42809` if the right side is no array; errors of the operator.
    pub(super) fn each_of_array(
        &mut self,
        left: &Tree,
        right: &Tree,
        is_all: bool,
        test: &dyn Fn(Tree, Tree) -> Tree,
    ) -> Result<Typed, SqlError> {
        let mut right = right;
        while let Tree::Nested(inner) = right {
            right = inner;
        }
        let of_query;
        if let Tree::Subquery(query) = right {
            of_query = array_of(query)?;
            right = &of_query;
        }
        if let Tree::Array(array) = right {
            if self.compile(left)?.expr.is_volatile() {
                return Err(SqlError::unsupported(
                    "a volatile value is compared with the elements of an array by =, <>, <, >, <= and >= only",
                ));
            }
            let tests = array.elem.iter();
            let tests = tests.map(|element| test(left.clone(), element.clone()));
            let operator = if is_all {
                BinaryOperator::And
            } else {
                BinaryOperator::Or
            };
            let chain = tests.reduce(|chain, test| Tree::BinaryOp {
                left: Box::new(chain),
                op: operator.clone(),
                right: Box::new(test),
            });
            return match chain {
                Some(chain) => self.compile(&chain),
                None => self.array(&[]),
            };
        }
        let array = self.compile(right)?;
        let right = match array.kind() {
            // A parameter, or a literal.
            SqlType::Unknown => Tree::Cast {
                kind: CastKind::Cast,
                expr: Box::new(right.clone()),
                data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(
                    Box::new(DataType::Text),
                    None,
                )),
                format: None,
            },
            kind if kind.element().is_some() => right.clone(),
            _ => {
                return Err(SqlError::new(
                    code::WRONG_OBJECT_TYPE,
                    "op ANY/ALL (array) requires array on right side",
                ));
            }
        };
        let element = Tree::Identifier(Ident::with_quote('"', ELEMENT));
        let mut query = parse_expression(&template(is_all))?;
        let test = test(left.clone(), element);
        if fill(&mut query, test, right.clone()).is_none() {
            return Err(SqlError::new(
                code::INTERNAL,
                "the query of ANY has another form",
            ));
        }
        let given = Tree::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen {
                condition: Tree::IsNotNull(Box::new(right)),
                result: query,
            }],
            else_result: None,
        };
        self.compile(&given)
    }
}
