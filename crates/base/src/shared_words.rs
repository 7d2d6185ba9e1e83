//! Memory that several processes share, as atomic words of 8 bytes: its users need no `unsafe`.
//!
//! Another process may change any word at any time, and to anything; so what is read is looked at before it
//! is believed. Invariants: the mapping is as long as it says, and stays until the value is dropped. The file
//! is never made shorter (a load behind its end is a SIGBUS), which is why only programs of one database may
//! have it.

use crate::shared_file::{self, SharedFile};
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::AtomicU64;

/// A mapped file of words.
#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    words: usize,
    file: SharedFile,
}

impl SharedWords {
    /// Maps the file, which has (at least) so many words.
    ///
    /// # Errors
    /// It is shorter ([`rustix::io::Errno::INVAL`]); there is no address space; or what else the operating
    /// system says.
    pub fn map(file: SharedFile, words: usize) -> rustix::io::Result<Self> {
        let bytes = words as u64 * 8;
        let found = rustix::fs::fstat(&*file)?.st_size as u64;
        if words == 0 || found < bytes {
            return Err(rustix::io::Errno::INVAL);
        }
        let start = shared_file::map_shared(&file, 0, bytes)?.cast();
        Ok(SharedWords { start, words, file })
    }

    /// To hand to another process, which maps the same words.
    pub fn file(&self) -> &SharedFile {
        &self.file
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];
    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `map` mapped so many words, readable and writable, at an address that is aligned to a page;
        // they stay mapped until `drop`. Every value is a valid word. All accesses by this slice are atomic,
        // as are those of the other processes, which have it by this type, too.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: `map` mapped exactly this range for this value alone; no slice outlives it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

// SAFETY: the mapping belongs to the value and to no thread.
unsafe impl Send for SharedWords {}
// SAFETY: what is reached through `&self` are atomics, and a file.
unsafe impl Sync for SharedWords {}
