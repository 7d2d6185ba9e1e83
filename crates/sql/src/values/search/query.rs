//! `tsquery`: words that a document has, or has not, with `!`, `<->`, `&` and `|`, from the one that binds most.
//!
//! A question is a tree, which is read and walked by calls, so its depth has a bound ([`LEVELS_MAX`]): `54001`.

use super::word::{Reader, push_quoted};
use super::{WEIGHTS, weight_of};
use crate::error::{SqlError, as_text, code};
use sardonyx::schema::Value;

/// The most levels of a question.
const LEVELS_MAX: usize = 500;
/// The greatest distance of two words.
pub(crate) const DISTANCE_MAX: u16 = 16_384;

/// A word of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operand {
    pub word: String,
    /// The weights that a place may have, a bit each, from `D`; 0 for any.
    pub weights: u8,
    /// True if a lexeme may go on behind the word.
    pub is_prefix: bool,
}

/// A part of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    Word(Operand),
    Not(Box<Node>),
    And(Box<(Node, Node)>),
    Or(Box<(Node, Node)>),
    /// The second part is so many places behind the first one.
    Phrase(Box<(Node, Node)>, u16),
}

/// A question; none is the empty one, to which no document is an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Query(pub Option<Node>);

impl Node {
    /// How much its operator binds.
    fn rank(&self) -> u8 {
        match self {
            Node::Or(_) => 1,
            Node::And(_) => 2,
            Node::Phrase(..) => 3,
            Node::Not(_) => 4,
            Node::Word(_) => 5,
        }
    }

    /// The number of words and operators.
    pub fn count(&self) -> usize {
        match self {
            Node::Word(_) => 1,
            Node::Not(inner) => 1 + inner.count(),
            Node::And(sides) | Node::Or(sides) | Node::Phrase(sides, _) => {
                1 + sides.0.count() + sides.1.count()
            }
        }
    }

    fn depth(&self) -> usize {
        match self {
            Node::Word(_) => 1,
            Node::Not(inner) => 1 + inner.depth(),
            Node::And(sides) | Node::Or(sides) | Node::Phrase(sides, _) => {
                1 + sides.0.depth().max(sides.1.depth())
            }
        }
    }

    fn push(&self, around: u8, is_right_of_phrase: bool, out: &mut String) {
        let rank = self.rank();
        let is_in_parentheses =
            rank < around || is_right_of_phrase && matches!(self, Node::Phrase(..));
        if is_in_parentheses {
            out.push_str("( ");
        }
        let (sides, operator) = match self {
            Node::Word(operand) => {
                operand.push(out);
                return;
            }
            Node::Not(inner) => {
                out.push('!');
                inner.push(rank, false, out);
                (None, String::new())
            }
            Node::And(sides) => (Some(sides), " & ".into()),
            Node::Or(sides) => (Some(sides), " | ".into()),
            Node::Phrase(sides, 1) => (Some(sides), " <-> ".into()),
            Node::Phrase(sides, distance) => (Some(sides), format!(" <{distance}> ")),
        };
        if let Some(sides) = sides {
            sides.0.push(rank, false, out);
            *out += &operator;
            sides.1.push(rank, matches!(self, Node::Phrase(..)), out);
        }
        if is_in_parentheses {
            out.push_str(" )");
        }
    }

    /// It without what documents must not have: what an index could look for. None if nothing is left.
    pub fn without_nots(&self) -> Option<Node> {
        match self {
            Node::Word(_) => Some(self.clone()),
            Node::Not(_) => None,
            Node::Or(sides) => {
                let sides = (sides.0.without_nots()?, sides.1.without_nots()?);
                Some(Node::Or(Box::new(sides)))
            }
            Node::And(sides) | Node::Phrase(sides, _) => {
                match (sides.0.without_nots(), sides.1.without_nots()) {
                    (Some(left), Some(right)) => {
                        let sides = Box::new((left, right));
                        Some(match self {
                            Node::Phrase(_, distance) => Node::Phrase(sides, *distance),
                            _ => Node::And(sides),
                        })
                    }
                    (one, other) => one.or(other),
                }
            }
        }
    }
}

impl Operand {
    fn push(&self, out: &mut String) {
        push_quoted(&self.word, out);
        if self.is_prefix || self.weights != 0 {
            out.push(':');
        }
        if self.is_prefix {
            out.push('*');
        }
        for weight in (0..4).rev() {
            if self.weights & 1 << weight != 0 {
                out.push(WEIGHTS[weight]);
            }
        }
    }
}

impl Query {
    /// The question of a tree.
    ///
    /// # Errors
    /// `54001` if it is too deep.
    pub fn of(node: Node) -> Result<Query, SqlError> {
        match node.depth() > LEVELS_MAX {
            true => Err(too_deep()),
            false => Ok(Query(Some(node))),
        }
    }

    /// Reads a question from PostgreSQL's text form.
    ///
    /// # Errors
    /// `42601`; `22023` for a distance that is too large; `54000`, `54001` if it is too long or too deep.
    pub fn read(text: &str) -> Result<Query, SqlError> {
        let kind = "tsquery";
        let mut reader = Reader { text, at: 0, kind };
        reader.skip_blanks();
        if reader.next().is_none() {
            return Ok(Query(None));
        }
        let node = reader.operation(1, 0)?;
        match reader.next() {
            None => Query::of(node),
            Some(_) => Err(reader.wrong()),
        }
    }

    /// The question of a text that was written here: a damaged one is empty.
    pub fn known(text: &str) -> Query {
        Query::read(text).unwrap_or_default()
    }

    /// The text of it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(node) = &self.0 {
            node.push(0, false, &mut text);
        }
        text
    }

    pub fn value(&self) -> Value {
        Value::Text(self.text())
    }

    /// A question of two; if one is empty, the other one.
    ///
    /// # Errors
    /// `54001` if it is too deep.
    pub fn with(
        self,
        other: Query,
        of: impl FnOnce(Box<(Node, Node)>) -> Node,
    ) -> Result<Query, SqlError> {
        match (self.0, other.0) {
            (Some(one), Some(other)) => Query::of(of(Box::new((one, other)))),
            (one, other) => Ok(Query(one.or(other))),
        }
    }

    /// What it is not.
    ///
    /// # Errors
    /// `54001` if it is too deep.
    pub fn negated(self) -> Result<Query, SqlError> {
        match self.0 {
            Some(node) => Query::of(Node::Not(Box::new(node))),
            None => Ok(self),
        }
    }
}

/// The kinds of items, and the operators, in PostgreSQL's binary form.
const WORD: u8 = 1;
const OPERATOR: u8 = 2;
const NOT: u8 = 1;
const AND: u8 = 2;
const OR: u8 = 3;
const PHRASE: u8 = 4;

impl Query {
    /// Appends PostgreSQL's binary form: the number of items, and these: an operator before its right side, the left one last.
    pub fn send(&self, out: &mut Vec<u8>) {
        let count = self.0.as_ref().map_or(0, Node::count);
        out.extend((count as u32).to_be_bytes());
        if let Some(node) = &self.0 {
            node.send(out);
        }
    }

    /// Reads PostgreSQL's binary form.
    ///
    /// # Errors
    /// `22P03`; `22021` for a word that is not UTF-8; `54001` if it is too deep.
    pub fn receive(bytes: &[u8]) -> Result<Query, SqlError> {
        let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(no_query)?;
        if *count == [0; 4] && rest.is_empty() {
            return Ok(Query(None));
        }
        let node = received(&mut rest, 1)?;
        let is_whole = rest.is_empty() && node.count() as u32 == u32::from_be_bytes(*count);
        match is_whole {
            true => Ok(Query(Some(node))),
            false => Err(no_query()),
        }
    }
}

impl Node {
    fn send(&self, out: &mut Vec<u8>) {
        match self {
            Node::Word(operand) => {
                out.extend([WORD, operand.weights, operand.is_prefix.into()]);
                out.extend(operand.word.as_bytes());
                out.push(0);
            }
            Node::Not(inner) => {
                out.extend([OPERATOR, NOT]);
                inner.send(out);
            }
            Node::And(sides) | Node::Or(sides) | Node::Phrase(sides, _) => {
                match self {
                    Node::Phrase(_, distance) => {
                        out.extend([OPERATOR, PHRASE]);
                        out.extend(distance.to_be_bytes());
                    }
                    Node::And(_) => out.extend([OPERATOR, AND]),
                    _ => out.extend([OPERATOR, OR]),
                }
                sides.1.send(out);
                sides.0.send(out);
            }
        }
    }
}

#[cold]
fn no_query() -> SqlError {
    SqlError::new(code::INVALID_BINARY, "this is no tsquery in binary form")
}

fn received(rest: &mut &[u8], level: usize) -> Result<Node, SqlError> {
    if level > LEVELS_MAX {
        return Err(too_deep());
    }
    match **rest {
        [WORD, weights @ 0..16, is_prefix @ 0..2, ref more @ ..] => {
            let end = more.iter().position(|byte| *byte == 0);
            let end = end.filter(|end| *end > 0).ok_or_else(no_query)?;
            let word = as_text(&more[..end])?.to_string();
            *rest = &more[end + 1..];
            Ok(Node::Word(Operand {
                word,
                weights,
                is_prefix: is_prefix == 1,
            }))
        }
        [OPERATOR, NOT, ref more @ ..] => {
            *rest = more;
            Ok(Node::Not(Box::new(received(rest, level + 1)?)))
        }
        [OPERATOR, operator @ AND..=PHRASE, ref more @ ..] => {
            *rest = more;
            let mut distance = 0;
            if operator == PHRASE {
                let (bytes, more) = rest.split_first_chunk::<2>().ok_or_else(no_query)?;
                *rest = more;
                distance = u16::from_be_bytes(*bytes);
                if distance > DISTANCE_MAX {
                    return Err(no_query());
                }
            }
            let right = received(rest, level + 1)?;
            let sides = Box::new((received(rest, level + 1)?, right));
            Ok(match operator {
                AND => Node::And(sides),
                OR => Node::Or(sides),
                _ => Node::Phrase(sides, distance),
            })
        }
        _ => Err(no_query()),
    }
}

#[cold]
fn too_deep() -> SqlError {
    let text = format!("a tsquery has at most {LEVELS_MAX} levels");
    SqlError::new(code::TOO_COMPLEX, text)
}

/// A distance of words that cannot be.
pub(crate) fn wrong_distance() -> SqlError {
    let text = format!(
        "distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} inclusive"
    );
    SqlError::new(code::INVALID_PARAMETER_VALUE, text)
}

impl Reader<'_> {
    /// Operands with operators between them that bind as much as a rank, or more; then no blank follows.
    fn operation(&mut self, least: u8, level: usize) -> Result<Node, SqlError> {
        if level > LEVELS_MAX {
            return Err(too_deep());
        }
        let mut left = self.operand(level)?;
        let mut height = 0;
        loop {
            let of: fn(Box<(Node, Node)>, u16) -> Node = match self.next() {
                Some('|') => |sides, _| Node::Or(sides),
                Some('&') => |sides, _| Node::And(sides),
                Some('<') => Node::Phrase,
                _ => return Ok(left),
            };
            let rank = match self.next() {
                Some('|') => 1,
                Some('&') => 2,
                _ => 3,
            };
            if rank < least {
                return Ok(left);
            }
            self.step();
            let distance = match rank {
                3 => self.distance()?,
                _ => 0,
            };
            let right = self.operation(rank + 1, level + 1)?;
            height += 1;
            if height > LEVELS_MAX {
                return Err(too_deep());
            }
            left = of(Box::new((left, right)), distance);
        }
    }

    /// A word, one with `!`, or an operation in parentheses, with the blanks behind it.
    fn operand(&mut self, level: usize) -> Result<Node, SqlError> {
        if level > LEVELS_MAX {
            return Err(too_deep());
        }
        self.skip_blanks();
        let node = match self.next() {
            Some('!') => {
                self.step();
                return Ok(Node::Not(Box::new(self.operand(level + 1)?)));
            }
            Some('(') => {
                self.step();
                let inner = self.operation(1, level + 1)?;
                if self.next() != Some(')') {
                    return Err(self.wrong());
                }
                self.step();
                inner
            }
            Some(':') => return Err(self.wrong()),
            None => {
                let text = format!("no operand in tsquery: \"{}\"", self.text);
                return Err(SqlError::syntax(text));
            }
            Some(_) => {
                let word = self.word()?.unwrap_or_default();
                let (weights, is_prefix) = self.modifiers();
                Node::Word(Operand {
                    word,
                    weights,
                    is_prefix,
                })
            }
        };
        self.skip_blanks();
        Ok(node)
    }

    fn modifiers(&mut self) -> (u8, bool) {
        let (mut weights, mut is_prefix) = (0, false);
        if self.next() == Some(':') {
            self.step();
            while let Some(next) = self.next() {
                match (next, weight_of(next)) {
                    ('*', _) => is_prefix = true,
                    (_, Some(weight)) => weights |= 1 << weight,
                    _ => break,
                }
                self.step();
            }
        }
        (weights, is_prefix)
    }

    /// The rest of `<->` or `<2>`.
    fn distance(&mut self) -> Result<u16, SqlError> {
        let distance = match self.next() {
            Some('-') => {
                self.step();
                1
            }
            _ => {
                let first = self.at;
                while self.next().is_some_and(|next| next.is_ascii_digit()) {
                    self.step();
                }
                let digits = &self.text[first..self.at];
                if digits.is_empty() {
                    return Err(self.wrong());
                }
                let number = digits.parse().ok();
                let number = number.filter(|number| *number <= DISTANCE_MAX);
                number.ok_or_else(wrong_distance)?
            }
        };
        match self.next() {
            Some('>') => {
                self.step();
                Ok(distance)
            }
            _ => Err(self.wrong()),
        }
    }
}
