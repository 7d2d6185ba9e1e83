//! The newest register becomes the keeper's again, by a person: after the keeper was restored from a backup, or its
//! register was damaged or lost.
//!
//! The states that are known are those of the copies that answer ([`witness`](super::witness)), of a host's directory if
//! one is named ([`remembered`](super::remembered)), and of the keeper. A state under which an entry was acknowledged is
//! known to each copy in its set. So a state that one of them lacks has no acknowledged entry, and may be discarded. If
//! two lines are left, a person chooses by the directory.
//!
//! The newest state is written as it was, so another host that knows a later one of its line puts that back in turn. Only
//! if states are discarded a new one is written, with the numbers of their processes, so that hosts that know them
//! follow. What such a host has in its log beyond the kept line is cut off, and kept.

use super::keeper::{Keeper, Replaced};
use super::life::{identity_at, lives_at};
use super::members::{Members, Wait};
use super::record::{After, SetRecord};
use super::remembered::remembered_at;
use super::spelling::Spelling;
use super::witness::seen_at;
use super::{OpenPlaces, check_places, spelling_of};
use crate::place::{RemoteOptions, open_keeper};
use sardonyx_base::events;
use sardonyx_storage::remote_log::store::{Register, StoreError};
use std::path::Path;

/// Puts the newest register back. All hosts have ended. Without a directory, the copies alone are asked. Returns the
/// register afterwards.
///
/// # Errors
/// [`StoreError::Place`]: the place has no copies. [`StoreError::Setup`]: there is no register to put back. Either the
/// directory remembers none of this set, or no copy that answers knows one. Or the copies know two lines and no directory
/// is named, or nothing is newer than the present one. The keeper's; if one is unclear, look at the register.
pub fn put_back(
    place: &str,
    directory: Option<&Path>,
    options: &RemoteOptions,
) -> Result<SetRecord, StoreError> {
    let spelling = spelling_of(place)?;
    let keeper = Keeper::new(open_keeper(&spelling.keeper, options)?);
    let members = Members::new(Box::new(OpenPlaces::new(options, false)));
    put_back_at(&keeper, &members, &spelling, |named, identity| {
        let known = directory.map(|directory| remembered_at(directory, named, identity));
        known.transpose()
    })
}

/// The same at this keeper; `known` gives a directory's register of the set.
pub(super) fn put_back_at(
    keeper: &Keeper,
    members: &Members,
    spelling: &Spelling,
    known: impl FnOnce(&[String], Option<u64>) -> Result<Option<SetRecord>, StoreError>,
) -> Result<SetRecord, StoreError> {
    let refused = |reason: String| StoreError::Setup {
        place: keeper.place.place(),
        reason,
    };
    let stored = keeper.place.read_register(Register::Copies)?;
    let version = stored.as_ref().map(|stored| stored.version.clone());
    // A damaged one counts as none, and is replaced.
    let there = stored.and_then(|stored| SetRecord::decode(&stored.bytes).ok());
    let identity = match &there {
        Some(record) => Some(record.identity),
        // The object may be lost or damaged, too.
        None => identity_at(&*keeper.place).unwrap_or_default(),
    };
    let mut named = spelling.copies.clone();
    named.sort();
    let known = known(&named, identity)?;
    let identity = identity.or(known.as_ref().map(|known| known.identity));
    let mut places = named;
    places.extend(known.iter().chain(&there).flat_map(SetRecord::places));
    places.sort();
    places.dedup();
    let answers = places
        .iter()
        .filter_map(|place| answer_of(members, place, identity));
    let states = States {
        answers: answers.collect(),
        known,
        there,
    };
    let newest = states.newest().map_err(refused)?;
    check_places(&newest, spelling, &spelling.place())?;
    let discarded: Vec<&SetRecord> = states
        .all()
        .filter(|state| !is_after(&newest, state))
        .collect();
    if discarded.is_empty() && states.there.as_ref() == Some(&newest) {
        return Err(refused(format!(
            "its register of the copies has generation {}, and no copy that answers, and no directory that was named, knows \
             a later one: there is nothing newer to put back. If a host refuses the register, name that host's directory",
            newest.generation
        )));
    }
    let replaced = match discarded.is_empty() {
        true => keeper.write(version.as_ref(), &newest),
        false => {
            events::warn!(
                kept = newest.generation,
                discarded = ?discarded.iter().map(|state| state.generation).collect::<Vec<_>>(),
                "states of the register of the copies are discarded"
            );
            keeper.replace(version.as_ref(), &newest.instead_of(&discarded))
        }
    };
    match replaced? {
        Replaced::Done(view) => Ok(view.record.clone()),
        Replaced::Other(_) => Err(StoreError::NotNow {
            what: "put the register of the copies back".into(),
            place: keeper.place.place(),
            reason: "another process changes it: end all hosts, and repeat the command".into(),
        }),
    }
}

fn is_after(state: &SetRecord, before: &SetRecord) -> bool {
    state.after_state(before) == After::Continues
}

/// A copy that answers.
struct Answer {
    place: String,
    /// The lives that it has, so it was not emptied since.
    lives: Vec<u64>,
    knows: Vec<SetRecord>,
}

/// All that is known.
struct States {
    answers: Vec<Answer>,
    known: Option<SetRecord>,
    there: Option<SetRecord>,
}

impl States {
    fn all(&self) -> impl Iterator<Item = &SetRecord> {
        let of_copies = self.answers.iter().flat_map(|answer| &answer.knows);
        of_copies.chain(&self.known).chain(&self.there)
    }

    /// False if no entry was acknowledged under this state, nor under a later one of its line: a copy in its set does not
    /// know it. Earlier programs recorded nothing at the copies.
    fn may_count(&self, state: &SetRecord) -> bool {
        let lacks = |answer: &&Answer| {
            let mut set = state.in_sync();
            let is_in =
                set.any(|copy| copy.place == answer.place && answer.lives.contains(&copy.life));
            is_in && !answer.knows.iter().any(|known| is_after(known, state))
        };
        state.author() == 0 || !self.answers.iter().any(|answer| lacks(&answer))
    }

    /// The newest state.
    ///
    /// # Errors
    /// The reason for which there is none.
    fn newest(&self) -> Result<SetRecord, String> {
        let newest = |states: &mut dyn Iterator<Item = &SetRecord>| {
            states.max_by_key(|state| state.generation).cloned()
        };
        if let Some(first) = self.all().next()
            && self.all().any(|state| state.identity != first.identity)
        {
            return Err(
                "its register is lost, and the places are copies of several sets: name the places of one set".into(),
            );
        }
        let counts: Vec<&SetRecord> = self.all().filter(|state| self.may_count(state)).collect();
        // With a directory, those of its line.
        let is_wanted = |state: &SetRecord| match &self.known {
            Some(known) => is_after(known, state) || is_after(state, known),
            None => true,
        };
        let are_one_line = |states: &[&SetRecord]| {
            let is_one = |a: &SetRecord, b: &SetRecord| is_after(a, b) || is_after(b, a);
            states.iter().all(|a| states.iter().all(|b| is_one(a, b)))
        };
        let base = match are_one_line(&counts) {
            true => newest(&mut counts.iter().copied()),
            false => {
                let wanted: Vec<&SetRecord> = counts
                    .iter()
                    .copied()
                    .filter(|state| is_wanted(state))
                    .collect();
                if self.known.is_none() || wanted.is_empty() || !are_one_line(&wanted) {
                    let generations: Vec<u64> =
                        counts.iter().map(|state| state.generation).collect();
                    return Err(format!(
                        "the registers of generations {generations:?} that are known are of several lines, and each may \
                         have acknowledged transactions. Choose the one to keep: name the directory of a host that used \
                         it (--put-back DIRECTORY)"
                    ));
                }
                newest(&mut wanted.into_iter())
            }
        };
        let continues = |state: &&SetRecord| base.as_ref().is_none_or(|base| is_after(state, base));
        let known = self.known.as_ref().filter(|known| continues(known));
        let mut later = self.all().filter(continues);
        let tip = match known {
            Some(known) => newest(&mut later.filter(|state| is_after(state, known))),
            None => newest(&mut later),
        };
        tip.ok_or_else(|| {
            "no copy that answers knows a register of this set: name a host's directory, as in --put-back \
             /var/lib/sardonyx/bank.sdx, or have the copies answer"
                .into()
        })
    }
}

/// A copy, and the registers that it knows. `None`: it gives no answer.
fn answer_of(members: &Members, place: &str, identity: Option<u64>) -> Option<Answer> {
    let open = || {
        let store = members.open(place, Wait::Short)?;
        let mut answer = Answer {
            place: place.into(),
            lives: Vec::new(),
            knows: Vec::new(),
        };
        for seen in seen_at(&*store)? {
            if identity.is_none_or(|wanted| seen.identity == wanted) {
                answer.knows.extend(seen.read(&*store)?);
            }
        }
        let identity = identity.or(answer.knows.first().map(|known| known.identity));
        if let Some(identity) = identity {
            answer.lives = lives_at(&*store, identity)?;
        }
        Ok::<_, StoreError>(answer)
    };
    let answer = open();
    let failed = |error: &StoreError| {
        events::warn!(%place, %error, "a copy does not say which register it knows");
    };
    answer.inspect_err(failed).ok()
}
