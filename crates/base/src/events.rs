//! Log events of the engine for operators: errors that no call returns, and waits.
//!
//! With the feature `tracing` the macros are those of the crate `tracing`. Without it they write nothing: a small
//! program does not compile what it does not read. Their arguments are checked all the same, so that code which
//! compiles without the feature compiles with it.
//!
//! Supported are fields (`%error`, `?waited`, `stripe`, `group = 7`, `took = ?started.elapsed()`) and a message behind.

#[cfg(feature = "tracing")]
pub use tracing::{debug, error, info, warn};

#[cfg(not(feature = "tracing"))]
pub use crate::__no_event as debug;
#[cfg(not(feature = "tracing"))]
pub use crate::__no_event as error;
#[cfg(not(feature = "tracing"))]
pub use crate::__no_event as info;
#[cfg(not(feature = "tracing"))]
pub use crate::__no_event as warn;

/// Checks the arguments of an event.
#[cfg(not(feature = "tracing"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __no_event {
    ($($event:tt)*) => {
        if false {
            $crate::__checked_event!($($event)*);
        }
    };
}

/// Takes one field after the other off an event.
#[cfg(not(feature = "tracing"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __checked_event {
    ($message:literal $(,)?) => {};
    (%$field:ident, $($rest:tt)*) => {
        let _: &dyn ::core::fmt::Display = &$field;
        $crate::__checked_event!($($rest)*);
    };
    (?$field:ident, $($rest:tt)*) => {
        let _: &dyn ::core::fmt::Debug = &$field;
        $crate::__checked_event!($($rest)*);
    };
    ($field:ident, $($rest:tt)*) => {
        let _ = &$field;
        $crate::__checked_event!($($rest)*);
    };
    ($field:ident = %$value:expr, $($rest:tt)*) => {
        let _: &dyn ::core::fmt::Display = &$value;
        $crate::__checked_event!($($rest)*);
    };
    ($field:ident = ?$value:expr, $($rest:tt)*) => {
        let _: &dyn ::core::fmt::Debug = &$value;
        $crate::__checked_event!($($rest)*);
    };
    ($field:ident = $value:expr, $($rest:tt)*) => {
        let _ = &$value;
        $crate::__checked_event!($($rest)*);
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_form_of_a_field_is_accepted_and_nothing_is_returned() {
        let (error, waited, stripe) = ("refused", std::time::Duration::ZERO, 7);
        let nothing: () = super::warn!(
            %error,
            ?waited,
            stripe,
            group = 3,
            shown = %stripe + 1,
            took = ?waited * 2,
            "an event"
        );
        super::error!("without fields");
        super::info!(stripe, "one field");
        super::debug!(%error, "one field");
        nothing
    }
}
