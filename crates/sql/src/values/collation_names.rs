//! The collations of ICU that order texts as PostgreSQL's do, with their locales.

/// The number of the first of them: those that order by bytes come before.
pub(super) const FIRST_OF_ICU: usize = 5;

/// Their names, in their order, and the locales.
pub(super) static NAMES: &[(&str, &str)] = &[("sv-x-icu", "sv"), ("und-x-icu", "und")];
