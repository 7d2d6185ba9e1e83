//! `tsvector`: lexemes, each once, in the order of their bytes, with the places at which a document has them.

use super::word::{Reader, check_word, is_blank, push_quoted};
use super::{WEIGHTS, damaged, weight_of};
use crate::error::{SqlError, as_text, code, shortened};
use sardonyx::schema::Value;
use std::collections::{HashMap, HashSet};

/// The last place that differs from later ones.
pub(super) const PLACE_MAX: u16 = 16_383;
/// The most places of a lexeme.
const PLACES_MAX: usize = 256;
/// The most bytes of all lexemes with their places.
const BYTES_MAX: usize = 1 << 20;

/// A place of a lexeme, and its weight: 0 for `D` to 3 for `A`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Position {
    pub place: u16,
    pub weight: u8,
}

/// A lexeme with its places, in their order; without places if they are unknown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lexeme {
    pub word: String,
    pub positions: Vec<Position>,
}

/// The lexemes of a document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Vector {
    lexemes: Vec<Lexeme>,
}

/// The lexemes of a document that is read in the order of its words. It takes no more memory than a value may have.
#[derive(Default)]
pub(super) struct Gathered {
    places: HashMap<String, Vec<Position>>,
    /// The bytes of the value, as [`Vector::bytes`] counts them.
    bytes: usize,
}

impl Gathered {
    /// Adds a word of no weight at a place that is not before the last one.
    ///
    /// # Errors
    /// `54000` if the value is too long.
    pub fn add(&mut self, place: u16, word: String) -> Result<(), SqlError> {
        let place = place.min(PLACE_MAX);
        let length = word.len();
        let positions = self.places.entry(word).or_default();
        if positions.is_empty() {
            self.bytes += length.next_multiple_of(2) + 2;
        }
        let is_new = positions.last().is_none_or(|last| last.place < place);
        if is_new && positions.len() < PLACES_MAX {
            positions.push(Position { place, weight: 0 });
            self.bytes += 2;
        }
        match self.bytes > BYTES_MAX {
            true => Err(too_long(self.bytes)),
            false => Ok(()),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// The errors of [`Vector::of`].
    pub fn vector(self) -> Result<Vector, SqlError> {
        let lexemes = self.places.into_iter();
        let lexemes = lexemes.map(|(word, positions)| Lexeme { word, positions });
        Vector::of(lexemes.collect())
    }
}

#[cold]
fn too_long(bytes: usize) -> SqlError {
    let text = format!("string is too long for tsvector ({bytes} bytes, max {BYTES_MAX} bytes)");
    SqlError::new(code::PROGRAM_LIMIT, text)
}

impl Vector {
    /// The value of lexemes, of which several may be equal.
    ///
    /// # Errors
    /// `54000` if they are too long, or one is; those of a word that cannot be.
    pub fn of(mut lexemes: Vec<Lexeme>) -> Result<Vector, SqlError> {
        for lexeme in &lexemes {
            check_word(&lexeme.word, "tsvector")?;
        }
        lexemes.sort_by(|one, other| one.word.cmp(&other.word));
        lexemes.dedup_by(|later, first| {
            let is_same = later.word == first.word;
            if is_same {
                first.positions.append(&mut later.positions);
            }
            is_same
        });
        for lexeme in &mut lexemes {
            let positions = &mut lexeme.positions;
            positions.sort_by_key(|position| position.place);
            // Of the weights at one place the greatest is kept. At the last place, which many share, the first one is
            // kept, unless the lexeme has no other place.
            let is_last = positions.first().is_some_and(|one| one.place == PLACE_MAX);
            positions.dedup_by(|later, first| {
                let is_same = later.place == first.place;
                if is_same && (first.place < PLACE_MAX || is_last) {
                    first.weight = first.weight.max(later.weight);
                }
                is_same
            });
            positions.truncate(PLACES_MAX);
        }
        let vector = Vector { lexemes };
        match vector.bytes() {
            bytes if bytes > BYTES_MAX => Err(too_long(bytes)),
            _ => Ok(vector),
        }
    }

    /// Reads a value from PostgreSQL's text form.
    ///
    /// # Errors
    /// `42601`; `54000` if it is too long.
    pub fn read(text: &str) -> Result<Vector, SqlError> {
        let mut reader = Reader {
            text,
            at: 0,
            kind: "tsvector",
        };
        let mut lexemes = Vec::new();
        while let Some(word) = reader.word()? {
            let mut positions = Vec::new();
            if reader.next() == Some(':') {
                reader.step();
                positions.push(position(&mut reader)?);
                while reader.next() == Some(',') {
                    reader.step();
                    positions.push(position(&mut reader)?);
                }
                if reader.next().is_some_and(|next| !is_blank(next)) {
                    return Err(reader.wrong());
                }
            }
            lexemes.push(Lexeme { word, positions });
        }
        Vector::of(lexemes)
    }

    /// The value of a text that was written here.
    ///
    /// # Errors
    /// `XX001` if it is damaged, or not in the form in which it is written: it would be unequal to its own value.
    pub fn known(text: &str) -> Result<Vector, SqlError> {
        let read = Vector::read(text).map_err(|error| damaged("tsvector", &error.message))?;
        match read.text() == text {
            true => Ok(read),
            false => Err(damaged("tsvector", "it is not in the form that is written")),
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for (at, lexeme) in self.lexemes.iter().enumerate() {
            if at > 0 {
                text.push(' ');
            }
            push_quoted(&lexeme.word, &mut text);
            for (at, position) in lexeme.positions.iter().enumerate() {
                text.push(if at == 0 { ':' } else { ',' });
                text += &position.place.to_string();
                if position.weight > 0 {
                    text.push(WEIGHTS[usize::from(position.weight.min(3))]);
                }
            }
        }
        text
    }

    pub fn value(&self) -> Value {
        Value::Text(self.text())
    }

    pub fn lexemes(&self) -> &[Lexeme] {
        &self.lexemes
    }

    /// The lexemes that begin with a text, or that equal it.
    pub fn found(&self, word: &str, is_prefix: bool) -> &[Lexeme] {
        let first = self.lexemes.partition_point(|one| *one.word < *word);
        let rest = &self.lexemes[first..];
        let count = match is_prefix {
            true => rest.partition_point(|one| one.word.starts_with(word)),
            false => usize::from(rest.first().is_some_and(|one| one.word == word)),
        };
        &rest[..count]
    }

    /// It without places.
    pub fn stripped(mut self) -> Vector {
        for lexeme in &mut self.lexemes {
            lexeme.positions.clear();
        }
        self
    }

    /// Sets one weight at all places, or at those of some lexemes.
    pub fn weighted(mut self, weight: u8, of: Option<&HashSet<String>>) -> Vector {
        for lexeme in &mut self.lexemes {
            if of.is_none_or(|words| words.contains(&lexeme.word)) {
                let positions = lexeme.positions.iter_mut();
                positions.for_each(|position| position.weight = weight);
            }
        }
        self
    }

    /// It without some lexemes.
    pub fn without(mut self, words: &HashSet<String>) -> Vector {
        self.lexemes.retain(|lexeme| !words.contains(&lexeme.word));
        self
    }

    /// Keeps the places with one of some weights, a bit each, and their lexemes.
    pub fn with_weights(mut self, weights: u8) -> Vector {
        for lexeme in &mut self.lexemes {
            let positions = &mut lexeme.positions;
            positions.retain(|position| weights & 1 << position.weight != 0);
        }
        self.lexemes.retain(|lexeme| !lexeme.positions.is_empty());
        self
    }

    /// The lexemes of both: the other one's places follow the last place of this.
    ///
    /// # Errors
    /// `54000` if they are too long.
    pub fn joined(self, other: Vector) -> Result<Vector, SqlError> {
        let places = self.lexemes.iter().flat_map(|one| &one.positions);
        let last = places.map(|position| position.place).max().unwrap_or(0);
        // Behind the last place of all nothing is added.
        let is_full = |positions: &[Position]| {
            let last = positions.last();
            last.is_some_and(|position| position.place == PLACE_MAX)
        };
        let full = self.lexemes.iter().filter(|one| is_full(&one.positions));
        let full: HashSet<String> = full.map(|one| one.word.clone()).collect();
        let mut lexemes = self.lexemes;
        lexemes.extend(other.lexemes.into_iter().map(|mut lexeme| {
            for position in &mut lexeme.positions {
                position.place = position.place.saturating_add(last).min(PLACE_MAX);
            }
            let positions = lexeme.positions.iter();
            let below = positions.take_while(|position| position.place < PLACE_MAX);
            let kept = match full.contains(&lexeme.word) {
                true => 0,
                false => below.count() + 1,
            };
            lexeme.positions.truncate(kept);
            lexeme
        }));
        Vector::of(lexemes)
    }

    /// The bytes of its lexemes and places in PostgreSQL's layout.
    fn bytes(&self) -> usize {
        self.lexemes.iter().fold(0, |before, lexeme| {
            let end = before + lexeme.word.len();
            match lexeme.positions.len() {
                0 => end,
                count => end.next_multiple_of(2) + 2 + 2 * count,
            }
        })
    }

    /// Bytes in PostgreSQL's order of values: their length there, the number of lexemes, and the lexemes.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        let length = 8 + 4 * self.lexemes.len() + self.bytes();
        key.extend((length as u64).to_be_bytes());
        key.extend((self.lexemes.len() as u64).to_be_bytes());
        for lexeme in &self.lexemes {
            key.push(lexeme.positions.is_empty().into());
            key.extend(lexeme.word.as_bytes());
            key.push(0);
            // Lexemes with more places, and with greater ones, sort first.
            key.extend((u16::MAX - lexeme.positions.len() as u16).to_be_bytes());
            for position in &lexeme.positions {
                key.extend((u16::MAX - position.place).to_be_bytes());
                key.push(u8::MAX - position.weight);
            }
        }
        key
    }

    /// Appends PostgreSQL's binary form: the number of lexemes, then each with a zero, the number of its places, and
    /// these.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend((self.lexemes.len() as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            out.extend(lexeme.word.as_bytes());
            out.push(0);
            out.extend((lexeme.positions.len() as u16).to_be_bytes());
            for position in &lexeme.positions {
                let packed = u16::from(position.weight) << 14 | position.place;
                out.extend(packed.to_be_bytes());
            }
        }
    }

    /// Reads PostgreSQL's binary form.
    ///
    /// # Errors
    /// `22P03`; `22021` for a word that is not UTF-8; `54000` if it is too long.
    pub fn receive(bytes: &[u8]) -> Result<Vector, SqlError> {
        let wrong = || SqlError::new(code::INVALID_BINARY, "this is no tsvector in binary form");
        let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
        let mut lexemes = Vec::new();
        for _ in 0..u32::from_be_bytes(*count) {
            let end = rest.iter().position(|byte| *byte == 0).ok_or_else(wrong)?;
            let word = as_text(&rest[..end])?.to_string();
            let (count, more) = rest[end + 1..].split_first_chunk::<2>().ok_or_else(wrong)?;
            let count = usize::from(u16::from_be_bytes(*count));
            let (places, more) = more.split_at_checked(2 * count).ok_or_else(wrong)?;
            let places = places.chunks_exact(2);
            let positions = places.map(|two| u16::from_be_bytes([two[0], two[1]]));
            let positions = positions.map(|packed| Position {
                place: packed & PLACE_MAX,
                weight: (packed >> 14) as u8,
            });
            let positions: Vec<Position> = positions.collect();
            let is_wrong = |position: &Position| position.place == 0;
            if word.is_empty() || positions.iter().any(is_wrong) {
                return Err(wrong());
            }
            lexemes.push(Lexeme { word, positions });
            rest = more;
        }
        match rest {
            [] => Vector::of(lexemes),
            _ => Err(wrong()),
        }
    }
}

/// A place with its weight.
fn position(reader: &mut Reader<'_>) -> Result<Position, SqlError> {
    let mut place: Option<u32> = None;
    while let Some(digit) = reader.next().and_then(|next| next.to_digit(10)) {
        let before = place.unwrap_or(0);
        place = Some((before * 10 + digit).min(PLACE_MAX.into()));
        reader.step();
    }
    let place = place.ok_or_else(|| reader.wrong())?;
    if place == 0 {
        let text = format!(
            "wrong position info in tsvector: \"{}\"",
            shortened(reader.text)
        );
        return Err(SqlError::syntax(text));
    }
    let mut weight = 0;
    let letter = |next: char| match next {
        '*' => Some(3),
        next => weight_of(next),
    };
    // PostgreSQL accepts a letter behind a `D`, and skips digits behind a letter.
    while let Some(next) = reader.next() {
        match letter(next) {
            Some(_) if weight > 0 => return Err(reader.wrong()),
            Some(found) => weight = found,
            None if next.is_ascii_digit() => {}
            None => break,
        }
        reader.step();
    }
    Ok(Position {
        place: place as u16,
        weight,
    })
}
