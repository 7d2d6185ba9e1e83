//! Anything that is not a table of this program, this database and this page size is refused with a
//! sentence.

use crate::lock_table::layout::{
    HEAD_AREA, HEAD_CELLS, HEAD_CHECK, HEAD_IDENTITY, HEAD_MAGIC, HEAD_PAGE_BYTES, HEAD_VERSION,
};
use crate::lock_table::{LockTableError, Segment, SegmentOptions};
use crate::protocol::{Entry, EntryStore, NodeId, PageId, Psn};
use std::os::unix::fs::FileExt;
use std::path::Path;

const OPTIONS: SegmentOptions = SegmentOptions {
    identity: 0x5ad0,
    page_bytes: 4096,
    entries: 100,
    overflow: 50,
};

fn refused(path: &Path, options: SegmentOptions) -> LockTableError {
    let refused = Segment::join(path, options).expect_err("it is refused");
    println!("{refused}");
    refused
}

/// The table's file with one word changed, or another length.
fn changed(of: &Path, word: Option<(usize, u64)>, bytes: Option<u64>) -> std::path::PathBuf {
    let path = of.with_extension("changed");
    std::fs::copy(of, &path).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    if let Some((at, word)) = word {
        file.write_all_at(&word.to_ne_bytes(), at as u64 * 8)
            .unwrap();
    }
    if let Some(bytes) = bytes {
        file.set_len(bytes).unwrap();
    }
    path
}

#[test]
fn foreign_damaged_and_cut_tables_are_refused_with_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table");
    drop(Segment::create(Some(&path), OPTIONS).unwrap());
    let length = std::fs::metadata(&path).unwrap().len();
    let refused_with = |word, bytes| refused(&changed(&path, word, bytes), OPTIONS);

    let other = refused_with(Some((HEAD_MAGIC, 7)), None);
    assert!(matches!(other, LockTableError::Foreign { .. }));
    let other = refused_with(Some((HEAD_VERSION, 1)), None);
    assert!(matches!(
        other,
        LockTableError::Version {
            found: 1,
            expected: 3,
            ..
        }
    ));
    for at in [
        HEAD_IDENTITY,
        HEAD_PAGE_BYTES,
        HEAD_CELLS,
        HEAD_AREA,
        HEAD_CHECK,
    ] {
        let other = refused_with(Some((at, 1)), None);
        assert!(matches!(other, LockTableError::Damaged { .. }));
    }
    for bytes in [0, 8, 63, 64, 4096, length - 1, length - 4096, length + 8] {
        let other = refused_with(None, Some(bytes));
        let foreign = matches!(other, LockTableError::Foreign { .. });
        assert_eq!(foreign, bytes < 64);
        assert!(foreign || matches!(other, LockTableError::Damaged { .. }));
    }
    let identity = SegmentOptions {
        identity: 9,
        ..OPTIONS
    };
    assert!(matches!(
        refused(&path, identity),
        LockTableError::Database {
            found: 0x5ad0,
            expected: 9,
            ..
        }
    ));
    let page_bytes = SegmentOptions {
        page_bytes: 8192,
        ..OPTIONS
    };
    assert!(matches!(
        refused(&path, page_bytes),
        LockTableError::PageSize {
            found: 4096,
            expected: 8192,
            ..
        }
    ));
    assert!(matches!(
        refused(directory.path(), OPTIONS),
        LockTableError::System { .. } | LockTableError::Foreign { .. }
    ));
    let huge = SegmentOptions {
        entries: 1 << 25,
        ..OPTIONS
    };
    assert!(matches!(
        Segment::create(None, huge),
        Err(LockTableError::Size { .. })
    ));
    assert!(matches!(
        Segment::create(Some(&path), OPTIONS),
        Err(LockTableError::System { .. })
    ));
    Segment::join(&path, OPTIONS).expect("it is as it was");
}

#[test]
fn a_node_joins_leaves_and_joins_again_and_what_it_wrote_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table");
    let page = PageId(12);
    let entry = Entry {
        version: 1,
        psn: Psn(77),
        ..Entry::default()
    };
    {
        let segment = Segment::create(Some(&path), OPTIONS).unwrap();
        let mut node = segment.join_node(3).unwrap();
        assert_eq!(node.node(), NodeId(3));
        assert!(node.swap(page, 0, entry.clone()).unwrap());
        let taken = segment.join_node(3).unwrap_err();
        assert!(taken.to_string().contains(&std::process::id().to_string()));
        assert!(segment.find_dead().is_empty());
        node.leave().unwrap();
        let dropped = segment.join_node(3).unwrap();
        assert_eq!(dropped.node(), NodeId(64 + 3));
        drop(dropped);
        assert_eq!(segment.find_dead(), [NodeId(64 + 3)]);
        assert!(segment.join_node(3).is_err(), "it is to be recovered first");
        segment.table().forget(NodeId(64 + 3)).unwrap();
    }
    let segment = Segment::join(&path, OPTIONS).unwrap();
    let mut node = segment.join_node(3).unwrap();
    assert_eq!(node.node(), NodeId(128 + 3));
    assert_eq!(node.read(page).unwrap(), entry);
    assert_eq!(node.pages(), [page]);
}
