//! Copies by hand: the contract of stores, a copy that is left out and comes back, objects beside that.

use super::Copies;
use super::changing::{Changing, PlacesChange};
use super::keeper::Keeper;
use super::members::{Members, Open, Wait};
use super::putting_back::{PutBack, PutBackOutcome, Unfinished, put_back_at};
use super::record::SetRecord;
use super::sites::{KEEPER, Sites};
use super::spelling::Spelling;
use super::time::{Limits, Time};
use crate::encrypted::Keys;
use crate::options::RemoteOptions;
use crate::place::open;
use crate::rules::{keeps_the_contract, own_in_turn};
use crate::tcp::StoreServer;
use sardonyx_base::greeting::Trust;
use sardonyx_base::transport::Plain;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, RemotePlace};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The places that a host does not reach, and its clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Net {
    cut: Arc<Mutex<Vec<String>>>,
    clock: Arc<AtomicU64>,
    pub then: Then,
}

/// An act that is done once, when the objects at this place have been listed.
#[derive(Clone, Default)]
pub(super) struct Then(Arc<Mutex<Option<(String, Happens)>>>);

type Happens = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for Then {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("what happens then")
    }
}

impl Then {
    pub fn set(&self, place: &str, happens: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some((place.into(), Box::new(happens)));
    }

    fn listed(&self, place: &str) {
        let happens = self.0.lock().unwrap().take_if(|(at, _)| at == place);
        if let Some((_, happens)) = happens {
            happens();
        }
    }
}

impl Net {
    pub fn cut(&self, places: &[&str]) {
        let places = places.iter().map(|place| (*place).into());
        *self.cut.lock().unwrap() = places.collect();
    }
}

impl Time for Net {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.clock.load(Ordering::SeqCst))
    }

    fn pause(&self, time: Duration) {
        let milliseconds = time.as_millis() as u64;
        self.clock.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

/// A place, as one host reaches it.
#[derive(Debug)]
struct Wire {
    net: Net,
    place: String,
    store: Arc<MemoryStore>,
}

impl Wire {
    fn ask<T>(
        &self,
        act: impl FnOnce(&MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let is_cut = self.net.cut.lock().unwrap().contains(&self.place);
        match is_cut {
            false => act(&self.store),
            true => Err(StoreError::Unclear {
                what: "a request".into(),
                place: self.place.clone(),
                reason: "it is cut off".into(),
            }),
        }
    }
}

impl RemoteStore for Wire {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn entry_bytes_max(&self) -> u64 {
        self.store.entry_bytes_max()
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.ask(|store| store.append_at(number, bytes))
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask(|store| store.read(number))
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.ask(|store| store.list(from))
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.ask(|store| store.remove(numbers))
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.ask(|store| store.read_register(register))
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.ask(|store| store.swap_register(register, expected, bytes))
    }
}

impl RemoteObjects for Wire {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.ask(|store| store.create_object(name, bytes))
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask(|store| store.read_object(name))
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        let listed = self.ask(|store| store.list_objects(folder));
        self.net.then.listed(&self.place);
        listed
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.ask(|store| store.remove_objects(names))
    }
}

struct Places {
    sites: Arc<Sites>,
    net: Net,
}

impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("places")
    }
}

impl Places {
    fn wire(&self, place: &str) -> Arc<dyn RemotePlace> {
        Arc::new(Wire {
            net: self.net.clone(),
            place: place.into(),
            store: self.sites.at(place),
        })
    }
}

impl Open for Places {
    fn open(&self, place: &str, _: Wait) -> Result<Arc<dyn RemotePlace>, StoreError> {
        Ok(self.wire(place))
    }
}

pub(super) struct Host {
    pub copies: Copies,
    pub net: Net,
    sites: Arc<Sites>,
}

impl Host {
    pub(super) fn new(sites: &Arc<Sites>) -> Self {
        Host::start(sites, Net::default(), Keeper::new).unwrap()
    }

    /// The same, for which these places are away.
    pub(super) fn new_beside(sites: &Arc<Sites>, away: &[&str]) -> Self {
        let net = Net::default();
        net.cut(away);
        Host::start(sites, net, Keeper::new).unwrap()
    }

    /// A host that starts, with this keeper of its register; it may refuse that.
    pub(super) fn start(
        sites: &Arc<Sites>,
        net: Net,
        keeper: impl FnOnce(Arc<dyn RemotePlace>) -> Keeper,
    ) -> Result<Self, StoreError> {
        let places = Places {
            sites: sites.clone(),
            net: net.clone(),
        };
        let keeper = keeper(places.wire(KEEPER));
        let view = keeper.read()?;
        let spelling = Spelling {
            keeper: KEEPER.into(),
            copies: sites.copies.clone(),
        };
        let limits = Limits {
            write: Duration::from_millis(100),
            read: Duration::from_millis(300),
            pause: Duration::from_millis(20),
        };
        let (open, time) = (Box::new(places), Box::new(net.clone()));
        let copies = Copies::new(&spelling, keeper, view, open, time, limits)?;
        copies.ask_at_start(None)?;
        Ok(Host {
            copies,
            net,
            sites: sites.clone(),
        })
    }

    /// A person puts the newest register back, from where these places are away.
    pub(super) fn try_to_put_back(
        sites: &Arc<Sites>,
        keeper: Arc<dyn RemotePlace>,
        known: Option<SetRecord>,
        wish: &PutBack,
        away: &[&str],
    ) -> Result<PutBackOutcome, Unfinished> {
        let net = Net::default();
        net.cut(away);
        let places = Places {
            sites: sites.clone(),
            net,
        };
        let spelling = Spelling {
            keeper: KEEPER.into(),
            copies: sites.copies.clone(),
        };
        let members = Members::new(Box::new(places));
        let keeper = Keeper::new(keeper);
        put_back_at(&keeper, &members, &spelling, wish, |_, _| Ok(known))
    }

    /// The same, with all places.
    pub(super) fn put_back(
        sites: &Arc<Sites>,
        keeper: Arc<dyn RemotePlace>,
        known: Option<SetRecord>,
    ) -> Result<SetRecord, StoreError> {
        let put = Host::try_to_put_back(sites, keeper.clone(), known, &PutBack::default(), &[]);
        let put = put.map_err(|unfinished| unfinished.of(&Keeper::new(keeper)));
        Ok(put?.record)
    }

    pub(super) fn cut(&self, places: &[&str]) {
        self.net.cut(places);
    }

    pub(super) fn append(&self, number: u64, text: &str) -> Result<Appended, StoreError> {
        self.copies.append_at(number, text.as_bytes())
    }

    pub(super) fn appends(&self, number: u64, text: &str) {
        assert_eq!(self.append(number, text).unwrap(), Appended::Ok);
    }

    /// Changes the places of the set, as a person at this host does.
    pub(super) fn change(&self, added: &[&str], removed: &[&str]) -> Result<SetRecord, StoreError> {
        let owned = |places: &[&str]| places.iter().map(|place| (*place).into()).collect();
        let places = Places {
            sites: self.sites.clone(),
            net: self.net.clone(),
        };
        let changing = Changing {
            keeper: &Keeper::new(places.wire(KEEPER)),
            keeper_place: KEEPER,
            members: &self.copies.members,
            new_places: &places,
        };
        changing.change(&PlacesChange {
            added: owned(added),
            removed: owned(removed),
        })
    }

    /// As the thread does it, until there is no more work.
    pub(super) fn maintain(&self) {
        self.net.pause(Duration::from_secs(2));
        while self.copies.maintain().unwrap_or(false) {}
    }
}

#[test]
fn copies_keep_the_contract_of_a_store_and_a_log() {
    let sites = Sites::new(&["a", "b", "c"]);
    keeps_the_contract(&Host::new(&sites).copies);
    let sites = Sites::new(&["a", "b"]);
    own_in_turn(
        0,
        &(Arc::new(Host::new(&sites).copies) as Arc<dyn RemoteStore>),
    );
    // Each copy alone has the log's entries.
    let lists = ["a", "b"].map(|place| sites.at(place).list(0).unwrap());
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[0].len(), 4);
}

#[test]
fn a_copy_that_is_away_is_left_out_and_comes_back_with_what_it_missed() {
    let sites = Sites::new(&["a", "b"]);
    let host = Host::new(&sites);
    host.appends(1, "one");
    host.copies.create_object("bases/x", b"object").unwrap();
    host.cut(&["a"]);
    host.appends(2, "two");
    host.copies.create_object("bases/y", b"object").unwrap();
    host.copies.remove_objects(&["bases/x".into()]).unwrap();
    assert_eq!(sites.in_sync(), ["b"]);
    assert!(sites.at("a").read(2).unwrap().is_none());
    host.maintain();
    assert_eq!(sites.in_sync(), ["b"], "it is still away");
    host.cut(&[]);
    host.maintain();
    assert_eq!(sites.in_sync(), ["b", "a"], "at the end of the chain");
    assert_eq!(sites.at("a").read(2).unwrap().unwrap(), b"two");
    let listed = sites.at("a").list_objects("life-1").unwrap();
    let names: Vec<&str> = listed.iter().map(|object| &object.name[..]).collect();
    assert_eq!(names, ["life-1/bases/y"]);
    // The other one is lost, and nothing with it.
    host.cut(&["b"]);
    host.appends(3, "three");
    assert_eq!(sites.in_sync(), ["a"]);
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        let read = host.copies.read(number).unwrap().unwrap();
        assert_eq!(read, text.as_bytes());
    }
    // The last one stays in the set.
    host.cut(&["a", "b"]);
    let error = host.append(4, "four").unwrap_err();
    assert!(error.is_unclear(), "{error}");
    assert_eq!(sites.in_sync(), ["a"]);
}

#[test]
fn a_copy_that_has_something_else_begins_another_life() {
    let sites = Sites::new(&["a", "b"]);
    let host = Host::new(&sites);
    host.appends(1, "one");
    host.cut(&["a"]);
    host.appends(2, "two");
    // Entries that were never acknowledged.
    sites.at("a").append_at(2, &[7; 500]).unwrap();
    host.cut(&[]);
    host.maintain();
    let record = sites.record();
    let copy = record.tail().unwrap();
    assert_eq!((&copy.place[..], copy.life), ("a", 2));
    assert_eq!(host.copies.read(2).unwrap().unwrap(), b"two");
    assert_eq!(
        sites.at("a").read(2).unwrap(),
        None,
        "what the earlier life had is deleted"
    );
}

#[test]
fn a_set_is_made_once_and_another_one_is_refused_with_both_spelled() {
    let options = RemoteOptions::default();
    let place = "copies:memory:set-keeper;memory:set-a;memory:set-b";
    let one = open(place, &options).unwrap();
    assert_eq!(one.place(), place);
    assert_eq!(one.append_at(1, b"one").unwrap(), Appended::Ok);
    let again = "copies:memory:set-keeper;memory:set-b;memory:set-a";
    let again = open(again, &options).unwrap();
    assert_eq!(again.read(1).unwrap().unwrap(), b"one");
    let record = super::copies_of(place, &options).unwrap().unwrap();
    assert_eq!(record.in_sync().count(), 2);
    assert_eq!(super::copies_of("memory:x", &options).unwrap(), None);
    for (place, says) in [
        (
            "copies:memory:set-keeper;memory:set-a;memory:set-c",
            "spelled the same",
        ),
        (
            "copies:memory:set-other;memory:set-a;memory:set-b",
            "put the newest register back",
        ),
    ] {
        let error = open(place, &options).unwrap_err();
        assert!(matches!(error, StoreError::Setup { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let used = RemoteOptions {
        make: false,
        ..options
    };
    let error = open("copies:memory:no-keeper;memory:x1;memory:x2", &used).unwrap_err();
    assert!(error.is_unclear(), "{error}");
}

/// A place under two names would be one copy, and two are promised.
#[test]
fn one_place_under_two_names_is_refused() {
    let home = tempfile::tempdir_in("/dev/shm").unwrap();
    let at = home.path().display();
    let place = format!("copies:file:{at}/keeper;file:{at}/one;file:{at}/./one");
    let error = open(&place, &RemoteOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::Setup { .. }), "{error}");
    assert!(error.to_string().contains("a place of its own"), "{error}");
}

#[test]
fn a_copy_that_is_away_is_left_out_by_a_host_that_reads_or_deletes_and_by_no_tool() {
    let sites = Sites::new(&["a", "b"]);
    let (host, mut tool) = (Host::new(&sites), Host::new(&sites));
    tool.copies.changes_copies = false;
    host.appends(1, "one");
    for host in [&tool, &host] {
        host.cut(&["b"]);
        // It is silent from the first look on.
        host.copies.read(1).unwrap_err();
        host.net.pause(Duration::from_secs(10));
    }
    tool.copies.read(1).unwrap_err();
    tool.copies.remove(&[7]).unwrap_err();
    assert_eq!(sites.in_sync(), ["a", "b"]);
    host.copies.remove(&[7]).unwrap();
    assert_eq!(sites.in_sync(), ["a"]);
    host.cut(&[]);
    host.appends(2, "two");
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "b"]);
    host.cut(&["b"]);
    host.copies.read(1).unwrap_err();
    host.net.pause(Duration::from_secs(10));
    assert_eq!(host.copies.read(1).unwrap().unwrap(), b"one");
    assert_eq!(sites.in_sync(), ["a"]);
}

/// Waits for something that comes by itself.
fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "it does not come"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Two servers, of which one ends and comes back, and then the other one ends for good; with keys.
#[test]
fn over_tcp_a_log_outlives_each_of_its_servers_in_turn() {
    let home = tempfile::tempdir_in("/dev/shm").unwrap();
    let trust = || Trust {
        transport: Arc::new(Plain),
        token: None,
    };
    let serve = |name: &str, listener: &TcpListener| {
        let directory = home.path().join(name);
        let store = StoreServer::open(directory.to_str().unwrap()).unwrap();
        let listener = listener.try_clone().unwrap();
        StoreServer::start(store, listener, trust()).unwrap()
    };
    // Each keeps its port while its server is away: then it is as one that gives no answer.
    let listeners = [0; 2].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let [at_a, at_b] = [0, 1].map(|nth: usize| listeners[nth].local_addr().unwrap());
    let (a, b) = (serve("a", &listeners[0]), serve("b", &listeners[1]));
    std::fs::write(home.path().join("keys"), "07".repeat(32)).unwrap();
    let options = RemoteOptions {
        trust: Some(trust()),
        keys: Some(Keys::of_file(&home.path().join("keys")).unwrap()),
        ..RemoteOptions::default()
    };
    let keeper = home.path().join("keeper");
    let place = format!("copies:file:{};tcp://{at_a};tcp://{at_b}", keeper.display());
    let log = open(&place, &options).unwrap();
    let append = |number: u64| {
        until(|| log.append_at(number, &number.to_le_bytes()).is_ok());
        assert_eq!(log.read(number).unwrap().unwrap(), number.to_le_bytes());
    };
    let in_sync = || {
        let record = super::copies_of(&place, &options).unwrap().unwrap();
        record.in_sync().count()
    };
    (1..20).for_each(append);
    drop(a);
    (20..40).for_each(append);
    assert_eq!(in_sync(), 1);
    let _a = serve("a", &listeners[0]);
    until(|| in_sync() == 2);
    drop(b);
    (40..60).for_each(append);
    for number in 1..60 {
        assert_eq!(log.read(number).unwrap().unwrap(), number.to_le_bytes());
    }
}
