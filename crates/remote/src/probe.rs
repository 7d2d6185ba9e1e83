//! Probes a store for keeping a log: it must create only absent objects and replace only the expected ones, also under
//! concurrency.
//!
//! Some stores take the conditions and ignore them; others are right only without concurrency. With those, two owners
//! would acknowledge at every takeover. So conditions are tried out one after the other, and then by [`WRITERS`] at
//! once, [`ROUNDS`] times. A store that wins all rounds proves nothing for good; one that fails a round is refused.

use sardonyx_storage::remote_log::store::{
    Appended, Register, RegisterVersion, RemoteStore, StoreError, Swapped,
};
use std::sync::Barrier;

/// The number of concurrent writers.
pub const WRITERS: u64 = 8;

/// The number of their rounds.
pub const ROUNDS: u64 = 6;

/// A request without answer is asked again so often.
const ATTEMPTS: u32 = 5;

/// The round of races has numbers from here on.
const FIRST_RACE: u64 = 100;

/// Probes a log under an unused prefix; the written objects stay.
///
/// # Errors
/// [`StoreError::Unsuitable`] with its fault; the store's own.
pub fn probe(store: &dyn RemoteStore) -> Result<(), StoreError> {
    one_after_the_other(store)?;
    let mut version = boundary(store)?.1;
    for round in 0..ROUNDS {
        race_to_create(store, FIRST_RACE + round)?;
        version = race_to_replace(store, round, &version)?;
    }
    Ok(())
}

fn unsuitable<T>(store: &dyn RemoteStore, reason: &str) -> Result<T, StoreError> {
    Err(StoreError::Unsuitable {
        place: store.place(),
        reason: reason.into(),
    })
}

/// Repeats a request without an answer; only for requests that may be done twice.
fn again<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut attempt = 1;
    loop {
        match ask() {
            Err(error) if error.is_unclear() && attempt < ATTEMPTS => attempt += 1,
            answer => return answer,
        }
    }
}

fn boundary(store: &dyn RemoteStore) -> Result<(Vec<u8>, RegisterVersion), StoreError> {
    match again(|| store.read_register(Register::Boundary))? {
        Some(stored) => Ok((stored.bytes, stored.version)),
        None => unsuitable(store, "a written object cannot be read afterwards"),
    }
}

fn one_after_the_other(store: &dyn RemoteStore) -> Result<(), StoreError> {
    if again(|| store.read(1))?.is_some() {
        return unsuitable(store, "it has an object that was never written");
    }
    // After a lost answer it is not known if the first request was done: either way the entry is there now.
    again(|| store.append_at(1, b"first"))?;
    if again(|| store.append_at(1, b"second"))? != Appended::Conflict {
        return unsuitable(
            store,
            "it creates an existing object again (If-None-Match is ignored)",
        );
    }
    if again(|| store.read(1))?.as_deref() != Some(b"first") {
        return unsuitable(store, "a read does not return the object written before");
    }
    again(|| store.swap_register(Register::Boundary, None, b"first"))?;
    let (_, old) = boundary(store)?;
    if again(|| store.swap_register(Register::Boundary, None, b"again"))? != Swapped::Conflict {
        return unsuitable(
            store,
            "it creates an existing object again (If-None-Match is ignored)",
        );
    }
    again(|| store.swap_register(Register::Boundary, Some(&old), b"second"))?;
    if again(|| store.swap_register(Register::Boundary, Some(&old), b"stale"))? != Swapped::Conflict
    {
        return unsuitable(
            store,
            "it replaces an object that has changed (If-Match is ignored)",
        );
    }
    if boundary(store)?.0 != b"second" {
        return unsuitable(store, "a read does not return the object written before");
    }
    Ok(())
}

/// The result of each writer's request; `None`: it has no answer.
fn race<T: Send>(
    write: impl Fn(u64) -> Result<T, StoreError> + Sync,
) -> Result<Vec<(u64, Option<T>)>, StoreError> {
    let start = Barrier::new(WRITERS as usize);
    let answers: Vec<Result<T, StoreError>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (start, write) = (&start, &write);
                scope.spawn(move || {
                    start.wait();
                    write(writer)
                })
            })
            .collect();
        let joined = writers.into_iter().map(|writer| writer.join());
        joined
            .map(|joined| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let numbered = (0..WRITERS).zip(answers);
    numbered
        .map(|(writer, answer)| match answer {
            Ok(answer) => Ok((writer, Some(answer))),
            Err(error) if error.is_unclear() => Ok((writer, None)),
            Err(error) => Err(error),
        })
        .collect()
}

/// At most one request is acknowledged, and the stored bytes are its own.
fn judge(
    store: &dyn RemoteStore,
    answers: &[(u64, Option<bool>)],
    found: Option<&str>,
) -> Result<(), StoreError> {
    let won: Vec<u64> = answers
        .iter()
        .filter(|(_, answer)| *answer == Some(true))
        .map(|(writer, _)| *writer)
        .collect();
    let silent = answers.iter().any(|(_, answer)| answer.is_none());
    match (won[..].first(), found) {
        _ if won.len() > 1 => unsuitable(
            store,
            "of several concurrent writers more than one got success",
        ),
        (Some(winner), Some(found)) if found == winner.to_string() => Ok(()),
        (Some(_), _) => unsuitable(store, "it lacks an acknowledged object"),
        (None, _) if silent => Ok(()),
        (None, _) => unsuitable(store, "of several that wrote at once none succeeded"),
    }
}

fn race_to_create(store: &dyn RemoteStore, number: u64) -> Result<(), StoreError> {
    let answers = race(|writer| {
        let appended = store.append_at(number, writer.to_string().as_bytes())?;
        Ok(appended == Appended::Ok)
    })?;
    let found = again(|| store.read(number))?;
    let found = found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    judge(store, &answers, found.as_deref())
}

/// Returns the version afterwards.
fn race_to_replace(
    store: &dyn RemoteStore,
    round: u64,
    version: &RegisterVersion,
) -> Result<RegisterVersion, StoreError> {
    // Other bytes in each round: a version may be that of the content.
    let bytes = |writer: u64| format!("{round}-{writer}");
    let answers = race(|writer| {
        let swapped =
            store.swap_register(Register::Boundary, Some(version), bytes(writer).as_bytes())?;
        Ok(swapped == Swapped::Ok)
    })?;
    let (found, version) = boundary(store)?;
    let found = String::from_utf8_lossy(&found).into_owned();
    let of_round = found.strip_prefix(&format!("{round}-"));
    judge(store, &answers, of_round)?;
    Ok(version)
}
