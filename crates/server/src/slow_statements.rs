//! The slowest statements of late, by their texts.
//!
//! A statement that runs again and again is one entry, with how often it was slow and how long it took at most. The
//! number of entries and the length of texts are bounded: a new one takes the place of the fastest. Entries that were
//! not slow again for [`KEPT`] go, so that the list shows what is slow now and not what was once.
//!
//! Invariant: what clients send makes neither the list nor the log grow without bound: texts are cut at
//! [`TEXT_BYTES_MAX`], and control characters in them are escaped where they are logged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Statements that are kept.
pub const STATEMENTS_MAX: usize = 32;
/// So much is kept of a text.
pub const TEXT_BYTES_MAX: usize = sardonyx_sql::TOLD_TEXT_BYTES_MAX;
/// For how long a statement is kept that was not slow again.
pub const KEPT: Duration = Duration::from_secs(3600);

/// Statements that were slow.
#[derive(Debug, Default)]
pub struct SlowStatements {
    entries: Mutex<Vec<Entry>>,
    total: AtomicU64,
}

/// A statement that was slow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowStatement {
    /// Its text, cut at [`TEXT_BYTES_MAX`].
    pub text: String,
    /// Whose it was, the last time.
    pub user: String,
    /// How often it was slow.
    pub times: u64,
    /// The longest that it took.
    pub slowest: Duration,
    /// How long it took, summed over the times that it was slow.
    pub total: Duration,
    /// When it was slow last.
    pub last: SystemTime,
}

#[derive(Debug)]
struct Entry {
    statement: SlowStatement,
    noted: Instant,
}

impl SlowStatements {
    /// A statement was slow. It is logged, too.
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

    /// From the slowest on.
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

    /// How many there were in all.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        // Whoever panicked has left a list that is one.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_old(entries: &mut Vec<Entry>, now: Instant) {
    entries.retain(|entry| now.saturating_duration_since(entry.noted) < KEPT);
}

/// The beginning of a text, of at most so many bytes.
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
