//! Posts of transactions that have committed, and may not be durable yet: who waits for the transaction says so
//! ([`Posted::durable`]). If that session has left meanwhile, a thread finds out.
//!
//! Invariant: each post is given out or withdrawn, whatever becomes of its session; otherwise it would keep back all that
//! come behind it.

use super::{Hub, Message};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Waits until all that is committed now is durable; false if that will never be known.
type Waits = Box<dyn Fn() -> bool + Send + Sync>;
/// Runs work on a thread; drops it where it has none.
type Runs = Box<dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync>;

/// A hub, and what is to be settled of its posts.
pub struct Posting {
    hub: Arc<Hub>,
    unsettled: Mutex<Unsettled>,
    waits: Waits,
    runs: Runs,
}

/// Posts for whose transactions nothing waits.
#[derive(Debug, Default)]
struct Unsettled {
    numbers: Vec<u64>,
    is_looked_after: bool,
}

impl Posting {
    /// With a hub of its own. `waits` waits until all that is committed is durable, and returns false if that will never be
    /// known; `runs` runs work on a thread.
    pub fn new(
        waits: impl Fn() -> bool + Send + Sync + 'static,
        runs: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static,
    ) -> Arc<Posting> {
        Arc::new(Posting {
            hub: Arc::default(),
            unsettled: Mutex::default(),
            waits: Box::new(waits),
            runs: Box::new(runs),
        })
    }

    /// The listeners of each channel.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Posts messages of a transaction that commits now. Returns `None` if they have no listeners.
    pub fn post<'m>(
        self: &Arc<Self>,
        messages: impl Iterator<Item = &'m Arc<Message>>,
    ) -> Option<Posted> {
        Some(Posted {
            number: self.hub.post(messages)?,
            posting: self.clone(),
            is_left: true,
        })
    }

    /// Has a thread find out what becomes of a post.
    fn settle_later(self: Arc<Self>, number: u64) {
        let begins = {
            let mut unsettled = self.locked();
            unsettled.numbers.push(number);
            !std::mem::replace(&mut unsettled.is_looked_after, true)
        };
        if begins {
            let settling = Settling(self.clone());
            (self.runs)(Box::new(move || settling.run()));
        }
    }

    /// Waits until what is committed now is durable, and gives posts out. If the log fails, or is closed, it withdraws them.
    fn settle(&self, numbers: &[u64]) {
        let is_durable = (self.waits)();
        for number in numbers {
            match is_durable {
                true => self.hub.durable_to(*number),
                false => self.hub.withdraw(*number),
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Unsettled> {
        let unsettled = self.unsettled.lock();
        unsettled.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Posting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posting")
            .field("unsettled", &self.unsettled)
            .finish_non_exhaustive()
    }
}

/// The one thread that looks after them, until there are none.
struct Settling(Arc<Posting>);

impl Settling {
    fn run(self) {
        loop {
            let numbers = {
                let mut unsettled = self.0.locked();
                unsettled.is_looked_after = !unsettled.numbers.is_empty();
                std::mem::take(&mut unsettled.numbers)
            };
            if numbers.is_empty() {
                return;
            }
            self.0.settle(&numbers);
        }
    }
}

impl Drop for Settling {
    /// Also if there was no thread for it: the next post finds another one, which settles those before it, too.
    fn drop(&mut self) {
        self.0.locked().is_looked_after = false;
    }
}

/// Messages of a transaction that has committed, and may not be durable yet.
#[derive(Debug)]
#[must_use]
pub struct Posted {
    posting: Arc<Posting>,
    number: u64,
    is_left: bool,
}

impl Posted {
    /// The transaction is durable, and so are those before it.
    pub fn durable(self) {
        self.end(Hub::durable_to);
    }

    /// The transaction is, whatever becomes of those before it: it has only read what is durable.
    pub fn durable_alone(self) {
        self.end(Hub::durable);
    }

    fn end(mut self, act: impl FnOnce(&Hub, u64)) {
        self.is_left = false;
        act(&self.posting.hub, self.number);
    }
}

impl Drop for Posted {
    /// The caller does not wait for the transaction any more: its client has left.
    fn drop(&mut self) {
        if self.is_left {
            self.posting.clone().settle_later(self.number);
        }
    }
}
