//! A process's view of the simulated disk that ends with the process: at a chosen one of its
//! operations that change something, the process is killed. The machine goes on, and so do the
//! other processes, which see the disk in its state of that moment.
//!
//! To be killed is to unwind with [`Killed`]: no code of the killed process runs afterwards, but for
//! destructors, which give its advisory locks back like the operating system.

use crate::disk::SimulatedDisk;
use crate::disk::{Access, Create, DIRECT_ALIGNMENT, Disk, DiskError, DiskFile, DiskLock};
use sardonyx_base::random::Random;
use sardonyx_base::sync::futex::Mutex;
use std::any::Any;
use std::sync::Arc;

/// The payload with which a killed process unwinds.
pub(super) struct Killed;

/// The message of a panic, for the code that caught it; a process that was killed continues to
/// unwind.
pub(crate) fn unless_killed(payload: Box<dyn Any + Send>) -> Box<dyn Any + Send> {
    match payload.is::<Killed>() {
        true => std::panic::resume_unwind(payload),
        false => payload,
    }
}

/// The done part of a killed process's last operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Death {
    /// Nothing.
    Before,
    /// A part of a write, as far as it can be done in parts; not stable.
    Amid,
    /// All, but the process did not hear of it.
    After,
}

impl Death {
    pub(super) const ALL: [Death; 3] = [Death::Before, Death::Amid, Death::After];
}

/// The remaining life of a process.
#[derive(Debug)]
pub(super) struct Span {
    /// Operations until it is killed; `None`: it is not.
    left: Option<u64>,
    death: Death,
    random: Random,
}

/// The disk of a mortal process.
#[derive(Clone, Debug)]
pub(super) struct Mortal {
    disk: SimulatedDisk,
    span: Arc<Mutex<Span>>,
}

impl Mortal {
    /// The disk of a process that is killed at its operation `killed_at`, counted from 1.
    pub(super) fn new(disk: &SimulatedDisk, killed_at: Option<u64>, death: Death) -> Mortal {
        let random = Random::new(killed_at.unwrap_or(0));
        let left = killed_at;
        Mortal {
            disk: disk.clone(),
            span: Arc::new(Mutex::new(Span {
                left,
                death,
                random,
            })),
        }
    }
}

impl Mortal {
    /// True if the process was killed.
    pub(super) fn is_dead(&self) -> bool {
        self.span.lock().left == Some(0)
    }
}

impl Span {
    /// Counts an operation. Returns the death if it is the last.
    fn is_over(span: &Mutex<Span>) -> Option<Death> {
        let mut span = span.lock();
        let left = span.left.as_mut()?;
        *left = left.saturating_sub(1);
        (*left == 0).then_some(span.death)
    }

    fn operation<T>(span: &Mutex<Span>, run: impl FnOnce() -> T, amid: impl FnOnce(u64)) -> T {
        let Some(death) = Span::is_over(span) else {
            return run();
        };
        match death {
            Death::Before => {}
            Death::Amid => {
                let share = span.lock().random.next();
                amid(share);
            }
            Death::After => drop(run()),
        }
        // Not a panic: nothing is wrong, and nothing is printed.
        std::panic::resume_unwind(Box::new(Killed));
    }
}

impl Disk for Mortal {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        let open = || self.disk.open(name, access, create);
        let creates = create != Create::No && self.disk.read_all(name).is_none();
        let file = match creates {
            true => Span::operation(&self.span, open, |_| {})?,
            false => open()?,
        };
        let span = self.span.clone();
        Ok(Box::new(MortalFile { file, span }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        Span::operation(&self.span, || self.disk.rename(from, to), |_| {})
    }

    fn remove(&self, name: &str) -> Result<(), DiskError> {
        Span::operation(&self.span, || self.disk.remove(name), |_| {})
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }

    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        let create = || self.disk.create_directory(directory);
        Span::operation(&self.span, create, |_| {
            let _ = self.disk.make_directory(directory);
        })
    }

    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        Span::operation(&self.span, || self.disk.sync_directory(directory), |_| {})
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.disk.lock(name)
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.disk.lock_shared(name)
    }

    fn lock_waiting(&self, name: &str) -> Result<Box<dyn DiskLock>, DiskError> {
        self.disk.lock_waiting(name)
    }

    fn lock_holders(&self, name: &str) -> Vec<u32> {
        self.disk.lock_holders(name)
    }

    fn display_name(&self, name: &str) -> String {
        self.disk.display_name(name)
    }
}

#[derive(Debug)]
struct MortalFile {
    file: Box<dyn DiskFile>,
    span: Arc<Mutex<Span>>,
}

impl MortalFile {
    /// A part of a write: some blocks from its beginning.
    fn write_part(&self, offset: u64, from: &[u8], share: u64) {
        let blocks = from.len() / DIRECT_ALIGNMENT;
        let part = (share % (blocks as u64 + 1)) as usize * DIRECT_ALIGNMENT;
        let _ = self.file.write_at(offset, &from[..part]);
    }
}

impl DiskFile for MortalFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        let write = || self.file.write_at(offset, from);
        Span::operation(&self.span, write, |share| {
            self.write_part(offset, from, share)
        })
    }

    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        let write = || self.file.write_durable_at(offset, from);
        Span::operation(&self.span, write, |share| {
            self.write_part(offset, from, share)
        })
    }

    fn sync(&self) -> Result<(), DiskError> {
        Span::operation(&self.span, || self.file.sync(), |_| {})
    }

    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }

    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        let preallocate = || self.file.preallocate(length);
        Span::operation(&self.span, preallocate, |share| {
            let part = share % (length + 1) / DIRECT_ALIGNMENT as u64 * DIRECT_ALIGNMENT as u64;
            let _ = self.file.preallocate(part);
        })
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        let allocate = || self.file.allocate(length);
        Span::operation(&self.span, allocate, |share| {
            let part = share % (length + 1) / DIRECT_ALIGNMENT as u64 * DIRECT_ALIGNMENT as u64;
            let _ = self.file.allocate(part);
        })
    }

    fn display_name(&self) -> String {
        self.file.display_name()
    }
}
