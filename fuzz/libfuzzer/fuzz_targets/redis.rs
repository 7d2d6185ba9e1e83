//! libFuzzer's program for the target `redis`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("redis", input));
