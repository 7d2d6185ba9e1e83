//! The tests of the register in etcd: one program, with a module for a scripted etcd and one for a real one.

mod nodes;
mod scripted;

mod real;
mod register;
