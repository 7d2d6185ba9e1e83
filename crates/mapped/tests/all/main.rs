//! The tests of mapped segments: one program, with a module for each matter.
//!
//! A test that needs a process of its own starts this program again with that test only
//! ([`common::alone`]). Another process of a test is this program with the test `child` of its module
//! ([`common::spawn`]).

mod common;

mod address_space;
mod all_sessions;
mod basics;
mod deaths;
mod derive;
mod durable;
mod durable_deaths;
mod extremes;
mod growth;
mod heap_damage;
mod heap_errors;
mod heap_model;
mod heap_pages;
mod hosts;
mod large;
mod leftovers;
mod limits;
mod opacity;
mod outside;
mod reclaim;
mod schedules;
mod serializable;
mod slow_readers;
mod sparse;
mod stopped;
mod system_calls;
