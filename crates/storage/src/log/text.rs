//! A short text in shared memory: the reason of a failure, for every process to read.
//!
//! One process writes at a time (it holds the lock that protects the text); readers hold none. A writer that dies
//! halfway leaves a text that reads mutilated but never wrongly as absent or present: `length`, which is stored last
//! and in one piece, decides.

use sardonyx_base::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};

/// The longest text, in bytes; a longer one is cut between characters.
pub const TEXT_BYTES_MAX: usize = 128;

/// The number of times that a reader looks again when the text changes while it reads.
const READ_ATTEMPTS: usize = 64;

/// A text of at most [`TEXT_BYTES_MAX`] bytes. All zero: no text.
#[repr(C)]
#[derive(Debug)]
pub(super) struct SharedText {
    /// Counted up before and after each change: odd while it is being written.
    version: AtomicU32,
    /// Bytes of the text, plus one; 0 if there is no text.
    length: AtomicU32,
    bytes: [AtomicU8; TEXT_BYTES_MAX],
}

impl Default for SharedText {
    /// No text.
    #[inline]
    fn default() -> Self {
        SharedText {
            version: AtomicU32::new(0),
            length: AtomicU32::new(0),
            bytes: std::array::from_fn(|_| AtomicU8::new(0)),
        }
    }
}

impl SharedText {
    #[inline]
    pub(super) fn set(&self, text: &str) {
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        // A predecessor that died while writing left it odd, and that is as good.
        let version = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(version, Ordering::Relaxed);
        fence(Ordering::Release);
        for (place, byte) in self.bytes.iter().zip(text.as_bytes()[..end].iter()) {
            place.store(*byte, Ordering::Relaxed);
        }
        self.length.store(end as u32 + 1, Ordering::Release);
        self.version
            .store(version.wrapping_add(1), Ordering::Release);
    }

    /// Takes the text away.
    #[inline]
    pub(super) fn clear(&self) {
        self.length.store(0, Ordering::Release);
    }

    #[inline]
    pub(super) fn get(&self) -> Option<String> {
        let mut text = Vec::with_capacity(TEXT_BYTES_MAX);
        for _ in 0..READ_ATTEMPTS {
            let version = self.version.load(Ordering::Acquire);
            let length = self.length.load(Ordering::Acquire).checked_sub(1)?;
            text.clear();
            let bytes = self.bytes.iter().take(length as usize);
            text.extend(bytes.map(|byte| byte.load(Ordering::Relaxed)));
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
                break;
            }
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_reads_back_and_a_long_one_is_cut_between_characters() {
        let text = SharedText::default();
        assert_eq!(text.get(), None);
        text.set("the disk is gone");
        assert_eq!(text.get().as_deref(), Some("the disk is gone"));
        let long = "ü".repeat(100);
        text.set(&format!("x{long}"));
        let read = text.get().unwrap();
        assert_eq!(read, format!("x{}", "ü".repeat(63)));
        text.set("");
        assert_eq!(text.get().as_deref(), Some(""));
        text.clear();
        assert_eq!(text.get(), None);
    }

    #[test]
    fn a_text_whose_writer_died_halfway_is_read_and_can_be_written_again() {
        let text = SharedText::default();
        text.set("before");
        text.version.fetch_add(1, Ordering::Relaxed);
        text.bytes[0].store(0xff, Ordering::Relaxed);
        assert_eq!(text.get().as_deref(), Some("\u{fffd}efore"));
        text.set("after");
        assert_eq!(text.get().as_deref(), Some("after"));
    }
}
