//! Counts of commands and errors, and the times of flights: `INFO commandstats`, `INFO errorstats` and `LATENCY`.
//!
//! A session counts the commands of a flight by itself, and adds them here when the flight is answered: once a flight. The
//! time of a command is the time of its flight, from its beginning until its answers are durable and written; a client's
//! wait for elements does not count.
//!
//! Invariants: there are as many counts as commands, [`ERRORS_MAX`] kinds of errors, and [`SAMPLES_MAX`] samples of an
//! event, whatever clients send. No lock is held while a command runs.

use crate::command::{FAST, Named};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most kinds of errors that are counted by their first word; further ones count as [`OTHERS`].
const ERRORS_MAX: usize = 128;
/// The longest first word that is kept.
const WORD_BYTES_MAX: usize = 32;
const OTHERS: &str = "OTHERS";
/// The most samples that are kept of an event.
const SAMPLES_MAX: usize = 160;
/// Times of up to 2 to the power of so many microseconds have a bucket; longer ones are in the last.
const BUCKETS: usize = 32;

/// The names of a command and its subcommand; the second one is empty if it has none.
type Key = (&'static str, &'static str);

fn key(named: Named) -> Key {
    (named.command.name, named.subcommand.unwrap_or_default())
}

fn text((command, subcommand): Key) -> String {
    match subcommand {
        "" => command.to_string(),
        subcommand => format!("{command}|{subcommand}"),
    }
}

/// The end of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Answered,
    /// With an error.
    Failed,
    /// It did not run.
    Refused,
}

/// The commands and errors of a flight.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    /// A pipeline has few different commands.
    commands: Vec<(Named, [u64; 3])>,
    errors: Vec<String>,
}

impl Tally {
    /// One more command.
    #[inline]
    pub fn count(&mut self, named: Named, end: End) {
        let is_it = |(other, _): &&mut (Named, [u64; 3])| {
            std::ptr::eq(other.command, named.command) && other.subcommand == named.subcommand
        };
        let counts = match self.commands.iter_mut().find(is_it) {
            Some((_, counts)) => counts,
            None => {
                self.commands.push((named, [0; 3]));
                match self.commands.last_mut() {
                    Some((_, counts)) => counts,
                    None => return,
                }
            }
        };
        counts[end as usize] += 1;
    }

    /// One more error answer.
    pub fn error(&mut self, text: &str) {
        let word = text.split([' ', '\n']).next().unwrap_or_default();
        let word = match word.len() <= WORD_BYTES_MAX && !word.is_empty() {
            true => word,
            false => OTHERS,
        };
        self.errors.push(word.to_string());
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.commands.clear();
        self.errors.clear();
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Count {
    calls: u64,
    micros: u64,
    refused: u64,
    failed: u64,
    times: [u64; BUCKETS],
}

/// A slow moment: when, in seconds since 1970, and how long, in milliseconds.
pub(crate) type Sample = (i64, i64);

/// The times of a command: its name, its calls, and the steps of its histogram.
pub(crate) type Times = (String, u64, Vec<(u64, u64)>);

#[derive(Default, Debug)]
struct Event {
    samples: VecDeque<Sample>,
    longest: i64,
}

#[derive(Default, Debug)]
struct All {
    commands: BTreeMap<Key, Count>,
    errors: BTreeMap<String, u64>,
    error_count: u64,
    events: BTreeMap<&'static str, Event>,
}

/// The statistics of a keyspace, since it was opened or they were reset.
#[derive(Default, Debug)]
pub(crate) struct Statistics(Mutex<All>);

impl Statistics {
    /// Adds the commands of a flight that took so many microseconds, which has ended at `now`, in milliseconds since
    /// 1970. It is an event if it took `slow` milliseconds, unless that is 0.
    pub fn add(&self, tally: &Tally, micros: u64, slow: u64, now: i64) {
        let mut all = self.locked();
        let bucket = bucket_of(micros);
        let mut are_fast = true;
        for (named, [answered, failed, refused]) in &tally.commands {
            are_fast &= named.command.is(FAST);
            let count = all.commands.entry(key(*named)).or_default();
            let calls = answered + failed;
            count.calls += calls;
            count.failed += failed;
            count.refused += refused;
            count.micros = count.micros.saturating_add(micros.saturating_mul(calls));
            if let Some(times) = count.times.get_mut(bucket) {
                *times += calls;
            }
        }
        for word in &tally.errors {
            all.error_count += 1;
            let is_known = all.errors.contains_key(word) || all.errors.len() < ERRORS_MAX;
            let word = if is_known { word } else { OTHERS };
            *all.errors.entry(word.to_string()).or_default() += 1;
        }
        if slow > 0 && micros / 1000 >= slow && !tally.commands.is_empty() {
            let name = if are_fast { "fast-command" } else { "command" };
            let millis = i64::try_from(micros / 1000).unwrap_or(i64::MAX);
            let event = all.events.entry(name).or_default();
            event.longest = event.longest.max(millis);
            let second = now.div_euclid(1000);
            match event.samples.back_mut() {
                // Of a second, the longest is kept.
                Some((at, longest)) if *at == second => *longest = millis.max(*longest),
                _ => event.samples.push_back((second, millis)),
            }
            if event.samples.len() > SAMPLES_MAX {
                event.samples.pop_front();
            }
        }
    }

    /// Counts a command of a script, which is part of its flight's time.
    #[cfg(feature = "lua")]
    pub fn count_inner(&self, named: Named, is_error: bool) {
        let mut all = self.locked();
        let count = all.commands.entry(key(named)).or_default();
        count.calls += 1;
        count.failed += u64::from(is_error);
    }

    /// Forgets counts; events stay.
    pub fn reset(&self) {
        let mut all = self.locked();
        all.commands.clear();
        all.errors.clear();
        all.error_count = 0;
    }

    /// The numbers of commands that ran, and of errors.
    pub fn totals(&self) -> [u64; 2] {
        let all = self.locked();
        let calls = all.commands.values().map(|count| count.calls).sum();
        [calls, all.error_count]
    }

    /// The lines of `INFO commandstats`.
    pub fn commands(&self) -> String {
        let mut lines = String::new();
        for (key, count) in &self.locked().commands {
            let Count {
                calls,
                micros,
                refused,
                failed,
                ..
            } = count;
            let mean = *micros as f64 / (*calls).max(1) as f64;
            // Writing to a string cannot fail.
            let _ = write!(
                lines,
                "cmdstat_{}:calls={calls},usec={micros},usec_per_call={mean:.2},rejected_calls={refused},failed_calls={failed}\r\n",
                text(*key)
            );
        }
        lines
    }

    /// The lines of `INFO errorstats`.
    pub fn errors(&self) -> String {
        let all = self.locked();
        let lines = all.errors.iter();
        lines
            .map(|(word, count)| format!("errorstat_{word}:count={count}\r\n"))
            .collect()
    }

    /// The times of commands that a name means, and of their subcommands; of all without a name. Each with its number of
    /// calls, and for powers of two the number of calls that took at most so many microseconds, where that grows.
    pub fn times(&self, name: Option<&[u8]>) -> Vec<Times> {
        let all = self.locked();
        let is_meant = |key: &Key| {
            name.is_none_or(|name| {
                name.eq_ignore_ascii_case(key.0.as_bytes())
                    || name.eq_ignore_ascii_case(text(*key).as_bytes())
            })
        };
        let meant = (all.commands.iter()).filter(|(key, count)| is_meant(key) && count.calls > 0);
        let told = meant.map(|(key, count)| {
            let (mut up_to, mut steps) = (0, Vec::new());
            for (power, times) in count.times.iter().enumerate() {
                up_to += times;
                if *times > 0 {
                    steps.push((1 << power, up_to));
                }
            }
            (text(*key), count.calls, steps)
        });
        told.collect()
    }

    pub fn samples(&self, event: &[u8]) -> Vec<Sample> {
        let all = self.locked();
        let mut events = all.events.iter();
        let found = events.find(|(name, _)| name.as_bytes() == event);
        found.map_or_else(Vec::new, |(_, event)| {
            event.samples.iter().copied().collect()
        })
    }

    /// Each event with its last sample and its longest time.
    pub fn events(&self) -> Vec<(&'static str, Sample, i64)> {
        let all = self.locked();
        let events = all.events.iter();
        events
            .filter_map(|(name, event)| Some((*name, *event.samples.back()?, event.longest)))
            .collect()
    }

    /// Forgets an event, or all. Returns how many there were.
    pub fn forget(&self, event: Option<&[u8]>) -> usize {
        let mut all = self.locked();
        let before = all.events.len();
        all.events
            .retain(|name, _| event.is_some_and(|event| name.as_bytes() != event));
        before - all.events.len()
    }

    fn locked(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a time among powers of two.
fn bucket_of(micros: u64) -> usize {
    // The least power of two that is not below the time.
    let power = u64::BITS - micros.saturating_sub(1).leading_zeros();
    (power as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::find;

    fn named(name: &str) -> Named {
        Named {
            command: find(name.as_bytes()).expect("a command"),
            subcommand: None,
        }
    }

    fn tally(ends: &[(&str, End)], errors: &[&str]) -> Tally {
        let mut tally = Tally::default();
        for (name, end) in ends {
            tally.count(named(name), *end);
        }
        errors.iter().for_each(|text| tally.error(text));
        tally
    }

    #[test]
    fn times_are_in_the_least_power_of_two_that_is_not_below_them() {
        let places = [0, 1, 2, 3, 4, 5, 1024, 1025, u64::MAX].map(bucket_of);
        assert_eq!(places, [0, 0, 1, 2, 2, 3, 10, 11, BUCKETS - 1]);
    }

    #[test]
    fn commands_are_counted_by_their_ends_and_times_of_those_that_ran() {
        let statistics = Statistics::default();
        let ends = [
            ("get", End::Answered),
            ("get", End::Failed),
            ("get", End::Refused),
            ("set", End::Answered),
        ];
        statistics.add(&tally(&ends, &["ERR a", "WRONGTYPE b"]), 3, 0, 0);
        statistics.add(&tally(&ends[..1], &[]), 100, 0, 0);
        assert_eq!(
            statistics.commands(),
            "cmdstat_get:calls=3,usec=106,usec_per_call=35.33,rejected_calls=1,failed_calls=1\r\n\
             cmdstat_set:calls=1,usec=3,usec_per_call=3.00,rejected_calls=0,failed_calls=0\r\n"
        );
        assert_eq!(
            statistics.errors(),
            "errorstat_ERR:count=1\r\nerrorstat_WRONGTYPE:count=1\r\n"
        );
        assert_eq!(statistics.totals(), [4, 2]);
        let of_get = vec![("get".to_string(), 3, vec![(4, 2), (128, 3)])];
        assert_eq!(statistics.times(Some(b"GET")), of_get);
        assert_eq!(statistics.times(None).len(), 2);
        statistics.reset();
        assert_eq!(statistics.totals(), [0, 0]);
        assert_eq!(statistics.times(None), Vec::new());
    }

    #[test]
    fn slow_flights_are_events_of_a_bounded_number() {
        let statistics = Statistics::default();
        let (slow, fast) = (
            tally(&[("keys", End::Answered)], &[]),
            tally(&[("get", End::Answered)], &[]),
        );
        statistics.add(&slow, 9_999, 10, 0);
        statistics.add(&slow, 90_000, 0, 0);
        assert_eq!(statistics.events(), Vec::new());
        for second in 0..200 {
            statistics.add(&slow, 10_000, 10, second * 1000);
            statistics.add(&slow, 12_000, 10, second * 1000 + 1);
        }
        statistics.add(&fast, 30_000, 10, 5000);
        let events = [("command", (199, 12), 12), ("fast-command", (5, 30), 30)];
        assert_eq!(statistics.events(), events);
        let samples = statistics.samples(b"command");
        assert_eq!((samples.len(), samples[0]), (SAMPLES_MAX, (40, 12)));
        assert_eq!(statistics.forget(Some(b"nothing")), 0);
        assert_eq!(statistics.forget(Some(b"command")), 1);
        assert_eq!(statistics.forget(None), 1);
    }

    #[test]
    fn kinds_of_errors_are_bounded() {
        let statistics = Statistics::default();
        for number in 0..1000 {
            statistics.add(&tally(&[], &[&format!("E{number} text")]), 1, 0, 0);
        }
        statistics.add(&tally(&[], &[&"x".repeat(100), ""]), 1, 0, 0);
        assert_eq!(statistics.totals()[1], 1002);
        let lines = statistics.errors();
        assert_eq!(lines.lines().count(), ERRORS_MAX + 1);
        assert!(lines.contains("errorstat_OTHERS:count=874\r\n"), "{lines}");
    }
}
