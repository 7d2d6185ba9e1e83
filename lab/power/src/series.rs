//! A series of power cuts, on one drive with one file system, with one way of use. A life is cut; sometimes its recovery is
//! cut, too, with the file system's own. Then a judge opens the database and checks for everything acknowledged. The next
//! life continues from there.

use crate::command::{self, QUICK};
use crate::drive::{CutDrive, SECTOR};
use crate::file_system::FileSystem;
use crate::image::Image;
use crate::loss::{Kept, Loss};
use crate::stack::{Stack, Workplace, remove};
use crate::way::{Acknowledged, Place, Way};
use crate::witness::{Cut, End, Stand, watch};
use anyhow::Context;
use rustix::io::Errno;
use sardonyx_workload::random::Random;
use serde::Serialize;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The time after which a life that has not met its request is cut.
const LIFE: Duration = Duration::from_secs(30);
/// The time limit of a judge: it opens the database, which recovers it.
const JUDGEMENT: Duration = Duration::from_secs(180);
/// The percentage of recoveries that are cut, and of those after them again.
const RECOVERIES_CUT: u32 = 40;
/// The unit that every file system needs to be written whole, in bytes.
const PAGE: u64 = 4096;

/// The common part of all series.
pub struct Bench<'a> {
    /// The directory in which they work.
    pub workplace: &'a Workplace,
    /// The program that has the victims.
    pub victims: PathBuf,
    /// The directory for drives that lost something.
    pub keep: PathBuf,
    /// Set when the run is to end.
    pub interrupted: Arc<AtomicBool>,
}

/// The outcome of one cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everything acknowledged was found, once and whole.
    Whole,
    /// Something was missing, or the database could not be opened, or hung; with the messages.
    Lost(String),
    /// The file system itself could not be mounted.
    FileSystemLost,
}

/// The counts of a series.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Tally {
    /// Power cuts of lives.
    pub cuts: u64,
    /// Of these: at a request of the drive.
    pub at_request: u64,
    /// After an acknowledgement.
    pub at_acknowledgement: u64,
    /// Because the time was over.
    pub at_time: u64,
    /// Power cuts of recoveries.
    pub recoveries_cut: u64,
    /// Of these: of the file system's.
    pub mounts_cut: u64,
    /// Acknowledged transactions.
    pub acknowledged: u64,
    /// Cuts that found unsynced changes in the cache.
    pub with_unsynced: u64,
    /// Bytes that no flush had made lasting.
    pub unsynced_bytes: u64,
    /// Mounts that failed with a drive that writes 512 bytes whole, and succeeded with 4096.
    pub torn_file_systems: u64,
    /// Cuts after which the file system could not be mounted at all.
    pub lost_file_systems: u64,
    /// Cuts after which something acknowledged was not found once and whole.
    pub lost: u64,
}

/// A drive during its cuts.
pub struct Series<'a> {
    bench: &'a Bench<'a>,
    way: Way,
    stack: Stack,
    place: Place,
    random: Random,
    acknowledged: Acknowledged,
    /// The content at the last mount.
    image: Image,
}

impl<'a> Series<'a> {
    /// Creates a drive with an empty file system, and mounts it.
    ///
    /// # Errors
    /// A part cannot be created.
    pub fn begin(
        bench: &'a Bench<'a>,
        file_system: FileSystem,
        way: Way,
        seed: u64,
    ) -> anyhow::Result<Series<'a>> {
        bench.workplace.empty_shared_memory()?;
        let (mut stack, image) = Stack::make(bench.workplace, file_system)?;
        if way.ignores_flushes {
            stack.ignore_flushes();
        }
        stack.on(image.clone())?;
        command::must(&mut stack.mount_command()?)?;
        let memory = bench.workplace.shared_memory();
        let place = Place::within(stack.directory(), memory, bench.victims.clone());
        Ok(Series {
            bench,
            way,
            place,
            stack,
            random: Random::new(seed),
            acknowledged: way.nothing(),
            image,
        })
    }

    /// Runs a life, cuts the power, and has it judged. After any outcome except [`Outcome::Whole`] a new drive is
    /// needed.
    ///
    /// # Errors
    /// Anything except the engine or the file system fails, or the run is interrupted.
    pub fn cut(&mut self, tally: &mut Tally) -> anyhow::Result<Outcome> {
        if self.way.begins_anew() {
            self.acknowledged = self.way.nothing();
            if let Err(error) = remove(&self.place.directory) {
                if !self.way.ignores_flushes || !says_that_it_is_damaged(&error) {
                    return Err(error);
                }
                // Such a drive loses data that the file system relies on, too, which may show only now.
                tally.lost_file_systems += 1;
                return Ok(Outcome::FileSystemLost);
            }
            // The removal is no part of the cut.
            rustix::fs::syncfs(File::open(self.stack.directory())?)?;
        }
        let seed = self.random.next_u64() >> 16;
        let (request, acknowledgements) = self.way.cut(&mut self.random);
        let before: u64 = self.acknowledged.iter().sum();
        let victims = self.way.live(&self.place, seed, &mut self.acknowledged)?;
        let cut = Cut {
            request,
            acknowledgements,
            time: LIFE,
        };
        tally.cuts += 1;
        match self.watch(victims, cut)? {
            End::AtRequest => tally.at_request += 1,
            End::AtAcknowledgement => tally.at_acknowledgement += 1,
            End::AtTime => tally.at_time += 1,
            End::Done => return Ok(Outcome::Lost("the victim ended".into())),
            End::Failed(what) => return Ok(Outcome::Lost(self.said(&what))),
        }
        let told: u64 = self.acknowledged.iter().sum();
        tally.acknowledged += told.saturating_sub(before);
        let mut left = self.power_off(tally)?;
        while self.random.chance(RECOVERIES_CUT) && !self.way.begins_anew() {
            match self.cut_recovery(&left, tally)? {
                Recovery::Cut(after) => left = after,
                Recovery::NotMounted => break,
                Recovery::Failed(what) => return Ok(Outcome::Lost(what)),
            }
        }
        if !self.power_on(&left, tally)? {
            return Ok(Outcome::FileSystemLost);
        }
        self.judge()
    }

    fn judge(&mut self) -> anyhow::Result<Outcome> {
        let seed = self.random.next_u64() >> 16;
        let mut judge = self.way.judge(&self.place, seed, &self.acknowledged)?;
        let said = match command::run(&mut judge, JUDGEMENT) {
            Ok(said) => said,
            Err(error) => return Ok(Outcome::Lost(format!("{error:#}"))),
        };
        if !said.status.success() {
            let what = format!(
                "{}: {}: {}",
                command::name(&judge),
                said.status,
                said.errors
            );
            return Ok(Outcome::Lost(what));
        }
        let words = said.output.split(',').map(str::parse);
        let acknowledged: Result<_, _> = words.collect();
        self.acknowledged =
            acknowledged.with_context(|| format!("the judge's output was {:?}", said.output))?;
        Ok(Outcome::Whole)
    }

    fn watch(&mut self, mut victims: Vec<Command>, cut: Cut) -> anyhow::Result<End> {
        let errors = File::create(self.errors())?;
        for victim in &mut victims {
            victim.stderr(errors.try_clone()?);
        }
        let acknowledged = &mut self.acknowledged;
        let interrupted = &self.bench.interrupted;
        let stack = &self.stack;
        let stand = Stand {
            drive: stack.drive(),
            give_up: &|| stack.give_up(),
            interrupted,
        };
        watch(&stand, victims, cut, |worker, count| {
            if let Some(told) = acknowledged.get_mut(worker as usize) {
                *told = count;
            }
        })
    }

    fn errors(&self) -> PathBuf {
        self.bench.workplace.directory().join("errors")
    }

    /// A description of an event, with the output of the processes.
    fn said(&self, what: &str) -> String {
        let said = fs::read_to_string(self.errors()).unwrap_or_default();
        format!("{what}: {}", said.trim())
    }

    fn power_off(&mut self, tally: &mut Tally) -> anyhow::Result<CutDrive> {
        let left = self.stack.off()?;
        self.bench.workplace.empty_shared_memory()?;
        let unsynced = left.unsynced_bytes();
        tally.with_unsynced += u64::from(unsynced > 0);
        tally.unsynced_bytes += unsynced;
        Ok(left)
    }

    fn settle(&mut self, left: &CutDrive, kept: Kept, unit: u64) -> Image {
        let seed = self.random.next_u64();
        let image = left.settle(&self.stack.loss(kept, unit), seed);
        self.image = image.clone();
        image
    }

    /// Decides what lasts, and mounts the file system; false if it cannot be mounted.
    fn power_on(&mut self, left: &CutDrive, tally: &mut Tally) -> anyhow::Result<bool> {
        let kept = Loss::draw(&mut self.random);
        for (kept, unit) in [(kept, SECTOR), (kept, PAGE), (Kept::Everything, PAGE)] {
            let image = self.settle(left, kept, unit);
            self.stack.on(image)?;
            let said = command::run(&mut self.stack.mount_command()?, QUICK)?;
            if said.status.success() {
                return Ok(true);
            }
            tally.torn_file_systems += 1;
            self.stack.off()?;
        }
        tally.lost_file_systems += 1;
        Ok(false)
    }

    /// Recovers, and cuts the power meanwhile, or afterwards if recovery ended before.
    fn cut_recovery(&mut self, left: &CutDrive, tally: &mut Tally) -> anyhow::Result<Recovery> {
        let kept = Loss::draw(&mut self.random);
        let image = self.settle(left, kept, SECTOR);
        self.stack.on(image)?;
        let early = |random: &mut Random| {
            let most = 4 << random.below(7);
            Cut {
                request: Some(1 + random.below(most)),
                acknowledgements: u64::MAX,
                time: LIFE,
            }
        };
        let mount = vec![self.stack.mount_command()?];
        let cut = early(&mut self.random);
        match self.watch(mount, cut)? {
            End::Done => {
                let seed = self.random.next_u64() >> 16;
                let recover = self.way.recover(&self.place, seed);
                let cut = early(&mut self.random);
                if let End::Failed(what) = self.watch(recover, cut)? {
                    return Ok(Recovery::Failed(self.said(&what)));
                }
            }
            End::Failed(_) => {
                tally.torn_file_systems += 1;
                self.stack.off()?;
                return Ok(Recovery::NotMounted);
            }
            _ => tally.mounts_cut += 1,
        }
        tally.recoveries_cut += 1;
        Ok(Recovery::Cut(self.power_off(tally)?))
    }

    /// Saves the drive's content at its last mount as a file, with a description of the fault; returns its path.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, name: &str, what: &str, replay: &str) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(&self.bench.keep)?;
        let path = self.bench.keep.join(format!("{name}.img"));
        let file = File::create(&path)?;
        file.set_len(self.image.bytes())?;
        for (offset, bytes) in self.image.written() {
            file.write_all_at(bytes, offset)?;
        }
        let acknowledged = &self.acknowledged;
        let text = format!(
            "{what}\n\nacknowledged: {acknowledged:?}\nreplay: {replay}\n\nThe drive as it was before \
             the file system was mounted for the last time: mount -o loop {} DIRECTORY\n",
            path.display()
        );
        fs::write(path.with_extension("txt"), text)?;
        Ok(path)
    }
}

/// The outcome of a recovery.
enum Recovery {
    /// It was cut; the drive's content.
    Cut(CutDrive),
    /// The file system cannot be mounted with its writes torn there.
    NotMounted,
    /// The engine failed; its messages.
    Failed(String),
}

/// Returns true if an error comes from a file system that found itself damaged. `ext4` and `xfs` return `EUCLEAN`, or
/// `EBADMSG` for a wrong checksum; `btrfs` returns `EIO` for one, and writes nothing from then on.
fn says_that_it_is_damaged(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    let cause = cause.and_then(Errno::from_io_error);
    cause.is_some_and(|cause| {
        [Errno::UCLEAN, Errno::BADMSG, Errno::IO, Errno::ROFS].contains(&cause)
    })
}

/// The missing requirements of any run, as sentences.
pub fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    if !rustix::process::geteuid().is_root() {
        missing.push("it needs root, to mount file systems".to_string());
    }
    for device in ["/dev/fuse", "/dev/loop-control"] {
        if !Path::new(device).exists() {
            missing.push(format!("there is no {device}"));
        }
    }
    for program in ["losetup", "mount", "umount"] {
        if !command::is_there(program) {
            missing.push(format!("there is no program {program}"));
        }
    }
    missing
}

/// The missing requirement of a file system, if there is one.
pub fn missing_for(file_system: FileSystem) -> Option<String> {
    if !command::is_there(file_system.maker()) {
        return Some(format!("there is no program {}", file_system.maker()));
    }
    if !file_system.is_known() {
        // It may be a module; then this loads it.
        let loaded = command::run(Command::new("modprobe").arg(file_system.name()), QUICK);
        if loaded.is_err() || !file_system.is_known() {
            return Some(format!("the kernel has no {}", file_system.name()));
        }
    }
    None
}
