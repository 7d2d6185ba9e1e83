//! libFuzzer's program for the target `primary`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("primary", input));
