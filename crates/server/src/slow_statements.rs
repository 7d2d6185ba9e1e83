//! The slowest recent statements, by their texts.
//!
//! A statement that runs again and again is one entry, with the number of slow runs and the longest time. The number of
//! entries and the length of texts are bounded: a new entry replaces the fastest. An entry that was not slow again for
//! [`KEPT`] is dropped, so the list shows recent statements only.
//!
//! Invariant: clients cannot make the list or the log grow without bound. Texts are cut at [`TEXT_BYTES_MAX`], and
//! control characters are escaped in the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The most statements in the list.
pub const STATEMENTS_MAX: usize = 32;
/// The most bytes of a text that are kept.
pub const TEXT_BYTES_MAX: usize = sardonyx_sql::TOLD_TEXT_BYTES_MAX;
/// The time for which a statement is kept that was not slow again.
pub const KEPT: Duration = Duration::from_secs(3600);

/// The list of slow statements.
#[derive(Debug, Default)]
pub struct SlowStatements {
    entries: Mutex<Vec<Entry>>,
    total: AtomicU64,
}

/// A line of the list on the page, and of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowStatement {
    /// Its text, cut at [`TEXT_BYTES_MAX`].
    pub text: String,
    /// The user who ran it last.
    pub user: String,
    /// The number of slow runs.
    pub times: u64,
    /// The time of the slowest run.
    pub slowest: Duration,
    /// The total time of the slow runs.
    pub total: Duration,
    /// The time of the last slow run.
    pub last: SystemTime,
}

#[derive(Debug)]
struct Entry {
    statement: SlowStatement,
    noted: Instant,
}

impl SlowStatements {
    /// Notes a slow statement, and logs it.
    pub fn note(&self, user: &str, text: &str, took: Duration) {
        let text = cut(text.trim(), TEXT_BYTES_MAX);
        tracing::warn!(user, ?took, statement = ?text, "a slow statement");
        self.note_at(user, text, took, Instant::now());
    }

    fn note_at(&self, user: &str, text: &str, took: Duration, now: Instant) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut entries = self.lock();
        forget_old(&mut entries, now);
        let known = entries
            .iter_mut()
            .find(|entry| entry.statement.text == text);
        if let Some(Entry { statement, noted }) = known {
            statement.times += 1;
            statement.slowest = statement.slowest.max(took);
            statement.total = statement.total.saturating_add(took);
            statement.last = SystemTime::now();
            if statement.user != user {
                statement.user = cut(user, TEXT_BYTES_MAX).into();
            }
            *noted = now;
            return;
        }
        if entries.len() >= STATEMENTS_MAX {
            let slowest = |(_, entry): &(usize, &Entry)| entry.statement.slowest;
            let fastest = entries.iter().enumerate().min_by_key(slowest);
            match fastest {
                Some((at, entry)) if entry.statement.slowest < took => entries.swap_remove(at),
                _ => return,
            };
        }
        let statement = SlowStatement {
            text: text.into(),
            user: cut(user, TEXT_BYTES_MAX).into(),
            times: 1,
            slowest: took,
            total: took,
            last: SystemTime::now(),
        };
        entries.push(Entry {
            statement,
            noted: now,
        });
    }

    /// The statements, slowest first.
    pub fn slowest(&self) -> Vec<SlowStatement> {
        self.slowest_at(Instant::now())
    }

    fn slowest_at(&self, now: Instant) -> Vec<SlowStatement> {
        let mut entries = self.lock();
        forget_old(&mut entries, now);
        let statements = entries.iter().map(|entry| entry.statement.clone());
        let mut statements: Vec<SlowStatement> = statements.collect();
        drop(entries);
        statements.sort_by(|a, b| b.slowest.cmp(&a.slowest).then_with(|| a.text.cmp(&b.text)));
        statements
    }

    /// The number of slow runs in all.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        // A panic leaves the list in a valid state.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_old(entries: &mut Vec<Entry>, now: Instant) {
    entries.retain(|entry| now.saturating_duration_since(entry.noted) < KEPT);
}

/// The beginning of a text, at most `bytes_max` bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_slowest_are_kept_and_the_same_text_is_one() {
        let slow = SlowStatements::default();
        for n in 0..STATEMENTS_MAX as u32 {
            slow.note("ada", &format!("select {n}"), MS * (100 + n));
        }
        slow.note("ada", "select fast", MS * 99);
        slow.note("eve", "  select 1\n", MS * 500);
        slow.note("ada", "select slower", MS * 300);
        let kept = slow.slowest();
        assert_eq!(
            (kept.len(), slow.total()),
            (STATEMENTS_MAX, STATEMENTS_MAX as u64 + 3)
        );
        let texts: Vec<&str> = kept.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts[..3], ["select 1", "select slower", "select 31"]);
        assert!(
            !texts.contains(&"select 0") && !texts.contains(&"select fast"),
            "{texts:?}"
        );
        let first = &kept[0];
        assert_eq!((first.times, first.user.as_str()), (2, "eve"));
        assert_eq!((first.slowest, first.total), (MS * 500, MS * 601));
    }

    #[test]
    fn what_was_not_slow_again_goes() {
        let (slow, then) = (SlowStatements::default(), Instant::now());
        slow.note_at("ada", "old", MS * 900, then);
        slow.note_at("ada", "again", MS * 200, then);
        slow.note_at("ada", "again", MS * 100, then + KEPT / 2);
        let kept = slow.slowest_at(then + KEPT);
        assert_eq!(kept.len(), 1);
        assert_eq!((kept[0].text.as_str(), kept[0].times), ("again", 2));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let slow = SlowStatements::default();
        slow.note("ada", &"x€".repeat(TEXT_BYTES_MAX), MS);
        let kept = slow.slowest();
        assert_eq!(kept[0].text.len(), TEXT_BYTES_MAX);
        slow.note("ada", &"€".repeat(TEXT_BYTES_MAX), MS);
        assert_eq!(slow.slowest()[1].text.len(), TEXT_BYTES_MAX - 1);
    }
}
