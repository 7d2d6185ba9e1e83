//! The register: the copies that have the log, their order, and the writer. A value, and its possible changes.
//!
//! Each change raises the generation, so that no two states are the same. So a comparison of the read register with
//! the present one is one of states. The copies are in the order of the chain: those in the set first. Its ancestry is in
//! [`ancestry`](super::ancestry).

use super::ancestry::Run;
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
    /// Its address, as in `copies:`.
    pub place: String,
    /// Its life, from 1: the content of an earlier one does not count.
    pub life: u64,
    /// In the set, joining, or out.
    pub standing: Standing,
    /// Up to this number the entries that it has are those of the log.
    pub complete: u64,
    /// The time of its last change of standing: microseconds since 1970, UTC, by the clock of the host that changed
    /// it.
    pub since: u64,
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

    /// False of a register that earlier programs can read: it does not show which process wrote it.
    pub fn has_ancestry(&self) -> bool {
        !self.runs.is_empty()
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

    pub(super) fn changed(&self, change: impl FnOnce(&mut Self)) -> Self {
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

    /// The same; all copies in the set have the log up to this number.
    pub(super) fn complete_up_to(mut self, number: u64) -> Self {
        self.raise_complete(number);
        self
    }

    fn raise_complete(&mut self, number: u64) {
        let copies = self.copies.iter_mut();
        for copy in copies.filter(|copy| copy.standing == Standing::InSync) {
            copy.complete = copy.complete.max(number);
        }
    }

    /// The same without this copy in the set; `complete` is known of all that are in it. `None`: it is not in the set, or is
    /// the last one.
    pub fn without(&self, place: &str, complete: u64, now: u64) -> Option<Self> {
        let is_there = self.in_sync().any(|copy| copy.place == place);
        (is_there && self.in_sync().count() > 1).then(|| {
            self.changed(|changed| {
                changed.raise_complete(complete);
                let copies = changed.copies.iter_mut();
                for copy in copies.filter(|copy| copy.place == place) {
                    (copy.standing, copy.since) = (Standing::Out, now);
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
            changed.raise_complete(complete);
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
        while lines.has("by") {
            let signed = |text: &str| Run::decode(text).filter(|run| run.author > 0);
            record.runs.push(lines.value("by", signed)?);
        }
        while lines.has("dropped") {
            record.dropped.push(lines.value("dropped", Run::decode)?);
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
        let back = signed.instead_of(&[&changed.signed(6)], 8).signed(8);
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
}
