//! The tests of the register in etcd: one program, with a module for a scripted etcd and one for a real one.

mod nodes;
#[path = "../../../remote/tests/all/etcd/served.rs"]
#[allow(dead_code, reason = "registers of hosts need more of it")]
mod scripted;

mod real;
mod register;
