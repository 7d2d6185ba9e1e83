//! The clients of a keyspace: their connections, their activity, and requests to one or all of them.
//!
//! A session has a [`Client`], which others find here as long as it exists. Requests of others (to end, to wait, to go
//! on) are a flag and a wake-up: the session reads the flag between flights.
//!
//! Invariants: a client leaves with its session; no lock is held while a task is woken.

use crate::command::{self, Command};
use crate::functions::Caller;
use sardonyx_base::channels::{MESSAGE_BYTES, WAITING_BYTES_MAX};
use sardonyx_base::memory::Budget;
use sardonyx_base::user_code::wake;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};

/// All clients.
#[derive(Default)]
pub(crate) struct Clients {
    all: Mutex<BTreeMap<u64, Weak<Client>>>,
    is_paused: AtomicBool,
    pause: Mutex<Option<Pause>>,
    monitors: Arc<AtomicUsize>,
    trackers: Arc<AtomicUsize>,
    /// The memory of the keys that clients track.
    tracked: Arc<Budget>,
    /// The client that was last asked to give up some of it.
    asked: Mutex<Weak<Client>>,
}

/// Until when clients wait with their commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pause {
    /// In milliseconds since 1970.
    pub until: i64,
    /// Only commands that write are paused.
    pub only_writes: bool,
}

/// The properties that a client reports of itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub name: Vec<u8>,
    /// The name and the version of its library.
    pub library: (Vec<u8>, Vec<u8>),
    pub caller: Arc<Caller>,
}

/// The last activity of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activity {
    /// In milliseconds since 1970.
    pub at: i64,
    pub command: &'static Command,
    pub subcommand: Option<&'static str>,
    pub database: u8,
    pub version: u8,
    /// To how many channels, patterns and shard channels it listens.
    pub listens: [usize; 3],
    /// The number of commands that wait for `EXEC`, and their bytes.
    pub queued: Option<(usize, usize)>,
    pub watched: usize,
    pub waits: bool,
    pub monitors: bool,
    /// The client to which changes of tracked keys are redirected: 0 is none, and -1 that none are tracked.
    pub redirect: i64,
}

pub(crate) struct Client {
    pub id: u64,
    /// When it came, in milliseconds since 1970.
    pub since: i64,
    pub address: Option<SocketAddr>,
    known: Mutex<(Identity, Activity)>,
    is_ended: AtomicBool,
    waker: Mutex<Option<Waker>>,
    /// Changed keys that other sessions tell this client of, and their bytes.
    redirected: Mutex<(Vec<Redirected>, usize)>,
    has_redirected: AtomicBool,
    /// The bytes of the keys that it tracks.
    tracked: AtomicUsize,
    /// Others ask it to give up some of them.
    is_asked: AtomicBool,
    clients: Arc<Clients>,
}

/// Keys that have changed; any may have without a list.
pub(crate) type Redirected = Option<Vec<Vec<u8>>>;

impl Clients {
    /// One more.
    pub fn enter(
        self: &Arc<Self>,
        id: u64,
        since: i64,
        address: Option<SocketAddr>,
        caller: Arc<Caller>,
    ) -> Arc<Client> {
        let identity = Identity {
            name: Vec::new(),
            library: Default::default(),
            caller,
        };
        let activity = Activity {
            at: since,
            command: &command::NONE,
            subcommand: None,
            database: 0,
            version: 2,
            listens: [0; 3],
            queued: None,
            watched: 0,
            waits: false,
            monitors: false,
            redirect: -1,
        };
        let client = Arc::new(Client {
            id,
            since,
            address,
            known: Mutex::new((identity, activity)),
            is_ended: AtomicBool::new(false),
            waker: Mutex::default(),
            redirected: Mutex::default(),
            has_redirected: AtomicBool::new(false),
            tracked: AtomicUsize::new(0),
            is_asked: AtomicBool::new(false),
            clients: self.clone(),
        });
        self.locked().insert(id, Arc::downgrade(&client));
        client
    }

    /// The connected clients, in the order in which they connected.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.locked().values().filter_map(Weak::upgrade).collect()
    }

    /// True if there is a client of this number.
    pub fn is_there(&self, id: u64) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: u64) -> Option<Arc<Client>> {
        let found = self.locked().get(&id).and_then(Weak::upgrade);
        found.filter(|client| !client.is_ended())
    }

    /// Tells a client that keys have changed. Returns false if it is not there.
    pub fn tell(&self, id: u64, keys: Redirected) -> bool {
        let client = self.find(id);
        client.map(|client| client.redirect(keys)).is_some()
    }

    /// A client begins to track keys.
    pub fn begin_to_track(&self) -> CountedIn {
        CountedIn::of(&self.trackers)
    }

    /// A client begins to monitor the commands of others.
    pub fn begin_to_monitor(&self) -> CountedIn {
        CountedIn::of(&self.monitors)
    }

    /// True if a client tracks keys.
    #[inline]
    pub fn are_tracking(&self) -> bool {
        self.trackers.load(Ordering::Relaxed) > 0
    }

    /// The number of clients that track keys.
    pub fn tracking(&self) -> usize {
        self.trackers.load(Ordering::Relaxed)
    }

    /// The memory of the keys that clients track.
    pub fn tracked(&self) -> &Arc<Budget> {
        &self.tracked
    }

    /// Asks the client whose keys take the most memory to give up some, unless it is the one that needs it.
    pub fn ask_for_room(&self, own: u64) {
        let largest = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            // One at a time: it has not come to it yet.
            let waits = |client: &Client| client.is_asked.load(Ordering::Acquire);
            if asked.upgrade().is_some_and(|client| waits(&client)) {
                return;
            }
            let largest = self.all().into_iter().max_by_key(|client| client.tracked());
            let Some(largest) = largest.filter(|largest| largest.id != own) else {
                return;
            };
            largest.is_asked.store(true, Ordering::Release);
            *asked = Arc::downgrade(&largest);
            largest
        };
        largest.wake();
    }

    /// Has them wait with their commands. Of two pauses the longer and the stricter counts.
    pub fn pause(&self, pause: Pause, now: i64) {
        let mut own = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(match own.filter(|own| own.until > now) {
            None => pause,
            Some(own) => Pause {
                until: own.until.max(pause.until),
                only_writes: own.only_writes && pause.only_writes,
            },
        });
        self.is_paused.store(true, Ordering::Release);
    }

    /// Has them go on.
    pub fn go_on(&self) {
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.is_paused.store(false, Ordering::Release);
        self.all().iter().for_each(|client| client.wake());
    }

    /// Until when they wait, if they do.
    #[inline]
    pub fn paused(&self, now: impl FnOnce() -> i64) -> Option<Pause> {
        match self.is_paused.load(Ordering::Acquire) {
            false => None,
            true => self.paused_until(now()),
        }
    }

    #[cold]
    fn paused_until(&self, now: i64) -> Option<Pause> {
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        *pause = pause.filter(|pause| pause.until > now);
        self.is_paused.store(pause.is_some(), Ordering::Release);
        *pause
    }

    /// True if a client monitors the commands of others.
    #[inline]
    pub fn are_watched(&self) -> bool {
        self.monitors.load(Ordering::Relaxed) > 0
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Stores the client's last activity.
    pub fn note(&self, activity: Activity) {
        self.known().1 = activity;
    }

    /// Another session tells the client of keys. A client that does not read is ended.
    fn redirect(&self, keys: Redirected) {
        let bytes = |keys: &Redirected| {
            let keys = keys.iter().flatten();
            keys.map(|key| key.len() + MESSAGE_BYTES).sum::<usize>() + MESSAGE_BYTES
        };
        {
            let mut own = self.redirected();
            own.1 += bytes(&keys);
            match own.1 > WAITING_BYTES_MAX {
                true => self.is_ended.store(true, Ordering::Release),
                false => own.0.push(keys),
            }
        }
        self.has_redirected.store(true, Ordering::Release);
        self.wake();
    }

    /// True if another session has sent the client names of keys.
    #[inline]
    pub fn has_redirected(&self) -> bool {
        self.has_redirected.load(Ordering::Acquire)
    }

    /// Takes the keys that other sessions have sent the client.
    pub fn take_redirected(&self) -> Vec<Redirected> {
        self.has_redirected.store(false, Ordering::Release);
        std::mem::take(&mut *self.redirected()).0
    }

    fn redirected(&self) -> MutexGuard<'_, (Vec<Redirected>, usize)> {
        self.redirected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// All clients.
    pub fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    /// The bytes of the keys that it tracks.
    fn tracked(&self) -> usize {
        self.tracked.load(Ordering::Relaxed)
    }

    /// It tracks keys of so many bytes.
    pub fn set_tracked(&self, bytes: usize) {
        self.tracked.store(bytes, Ordering::Relaxed);
    }

    /// True if it is asked to give up keys that it tracks.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }

    /// The same once: it does.
    pub fn take_asked(&self) -> bool {
        self.is_asked() && self.is_asked.swap(false, Ordering::AcqRel)
    }

    /// It begins, or ends, to wait for elements.
    pub fn waits(&self, waits: bool) {
        self.known().1.waits = waits;
    }

    /// True if the client waits for elements, or for the end of a pause.
    pub fn is_waiting(&self) -> bool {
        self.known().1.waits
    }

    /// It says something else of itself.
    pub fn rename(&self, change: impl FnOnce(&mut Identity)) {
        change(&mut self.known().0);
    }

    pub fn identity(&self) -> Identity {
        self.known().0.clone()
    }

    /// The client's identity and activity, as a line of text. Client libraries read all fields; unsupported fields are
    /// 0.
    pub fn line(&self, now: i64) -> String {
        let (identity, activity) = self.known().clone();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let seconds = |since: i64| (now - since).max(0) / 1000;
        let [channels, patterns, shards] = activity.listens;
        let (queued, queued_bytes) = match activity.queued {
            Some((commands, bytes)) => (commands as i64, bytes),
            None => (-1, 0),
        };
        format!(
            "id={} addr={} laddr=?:0 fd=0 name={} age={} idle={} flags={} db={} sub={channels} psub={patterns} \
             ssub={shards} multi={queued} watch={} qbuf=0 qbuf-free=0 argv-mem=0 multi-mem={queued_bytes} rbs=0 rbp=0 \
             obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={} user={} redir={} resp={} lib-name={} lib-ver={}\n",
            self.id,
            self.address_text(),
            text(&identity.name),
            seconds(self.since),
            seconds(activity.at),
            activity.flags(),
            activity.database,
            activity.watched,
            activity.command_name(),
            identity.caller.user,
            activity.redirect,
            activity.version,
            text(&identity.library.0),
            text(&identity.library.1),
        )
    }

    /// The client's address as text.
    pub fn address_text(&self) -> String {
        match self.address {
            Some(address) => address.to_string(),
            None => "?:0".into(),
        }
    }

    /// True if the client listens to channels.
    pub fn listens(&self) -> bool {
        self.known().1.listens.iter().any(|count| *count > 0)
    }

    /// Its connection is to be closed.
    pub fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.wake();
    }

    /// True if the client's connection is to be closed.
    #[inline]
    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// The task is woken when something is asked of it.
    pub fn wait(&self, context: &Context<'_>) {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => *waker = Some(context.waker().clone()),
        }
    }

    fn wake(&self) {
        let waker = self.waker.lock();
        let waker = waker.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            wake(waker);
        }
    }

    fn known(&self) -> MutexGuard<'_, (Identity, Activity)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.clients.locked().remove(&self.id);
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Activity {
    fn flags(&self) -> String {
        let flags = [
            (self.waits, 'b'),
            (self.monitors, 'O'),
            (self.listens.iter().any(|count| *count > 0), 'P'),
            (self.queued.is_some(), 'x'),
            (self.redirect >= 0, 't'),
        ];
        let flags: String = flags
            .iter()
            .filter(|(has, _)| *has)
            .map(|(_, flag)| flag)
            .collect();
        match flags.is_empty() {
            true => "N".into(),
            false => flags,
        }
    }

    fn command_name(&self) -> String {
        match self.subcommand {
            Some(subcommand) => format!("{}|{subcommand}", self.command.name),
            None => self.command.name.to_string(),
        }
    }
}

/// A client among those that track keys, or that monitor others, until it is dropped.
pub(crate) struct CountedIn(Arc<AtomicUsize>);

impl CountedIn {
    fn of(count: &Arc<AtomicUsize>) -> CountedIn {
        count.fetch_add(1, Ordering::Relaxed);
        CountedIn(count.clone())
    }
}

impl Drop for CountedIn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for CountedIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CountedIn")
    }
}
