//! The phases of a run after a restoration, with two kinds of their own: copies that are restored while the register
//! stays, and a second line of registers, beyond the documented limit.

use super::backups::{newest_known, record_at};
use super::{COPIES, Entries, FOUND, Run, new_disk, start_with};
use crate::copies::ancestry::After;
use crate::copies::evidence::{Refused, StateName, is_after, name_of};
use crate::copies::life::Life;
use crate::copies::putting_back::{PutBack, Unfinished};
use crate::copies::record::SetRecord;
use crate::copies::sites::CopyBackup;
use crate::copies::tests::{Host, Net};
use crate::copies::witness::seen_at;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};

/// The present restoration.
pub(super) enum Phase {
    /// Nothing is restored, or a person has put it right.
    Whole,
    /// The keeper was restored. Each host reaches one of these copies of the newest set.
    Keeper { newest: Vec<String> },
    /// These copies were restored, and the register stays. Each host reaches the others of the set.
    Copies {
        intact: Vec<String>,
        restored: Vec<String>,
    },
    /// The keeper was restored, and each copy that knows a later register is away.
    Line(Line),
}

/// A second line of registers.
pub(super) struct Line {
    /// The copies that know a state of the first line, and the newest one.
    witnesses: Vec<(String, StateName)>,
    /// The entries that were acknowledged on the first line.
    first: Entries,
}

impl Line {
    /// The copies that hosts do not reach.
    pub fn away(&self) -> impl Iterator<Item = &'static str> {
        let is_away = |place: &&str| (self.witnesses.iter()).any(|(witness, _)| witness == *place);
        COPIES.into_iter().filter(is_away)
    }
}

impl Run {
    /// All hosts have ended. Copies are restored, and one copy of the set is not.
    pub(super) fn restore_copies_alone(&mut self) {
        let record = record_at(&*self.keeper());
        let mut restored = COPIES.map(String::from).to_vec();
        restored.retain(|_| self.random.below(2) == 0);
        let mut intact: Vec<String> = record.in_sync().map(|copy| copy.place.clone()).collect();
        intact.retain(|place| !restored.contains(place));
        if restored.is_empty() || intact.is_empty() {
            return;
        }
        let before: Vec<CopyBackup> = COPIES
            .iter()
            .map(|place| self.sites.backup(place))
            .collect();
        for place in &restored {
            let nth = self.random.below(self.backups.len() as u64) as usize;
            let backup = &self.backups[nth].copies[place];
            self.sites.restore(place, backup);
        }
        // One that knows a state of a lost line is refused with the register.
        let is_of_the_line = |place: &String| {
            let seen = seen_at(&*self.sites.at(place)).unwrap();
            let mut seen = seen.iter();
            seen.all(|seen| seen.before(&record) == After::Continues)
        };
        if !restored.iter().all(is_of_the_line) {
            for (place, backup) in COPIES.iter().zip(&before) {
                self.sites.restore(place, backup);
            }
            return;
        }
        for slot in &mut self.slots {
            if self.random.below(3) == 0 {
                slot.disk = new_disk(self.random.next());
            }
        }
        self.phase = Phase::Copies { intact, restored };
        self.counts.copies_alone += 1;
    }

    /// The phase of restored copies is over when none of them counts and lacks an entry.
    pub(super) fn look_at_restored_copies(&mut self) {
        let Phase::Copies { restored, .. } = &self.phase else {
            return;
        };
        let record = record_at(&*self.keeper());
        let mut counting = record
            .in_sync()
            .filter(|copy| restored.contains(&copy.place));
        let lacks = counting.any(|copy| {
            let life = Life::new(self.sites.at(&copy.place), copy.life);
            let mut numbers = self.acknowledged.keys();
            numbers.any(|number| life.read(*number).unwrap().is_none())
        });
        if !lacks {
            self.phase = Phase::Whole;
        }
    }

    /// All hosts have ended. The keeper is restored, all directories are new, and the copies that know a later register are
    /// away.
    pub(super) fn begin_line(&mut self) {
        let drawn = self.random.below(self.backups.len() as u64) as usize;
        let backup = &self.backups[drawn];
        let witness = |place: &&str| {
            let newest = newest_known(&*self.sites.at(place))?;
            (!is_after(&backup.record, &newest)).then(|| (place.to_string(), name_of(&newest)))
        };
        let witnesses: Vec<_> = COPIES.iter().filter_map(witness).collect();
        let is_witness = |place: &str| witnesses.iter().any(|(witness, _)| witness == place);
        let mut left = backup.record.in_sync();
        let has_left = left.any(|copy| !is_witness(&copy.place));
        if witnesses.is_empty() || !has_left || !self.has_kept(&backup.record, drawn, &is_witness) {
            return;
        }
        let line = Line {
            witnesses,
            first: std::mem::take(&mut self.acknowledged),
        };
        self.acknowledged
            .clone_from(&self.backups[drawn].acknowledged);
        self.restore_keeper(drawn);
        for slot in &mut self.slots {
            slot.disk = new_disk(self.random.next());
        }
        self.phase = Phase::Line(line);
        self.counts.restorations += 1;
    }

    /// True if the copies of this set that are left have what was acknowledged at the time of the backup.
    fn has_kept(
        &self,
        record: &SetRecord,
        drawn: usize,
        is_witness: &dyn Fn(&str) -> bool,
    ) -> bool {
        let mut left = record.in_sync().filter(|copy| !is_witness(&copy.place));
        left.all(|copy| {
            let life = Life::new(self.sites.at(&copy.place), copy.life);
            let mut entries = self.backups[drawn].acknowledged.iter();
            entries.all(|(number, bytes)| life.read(*number).unwrap().as_ref() == Some(bytes))
        })
    }

    /// The copies that were away are back. A host refuses the register of the second line, and a person chooses.
    pub(super) fn end_line(&mut self) {
        let line = match std::mem::replace(&mut self.phase, Phase::Whole) {
            Phase::Line(line) => line,
            other => return self.phase = other,
        };
        self.end_all();
        let own = self.world.own(&self.sites);
        let started = start_with(&self.sites, Net::default(), &new_disk(1), own);
        assert!(
            matches!(&started, Err(StoreError::Setup { .. })),
            "{FOUND}a host continues a register of another line than that of {:?}",
            line.witnesses
        );
        let keeper = self.keeper();
        let put =
            |wish: &PutBack| Host::try_to_put_back(&self.sites, keeper.clone(), None, wish, &[]);
        let mut done = put(&PutBack::default());
        let mut is_chosen = false;
        if let Err(Unfinished::Refused(Refused::Lines(lines))) = &done {
            let kept = &lines[self.random.below(lines.len() as u64) as usize];
            let keep = kept.first().map(|state| state.name);
            is_chosen = true;
            done = put(&PutBack {
                keep,
                ..PutBack::default()
            });
        }
        let put = done.unwrap_or_else(|error| panic!("{FOUND}{error:?}"));
        let is_first = |name: &StateName| line.witnesses.iter().any(|(_, known)| known == name);
        let keeps_first = !put.discarded.iter().any(|state| is_first(&state.name));
        let second = std::mem::replace(&mut self.acknowledged, line.first);
        let mut given_up = second;
        if !keeps_first {
            std::mem::swap(&mut given_up, &mut self.acknowledged);
        }
        let is_kept =
            |(number, bytes): (&u64, &Vec<u8>)| self.acknowledged.get(number) == Some(bytes);
        let loses = !given_up.iter().all(is_kept);
        assert!(
            is_chosen || !loses,
            "{FOUND}acknowledged entries are discarded, and the person did not choose"
        );
        self.counts.kept[usize::from(!keeps_first)] += u64::from(loses);
        self.counts.lines += 1;
        // Their backups are of the other line, not of this one.
        self.backups.clear();
    }
}
