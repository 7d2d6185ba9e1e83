//! The tests of the C faces: one program, with a module for each of them. The programs in C are in `tests/c`.

mod programs;

mod example;
mod face;
mod figures;
mod headers;
mod tables;
