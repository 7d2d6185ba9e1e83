//! The registers that copies, a host's directory and the keeper know, and the one to put back.
//!
//! An entry that was acknowledged under a state is on each copy of its set, and each of these knows that state. So a
//! state that *every* copy of its set lacks has no acknowledged entry, unless all these copies have lost their data. A
//! state that one of them lacks may have some: that copy may have been restored from a backup. Only a person knows
//! that.
//!
//! A later state can be unknown here only if a copy that has it gives no answer. So each place answers, or a person
//! names it as lost.

use super::ancestry::After;
use super::life::lives_at;
use super::members::{Members, Wait};
use super::planted::{self, Planted};
use super::record::SetRecord;
use super::witness::seen_at;
use sardonyx_base::crc32c::crc32c;
use sardonyx_base::events;
use sardonyx_storage::remote_log::store::StoreError;
use std::fmt;
use std::str::FromStr;

/// The name of a state of a register, as `--put-back` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateName {
    /// The count of changes of the register up to it.
    pub generation: u64,
    /// The random number of the process that wrote it; of a state of an earlier program, which has none, the checksum of
    /// its text.
    pub author: u64,
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.generation, self.author)
    }
}

impl FromStr for StateName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (generation, author) = text.split_once('-')?;
            let author = (author.len() == 16).then_some(author)?;
            Some(StateName {
                generation: generation.parse().ok()?,
                author: u64::from_str_radix(author, 16).ok()?,
            })
        };
        parse().ok_or_else(|| {
            "no name of a register: it has a generation, `-` and 16 hexadecimal digits, as --put-back \
             shows it"
                .into()
        })
    }
}

/// A state, and the places that know it or do not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownState {
    /// Its name, as `--put-back` takes it.
    pub name: StateName,
    /// The copies in its set.
    pub in_sync: Vec<String>,
    /// The copies that know it or a later state of its line; `the directory` and `the keeper` for those.
    pub known_by: Vec<String>,
    /// The copies in its set that answer and do not know it: restored from a backup, or never asked to record it.
    pub lacked_by: Vec<String>,
}

impl fmt::Display for KnownState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KnownState {
            name,
            in_sync,
            known_by,
            lacked_by,
        } = self;
        write!(f, "{name} (in sync {in_sync:?}, known to {known_by:?}")?;
        match lacked_by.is_empty() {
            true => f.write_str(")"),
            false => write!(f, ", not known to {lacked_by:?} of its set)"),
        }
    }
}

/// A refusal to choose, or another error.
#[derive(Clone, Debug)]
pub(super) enum Refused {
    /// These lines may have acknowledged entries: of each, the states that the others have not, the earliest first.
    Lines(Vec<Vec<KnownState>>),
    Because(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = match self {
            Refused::Because(reason) => return f.write_str(reason),
            Refused::Lines(lines) => lines,
        };
        f.write_str(
            "the registers that are known are of several lines, and each may have acknowledged transactions. Choose the \
             one to keep (--put-back --keep NAME). A state that a copy of its set does not know has none, if that copy was \
             never restored from a backup:",
        )?;
        for (nth, line) in lines.iter().enumerate() {
            write!(f, "\n  line {}:", nth + 1)?;
            for state in line {
                write!(f, " {state}")?;
            }
        }
        Ok(())
    }
}

/// True if a state is this one, or came from it.
pub(super) fn is_after(state: &SetRecord, before: &SetRecord) -> bool {
    state.after_state(before) == After::Continues
}

/// The name of a state. Two states without a number differ in their text.
pub(super) fn name_of(state: &SetRecord) -> StateName {
    StateName {
        generation: state.generation,
        author: match state.author() {
            0 => u64::from(crc32c(state.encode().as_bytes())),
            author => author,
        },
    }
}

fn newest<'a>(states: impl IntoIterator<Item = &'a SetRecord>) -> Option<&'a SetRecord> {
    states.into_iter().max_by_key(|state| state.generation)
}

/// A copy that answers.
#[derive(Debug)]
pub(super) struct Answer {
    pub place: String,
    /// The lives that it has, so it was not emptied since.
    lives: Vec<u64>,
    pub knows: Vec<SetRecord>,
}

impl Answer {
    /// The newest state that it knows of the line which ends with this one.
    fn newest_before(&self, tip: &SetRecord) -> Option<&SetRecord> {
        newest(self.knows.iter().filter(|state| is_after(tip, state)))
    }
}

/// All that is known.
#[derive(Debug)]
pub(super) struct Evidence {
    pub answers: Vec<Answer>,
    /// The places whose data is lost, or of a backup, as a person says.
    pub lost: Vec<String>,
    pub known: Option<SetRecord>,
    pub there: Option<SetRecord>,
}

impl Evidence {
    /// Asks these places, and those that the states of their answers name.
    ///
    /// # Errors
    /// A place gives no answer, and is not named as lost; a place that is named so is none.
    pub fn gather(
        members: &Members,
        mut places: Vec<String>,
        identity: Option<u64>,
        (known, there): (Option<SetRecord>, Option<SetRecord>),
        lost: &[String],
    ) -> Result<Evidence, String> {
        places.extend(known.iter().chain(&there).flat_map(SetRecord::places));
        let mut evidence = Evidence {
            answers: Vec::new(),
            lost: lost.to_vec(),
            known,
            there,
        };
        let mut silent = Vec::new();
        let mut asked = 0;
        while let Some(place) = places.get(asked).cloned() {
            let is_first = places.iter().position(|other| *other == place) == Some(asked);
            asked += 1;
            if !is_first {
                continue;
            }
            match answer_of(members, &place, identity) {
                Ok(answer) => {
                    places.extend(answer.knows.iter().flat_map(SetRecord::places));
                    evidence.answers.push(answer);
                }
                Err(_) if lost.contains(&place) || planted::is(Planted::SilentPassedOver) => {}
                Err(error) => silent.push(format!("{place} ({error})")),
            }
        }
        if let Some(unknown) = lost.iter().find(|lost| !places.contains(lost)) {
            return Err(format!(
                "{unknown} is named as lost, and is no copy of this set: spell it as `sardonyx store status` shows it"
            ));
        }
        match silent.is_empty() {
            true => Ok(evidence),
            false => Err(format!(
                "copies give no answer, and may have acknowledged transactions that the others lack: {}. Have them \
                 answer. If the data of one is lost for ever, name it (--lost PLACE, for each)",
                silent.join(", ")
            )),
        }
    }

    /// All states that are known.
    pub fn all(&self) -> impl Iterator<Item = &SetRecord> {
        let of_copies = self.answers.iter().flat_map(|answer| &answer.knows);
        of_copies.chain(&self.known).chain(&self.there)
    }

    /// The places that know a state, or a later one of its line.
    pub fn known_by(&self, state: &SetRecord) -> Vec<String> {
        let knows = |answer: &&Answer| answer.knows.iter().any(|known| is_after(known, state));
        let copies = self.answers.iter().filter(knows);
        let mut by: Vec<String> = copies.map(|answer| answer.place.clone()).collect();
        let others = [(&self.known, "the directory"), (&self.there, "the keeper")];
        for (known, name) in others {
            if known.as_ref().is_some_and(|known| is_after(known, state)) {
                by.push(name.into());
            }
        }
        by
    }

    /// The copies in a state's set that answer, were not emptied, and do not know it.
    fn lacked_by<'a>(&'a self, state: &'a SetRecord) -> impl Iterator<Item = &'a Answer> {
        self.answers.iter().filter(|answer| {
            let mut set = state.in_sync();
            let is_in =
                set.any(|copy| copy.place == answer.place && answer.lives.contains(&copy.life));
            is_in && !answer.knows.iter().any(|known| is_after(known, state))
        })
    }

    /// False if no entry was acknowledged under this state, or each copy that had one has lost it. Earlier programs
    /// recorded nothing at the copies.
    fn may_count(&self, state: &SetRecord) -> bool {
        let lacks: Vec<&str> = self
            .lacked_by(state)
            .map(|answer| answer.place.as_str())
            .collect();
        let knows = |place: &String| {
            let mut answers = self.answers.iter().filter(|answer| answer.place == *place);
            answers.any(|answer| answer.knows.iter().any(|known| is_after(known, state)))
        };
        // A copy that was restored to a moment after this state may be the last one with its entries.
        let is_lost = |place: &String| self.lost.contains(place) && !knows(place);
        let is_lacking = |place: &String| lacks.contains(&place.as_str()) || is_lost(place);
        let mut set = state.in_sync().map(|copy| &copy.place);
        let is_lacked = match planted::is(Planted::OneLackIsProof) {
            true => set.any(is_lacking),
            false => set.all(is_lacking),
        };
        state.author() == 0 || !is_lacked
    }

    pub fn shown(&self, state: &SetRecord) -> KnownState {
        let lacked = self.lacked_by(state).map(|answer| answer.place.clone());
        KnownState {
            name: name_of(state),
            in_sync: state.in_sync().map(|copy| copy.place.clone()).collect(),
            known_by: self.known_by(state),
            lacked_by: lacked.collect(),
        }
    }

    /// The state to put back, of the line of this state if a person names one.
    ///
    /// # Errors
    /// There is none, or a person has to choose.
    pub fn newest(&self, keep: Option<StateName>) -> Result<SetRecord, Refused> {
        if let Some(first) = self.all().next()
            && self.all().any(|state| state.identity != first.identity)
        {
            return Err(Refused::Because(
                "its register is lost, and the places are copies of several sets: name the places of one set".into(),
            ));
        }
        let counts: Vec<&SetRecord> = self.all().filter(|state| self.may_count(state)).collect();
        let is_one = |a: &SetRecord, b: &SetRecord| is_after(a, b) || is_after(b, a);
        let kept = match keep {
            None => None,
            Some(name) => {
                let found = self.all().find(|state| name_of(state) == name);
                Some(found.ok_or_else(|| {
                    Refused::Because(format!(
                        "no copy, directory or keeper knows a register {name}: name one that this command shows"
                    ))
                })?)
            }
        };
        let of_line = |state: &&&SetRecord| kept.is_none_or(|kept| is_one(kept, state));
        let wanted: Vec<&SetRecord> = counts.iter().filter(of_line).copied().collect();
        // A state that was discarded before, by a person, is no line of its own: the newest one continues it, too.
        let last = newest(wanted.iter().copied());
        let is_one_line = last.is_none_or(|last| wanted.iter().all(|state| is_after(last, state)));
        if !is_one_line {
            return Err(Refused::Lines(self.lines(&wanted)));
        }
        let base = newest(wanted.into_iter().chain(kept));
        let continues = |state: &&SetRecord| base.is_none_or(|base| is_after(state, base));
        let known = self.known.as_ref().filter(|known| continues(known));
        let later = self.all().filter(continues);
        let tip = newest(later.filter(|state| known.is_none_or(|known| is_after(state, known))));
        tip.cloned().ok_or_else(|| {
            Refused::Because(
                "no copy that answers knows a register of this set: name a host's directory, as in --put-back \
                 /var/lib/sardonyx/bank.sdx"
                    .into(),
            )
        })
    }

    /// The lines of these states: of each, the states that the others have not.
    fn lines(&self, states: &[&SetRecord]) -> Vec<Vec<KnownState>> {
        let mut tips: Vec<&SetRecord> = Vec::new();
        for state in states {
            let mut others = states.iter().chain(&tips);
            if !others.any(|other| other != state && is_after(other, state))
                && !tips.contains(state)
            {
                tips.push(state);
            }
        }
        let lines = tips.iter().map(|tip| {
            let is_own = |state: &&&SetRecord| {
                let mut others = tips.iter().filter(|other| *other != tip);
                is_after(tip, state) && !others.any(|other| is_after(other, state))
            };
            let mut own: Vec<&SetRecord> = states.iter().filter(is_own).copied().collect();
            own.sort_by_key(|state| state.generation);
            own.dedup();
            own.into_iter().map(|state| self.shown(state)).collect()
        });
        lines.collect()
    }

    /// The generation of the newest state that a copy knows of the line which ends with this one; 0: none.
    fn knows(&self, place: &str, tip: &SetRecord) -> u64 {
        let answer = self.answers.iter().find(|answer| answer.place == place);
        let before = answer.and_then(|answer| answer.newest_before(tip));
        before.map_or(0, |state| state.generation)
    }

    /// The copies outside of the set of a state that know the line better than each copy of the set. A copy that leaves the
    /// set does not get to know the state without it, so those of the set were restored from backups.
    pub fn ahead(&self, kept: &SetRecord, tip: &SetRecord) -> Vec<String> {
        let most = kept.in_sync().map(|copy| self.knows(&copy.place, tip));
        let most = most.max().unwrap_or(0);
        let is_in = |place: &str| kept.in_sync().any(|copy| copy.place == place);
        let outside = self.answers.iter().map(|answer| &answer.place);
        outside
            .filter(|place| !is_in(place) && !self.lost.contains(place))
            .filter(|place| self.knows(place, tip) > most)
            .cloned()
            .collect()
    }

    /// The copies in the set of a state that others of the set know better than they do: they were restored from a backup,
    /// or have not recorded it, and have nothing that the others lack.
    pub fn behind(&self, kept: &SetRecord, tip: &SetRecord) -> Vec<String> {
        let knows = |place: &str| self.knows(place, tip);
        let set = || {
            kept.in_sync()
                .filter(|copy| !self.lost.contains(&copy.place))
        };
        let most = set().map(|copy| knows(&copy.place)).max().unwrap_or(0);
        if planted::is(Planted::BehindKept) {
            return Vec::new();
        }
        set()
            .filter(|copy| knows(&copy.place) < most)
            .map(|copy| copy.place.clone())
            .collect()
    }
}

/// A copy, and the registers that it knows.
fn answer_of(members: &Members, place: &str, identity: Option<u64>) -> Result<Answer, StoreError> {
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
    let failed = |error: &StoreError| {
        events::warn!(%place, %error, "a copy does not say which register it knows");
    };
    open().inspect_err(failed)
}
