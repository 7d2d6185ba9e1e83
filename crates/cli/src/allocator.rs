//! The program's allocator: mimalloc for small blocks, the C library for large ones.
//!
//! Rows are small, and a statement on many rows frees hundreds of thousands of them. The GNU C library merges these at
//! the next request for a larger block, perhaps of another thread, which then waits up to 0.3 s. mimalloc does not
//! merge, but keeps large blocks; the C library returns those to the system
//! ([`return_large_blocks`](sardonyx_base::allocator::return_large_blocks)).

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};

/// Blocks of at least so many bytes are the C library's.
const LARGE_BYTES: usize = sardonyx_base::allocator::LARGE_BYTES;

/// Both allocators; the size of a block determines its owner.
pub struct BySize;

fn is_large(bytes: usize) -> bool {
    bytes >= LARGE_BYTES
}

// SAFETY: each block is of an allocator that keeps the contract, and returns to the same one: its layout has the same
// size at the end as at the beginning, and after `realloc` that of the new block.
unsafe impl GlobalAlloc for BySize {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size()) {
            // SAFETY: by the caller's contract.
            false => unsafe { MiMalloc.alloc(layout) },
            // SAFETY: by the caller's contract.
            true => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size()) {
            // SAFETY: by the caller's contract.
            false => unsafe { MiMalloc.alloc_zeroed(layout) },
            // SAFETY: by the caller's contract.
            true => unsafe { System.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match is_large(layout.size()) {
            // SAFETY: the block is this allocator's, by its size.
            false => unsafe { MiMalloc.dealloc(block, layout) },
            // SAFETY: the block is this allocator's, by its size.
            true => unsafe { System.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        match (is_large(layout.size()), is_large(bytes)) {
            // SAFETY: the block is this allocator's, and so will be the new one.
            (false, false) => unsafe { MiMalloc.realloc(block, layout, bytes) },
            // SAFETY: the same.
            (true, true) => unsafe { System.realloc(block, layout, bytes) },
            // SAFETY: by the caller's contract.
            _ => unsafe { self.change_owner(block, layout, bytes) },
        }
    }
}

impl BySize {
    /// # Safety
    /// That of [`GlobalAlloc::realloc`].
    #[cold]
    unsafe fn change_owner(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's size is not 0 and, rounded up to the alignment, does not overflow.
        let changed = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: as before.
        let new = unsafe { self.alloc(changed) };
        if !new.is_null() {
            // SAFETY: both blocks have so many bytes and do not overlap; the old one is not used any more.
            unsafe {
                block.copy_to_nonoverlapping(new, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_bytes_as_it_grows_and_shrinks_from_one_allocator_to_the_other() {
        let mut bytes: Vec<u8> = Vec::new();
        let sizes = [1, LARGE_BYTES - 1, LARGE_BYTES, 3 * LARGE_BYTES];
        for size in sizes {
            bytes.resize(size, size as u8);
            bytes.shrink_to_fit();
            assert_eq!(bytes.capacity(), size);
        }
        for size in sizes.into_iter().rev() {
            bytes.truncate(size);
            bytes.shrink_to_fit();
            assert_eq!(bytes.len(), size);
            assert_eq!((bytes[0], bytes[size - 1]), (1, size as u8));
        }
    }

    #[test]
    fn zeroed_blocks_of_both_sizes_are_zero() {
        for size in [100, LARGE_BYTES, 5 * LARGE_BYTES] {
            assert!(vec![0u8; size].iter().all(|byte| *byte == 0));
        }
    }
}
