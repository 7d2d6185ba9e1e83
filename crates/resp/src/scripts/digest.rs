//! The digests by which scripts are known.

use sha1::{Digest as _, Sha1};
use std::fmt::Write as _;

/// The digits of a digest.
const DIGITS: usize = 40;

/// A digest of a script, in hexadecimal.
pub(crate) type Digest = String;

pub(super) fn digest_of(text: &[u8]) -> Digest {
    let mut digits = String::with_capacity(DIGITS);
    for byte in Sha1::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

pub(super) fn digest_in(text: &[u8]) -> Option<Digest> {
    let text = std::str::from_utf8(text).ok()?;
    (text.len() == DIGITS).then(|| text.to_ascii_lowercase())
}
