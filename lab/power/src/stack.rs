//! The layers below a database: a drive served by FUSE, a loop device on it, a file system on that.
//!
//! Everything is in a directory of its own, which names its owner: the next run finds and takes down the leftovers of a
//! killed run ([`clean`]).

use crate::command::{QUICK, must, run};
use crate::drive::{CutDrive, SECTOR};
use crate::file_system::FileSystem;
use crate::image::Image;
use crate::loss::{Kept, Loss};
use crate::served::Served;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The drive's size: as the largest way of use needs, and xfs.
const DRIVE_BYTES: u64 = 1 << 30;
/// The prefix of such directories' names.
const PREFIX: &str = "sardonyx-power-";
/// A file that its owner keeps locked as long as it lives.
const OWNER: &str = "owner";

/// A directory of a run, with the lock that shows that the run is alive.
#[derive(Debug)]
pub struct Workplace {
    directory: PathBuf,
    _alive: fs::File,
}

impl Workplace {
    /// Creates one in a directory for temporary files.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn make(within: &Path) -> anyhow::Result<Workplace> {
        let directory = within.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir_all(&directory)
            .with_context(|| format!("making {}", directory.display()))?;
        let alive = fs::File::create(directory.join(OWNER))?;
        alive.lock()?;
        Ok(Workplace {
            directory,
            _alive: alive,
        })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A directory for memory that processes share, which a power cut empties.
    pub fn shared_memory(&self) -> PathBuf {
        Path::new("/dev/shm").join(self.directory.file_name().expect("it has a name"))
    }

    /// Empties that directory.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn empty_shared_memory(&self) -> anyhow::Result<()> {
        let place = self.shared_memory();
        remove(&place)?;
        Ok(fs::create_dir_all(place)?)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // If something cannot be taken down now, the next run does it.
        let _ = take_down(&self.directory);
    }
}

/// Takes down the leftovers of runs that are not alive any more; returns their number.
///
/// # Errors
/// Something cannot be taken down.
pub fn clean(within: &Path) -> anyhow::Result<u64> {
    let mut cleaned = 0;
    let Ok(entries) = fs::read_dir(within) else {
        return Ok(0);
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        if let Ok(owner) = fs::File::open(entry.path().join(OWNER))
            && owner.try_lock().is_err()
        {
            continue;
        }
        take_down(&entry.path())?;
        cleaned += 1;
    }
    Ok(cleaned)
}

/// Unmounts and detaches everything in a directory, from the top, and removes it.
fn take_down(directory: &Path) -> anyhow::Result<()> {
    let mounts = mounts_within(directory)?;
    let devices = devices_within(directory)?;
    devices.iter().for_each(|device| give_up(device));
    let (drives, others): (Vec<_>, Vec<_>) = mounts.iter().partition(|at| at.ends_with("fuse"));
    for at in others {
        unmount(at)?;
    }
    for device in devices {
        must(Command::new("losetup").arg("--detach").arg(device))?;
    }
    for at in drives {
        unmount(at)?;
    }
    // Never what is still mounted below.
    if mounts_within(directory)?.is_empty() {
        remove(directory)?;
    }
    let name = directory.file_name().context("a directory's name")?;
    remove(&Path::new("/dev/shm").join(name))
}

/// Stops xfs from retrying requests that its device refuses. It would do so for ever, also in a mount that has been
/// killed; only in an unmount it gives up by itself.
fn give_up(device: &Path) {
    let name = device.file_name().unwrap_or_default();
    let errors = Path::new("/sys/fs/xfs").join(name).join("error/metadata");
    for error in fs::read_dir(errors).into_iter().flatten().flatten() {
        // The device may be removed already.
        let _ = fs::write(error.path().join("max_retries"), "0");
    }
}

fn unmount(at: &Path) -> anyhow::Result<()> {
    let said = run(Command::new("umount").arg(at), QUICK)?;
    if !said.status.success() {
        must(Command::new("umount").arg("--lazy").arg(at))?;
    }
    Ok(())
}

/// The mount points in a directory, the last one first.
fn mounts_within(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let places = table.lines().filter_map(|line| line.split(' ').nth(4));
    let places = places.map(PathBuf::from);
    let mut places: Vec<_> = places.filter(|at| at.starts_with(directory)).collect();
    places.reverse();
    Ok(places)
}

/// The loop devices on files in a directory.
fn devices_within(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut devices = Vec::new();
    for entry in fs::read_dir("/sys/block")? {
        let entry = entry?;
        if let Some(file) = backing_file(&entry.path())
            && file.starts_with(directory)
        {
            devices.push(Path::new("/dev").join(entry.file_name()));
        }
    }
    Ok(devices)
}

/// The file on which a loop device sits.
fn backing_file(block: &Path) -> Option<PathBuf> {
    let file = fs::read_to_string(block.join("loop/backing_file")).ok()?;
    Some(file.trim_end().into())
}

/// Removes a directory with everything in it, if it exists.
pub(crate) fn remove(directory: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// A drive with a file system.
pub struct Stack {
    file_system: FileSystem,
    /// The mount point of the file system.
    mounted_at: PathBuf,
    drive: Served,
    device: Option<PathBuf>,
    ignores_flushes: bool,
}

impl Stack {
    /// Creates a drive with an empty file system, and returns its content; the power is off.
    ///
    /// # Errors
    /// A part cannot be created.
    pub fn make(workplace: &Workplace, file_system: FileSystem) -> anyhow::Result<(Stack, Image)> {
        let shown_at = workplace.directory().join("fuse");
        let mounted_at = workplace.directory().join("mounted");
        fs::create_dir_all(&shown_at)?;
        fs::create_dir_all(&mounted_at)?;
        let mut stack = Stack {
            file_system,
            mounted_at,
            drive: Served::mount(Image::new(DRIVE_BYTES), &shown_at)?,
            device: None,
            ignores_flushes: false,
        };
        stack.attach()?;
        must(&mut file_system.make(stack.device()?))?;
        let all = stack.loss(Kept::Everything, SECTOR);
        let made = stack.off()?.settle(&all, 0);
        Ok((stack, made))
    }

    /// From the next time that it is switched on, the drive ignores flushes.
    pub fn ignore_flushes(&mut self) {
        self.ignores_flushes = true;
    }

    /// The mount point of the file system.
    pub fn directory(&self) -> &Path {
        &self.mounted_at
    }

    pub fn drive(&self) -> &Served {
        &self.drive
    }

    /// The loss of the cache, torn at so many bytes.
    pub fn loss(&self, kept: Kept, unit: u64) -> Loss {
        Loss::new(kept, unit, &self.file_system.whole())
    }

    /// Stops the file system from retrying requests that the drive refuses.
    pub fn give_up(&self) {
        if let Some(device) = &self.device
            && !self.drive.is_on()
        {
            give_up(device);
        }
    }

    fn device(&self) -> anyhow::Result<&Path> {
        self.device.as_deref().context("a loop device on the drive")
    }

    /// Puts a loop device on the drive.
    fn attach(&mut self) -> anyhow::Result<()> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show", "--direct-io=on", "--sector-size"]);
        losetup.arg(SECTOR.to_string()).arg(self.drive.file());
        let device = PathBuf::from(must(&mut losetup)?);
        let direct = block_of(&device).join("loop/dio");
        self.device = Some(device);
        let direct = fs::read_to_string(direct)?;
        ensure!(
            direct.trim() == "1",
            "the loop device does no direct I/O: the page cache between it and the drive would hide \
             what is not flushed"
        );
        Ok(())
    }

    /// Switches the power on, with this content: creates the loop device. Mount with [`Stack::mount_command`].
    ///
    /// # Errors
    /// It cannot be created.
    pub fn on(&mut self, image: Image) -> anyhow::Result<()> {
        self.drive.replace(image, self.ignores_flushes);
        self.attach()
    }

    /// Mounts the file system, which recovers it.
    ///
    /// # Errors
    /// There is no device.
    pub fn mount_command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new("mount");
        command.args(["-t", self.file_system.name()]);
        command.arg(self.device()?).arg(&self.mounted_at);
        Ok(command)
    }

    /// Cuts the power, unless it is off, takes the file system and the loop device down, and returns the drive. The
    /// users of the file system must be dead.
    ///
    /// # Errors
    /// Something cannot be taken down.
    pub fn off(&mut self) -> anyhow::Result<CutDrive> {
        let cut = self.drive.as_cut();
        self.drive.release();
        for at in mounts_within(&self.mounted_at)? {
            unmount(&at)?;
        }
        if let Some(device) = self.device.take() {
            must(Command::new("losetup").arg("--detach").arg(&device))?;
            // The loop device ends with its last user.
            let end = Instant::now() + QUICK;
            while backing_file(&block_of(&device)).is_some_and(|file| file == self.drive.file()) {
                ensure!(Instant::now() < end, "{} is still in use", device.display());
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(cut)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // If something cannot be taken down now, the workplace's end or the next run does it.
        let _ = self.off();
    }
}

fn block_of(device: &Path) -> PathBuf {
    Path::new("/sys/block").join(device.file_name().unwrap_or_default())
}
