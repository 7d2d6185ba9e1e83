//! The numbers of the columns in the tables of keys and of elements, in the order of their schemas ([`super::tables`]).

/// The columns of `kv`, by number.
pub(crate) mod kv {
    pub const KEY: usize = 0;
    pub const ID: usize = 1;
    pub const KIND: usize = 2;
    pub const VALUE: usize = 3;
    pub const LENGTH: usize = 4;
    pub const FIRST: usize = 5;
    pub const EXPIRES: usize = 6;
}

/// The columns of tables of elements with names, by number.
pub(crate) mod element {
    pub const ID: usize = 0;
    pub const NAME: usize = 1;
}
