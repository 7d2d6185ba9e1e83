//! The tests of stores that others keep: one program, with a module for stores in this process and one for a real one.

mod stores;

mod contract;
mod real;
