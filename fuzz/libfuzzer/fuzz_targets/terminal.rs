//! libFuzzer's program for the target `terminal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("terminal", input));
