//! libFuzzer's program for the target `payloads`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("payloads", input));
