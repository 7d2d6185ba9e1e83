//! A stream in memory for tests, whose servers lag, lose answers and do requests twice or late, by a seed.

use super::stream::{Message, Published, Stored, Stream};
use bytes::Bytes;
use sardonyx_base::random::Random;
use sardonyx_storage::remote_log::store::StoreError;
use std::sync::{Arc, Mutex};

/// True if a filter matches a subject, by NATS's rules.
pub(super) fn matches(filter: &str, subject: &str) -> bool {
    let (mut wanted, mut tokens) = (filter.split('.'), subject.split('.'));
    loop {
        match (wanted.next(), tokens.next()) {
            (None, None) => return true,
            (Some(">"), Some(_)) => return true,
            (Some(wanted), Some(token)) if wanted == "*" || wanted == token => {}
            _ => return false,
        }
    }
}

/// So many states before the present one may still be shown.
const LAG_MOST: usize = 12;

type State = Arc<Vec<Stored>>;

/// A stream in memory; clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct FakeStream {
    inner: Arc<Mutex<Inner>>,
    body_bytes_max: usize,
}

#[derive(Debug)]
struct Inner {
    /// The last one is the present; others are the states of servers that lag.
    states: Vec<State>,
    sequence: u64,
    late: Vec<Message>,
    /// None: no faults.
    random: Option<Random>,
}

impl FakeStream {
    pub fn new(body_bytes_max: usize, seed: Option<u64>) -> Self {
        FakeStream {
            body_bytes_max,
            inner: Arc::new(Mutex::new(Inner {
                states: vec![State::default()],
                sequence: 0,
                late: Vec::new(),
                random: seed.map(Random::new),
            })),
        }
    }

    /// The subjects of all there is.
    pub fn all(&self) -> Vec<String> {
        let inner = self.inner.lock().unwrap();
        let present = inner.present().iter();
        present.map(|stored| stored.subject.clone()).collect()
    }
}

impl Inner {
    fn present(&self) -> &State {
        self.states.last().unwrap()
    }

    fn drawn(&mut self, below: u64) -> u64 {
        let random = self.random.as_mut();
        random.map_or(u64::MAX, |random| random.below(below))
    }

    /// The state of a server that may lag.
    fn some_state(&mut self) -> State {
        let lag = |random: &mut Random| match random.chance(1, 2) {
            true => random.below(LAG_MOST as u64) as usize,
            false => 0,
        };
        let back = self.random.as_mut().map_or(0, lag);
        let at = self.states.len().saturating_sub(1 + back);
        self.states[at].clone()
    }

    fn change(&mut self, change: impl FnOnce(&mut Vec<Stored>)) {
        let mut next = Vec::clone(self.present());
        change(&mut next);
        self.states.push(next.into());
        if self.states.len() > LAG_MOST {
            self.states.remove(0);
        }
    }

    fn publish(&mut self, message: Message) -> Published {
        let last = last(self.present(), &message.condition.filter);
        if last.map_or(0, |last| last.sequence) != message.condition.last {
            return Published::Conflict;
        }
        self.sequence += 1;
        let stored = Stored {
            sequence: self.sequence,
            subject: message.subject,
            body: message.body,
        };
        self.change(|state| {
            if message.replaces {
                state.retain(|before| before.subject != stored.subject);
            }
            state.push(stored);
        });
        Published::Ok
    }

    /// Some of the kept messages arrive.
    fn deliver_late(&mut self) {
        while self.drawn(3) == 0 {
            let Some(message) = self.late.pop() else {
                return;
            };
            self.publish(message);
        }
    }
}

fn last<'a>(state: &'a State, filter: &str) -> Option<&'a Stored> {
    let of_filter = |stored: &&Stored| matches(filter, &stored.subject);
    state.iter().rev().find(of_filter)
}

fn lost<T>(what: &str) -> Result<T, StoreError> {
    Err(StoreError::Unclear {
        what: what.into(),
        place: "fake".into(),
        reason: "the connection broke".into(),
    })
}

impl Stream for FakeStream {
    fn place(&self) -> String {
        "fake".into()
    }

    fn body_bytes_max(&self) -> Result<usize, StoreError> {
        Ok(self.body_bytes_max)
    }

    fn publish(&self, what: &str, message: Message) -> Result<Published, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        inner.deliver_late();
        match inner.drawn(10) {
            0 => lost(what),
            1 => {
                inner.publish(message);
                lost(what)
            }
            2 => {
                inner.publish(message.clone());
                Ok(inner.publish(message))
            }
            3 => {
                inner.late.push(message);
                lost(what)
            }
            _ => Ok(inner.publish(message)),
        }
    }

    fn publish_all(&self, what: &str, messages: Vec<(String, Bytes)>) -> Result<(), StoreError> {
        for (subject, body) in messages {
            let condition = super::stream::Condition {
                filter: subject.clone(),
                last: 0,
            };
            let message = Message {
                subject,
                condition,
                replaces: false,
                body,
            };
            let mut inner = self.inner.lock().unwrap();
            match inner.drawn(12) {
                0 => return lost(what),
                1 => {
                    inner.publish(message);
                    return lost(what);
                }
                _ => inner.publish(message),
            };
        }
        Ok(())
    }

    fn near(&self, what: &str, filter: &str) -> Result<Option<Stored>, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        inner.deliver_late();
        match inner.drawn(10) {
            0 => lost(what),
            _ => Ok(last(&inner.some_state(), filter).cloned()),
        }
    }

    /// A server that believes to lead may do so no longer.
    fn newest(&self, what: &str, filter: &str) -> Result<Option<Stored>, StoreError> {
        let drawn = self.inner.lock().unwrap().drawn(4);
        match drawn {
            0 => self.near(what, filter),
            _ => Ok(last(self.inner.lock().unwrap().present(), filter).cloned()),
        }
    }

    fn subjects(&self, what: &str, filter: &str) -> Result<Vec<String>, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        if inner.drawn(10) == 0 {
            return lost(what);
        }
        let of_filter = |stored: &&Stored| matches(filter, &stored.subject);
        let found = inner.present().iter().filter(of_filter);
        Ok(found.map(|stored| stored.subject.clone()).collect())
    }

    fn purge(&self, what: &str, filters: Vec<String>) -> Result<(), StoreError> {
        for filter in filters {
            let mut inner = self.inner.lock().unwrap();
            let drawn = inner.drawn(12);
            if drawn == 0 {
                return lost(what);
            }
            inner.change(|state| state.retain(|stored| !matches(&filter, &stored.subject)));
            if drawn == 1 {
                return lost(what);
            }
        }
        Ok(())
    }
}
