//! Decoders that panic at damaged data: a panic of theirs is an error, and is not printed.
//!
//! The Parquet reader has assertions about lengths that a damaged file breaks. Nothing of the decoder is used
//! after such a panic, so that it matters to nobody in what state it is.

use crate::{Format, InterchangeError};
use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Decodes; the caller drops the decoder if there is an error.
pub(super) fn guarded<T>(
    format: Format,
    decode: impl FnOnce() -> Result<T, InterchangeError>,
) -> Result<T, InterchangeError> {
    silence();
    DECODING.set(true);
    let decoded = panic::catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    decoded.unwrap_or_else(|panic| {
        Err(InterchangeError::Damaged {
            format,
            reason: message(&*panic),
        })
    })
}

/// Has the program's panics printed as before, but for those of decoders.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !DECODING.get() {
                before(panic);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it cannot be decoded").to_string()
}
