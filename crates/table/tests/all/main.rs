//! The tests of tables, rows and indexes as one program: it is compiled and linked once.

mod areas;
mod beside;
mod change;
mod collisions;
mod condition;
mod conditions_changed;
mod damage;
mod declared;
mod handles;
mod hashed_keys;
mod index_beside;
mod limits;
mod model;
mod open;
mod open_defining;
mod ordered;
mod plain_records;
mod rebuild;
mod redo;
mod references;
mod rows;
mod schemas;
mod stored;
mod support;
mod tables_changed;
mod value_damage;
