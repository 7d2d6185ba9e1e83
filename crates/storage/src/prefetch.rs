//! Asking the processor for memory before it is needed, so that the cache misses of independent
//! records overlap instead of following one another. Locating before modifying is the TPK paper's
//! two-stage execution (section 5); here it serves redo, the checkpointer and batch execution.

/// Hints that the byte at `at` will be used soon. A hint only: an `at` outside of `bytes` is
/// harmless, and on processors without such an instruction nothing happens.
#[inline(always)]
pub fn prefetch(bytes: &[u8], at: usize) {
    hint(bytes.as_ptr().wrapping_add(at));
}

/// Hints that this value will be used soon.
#[inline(always)]
pub fn prefetch_value<T>(value: &T) {
    hint(std::ptr::from_ref(value).cast());
}

/// Hints that the byte at this address will be used soon. Any address is harmless.
#[inline(always)]
pub(crate) fn hint(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads nothing that a program can see and never faults, whatever
        // the address; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_hint_outside_of_the_slice_is_harmless() {
        super::prefetch(&[1, 2, 3], 1);
        super::prefetch(&[1, 2, 3], usize::MAX / 2);
        super::prefetch(&[], 0);
    }
}
