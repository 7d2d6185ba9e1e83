//! The allocator of the process, where a server must give memory back that it used once.
//!
//! The C library takes large blocks from the system one by one, and returns them when they are freed. But after the first
//! one was freed it keeps blocks of that size, up to 32 MiB, for each of its arenas. So a server whose clients once read
//! large values stays as large as it ever was, and refuses to store more near its limit.

/// Blocks of at least so many bytes are returned to the system when they are freed.
pub const LARGE_BYTES: usize = 1 << 20;

/// Has the C library return large blocks to the system, in the whole process. Programs call it when they start, libraries
/// never. Returns false if the C library does not know this.
pub fn return_large_blocks() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `mallopt` takes two numbers, and changes a word of the allocator under the allocator's own lock. Other
        // threads read this word without the lock: they see the size before or after, and a block is freed by a mark of
        // its own, not by this size.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES as i32) == 1 }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn the_library_takes_the_size() {
        assert!(return_large_blocks());
    }
}
