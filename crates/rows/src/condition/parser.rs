//! From text to a condition, in one pass: by recursive descent, checked against the schema on the way.

use super::families::Family;
use super::tokens::{Spanned, Token, is_word, tokens};
use super::{
    CONDITION_BYTES_MAX, CONDITION_DEPTH_MAX, Comparison, Condition, ConditionError, Node, Operand,
};
use crate::schema::{Schema, Value};
use crate::value_text::{
    parse_date, parse_decimal, parse_hexadecimal, parse_time, parse_timestamp, parse_uuid,
};

/// Words that name no column unless they are quoted.
const RESERVED: [&str; 10] = [
    "and", "or", "not", "in", "like", "is", "null", "between", "true", "false",
];

/// Words that are literals if a text follows, and columns otherwise.
const PREFIXES: [&str; 5] = ["date", "time", "timestamp", "uuid", "x"];

#[inline]
fn is_among(words: &[&str], name: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// An operand, and its place in the text.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub at: usize,
    pub operand: Operand,
}

pub(super) struct Parser<'a> {
    pub(super) schema: &'a Schema,
    tokens: &'a [Spanned],
    next: usize,
    depth: usize,
}

impl Condition {
    /// Reads a condition on rows of a schema.
    ///
    /// # Errors
    /// [`ConditionError`], with the place in the text.
    ///
    /// ```
    /// use sardonyx_rows::condition::{Condition, ConditionError};
    /// use sardonyx_rows::schema::{Column, Schema, Type, Value, ValueRef};
    ///
    /// let mut schema = Schema::default();
    /// schema.columns.push(Column {
    ///     name: "balance".into(),
    ///     kind: Type::I64,
    ///     default: Value::Null,
    ///     offset: 0,
    ///     null: None,
    ///     dropped: false,
    ///     since_shape: 0,
    /// });
    /// let condition = Condition::parse("balance >= 0", &schema)?;
    /// assert!(condition.holds(|_| ValueRef::Int(5)));
    /// assert!(!condition.allows(|_| ValueRef::Int(-5)));
    /// assert!(matches!(
    ///     Condition::parse("balance >= 0 and owner is null", &schema),
    ///     Err(ConditionError::UnknownColumn { at: 17, .. })
    /// ));
    /// # Ok::<_, ConditionError>(())
    /// ```
    pub fn parse(text: &str, schema: &Schema) -> Result<Self, ConditionError> {
        if text.len() > CONDITION_BYTES_MAX {
            return Err(ConditionError::Limit {
                at: CONDITION_BYTES_MAX,
                what: "its length in bytes",
                limit: CONDITION_BYTES_MAX,
            });
        }
        let tokens = tokens(text)?;
        let mut parser = Parser {
            schema,
            tokens: &tokens,
            next: 0,
            depth: 0,
        };
        let root = parser.any()?;
        match parser.peek() {
            Token::End => Ok(Condition { root }),
            _ => Err(parser.expected("and, or or the end")),
        }
    }

    /// The text of a condition with another name for a column, which is otherwise as it was written.
    ///
    /// # Errors
    /// [`ConditionError::Syntax`].
    #[inline]
    pub fn with_renamed_column(
        text: &str,
        name: &str,
        new: &str,
    ) -> Result<String, ConditionError> {
        let new = match is_word(new) && !is_among(&RESERVED, new) && !is_among(&PREFIXES, new) {
            true => new.to_string(),
            false => format!("\"{}\"", new.replace('"', "\"\"")),
        };
        with_changes(text, |part| match part {
            Part::Column(word) | Part::Quoted(word) => (word == name).then(|| new.clone()),
            Part::Prefix(_) => None,
        })
    }

    /// The text of a condition as SQL reads it: in SQL, names without quotes are in small letters, some words name no
    /// column, and bytes are a text. `quoted` writes a name in SQL.
    ///
    /// # Errors
    /// [`ConditionError::Syntax`].
    pub fn in_sql(text: &str, quoted: impl Fn(&str) -> String) -> Result<String, ConditionError> {
        with_changes(text, |part| match part {
            Part::Column(word) => Some(quoted(word)),
            Part::Quoted(_) => None,
            Part::Prefix(prefix) => prefix.eq_ignore_ascii_case("x").then(|| "'\\x".to_string()),
        })
    }
}

/// A part of a condition's text that has another form elsewhere.
enum Part<'t> {
    /// A column's name without quotes.
    Column(&'t str),
    /// A column's name in quotes, without them.
    Quoted(&'t str),
    /// The word before a literal's text; what replaces it has the text's first quote, too.
    Prefix(&'t str),
}

/// A text whose parts are replaced where `change` has something else.
fn with_changes(
    text: &str,
    change: impl Fn(Part<'_>) -> Option<String>,
) -> Result<String, ConditionError> {
    let tokens = tokens(text)?;
    let (mut changed, mut at) = (String::with_capacity(text.len()), 0);
    for (number, spanned) in tokens.iter().enumerate() {
        let (part, end) = match &spanned.token {
            Token::Quoted(word) => (Part::Quoted(word), spanned.end),
            Token::Word(word) => match tokens.get(number + 1) {
                Some(next) if is_among(&PREFIXES, word) && matches!(next.token, Token::Text(_)) => {
                    (Part::Prefix(word), next.at + 1)
                }
                _ if is_among(&RESERVED, word) => continue,
                _ => (Part::Column(word), spanned.end),
            },
            _ => continue,
        };
        if let Some(new) = change(part) {
            changed.extend([text.get(at..spanned.at).unwrap_or_default(), &new]);
            at = end;
        }
    }
    Ok(changed + text.get(at..).unwrap_or_default())
}

impl Parser<'_> {
    fn spanned(&self) -> &Spanned {
        // The last one is the end, and nothing goes beyond it.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &Token {
        &self.spanned().token
    }

    fn at(&self) -> usize {
        self.spanned().at
    }

    fn expected(&self, expected: &'static str) -> ConditionError {
        let found = match self.peek() {
            Token::End => "the end".to_string(),
            Token::Word(word) | Token::Quoted(word) | Token::Number(word) => format!("{word:?}"),
            Token::Text(_) => "a text".to_string(),
            Token::Sign(sign) => format!("{sign:?}"),
        };
        let at = self.at();
        ConditionError::Syntax {
            at,
            expected,
            found,
        }
    }

    /// Takes a word of the language, if it is next.
    fn word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Word(found) if found.eq_ignore_ascii_case(word));
        self.next += usize::from(is_next);
        is_next
    }

    /// Takes a sign, if it is next.
    fn sign(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Sign(found) if *found == sign);
        self.next += usize::from(is_next);
        is_next
    }

    /// Counts a level of nesting.
    fn deeper(&mut self) -> Result<(), ConditionError> {
        self.depth += 1;
        if self.depth <= CONDITION_DEPTH_MAX {
            return Ok(());
        }
        Err(ConditionError::Limit {
            at: self.at(),
            what: "the depth of nesting",
            limit: CONDITION_DEPTH_MAX,
        })
    }

    fn any(&mut self) -> Result<Node, ConditionError> {
        let mut parts = vec![self.all()?];
        while self.word("or") {
            parts.push(self.all()?);
        }
        Ok(single_or(parts, Node::Or))
    }

    fn all(&mut self) -> Result<Node, ConditionError> {
        let mut parts = vec![self.not()?];
        while self.word("and") {
            parts.push(self.not()?);
        }
        Ok(single_or(parts, Node::And))
    }

    fn not(&mut self) -> Result<Node, ConditionError> {
        if self.word("not") {
            self.deeper()?;
            let part = self.not()?;
            self.depth -= 1;
            return Ok(Node::Not(Box::new(part)));
        }
        if self.sign("(") {
            self.deeper()?;
            let inside = self.any()?;
            self.depth -= 1;
            return match self.sign(")") {
                true => Ok(inside),
                false => Err(self.expected("and, or or a closing parenthesis")),
            };
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Result<Node, ConditionError> {
        let left = self.operand()?;
        if self.word("is") {
            let negated = self.word("not");
            if negated {
                self.deeper()?;
                self.depth -= 1;
            }
            if !self.word("null") {
                return Err(self.expected("null"));
            }
            return Ok(negated_if(negated, Node::IsNull(left.operand)));
        }
        if let Some(comparison) = self.comparison() {
            let right = self.operand()?;
            let (left, right) = self.comparable(left, right)?;
            return Ok(Node::Compare(left, comparison, right));
        }
        let negated = self.word("not");
        if negated {
            // As deep as `not (… and …)`, which means the same.
            self.deeper()?;
            self.deeper()?;
            self.depth -= 2;
        }
        if self.word("in") {
            return Ok(negated_if(negated, self.list(left)?));
        }
        if self.word("like") {
            return Ok(negated_if(negated, self.like(&left)?));
        }
        if self.word("between") {
            let low = self.operand()?;
            if !self.word("and") {
                return Err(self.expected("and"));
            }
            let high = self.operand()?;
            let (least, low) = self.comparable(left.clone(), low)?;
            let (most, high) = self.comparable(left, high)?;
            let from = Node::Compare(least, Comparison::GreaterOrEqual, low);
            let to = Node::Compare(most, Comparison::LessOrEqual, high);
            return Ok(negated_if(negated, Node::And(vec![from, to])));
        }
        if negated {
            return Err(self.expected("in, like or between"));
        }
        match self.family(&left.operand) {
            Family::Bool | Family::Null => Ok(Node::Truth(left.operand)),
            _ => Err(ConditionError::WrongType {
                at: left.at,
                expected: "bool",
                found: self.describe(&left.operand),
            }),
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.peek() {
            Token::Sign("!=") => Comparison::Unequal,
            Token::Sign(sign) => Comparison::of_symbol(sign)?,
            _ => return None,
        };
        self.next += 1;
        Some(comparison)
    }

    fn list(&mut self, left: Found) -> Result<Node, ConditionError> {
        if !self.sign("(") {
            return Err(self.expected("an opening parenthesis"));
        }
        let (mut list, mut searched) = (Vec::new(), left.clone());
        loop {
            let right = self.operand()?;
            let (operand, right) = self.comparable(searched, right)?;
            searched = Found {
                at: left.at,
                operand,
            };
            list.push(right);
            if self.sign(")") {
                return Ok(Node::In(searched.operand, list));
            }
            if !self.sign(",") {
                return Err(self.expected("a comma or a closing parenthesis"));
            }
        }
    }

    fn like(&mut self, left: &Found) -> Result<Node, ConditionError> {
        if !matches!(self.family(&left.operand), Family::Text | Family::Null) {
            return Err(ConditionError::WrongType {
                at: left.at,
                expected: "text",
                found: self.describe(&left.operand),
            });
        }
        let Token::Text(pattern) = self.peek().clone() else {
            return Err(self.expected("a pattern in single quotes"));
        };
        self.next += 1;
        Ok(Node::Like(left.operand.clone(), pattern))
    }

    fn operand(&mut self) -> Result<Found, ConditionError> {
        let at = self.at();
        let literal = |value| Ok(Operand::Literal(value));
        let token = self.peek().clone();
        let operand = match token {
            Token::Text(text) => {
                self.next += 1;
                literal(Value::Text(text))
            }
            Token::Number(number) => {
                self.next += 1;
                number_of(&number, false, at).map(Operand::Literal)
            }
            Token::Sign("-") => {
                self.next += 1;
                let Token::Number(number) = self.peek().clone() else {
                    return Err(self.expected("a number"));
                };
                self.next += 1;
                number_of(&number, true, at).map(Operand::Literal)
            }
            Token::Quoted(name) => {
                self.next += 1;
                self.column(name, at)
            }
            Token::Word(word) => {
                self.next += 1;
                self.column_or_literal(word, at)
            }
            Token::Sign(_) | Token::End => Err(self.expected("a column or a literal")),
        }?;
        Ok(Found { at, operand })
    }

    fn column_or_literal(&mut self, word: String, at: usize) -> Result<Operand, ConditionError> {
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        if let (Some(prefix), Token::Text(text)) =
            (PREFIXES.into_iter().find(|p| is(p)), self.peek())
        {
            let value = match prefix {
                "date" => parse_date(text).map(Value::Date),
                "time" => parse_time(text).map(Value::Time),
                "timestamp" => parse_timestamp(text).map(Value::Timestamp),
                "uuid" => parse_uuid(text).map(Value::Uuid),
                _ => parse_hexadecimal(text).map(Value::Bytes),
            };
            let wrong = || ConditionError::Literal {
                at,
                reason: format!("'{text}' is no literal of the kind {prefix:?}"),
            };
            let value = value.ok_or_else(wrong)?;
            self.next += 1;
            return Ok(Operand::Literal(value));
        }
        if is("null") {
            return Ok(Operand::Literal(Value::Null));
        }
        if is("true") || is("false") {
            return Ok(Operand::Literal(Value::Bool(is("true"))));
        }
        if is_among(&RESERVED, &word) {
            self.next -= 1;
            return Err(self.expected("a column or a literal"));
        }
        self.column(word, at)
    }

    /// True if a word that names no column begins an expression of SQL: a call, a literal of a type, `CASE`, `ARRAY`.
    fn is_only_sql(&self, word: &str) -> bool {
        let is_before = matches!(self.peek(), Token::Sign("(") | Token::Text(_));
        is_before || is_among(&["array", "case"], word)
    }

    fn column(&self, name: String, at: usize) -> Result<Operand, ConditionError> {
        match self.schema.column(&name) {
            Some(column) => Ok(Operand::Column(column)),
            None if self.is_only_sql(&name) => Err(ConditionError::Syntax {
                at,
                expected: "a column or a literal",
                found: format!("SQL's {name}"),
            }),
            None => Err(ConditionError::UnknownColumn { at, column: name }),
        }
    }
}

fn single_or(mut parts: Vec<Node>, several: impl Fn(Vec<Node>) -> Node) -> Node {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            several(parts)
        }
        None => several(parts),
    }
}

fn negated_if(negated: bool, node: Node) -> Node {
    if negated {
        Node::Not(Box::new(node))
    } else {
        node
    }
}

/// The value of a number's digits.
fn number_of(digits: &str, negative: bool, at: usize) -> Result<Value, ConditionError> {
    let text = if negative {
        format!("-{digits}")
    } else {
        digits.to_string()
    };
    let value = if digits.contains(['e', 'E']) {
        let float = text.parse().ok();
        float
            .filter(|value: &f64| value.is_finite())
            .map(Value::Float)
    } else if digits.contains('.') {
        let decimal = parse_decimal(&text).filter(|&(_, scale)| scale > 0);
        decimal.map(|(units, scale)| Value::Decimal(units, scale))
    } else {
        let integer = text.parse().map(Value::Int);
        integer.or_else(|_| text.parse().map(Value::U128)).ok()
    };
    value.ok_or_else(|| ConditionError::Literal {
        at,
        reason: format!("{text} is no number, or has too many digits"),
    })
}
