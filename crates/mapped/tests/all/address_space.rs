//! A segment in a process that may have little address space (`ulimit -v`), with the default options. A
//! process of its own, because the limit is the process'.

use crate::common::alone;
use rustix::process::{Resource, Rlimit, setrlimit};
use sardonyx_mapped::{Memory, MemoryAccess, Options, P};

#[test]
fn a_segment_opens_with_the_default_options_and_grows_within_its_part() {
    alone(|| {
        let limit = Rlimit {
            current: Some(8_000_000_000),
            maximum: Some(8_000_000_000),
        };
        setrlimit(Resource::As, limit).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let segment = Options::new().open(directory.path()).unwrap();
        segment.run(|tx| tx.grow_to(64 << 20)).unwrap();
        let last = P::<u64>::from_offset((64 << 20) - 8);
        segment.run(|tx| tx.write(last, 7)).unwrap();
        assert_eq!(segment.snapshot().unwrap().read(last).unwrap(), 7);
        // More than a process may have names the option.
        let refused = Options::new()
            .address_space_bytes(64 << 30)
            .open_private()
            .unwrap_err()
            .to_string();
        assert!(refused.contains("address_space_bytes"), "{refused}");
        assert!(refused.contains("ulimit -v"), "{refused}");
    });
}
