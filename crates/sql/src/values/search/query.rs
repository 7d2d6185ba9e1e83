//! `tsquery`: words that a document has, or has not, with `!`, `<->`, `&` and `|`, in descending precedence.
//!
//! A question is a flat list: operands before their operator, the left one first. So loops read, walk and drop it at
//! any depth, and each step is linear in the number of items.
//!
//! Invariants: [`Query::of`] makes every question, and checks its form and its bounds. The text of each reads back as a
//! question with the same items in the same order of words; chains of `&`, and of `|`, have their left part first.

use super::word::{Reader, check_word, push_quoted};
use super::{WEIGHTS, damaged, weight_of};
use crate::error::{SqlError, as_text, code, shortened};
use sardonyx::schema::Value;

/// The most words and operators of a question.
pub(crate) const ITEMS_MAX: usize = 65_536;
/// The most bytes of all words, each with an end, as in PostgreSQL.
const WORDS_BYTES_MAX: usize = (1 << 20) - 1;
/// The greatest distance of two words.
pub(crate) const DISTANCE_MAX: u16 = 16_384;

/// A word of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operand {
    pub word: String,
    /// The weights that a place may have, a bit each, from `D`; 0 for any.
    pub weights: u8,
    /// True if a lexeme may be longer than the word.
    pub is_prefix: bool,
}

/// An item of a question: a word, or an operator on the one or two parts before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Word(Operand),
    Not,
    And,
    Or,
    /// The second part is at this distance behind the first one.
    Phrase(u16),
}

/// A question; the empty one has no items, and no document matches it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Query {
    items: Vec<Item>,
}

impl Item {
    /// The precedence of the operator.
    fn rank(&self) -> u8 {
        match self {
            Item::Or => 1,
            Item::And => 2,
            Item::Phrase(_) => 3,
            Item::Not => 4,
            Item::Word(_) => 5,
        }
    }

    /// The number of parts that it takes.
    pub fn parts(&self) -> usize {
        match self {
            Item::Word(_) => 0,
            Item::Not => 1,
            Item::And | Item::Or | Item::Phrase(_) => 2,
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

/// A step of the output of a question.
enum Step {
    /// The part whose last item is at a place, as an operand of an operator with a rank.
    Part {
        at: usize,
        around: u8,
        is_right_of_phrase: bool,
    },
    Operator(usize),
    End,
}

impl Query {
    /// The question of items, which must form one part.
    ///
    /// # Errors
    /// `54000` if it has too many items, or words that are too long; `XX000` if they are no question.
    pub fn of(items: Vec<Item>) -> Result<Query, SqlError> {
        if items.len() > ITEMS_MAX {
            return Err(too_many_items());
        }
        let (mut parts, mut bytes) = (0, 0);
        for item in &items {
            if let Item::Word(operand) = item {
                check_word(&operand.word, "tsquery")?;
                bytes += operand.word.len() + 1;
            }
            let left = usize::checked_sub(parts, item.parts()).ok_or_else(no_question)?;
            parts = left + 1;
        }
        if bytes > WORDS_BYTES_MAX {
            let text = format!("the words of a tsquery have at most {WORDS_BYTES_MAX} bytes");
            return Err(SqlError::new(code::PROGRAM_LIMIT, text));
        }
        match parts {
            0 | 1 => Ok(Query { items }),
            _ => Err(no_question()),
        }
    }

    /// Reads a question from PostgreSQL's text form.
    ///
    /// # Errors
    /// `42601`; `22023` for a distance that is too large; `54000` if it is too long.
    pub fn read(text: &str) -> Result<Query, SqlError> {
        let kind = "tsquery";
        let mut reader = Reader { text, at: 0, kind };
        reader.skip_blanks();
        match reader.next() {
            None => Ok(Query::default()),
            Some(_) => Query::of(reader.items()?),
        }
    }

    /// The question of a text in our own form.
    ///
    /// # Errors
    /// `XX001` if it is damaged, or not in the form in which it is written: it would be unequal to its own value.
    pub fn known(text: &str) -> Result<Query, SqlError> {
        let read = Query::read(text).map_err(|error| damaged("tsquery", &error.message))?;
        match read.text() == text {
            true => Ok(read),
            false => Err(damaged("tsquery", "it is not in the form that is written")),
        }
    }

    /// The words and operators, each operator after its parts.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// For each item, the place of the first one of its part.
    fn beginnings(&self) -> Vec<usize> {
        let mut first: Vec<usize> = Vec::with_capacity(self.items.len());
        for (at, item) in self.items.iter().enumerate() {
            let mut begin = at;
            for _ in 0..item.parts() {
                begin = begin.checked_sub(1).map_or(0, |last| first[last]);
            }
            first.push(begin);
        }
        first
    }

    /// For each item, true if it is a part of a phrase.
    pub fn in_phrases(&self) -> Vec<bool> {
        let first = self.beginnings();
        let mut is_in = vec![false; self.items.len()];
        for (at, item) in self.items.iter().enumerate().rev() {
            let inner = is_in[at] || matches!(item, Item::Phrase(_));
            if inner && item.parts() > 0 {
                is_in[at - 1] = true;
                if item.parts() == 2 {
                    is_in[first[at - 1] - 1] = true;
                }
            }
        }
        is_in
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        let first = self.beginnings();
        let mut steps = Vec::new();
        let part = |at, around, is_right_of_phrase| Step::Part {
            at,
            around,
            is_right_of_phrase,
        };
        if let Some(last) = self.items.len().checked_sub(1) {
            steps.push(part(last, 0, false));
        }
        while let Some(step) = steps.pop() {
            let (at, around, is_right_of_phrase) = match step {
                Step::Part {
                    at,
                    around,
                    is_right_of_phrase,
                } => (at, around, is_right_of_phrase),
                Step::Operator(at) => {
                    match &self.items[at] {
                        Item::And => out.push_str(" & "),
                        Item::Phrase(1) => out.push_str(" <-> "),
                        Item::Phrase(distance) => out += &format!(" <{distance}> "),
                        _ => out.push_str(" | "),
                    }
                    continue;
                }
                Step::End => {
                    out.push_str(" )");
                    continue;
                }
            };
            let item = &self.items[at];
            let (rank, is_phrase) = (item.rank(), matches!(item, Item::Phrase(_)));
            if rank < around || is_right_of_phrase && is_phrase {
                out.push_str("( ");
                steps.push(Step::End);
            }
            match item {
                Item::Word(operand) => operand.push(&mut out),
                Item::Not => {
                    out.push('!');
                    steps.push(part(at - 1, rank, false));
                }
                _ => {
                    steps.push(part(at - 1, rank, is_phrase));
                    steps.push(Step::Operator(at));
                    steps.push(part(first[at - 1] - 1, rank, false));
                }
            }
        }
        out
    }

    pub fn value(&self) -> Value {
        Value::Text(self.text())
    }

    /// Combines two questions; if one is empty, returns the other one.
    ///
    /// # Errors
    /// `54000` if it is too long.
    pub fn with(mut self, other: Query, operator: Item) -> Result<Query, SqlError> {
        match (self.items.is_empty(), other.items.is_empty()) {
            (true, _) => Ok(other),
            (_, true) => Ok(self),
            _ => {
                self.items.extend(other.items);
                self.items.push(operator);
                Query::of(self.items)
            }
        }
    }

    /// The query's negation.
    ///
    /// # Errors
    /// `54000` if it is too long.
    pub fn negated(mut self) -> Result<Query, SqlError> {
        if !self.items.is_empty() {
            self.items.push(Item::Not);
        }
        Query::of(self.items)
    }

    /// The query without negations, as an index could look for it. Nothing may be left.
    pub fn without_nots(self) -> Query {
        let first = self.beginnings();
        let sides = |at: usize| (first[at - 1] - 1, at - 1);
        // The parts of which something is left.
        let mut is_left: Vec<bool> = Vec::with_capacity(self.items.len());
        for (at, item) in self.items.iter().enumerate() {
            is_left.push(match item {
                Item::Word(_) => true,
                Item::Not => false,
                Item::Or => is_left[sides(at).0] && is_left[sides(at).1],
                Item::And | Item::Phrase(_) => is_left[sides(at).0] || is_left[sides(at).1],
            });
        }
        // The parts inside kept ones only.
        let mut is_there = vec![false; self.items.len()];
        if let (Some(there), Some(last)) = (is_there.last_mut(), is_left.last()) {
            *there = *last;
        }
        let mut is_kept = is_there.clone();
        for (at, item) in self.items.iter().enumerate().rev() {
            is_kept[at] = is_there[at];
            if is_there[at] && item.parts() == 2 {
                let (left, right) = sides(at);
                (is_there[left], is_there[right]) = (is_left[left], is_left[right]);
                is_kept[at] = is_left[left] && is_left[right];
            }
        }
        let items = self.items.into_iter().zip(is_kept);
        let items = items.filter_map(|(item, is_kept)| is_kept.then_some(item));
        Query {
            items: items.collect(),
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
    /// Appends PostgreSQL's binary form: the number of items, then the items from the last to the first. An operator
    /// comes before its right side, the left one last.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend((self.items.len() as u32).to_be_bytes());
        for item in self.items.iter().rev() {
            match item {
                Item::Word(operand) => {
                    out.extend([WORD, operand.weights, operand.is_prefix.into()]);
                    out.extend(operand.word.as_bytes());
                    out.push(0);
                }
                Item::Not => out.extend([OPERATOR, NOT]),
                Item::And => out.extend([OPERATOR, AND]),
                Item::Or => out.extend([OPERATOR, OR]),
                Item::Phrase(distance) => {
                    out.extend([OPERATOR, PHRASE]);
                    out.extend(distance.to_be_bytes());
                }
            }
        }
    }

    /// Reads PostgreSQL's binary form.
    ///
    /// # Errors
    /// `22P03`; `22021` for a word that is not UTF-8; `54000` if it is too long.
    pub fn receive(bytes: &[u8]) -> Result<Query, SqlError> {
        let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(no_query)?;
        let mut items = Vec::new();
        while !rest.is_empty() && items.len() <= ITEMS_MAX {
            items.push(received(&mut rest)?);
        }
        if rest.is_empty() && items.len() as u32 != u32::from_be_bytes(*count) {
            return Err(no_query());
        }
        items.reverse();
        Query::of(items).map_err(|error| match error.code {
            code::INTERNAL => no_query(),
            _ => error,
        })
    }
}

fn received(rest: &mut &[u8]) -> Result<Item, SqlError> {
    match **rest {
        [WORD, weights @ 0..16, is_prefix @ 0..2, ref more @ ..] => {
            let end = more.iter().position(|byte| *byte == 0);
            let end = end.filter(|end| *end > 0).ok_or_else(no_query)?;
            let word = as_text(&more[..end])?.to_string();
            *rest = &more[end + 1..];
            Ok(Item::Word(Operand {
                word,
                weights,
                is_prefix: is_prefix == 1,
            }))
        }
        [OPERATOR, PHRASE, first, second, ref more @ ..] => {
            *rest = more;
            match u16::from_be_bytes([first, second]) {
                distance @ ..=DISTANCE_MAX => Ok(Item::Phrase(distance)),
                _ => Err(no_query()),
            }
        }
        [OPERATOR, operator @ NOT..=OR, ref more @ ..] => {
            *rest = more;
            Ok(match operator {
                NOT => Item::Not,
                AND => Item::And,
                _ => Item::Or,
            })
        }
        _ => Err(no_query()),
    }
}

#[cold]
fn no_query() -> SqlError {
    SqlError::new(code::INVALID_BINARY, "this is no tsquery in binary form")
}

#[cold]
pub(super) fn too_many_items() -> SqlError {
    let text = format!("a tsquery has at most {ITEMS_MAX} words and operators");
    SqlError::new(code::PROGRAM_LIMIT, text)
}

#[cold]
fn no_question() -> SqlError {
    SqlError::new(code::INTERNAL, "these items are no tsquery")
}

/// The error of an invalid distance of words.
pub(crate) fn wrong_distance() -> SqlError {
    let text = format!(
        "distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} inclusive"
    );
    SqlError::new(code::INVALID_PARAMETER_VALUE, text)
}

/// An operator whose right side is being read, or an open parenthesis.
enum Waiting {
    Operator(Item),
    Parenthesis,
}

impl Reader<'_> {
    /// The items of the text.
    fn items(&mut self) -> Result<Vec<Item>, SqlError> {
        let mut items = Vec::new();
        let mut waiting: Vec<Waiting> = Vec::new();
        loop {
            // It is refused before it takes more memory than a question may.
            if items.len() + waiting.len() > 2 * ITEMS_MAX {
                return Err(too_many_items());
            }
            self.skip_blanks();
            match self.next() {
                Some('!') => {
                    self.step();
                    waiting.push(Waiting::Operator(Item::Not));
                    continue;
                }
                Some('(') => {
                    self.step();
                    waiting.push(Waiting::Parenthesis);
                    continue;
                }
                Some(':') => return Err(self.wrong()),
                None => {
                    let text = format!("no operand in tsquery: \"{}\"", shortened(self.text));
                    return Err(SqlError::syntax(text));
                }
                Some(_) => {
                    let word = self.word()?.unwrap_or_default();
                    let (weights, is_prefix) = self.modifiers();
                    items.push(Item::Word(Operand {
                        word,
                        weights,
                        is_prefix,
                    }));
                }
            }
            // The part is complete: parentheses may end behind it, then an operator follows.
            let operator = loop {
                self.skip_blanks();
                match self.next() {
                    Some(')') => {
                        self.step();
                        close(&mut waiting, &mut items, 0);
                        match waiting.pop() {
                            Some(Waiting::Parenthesis) => {}
                            _ => return Err(self.wrong()),
                        }
                    }
                    Some('|') => break Item::Or,
                    Some('&') => break Item::And,
                    Some('<') => break Item::Phrase(0),
                    None => {
                        close(&mut waiting, &mut items, 0);
                        return match waiting.is_empty() {
                            true => Ok(items),
                            false => Err(self.wrong()),
                        };
                    }
                    Some(_) => return Err(self.wrong()),
                }
            };
            self.step();
            let operator = match operator {
                Item::Phrase(_) => Item::Phrase(self.distance()?),
                operator => operator,
            };
            close(&mut waiting, &mut items, operator.rank());
            waiting.push(Waiting::Operator(operator));
        }
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
                let digits = self.text.get(first..self.at).unwrap_or_default();
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

/// Appends the operators of at least a precedence: their right sides are complete. Those before a parenthesis wait.
fn close(waiting: &mut Vec<Waiting>, items: &mut Vec<Item>, rank: u8) {
    while let Some(last) = waiting
        .pop_if(|last| matches!(last, Waiting::Operator(operator) if operator.rank() >= rank))
    {
        if let Waiting::Operator(operator) = last {
            items.push(operator);
        }
    }
}
