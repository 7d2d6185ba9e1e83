//! The making of a shared memory, its finding by name, and its removal by its last user.
//!
//! It is made without a name and gets its own when it is whole. A process that finds it by name finds it
//! whole, and one that fails or dies before that leaves nothing. The last one out removes the name. Other
//! processes remove the remains of dead ones ([`leftovers`](crate::leftovers)), and hold a lock meanwhile. An
//! attaching process first takes a place, then waits for that lock, and then checks that the name still leads
//! here.

use super::{GROW_BYTES, Region, RegionSize};
use crate::error::SegmentError;
use crate::planted::{self, Step};
use crate::shared::backing::{
    REMOVING, allocate, backing, give_name, holder, must_be_memory, nameless, place,
};
use crate::shared::control::{IDLE, MAGIC, layout_mark};
use crate::shared::stopped::Waiting;
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The interval at which a process that waits for a remover looks.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Making and attaching.
impl Region {
    /// Makes a shared memory. With a path, other processes can attach to it there once it has its
    /// [name](Region::give_name); without, it is this process' own.
    pub fn create(
        path: Option<&Path>,
        size: RegionSize,
        durable: bool,
    ) -> Result<Self, SegmentError> {
        assert!(size.ring_bytes.is_power_of_two() && size.ring_bytes >= GROW_BYTES);
        let file = match path {
            None => rustix::fs::memfd_create("sardonyx", MemfdFlags::CLOEXEC)
                .map_err(SegmentError::system("make shared memory"))?,
            Some(path) => nameless(path)?,
        };
        let file = backing(file)?;
        let failed = SegmentError::system("set the length of the shared memory");
        rustix::fs::ftruncate(&file, size.whole()).map_err(failed)?;
        allocate(&file, path, 0, size.ring_at())?;
        let mut region = Self::map(file, path.map(Path::to_owned), size)?;
        let control = region.control();
        control.layout.store(layout_mark(), Ordering::Relaxed);
        control.ring_bytes.store(size.ring_bytes, Ordering::Relaxed);
        control.pages_max.store(size.pages_max, Ordering::Relaxed);
        control
            .durable_segment
            .store(u32::from(durable), Ordering::Relaxed);
        // Without a log, no length has to be recorded.
        let logged = if durable { 0 } else { u64::MAX };
        control.logged_pages.store(logged, Ordering::Relaxed);
        for slot in &control.slots {
            slot.snapshot.store(IDLE, Ordering::Relaxed);
        }
        control.magic.store(MAGIC, Ordering::Release);
        region.register()?;
        Ok(region)
    }

    /// Lets others attach by the path.
    pub fn give_name(&self) -> Result<(), SegmentError> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        planted::step(Step::BeforeName);
        if self.is_durable() {
            // The opener of a database holds its lock, so an existing file is a leftover.
            let _ = rustix::fs::unlink(path);
        }
        give_name(&self.file, path)
            .map_err(SegmentError::system("name the file of the shared memory"))
    }

    fn is_durable(&self) -> bool {
        self.control().durable_segment.load(Ordering::Relaxed) != 0
    }

    /// The shared memory of this name, which is made if there is none. Of several processes that come at
    /// once, one makes it. A process that attaches to one that its last user removes just then does it again.
    pub fn attach_or_create(path: &Path, size: RegionSize) -> Result<Self, SegmentError> {
        loop {
            if let Some(region) = Self::attach(path)? {
                return Ok(region);
            }
            let region = Self::create(Some(path), size, false)?;
            match region.give_name() {
                Err(SegmentError::System { source, .. })
                    if source.kind() == std::io::ErrorKind::AlreadyExists => {}
                named => return named.map(|()| region),
            }
        }
    }

    /// True if the path still leads to this file.
    fn has_its_name(&self) -> bool {
        let found = self.path.as_deref().map(rustix::fs::stat);
        match (found, rustix::fs::fstat(&self.file)) {
            (Some(Ok(named)), Ok(own)) => (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino),
            _ => false,
        }
    }

    /// The last one out removes a shared memory that nothing durable belongs to. The lock keeps others from
    /// taking a place meanwhile; later ones see that the name is removed.
    pub(super) fn remove_if_last(&self) {
        let control = self.control();
        if let Err(stopped) = self.lock_growth() {
            tracing::warn!(error = %stopped, "a shared memory is not looked after");
            return;
        }
        self.leave();
        if !self.is_durable()
            && !self.has_others()
            && self.has_its_name()
            && let Some(path) = &self.path
        {
            let _ = rustix::fs::unlink(path);
        }
        control.growth.unlock();
    }

    /// Attaches to a shared memory that another process made. `None` if there is none, or if it was removed
    /// just now.
    pub fn attach(path: &Path) -> Result<Option<Self>, SegmentError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(SegmentError::system("open the shared memory")(error)),
        };
        must_be_memory(rustix::fs::fstatfs(&file), path)?;
        let file = backing(file)?;
        let incompatible = |reason: String| SegmentError::Incompatible {
            place: path.display().to_string(),
            reason,
        };
        let mut head = [0; 32];
        let read = rustix::io::pread(&file, &mut head, 0)
            .map_err(SegmentError::system("read the shared memory's head"))?;
        let word =
            |n: usize| u64::from_ne_bytes(head[n * 8..n * 8 + 8].try_into().expect("8 bytes"));
        if read < head.len() || word(0) != MAGIC {
            return Err(incompatible(
                "it is not a shared memory of this version".into(),
            ));
        }
        if word(1) != layout_mark() {
            let reason = "it was made by a program of another build; build all \
                          programs that share a segment alike";
            return Err(incompatible(reason.into()));
        }
        let size = RegionSize {
            ring_bytes: word(2),
            pages_max: word(3),
        };
        let length = rustix::fs::fstat(&file)
            .map_err(SegmentError::system("look at the shared memory"))?
            .st_size as u64;
        let sound =
            size.ring_bytes.is_power_of_two() && size.pages_max < 1 << 36 && length == size.whole();
        if !sound {
            return Err(incompatible(format!(
                "its length of {length} bytes is wrong"
            )));
        }
        let mut region = Self::map(file, Some(path.to_owned()), size)?;
        region.register()?;
        region.wait_for_removers()?;
        Ok(region.has_its_name().then_some(region))
    }

    /// Waits for a process that saw no process here and is going to remove the name.
    fn wait_for_removers(&self) -> Result<(), SegmentError> {
        let mut stopped = Waiting::new(self.lock_waits(), "the right to remove a shared memory");
        while let Some(process) = holder(&self.file, place(REMOVING)) {
            stopped.look(|| process)?;
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }
}
