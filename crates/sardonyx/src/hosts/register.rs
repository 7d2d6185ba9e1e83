//! The register that names the serving host: read, replaced, and asked for a hand-over.

use super::{ANY_OTHER, DOUBTS_MAX, HostError, RemoteLog};
use crate::Error;
use sardonyx_base::events;
use sardonyx_base::seldom::Seldom;
use sardonyx_storage::engine::{OpenError, stored_manifest};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::primary::{Primary, Replacement, Wish, Wished, is_host_name};
use sardonyx_storage::remote_log::shell::{ask, ask_whole};
use sardonyx_storage::remote_log::store::{Register, StoreError, StoredRegister, Swapped};
use std::time::Instant;

/// So many conflicts in a row, and the register is replaced after a pause.
const CONFLICTS_MAX: u32 = 3;

/// True if the store gave no answer, so that the same may succeed when it is asked again.
pub fn may_pass(error: &Error) -> bool {
    let of_log = |error: &RemoteLogError| match error {
        RemoteLogError::Store(error) => error.is_unclear(),
        _ => false,
    };
    match (
        error.downcast_ref(),
        error.downcast_ref(),
        error.downcast_ref(),
    ) {
        (Some(OpenError::Store(error)), _, _) => of_log(error),
        (_, Some(error), _) => of_log(error),
        (_, _, Some(error)) => StoreError::is_unclear(error),
        _ => false,
    }
}

/// True if an answer about the register is damaged: it may be whole when it is asked for again.
pub(super) fn is_damage(error: &RemoteLogError) -> bool {
    match error {
        RemoteLogError::Primary { .. } => true,
        RemoteLogError::Store(error) => error.is_damage(),
        _ => false,
    }
}

/// An answer, if there is one; an error, if asking again is of no use.
pub(super) fn clear<T>(
    answer: Result<T, StoreError>,
    silent: &mut Seldom,
) -> Result<Option<T>, RemoteLogError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_unclear() => {
            if silent.is_due(Instant::now()) {
                events::warn!(%error, "the register is asked again");
            }
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Replaces the register; `None`: there is no answer.
pub(super) fn put(
    remote: &RemoteLog,
    replacement: &Replacement,
    silent: &mut Seldom,
) -> Result<Option<Swapped>, RemoteLogError> {
    let text = replacement.record.encode();
    let expected = replacement.expected.as_ref();
    let swapped = remote
        .store
        .swap_register(Register::Primary, expected, text.as_bytes());
    clear(swapped, silent)
}

/// True if the replacement before was refused, as a conflict; false if there was none, or it has no answer.
type IsRefused = bool;

/// Replaces the register by the result of a function, if there is one, for as long as the store is asked.
pub(super) fn replace(
    remote: &RemoteLog,
    mut made_of: impl FnMut(Option<&StoredRegister>, IsRefused) -> Result<Option<Replacement>, Error>,
) -> Result<(), Error> {
    let store = &remote.store;
    // A damaged answer is asked for again whatever the time limit: damage is not reported as silence.
    let (mut is_refused, mut doubts, mut pause) = (false, 0, remote.patience.pause);
    let replaced = ask(&remote.patience, || {
        // A conflict is an answer: mostly a sign of the serving host, which comes eight times in its wait.
        let mut conflicts = 0;
        while conflicts < CONFLICTS_MAX {
            let stored = store.read_register(Register::Primary)?;
            let replacement = match made_of(stored.as_ref(), is_refused) {
                Ok(Some(replacement)) => replacement,
                Ok(None) => return Ok(Ok(())),
                Err(error)
                    if doubts < DOUBTS_MAX && error.downcast_ref().is_some_and(is_damage) =>
                {
                    doubts += 1;
                    events::warn!(%error, "a damaged answer about the register is asked for again");
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(remote.patience.pause_most);
                    continue;
                }
                Err(error) => return Ok(Err(error)),
            };
            let (text, expected) = (replacement.record.encode(), replacement.expected.as_ref());
            is_refused = false;
            match store.swap_register(Register::Primary, expected, text.as_bytes())? {
                Swapped::Ok => return Ok(Ok(())),
                Swapped::Conflict => (is_refused, conflicts) = (true, conflicts + 1),
            }
        }
        Err(StoreError::Unclear {
            what: "the replacement of the register `primary`".into(),
            place: store.place(),
            reason: "another host replaced it meanwhile".into(),
        })
    });
    replaced.map_err(RemoteLogError::from)?
}

/// The host that serves the database in a store, or did last.
///
/// # Errors
/// The store's; [`Error::NotFound`] if there is no database.
pub fn primary(remote: &RemoteLog) -> Result<Option<Primary>, Error> {
    let identity = stored_identity(remote)?;
    let read = || remote.store.read_register(Register::Primary);
    let found = ask_whole(&remote.patience, read, |stored| {
        Primary::decode(identity, stored.as_ref())
    });
    Ok(found?)
}

/// The identity of the database in a store.
fn stored_identity(remote: &RemoteLog) -> Result<u64, Error> {
    let place = || remote.store.place();
    let manifest = stored_manifest(remote)?;
    let manifest = manifest.ok_or_else(|| HostError::NoDatabase { place: place() })?;
    Ok(manifest.identity)
}

/// Has another host serve: the one of this name, or [`ANY_OTHER`]. The one that serves closes the database when it sees
/// that, and the other takes over; if that does not come, any does.
///
/// # Errors
/// The store's, also when it does not take the wish within its patience ([`RemoteLog::patience`]); [`Error::NotFound`] if
/// no host ever served; [`Error::Refused`] for a name that no host can have; [`Error::Unavailable`] if another host began to
/// serve meanwhile, and it is not known whether the wish arrived before.
pub fn promote(remote: &RemoteLog, to: &str) -> Result<(), Error> {
    if to != ANY_OTHER && !is_host_name(to) {
        return Err(HostError::Name { name: to.into() }.into());
    }
    let mut wish = Wish::new(stored_identity(remote)?, to);
    replace(remote, |stored, is_refused| {
        if is_refused {
            wish.is_refused();
        }
        match wish.found(stored)? {
            Wished::Put(replacement) => Ok(Some(replacement)),
            Wished::Done => Ok(None),
            Wished::NoHost => {
                let place = remote.store.place();
                Err(HostError::NoHost { place }.into())
            }
            Wished::Other(host) => {
                let wanted = to.into();
                Err(HostError::OtherServes { host, wanted }.into())
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::hosts::MemoryStore;
    use sardonyx_storage::remote_log::store::RemoteStore;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_register_that_stays_damaged_is_not_reported_as_a_silent_store() {
        let machine = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::new());
        let mut remote = RemoteLog::new(store.clone());
        let first = Options::new().store(remote.clone());
        let first = first.open_tables(machine.path().join("a.sdx"));
        first.unwrap().close().unwrap();
        let put = store.swap_register(Register::Primary, None, b"damaged");
        assert_eq!(put.unwrap(), Swapped::Ok);
        // The store is asked for no longer than that without an answer; it does answer.
        remote.patience.time_limit = Duration::ZERO;
        remote.patience.pause = Duration::from_micros(1);
        let error = promote(&remote, "b").unwrap_err();
        assert!(!may_pass(&error), "{error}");
        assert!(error.downcast_ref().is_some_and(is_damage), "{error}");
    }
}
