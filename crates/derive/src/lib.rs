//! The derives: for structs that are rows of a table, and for types that are their bytes.
//!
//! `#[derive(Record)]` writes how a struct's fields become columns and come back; the trait is `sardonyx_rows::Record`.
//! Fields that it cannot store are refused with a message that names Sardonyx and the remedy.
//!
//! Pages come from disk, and memory of a segment from other processes, some of them written in C or Python. So a type
//! is plain data only if every bit pattern is one of its values, and every byte is of a field. `#[derive(Resident)]`
//! proves that while the program is compiled, or refuses with a message that names the remedy. The trait itself, with
//! examples, is `sardonyx_base::resident::Resident`.

mod declared;
mod enumeration;
mod journal;
mod plain;
mod record;
mod resident;

use proc_macro::TokenStream;

/// Implements `sardonyx_base::resident::Resident` for a struct whose layout is the same for
/// every compiler and language, and whose every byte is a field's.
///
/// The struct must be `#[repr(C)]` or `#[repr(transparent)]` and `Copy`; every field must be
/// `Resident`; there must be no padding. A generic struct must be `#[repr(transparent)]`, because
/// only then its layout holds for all parameters. Enums and unions are refused: not every bit
/// pattern is one of their values.
///
/// A larger library may replace the crate: `#[resident(crate = my::path)]` names the module that has
/// `resident::Resident` in it.
#[proc_macro_derive(Resident, attributes(resident))]
pub fn derive_resident(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    resident::expand(&input, "sardonyx_base")
        .unwrap_or_else(|refusal| refusal.to_compile_error())
        .into()
}

/// As [`macro@Resident`], for programs that have `sardonyx`, not `sardonyx_base`: it names `sardonyx::low_level`. There it
/// is exported as `Resident`.
#[proc_macro_derive(ResidentOfPrograms, attributes(resident))]
pub fn derive_resident_of_programs(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    resident::expand(&input, "sardonyx::low_level")
        .unwrap_or_else(|refusal| refusal.to_compile_error())
        .into()
}

/// Implements `sardonyx::Record` for a struct with named fields: it is a row of the table that
/// `#[record(table = "…", key = field)]` names, its fields are columns. The key may be several fields:
/// `key = (first, second)`. For an enum without fields it implements `sardonyx::types::StoredField`: it is stored as its
/// number, a `u8` unless `repr` says another integer.
///
/// `#[record(crate = my::path)]` names the module that replaces `sardonyx`.
///
/// The rest of the schema is declared here, too, once. `ordered` makes the primary key's index an ordered one.
/// `index("by_date", date desc, code)` is an ordered index, `unique("by_mail", mail)` one that has each key once,
/// `check("paid", "paid <= sum")` a condition. On a field, `#[field(default = 0)]` is the value of rows that programs
/// without the field insert, and `#[field(check = "sum >= 0")]` a condition. `#[field(references("customers", id))]` is
/// a reference, with `cascade` as third argument if rows are deleted with the one that they refer to. A table that is
/// there and lacks some of it is refused.
///
/// `#[record(journal = "…")]` implements `sardonyx::journals::JournalRow` instead, for rows that are appended to a journal.
#[proc_macro_derive(Record, attributes(record, field))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    record::expand(&input)
        .unwrap_or_else(|refusal| refusal.to_compile_error())
        .into()
}

/// The expansion of `sardonyx::plain!` and `record!` for a struct.
#[doc(hidden)]
#[proc_macro]
pub fn plain_struct(item: TokenStream) -> TokenStream {
    plain::plain(item.into())
        .unwrap_or_else(|refusal| refusal.to_compile_error())
        .into()
}
