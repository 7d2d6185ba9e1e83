//! The newest register becomes the keeper's again, by a person: after the keeper was restored from a backup, or its
//! register was damaged or lost.
//!
//! The states that are known are those of the copies ([`witness`](super::witness)), of a host's directory if one is named
//! ([`remembered`](super::remembered)), and of the keeper. [`evidence`](super::evidence) tells which of them may have
//! acknowledged entries. If two lines are left, a person chooses.
//!
//! The newest state is written as it was, so another host that knows a later one of its line puts that back in turn. If
//! states are discarded a new one is written, with the numbers of their processes, so that hosts that know them follow.
//! Such a host cuts off the log that it has beyond the kept line, and keeps it. A copy that knows less of the line than
//! another one of the set leaves the set, so that it is compared with the log and filled: it may have been restored from
//! a backup.

use super::doubts::DOUBTS_MAX;
use super::evidence::{Evidence, KnownState, Refused, StateName, is_after, name_of};
use super::keeper::{Keeper, Replaced};
use super::life::identity_at;
use super::members::{Members, Wait};
use super::record::SetRecord;
use super::remembered::remembered_at;
use super::spelling::Spelling;
use super::witness::tell;
use super::{OpenPlaces, check_places, spelling_of};
use crate::options::RemoteOptions;
use crate::place::open_keeper;
use sardonyx_base::events;
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{Register, StoreError};
use std::path::PathBuf;

/// The wish of a person who puts a register back.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PutBack {
    /// A host's directory, whose newest register counts, too.
    pub directory: Option<PathBuf>,
    /// Copies whose data is lost for ever, or was restored from a backup.
    pub lost: Vec<String>,
    /// Of several lines, the one of this state is kept.
    pub keep: Option<StateName>,
}

/// A register that was put back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PutBackOutcome {
    /// The register.
    pub record: SetRecord,
    /// The states that were discarded, and the places that know them.
    pub discarded: Vec<KnownState>,
    /// Copies that left the set, so that the serving host compares and fills them.
    pub excluded: Vec<String>,
}

/// Puts the newest register back. All hosts have ended. Without a directory, the copies alone are asked.
///
/// # Errors
/// [`StoreError::Place`]: the place has no copies. [`StoreError::Setup`]: there is no register to put back. Either a copy
/// gives no answer and is not named as lost; or no place knows one; or the states are of several lines and none is
/// chosen; or nothing is newer than the present one. The keeper's; if one is unclear, look at the register.
pub fn put_back(
    place: &str,
    wish: &PutBack,
    options: &RemoteOptions,
) -> Result<PutBackOutcome, StoreError> {
    let spelling = spelling_of(place)?;
    let keeper = Keeper::new(open_keeper(&spelling.keeper, options)?);
    let members = Members::new(Box::new(OpenPlaces::new(options, false)));
    let directory = wish.directory.as_deref();
    let put = put_back_at(&keeper, &members, &spelling, wish, |named, identity| {
        let known = directory.map(|directory| remembered_at(directory, named, identity));
        known.transpose()
    });
    put.map_err(|unfinished| unfinished.of(&keeper))
}

/// A put-back that was refused, or failed.
#[derive(Debug)]
pub(super) enum Unfinished {
    Refused(Refused),
    Store(StoreError),
}

impl Unfinished {
    pub fn of(self, keeper: &Keeper) -> StoreError {
        match self {
            Unfinished::Store(error) => error,
            Unfinished::Refused(refused) => StoreError::Setup {
                place: keeper.place.place(),
                reason: refused.to_string(),
            },
        }
    }
}

impl From<StoreError> for Unfinished {
    fn from(error: StoreError) -> Self {
        Unfinished::Store(error)
    }
}

/// The copies in the set know the register from now on. If the keeper is restored once more before a host serves, they show
/// it. Others do not record it. That they do not know it shows that they have to be compared.
fn tell_set(members: &Members, evidence: &Evidence, record: &SetRecord) {
    let is_in = |place: &str| record.in_sync().any(|copy| copy.place == place);
    let answers = evidence.answers.iter();
    for answer in answers.filter(|answer| is_in(&answer.place)) {
        let store = members.open(&answer.place, Wait::Short);
        if let Err(error) = store.and_then(|store| tell(&*store, record)) {
            let copy = &answer.place;
            events::warn!(%copy, %error, "a copy has not recorded the register that is put back");
        }
    }
}

/// The same at this keeper; `known` gives a directory's register of the set.
pub(super) fn put_back_at(
    keeper: &Keeper,
    members: &Members,
    spelling: &Spelling,
    wish: &PutBack,
    known: impl FnOnce(&[String], Option<u64>) -> Result<Option<SetRecord>, StoreError>,
) -> Result<PutBackOutcome, Unfinished> {
    let because = |reason: String| Unfinished::Refused(Refused::Because(reason));
    // One that stays damaged counts as none, and is replaced.
    let mut doubts = 0;
    let (version, there) = loop {
        let stored = keeper.place.read_register(Register::Copies)?;
        let there = stored
            .as_ref()
            .map(|stored| SetRecord::decode(&stored.bytes));
        match there {
            Some(Err(_)) if doubts < DOUBTS_MAX => doubts += 1,
            there => {
                break (
                    stored.map(|stored| stored.version),
                    there.and_then(Result::ok),
                );
            }
        }
    };
    let identity = match &there {
        Some(record) => Some(record.identity),
        // The object may be lost or damaged, too.
        None => identity_at(&*keeper.place).unwrap_or_default(),
    };
    let mut named = spelling.copies.clone();
    named.sort();
    let known = known(&named, identity)?;
    let identity = identity.or(known.as_ref().map(|known| known.identity));
    let evidence = Evidence::gather(members, named, identity, (known, there), &wish.lost);
    let evidence = evidence.map_err(because)?;
    let newest = evidence.newest(wish.keep).map_err(Unfinished::Refused)?;
    check_places(&newest, spelling, &spelling.place())?;
    let discarded: Vec<&SetRecord> = evidence
        .all()
        .filter(|state| !is_after(&newest, state))
        .collect();
    let is_in = |place: &&String| newest.in_sync().any(|copy| copy.place == **place);
    let has_lost_outside = wish.lost.iter().any(|place| !is_in(&place));
    let mut kept = match discarded.is_empty() && !has_lost_outside {
        true => newest.clone(),
        false => newest.instead_of(&discarded, keeper.author_of(&newest)),
    };
    let excluded = [&wish.lost[..], &evidence.behind(&kept, &newest)].concat();
    let excluded: Vec<String> = excluded.iter().filter(is_in).cloned().collect();
    for place in &excluded {
        let without = kept.without(place, 0, now());
        kept = without.map(|kept| kept.distrusting(place)).ok_or_else(|| {
            because(format!(
                "all copies that were in sync are named as lost ({excluded:?}), and with them acknowledged transactions. \
                 Make a database of the directory of the host that served last, with `sardonyx backup`, for a new set"
            ))
        })?;
    }
    // A copy outside of the set may have entries of a line that is discarded, or may have lost what its number records.
    let outside = kept.copies.iter().map(|copy| copy.place.clone());
    let outside: Vec<String> = outside.filter(|place| !is_in(&place)).collect();
    for place in outside {
        if !discarded.is_empty() || wish.lost.contains(&place) {
            kept = kept.distrusting(&place);
        }
    }
    let ahead = evidence.ahead(&kept, &newest);
    if !ahead.is_empty() {
        return Err(because(format!(
            "{ahead:?} are not in sync, and know more of the register than the copies that are: those were restored from \
             backups. Put the register back without a directory, or name the restored copies as lost"
        )));
    }
    if kept == newest && evidence.there.as_ref() == Some(&newest) {
        return Err(because(format!(
            "its register of the copies has generation {}, and no copy, and no directory that was named, knows a later one: \
             there is nothing newer to put back. If a host refuses the register, name that host's directory",
            newest.generation
        )));
    }
    let mut cut: Vec<KnownState> = Vec::new();
    for state in discarded {
        if !cut.iter().any(|known| known.name == name_of(state)) {
            cut.push(evidence.shown(state));
        }
    }
    for state in &cut {
        events::warn!(%state, kept = %name_of(&newest), "a state of the register of the copies is discarded");
    }
    let replaced = match kept == newest {
        true => keeper.write(version.as_ref(), &kept),
        // All hosts have ended, so none has to know an earlier version only.
        false => keeper.replace_signed(version.as_ref(), &kept),
    };
    match replaced? {
        Replaced::Done(view) => {
            tell_set(members, &evidence, &view.record);
            Ok(PutBackOutcome {
                record: view.record.clone(),
                discarded: cut,
                excluded,
            })
        }
        Replaced::Other(_) => Err(Unfinished::Store(StoreError::NotNow {
            what: "put the register of the copies back".into(),
            place: keeper.place.place(),
            reason: "another process changes it: end all hosts, and repeat the command".into(),
        })),
    }
}
