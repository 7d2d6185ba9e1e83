//! libFuzzer's program for the target `range`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("range", input));
