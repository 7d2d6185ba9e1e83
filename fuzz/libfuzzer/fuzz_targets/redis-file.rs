//! libFuzzer's program for the target `redis-file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sardonyx_fuzz::run("redis-file", input));
