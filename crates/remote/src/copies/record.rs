//! The register: the copies that have the log, their order, and the writer. A value, and its possible changes.
//!
//! Each change raises the generation, so that no two states are the same. So a comparison of the read register with
//! the present one is one of states. The copies are in the order of the chain: those in the set first.
//!
//! A register carries its ancestry: from which generation on each process wrote it, under a random number. A keeper that
//! was restored from a backup continues another line, whose generations may be higher. Its numbers differ from those
//! that a state of the first line has, so [`SetRecord::after`] tells the two apart. A process never continues two
//! lines: it writes under another number after a replacement whose outcome it does not know.

use super::planted::{self, Planted};
use sardonyx_storage::lines::{Lines, Misread, seal};
use std::fmt::Write;

/// The most bytes of a register.
const BYTES_MAX: usize = 64 << 10;

/// The version of a register of a set with its first places.
const VERSION: u32 = 1;

/// The version of a register that has the places of before.
const VERSION_WITH_FORMER: u32 = 2;

/// The version of a register that has its ancestry.
const VERSION_WITH_ANCESTRY: u32 = 3;

/// So many last processes are kept. A state from before them is taken for an ancestor.
const RUNS_MAX: usize = 256;

/// So many processes of discarded lines are kept.
const DROPPED_MAX: usize = 64;

/// So many earlier sets of places are kept.
const FORMER_MAX: usize = 8;

/// The standing of a copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// It has every entry that was acknowledged.
    InSync,
    /// It is being filled: it receives objects, and counts for nothing.
    Joining,
    /// It is left out.
    Out,
}

impl Standing {
    /// Its word in a register.
    pub fn word(self) -> &'static str {
        match self {
            Standing::InSync => "in-sync",
            Standing::Joining => "joining",
            Standing::Out => "out",
        }
    }

    fn of_word(word: &str) -> Option<Standing> {
        [Standing::InSync, Standing::Joining, Standing::Out]
            .into_iter()
            .find(|standing| standing.word() == word)
    }
}

/// A copy of the log, as the register has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyRecord {
    /// Its place.
    pub place: String,
    /// Its life, from 1: the content of an earlier one does not count.
    pub life: u64,
    /// Its standing.
    pub standing: Standing,
    /// Up to this number the entries that it has are those of the log.
    pub complete: u64,
    /// The time of its last change of standing: microseconds since 1970, UTC, by the clock of the host that changed
    /// it.
    pub since: u64,
}

/// The generations that one process wrote in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// The first one.
    pub from: u64,
    /// The random number of that process.
    pub author: u64,
}

/// A state of the register, compared with one that was known before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// It is the known one, or came from it.
    Continues,
    /// It is of an earlier generation.
    Older,
    /// It has the generation or a later one, and came from another state.
    Other,
}

/// The register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetRecord {
    /// The random number of this set of copies.
    pub identity: u64,
    /// Raised with each change.
    pub generation: u64,
    /// The random number of the process that may append and let copies in; 0: none has yet.
    pub writer: u64,
    /// All copies, those in the set first, in the order of the chain.
    pub copies: Vec<CopyRecord>,
    /// The last life of any copy that was removed: a place that comes back begins a later one.
    pub removed_life: u64,
    /// The places before the last changes of places, in alphabetical order, the oldest first. Hosts may still name them.
    pub former: Vec<Vec<String>>,
    /// The processes that wrote it, the earliest first. Empty: programs of before that, or none yet.
    pub(super) runs: Vec<Run>,
    /// Of lines that a person discarded: each process, and the first generation that it wrote there.
    pub(super) dropped: Vec<Run>,
}

impl SetRecord {
    /// A new set, in which all copies are.
    pub fn new(identity: u64, places: &[String], now: u64) -> Self {
        let copies = places.iter().map(|place| CopyRecord {
            place: place.clone(),
            life: 1,
            standing: Standing::InSync,
            complete: 0,
            since: now,
        });
        SetRecord {
            identity,
            generation: 1,
            writer: 0,
            copies: copies.collect(),
            removed_life: 0,
            former: Vec::new(),
            runs: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// The number of the process that wrote this state; 0: it is not known.
    pub(super) fn author(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.author)
    }

    /// The same, written by this process.
    pub(super) fn signed(&self, author: u64) -> Self {
        let mut signed = self.clone();
        if signed.author() != author {
            let from = signed.generation;
            signed.runs.push(Run { from, author });
            let old = signed.runs.len().saturating_sub(RUNS_MAX);
            signed.runs.drain(..old);
        }
        signed
    }

    /// Compares this state with one of this generation that this process wrote (0: not known).
    pub(super) fn after(&self, generation: u64, author: u64) -> After {
        let is_in = |run: &Run| run.author == author && generation >= run.from;
        if self.dropped.iter().any(is_in) {
            return After::Continues;
        }
        if self.generation < generation {
            return After::Older;
        }
        let before = self.runs.iter().rev().find(|run| run.from <= generation);
        let is_ancestor = match before {
            Some(run) => run.author == author || author == 0,
            // States of before the first run that is kept, or of before there were any.
            None => author == 0 || self.runs.len() == RUNS_MAX,
        };
        match is_ancestor || planted::is(Planted::AncestryIgnored) {
            true => After::Continues,
            false => After::Other,
        }
    }

    /// Compares this state with a known one.
    pub(super) fn after_state(&self, known: &SetRecord) -> After {
        match self.after(known.generation, known.author()) {
            After::Continues if self.generation == known.generation && self != known => {
                After::Other
            }
            after => after,
        }
    }

    /// The successor of this state that discards others with their lines. No process is its writer.
    pub(super) fn instead_of(&self, discarded: &[&SetRecord]) -> Self {
        let end_of = |record: &SetRecord, at: usize| match record.runs.get(at + 1) {
            Some(next) => next.from - 1,
            None => record.generation,
        };
        let mut kept = self.taken(0);
        for other in discarded {
            kept.generation = kept.generation.max(other.generation + 1);
            for (at, run) in other.runs.iter().enumerate() {
                let from = match self.runs.iter().position(|own| own == run) {
                    None => run.from,
                    Some(own) if end_of(other, at) > end_of(self, own) => end_of(self, own) + 1,
                    Some(_) => continue,
                };
                let author = run.author;
                kept.dropped.push(Run { from, author });
            }
        }
        let old = kept.dropped.len().saturating_sub(DROPPED_MAX);
        kept.dropped.drain(..old);
        kept
    }

    /// The places of all copies, in alphabetical order.
    pub fn places(&self) -> Vec<String> {
        let mut places: Vec<String> = self.copies.iter().map(|copy| copy.place.clone()).collect();
        places.sort();
        places
    }

    /// True if these places, in alphabetical order, are those of the set, or of before a change that it remembers.
    pub fn has_or_had(&self, places: &[String]) -> bool {
        self.places() == places || self.former.iter().any(|former| former == places)
    }

    /// The copies of this standing, in the order of the chain.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &CopyRecord> {
        self.copies
            .iter()
            .filter(move |copy| copy.standing == standing)
    }

    /// The copies in the set, in the order of the chain.
    pub fn in_sync(&self) -> impl Iterator<Item = &CopyRecord> {
        self.standing(Standing::InSync)
    }

    /// The last copy of the chain: all have its entries.
    pub fn tail(&self) -> Option<&CopyRecord> {
        self.in_sync().last()
    }

    fn changed(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        changed.generation += 1;
        change(&mut changed);
        changed
            .copies
            .sort_by_key(|copy| copy.standing != Standing::InSync);
        changed
    }

    /// The same with another process that appends.
    pub fn taken(&self, writer: u64) -> Self {
        self.changed(|changed| changed.writer = writer)
    }

    /// The same without this copy in the set; `complete` is known of all that are in it. `None`: it is not in the set, or is
    /// the last one.
    pub fn without(&self, place: &str, complete: u64, now: u64) -> Option<Self> {
        let is_there = self.in_sync().any(|copy| copy.place == place);
        (is_there && self.in_sync().count() > 1).then(|| {
            self.changed(|changed| {
                for copy in &mut changed.copies {
                    if copy.standing == Standing::InSync {
                        copy.complete = copy.complete.max(complete);
                    }
                    if copy.place == place {
                        (copy.standing, copy.since) = (Standing::Out, now);
                    }
                }
            })
        })
    }

    /// The same, without a known place of this copy.
    pub fn distrusting(mut self, place: &str) -> Self {
        let copies = self.copies.iter_mut();
        for copy in copies.filter(|copy| copy.place == place) {
            copy.complete = 0;
        }
        self
    }

    /// The same with this copy, which is not in the set, in this standing and life.
    pub fn with(&self, place: &str, standing: Standing, life: u64, now: u64) -> Self {
        self.changed(|changed| {
            for copy in &mut changed.copies {
                if copy.place == place {
                    if copy.life != life {
                        copy.complete = 0;
                    }
                    (copy.standing, copy.life, copy.since) = (standing, life, now);
                }
            }
        })
    }

    /// The same with this copy, which has all entries up to this number, at the end of the chain.
    pub fn joined(&self, place: &str, complete: u64, now: u64) -> Self {
        self.changed(|changed| {
            let Some(at) = changed.copies.iter().position(|copy| copy.place == place) else {
                return;
            };
            let mut copy = changed.copies.remove(at);
            (copy.standing, copy.since) = (Standing::InSync, now);
            changed.copies.push(copy);
            for copy in &mut changed.copies {
                if copy.standing == Standing::InSync {
                    copy.complete = copy.complete.max(complete);
                }
            }
        })
    }

    /// The same with other places: new ones are out, in a life with nothing.
    pub fn with_places(&self, added: &[(String, u64)], removed: &[String], now: u64) -> Self {
        let standing = match planted::is(Planted::AddedInSync) {
            true => Standing::InSync,
            false => Standing::Out,
        };
        self.changed(|changed| {
            let lives = self
                .copies
                .iter()
                .filter(|copy| removed.contains(&copy.place));
            let last = lives.map(|copy| copy.life).max().unwrap_or(0);
            changed.removed_life = changed.removed_life.max(last);
            changed.copies.retain(|copy| !removed.contains(&copy.place));
            let added = added.iter().map(|(place, life)| CopyRecord {
                place: place.clone(),
                life: *life,
                standing,
                complete: 0,
                since: now,
            });
            changed.copies.extend(added);
            let (before, places) = (self.places(), changed.places());
            changed.former.retain(|former| *former != before);
            changed.former.push(before);
            changed.former.retain(|former| *former != places);
            let old = changed.former.len().saturating_sub(FORMER_MAX);
            changed.former.drain(..old);
            // Its numbers may grow later, so it ends well before its bound.
            while !changed.former.is_empty() && changed.encode().len() > BYTES_MAX / 2 {
                changed.former.remove(0);
            }
        })
    }

    /// Its text.
    pub fn encode(&self) -> String {
        let version = match (self.runs.is_empty(), self.former.is_empty()) {
            (true, true) => VERSION,
            (true, false) => VERSION_WITH_FORMER,
            (false, _) => VERSION_WITH_ANCESTRY,
        };
        let mut text = format!(
            "format_version = {version}\nidentity = {:016x}\ngeneration = {}\nwriter = {:016x}\n",
            self.identity, self.generation, self.writer
        );
        for copy in &self.copies {
            let _ = writeln!(
                text,
                "copy = {} {} {} {} {}",
                copy.standing.word(),
                copy.life,
                copy.complete,
                copy.since,
                copy.place
            );
        }
        if !self.former.is_empty() {
            let _ = writeln!(text, "removed_life = {}", self.removed_life);
        }
        for places in &self.former {
            let _ = writeln!(text, "former = {}", places.join(";"));
        }
        for run in &self.runs {
            let _ = writeln!(text, "by = {} {:016x}", run.from, run.author);
        }
        for run in &self.dropped {
            let _ = writeln!(text, "dropped = {} {:016x}", run.from, run.author);
        }
        seal(text)
    }

    /// The register of this text.
    ///
    /// # Errors
    /// The place of the damage.
    pub fn decode(bytes: &[u8]) -> Result<SetRecord, Misread> {
        let bytes = bytes.get(..BYTES_MAX).unwrap_or(bytes);
        let mut lines = Lines::new("the register `copies`", bytes)?;
        lines.check_checksum()?;
        lines.value("format_version", |text| {
            let known = [VERSION, VERSION_WITH_FORMER, VERSION_WITH_ANCESTRY];
            text.parse()
                .ok()
                .filter(|found: &u32| known.contains(found))
        })?;
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let number = |text: &str| text.parse::<u64>().ok();
        let mut record = SetRecord {
            identity: lines.value("identity", hexadecimal)?,
            generation: lines.value("generation", number)?,
            writer: lines.value("writer", hexadecimal)?,
            copies: Vec::new(),
            removed_life: 0,
            former: Vec::new(),
            runs: Vec::new(),
            dropped: Vec::new(),
        };
        loop {
            let copy = lines.value("copy", |text| {
                let mut words = text.splitn(5, ' ');
                Some(CopyRecord {
                    standing: Standing::of_word(words.next()?)?,
                    life: number(words.next()?).filter(|life| *life > 0)?,
                    complete: number(words.next()?)?,
                    since: number(words.next()?)?,
                    place: words.next().filter(|place| !place.is_empty())?.into(),
                })
            })?;
            record.copies.push(copy);
            if !lines.has("copy") {
                break;
            }
        }
        if lines.has("removed_life") {
            record.removed_life = lines.value("removed_life", number)?;
        }
        while lines.has("former") {
            let places = |text: &str| Some(text.split(';').map(String::from).collect());
            record.former.push(lines.value("former", places)?);
        }
        let run = |text: &str| {
            let (from, author) = text.split_once(' ')?;
            Some(Run {
                from: number(from).filter(|from| *from > 0)?,
                author: hexadecimal(author).filter(|author| *author > 0)?,
            })
        };
        while lines.has("by") {
            record.runs.push(lines.value("by", run)?);
        }
        while lines.has("dropped") {
            record.dropped.push(lines.value("dropped", run)?);
        }
        lines.check_is(&record.encode())?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> SetRecord {
        let places = ["tcp://a:1", "tcp://b:1", "file:/c d"].map(String::from);
        SetRecord::new(7, &places, 50)
    }

    fn in_sync(record: &SetRecord) -> Vec<&str> {
        record.in_sync().map(|copy| &copy.place[..]).collect()
    }

    #[test]
    fn copies_leave_and_come_back_at_the_end_and_the_last_one_never_leaves() {
        let record = three().taken(9);
        let record = record.without("tcp://a:1", 12, 60).unwrap();
        assert_eq!(in_sync(&record), ["tcp://b:1", "file:/c d"]);
        assert_eq!((record.generation, record.writer), (3, 9));
        assert_eq!(record.without("tcp://a:1", 12, 60), None, "it is out");
        let last = record.without("tcp://b:1", 3, 61).unwrap();
        assert_eq!(last.without("file:/c d", 12, 62), None, "the last one");
        assert!(last.copies.iter().all(|copy| copy.complete == 12));
        let joining = last.with("tcp://a:1", Standing::Joining, 2, 63);
        assert_eq!(in_sync(&joining), ["file:/c d"]);
        let back = joining.joined("tcp://a:1", 40, 64);
        assert_eq!(in_sync(&back), ["file:/c d", "tcp://a:1"]);
        let complete: Vec<u64> = back.copies.iter().map(|copy| copy.complete).collect();
        assert_eq!(complete, [40, 40, 12]);
        let mut all = joining.standing(Standing::Joining);
        assert_eq!(all.next().unwrap().complete, 0, "a new life has nothing");
    }

    #[test]
    fn a_register_reads_back_and_any_other_byte_is_noticed() {
        let record = three().taken(9).without("tcp://b:1", 5, 60).unwrap();
        let changed = record.with_places(&[("tcp://d:1".into(), 3)], &["tcp://b:1".into()], 70);
        let signed = changed.signed(4).taken(7).signed(5);
        let back = signed.instead_of(&[&changed.signed(6)]).signed(8);
        for record in [record, changed, signed, back] {
            let text = record.encode();
            assert_eq!(SetRecord::decode(text.as_bytes()).unwrap(), record);
            for at in 0..text.len() {
                let mut other = text.clone().into_bytes();
                other[at] ^= 1;
                assert!(SetRecord::decode(&other).is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn other_places_are_out_at_first_and_the_places_of_before_are_kept_up_to_a_bound() {
        let record = three().with_places(&[("file:/d".into(), 4)], &["tcp://a:1".into()], 80);
        assert_eq!(in_sync(&record), ["tcp://b:1", "file:/c d"]);
        let added = record.standing(Standing::Out).next().unwrap();
        assert_eq!(
            (&added.place[..], added.life, added.complete),
            ("file:/d", 4, 0)
        );
        assert_eq!(record.former, [three().places()]);
        assert_eq!(record.removed_life, 1);
        // Back to the first places: they are no former ones any more.
        let back = record.with_places(&[("tcp://a:1".into(), 2)], &["file:/d".into()], 90);
        assert_eq!(back.places(), three().places());
        assert_eq!(back.former, [record.places()]);
        let mut record = three();
        for number in 0..20 {
            let place = format!("file:/{number}");
            let before = record.copies.last().unwrap().place.clone();
            record = record.with_places(&[(place, 1)], &[before], 100);
        }
        assert_eq!(record.former.len(), FORMER_MAX);
        assert!(record.former.last().unwrap().contains(&"file:/18".into()));
    }

    #[test]
    fn a_state_is_after_those_of_its_own_line_alone() {
        let known = |state: &SetRecord| (state.generation, state.author());
        let unsigned = three().taken(1);
        let first = unsigned.taken(2).signed(11);
        let second = first.taken(3).signed(12);
        let third = second.taken(4).signed(12);
        for before in [&unsigned, &first, &second, &third] {
            assert_eq!(third.after_state(before), After::Continues);
        }
        assert_eq!(second.after_state(&third), After::Older);
        // The keeper was restored to the first state, and others continued from there, further than the third one.
        let other = first
            .taken(5)
            .signed(13)
            .taken(6)
            .signed(13)
            .taken(7)
            .signed(14);
        assert!(other.generation > third.generation);
        for lost in [&second, &third] {
            assert_eq!(other.after_state(lost), After::Other);
            let (generation, author) = known(lost);
            assert_eq!(other.after(generation, author), After::Other);
        }
        assert_eq!(other.after_state(&first), After::Continues);
        // Restored to before there was an ancestry.
        assert_eq!(
            unsigned.taken(5).signed(15).after_state(&first),
            After::Other
        );
        let by_an_earlier_program = unsigned.taken(5).taken(6).taken(7);
        assert_eq!(by_an_earlier_program.after_state(&second), After::Other);
        // A person keeps the first line. Both kinds of hosts accept that.
        let kept = third.instead_of(&[&other]).signed(16);
        for before in [&third, &other, &first] {
            assert_eq!(kept.after_state(before), After::Continues, "{before:?}");
        }
        assert_eq!(other.taken(9).signed(14).after_state(&kept), After::Other);
        // The process of the kept line went on before the keeper was restored, and nothing came of that.
        let stub = third.taken(8).signed(12);
        let instead = third.instead_of(&[&stub]).signed(17);
        assert_eq!(instead.after_state(&stub), After::Continues);
        assert_eq!(instead.after_state(&third), After::Continues);
        assert_eq!(
            third
                .taken(0)
                .signed(17)
                .taken(1)
                .signed(17)
                .after_state(&stub),
            After::Other
        );
        // A bounded number of processes is kept.
        let mut long = third.clone();
        for author in 100..100 + 2 * RUNS_MAX as u64 {
            long = long.taken(author).signed(author);
        }
        assert_eq!(long.runs.len(), RUNS_MAX);
        assert_eq!(long.after_state(&first), After::Continues);
        let text = long.encode();
        assert_eq!(SetRecord::decode(text.as_bytes()).unwrap(), long);
    }
}
