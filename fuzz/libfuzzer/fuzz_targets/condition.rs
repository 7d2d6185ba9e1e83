//! libFuzzer's program for the target `condition`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("condition", input));
