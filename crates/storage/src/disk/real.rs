//! The real disk (to be replaced).
use super::*;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The real disk.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
}
impl RealDisk {
    /// Opens.
    pub fn open(root: impl AsRef<Path>) -> Result<RealDisk, DiskError> {
        let root = root.as_ref().to_path_buf();
        std::fs::create_dir_all(&root)
            .map_err(|e| DiskError::new("create", root.display().to_string(), 0, e))?;
        Ok(RealDisk { root })
    }
    fn e(&self, op: &'static str, name: &str, e: impl Into<io::Error>) -> DiskError {
        DiskError::new(op, self.display_name(name), 0, e.into())
    }
}
#[derive(Debug)]
struct RealFile {
    file: File,
    name: String,
}
#[derive(Debug)]
struct Lock(#[allow(dead_code)] File);
impl DiskLock for Lock {}
impl Disk for RealDisk {
    fn open(&self, name: &str, access: Access, create: Create) -> Result<Box<dyn DiskFile>, DiskError> {
        let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
        match create {
            Create::No => {}
            Create::IfAbsent => flags |= OFlags::CREATE,
            Create::New => flags |= OFlags::CREATE | OFlags::EXCL,
        }
        if access == Access::Direct {
            flags |= OFlags::DIRECT;
        }
        let fd = open(self.root.join(name), flags, Mode::from_raw_mode(0o644)).map_err(|e| self.e("open", name, e))?;
        Ok(Box::new(RealFile { file: File::from(fd), name: self.display_name(name) }))
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        std::fs::rename(self.root.join(from), self.root.join(to)).map_err(|e| self.e("rename", from, e))
    }
    fn remove(&self, name: &str) -> Result<(), DiskError> {
        std::fs::remove_file(self.root.join(name)).map_err(|e| self.e("remove", name, e))
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        let mut names = Vec::new();
        let Ok(entries) = std::fs::read_dir(self.root.join(directory)) else { return Ok(names) };
        for entry in entries {
            let entry = entry.map_err(|e| self.e("list", directory, e))?;
            if entry.path().is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }
    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        std::fs::create_dir_all(self.root.join(directory)).map_err(|e| self.e("create", directory, e))
    }
    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        File::open(self.root.join(directory)).and_then(|f| f.sync_all()).map_err(|e| self.e("sync", directory, e))
    }
    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        let file = File::options().create(true).truncate(false).write(true).open(self.root.join(name)).map_err(|e| self.e("lock", name, e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Box::new(Lock(file)))),
            Err(_) => Ok(None),
        }
    }
    fn display_name(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }
}
impl RealFile {
    fn e(&self, op: &'static str, offset: u64, e: impl Into<io::Error>) -> DiskError {
        DiskError::new(op, self.name.clone(), offset, e.into())
    }
}
impl DiskFile for RealFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let mut done = 0;
        while done < into.len() {
            match self.file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) => return Err(self.e("read", offset, e)),
            }
        }
        Ok(done)
    }
    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.file.write_all_at(from, offset).map_err(|e| self.e("write", offset, e))
    }
    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        let n = rustix::io::pwritev2(&self.file, &[io::IoSlice::new(from)], offset, rustix::io::ReadWriteFlags::DSYNC)
            .map_err(|e| self.e("write", offset, e))?;
        assert_eq!(n, from.len());
        Ok(())
    }
    fn sync(&self) -> Result<(), DiskError> {
        self.file.sync_data().map_err(|e| self.e("sync", 0, e))
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.file.metadata().map(|m| m.len()).map_err(|e| self.e("stat", 0, e))
    }
    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        let zeroes = AlignedBuffer::zeroed(1 << 20);
        let mut at = self.len()?;
        while at < length {
            let n = (length - at).min(1 << 20) as usize;
            self.write_at(at, &zeroes[..n])?;
            at += n as u64;
        }
        self.sync()
    }
    fn display_name(&self) -> String {
        self.name.clone()
    }
}
