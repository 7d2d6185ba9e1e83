//! The sessions of a database, as others see them: `pg_stat_activity`, and the functions that end a statement or a session.
//!
//! A session notes its statements when a flight begins and when it ends, never between. So a note costs a lock without
//! contention, and of statements that arrived together all texts are shown. Nothing here decides about transactions.
//!
//! Invariants: a session that has ended is not listed and not signalled. Of a text at most [`TEXT_BYTES_MAX`] are kept.

use crate::error::SqlError;
use sardonyx_base::waiting::{BETWEEN_LOOKS, Interrupt};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The bytes of a session's statements that are kept, as in PostgreSQL (`track_activity_query_size`).
const TEXT_BYTES_MAX: usize = 1023;

/// The connection of a session's client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClientAddress {
    /// No connection: the program itself runs the session.
    #[default]
    Program,
    /// A socket in the file system.
    Local,
    /// An address of a network.
    Remote(SocketAddr),
}

/// The state of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Activity {
    Active,
    #[default]
    Idle,
    InTransaction,
    InFailedTransaction,
}

impl Activity {
    /// As `pg_stat_activity` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Active => "active",
            Activity::Idle => "idle",
            Activity::InTransaction => "idle in transaction",
            Activity::InFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// The properties of a session that do not change.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The number by which its client knows it, and others name it.
    pub process: u32,
    pub user: Arc<str>,
    pub database: Arc<str>,
    pub client: ClientAddress,
    /// When it began, in microseconds since 1970.
    pub began: i64,
}

/// The statements of a session, and their times in microseconds since 1970.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing {
    pub application: Arc<str>,
    pub activity: Activity,
    pub transaction: Option<i64>,
    pub statement: Option<i64>,
    pub changed: i64,
    /// True while its thread waits in `pg_sleep`.
    pub sleeps: bool,
    /// True while its client does not read the answer.
    pub is_unread: bool,
    texts: Vec<Arc<str>>,
}

impl Doing {
    /// The texts of the last statements that arrived together.
    pub fn text(&self) -> String {
        let mut all = self.texts.join("; ");
        all.truncate(all.floor_char_boundary(TEXT_BYTES_MAX));
        all
    }

    fn keep(&mut self, text: &Arc<str>) {
        // A text that was cut may lack a character's bytes to the bound.
        let kept: usize = self.texts.iter().map(|text| text.len()).sum();
        let has_room = kept + 3 < TEXT_BYTES_MAX;
        // The statements of one text share it.
        let is_there = self
            .texts
            .last()
            .is_some_and(|last| Arc::ptr_eq(last, text));
        if !has_room || is_there {
            return;
        }
        self.texts
            .push(match text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)) {
                // The rest of a long text would stay in memory as long as its client is silent.
                Some(start) if start.len() < text.len() => start.into(),
                _ => text.clone(),
            });
    }
}

/// A session at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The number of its locks.
    pub number: u64,
    pub identity: Identity,
    pub doing: Doing,
}

/// A session that others see.
#[derive(Debug)]
struct Visible {
    identity: Identity,
    interrupt: Mutex<Arc<Interrupt>>,
    doing: Mutex<Doing>,
    /// True if it is to end.
    is_terminated: AtomicBool,
    /// The task that waits for that.
    waits: Mutex<Option<Waker>>,
}

/// The sessions of a database by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<u64, Arc<Visible>>>);

/// A session's own entry, until it is dropped.
#[derive(Debug)]
pub(crate) struct OwnEntry {
    sessions: Arc<Sessions>,
    number: u64,
    visible: Arc<Visible>,
}

/// A session that another one may signal.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    sessions: Arc<Sessions>,
    number: u64,
    visible: Arc<Visible>,
}

impl Visible {
    fn poll_terminated(&self, context: &Context<'_>) -> Poll<()> {
        let mut waits = locked(&self.waits);
        if self.is_terminated.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        match &mut *waits {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The system's clock, in microseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

impl Sessions {
    /// Adds a session with its number.
    pub fn enter(self: &Arc<Self>, number: u64, identity: Identity, application: &str) -> OwnEntry {
        let doing = Doing {
            application: application.into(),
            changed: identity.began,
            ..Doing::default()
        };
        let visible = Arc::new(Visible {
            identity,
            interrupt: Mutex::default(),
            doing: Mutex::new(doing),
            is_terminated: AtomicBool::new(false),
            waits: Mutex::default(),
        });
        locked(&self.0).insert(number, visible.clone());
        OwnEntry {
            sessions: self.clone(),
            number,
            visible,
        }
    }

    /// All sessions now.
    pub fn all(&self) -> Vec<Seen> {
        let all: Vec<_> = {
            let sessions = locked(&self.0);
            let sessions = sessions.iter();
            sessions
                .map(|(number, one)| (*number, one.clone()))
                .collect()
        };
        let seen = all.into_iter().map(|(number, one)| Seen {
            number,
            identity: one.identity.clone(),
            doing: locked(&one.doing).clone(),
        });
        seen.collect()
    }

    /// The session that its client knows by a number.
    pub fn find(self: &Arc<Self>, process: u32) -> Option<Found> {
        let sessions = locked(&self.0);
        let found = sessions
            .iter()
            .find(|(_, one)| one.identity.process == process);
        found.map(|(number, visible)| Found {
            sessions: self.clone(),
            number: *number,
            visible: visible.clone(),
        })
    }
}

impl Found {
    pub fn identity(&self) -> &Identity {
        &self.visible.identity
    }

    /// Ends its running statement.
    pub fn cancel(&self) {
        locked(&self.visible.interrupt).request();
    }

    /// Ends it, and its running statement.
    pub fn terminate(&self) {
        let visible = &self.visible;
        visible.is_terminated.store(true, Ordering::Release);
        locked(&visible.interrupt).shut_down();
        // A task that stores its waker later looks at the flag afterwards, and sees it: the lock orders the two.
        if let Some(waker) = locked(&visible.waits).take() {
            waker.wake();
        }
    }

    /// Waits until it has ended, for some time. False if it has not.
    ///
    /// # Errors
    /// Errors of `look`.
    pub fn wait_for_end(
        &self,
        time: Duration,
        look: impl Fn() -> Result<(), SqlError>,
    ) -> Result<bool, SqlError> {
        let until = Instant::now() + time;
        loop {
            if !locked(&self.sessions.0).contains_key(&self.number) {
                return Ok(true);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(BETWEEN_LOOKS));
            look()?;
        }
    }
}

/// A session while its client does not read an answer: others see that, and may end it.
#[derive(Debug)]
pub struct Unread(Arc<Visible>);

impl Unread {
    /// Shows that the client does not read, until the result is dropped.
    pub fn shown(&self) -> ShownUnread {
        locked(&self.0.doing).is_unread = true;
        ShownUnread(self.0.clone())
    }

    /// Polls for the session's end: ready once another session has ended it.
    pub fn poll_terminated(&self, context: &Context<'_>) -> Poll<()> {
        self.0.poll_terminated(context)
    }
}

/// Others see that a client does not read, until this is dropped.
#[derive(Debug)]
pub struct ShownUnread(Arc<Visible>);

impl Drop for ShownUnread {
    fn drop(&mut self) {
        locked(&self.0.doing).is_unread = false;
    }
}

impl OwnEntry {
    /// The session while its client does not read.
    pub fn unread(&self) -> Unread {
        Unread(self.visible.clone())
    }

    /// From now on, others end its statements by this interrupt.
    pub fn set_interrupt(&self, interrupt: Arc<Interrupt>) {
        *locked(&self.visible.interrupt) = interrupt;
    }

    /// True if it is to end.
    pub fn is_terminated(&self) -> bool {
        self.visible.is_terminated.load(Ordering::Acquire)
    }

    /// Polls for its end: ready once another session has ended it. One task waits at a time.
    pub fn terminated(&self) -> impl Fn(&mut Context<'_>) -> Poll<()> + Send + Sync + use<> {
        let visible = self.visible.clone();
        move |context| visible.poll_terminated(context)
    }

    /// Its program has this name.
    pub fn set_application(&self, name: &str) {
        locked(&self.visible.doing).application = name.into();
    }

    /// It begins to run statements that arrived together. `is_between`: no transaction is open.
    pub fn begin<'t>(&self, mut texts: impl Iterator<Item = &'t Arc<str>>, is_between: bool) {
        let Some(first) = texts.next() else {
            return;
        };
        let now = now();
        let mut doing = locked(&self.visible.doing);
        doing.texts.clear();
        doing.keep(first);
        texts.for_each(|text| doing.keep(text));
        doing.activity = Activity::Active;
        (doing.statement, doing.changed) = (Some(now), now);
        if is_between {
            doing.transaction = Some(now);
        }
    }

    /// It has run them, in a transaction that began at a moment and is still open, if there is one.
    pub fn end(&self, activity: Activity, transaction: Option<i64>) {
        let mut doing = locked(&self.visible.doing);
        if doing.activity == Activity::Active {
            doing.changed = now();
        }
        (doing.activity, doing.transaction, doing.sleeps) = (activity, transaction, false);
    }

    /// It begins, or ends, to sleep.
    pub fn sleeps(&self, does: bool) {
        locked(&self.visible.doing).sleeps = does;
    }
}

impl Drop for OwnEntry {
    fn drop(&mut self) {
        locked(&self.sessions.0).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_base::waiting::Reason;

    fn identity(process: u32) -> Identity {
        Identity {
            process,
            user: "ada".into(),
            database: "bank".into(),
            client: ClientAddress::Local,
            began: 1,
        }
    }

    #[test]
    fn a_session_is_listed_and_signalled_until_its_end() {
        let sessions = Arc::<Sessions>::default();
        let one = sessions.enter(1, identity(7), "psql");
        let interrupt = Arc::<Interrupt>::default();
        one.set_interrupt(interrupt.clone());
        assert!(sessions.find(8).is_none());
        let found = sessions.find(7).expect("it is there");
        found.cancel();
        assert_eq!(interrupt.take(), Some(Reason::Request));
        let mut context = Context::from_waker(Waker::noop());
        let terminated = one.terminated();
        assert_eq!(terminated(&mut context), Poll::Pending);
        found.terminate();
        assert_eq!(terminated(&mut context), Poll::Ready(()));
        assert_eq!(interrupt.take(), Some(Reason::Shutdown));
        let none = || Ok(());
        assert_eq!(found.wait_for_end(Duration::ZERO, none).ok(), Some(false));
        assert_eq!(sessions.all().len(), 1);
        drop(one);
        assert_eq!(
            found.wait_for_end(Duration::from_secs(60), none).ok(),
            Some(true)
        );
        assert!(sessions.all().is_empty());
    }

    #[test]
    fn the_texts_of_a_flight_are_kept_in_their_order_and_up_to_a_bound() {
        let sessions = Arc::<Sessions>::default();
        let one = sessions.enter(1, identity(7), "");
        let text = || sessions.all()[0].doing.text();
        let (begin, update) = (Arc::<str>::from("begin"), Arc::<str>::from("update t"));
        one.begin([&begin, &update, &update].into_iter(), true);
        assert_eq!(text(), "begin; update t");
        assert_eq!(sessions.all()[0].doing.activity.name(), "active");
        // A flight without statements leaves all as it is.
        one.begin([].into_iter(), true);
        assert_eq!(text(), "begin; update t");
        one.end(Activity::InTransaction, Some(5));
        assert_eq!(sessions.all()[0].doing.transaction, Some(5));
        let long = Arc::<str>::from("ü".repeat(600));
        one.begin([&long, &update].into_iter(), false);
        assert_eq!(text(), "ü".repeat(511));
        assert_eq!(sessions.all()[0].doing.transaction, Some(5));
    }
}
