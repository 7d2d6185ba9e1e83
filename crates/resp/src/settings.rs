//! What `CONFIG SET` changes, until the program ends: the settings of a Redis that have an effect here.
//!
//! Others that clients ask for are said as they are here, and are taken only with the value that they have.

use crate::events::{Classes, parse_classes};
use crate::slow::{LENGTH_LIMIT, SlowLog};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// A setting that is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    HashEntries,
    HashValue,
    SetNumbers,
    SortedSetEntries,
    SortedSetValue,
    SparseBytes,
    StreamEntries,
}

const NUMBERS: usize = 7;

/// Their names, with what they are at first, in the order of [`Number`]. A second name is of earlier versions of Redis.
const NAMES: [(&[&str], i64); NUMBERS] = [
    (
        &["hash-max-listpack-entries", "hash-max-ziplist-entries"],
        512,
    ),
    (&["hash-max-listpack-value", "hash-max-ziplist-value"], 64),
    (&["set-max-intset-entries"], 512),
    (
        &["zset-max-listpack-entries", "zset-max-ziplist-entries"],
        128,
    ),
    (&["zset-max-listpack-value", "zset-max-ziplist-value"], 64),
    (&["hll-sparse-max-bytes"], 3000),
    (&["stream-node-max-entries"], 100),
];

/// The settings that are as they are here, whatever is asked.
const FIXED: [(&str, &str); 11] = [
    ("save", ""),
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("databases", "16"),
    ("maxmemory", "0"),
    ("maxmemory-policy", "noeviction"),
    ("proto-max-bulk-len", "16777216"),
    ("list-max-listpack-size", "-2"),
    ("list-compress-depth", "0"),
    ("requirepass", ""),
    ("cluster-enabled", "no"),
];

/// Those that a Redis does not take either, once it runs.
const IMMUTABLE: [&str; 2] = ["databases", "cluster-enabled"];

const EVENTS: &str = "notify-keyspace-events";
const SLOWER_THAN: &str = "slowlog-log-slower-than";
const SLOW_LENGTH: &str = "slowlog-max-len";

/// The settings.
#[derive(Debug)]
pub(crate) struct Settings {
    events: AtomicU32,
    numbers: [AtomicI64; NUMBERS],
}

/// A change that may be made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Events(Classes),
    Number(usize, i64),
    SlowerThan(i64),
    SlowLength(usize),
    None,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            events: AtomicU32::new(0),
            numbers: NAMES.map(|(_, first)| AtomicI64::new(first)),
        }
    }
}

impl Settings {
    /// Which events of keys clients are told of.
    #[inline]
    pub fn events(&self) -> Classes {
        Classes(self.events.load(Ordering::Relaxed))
    }

    /// A number; none is negative.
    pub fn number(&self, number: Number) -> u64 {
        self.numbers[number as usize].load(Ordering::Relaxed) as u64
    }

    /// All that there are, with what they are.
    pub fn all(&self, slow: &SlowLog) -> Vec<(&'static str, String)> {
        let fixed = FIXED.iter().map(|(name, value)| (*name, value.to_string()));
        let numbers = NAMES
            .iter()
            .zip(&self.numbers)
            .flat_map(|((names, _), value)| {
                let value = value.load(Ordering::Relaxed).to_string();
                names.iter().map(move |name| (*name, value.clone()))
            });
        let mut all: Vec<_> = fixed.chain(numbers).collect();
        all.push((EVENTS, self.events().to_string()));
        all.push((SLOWER_THAN, slow.slower_than().to_string()));
        all.push((SLOW_LENGTH, slow.length_max().to_string()));
        all
    }

    /// Whether there is a setting.
    pub fn has(&self, name: &str) -> bool {
        FIXED.iter().any(|(known, _)| *known == name)
            || NAMES.iter().any(|(names, _)| names.contains(&name))
            || [EVENTS, SLOWER_THAN, SLOW_LENGTH].contains(&name)
    }

    /// What giving a setting a value changes.
    ///
    /// # Errors
    /// Why it may not have the value.
    pub fn change(&self, name: &str, value: &str) -> Result<Change, String> {
        if let Some((_, fixed)) = FIXED.iter().find(|(known, _)| *known == name) {
            return match fixed.eq_ignore_ascii_case(value) {
                true if !IMMUTABLE.contains(&name) => Ok(Change::None),
                _ => Err("can't set immutable config".into()),
            };
        }
        if name == EVENTS {
            return parse_classes(value).map(Change::Events).ok_or_else(|| {
                "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_string()
            });
        }
        let number = value.parse::<i64>();
        let number = number.map_err(|_| "argument couldn't be parsed into an integer")?;
        let least = if name == SLOWER_THAN { -1 } else { 0 };
        let most = match name {
            SLOW_LENGTH => LENGTH_LIMIT,
            _ => i64::MAX,
        };
        if !(least..=most).contains(&number) {
            return Err(format!(
                "argument must be between {least} and {most} inclusive"
            ));
        }
        Ok(
            match NAMES.iter().position(|(names, _)| names.contains(&name)) {
                Some(place) => Change::Number(place, number),
                None if name == SLOWER_THAN => Change::SlowerThan(number),
                None => Change::SlowLength(usize::try_from(number).unwrap_or(usize::MAX)),
            },
        )
    }

    /// Makes a change.
    pub fn set(&self, change: Change, slow: &SlowLog) {
        match change {
            Change::Events(classes) => self.events.store(classes.0, Ordering::Relaxed),
            Change::Number(place, value) => self.numbers[place].store(value, Ordering::Relaxed),
            Change::SlowerThan(micros) => slow.set_slower_than(micros),
            Change::SlowLength(most) => slow.set_length_max(most),
            Change::None => {}
        }
    }
}
