//! Serves a drive as one file, through FUSE, so that a loop device can use it.
//!
//! The loop device reads and writes with direct I/O, so that there is no page cache between it and the drive. Its
//! flushes arrive as `fsync`, its discards as `fallocate`. A write that must last at once (FUA) arrives as a write and
//! an `fsync`, because the loop device reports no FUA.
//!
//! The request at which the power fails, and later ones, get no answer until [`Served::release`] confirms that no process
//! is left that could read it. Otherwise a victim would run on for a moment with errors that no real power cut shows.

use crate::drive::{CutDrive, Drive, Refused, Requests};
use crate::image::Image;
use anyhow::Context;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr,
    ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The file's name.
const FILE: &str = "drive";
const FILE_NUMBER: INodeNo = INodeNo(2);
/// The largest write in one request.
const WRITE_BYTES_MAX: u32 = 1 << 20;
/// The length of the file never changes.
const ATTRIBUTES_HOLD: Duration = Duration::from_secs(3600);

/// A drive that is served as a file.
pub struct Served {
    shared: Arc<Shared>,
    session: Option<BackgroundSession>,
    file: PathBuf,
}

struct Shared {
    state: Mutex<State>,
    released: Condvar,
}

struct State {
    drive: Drive,
    /// Called once, when the power fails.
    at_cut: Option<Box<dyn FnOnce() + Send>>,
    /// True if requests without power are answered, with errors.
    released: bool,
}

impl Served {
    /// Serves a drive in a directory.
    ///
    /// # Errors
    /// FUSE is missing, or not allowed for this user.
    pub fn mount(image: Image, directory: &Path) -> anyhow::Result<Served> {
        let state = State {
            drive: Drive::new(image),
            at_cut: None,
            released: true,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            released: Condvar::new(),
        });
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("sardonyx-power".into())];
        let session = fuser::spawn_mount(File(shared.clone()), directory, &config)
            .with_context(|| format!("showing the drive in {}", directory.display()))?;
        Ok(Served {
            shared,
            session: Some(session),
            file: directory.join(FILE),
        })
    }

    /// The file that is the drive.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The power fails at the `request`th change or flush from now, or with [`Served::cut`]; `told` is called then, by
    /// the thread that serves the drive.
    pub fn arm(&self, request: Option<u64>, told: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state();
        state.drive.cut_at(request);
        state.at_cut = Some(Box::new(told));
        state.released = false;
    }

    /// Cancels the power cut, unless it has happened. Returns true if the power is on.
    pub fn disarm(&self) -> bool {
        let mut state = self.shared.state();
        state.drive.cut_at(None);
        if state.drive.is_on() {
            state.at_cut = None;
        }
        state.drive.is_on()
    }

    /// Cuts the power now, unless it is off.
    pub fn cut(&self) {
        let mut state = self.shared.state();
        state.drive.cut();
        state.tell();
    }

    /// From now on requests without power are answered, with errors.
    pub fn release(&self) {
        self.shared.state().released = true;
        self.shared.released.notify_all();
    }

    /// The counts of its requests.
    pub fn requests(&self) -> Requests {
        self.shared.state().drive.requests()
    }

    /// Returns true if the power is on.
    pub fn is_on(&self) -> bool {
        self.shared.state().drive.is_on()
    }

    /// Cuts the power, unless it is off, and returns the drive.
    pub fn as_cut(&self) -> CutDrive {
        self.shared.state().drive.as_cut()
    }

    /// Replaces the drive, with the power on; the new one may ignore flushes. No process may have the file open.
    pub fn replace(&self, image: Image, ignores_flushes: bool) {
        let mut state = self.shared.state();
        state.drive = Drive::new(image);
        if ignores_flushes {
            state.drive.ignore_flushes();
        }
        state.at_cut = None;
        state.released = true;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.release();
        // A process that still has the file gets errors; the mount ends with its last user.
        drop(self.session.take());
    }
}

impl State {
    fn tell(&mut self) {
        if let Some(told) = self.at_cut.take() {
            told();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an operation on the drive; without power, returns only after the release.
    fn request<T>(&self, act: impl FnOnce(&mut Drive) -> Result<T, Refused>) -> Result<T, Errno> {
        let mut state = self.state();
        let done = act(&mut state.drive);
        if !state.drive.is_on() {
            state.tell();
            while !state.released {
                let waited = self.released.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
        done.map_err(|refused| match refused {
            Refused::PowerOff => Errno::EIO,
            Refused::Misplaced => Errno::EINVAL,
        })
    }
}

/// The requests of FUSE.
struct File(Arc<Shared>);

impl File {
    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let (kind, bytes, perm) = match number {
            INodeNo::ROOT => (FileType::Directory, 0, 0o700),
            FILE_NUMBER => {
                let bytes = self.0.state().drive.bytes();
                (FileType::RegularFile, bytes, 0o600)
            }
            _ => return None,
        };
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: number,
            size: bytes,
            blocks: bytes / 512,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for File {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // If the kernel offers less, requests are smaller or come one after the other.
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE_NUMBER) {
            Some(found) if name == FILE => reply.entry(&ATTRIBUTES_HOLD, &found, Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(found) => reply.attr(&ATTRIBUTES_HOLD, &found),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let done = self.0.request(|drive| {
            let left = drive.bytes().saturating_sub(offset);
            let mut bytes = vec![0; left.min(size.into()) as usize];
            drive.read(offset, &mut bytes).map(|()| bytes)
        });
        match done {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.0.request(|drive| drive.write(offset, data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.0.request(Drive::flush));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        // The loop device makes holes and zeroes ranges; both read as zeroes afterwards.
        answer(reply, self.0.request(|drive| drive.discard(offset, length)));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A close of the file: no flush of a drive.
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}

fn answer(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}
