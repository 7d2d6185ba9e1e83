//! Questions of texts: `to_tsquery`, `plainto_tsquery`, `phraseto_tsquery` and `websearch_to_tsquery`.
//!
//! The words of a text go through a [configuration](Config). A stop word leaves a gap: operators on it vanish, and phrases
//! around it get a greater distance.
//!
//! Source: PostgreSQL 15, `src/backend/tsearch/to_tsany.c`, `src/backend/utils/adt/tsquery_cleanup.c`.

use super::config::Config;
use super::query::{DISTANCE_MAX, ITEMS_MAX, Item, Operand, Query, too_many_items};
use crate::error::SqlError;

/// The form of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// `to_tsquery`: with operators.
    Operators,
    /// `plainto_tsquery`: all words.
    Plain,
    /// `phraseto_tsquery`: the words in this order.
    Phrase,
    /// `websearch_to_tsquery`: quotes, `or` and `-`.
    Web,
}

/// A part of a question: whether any of its items is left, and the distances that vanished at its left and its right.
#[derive(Clone, Copy, Default)]
struct Part {
    is_there: bool,
    left: u32,
    right: u32,
}

const WORD: Part = Part {
    is_there: true,
    left: 0,
    right: 0,
};

/// A question that is made. Its items come in their order, and each part's items follow those of the part before it.
struct Making<'l> {
    config: Config,
    look: &'l dyn Fn() -> Result<(), SqlError>,
    items: Vec<Item>,
}

/// The question of a text.
///
/// # Errors
/// `42601`; `54000` if it is too long; the error of `look`, which is called from time to time.
pub(crate) fn question(
    config: Config,
    text: &str,
    asked: Asked,
    look: &dyn Fn() -> Result<(), SqlError>,
) -> Result<Query, SqlError> {
    let mut making = Making {
        config,
        look,
        items: Vec::new(),
    };
    match asked {
        Asked::Operators => making.operators(text)?,
        Asked::Plain => making.of_words(text, &Item::And, (0, false))?,
        Asked::Phrase => making.of_words(text, &Item::Phrase(1), (0, false))?,
        Asked::Web => making.web(text)?,
    };
    Query::of(making.items)
}

impl Making<'_> {
    /// Appends an item.
    ///
    /// # Errors
    /// `54000` before they take more memory than a question may.
    fn push(&mut self, item: Item) -> Result<(), SqlError> {
        if self.items.len() >= ITEMS_MAX {
            return Err(too_many_items());
        }
        self.items.push(item);
        Ok(())
    }

    /// Two parts, the last ones, with an operator between them.
    fn joined(&mut self, one: Part, two: Part, operator: &Item) -> Result<Part, SqlError> {
        let distance = match operator {
            Item::Phrase(distance) => Some(u32::from(*distance)),
            _ => None,
        };
        Ok(match (one.is_there, two.is_there, distance) {
            (false, false, distance) => {
                let gone = match distance {
                    Some(distance) => one.left + distance + two.left,
                    None => one.left.max(two.left),
                };
                Part {
                    is_there: false,
                    left: gone,
                    right: gone,
                }
            }
            (false, true, Some(distance)) => Part {
                left: one.left + distance + two.left,
                ..two
            },
            (false, true, None) => two,
            (true, false, Some(distance)) => Part {
                right: one.right + distance + two.right,
                ..one
            },
            (true, false, None) => one,
            (true, true, Some(distance)) => {
                self.push(phrase(distance + one.right + two.left))?;
                Part {
                    left: one.left,
                    ..two
                }
            }
            (true, true, None) => {
                self.push(operator.clone())?;
                WORD
            }
        })
    }

    fn negated(&mut self, part: Part) -> Result<Part, SqlError> {
        if part.is_there {
            self.push(Item::Not)?;
        }
        Ok(part)
    }

    /// The words of a text with an operator between them, with weights and a mark for prefixes.
    fn of_words(
        &mut self,
        text: &str,
        operator: &Item,
        (weights, is_prefix): (u8, bool),
    ) -> Result<Part, SqlError> {
        let mut last = None;
        let (config, look) = (self.config, self.look);
        config.words(text, look, &mut |place, word| {
            self.push(Item::Word(Operand {
                word,
                weights,
                is_prefix,
            }))?;
            if let Some(last) = last.replace(place) {
                self.push(match operator {
                    Item::Phrase(_) => phrase(place - last),
                    other => other.clone(),
                })?;
            }
            Ok(())
        })?;
        Ok(last.map_or_else(Part::default, |_| WORD))
    }

    /// A text in the form of a `tsquery`, each of whose words is a text.
    fn operators(&mut self, text: &str) -> Result<Part, SqlError> {
        let mut parts: Vec<Part> = Vec::new();
        for item in Query::read(text)?.items() {
            (self.look)()?;
            let part = match item {
                Item::Word(operand) => {
                    let of = (operand.weights, operand.is_prefix);
                    self.of_words(&operand.word, &Item::Phrase(1), of)?
                }
                Item::Not => {
                    let part = parts.pop().unwrap_or_default();
                    self.negated(part)?
                }
                operator => {
                    let right = parts.pop().unwrap_or_default();
                    let left = parts.pop().unwrap_or_default();
                    self.joined(left, right, operator)?
                }
            };
            parts.push(part);
        }
        Ok(parts.pop().unwrap_or_default())
    }

    /// A text as people write it in a search: words, phrases in quotes, `or`, and `-` before what is not wanted.
    fn web(&mut self, text: &str) -> Result<Part, SqlError> {
        let mut all: Option<Part> = None;
        let mut group: Option<Part> = None;
        let mut reader = WebReader {
            rest: text,
            negations: 0,
            is_or: false,
        };
        while let Some(words) = reader.operand() {
            (self.look)()?;
            if std::mem::take(&mut reader.is_or) {
                all = self.joined_some(all, group.take(), &Item::Or)?;
            }
            let mut part = self.of_words(words, &Item::Phrase(1), (0, false))?;
            for _ in 0..std::mem::take(&mut reader.negations) {
                part = self.negated(part)?;
            }
            group = self.joined_some(group, Some(part), &Item::And)?;
            reader.skip_to_operand();
        }
        let all = self.joined_some(all, group, &Item::Or)?;
        Ok(all.unwrap_or_default())
    }

    fn joined_some(
        &mut self,
        one: Option<Part>,
        two: Option<Part>,
        operator: &Item,
    ) -> Result<Option<Part>, SqlError> {
        match (one, two) {
            (Some(one), Some(two)) => self.joined(one, two, operator).map(Some),
            (one, two) => Ok(one.or(two)),
        }
    }
}

fn phrase(distance: u32) -> Item {
    let distance = u16::try_from(distance).unwrap_or(DISTANCE_MAX);
    Item::Phrase(distance.min(DISTANCE_MAX))
}

/// Reads the text of a search.
struct WebReader<'t> {
    rest: &'t str,
    /// The number of `-` before the operand.
    negations: usize,
    /// True if `or` is before the operand.
    is_or: bool,
}

/// The signs that are no part of a word, and mean nothing.
const SIGNS: [char; 6] = ['!', '&', '|', '(', ')', '<'];

impl<'t> WebReader<'t> {
    /// The text of the next word, or of the next quotes.
    fn operand(&mut self) -> Option<&'t str> {
        loop {
            let first = self.rest.chars().next()?;
            let behind = self.rest.get(first.len_utf8()..).unwrap_or_default();
            match first {
                '-' => self.negations += 1,
                '"' => {
                    let (inner, behind) = behind.split_once('"').unwrap_or((behind, ""));
                    self.rest = behind;
                    return Some(inner);
                }
                first if first.is_whitespace() || SIGNS.contains(&first) => {}
                first => {
                    let ends =
                        |c: char| c.is_whitespace() || matches!(c, '"' | ':') || SIGNS.contains(&c);
                    let length = behind.find(ends).unwrap_or(behind.len());
                    let (word, behind) = self.rest.split_at(first.len_utf8() + length);
                    self.rest = behind;
                    return Some(word);
                }
            }
            self.rest = behind;
        }
    }

    /// Skips blanks and signs behind an operand, and `or` before another one.
    fn skip_to_operand(&mut self) {
        let is_nothing = |c: char| c.is_whitespace() || SIGNS.contains(&c);
        self.rest = self.rest.trim_start_matches(is_nothing);
        let word = self.rest.get(..2).unwrap_or_default();
        let behind = self.rest.get(2..).unwrap_or_default();
        let is_whole = !behind.starts_with(|c: char| c == '-' || c == '_' || c.is_alphanumeric());
        // As in PostgreSQL, the sign directly behind `or` is no operand.
        let mut operand = behind.chars().skip(1);
        let has_operand = operand.any(|c| !c.is_whitespace());
        if word.eq_ignore_ascii_case("or") && is_whole && has_operand {
            self.is_or = true;
            self.rest = behind;
        }
    }
}
