//! Channels: messages for the sessions that listen, given out once their transaction is durable, in the order of the
//! commits.
//!
//! [`Channels`] is a machine without locks or sockets. It has the listeners of each channel, the posts that are not given
//! out yet, and the messages that wait for each listener. [`Hub`] shares one among threads; an [`Inbox`] is a listener's
//! place in it, until it is dropped. Protocols wait for an inbox as for a socket ([`Inbox::poll`]). [`Posting`] finds out
//! what becomes of posts for which nothing waits.
//!
//! A post names its listeners when it is made, in the order of the commits. It is given out when it is durable and every
//! post before it has been given out or withdrawn.
//!
//! Invariants: a message that was withdrawn is given to no listener; a listener gets its messages in the order of the
//! posts. For a listener that does not take them at most [`WAITING_BYTES_MAX`] bytes wait (I10, I13). Beyond that it is
//! ended: it receives nothing more, the messages that waited for it are dropped, and it learns so ([`Event::Over`]). So
//! is one for which a message was withdrawn that it waits for ([`Message::is_owed`]). Of its channels it
//! leaves 1,024 at once, and the others a part at a time when its place is dropped, so that it does not stop the others.

mod posting;

pub use posting::{Posted, Posting};

use crate::user_code::wake;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// So many bytes of messages wait for a listener, each counted with [`MESSAGE_BYTES`].
pub const WAITING_BYTES_MAX: usize = 16 << 20;
/// A message takes so much besides its own bytes, about.
pub const MESSAGE_BYTES: usize = 64;
/// A listener that leaves gives up so many channels while it holds the hub.
const LEFT_AT_ONCE: usize = 1024;

/// A notification, or a message to Redis' listeners.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Message {
    /// Its channel, to which its listeners listen.
    pub channel: Box<[u8]>,
    /// Of a pattern of names, the name to which it was sent.
    pub matched: Option<Arc<[u8]>>,
    /// Its content.
    pub payload: Arc<[u8]>,
    /// The number of the session that sent it.
    pub process: u32,
    /// Its listeners wait for it: if it is withdrawn they are ended, since they would wait for ever.
    pub is_owed: bool,
}

impl Message {
    /// The bytes that it counts against a bound.
    pub fn bytes(&self) -> usize {
        let matched = self.matched.as_ref().map_or(0, |matched| matched.len());
        self.channel.len() + matched + self.payload.len() + MESSAGE_BYTES
    }
}

/// A change of what a listener listens to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listening {
    /// It listens to a channel from now on.
    To(Arc<[u8]>),
    /// It does not any more. Waiting messages of the channel are dropped.
    NoMore(Arc<[u8]>),
    /// It listens to none any more.
    ToNone,
}

/// Why a listener is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Messages wait for it.
    Messages,
    /// It is ended.
    Over(Over),
}

/// Why a listener is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// More than [`WAITING_BYTES_MAX`] bytes waited for it.
    Behind,
    /// A message that the listener waits for was withdrawn: the outcome of its transaction is unknown.
    Withdrawn,
}

/// Listeners with their channels, and the messages that wait for each.
#[derive(Debug, Default)]
pub struct Channels {
    listeners: HashMap<u64, Listener>,
    /// The listeners of each, with the place of the channel among theirs.
    channels: BTreeMap<Arc<[u8]>, BTreeMap<u64, u64>>,
    /// Posts that are not given out yet, in the order of the commits.
    posts: VecDeque<Post>,
    /// The number of posts that were made.
    made: u64,
}

#[derive(Debug, Default)]
struct Listener {
    /// By their places: in the order in which it began to listen to them.
    channels: BTreeMap<u64, Arc<[u8]>>,
    /// The place of the next one.
    next: u64,
    waiting: VecDeque<Arc<Message>>,
    bytes: usize,
    over: Option<Over>,
    /// Of the task that waits, if it waits for messages, too.
    waker: Option<(Waker, bool)>,
}

/// Listeners, which the messages of a post to one channel share.
type Listeners = Arc<[u64]>;

/// The messages of one transaction, each with its listeners.
#[derive(Debug)]
struct Post {
    number: u64,
    is_durable: bool,
    messages: Vec<(Arc<Message>, Listeners)>,
}

impl Channels {
    /// Changes what a listener listens to.
    pub fn listen(&mut self, id: u64, change: &Listening) {
        match change {
            Listening::To(channel) => {
                let listener = self.listeners.entry(id).or_default();
                if listener.over.is_some() {
                    return;
                }
                let listeners = self.channels.entry(channel.clone()).or_default();
                if let Entry::Vacant(place) = listeners.entry(id) {
                    place.insert(listener.next);
                    listener.channels.insert(listener.next, channel.clone());
                    listener.next += 1;
                }
            }
            Listening::NoMore(channel) => self.no_more(id, std::slice::from_ref(channel)),
            Listening::ToNone => {
                self.leave_some(id, usize::MAX);
                if let Some(listener) = self.listeners.get_mut(&id) {
                    listener.drop_waiting();
                }
            }
        }
    }

    /// A listener does not listen to these channels any more. Waiting messages of them are dropped, in one pass.
    pub fn no_more(&mut self, id: u64, channels: &[Arc<[u8]>]) {
        self.forget(id, channels);
        let Some(listener) = self.listeners.get_mut(&id) else {
            return;
        };
        let channels: HashSet<&[u8]> = channels.iter().map(|channel| &channel[..]).collect();
        let mut bytes = listener.bytes;
        listener.waiting.retain(|message| {
            let is_left = channels.contains(&message.channel[..]);
            if is_left {
                bytes = bytes.saturating_sub(message.bytes());
            }
            !is_left
        });
        listener.bytes = bytes;
    }

    /// A channel has a listener less. Returns the place that the channel had among those of the listener.
    fn close(&mut self, channel: &Arc<[u8]>, id: u64) -> Option<u64> {
        let listeners = self.channels.get_mut(channel)?;
        let place = listeners.remove(&id);
        if listeners.is_empty() {
            self.channels.remove(channel);
        }
        place
    }

    /// A listener leaves. Returns what it had, to be dropped where no lock is held.
    pub fn leave(&mut self, id: u64) -> impl Sized + use<> {
        self.leave_some(id, usize::MAX);
        self.listeners.remove(&id)
    }

    /// A listener does not listen to these channels any more. Waiting messages of them stay, and the listener ignores
    /// them: it may have many of both, and a search for each channel's would hold up the others.
    pub fn forget(&mut self, id: u64, channels: &[Arc<[u8]>]) {
        for channel in channels {
            if let Some(place) = self.close(channel, id)
                && let Some(listener) = self.listeners.get_mut(&id)
            {
                listener.channels.remove(&place);
            }
        }
    }

    /// A listener that leaves, or is ended, listens to so many channels less. Returns false if it has no more.
    pub fn leave_some(&mut self, id: u64, count: usize) -> bool {
        for _ in 0..count {
            let listener = self.listeners.get_mut(&id);
            let Some((_, channel)) = listener.and_then(|listener| listener.channels.pop_first())
            else {
                return false;
            };
            self.close(&channel, id);
        }
        true
    }

    /// The channels that a listener listens to, in the order in which it began.
    pub fn channels_of(&self, id: u64) -> impl ExactSizeIterator<Item = &Arc<[u8]>> {
        static NONE: BTreeMap<u64, Arc<[u8]>> = BTreeMap::new();
        let listener = self.listeners.get(&id);
        listener
            .map_or(&NONE, |listener| &listener.channels)
            .values()
    }

    /// `id` is the listener's number.
    pub fn listens(&self, id: u64, channel: &[u8]) -> bool {
        let listeners = self.channels.get(channel);
        listeners.is_some_and(|listeners| listeners.contains_key(&id))
    }

    /// The channels with listeners whose names begin so, in the order of their names, each with how many listen to it.
    pub fn beginning_with<'c>(
        &'c self,
        prefix: &'c [u8],
    ) -> impl Iterator<Item = (&'c [u8], usize)> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let from = self.channels.range::<[u8], _>(from);
        from.map(|(channel, listeners)| (&channel[..], listeners.len()))
            .take_while(move |(channel, _)| channel.starts_with(prefix))
    }

    /// Counts listeners of the channel itself, not those of patterns.
    pub fn listeners(&self, channel: &[u8]) -> usize {
        self.channels.get(channel).map_or(0, BTreeMap::len)
    }

    /// Posts messages of a transaction that commits now. Returns the post's number; `None` if they have no listeners.
    pub fn post<'m>(&mut self, messages: impl Iterator<Item = &'m Arc<Message>>) -> Option<u64> {
        let mut shared: HashMap<&[u8], Listeners> = HashMap::new();
        let heard = messages.filter_map(|message| {
            let (channel, listeners) = self.channels.get_key_value(&message.channel[..])?;
            let listeners = shared
                .entry(channel)
                .or_insert_with(|| listeners.keys().copied().collect());
            Some((message.clone(), listeners.clone()))
        });
        let messages: Vec<_> = heard.collect();
        if messages.is_empty() {
            return None;
        }
        self.made += 1;
        self.posts.push_back(Post {
            number: self.made,
            is_durable: false,
            messages,
        });
        Some(self.made)
    }

    /// This post is durable; those before it may not be yet, and it is given out behind them. Returns whom to wake.
    pub fn durable(&mut self, number: u64) -> Vec<Waker> {
        self.durable_if(|post| post == number)
    }

    /// This post and all before it are durable. Returns whom to wake.
    pub fn durable_to(&mut self, number: u64) -> Vec<Waker> {
        self.durable_if(|post| post <= number)
    }

    fn durable_if(&mut self, is_durable: impl Fn(u64) -> bool) -> Vec<Waker> {
        for post in &mut self.posts {
            post.is_durable |= is_durable(post.number);
        }
        self.give_out()
    }

    /// This post is given to no listener: its transaction is not durable, and never will be. Returns whom to wake.
    pub fn withdraw(&mut self, number: u64) -> Vec<Waker> {
        let place = self.posts.iter().position(|post| post.number == number);
        let withdrawn = place.and_then(|place| self.posts.remove(place));
        let mut wakers = Vec::new();
        for (message, listeners) in withdrawn.into_iter().flat_map(|post| post.messages) {
            for &id in listeners.iter().filter(|_| message.is_owed) {
                // It may listen to the channel no more.
                if self.listens(id, &message.channel) {
                    wakers.extend(self.end(id, Over::Withdrawn));
                }
            }
        }
        wakers.extend(self.give_out());
        wakers
    }

    /// A listener is ended. Returns whom to wake. It may have a million channels: those beyond [`LEFT_AT_ONCE`] are closed
    /// when it leaves, some at a time.
    fn end(&mut self, id: u64, why: Over) -> Option<Waker> {
        let listener = self.listeners.get_mut(&id)?;
        if listener.over.is_some() {
            return None;
        }
        listener.over = Some(why);
        listener.drop_waiting();
        let waker = listener.waker.take();
        self.leave_some(id, LEFT_AT_ONCE);
        waker.map(|(waker, _)| waker)
    }

    fn give_out(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while self.posts.front().is_some_and(|post| post.is_durable) {
            for (message, listeners) in self.posts.pop_front().into_iter().flat_map(|p| p.messages)
            {
                for &id in listeners.iter() {
                    wakers.extend(self.give(id, &message));
                }
            }
        }
        wakers
    }

    fn give(&mut self, id: u64, message: &Arc<Message>) -> Option<Waker> {
        // It may listen to the channel no more.
        if !self.listens(id, &message.channel) {
            return None;
        }
        let listener = self.listeners.get_mut(&id)?;
        if listener.over.is_some() {
            return None;
        }
        if listener.bytes + message.bytes() > WAITING_BYTES_MAX {
            return self.end(id, Over::Behind);
        }
        listener.bytes += message.bytes();
        listener.waiting.push_back(message.clone());
        let waker = listener.waker.take_if(|(_, for_messages)| *for_messages);
        waker.map(|(waker, _)| waker)
    }

    /// Takes messages that wait for a listener, up to so many bytes, and at least one.
    pub fn take(&mut self, id: u64, bytes_max: usize) -> Vec<Arc<Message>> {
        let mut taken = Vec::new();
        let Some(listener) = self.listeners.get_mut(&id) else {
            return taken;
        };
        let mut bytes = 0;
        while let Some(message) = listener.waiting.front()
            && (taken.is_empty() || bytes + message.bytes() <= bytes_max)
        {
            bytes += message.bytes();
            taken.extend(listener.waiting.pop_front());
        }
        listener.bytes -= bytes;
        taken
    }

    /// Ready if an event has come to a listener; messages are one if `for_messages`. If not, it is woken
    /// then.
    pub fn poll(&mut self, id: u64, for_messages: bool, context: &Context<'_>) -> Poll<Event> {
        let Some(listener) = self.listeners.get_mut(&id) else {
            // It listens to nothing, and begins to only by itself.
            return Poll::Pending;
        };
        if let Some(why) = listener.over {
            return Poll::Ready(Event::Over(why));
        }
        if for_messages && !listener.waiting.is_empty() {
            return Poll::Ready(Event::Messages);
        }
        match &mut listener.waker {
            Some((waker, for_them)) if waker.will_wake(context.waker()) => *for_them = for_messages,
            waker => *waker = Some((context.waker().clone(), for_messages)),
        }
        Poll::Pending
    }

    /// Why a listener is ended, if it is.
    pub fn over(&self, id: u64) -> Option<Over> {
        self.listeners.get(&id)?.over
    }

    /// The part of the bound that waits for the listener with the most.
    pub fn usage(&self) -> f64 {
        let most = self.listeners.values().map(|listener| listener.bytes).max();
        most.unwrap_or_default() as f64 / WAITING_BYTES_MAX as f64
    }
}

impl Listener {
    /// Nothing waits for it any more.
    fn drop_waiting(&mut self) {
        self.waiting = VecDeque::new();
        self.bytes = 0;
    }
}

/// Channels that threads share.
#[derive(Debug, Default)]
pub struct Hub {
    channels: Mutex<Channels>,
    inboxes: AtomicU64,
}

impl Hub {
    /// A place for a session of this number, which listens to nothing yet.
    pub fn enter(self: &Arc<Hub>, process: u32) -> Inbox {
        Inbox {
            id: self.inboxes.fetch_add(1, Ordering::Relaxed),
            process,
            hub: self.clone(),
            has_listened: AtomicBool::new(false),
        }
    }

    /// Looks at the channels, which do not change meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&Channels) -> T) -> T {
        look(&self.locked())
    }

    /// See [`Channels::post`].
    pub fn post<'m>(&self, messages: impl Iterator<Item = &'m Arc<Message>>) -> Option<u64> {
        self.locked().post(messages)
    }

    /// See [`Channels::durable`].
    pub fn durable(&self, number: u64) {
        self.wake(|channels| channels.durable(number));
    }

    /// See [`Channels::durable_to`].
    pub fn durable_to(&self, number: u64) {
        self.wake(|channels| channels.durable_to(number));
    }

    /// See [`Channels::withdraw`].
    pub fn withdraw(&self, number: u64) {
        self.wake(|channels| channels.withdraw(number));
    }

    /// See [`Channels::usage`].
    pub fn usage(&self) -> f64 {
        self.locked().usage()
    }

    fn wake(&self, act: impl FnOnce(&mut Channels) -> Vec<Waker>) {
        let wakers = act(&mut self.locked());
        wakers.into_iter().for_each(wake);
    }

    fn locked(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener's place in a hub, until it is dropped.
#[derive(Debug)]
pub struct Inbox {
    hub: Arc<Hub>,
    id: u64,
    process: u32,
    /// Until then nothing can have come, and the hub is not asked.
    has_listened: AtomicBool,
}

impl Inbox {
    /// The number of its session.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// See [`Channels::listen`].
    pub fn listen(&self, change: &Listening) {
        if matches!(change, Listening::To(_)) {
            self.has_listened.store(true, Ordering::Release);
        }
        if matches!(change, Listening::ToNone) {
            self.leave_channels();
        }
        if let Some(mut channels) = self.locked() {
            channels.listen(self.id, change);
        }
    }

    /// Leaves all channels. Others wait for the hub only for a while, as there may be a million.
    fn leave_channels(&self) {
        while (self.locked()).is_some_and(|mut channels| channels.leave_some(self.id, LEFT_AT_ONCE))
        {
        }
    }

    /// See [`Channels::no_more`].
    pub fn end(&self, channels: &[Arc<[u8]>]) {
        for some in channels.chunks(LEFT_AT_ONCE) {
            if let Some(mut locked) = self.locked() {
                locked.no_more(self.id, some);
            }
        }
    }

    /// See [`Channels::forget`].
    pub fn forget(&self, channels: &[Arc<[u8]>]) {
        if let Some(mut locked) = self.locked() {
            locked.forget(self.id, channels);
        }
    }

    /// The number of channels that it listens to.
    pub fn count(&self) -> usize {
        let channels = self.locked();
        channels.map_or(0, |channels| channels.channels_of(self.id).len())
    }

    /// The channels that it listens to.
    pub fn channels(&self) -> Vec<Arc<[u8]>> {
        let channels = self.locked();
        channels.map_or_else(Vec::new, |channels| {
            channels.channels_of(self.id).cloned().collect()
        })
    }

    /// See [`Channels::listens`].
    pub fn listens(&self, channel: &[u8]) -> bool {
        let channels = self.locked();
        channels.is_some_and(|channels| channels.listens(self.id, channel))
    }

    /// See [`Channels::take`].
    pub fn take(&self, bytes_max: usize) -> Vec<Arc<Message>> {
        let channels = self.locked();
        channels.map_or_else(Vec::new, |mut channels| channels.take(self.id, bytes_max))
    }

    /// See [`Channels::poll`].
    pub fn poll(&self, for_messages: bool, context: &Context<'_>) -> Poll<Event> {
        match self.locked() {
            Some(mut channels) => channels.poll(self.id, for_messages, context),
            // It begins to listen by itself only.
            None => Poll::Pending,
        }
    }

    /// See [`Channels::over`].
    pub fn over(&self) -> Option<Over> {
        self.locked()?.over(self.id)
    }

    /// True if it is ended.
    pub fn is_over(&self) -> bool {
        self.over().is_some()
    }

    fn locked(&self) -> Option<MutexGuard<'_, Channels>> {
        let has_listened = self.has_listened.load(Ordering::Acquire);
        has_listened.then(|| self.hub.locked())
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.leave_channels();
        let left = self.locked().map(|mut channels| channels.leave(self.id));
        drop(left);
    }
}

#[cfg(test)]
mod tests;
