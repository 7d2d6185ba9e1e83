//! A verb that opens a database of a store by itself does so only while no host serves it: its opening would fence that
//! host's log.

use sardonyx::hosts::{Primary, RemoteLog, primary};
use sardonyx_command::exit::Exit;
use sardonyx_storage::engine::stored_manifest;
use std::thread;
use std::time::{Duration, Instant};

/// So many looks while a lease runs out.
const LOOKS: u32 = 16;
/// The most time between two of them.
const BETWEEN_LOOKS_MOST: Duration = Duration::from_millis(250);

/// A host serves the database.
#[derive(Debug, thiserror::Error)]
#[error(
    "host {host} serves the database in {place}, and this verb would take it over: connect to that host, or end the hosts \
     of this database first; `sardonyx store drain {place}` has another host serve before this one is ended"
)]
pub struct Served {
    host: String,
    place: String,
}

/// The exit code of [`Served`].
pub fn exit_of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    cause.is::<Served>().then_some(Exit::Locked)
}

/// Refuses a database that a host serves. One that has not released it may have been killed: then this says so on standard
/// error, and waits until its lease has run out.
pub fn check(remote: &RemoteLog) -> anyhow::Result<()> {
    // A new one has no hosts.
    if stored_manifest(remote)?.is_none() {
        return Ok(());
    }
    let serving = primary(remote)?.filter(|found| !found.released);
    let Some(first) = serving else {
        return Ok(());
    };
    let lease = first.wait / 2;
    eprintln!(
        "sardonyx: host {} serves the database in {}, or was killed: waiting for a sign of it, at most {lease:?}",
        first.host,
        remote.store.place()
    );
    let until = Instant::now() + lease;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        thread::sleep(left.min(first.wait / LOOKS).min(BETWEEN_LOOKS_MOST));
        let Some(found) = primary(remote)?.filter(|found| !found.released) else {
            return Ok(());
        };
        if is_renewed(&first, &found) {
            let (host, place) = (found.host, remote.store.place());
            return Err(Served { host, place }.into());
        }
    }
    Ok(())
}

/// Whether a host has given a sign since the first look.
fn is_renewed(first: &Primary, found: &Primary) -> bool {
    let sign = |of: &Primary| (of.host.clone(), of.process, of.count);
    sign(first) != sign(found)
}
