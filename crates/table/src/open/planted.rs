//! Errors that the tests plant: each leaves out one rule of the end of an open transaction, and a model must find that. A
//! build without tests plants none.

sardonyx_base::planted_errors! {
    /// Parts of indexes are not compared.
    RangesBelieved,
    /// Keys that had no row are not compared.
    AbsenceBelieved,
    /// Reads of constraints are not noted, nor are references checked at the end.
    ReferencesBelieved,
    /// The changes are made before the reads are compared.
    MadeFirst,
}
