//! The schedule of bases: after so much log, after such a time, or both.

use sardonyx_results::units::{parse_bytes, parse_time};
use std::time::Duration;

/// A base is due after so much log, or after such a time in which log has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Every {
    bytes: Option<u64>,
    time: Option<Duration>,
}

/// Reads a size, a time, or both: `4GiB`, `24h`, `4GiB,24h`. A bare number is a size.
pub fn parse_every(text: &str) -> Result<Every, String> {
    let mut every = Every {
        bytes: None,
        time: None,
    };
    for part in text.split(',') {
        if part.ends_with('m') && parse_bytes(part).is_ok() {
            return Err(format!(
                "{part:?} may be a size or a time: write {part}in for minutes, or {}iB for mebibytes",
                part.to_uppercase()
            ));
        }
        let is_again = match parse_bytes(part) {
            Ok(bytes) => every.bytes.replace(bytes).is_some(),
            Err(no_size) => match parse_time(part) {
                Ok(time) => every.time.replace(time).is_some(),
                Err(no_time) => {
                    return Err(format!(
                        "{part:?} is no size ({no_size}) and no time ({no_time})"
                    ));
                }
            },
        };
        if is_again {
            return Err("give at most one size and one time".into());
        }
    }
    Ok(every)
}

impl Every {
    /// The size.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The moment since which a base has been due that is due now, by the log alone: of the newest base's entry, the first entry
    /// behind that, and the entry with which the size was reached.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn due_since(
        &self,
        newest: Option<u64>,
        first: Option<u64>,
        reached: Option<u64>,
    ) -> Option<u64> {
        let by_time = self.time.zip(first).map(|(time, first)| {
            let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            first.max(newest.map_or(0, |newest| newest.saturating_add(time)))
        });
        [by_time, reached].into_iter().flatten().min()
    }

    /// True if a base is due: so many bytes of log have come since the newest one, which was made of an entry of this
    /// time, in microseconds since 1970.
    pub fn is_due(&self, come: u64, newest: Option<u64>, now: u64) -> bool {
        let by_bytes = || self.bytes.is_some_and(|bytes| come >= bytes);
        let is_old = |time: Duration| {
            newest.is_none_or(|newest| u128::from(now.saturating_sub(newest)) >= time.as_micros())
        };
        come > 0 && (by_bytes() || self.time.is_some_and(is_old))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000;

    #[test]
    fn a_base_is_due_after_the_size_or_the_time_if_log_has_come() {
        let both = parse_every("4KiB,24h").unwrap();
        assert_eq!(parse_every("24h,4096"), Ok(both));
        for (come, hours, is_due) in [
            (0, 1000, false),
            (1, 23, false),
            (1, 24, true),
            (4095, 0, false),
            (4096, 0, true),
        ] {
            let now = 5 * HOUR + hours * HOUR;
            assert_eq!(both.is_due(come, Some(5 * HOUR), now), is_due, "{come}");
        }
        // The first one, and one of a clock that was set back.
        let (bytes, time) = (parse_every("4KiB").unwrap(), parse_every("24h").unwrap());
        assert!(time.is_due(1, None, 0) && !time.is_due(1, Some(HOUR), 0));
        assert!(!bytes.is_due(4095, None, u64::MAX) && bytes.is_due(4096, None, 0));
        assert!(parse_every("0").unwrap().is_due(1, Some(0), 0));
    }

    #[test]
    fn a_base_is_due_since_the_size_was_reached_or_the_time_was_over() {
        let both = parse_every("4KiB,24h").unwrap();
        let day = 24 * HOUR;
        for (newest, first, reached, since) in [
            (None, 7, None, 7),
            (None, 7, Some(3), 3),
            (Some(5), 7, None, 5 + day),
            (Some(5), 5 + 2 * day, None, 5 + 2 * day),
            (Some(5), 7, Some(9), 9),
            (Some(5), 7, Some(6 + day), 5 + day),
        ] {
            assert_eq!(both.due_since(newest, Some(first), reached), Some(since));
        }
        let bytes = parse_every("4KiB").unwrap();
        assert_eq!(bytes.due_since(None, Some(7), Some(9)), Some(9));
        assert_eq!(bytes.due_since(None, Some(7), None), None);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in [
            "",
            "4GiB,",
            "4GiB,1GiB",
            "1h,2h",
            "1h,2h,4GiB",
            "daily",
            "30m",
            "24h,30m",
        ] {
            assert!(parse_every(text).is_err(), "{text:?}");
        }
    }
}
