//! Casts in expressions of indexes, as PostgreSQL shows them: `lower((name)::text)`.
//!
//! Source: PostgreSQL 15, `get_rule_expr` in `ruleutils.c`. Clients compare such texts: ActiveRecord's `schema.rb` has them.

use super::functions::takes_text;
use super::shown::changes_of;
use super::trees::parts_of_tree;
use crate::changed_text::{Change, with_changes};
use crate::lexer::placed;
use crate::names::{function_name, name_of, quoted};
use crate::parse::parse_expression;
use crate::types::SqlType;
use sqlparser::ast::{Expr as Tree, InTarget, Value as Literal};
use sqlparser::tokenizer::Token;

/// The words behind the first one in names of types.
const OF_TYPES: [&str; 6] = ["precision", "time", "varying", "with", "without", "zone"];

/// Parentheses around a column that is cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parentheses {
    /// As in definitions: `(name)::text`.
    All,
    /// As in messages: `name::text`.
    Few,
}

/// The text of an expression with the casts that a call makes of columns by itself, as PostgreSQL shows them:
/// `lower((name)::text)`.
pub(crate) fn with_casts(
    text: &str,
    kind_of: &dyn Fn(&str) -> Option<SqlType>,
    parentheses: Parentheses,
) -> String {
    let Ok(tree) = parse_expression(text) else {
        return text.to_string();
    };
    let (mut cast, mut rest) = (Vec::new(), vec![&tree]);
    while let Some(tree) = rest.pop() {
        let parts = parts_of_tree(tree);
        if let Tree::Function(function) = tree
            && let Ok(called) = function_name(function)
        {
            let columns = parts
                .iter()
                .enumerate()
                .filter_map(|(at, part)| match part {
                    Tree::Identifier(name) => Some((at, name)),
                    _ => None,
                });
            let columns = columns.filter(|(at, name)| {
                let kind = kind_of(&name_of(name));
                kind.is_some_and(|kind| takes_text(&called, (*at, parts.len()), kind))
            });
            cast.extend(columns.map(|(_, name)| name.span));
        }
        rest.extend(parts);
    }
    let mut changes = changes_of(text, &|tree| match tree {
        Tree::Identifier(name) if cast.contains(&name.span) => Some((
            name.span,
            match parentheses {
                Parentheses::All => format!("({})::text", quoted(&name_of(name))),
                Parentheses::Few => format!("{}::text", quoted(&name_of(name))),
            },
        )),
        _ => None,
    });
    changes.extend(types_in(text));
    changes.sort_by_key(|(range, _)| range.start);
    with_changes(text, &changes)
}

/// A condition that is a column and a list of texts, as PostgreSQL shows it: `kind = ANY (ARRAY['a'::text, 'b'::text])`.
/// MikroORM reads the values of its enums there.
pub(crate) fn as_array(text: &str, kind_of: &dyn Fn(&str) -> Option<SqlType>) -> Option<String> {
    let Tree::In {
        expr,
        target: InTarget::List(list),
        negated: false,
        ..
    } = parse_expression(text).ok()?
    else {
        return None;
    };
    let Tree::Identifier(name) = *expr else {
        return None;
    };
    let kind = kind_of(&name_of(&name))?;
    let kind_name = match kind {
        SqlType::Text => "text",
        SqlType::Varchar => "character varying",
        _ => return None,
    };
    let values = list.iter().map(|value| match value {
        Tree::Value(value) => match &value.value {
            Literal::SingleQuotedString(text) => {
                Some(format!("'{}'::{kind_name}", text.replace('\'', "''")))
            }
            _ => None,
        },
        _ => None,
    });
    let values = values.collect::<Option<Vec<String>>>()?;
    let (name, is_text) = (quoted(&name_of(&name)), kind == SqlType::Text);
    Some(match (values.as_slice(), is_text) {
        ([one], true) => format!("{name} = {one}"),
        ([_], false) => return None,
        (values, true) => format!("{name} = ANY (ARRAY[{}])", values.join(", ")),
        (values, false) => format!(
            "({name})::text = ANY ((ARRAY[{}])::text[])",
            values.join(", ")
        ),
    })
}

/// The words of types behind `::` in lower case.
fn types_in(text: &str) -> Vec<Change> {
    let tokens = placed(text).unwrap_or_default();
    let (mut changes, mut is_type, mut is_first) = (Vec::new(), false, false);
    for token in &tokens {
        match &token.token {
            Token::DoubleColon => (is_type, is_first) = (true, true),
            Token::Whitespace(_) => {}
            Token::Word(word) if is_type && word.quote_style.is_none() => {
                let lower = word.value.to_lowercase();
                is_type = is_first || OF_TYPES.contains(&lower.as_str());
                is_first = false;
                if is_type {
                    changes.push((token.at.clone(), lower));
                }
            }
            _ => is_type = false,
        }
    }
    changes
}
