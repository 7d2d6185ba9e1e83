//! All sessions that a segment may have, in one process, with the default options. A process of its own, because
//! the views of all segments of a process are counted together.

use crate::common::alone;
use sardonyx_mapped::{Memory, MemoryAccess, Options, P, SegmentError};

/// With the default options a process has address space for the views of all of them.
#[test]
fn one_process_can_have_all_sessions_of_a_segment() {
    alone(|| {
        const SESSIONS: usize = 1024;
        let segment = Options::new().open_private().unwrap();
        segment.run(|tx| tx.grow_to(8192)).unwrap();
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|number| {
                segment
                    .session()
                    .unwrap_or_else(|error| panic!("session {number}: {error}"))
            })
            .collect();
        let refused = segment.session().map(|_| ()).unwrap_err();
        assert!(
            matches!(
                refused,
                SegmentError::TooMany {
                    limit: SESSIONS,
                    ..
                }
            ),
            "{refused}"
        );
        drop(sessions);
        let word = P::<u64>::from_offset(4096);
        segment.run(|tx| tx.write(word, 42)).unwrap();
        assert_eq!(segment.snapshot().unwrap().read(word).unwrap(), 42);
    });
}
