//! libFuzzer's program for the target `tables-directory`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("tables-directory", input));
