//! The tests of a kernel on its engine as one program: it is compiled and linked once.

mod steps;
mod stored_indexes;
