//! The settings that `CONFIG SET` changes, until the program ends: the settings of a Redis that have an effect here.
//!
//! Other settings that clients ask for are reported with fixed values, and are accepted only with these values.

use crate::event_classes::{Classes, parse_classes};
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
    /// The memory of the process, in bytes; 0 is no bound.
    Memory,
    /// A flight that takes so many milliseconds is an event; 0 is no bound.
    SlowFlight,
    /// The most keys that a client tracks; 0 is no bound.
    TrackedKeys,
    /// The most bytes of the keys that all clients track; 0 is no bound.
    TrackedBytes,
}

const NUMBERS: usize = 11;

/// Their names, with their defaults, in the order of [`Number`]. A second name is of earlier versions of Redis.
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
    (&["maxmemory"], 0),
    (&["latency-monitor-threshold"], 0),
    (&["tracking-table-max-keys"], 1_000_000),
    (&[TRACKED_BYTES], 512 << 20),
];

/// The settings with fixed values.
const FIXED: [(&str, &str); 10] = [
    ("save", ""),
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("databases", "16"),
    ("maxmemory-policy", "noeviction"),
    ("proto-max-bulk-len", "16777216"),
    ("list-max-listpack-size", "-2"),
    ("list-compress-depth", "0"),
    ("requirepass", ""),
    ("cluster-enabled", "no"),
];

/// Settings that a running Redis does not change, either.
const IMMUTABLE: [&str; 2] = ["databases", "cluster-enabled"];

const EVENTS: &str = "notify-keyspace-events";
/// Not a setting of Redis, whose table has no bound in bytes.
const TRACKED_BYTES: &str = "tracking-table-max-bytes";
const SLOWER_THAN: &str = "slowlog-log-slower-than";
const SLOW_LENGTH: &str = "slowlog-max-len";

/// A number of bytes, with a unit or without: as in Redis `1k` is 1,000 and `1kb` 1,024.
fn bytes(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1_000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

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
    /// The classes of events that clients receive.
    #[inline]
    pub fn events(&self) -> Classes {
        Classes(self.events.load(Ordering::Relaxed))
    }

    /// A number; none is negative.
    pub fn number(&self, number: Number) -> u64 {
        self.numbers[number as usize].load(Ordering::Relaxed) as u64
    }

    /// A number that bounds something, where 0 is no bound.
    pub fn bound(&self, number: Number) -> usize {
        match self.number(number) {
            0 => usize::MAX,
            most => usize::try_from(most).unwrap_or(usize::MAX),
        }
    }

    /// True if the process takes more than `maxmemory`: then Redis clients can store no more.
    #[inline]
    pub fn memory_is_over(&self) -> bool {
        match self.number(Number::Memory) {
            0 => false,
            most => crate::process::recent_memory() > most,
        }
    }

    /// All settings, with their values.
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

    /// True if there is a setting of this name.
    pub fn has(&self, name: &str) -> bool {
        FIXED.iter().any(|(known, _)| *known == name)
            || NAMES.iter().any(|(names, _)| names.contains(&name))
            || [EVENTS, SLOWER_THAN, SLOW_LENGTH].contains(&name)
    }

    /// The change that a new value of a setting makes.
    ///
    /// # Errors
    /// The reason why the setting may not have the value.
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
        let number = match name {
            "maxmemory" | TRACKED_BYTES => bytes(value).ok_or("argument must be a memory value")?,
            _ => value
                .parse::<i64>()
                .map_err(|_| "argument couldn't be parsed into an integer")?,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_their_units() {
        assert_eq!(bytes("100"), Some(100));
        assert_eq!(bytes("2kb"), Some(2048));
        assert_eq!(bytes("2K"), Some(2000));
        assert_eq!(bytes("1gb"), Some(1 << 30));
        assert_eq!(bytes("1x"), None);
        assert_eq!(bytes("9223372036854775807kb"), None);
    }

    #[test]
    fn memory_is_over_its_bound_only_if_there_is_one() {
        let (settings, slow) = (Settings::default(), SlowLog::default());
        assert!(!settings.memory_is_over());
        for (most, is_over) in [("1", true), ("0", false), ("1000000gb", false)] {
            let change = settings.change("maxmemory", most).expect("a number");
            settings.set(change, &slow);
            assert_eq!(settings.memory_is_over(), is_over, "{most}");
        }
        for wrong in ["-1", "abc", "1.5gb", ""] {
            let refused = settings.change("maxmemory", wrong).expect_err(wrong);
            assert_eq!(refused, "argument must be a memory value");
        }
    }
}
