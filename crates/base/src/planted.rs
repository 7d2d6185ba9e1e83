//! Errors that a module's tests plant: each leaves out one rule, and the exploration of the module must find it.
//!
//! An exploration that never finds an error may be blind. So each rule of a protocol has an error here that breaks it,
//! and a test that expects the exploration to report it. Outside of the module's own tests none is ever planted, and
//! the question costs nothing.

/// Makes a module's list of errors: the enum `Planted`; `PLANTED`, by which a test plants one for its thread; and `is`,
/// by which the code asks whether one is planted.
///
/// ```
/// mod planted {
///     sardonyx_base::planted_errors! {
///         /// An entry is acknowledged when it is written, without a sync.
///         NotSynced,
///     }
/// }
/// ```
#[macro_export]
macro_rules! planted_errors {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {
        /// A rule that is left out.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Planted {
            $($(#[$meta])* $name,)*
        }

        #[cfg(test)]
        ::std::thread_local! {
            pub(super) static PLANTED: ::std::cell::Cell<Option<Planted>> = const { ::std::cell::Cell::new(None) };
        }

        /// True if this error is planted.
        #[cfg(test)]
        pub(super) fn is(planted: Planted) -> bool {
            PLANTED.get() == Some(planted)
        }

        /// True if this error is planted: never.
        #[cfg(not(test))]
        pub(super) const fn is(_: Planted) -> bool {
            false
        }
    };
}
