//! Configurations of text search: `simple`, and `english` with its stop words and stems.
//!
//! `english.stop` is PostgreSQL's list, under PostgreSQL's licence.

use super::parser::{Kind, tokens};
use super::vector::{Gathered, PLACE_MAX, Vector};
use crate::error::SqlError;
use crate::path::name_in;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashSet;
use std::sync::LazyLock;

/// The most bytes of a word of a document: longer ones are left out, as in PostgreSQL.
const BYTES_MAX: usize = 2046;

/// The words that `english` leaves out.
static STOPS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("english.stop")
        .lines()
        .map(str::trim)
        .collect()
});

/// A configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Config {
    /// Words in lower case.
    Simple,
    /// The stems of English words, without stop words.
    English,
}

/// All of them.
const ALL: [Config; 2] = [Config::English, Config::Simple];

impl Config {
    pub fn all() -> impl Iterator<Item = Config> {
        ALL.into_iter()
    }

    pub fn name(self) -> &'static str {
        match self {
            Config::Simple => "simple",
            Config::English => "english",
        }
    }

    /// Its number in PostgreSQL's catalogue.
    pub fn number(self) -> u32 {
        match self {
            Config::Simple => 3748,
            Config::English => 13_164,
        }
    }

    pub fn named(name: &str) -> Option<Config> {
        Config::all().find(|config| config.name() == name)
    }

    pub fn of_number(number: u32) -> Option<Config> {
        Config::all().find(|config| config.number() == number)
    }

    /// The configuration that a text names, perhaps with the catalogue's schema.
    pub fn written(text: &str) -> Option<Config> {
        match name_in(text).ok()? {
            (None, name) => Config::named(&name),
            (Some(schema), name) if schema == "pg_catalog" => Config::named(&name),
            _ => None,
        }
    }

    /// Gives the words of a text with their places, from 1. Stop words have a place, and no word. `look` is called from
    /// time to time, and may end it.
    ///
    /// # Errors
    /// The error of `look`; those of `take`.
    pub fn words(
        self,
        text: &str,
        look: &dyn Fn() -> Result<(), SqlError>,
        take: &mut dyn FnMut(u32, String) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let stemmer = Stemmer::create(Algorithm::English);
        let mut place = 0;
        tokens(text, look, &mut |kind: Kind, token: &str| {
            if token.len() > BYTES_MAX {
                return Ok(());
            }
            place += 1;
            let word = token.to_lowercase();
            let word = match self {
                Config::English if kind.is_word() => {
                    if STOPS.contains(&*word) {
                        return Ok(());
                    }
                    stemmer.stem(&word).into_owned()
                }
                _ => word,
            };
            take(place, word)
        })
    }

    /// The document of a text.
    ///
    /// # Errors
    /// The error of `look`; `54000` if it is too long.
    pub fn vector(
        self,
        text: &str,
        look: &dyn Fn() -> Result<(), SqlError>,
    ) -> Result<Vector, SqlError> {
        let mut gathered = Gathered::default();
        self.words(text, look, &mut |place, word| {
            gathered.add(u16::try_from(place).unwrap_or(PLACE_MAX), word)
        })?;
        gathered.vector()
    }
}
