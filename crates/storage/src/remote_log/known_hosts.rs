//! The register `hosts`: from which entry on each host would continue, as it reported that last. Whatever deletes the past
//! keeps what these hosts still need. A host reports each minute, also while it serves: the host that serves now follows
//! after the next failover. A report that is lost is followed by another.
//!
//! A damaged register is replaced by the next report, which knows of no other host. So the register then has the time at which
//! it was begun anew, and for a day nothing that hosts may need is deleted ([`KnownHosts::knows_all`]): all of them have
//! reported again by then.
//!
//! Invariant: I10 (at most [`HOSTS_MAX`] hosts; the one that reported longest ago leaves first).

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::exchange::Doubts;
use super::known::{Known, KnownError};
use super::primary::is_host_name;
use super::store::{Register, RegisterVersion, RemoteStore, StoreError, Swapped};
use crate::disk::Disk;
use crate::lines::{Lines, Misread, seal};
use sardonyx_base::events;
use std::fmt::Write;

/// The most hosts in the register.
pub const HOSTS_MAX: usize = 64;

const VERSION: u32 = 1;
/// The version of a register that was begun anew.
const VERSION_ANEW: u32 = 2;
/// After so long, a register that was begun anew has the reports of all hosts: microseconds.
const ANEW_MICROSECONDS: u64 = 86_400_000_000;
const BYTES_MAX: usize = 32 << 10;
/// So many conflicts in a row, and the report is left to the next one.
const CONFLICTS_MAX: u32 = 4;

/// A host that follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownHost {
    /// Its name.
    pub name: String,
    /// It has the entries before this one.
    pub next_entry: u64,
    /// The time of its last report, by its own clock, in microseconds since 1970, UTC.
    pub seen: u64,
}

/// The register's content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownHosts {
    /// The database's identity.
    pub identity: u64,
    /// The number of exchanges: no two states have the same bytes.
    counter: u64,
    /// The time at which it replaced a damaged one, by the clock of the host that did; 0: it did not.
    anew: u64,
    /// The hosts, by name.
    pub hosts: Vec<KnownHost>,
}

impl KnownHost {
    fn line(&self) -> String {
        format!("{} {} {}", self.name, self.next_entry, self.seen)
    }

    fn of_line(line: &str) -> Option<KnownHost> {
        let mut parts = line.split(' ');
        let name = parts.next().filter(|name| is_host_name(name))?;
        let mut number = || parts.next()?.parse().ok();
        Some(KnownHost {
            name: name.into(),
            next_entry: number()?,
            seen: number()?,
        })
    }
}

impl KnownHosts {
    fn none(identity: u64) -> KnownHosts {
        KnownHosts {
            identity,
            counter: 0,
            anew: 0,
            hosts: Vec::new(),
        }
    }

    /// False while hosts may be missing that reported since this time: it replaced a damaged register a short while ago.
    pub fn knows_all(&self, since: u64, now: u64) -> bool {
        let span = now.saturating_sub(since).min(ANEW_MICROSECONDS);
        self.anew == 0 || now >= self.anew.saturating_add(span)
    }

    /// Its text.
    pub fn encode(&self) -> String {
        let version = match self.anew {
            0 => VERSION,
            _ => VERSION_ANEW,
        };
        let mut text = format!(
            "format_version = {version}\nidentity = {:016x}\ncounter = {}\n",
            self.identity, self.counter
        );
        if self.anew > 0 {
            let _ = writeln!(text, "anew = {}", self.anew);
        }
        for host in &self.hosts {
            let _ = writeln!(text, "host = {}", host.line());
        }
        seal(text)
    }

    /// The hosts of this text.
    ///
    /// # Errors
    /// It is damaged.
    pub fn decode(bytes: &[u8]) -> Result<KnownHosts, Misread> {
        let bytes = bytes.get(..BYTES_MAX).unwrap_or(bytes);
        let mut lines = Lines::new("the register `hosts`", bytes)?;
        lines.check_checksum()?;
        lines.value("format_version", |text| {
            let version = text.parse().ok();
            version.filter(|version: &u32| [VERSION, VERSION_ANEW].contains(version))
        })?;
        let mut known = KnownHosts {
            identity: lines.value("identity", |text| u64::from_str_radix(text, 16).ok())?,
            counter: lines.value("counter", |text| text.parse().ok())?,
            anew: 0,
            hosts: Vec::new(),
        };
        if lines.has("anew") {
            known.anew = lines.value("anew", |text| text.parse().ok())?;
        }
        while lines.has("host") && known.hosts.len() < HOSTS_MAX {
            known.hosts.push(lines.value("host", KnownHost::of_line)?);
        }
        lines.check_is(&known.encode())?;
        Ok(known)
    }

    /// The state after a report of this host.
    fn with(&self, host: &KnownHost) -> KnownHosts {
        let mut hosts: Vec<_> = self.hosts.clone();
        hosts.retain(|known| known.name != host.name);
        if hosts.len() >= HOSTS_MAX {
            hosts.sort_by_key(|known| std::cmp::Reverse(known.seen));
            hosts.truncate(HOSTS_MAX - 1);
        }
        hosts.push(host.clone());
        hosts.sort_by(|one, other| one.name.cmp(&other.name));
        KnownHosts {
            identity: self.identity,
            counter: self.counter.saturating_add(1),
            anew: match self.knows_all(0, host.seen) {
                true => 0,
                false => self.anew,
            },
            hosts,
        }
    }
}

/// The report of the host of this directory: the place that is recorded there, if it is one of this database. Ended at
/// any moment, the host continues there.
///
/// # Errors
/// The disk's; the record is damaged.
pub fn host_of(
    home: &dyn Disk,
    identity: u64,
    name: &str,
    seen: u64,
) -> Result<Option<KnownHost>, KnownError> {
    let known = Known::read(home)?.filter(|known| known.identity == identity);
    // Perhaps it has just been renamed: a power cut must not bring an earlier one back.
    home.sync_directory("")?;
    Ok(known.map(|known| KnownHost {
        name: name.into(),
        next_entry: known.entry.next,
        seen,
    }))
}

/// Notes how far this host is. A register that stays damaged, or another database's, is replaced.
///
/// # Errors
/// The store's; others replaced the register meanwhile.
pub fn note_host(
    store: &dyn RemoteStore,
    identity: u64,
    host: &KnownHost,
) -> Result<(), StoreError> {
    note(store, identity, || Some(host.clone()))
}

/// Notes the place that the directory of this host has recorded ([`host_of`]). It is read after the register: a report of
/// the same host that came between is a conflict, and so no report is followed by an earlier place. Returns whether there
/// is a place.
///
/// # Errors
/// As [`note_host`]; within, as [`host_of`].
pub fn report_host(
    store: &dyn RemoteStore,
    home: &dyn Disk,
    identity: u64,
    name: &str,
    seen: u64,
) -> Result<Result<bool, KnownError>, StoreError> {
    let mut read = Ok(None);
    note(store, identity, || {
        read = host_of(home, identity, name, seen);
        read.as_ref().ok().cloned().flatten()
    })?;
    Ok(read.map(|host| host.is_some()))
}

/// Replaces the register by one with a host, which is asked for each time; `None`: there is none.
fn note(
    store: &dyn RemoteStore,
    identity: u64,
    mut host: impl FnMut() -> Option<KnownHost>,
) -> Result<(), StoreError> {
    for _ in 0..CONFLICTS_MAX {
        let (version, mut before, damage) = found(store, identity)?;
        let Some(host) = host() else { return Ok(()) };
        if let Some(damage) = damage {
            events::warn!(
                place = store.place(),
                damage,
                "the reports of the hosts are damaged, and begin anew: for a day, nothing is deleted that hosts may need"
            );
            before.anew = host.seen.max(1);
        }
        let text = before.with(&host).encode();
        match store.swap_register(Register::Hosts, version.as_ref(), text.as_bytes())? {
            Swapped::Ok => return Ok(()),
            Swapped::Conflict => {}
        }
    }
    Err(StoreError::Unclear {
        what: "the replacement of the register `hosts`".into(),
        place: store.place(),
        reason: "other hosts replaced it meanwhile".into(),
    })
}

/// The version and the content of the register; and its fault, if it stays damaged or is another database's.
type Found = (Option<RegisterVersion>, KnownHosts, Option<String>);

fn found(store: &dyn RemoteStore, identity: u64) -> Result<Found, StoreError> {
    let mut doubts = Doubts::default();
    // Content that cannot be decrypted has no version. One that is asked for before it is good if the content has not changed.
    let mut version = None;
    loop {
        let (read, damage) = match store.read_register(Register::Hosts) {
            Ok(None) => return Ok((None, KnownHosts::none(identity), None)),
            Ok(Some(stored)) => match KnownHosts::decode(&stored.bytes) {
                Ok(known) if known.identity == identity => {
                    return Ok((Some(stored.version), known, None));
                }
                Ok(known) => {
                    let other = format!("they are of database {:016x}", known.identity);
                    return Ok((
                        Some(stored.version),
                        KnownHosts::none(identity),
                        Some(other),
                    ));
                }
                Err(misread) => (Some(stored.version), misread.to_string()),
            },
            Err(error) if error.is_damage() => (version.take(), error.to_string()),
            Err(error) => return Err(error),
        };
        if doubts.again() {
            continue;
        }
        match read {
            Some(read) => return Ok((Some(read), KnownHosts::none(identity), Some(damage))),
            None => version = store.register_version(Register::Hosts)?,
        }
        if version.is_none() {
            return Ok((None, KnownHosts::none(identity), Some(damage)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryStore;
    use super::super::store::{Appended, Listed, StoredRegister};
    use super::*;

    fn host(number: usize, next_entry: u64, seen: u64) -> KnownHost {
        KnownHost {
            name: format!("host-{number}"),
            next_entry,
            seen,
        }
    }

    fn known(store: &MemoryStore) -> Vec<KnownHost> {
        let stored = store.read_register(Register::Hosts).unwrap().unwrap();
        KnownHosts::decode(&stored.bytes).unwrap().hosts
    }

    #[test]
    fn each_host_has_its_last_report_and_a_damaged_register_is_replaced() {
        let store = MemoryStore::new();
        let note = |host: &KnownHost| note_host(&store, 7, host).unwrap();
        note(&host(2, 5, 10));
        note(&host(1, 3, 11));
        note(&host(2, 6, 12));
        assert_eq!(known(&store), [host(1, 3, 11), host(2, 6, 12)]);
        // Each byte counts.
        let stored = store.read_register(Register::Hosts).unwrap().unwrap();
        for at in 0..stored.bytes.len() {
            let mut changed = stored.bytes.clone();
            changed[at] ^= 1;
            assert!(KnownHosts::decode(&changed).is_err(), "byte {at}");
            assert!(KnownHosts::decode(&stored.bytes[..at]).is_err(), "{at}");
        }
        let version = Some(&stored.version);
        let swapped = store.swap_register(Register::Hosts, version, b"damaged");
        assert_eq!(swapped.unwrap(), Swapped::Ok);
        note(&host(3, 1, 100));
        assert_eq!(known(&store), [host(3, 1, 100)]);
        // For a day it may lack hosts, unless only later reports count.
        let register = || {
            let stored = store.read_register(Register::Hosts).unwrap().unwrap();
            KnownHosts::decode(&stored.bytes).unwrap()
        };
        let day = ANEW_MICROSECONDS;
        assert!(!register().knows_all(0, 100) && !register().knows_all(0, day + 99));
        assert!(register().knows_all(0, day + 100) && register().knows_all(1000, 1100));
        note(&host(1, 3, day));
        assert!(!register().knows_all(0, day + 99));
        note(&host(1, 3, day + 100));
        assert!(register().knows_all(0, 0) && register().hosts.len() == 2);
    }

    #[test]
    fn a_register_that_cannot_be_decrypted_is_replaced() {
        let store = Sealed(MemoryStore::new());
        store
            .0
            .swap_register(Register::Hosts, None, b"sealed")
            .unwrap();
        note_host(&store, 7, &host(3, 1, 100)).unwrap();
        assert_eq!(known(&store.0), [host(3, 1, 100)]);
        note_host(&store, 7, &host(4, 1, 100)).unwrap();
        assert_eq!(known(&store.0).len(), 2);
    }

    /// A store whose first content is encrypted, and damaged.
    #[derive(Debug)]
    struct Sealed(MemoryStore);

    impl RemoteStore for Sealed {
        fn place(&self) -> String {
            self.0.place()
        }
        fn entry_bytes_max(&self) -> u64 {
            self.0.entry_bytes_max()
        }
        fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
            self.0.append_at(number, bytes)
        }
        fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
            self.0.read(number)
        }
        fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
            self.0.list(from)
        }
        fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
            self.0.remove(numbers)
        }
        fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
            match self.0.read_register(register)? {
                Some(stored) if stored.bytes == b"sealed" => Err(StoreError::Encryption {
                    what: "the register".into(),
                    place: self.place(),
                    reason: "it was changed".into(),
                }),
                stored => Ok(stored),
            }
        }
        fn register_version(
            &self,
            register: Register,
        ) -> Result<Option<RegisterVersion>, StoreError> {
            self.0.register_version(register)
        }
        fn swap_register(
            &self,
            register: Register,
            expected: Option<&RegisterVersion>,
            bytes: &[u8],
        ) -> Result<Swapped, StoreError> {
            self.0.swap_register(register, expected, bytes)
        }
    }

    #[test]
    fn a_report_whose_place_was_read_before_another_one_of_the_same_host_does_not_take_that_back() {
        let store = MemoryStore::new();
        let mut recorded = 100;
        let places = || {
            let place = host(1, recorded, 10);
            if recorded == 100 {
                // Meanwhile another thread of this host records a later one, and reports that.
                recorded = 500;
                note_host(&store, 7, &host(1, recorded, 11)).unwrap();
            }
            Some(place)
        };
        note(&store, 7, places).unwrap();
        assert_eq!(known(&store), [host(1, 500, 10)]);
    }

    #[test]
    fn i10_the_host_that_was_silent_longest_leaves_a_full_register() {
        let store = MemoryStore::new();
        for number in 0..=HOSTS_MAX {
            let host = host(number, 1, 1000 - number as u64);
            note_host(&store, 7, &host).unwrap();
        }
        let hosts = known(&store);
        assert_eq!(hosts.len(), HOSTS_MAX);
        let has = |number: usize| {
            hosts
                .iter()
                .any(|host| host.name == format!("host-{number}"))
        };
        assert!(has(HOSTS_MAX) && has(0) && !has(HOSTS_MAX - 1));
        let stored = store.read_register(Register::Hosts).unwrap().unwrap();
        assert!(stored.bytes.len() * 5 < BYTES_MAX);
    }
}
