//! Damage to a database's files: bytes, sectors and blocks are changed, misplaced or replaced by older ones. Files are
//! cut, emptied, removed, or exchanged with each other, with their older versions and with those of another database.
//! Either opening or verifying the database reports an error, or all rows are unchanged, by a checksum of them all.
//!
//! After a clean close that holds without exception. After a crash, the end of the log since the database was opened
//! has no witness (see "What cannot be noticed" in the architecture's guide). Then a shorter log passes, but only with
//! exactly an earlier state, and only after damage to the log.

use crate::crashes::exploration::{Item, MEMORY_BYTES_MAX, Model, Note, Opened, open_on, read};
use sardonyx::Error;
use sardonyx_base::hash::Fnv1a;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::verify::verify;
use sardonyx_workload::random::Random;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The number of damages to one database, before another one is made.
const DAMAGES_TO_EACH: u64 = 100;

/// The results of the damages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Damages, each to a fresh copy of a database.
    pub damages: u64,
    /// Opening or verifying reported an error.
    pub noticed: u64,
    /// Of these: the database opened all the same, with all rows.
    pub noticed_but_whole: u64,
    /// Nothing was reported, and all rows were found.
    pub harmless: u64,
    /// Nothing was reported, and the end of the log of a crashed database is missing.
    pub without_witness: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} damages: {} noticed ({} of them with all rows there), {} harmless, {} at the end of a \
             crashed database's log, which has no witness; none unnoticed",
            self.damages, self.noticed, self.noticed_but_whole, self.harmless, self.without_witness
        )
    }
}

/// Damages databases so many times.
///
/// # Errors
/// The unnoticed damages, with everything needed to replay them.
pub fn torture(seed: u64, damages: u64) -> Result<Tally, String> {
    let (mut tally, mut unnoticed) = (Tally::default(), Vec::new());
    let mut base = Base::make(seed, true);
    for n in 0..damages {
        let (number, nth) = (n / DAMAGES_TO_EACH, n % DAMAGES_TO_EACH);
        if nth == 0 {
            base = Base::make(seed.wrapping_add(number), number % 4 != 3);
        }
        let mut random = Random::new(seed ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let disk = base.disk.restart(Faults::default());
        let (file, what) = base.damage(&disk, &mut random);
        let judge = || base.judge(&disk, &file, &mut tally);
        let judged = catch_unwind(AssertUnwindSafe(judge));
        let failed = match judged {
            Ok(Ok(())) => continue,
            Ok(Err(failed)) => failed,
            Err(_) => "it panicked".into(),
        };
        let closed = if base.clean { "closed" } else { "crashed" };
        unnoticed.push(format!(
            "seed {seed}, damage {n}, of a database that was {closed}: {what}: {failed}"
        ));
    }
    match unnoticed.len() {
        0 => Ok(tally),
        count => Err(format!(
            "{count} of {damages} damages unnoticed: {}",
            unnoticed.join("; ")
        )),
    }
}

type Files = BTreeMap<String, Vec<u8>>;

/// A database to damage, as it was at several times, and another one.
struct Base {
    disk: SimulatedDisk,
    identity: u64,
    stripes: u32,
    clean: bool,
    ages: Vec<Files>,
    other: Files,
    /// The checksum of all rows after each transaction.
    states: Vec<u64>,
    /// The number of transactions when it was last opened.
    when_opened: usize,
}

fn files_of(disk: &SimulatedDisk) -> Files {
    let names = disk
        .files()
        .into_iter()
        .filter(|name| !name.ends_with("LOCK"));
    let read = |name: String| {
        let bytes = disk.read_all(&name).unwrap_or_default();
        (name, bytes)
    };
    names.map(read).collect()
}

/// A checksum of all rows (FNV-1a).
fn checksum(rows: &Model) -> u64 {
    let items = rows.items.iter().flat_map(|(id, value)| [1, *id, *value]);
    let notes = rows.notes.iter().flat_map(|(id, value)| [2, *id, *value]);
    let bytes = items.chain(notes).flat_map(u64::to_le_bytes);
    bytes
        .fold(Fnv1a::START, |sum, byte| sum.with(byte.into()))
        .0
}

/// The kind of a file: its directory, or the manifest and the file with the places of the parts.
fn kind(name: &str) -> &str {
    let mut parts = name.rsplit('/');
    match parts.next() {
        Some("MANIFEST" | "PLACES" | "OWNER") => "MANIFEST",
        file => parts.next().or(file).unwrap_or(name),
    }
}

impl Base {
    /// Makes a database: three lives of random transactions with checkpoints, the last closed in order or ended by a
    /// crash.
    fn make(seed: u64, clean: bool) -> Base {
        let mut random = Random::new(seed);
        let stripes = 1 + random.below(2) as u32;
        let (disk, identity) = (SimulatedDisk::new(seed, Faults::default()), 2 * seed + 1);
        let mut base = Base {
            disk: disk.clone(),
            identity,
            stripes,
            clean,
            ages: Vec::new(),
            other: Files::new(),
            states: vec![checksum(&Model::default())],
            when_opened: 0,
        };
        let elsewhere = SimulatedDisk::new(seed, Faults::default());
        let (mut theirs, mut ours) = (Model::default(), Model::default());
        let opened = open_on(&elsewhere, identity + 1, stripes).expect("it opens");
        for _ in 0..150 {
            transact(&opened, &mut theirs, &mut random).expect("nothing fails");
        }
        opened.database.close().expect("it closes");
        base.other = files_of(&elsewhere);
        for life in 0..3 {
            let opened = open_on(&disk, identity, stripes).expect("it opens");
            base.when_opened = base.states.len() - 1;
            for n in 0..60 + random.below(80) {
                transact(&opened, &mut ours, &mut random).expect("nothing fails");
                base.states.push(checksum(&ours));
                if random.chance(3) {
                    opened.database.checkpoint().expect("it completes");
                }
                if n % 25 == 7 {
                    base.ages.push(files_of(&disk));
                }
            }
            if life < 2 || clean {
                opened.database.close().expect("it closes");
            } else {
                base.disk = disk.restart(Faults::default());
            }
        }
        base
    }

    /// Damages one file, or two; returns a description.
    fn damage(&self, disk: &SimulatedDisk, random: &mut Random) -> (String, String) {
        let files = files_of(disk);
        let kinds = ["MANIFEST", "log", "log", "backup", "journal"];
        let wanted = kinds[random.below(5) as usize];
        let of_kind: Vec<&String> = files.keys().filter(|name| kind(name) == wanted).collect();
        let name = of_kind[random.below(of_kind.len() as u64) as usize].clone();
        let now = &files[&name];
        let age = &self.ages[random.below(self.ages.len() as u64) as usize];
        let what = match random.below(12) {
            0..=2 => change_bytes(disk, &name, now, random),
            3 => misplace(disk, &name, now, now, "a place in the same file", random),
            4 => match age.get(&name) {
                Some(then) => misplace(disk, &name, now, then, "an older time", random),
                None => remove(disk, &name),
            },
            5 => {
                let length = random.below(now.len() as u64 + 1) as usize;
                replace(disk, &name, &now[..length]);
                format!("cut to {length} bytes")
            }
            6 => {
                let mut longer = now.clone();
                longer.extend((0..random.below(9000)).map(|n| (n * 31) as u8));
                replace(disk, &name, &longer);
                "made longer".into()
            }
            7 => match age.get(&name) {
                Some(then) => {
                    replace(disk, &name, then);
                    "replaced by what it was before".into()
                }
                None => remove(disk, &name),
            },
            8 => replace_by_one_of(disk, &name, age, "of an older time", random),
            9 => replace_by_one_of(disk, &name, &self.other, "of another database", random),
            10 => {
                let with = of_kind[random.below(of_kind.len() as u64) as usize];
                replace(disk, &name, &files[with]);
                replace(disk, with, now);
                format!("exchanged with {with}")
            }
            _ => remove(disk, &name),
        };
        (name.clone(), format!("{name} {what}"))
    }

    /// Checks that the damage was noticed or harmless.
    fn judge(&self, disk: &SimulatedDisk, file: &str, tally: &mut Tally) -> Result<(), String> {
        tally.damages += 1;
        let dynamic: Arc<dyn Disk> = Arc::new(disk.clone());
        let verified = verify(&dynamic, MEMORY_BYTES_MAX, 1);
        let sound = verified.is_ok_and(|verification| verification.is_sound());
        let opened = open_on(disk, self.identity, self.stripes);
        let rows = opened.and_then(|opened| read(&opened));
        let rows = match rows {
            Ok(rows) => checksum(&rows),
            Err(_) if !sound => {
                tally.noticed += 1;
                return Ok(());
            }
            Err(error) => return Err(format!("verify finds nothing, but opening says: {error}")),
        };
        let whole = self.states.last() == Some(&rows);
        match (sound, whole) {
            (false, _) => {
                tally.noticed += 1;
                tally.noticed_but_whole += u64::from(whole);
                Ok(())
            }
            (true, true) => {
                tally.harmless += 1;
                Ok(())
            }
            (true, false) => {
                let states = &self.states[self.when_opened..];
                let there = states.iter().rposition(|state| *state == rows);
                match there {
                    Some(_) if !self.clean && kind(file) == "log" => {
                        tally.without_witness += 1;
                        Ok(())
                    }
                    Some(n) => Err(format!(
                        "unnoticed, and the last {} transactions are missing",
                        states.len() - 1 - n
                    )),
                    None => Err(
                        "unnoticed, and the rows are those of no time since it was opened".into(),
                    ),
                }
            }
        }
    }
}

/// One durable transaction.
fn transact(opened: &Opened, rows: &mut Model, random: &mut Random) -> Result<(), Error> {
    let (id, value) = (random.below(120), random.next_u64());
    opened.database.run(|transaction| {
        let updated = transaction.update(opened.items, id, |item| item.value = value)?;
        if updated.is_none() {
            transaction.insert(opened.items, &Item::new(id, value))?;
        }
        transaction.append(opened.notes, &Note { id, value })?;
        Ok::<_, Error>(())
    })?;
    rows.items.insert(id, value);
    rows.notes.push((id, value));
    Ok(())
}

fn replace(disk: &SimulatedDisk, name: &str, with: &[u8]) {
    disk.replace(name, with).expect("the file is there");
}

fn remove(disk: &SimulatedDisk, name: &str) -> String {
    disk.remove(name).expect("the file is there");
    "removed".into()
}

fn replace_by_one_of(
    disk: &SimulatedDisk,
    name: &str,
    files: &Files,
    whose: &str,
    random: &mut Random,
) -> String {
    let of_kind: Vec<_> = files
        .iter()
        .filter(|(other, _)| kind(other) == kind(name))
        .collect();
    if of_kind.is_empty() {
        return remove(disk, name);
    }
    let (other, bytes) = of_kind[random.below(of_kind.len() as u64) as usize];
    replace(disk, name, bytes);
    format!("replaced by {other} {whose}")
}

/// Changes some bytes, or a whole sector.
fn change_bytes(disk: &SimulatedDisk, name: &str, now: &[u8], random: &mut Random) -> String {
    if now.is_empty() {
        return remove(disk, name);
    }
    let mut bytes = now.to_vec();
    // Usually in the written part.
    let used = now
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let within = if random.chance(80) {
        used.max(1)
    } else {
        now.len()
    };
    let at = random.below(within as u64) as usize;
    let what = match random.below(3) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            format!("with a bit changed at {at}")
        }
        1 => {
            let end = (at + 1 + random.below(16) as usize).min(bytes.len());
            bytes[at..end].fill_with(|| random.next_u64() as u8);
            format!("with bytes changed from {at} to {end}")
        }
        _ => {
            let (from, value) = (at / 512 * 512, random.next_u64() as u8);
            let end = (from + 512).min(bytes.len());
            let zeroed = random.chance(50);
            bytes[from..end].fill(if zeroed { 0 } else { value });
            format!("with a sector overwritten at {from}")
        }
    };
    replace(disk, name, &bytes);
    what
}

/// Copies some sectors of one place, or time, to another.
fn misplace(
    disk: &SimulatedDisk,
    name: &str,
    now: &[u8],
    source: &[u8],
    whence: &str,
    random: &mut Random,
) -> String {
    let unit = if random.chance(50) { 512 } else { 4096 };
    let (units, of_source) = (now.len() / unit, source.len() / unit);
    if units == 0 || of_source == 0 {
        return remove(disk, name);
    }
    let mut bytes = now.to_vec();
    let from = random.below(of_source as u64) as usize;
    // A lost write is found at its place; a misdirected one is found anywhere.
    let lost = !std::ptr::eq(now, source) && from < units;
    let to = if lost {
        from
    } else {
        random.below(units as u64) as usize
    };
    let count = (1 + random.below(5) as usize)
        .min(units - to)
        .min(of_source - from)
        * unit;
    bytes[to * unit..to * unit + count].copy_from_slice(&source[from * unit..from * unit + count]);
    replace(disk, name, &bytes);
    format!("with {count} bytes at {} from {whence}", to * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undamaged_database_is_whole_and_sound() {
        for clean in [true, false] {
            let base = Base::make(5, clean);
            let disk = base.disk.restart(Faults::default());
            let mut tally = Tally::default();
            base.judge(&disk, "log", &mut tally).unwrap();
            assert_eq!((tally.harmless, tally.noticed), (1, 0), "clean: {clean}");
        }
    }
}
