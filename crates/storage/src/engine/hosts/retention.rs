//! The past of a database in a store: the wanted bases, and the log from the oldest of them on.
//!
//! The log goes up to a base, so there is always a copy with which a new directory begins; without a base nothing goes.
//! A process that needs a deleted part gets an error, and begins anew from a base: a copy that did not follow for
//! longer than the store keeps, for example.
//!
//! Log that a host needs is kept: the host reports from where on it would continue ([`known_hosts`](crate::remote_log::known_hosts)).
//! The one that serves counts, too. Killed, it could continue from a base of its own epoch ([`lagging`](super::lagging)), but
//! the next host may make a base of a later epoch, and delete that one. Then groups that only the killed host has would
//! keep it from continuing. A host needs the log, which begins with one base that is not after it. The bases between that
//! one and the wanted ones go.
//!
//! A base counts when its maker has read all of it back ([`base`](super::base)), and its head is read here before anything
//! is deleted. So the last base is not deleted before a newer one is whole.

use super::base::{of_bases, read_base, remove_base};
use super::claiming::{impossible, stored_manifest};
use crate::engine::{OpenError, RemoteLog};
use crate::remote_log::RemoteLogError;
use crate::remote_log::base::BaseName;
use crate::remote_log::entry::EntryHead;
use crate::remote_log::known::Known;
use crate::remote_log::known_hosts::{KnownHost, KnownHosts};
use crate::remote_log::position::EntryPosition;
use crate::remote_log::shell::{ask, ask_boundary, ask_entry, ask_whole, now, trim};
use crate::remote_log::store::{Listed, Register};
use crate::remote_log::trim::Trimmed;
use sardonyx_base::events;

/// The past to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepInStore {
    /// At least so many bases, the newest; at least one.
    pub bases: usize,
    /// The past from this time on, in microseconds since 1970, UTC: the newest base that is not after it, and the log
    /// behind. Without such a base, the log from its beginning on, or from the oldest base, if that beginning was deleted.
    pub since: Option<u64>,
    /// The log that hosts need which reported since this time, in microseconds since 1970, UTC; `None`: hosts do not count.
    pub hosts_since: Option<u64>,
}

/// The deleted past.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Deleted {
    /// Bases, those without a head included.
    pub bases: u64,
    /// Entries of the log, and their bytes.
    pub log: Trimmed,
    /// The present beginning of the past; `None`: the log's beginning, since no base is old enough.
    pub from: Option<Known>,
    /// The host for which more was kept than the bases and the time ask for.
    pub kept_for: Option<KnownHost>,
}

/// Lists the entries in a store from this one on: by its list, which may be old. Returns the number after the last of them.
///
/// # Errors
/// The store's.
pub fn list_log(
    remote: &RemoteLog,
    from: u64,
    mut each: impl FnMut(&Listed),
) -> Result<u64, OpenError> {
    let mut next = from;
    loop {
        let listed = ask(&remote.patience, || remote.store.list(next));
        let listed = listed.map_err(RemoteLogError::from)?;
        let Some(last) = listed.last() else {
            return Ok(next);
        };
        listed.iter().for_each(&mut each);
        next = last.number.saturating_add(1);
    }
}

/// The head of an entry, if the store has it.
///
/// # Errors
/// The store's; the entry is damaged.
pub fn entry_head(remote: &RemoteLog, number: u64) -> Result<Option<EntryHead>, OpenError> {
    let entry = ask_entry(&*remote.store, number, &remote.patience)?;
    Ok(entry.map(|entry| *entry.head()))
}

/// The time of an entry, if the store has it, in microseconds since 1970, UTC.
///
/// # Errors
/// As [`entry_head`].
pub fn entry_time(remote: &RemoteLog, number: u64) -> Result<Option<u64>, OpenError> {
    Ok(entry_head(remote, number)?.map(|head| head.time))
}

/// The hosts that follow, by their last reports, and that did before.
///
/// # Errors
/// The store's; the register is damaged, until the next report.
pub fn known_hosts(remote: &RemoteLog, identity: u64) -> Result<Vec<KnownHost>, OpenError> {
    let known = register_of_hosts(remote, identity)?;
    Ok(known.map(|known| known.hosts).unwrap_or_default())
}

fn register_of_hosts(remote: &RemoteLog, identity: u64) -> Result<Option<KnownHosts>, OpenError> {
    let read = || remote.store.read_register(Register::Hosts);
    let known = ask_whole(&remote.patience, read, |stored| {
        let known = stored.map(|stored| KnownHosts::decode(&stored.bytes));
        known.transpose().map_err(|misread| RemoteLogError::Hosts {
            place: remote.store.place(),
            misread,
        })
    });
    match known {
        Ok(known) => Ok(known.filter(|known| known.identity == identity)),
        // No host could report there.
        Err(RemoteLogError::Store(error)) if error.is_unknown_request() => {
            events::warn!(%error, "no reports of hosts are found: what they need is not kept in the store");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The log that hosts need.
enum Needs {
    /// Not all hosts are known.
    All,
    /// That of the host with the least of it, of those that reported since this time and can still follow from this entry on.
    From(Option<KnownHost>),
}

fn needs_of_hosts(
    remote: &RemoteLog,
    identity: u64,
    since: u64,
    first: u64,
) -> Result<Needs, OpenError> {
    let Some(known) = register_of_hosts(remote, identity)? else {
        return Ok(Needs::From(None));
    };
    if !known.knows_all(since, now()) {
        return Ok(Needs::All);
    }
    let hosts = known.hosts.into_iter();
    let hosts = hosts.filter(|host| host.seen >= since && host.next_entry >= first);
    Ok(Needs::From(hosts.min_by_key(|host| host.next_entry)))
}

/// The oldest place of which a copy can be made: the oldest base after which no entry is deleted. `None`: the log's
/// beginning, since nothing is deleted; or no place at all, since there is no such base.
///
/// # Errors
/// As [`read_base`].
pub fn oldest_kept(remote: &RemoteLog, identity: u64) -> Result<Option<Known>, OpenError> {
    let first = ask_boundary(&*remote.store, identity, &remote.patience)?.next;
    if first <= EntryPosition::START.next {
        return Ok(None);
    }
    of_bases(remote, identity, |listed| match listed.whole.first() {
        Some((name, _)) => Ok(Some(read_base(remote, identity, name)?.known)),
        None => Ok(None),
    })
}

/// Deletes the past beyond the retention.
///
/// # Errors
/// The store's; the rest is deleted by the next call.
pub fn delete_past(remote: &RemoteLog, keep: KeepInStore) -> Result<Deleted, OpenError> {
    let place = || remote.store.place();
    let stored = stored_manifest(remote)?
        .ok_or_else(|| impossible(format!("{} has no database", place())))?;
    let first = ask_boundary(&*remote.store, stored.identity, &remote.patience)?.next;
    let host = match keep.hosts_since {
        Some(since) => match needs_of_hosts(remote, stored.identity, since, first)? {
            Needs::From(host) => host,
            Needs::All => {
                events::warn!(
                    place = place(),
                    "nothing is deleted from the store: the reports of the hosts were damaged, and began anew less than a day \
                     ago, so hosts may need log that they have not reported again"
                );
                return Ok(Deleted {
                    from: oldest_kept(remote, stored.identity)?,
                    ..Deleted::default()
                });
            }
        },
        None => None,
    };
    let is_old_enough = |known: &Known| keep.since.is_none_or(|since| known.entry.time <= since);
    let is_needed = |known: &Known| {
        let host = host.as_ref();
        host.is_some_and(|host| known.entry.next > host.next_entry)
    };
    let (listed, oldest, mut beyond) = of_bases(remote, stored.identity, |listed| {
        let (mut oldest, mut kept) = (None, 0);
        // `None`: not all wanted bases are there.
        let mut beyond: Option<Vec<BaseName>> = None;
        for (name, _) in listed.whole.iter().rev() {
            let known = read_base(remote, stored.identity, name)?.known;
            oldest = Some((name.clone(), known));
            kept += 1;
            beyond
                .iter_mut()
                .for_each(|beyond| beyond.push(name.clone()));
            if kept >= keep.bases.max(1) && is_old_enough(&known) {
                if !is_needed(&known) {
                    break;
                }
                beyond.get_or_insert_default();
            }
        }
        Ok((listed.clone(), oldest, beyond))
    })?;
    let Some((oldest, known)) = oldest else {
        return Ok(Deleted::default());
    };
    let is_for_host = beyond.is_some();
    // Then the log's beginning alone leads to the wanted past, while it is there; and a host reads the log from there.
    let is_whole = first <= EntryPosition::START.next;
    let from_beginning = is_needed(&known) || is_whole && !is_old_enough(&known);
    if !(from_beginning && is_whole) {
        // The log begins with this one.
        if let Some(beyond) = &mut beyond {
            beyond.pop();
        }
    }
    let between = beyond.unwrap_or_default();
    if from_beginning {
        remove_bases(remote, &between)?;
        return Ok(Deleted {
            bases: between.len() as u64,
            from: oldest_kept(remote, stored.identity)?,
            kept_for: host.clone().filter(|_| is_for_host || is_needed(&known)),
            ..Deleted::default()
        });
    }
    // First: a base that is finished before the boundary is deleted by its maker (`Replica::put_base`).
    let log = trim(
        &*remote.store,
        stored.identity,
        known.entry,
        &remote.patience,
    )?;
    let whole = listed.whole.iter().map(|(name, _)| name);
    let old = whole.filter(|name| **name < oldest);
    // One that is being put there is newer, or before the boundary.
    let given_up = listed.unfinished.iter();
    let given_up = given_up.filter(|name| name.next_entry < oldest.next_entry);
    let names: Vec<BaseName> = old.chain(given_up).chain(&between).cloned().collect();
    remove_bases(remote, &names)?;
    Ok(Deleted {
        bases: names.len() as u64,
        log,
        from: Some(known),
        kept_for: host.filter(|_| is_for_host),
    })
}

fn remove_bases(remote: &RemoteLog, names: &[BaseName]) -> Result<(), OpenError> {
    let mut names = names.iter();
    let removed = names.try_for_each(|name| remove_base(remote, name));
    Ok(removed.map_err(RemoteLogError::from)?)
}
