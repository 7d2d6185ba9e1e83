//! A hint to the processor that an element will soon be used, so that several cache misses overlap.
//!
//! TPK paper, section 5: the records of a transaction are located before they are modified. A batch first prefetches
//! everything it will access, then accesses it.

/// Prefetches the cache line at the start of `slice[index]`; does nothing if there is no such element, or if no hint is
/// known for the processor.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction belongs to SSE, which every x86_64 has. It reads nothing that the
        // program could see and never faults; the address is that of a live element anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
