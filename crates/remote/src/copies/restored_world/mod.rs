//! Keepers that were restored while hosts know less than the history, or nothing: hosts start in any order, with older
//! directories or new ones, and some copies away. Copies are restored, too. Drawn from a seed (I11).
//!
//! The checker knows the acknowledged entries. A host that reads up to the end of the log has each of them, and no host
//! acknowledges another entry under its number. If a host refuses the register, a person ends all hosts and puts the
//! newest one back from the copies; then every host serves again. After a restoration each host reaches one copy of
//! the newest set that was not restored, which is the documented limit. A restored copy lacks a state that these know,
//! which is another one. The person names the restored copies, or does not; of several lines, the person keeps the one
//! with a state that no copy lacks, but for restored ones.
//!
//! In two other [phases], copies are restored while the register stays, and hosts continue an older register beyond that
//! limit until they meet a copy that knows a later one.

mod backups;
mod phases;

use super::evidence::{KnownState, Refused, is_after};
use super::keeper::Keeper;
use super::planted::{PLANTED, Planted};
use super::putting_back::{PutBack, Unfinished};
use super::record::SetRecord;
use super::remembered::{Home, Remembered, read_all};
use super::sites::{CopyBackup, KEEPER, Sites};
use super::tests::{Host, Net};
use super::witness::seen_at;
use backups::{Backup, State, World, copy_of, newest_known, record_at};
pub(super) use backups::{new_disk, set};
use phases::Phase;
use sardonyx_base::random::Random;
use sardonyx_base::seeds::{Seeds, first_failure_with};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{Appended, Register, RemoteStore, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const COPIES: [&str; 3] = ["a", "b", "c"];
const HOSTS: usize = 3;

/// Acknowledged entries, by their numbers.
type Entries = BTreeMap<u64, Vec<u8>>;

/// The beginning of each message of the checker.
const FOUND: &str = "found: ";

pub(super) fn start_with(
    sites: &Arc<Sites>,
    net: Net,
    disk: &SimulatedDisk,
    keeper: Option<Arc<dyn RemotePlace>>,
) -> Result<Host, StoreError> {
    let named = COPIES.map(String::from);
    let home = Home::Disk(Arc::new(disk.clone()));
    let remembered = Remembered::open(home, &named)?;
    Host::start(sites, net, |wire| {
        Keeper::new(keeper.unwrap_or(wire)).remembered(remembered)
    })
}

struct Slot {
    disk: SimulatedDisk,
    running: Option<Host>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    acknowledged: u64,
    restorations: u64,
    refused: u64,
    /// By copies, of a host whose directory knows nothing newer.
    refused_by_copies: u64,
    put_back: u64,
    /// With a copy that was restored, too.
    copies_restored: u64,
    /// A person chose between lines.
    chosen: u64,
    /// Copies were restored, and the register stayed.
    copies_alone: u64,
    /// Hosts continued an older register, and were refused when a copy that knows a later one was back.
    lines: u64,
    /// On that register, entries were acknowledged, and the person kept the first line, or the second one.
    kept: [u64; 2],
}

struct Run {
    random: Random,
    sites: Arc<Sites>,
    world: World,
    slots: Vec<Slot>,
    backups: Vec<Backup>,
    acknowledged: Entries,
    next: u64,
    phase: Phase,
    /// The copies that were restored with the keeper.
    restored: Vec<String>,
    counts: Counts,
}

impl Run {
    fn new(seed: u64) -> Self {
        let sites = Sites::new(&COPIES);
        let mut random = Random::new(seed);
        let disks = [0; HOSTS].map(|_| new_disk(random.next()));
        let world = World::of(seed);
        if let Some(keeper) = world.own(&sites) {
            set(&*keeper, sites.record().encode().as_bytes());
        }
        let slots = disks.into_iter().map(|disk| Slot {
            disk,
            running: None,
        });
        Run {
            random,
            world,
            sites,
            slots: slots.collect(),
            backups: Vec::new(),
            acknowledged: BTreeMap::new(),
            next: 0,
            phase: Phase::Whole,
            restored: Vec::new(),
            counts: Counts::default(),
        }
    }

    fn keeper(&self) -> Arc<dyn RemotePlace> {
        self.world.keeper(&self.sites)
    }

    /// Some copies are away for this host.
    fn cut(&mut self, net: &Net) {
        let mut away: Vec<&str> = COPIES.to_vec();
        away.retain(|_| self.random.below(3) == 0);
        match &self.phase {
            Phase::Whole if self.random.below(8) == 0 => away.push(KEEPER),
            Phase::Whole => {}
            Phase::Keeper { newest } => {
                let reached = &newest[self.random.below(newest.len() as u64) as usize];
                away.retain(|place| place != reached);
            }
            Phase::Copies { intact, .. } => {
                away.retain(|place| !intact.iter().any(|intact| intact == place));
            }
            Phase::Line(line) => away.extend(line.away()),
        }
        net.cut(&away);
    }

    fn start(&mut self, at: usize) {
        let net = Net::default();
        self.cut(&net);
        let slot = &self.slots[at];
        let started = start_with(&self.sites, net, &slot.disk, self.world.own(&self.sites));
        match started {
            Ok(host) => self.slots[at].running = Some(host),
            Err(error) => self.failed(at, &error),
        }
    }

    /// A person does as the message says.
    fn failed(&mut self, at: usize, error: &StoreError) {
        let StoreError::Setup { .. } = error else {
            return;
        };
        let text = error.to_string();
        assert!(
            matches!(self.phase, Phase::Whole | Phase::Keeper { .. }),
            "{FOUND}a false alarm: {text}"
        );
        assert!(text.contains("--put-back"), "{text}");
        self.counts.refused += 1;
        let most = 2 * HOSTS as u64 * self.counts.restorations;
        assert!(self.counts.refused <= most, "{FOUND}a false alarm: {text}");
        let is_by_copies = text.contains("the copy ");
        self.counts.refused_by_copies += u64::from(is_by_copies);
        self.end_all();
        let known = read_all(&self.slots[at].disk).unwrap().pop();
        self.put_back(known.filter(|_| !is_by_copies));
    }

    fn end_all(&mut self) {
        for slot in &mut self.slots {
            slot.running = None;
        }
    }

    fn put_back(&mut self, known: Option<SetRecord>) {
        if let Err(error) = self.try_to_put_back(known) {
            panic!("{FOUND}{error:?}");
        }
        self.counts.put_back += 1;
    }

    fn try_to_put_back(&mut self, known: Option<SetRecord>) -> Result<(), Unfinished> {
        let mut wish = PutBack::default();
        if self.random.below(2) == 0 {
            wish.lost.clone_from(&self.restored);
        }
        // At first, a copy may be away.
        let away = COPIES[self.random.below(3) as usize];
        let away: &[&str] = match self.random.below(2) {
            0 => &[away],
            _ => &[],
        };
        let keeper = self.keeper();
        let put = |wish: &PutBack, away: &[&str]| {
            Host::try_to_put_back(&self.sites, keeper.clone(), known.clone(), wish, away)
        };
        let mut done = put(&wish, away);
        if done.is_err() {
            done = put(&wish, &[]);
        }
        if let Err(Unfinished::Refused(Refused::Lines(lines))) = &done {
            let is_kept = |line: &&Vec<KnownState>| {
                let is_intact = |place: &String| !self.restored.contains(place);
                !line
                    .iter()
                    .all(|state| state.lacked_by.iter().any(is_intact))
            };
            let kept: Vec<_> = lines.iter().filter(is_kept).collect();
            assert!(kept.len() < 2, "{FOUND}several lines count: {lines:?}");
            let all = kept.into_iter().chain(lines);
            wish.keep = all.flatten().next().map(|state| state.name);
            self.counts.chosen += 1;
            done = put(&wish, &[]);
        }
        done?;
        self.phase = Phase::Whole;
        self.restored.clear();
        Ok(())
    }

    /// Reads to the end of the log, and appends there.
    fn append(&mut self, at: usize) {
        let Some(host) = &self.slots[at].running else {
            return;
        };
        let mut number = 1;
        let end = loop {
            match host.copies.read(number) {
                Ok(None) => break Ok(number),
                Err(error) => break Err(error),
                Ok(Some(bytes)) => {
                    let known = self.acknowledged.get(&number);
                    let is_it = known.is_none_or(|known| *known == bytes);
                    assert!(is_it, "{FOUND}entry {number} is another one");
                }
            }
            number += 1;
        };
        let end = match end {
            Ok(end) => end,
            Err(error) => return self.failed(at, &error),
        };
        let last = self.acknowledged.keys().last().copied().unwrap_or(0);
        let is_lost = format!("{FOUND}entry {last} is lost: a reader ended at {end}");
        // A restored copy that is the last one of the chain has an older end, until a process becomes the writer.
        let is_older = matches!(self.phase, Phase::Copies { .. });
        assert!(last < end || is_older, "{is_lost}");
        self.next += 1;
        let bytes = format!("{at}-{}", self.next).into_bytes();
        match host.copies.append_at(end, &bytes) {
            Ok(Appended::Ok) => {
                assert!(last < end, "{is_lost}");
                let before = self.acknowledged.insert(end, bytes);
                assert_eq!(before, None, "{FOUND}entry {end} was acknowledged before");
                self.counts.acknowledged += 1;
            }
            Ok(Appended::Conflict) => {}
            Err(error) => self.failed(at, &error),
        }
    }

    /// All hosts end. The keeper is restored, and some hosts' directories are, or are new.
    fn restore(&mut self, directories: &[SimulatedDisk]) {
        if let Phase::Line(_) = self.phase
            && self.random.below(3) == 0
        {
            return self.end_line();
        }
        if self.backups.is_empty() || !matches!(self.phase, Phase::Whole) {
            return;
        }
        self.end_all();
        match self.random.below(5) {
            0 => return self.restore_copies_alone(),
            1 | 2 => return self.begin_line(),
            _ => {}
        }
        let keeper = self.keeper();
        let newest = record_at(&*keeper);
        let drawn = self.random.below(self.backups.len() as u64) as usize;
        self.restore_copies(&newest, drawn);
        self.restore_keeper(drawn);
        for (slot, older) in self.slots.iter_mut().zip(directories) {
            match self.random.below(4) {
                0 => slot.disk = new_disk(self.random.next()),
                1 | 2 => slot.disk = older.restart(Faults::default()),
                _ => {}
            }
        }
        let mut in_sync: Vec<String> = newest.in_sync().map(|copy| copy.place.clone()).collect();
        in_sync.retain(|place| !self.restored.contains(place));
        self.phase = Phase::Keeper { newest: in_sync };
        self.counts.restorations += 1;
    }

    fn restore_keeper(&self, drawn: usize) {
        match &self.backups[drawn].state {
            State::Memory(bytes) => set(&*self.keeper(), bytes),
            #[cfg(feature = "etcd")]
            State::Etcd(state) => self.world.restore(state.clone()),
        }
    }

    /// Restores some copies with the keeper, so that the others of the newest set can show it: each of them knows a state
    /// that neither the keeper nor a restored copy has, and one of them is in its set.
    fn restore_copies(&mut self, newest: &SetRecord, drawn: usize) {
        let mut restored = COPIES.map(String::from).to_vec();
        restored.retain(|_| self.random.below(3) == 0);
        let nth = self.random.below(self.backups.len() as u64) as usize;
        let is_intact = |place: &str| !restored.iter().any(|restored| restored == place);
        let intact = newest.in_sync().map(|copy| copy.place.clone());
        let intact: Vec<String> = intact.filter(|place| is_intact(place)).collect();
        if restored.is_empty() || intact.is_empty() {
            return;
        }
        let shows = |place: &String| {
            let Some(state) = newest_known(&*self.sites.at(place)) else {
                return false;
            };
            let mut set = state.in_sync();
            set.any(|copy| is_intact(&copy.place)) && !is_after(&self.backups[drawn].record, &state)
        };
        if !intact.iter().all(shows) {
            return;
        }
        let before: Vec<CopyBackup> = COPIES
            .iter()
            .map(|place| self.sites.backup(place))
            .collect();
        for place in &restored {
            self.sites.restore(place, &self.backups[nth].copies[place]);
        }
        let is_told = |state: &SetRecord, place: &String| {
            let seen = seen_at(&*self.sites.at(place)).unwrap();
            let seen = seen
                .iter()
                .filter_map(|seen| seen.read(&*self.sites.at(place)).unwrap());
            seen.into_iter().any(|seen| is_after(&seen, state))
        };
        let is_shown = intact.iter().all(|place| {
            let state = newest_known(&*self.sites.at(place)).unwrap();
            !restored.iter().any(|place| is_told(&state, place))
        });
        if !is_shown {
            for (place, backup) in COPIES.iter().zip(&before) {
                self.sites.restore(place, backup);
            }
            return;
        }
        self.restored = restored;
        self.counts.copies_restored += 1;
    }

    fn back_up(&mut self) {
        let state = match &self.world {
            World::Memory => {
                let stored = self.keeper().read_register(Register::Copies).unwrap();
                State::Memory(stored.unwrap().bytes)
            }
            #[cfg(feature = "etcd")]
            World::Etcd(etcd) => State::Etcd(etcd.state()),
        };
        let copies = COPIES.map(|place| (place.to_string(), self.sites.backup(place)));
        self.backups.push(Backup {
            record: record_at(&*self.keeper()),
            state,
            copies: copies.into_iter().collect(),
            acknowledged: self.acknowledged.clone(),
        });
    }

    fn step(&mut self, directories: &mut Vec<SimulatedDisk>) {
        self.look_at_restored_copies();
        let at = self.random.below(HOSTS as u64) as usize;
        let is_running = self.slots[at].running.is_some();
        match self.random.below(20) {
            0..8 if is_running => self.append(at),
            0..8 => self.start(at),
            8..11 => {
                let net = self.slots[at].running.as_ref().map(|host| host.net.clone());
                if let Some(net) = net {
                    self.cut(&net);
                }
            }
            11..14 => {
                let net = self.slots[at].running.as_ref().map(|host| host.net.clone());
                let away = match &self.phase {
                    Phase::Line(line) => line.away().collect(),
                    _ => Vec::new(),
                };
                net.inspect(|net| net.cut(&away));
            }
            14..17 => {
                if let Some(host) = &self.slots[at].running {
                    host.maintain();
                    let refused = host.copies.look().err();
                    refused.inspect(|error| self.failed(at, error));
                }
            }
            17 => {
                self.slots[at].running = None;
                let disk = self.slots[at].disk.restart(Faults::default());
                self.slots[at].disk = disk;
            }
            18 if matches!(self.phase, Phase::Whole) => {
                self.back_up();
                let disks = self.slots.iter().map(|slot| copy_of(&slot.disk));
                *directories = disks.collect();
            }
            _ => self.restore(directories),
        }
    }

    fn heal_and_start(&mut self, at: usize) {
        for _ in 0..2 {
            let own = self.world.own(&self.sites);
            match start_with(&self.sites, Net::default(), &self.slots[at].disk, own) {
                Ok(host) => return self.slots[at].running = Some(host),
                Err(error) => self.failed(at, &error),
            }
        }
        panic!("{FOUND}host {at} does not start");
    }

    fn end(mut self) -> Counts {
        self.end_all();
        self.end_line();
        if let Phase::Keeper { .. } = self.phase {
            // Nothing newer is a right answer, if nothing has changed since the backup.
            match self.try_to_put_back(None) {
                Ok(()) => self.counts.put_back += 1,
                Err(Unfinished::Refused(Refused::Because(reason)))
                    if reason.contains("nothing newer") => {}
                Err(error) => panic!("{FOUND}{error:?}"),
            }
            self.phase = Phase::Whole;
        }
        for at in (0..HOSTS).rev() {
            self.heal_and_start(at);
            // The first ones may find restored copies.
            for _ in 0..4 {
                self.append(at);
            }
            self.slots[at].running.as_ref().unwrap().maintain();
            self.append(at);
        }
        let record = record_at(&*self.keeper());
        assert!(
            record.in_sync().count() == COPIES.len(),
            "{FOUND}a copy is not filled: {record:?}"
        );
        for copy in record.in_sync() {
            let life = super::life::Life::new(self.sites.at(&copy.place), copy.life);
            for (number, bytes) in &self.acknowledged {
                let found = life.read(*number).unwrap();
                assert!(
                    found.as_ref() == Some(bytes),
                    "{FOUND}{} lacks entry {number}",
                    copy.place
                );
            }
        }
        self.counts
    }
}

fn run(seed: u64) -> Counts {
    let mut run = Run::new(seed);
    let mut directories = Vec::new();
    for _ in 0..150 {
        run.step(&mut directories);
    }
    run.end()
}

#[test]
fn i1_no_order_of_starting_loses_what_was_acknowledged_before_the_keeper_was_restored() {
    let seeds = Seeds::new(0, 48);
    let mut all = Counts::default();
    let explore = |seed| {
        let counts = run(seed);
        (counts, counts)
    };
    seeds.explore_alike(16, explore, |counts| {
        all.acknowledged += counts.acknowledged;
        all.restorations += counts.restorations;
        all.refused += counts.refused;
        all.refused_by_copies += counts.refused_by_copies;
        all.put_back += counts.put_back;
        all.copies_restored += counts.copies_restored;
        all.chosen += counts.chosen;
        all.copies_alone += counts.copies_alone;
        all.lines += counts.lines;
        (0..2).for_each(|line| all.kept[line] += counts.kept[line]);
    });
    println!("{all:?}");
    if !seeds.is_replay() {
        let least = seeds.count() / 4;
        assert!(all.restorations > least && all.refused > least, "{all:?}");
        assert!(all.refused_by_copies > least, "{all:?}");
        assert!(all.copies_restored > least / 4, "{all:?}");
        assert!(all.copies_alone > least / 2, "{all:?}");
        assert!(all.kept.iter().all(|kept| *kept > least / 16), "{all:?}");
        assert!(all.acknowledged > 10 * seeds.count(), "{all:?}");
    }
}

#[test]
fn each_planted_error_of_a_restored_keeper_is_found() {
    // Each with the seed from which on it is searched. Others are found by hand.
    for (planted, first) in [
        (Planted::NotTold, 0),
        (Planted::OutNotAsked, 0),
        (Planted::AncestryIgnored, 0),
        (Planted::EndsNotCompared, 0),
    ] {
        PLANTED.set(Some(planted));
        let found = first_failure_with(
            first..first + 1000,
            |text| text.contains(FOUND),
            |seed| {
                run(seed);
            },
        );
        PLANTED.set(None);
        println!("{planted:?}: {found:?}");
        assert!(found.is_some(), "{planted:?}");
    }
}
