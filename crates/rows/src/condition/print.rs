//! A condition as text, with the names that a schema gives to its columns.

use super::parser::is_reserved;
use super::tokens::is_word;
use super::{Condition, Node, Operand};
use crate::schema::{Schema, Value};
use std::fmt::Write;

/// How tight parts are bound: an `or` in an `and` needs parentheses, and any in a `not`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
}

impl Condition {
    /// The condition as text; it reads as the same condition. Columns are named as `schema` does now, so
    /// that a condition read before a column was renamed is written with its new name.
    pub fn to_text(&self, schema: &Schema) -> String {
        let mut text = String::new();
        write_node(&self.root, Binding::Or, schema, &mut text);
        text
    }
}

fn write_node(node: &Node, outer: Binding, schema: &Schema, text: &mut String) {
    let parts = |parts: &[Node], word: &str, binding: Binding, text: &mut String| {
        let inside = if binding == Binding::Or {
            Binding::And
        } else {
            Binding::Not
        };
        let parentheses = binding < outer;
        text.push_str(if parentheses { "(" } else { "" });
        for (number, part) in parts.iter().enumerate() {
            text.push_str(if number == 0 { "" } else { word });
            write_node(part, inside, schema, text);
        }
        text.push_str(if parentheses { ")" } else { "" });
    };
    match node {
        Node::Or(children) => parts(children, " or ", Binding::Or, text),
        Node::And(children) => parts(children, " and ", Binding::And, text),
        Node::Not(part) => {
            text.push_str("not ");
            write_node(part, Binding::Not, schema, text);
        }
        Node::Compare(left, comparison, right) => {
            write_operand(left, schema, text);
            text.extend([" ", comparison.symbol(), " "]);
            write_operand(right, schema, text);
        }
        Node::In(operand, list) => {
            write_operand(operand, schema, text);
            text.push_str(" in (");
            for (number, operand) in list.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { ", " });
                write_operand(operand, schema, text);
            }
            text.push(')');
        }
        Node::Like(operand, pattern) => {
            write_operand(operand, schema, text);
            text.push_str(" like ");
            write_quoted(pattern, '\'', text);
        }
        Node::IsNull(operand) => {
            write_operand(operand, schema, text);
            text.push_str(" is null");
        }
        Node::Truth(operand) => write_operand(operand, schema, text),
    }
}

fn write_operand(operand: &Operand, schema: &Schema, text: &mut String) {
    match operand {
        Operand::Column(number) => {
            let name = schema
                .columns
                .get(*number)
                .map_or("", |column| &column.name);
            if is_word(name) && !is_reserved(name) {
                text.push_str(name);
            } else {
                write_quoted(name, '"', text);
            }
        }
        Operand::Literal(literal) => write_literal(literal, text),
    }
}

/// Writes a value as a literal of the language, which is one of SQL, too.
pub(crate) fn write_literal(literal: &Value, text: &mut String) {
    let prefix = match literal {
        Value::Null => return text.push_str("null"),
        Value::Text(content) => return write_quoted(content, '\'', text),
        Value::Float(value) => {
            // Without an exponent it would be read as a decimal or an integer.
            let _ = write!(text, "{value:e}");
            return;
        }
        Value::Bytes(_) => "x",
        Value::Date(_) => "date ",
        Value::Time(_) => "time ",
        Value::Timestamp(_) => "timestamp ",
        Value::Uuid(_) => "uuid ",
        Value::Decimal(units, 0) => {
            let _ = write!(text, "{units}");
            return;
        }
        Value::Bool(_) | Value::Int(_) | Value::U128(_) | Value::Decimal(..) => {
            let _ = write!(text, "{literal}");
            return;
        }
    };
    text.push_str(prefix);
    write_quoted(&literal.to_string(), '\'', text);
}

fn write_quoted(content: &str, quote: char, text: &mut String) {
    text.push(quote);
    for character in content.chars() {
        text.extend((character == quote).then_some(quote));
        text.push(character);
    }
    text.push(quote);
}
