//! A log on several places at once: `copies:KEEPER;COPY;COPY`. Every acknowledged entry is on every copy of the *set*.
//! The set is in a register that the *keeper* keeps, which is a store with conditional writes.
//!
//! ```text
//!                        ┌─▶ keeper: register `copies` {generation, writer, in sync: A, B; out: C}, `boundary`, `primary`
//!   host ─▶ Copies ──────┤
//!                        └─▶ A ─▶ B      an entry goes along the chain, and is acknowledged when the last one has it
//! ```
//!
//! This is no consensus protocol. The keeper decides the members of the set. The first copy of the chain decides the
//! entry under a number. Each does so by its own conditional write. Copies are stores as any other and know nothing of
//! each other.
//!
//! - `record`, `ancestry`, `keeper`: the register; - `remembered`, `witness`: its newest state, in a host's directory and at each
//!   copy; - `putting_back`, `evidence`: that state at the keeper again; - `health`: the set for people;
//! - `ends`, `bases`: copies that were restored while the register stayed; - `elsewhere`: what the last copy lacks or has damaged;
//! - `changing`: other places, which a person asks for; - `members`, `life`: the copies; - `chain`: one item along the
//!   chain; - `entries`, `objects`: the store's interface; - `spelling`: places as users write them; - `time`: the clock;
//! - `joining`, `way`: how a copy comes back; - `scrubbing`: it is read beside the others then; - `maintaining`: the thread that lets it; - `exploration`, `schedules`: all of it
//!   beside faults, drawn and by hand; - `restored_world`, `sites`: the places and the restored keepers of tests; - `planted`:
//!   rules that a test leaves out.
//!
//! # The rules
//!
//! 1. *The chain.* A copy has an entry only if all before it in the chain have it. So all copies have the last copy's
//!    entries, and the first copy decides between two that create one number. A reader asks the last one and then
//!    reads the register. If the set is unchanged, the entry that it read was on every copy of the set, and stays.
//! 2. *A smaller set needs no consent.* Any process, but for a tool that only looks, may leave out a copy that gives
//!    no answer, if another one answers. The last one is never left out. A process that has not seen it acknowledges
//!    only entries that all copies of its larger set have, so also those of the smaller one. A copy that gave no
//!    answer counts until the register is written.
//! 3. *One process appends and lets copies in: the writer.* It writes its number into the register before its first
//!    append. It does so again when it has seen another writer in the register. It also does so before an append whose
//!    number does not follow the last that it knows to be on all copies. So appends on one state have consecutive
//!    numbers, also if the process claims the log again, or loses a number to another one. Others have appended the
//!    numbers in between, perhaps on another set. It changes the register only while none of its appends is under way. If a
//!    replacement has no answer it appends nothing until another one has succeeded, after which the first one never
//!    will.
//! 4. *A writer that was superseded acknowledges nothing that is lost.* Let P append with the set V. Let T be the
//!    first later writer of which an entry is on all copies of its set. Until then no copy was let in, since a writer
//!    lets copies in only after that. So T's set is a part of V, and some copy of V has T's entry under a number n. P
//!    appends consecutive numbers on V (rule 3), and T's claim has read all before n
//!    ([`sardonyx_storage::remote_log`], rules 1 and 2). So T knows everything that P acknowledged before n; P cannot
//!    have n on all of V, and stops there. Fences are never deleted (rule 3 there), neither with the log's beginning
//!    nor with an earlier life of a copy. So this holds for a P that was stopped for hours and knows the copies in
//!    lives that have ended.
//! 5. *A copy that comes back has nothing of its own.* Its entries behind the number in the register are compared with
//!    the log. If one entry differs it begins a new life ([`life`]), in which no earlier request can change anything.
//!    Entries of the log are never deleted or replaced, except at the log's beginning. Late appends of a superseded writer
//!    have numbers up to its successor's first entry, which a copy that joined has. Entries of an earlier life are deleted, except possible fences.
//! 6. *An emptied copy is no copy.* It lacks the object that names its life (its *mark*), which is read when it is opened and when it is
//!    filled, and begins a new one. A connection to a store over TCP goes only to the store that it was opened with,
//!    not to another one at the address later. Other stores have no such number. One that is emptied under a running
//!    process is taken for the copy that it was.
//!
//! 7. *A keeper that was restored is refused.* The copies, and the directories of hosts, know the newest register
//!    ([`witness`], [`remembered`]). A process asks the copies before it becomes the writer, excludes a copy or lets one
//!    in. A register that does not continue what one of them knows is refused, and with it all that follows.
//!
//! 8. *A copy that was restored is no copy.* By rules 1 and 3, the ends of the copies in a set differ by one entry at most, and
//!    each has what a later one of the chain has. A process compares them before it becomes the writer ([`ends`]). By
//!    rules 1, 3 and 5, a copy that comes back has at most one entry that the log lacks, so one with more is left as it
//!    is ([`joining`]).
//!
//! Objects have no numbers, so a process that creates one looks at the register afterwards, and does it again on
//! another set. Some objects of a copy that joins are deleted: those that it had before it began to join, and that the
//! log lacks. Later ones may have been created since the log's were listed.

mod ancestry;
mod bases;
mod chain;
mod changing;
#[cfg(test)]
mod changing_tests;
#[cfg(test)]
mod damage_tests;
mod doubts;
mod elsewhere;
mod ends;
#[cfg(test)]
mod ends_tests;
mod entries;
mod evidence;
#[cfg(test)]
pub(crate) mod exploration;
mod health;
mod joining;
mod keeper;
mod life;
mod maintaining;
mod members;
mod objects;
mod planted;
mod putting_back;
#[cfg(test)]
mod putting_back_tests;
mod record;
mod remembered;
#[cfg(test)]
mod remembered_tests;
#[cfg(test)]
mod restored_world;
#[cfg(test)]
mod schedules;
mod scrubbing;
#[cfg(test)]
mod sites;
mod spelling;
#[cfg(test)]
mod tests;
mod time;
mod way;
mod witness;
#[cfg(test)]
mod witness_tests;

pub use bases::LackingBase;
pub use changing::PlacesChange;
pub use evidence::{KnownState, StateName};
pub use health::{CopiesHealth, copies_health};
pub use putting_back::{PutBack, PutBackOutcome, put_back};
pub use record::{CopyRecord, SetRecord, Standing};
pub(crate) use spelling::Spelling;

use crate::options::RemoteOptions;
use crate::place::{open_keeper, open_plain};
use changing::Changing;
use entries::Tenure;
use joining::Fillings;
use keeper::{Keeper, PUT_BACK, Replaced, View};
use life::{IDENTITY, check_is_of_no_other, folder_of, identity_at, mark_of};
use members::{Members, Open, Wait};
use remembered::{Home, Remembered};
use sardonyx_base::events;
use sardonyx_base::random::system_random;
use sardonyx_base::sync::Mutex;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::remote_log::known::Known;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{Appended, StoreError};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::{Limits, SystemTime, Time};

/// A copy may give no answer for at most so long.
const SILENT_MAX: Duration = Duration::from_secs(1);

/// A register of earlier programs, which a person raises.
const WITHOUT_ANCESTRY: &str = "the register of the copies is one that earlier programs can read, so hosts cannot tell \
    each restored register from the newest one: when every host of the set has this program, run sardonyx store copies \
    PLACE --raise-version";

/// A log on several places.
#[derive(Debug)]
pub struct Copies {
    place: String,
    /// The random number of this process, as the register names its writer.
    process: u64,
    keeper: Keeper,
    members: Members,
    time: Box<dyn Time>,
    limits: Limits,
    entry_bytes_max: u64,
    /// False of a tool that only looks.
    changes_copies: bool,
    /// The newest state of the register that was seen.
    seen: Mutex<Arc<View>>,
    tenure: Mutex<Tenure>,
    fillings: Mutex<Fillings>,
    /// The copies have shown that the keeper's register is older, or of another line.
    refused: Mutex<Option<StoreError>>,
}

/// Opens the places of copies as users name them.
#[derive(Debug)]
struct OpenPlaces {
    options: RemoteOptions,
    short: Duration,
}

impl OpenPlaces {
    /// For copies that exist, or for new ones: those are probed, and a directory is made.
    fn new(options: &RemoteOptions, are_new: bool) -> Self {
        let short = options.register_limit().unwrap_or(SILENT_MAX);
        OpenPlaces {
            options: RemoteOptions {
                register_limit: None,
                probe: are_new,
                make: are_new,
                ..options.clone()
            },
            short: short.min(SILENT_MAX).min(options.request_limit),
        }
    }
}

impl Open for OpenPlaces {
    fn open(&self, place: &str, wait: Wait) -> Result<Arc<dyn RemotePlace>, StoreError> {
        let mut options = self.options.clone();
        if wait == Wait::Short {
            options.request_limit = options.request_limit.min(self.short);
        }
        open_plain(place, &options)
    }
}

impl Copies {
    /// The log at these places. A set that was never written is made, if that is wanted: then every copy must answer and be
    /// empty.
    ///
    /// # Errors
    /// The keeper's; the copies' when the set is made; the set there has other copies than these ([`StoreError::Setup`]).
    pub fn open(rest: &str, options: &RemoteOptions) -> Result<Arc<Copies>, StoreError> {
        let spelling = Spelling::parse(rest)?;
        let mut keeper = Keeper::new(open_keeper(&spelling.keeper, options)?);
        if let Some(directory) = &options.home {
            let home = Home::Directory(directory.clone());
            keeper = keeper.remembered(Remembered::open(home, &spelling.copies)?);
        }
        let places = OpenPlaces::new(options, false);
        let short = places.short;
        let view = match keeper.look()? {
            Some(view) => view,
            None => make(&keeper, &spelling, options)?,
        };
        let limits = Limits {
            write: short,
            read: short * 3,
            pause: Duration::from_millis(20),
        };
        let time = Box::new(SystemTime(Instant::now()));
        let mut copies = Copies::new(&spelling, keeper, view, Box::new(places), time, limits)?;
        copies.changes_copies = options.changes_copies;
        copies.ask_at_start(options.home.as_deref().and_then(next_known_to))?;
        copies.entry_bytes_max = copies.least_entry_bytes(options.entry_bytes_max);
        let copies = Arc::new(copies);
        maintaining::start(&copies);
        Ok(copies)
    }

    fn new(
        spelling: &Spelling,
        keeper: Keeper,
        view: Arc<View>,
        places: Box<dyn Open>,
        time: Box<dyn Time>,
        limits: Limits,
    ) -> Result<Copies, StoreError> {
        let place = spelling.place();
        check_places(&view.record, spelling, &place)?;
        Ok(Copies {
            place,
            process: system_random().max(1),
            keeper,
            members: Members::new(places),
            time,
            limits,
            entry_bytes_max: RemoteOptions::default().entry_bytes_max,
            changes_copies: true,
            seen: Mutex::new(view),
            tenure: Mutex::default(),
            fillings: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    /// Refuses an older register than copies know, and leaves out copies that lack an entry before the number `next`, which
    /// this host has read. A tool that only looks shows it.
    fn ask_at_start(&self, next: Option<u64>) -> Result<(), StoreError> {
        if self.changes_copies {
            let view = self.confirm(&self.view()?, None)?;
            if !view.record.has_ancestry() {
                events::warn!("{WITHOUT_ANCESTRY}");
            }
            self.note(&view);
            if let Some(next) = next {
                self.leave_out_restored(next)?;
            }
        }
        Ok(())
    }

    /// The most bytes of an entry that every copy takes, as far as they answer.
    fn least_entry_bytes(&self, most: u64) -> u64 {
        let view = self.seen.lock().clone();
        let open = |copy| self.members.get(&view.record, copy, Wait::Short);
        let bytes = view.record.copies.iter().flat_map(open);
        let bytes = bytes.map(|member| {
            use sardonyx_storage::remote_log::store::RemoteStore;
            member.entry_bytes_max()
        });
        bytes.fold(most, u64::min)
    }

    /// The newest state of the register that was seen.
    fn view(&self) -> Result<Arc<View>, StoreError> {
        Ok(self.seen.lock().clone())
    }

    /// The state of the register now.
    fn look(&self) -> Result<Arc<View>, StoreError> {
        if let Some(error) = self.refused.lock().clone() {
            return Err(error);
        }
        let view = self.keeper.read()?;
        self.note(&view);
        Ok(view)
    }

    fn note(&self, view: &Arc<View>) {
        let mut seen = self.seen.lock();
        if view.record.generation > seen.record.generation {
            *seen = view.clone();
        }
    }
}

/// The number after the last entry that a host's directory records. A damaged record is the opening's to report.
fn next_known_to(directory: &Path) -> Option<u64> {
    let disk = RealDisk::open_for_reading(directory).ok()?;
    Some(Known::read(&disk).ok()??.entry.next)
}

/// A host names the places of the set, or those of before a change of places.
fn check_places(record: &SetRecord, spelling: &Spelling, place: &str) -> Result<(), StoreError> {
    let there = record.places();
    let mut wanted = spelling.copies.clone();
    wanted.sort();
    if there == wanted {
        return Ok(());
    }
    if record.has_or_had(&wanted) {
        events::warn!(named = ?wanted, set = ?there, "the places of the log were changed: name those of the set");
        return Ok(());
    }
    Err(StoreError::Setup {
        reason: format!(
            "the set of copies in its register is {there:?}, and {wanted:?} are named; name the same, spelled the same, \
             on every host, or change the set by `sardonyx store copies`"
        ),
        place: place.into(),
    })
}

/// The parts of a place that has copies.
fn spelling_of(place: &str) -> Result<Spelling, StoreError> {
    let rest = place.strip_prefix("copies:");
    Spelling::parse(rest.ok_or_else(|| StoreError::Place {
        place: "the place".into(),
        reason: "it has no copies: one begins with copies:".into(),
    })?)
}

/// Changes the places of a set of copies, while hosts use it. Returns the register afterwards.
///
/// # Errors
/// [`StoreError::Place`]: a place is not valid, is a copy already, or is none. [`StoreError::Setup`]: a new place is not
/// empty, or is a store of the set under another name; too few copies in sync would be left. The stores' errors; if one
/// of the keeper is unclear, its register may have been changed.
pub fn change_copies(
    place: &str,
    change: &PlacesChange,
    options: &RemoteOptions,
) -> Result<SetRecord, StoreError> {
    let spelling = spelling_of(place)?;
    let existing = RemoteOptions {
        make: false,
        ..options.clone()
    };
    let keeper = Keeper::new(open_keeper(&spelling.keeper, &existing)?);
    check_places(&keeper.read()?.record, &spelling, place)?;
    let changing = Changing {
        keeper: &keeper,
        keeper_place: &spelling.keeper,
        members: &Members::new(Box::new(OpenPlaces::new(options, false))),
        new_places: &OpenPlaces::new(options, true),
    };
    changing.change(change)
}

/// Raises the register to the newest version, which has an ancestry. Earlier programs cannot read it afterwards, so each
/// host of the set has a program that can. Returns the register afterwards.
///
/// # Errors
/// [`StoreError::Place`]: the place has no copies. [`StoreError::Setup`]: it has the newest version already. The stores'
/// errors; if one of the keeper is unclear, its register may have been changed.
pub fn raise_copies_version(place: &str, options: &RemoteOptions) -> Result<SetRecord, StoreError> {
    let spelling = spelling_of(place)?;
    let keeper = Keeper::new(open_keeper(&spelling.keeper, options)?);
    let members = Members::new(Box::new(OpenPlaces::new(options, false)));
    let view = keeper.read()?;
    check_places(&view.record, &spelling, place)?;
    let view = witness::confirm(&keeper, &members, &view, None)?;
    if view.record.has_ancestry() {
        return Err(StoreError::Setup {
            place: keeper.place.place(),
            reason: "its register of the copies has the newest version already".into(),
        });
    }
    match keeper.replace_signed(Some(&view.version), &view.record.raised())? {
        Replaced::Done(view) => Ok(view.record.clone()),
        Replaced::Other(_) => Err(StoreError::NotNow {
            what: "raise the version of the register of the copies".into(),
            place: keeper.place.place(),
            reason: "it was changed meanwhile: repeat the command".into(),
        }),
    }
}

/// The identity of the set that a keeper has: the same for all processes that make it at once, or again after a failure.
fn identity_of(keeper: &Keeper) -> Result<u64, StoreError> {
    let text = format!("{:016x}", system_random());
    keeper.place.create_object(IDENTITY, text.as_bytes())?;
    identity_at(&*keeper.place)?.ok_or_else(|| StoreError::Setup {
        place: keeper.place.place(),
        reason: format!("its object {IDENTITY} is damaged: use an empty place for the register"),
    })
}

/// Makes a set of which no register was ever written.
fn make(
    keeper: &Keeper,
    spelling: &Spelling,
    options: &RemoteOptions,
) -> Result<Arc<View>, StoreError> {
    if !options.make {
        return Err(StoreError::NotNow {
            what: "find the set of copies".into(),
            place: keeper.place.place(),
            reason: "its register is not there".into(),
        });
    }
    let record = SetRecord::new(identity_of(keeper)?, &spelling.copies, now());
    for place in &spelling.copies {
        let store = open_plain(place, options)?;
        let is_empty = store.list(0)?.is_empty() && store.list_objects(&folder_of(1))?.is_empty();
        if !is_empty {
            // Another process may have made the set meanwhile.
            if let Some(view) = keeper.look()? {
                return Ok(view);
            }
            return Err(StoreError::Setup {
                place: store.place(),
                reason: format!(
                    "a new set of copies begins with empty places, and it has a log. If it is a copy of a set whose \
                     register was at {}, that one is lost: {PUT_BACK}",
                    keeper.place.place()
                ),
            });
        }
        check_is_of_no_other(&*store, record.identity)?;
        let mark = mark_of(record.identity, 1);
        let is_there = store.create_object(&mark, place.as_bytes())? == Appended::Conflict;
        // Another process makes the set too, or one has not made it to the end: then under the same name.
        if is_there && store.read_object(&mark)?.as_deref() != Some(place.as_bytes()) {
            return Err(StoreError::Setup {
                place: store.place(),
                reason: "it is a copy already under another of these names: each copy needs a place of its own".into(),
            });
        }
        // Of two sets that are made of it at once, at least one sees the other.
        check_is_of_no_other(&*store, record.identity)?;
    }
    match keeper.replace(None, &record)? {
        Replaced::Done(view) | Replaced::Other(view) => Ok(view),
    }
}

/// The register of the set of copies at this place: `None` if the place is of another kind, or no set was made there yet.
///
/// # Errors
/// The place cannot be understood; the keeper's.
pub fn copies_of(place: &str, options: &RemoteOptions) -> Result<Option<SetRecord>, StoreError> {
    let Some(rest) = place.strip_prefix("copies:") else {
        return Ok(None);
    };
    let keeper = Keeper::new(open_keeper(&Spelling::parse(rest)?.keeper, options)?);
    Ok(keeper.look()?.map(|view| view.record.clone()))
}
