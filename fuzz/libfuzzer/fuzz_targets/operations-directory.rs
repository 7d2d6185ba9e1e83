//! libFuzzer's program for the target `operations-directory`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("operations-directory", input));
