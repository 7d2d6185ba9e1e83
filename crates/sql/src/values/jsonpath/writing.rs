//! The one text of a path.

use super::{Chain, Comparison, JsonPath, LAST_LEVEL, Node, Operator};
use crate::values::json_text::push_text;

/// The text of a path.
pub(super) fn written(path: &JsonPath) -> String {
    let mut out = String::new();
    if path.is_strict {
        out.push_str("strict ");
    }
    push_chain(&path.root, true, &mut out);
    out
}

/// The strength with which an operator holds its operands together.
fn priority(node: &Node) -> u8 {
    match node {
        Node::Or(..) => 0,
        Node::And(..) => 1,
        Node::Compare(..) | Node::StartsWith(..) => 2,
        Node::Arithmetic(Operator::Add | Operator::Subtract, ..) => 3,
        Node::Arithmetic(..) => 4,
        Node::Sign(..) => 5,
        _ => 6,
    }
}

/// An operand, in parentheses if it does not hold together more than its operator.
fn push_operand(operand: &Chain, of: &Node, out: &mut String) {
    let own = operand.first().map_or(6, priority);
    push_chain(operand, own <= priority(of), out);
}

fn push_chain(chain: &Chain, in_parentheses: bool, out: &mut String) {
    let Some((head, steps)) = chain.split_first() else {
        return;
    };
    push_head(head, in_parentheses, !steps.is_empty(), out);
    for step in steps {
        push_step(step, out);
    }
}

fn push_head(node: &Node, in_parentheses: bool, has_steps: bool, out: &mut String) {
    let (open, close) = match in_parentheses {
        true => ("(", ")"),
        false => ("", ""),
    };
    let mut infix = |left: &Chain, symbol: &str, right: &Chain| {
        out.push_str(open);
        push_operand(left, node, out);
        out.push(' ');
        out.push_str(symbol);
        out.push(' ');
        push_operand(right, node, out);
        out.push_str(close);
    };
    match node {
        Node::And(left, right) => infix(left, "&&", right),
        Node::Or(left, right) => infix(left, "||", right),
        Node::Compare(compared, left, right) => infix(left, symbol_of(*compared), right),
        Node::Arithmetic(operator, left, right) => infix(left, operator.symbol(), right),
        Node::StartsWith(left, right) => infix(left, "starts with", right),
        Node::LikeRegex(text, pattern) => {
            out.push_str(open);
            push_operand(text, node, out);
            out.push_str(" like_regex ");
            push_text(&pattern.pattern, out);
            if !pattern.flags.is_empty() {
                out.push_str(" flag \"");
                out.push_str(&pattern.flags);
                out.push('"');
            }
            out.push_str(close);
        }
        Node::Sign(is_minus, of) => {
            out.push_str(open);
            out.push(if *is_minus { '-' } else { '+' });
            push_operand(of, node, out);
            out.push_str(close);
        }
        Node::Not(of) => push_between("!(", of, ")", out),
        Node::IsUnknown(of) => push_between("(", of, ") is unknown", out),
        Node::Exists(of) => push_between("exists (", of, ")", out),
        Node::Number(number) if has_steps => {
            out.push('(');
            out.push_str(number);
            out.push(')');
        }
        Node::Number(number) => out.push_str(number),
        Node::Root => out.push('$'),
        Node::Current => out.push('@'),
        Node::Last => out.push_str("last"),
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Node::Text(text) => push_text(text, out),
        Node::Variable(name) => {
            out.push('$');
            push_text(name, out);
        }
        step => push_step(step, out),
    }
}

fn push_between(open: &str, chain: &Chain, close: &str, out: &mut String) {
    out.push_str(open);
    push_chain(chain, false, out);
    out.push_str(close);
}

fn push_step(node: &Node, out: &mut String) {
    match node {
        Node::Key(name) => {
            out.push('.');
            push_text(name, out);
        }
        Node::AnyKey => out.push_str(".*"),
        Node::AnyArray => out.push_str("[*]"),
        Node::Indexes(indexes) => {
            out.push('[');
            for (at, (from, to)) in indexes.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                push_chain(from, false, out);
                if let Some(to) = to {
                    out.push_str(" to ");
                    push_chain(to, false, out);
                }
            }
            out.push(']');
        }
        Node::Any(first, last) => {
            let level = |level: &u32| match *level {
                LAST_LEVEL => "last".to_string(),
                level => level.to_string(),
            };
            out.push_str(".**");
            match (first, last) {
                (0, &LAST_LEVEL) => {}
                (first, last) if first == last => *out += &format!("{{{}}}", level(first)),
                (first, last) => *out += &format!("{{{} to {}}}", level(first), level(last)),
            }
        }
        Node::Filter(condition) => push_between("?(", condition, ")", out),
        Node::Method(method) => {
            out.push('.');
            out.push_str(method.name());
            out.push_str("()");
        }
        head => push_head(head, true, false, out),
    }
}

/// A comparison's operator as paths write it.
fn symbol_of(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        Comparison::Unequal => "!=",
        other => other.symbol(),
    }
}
