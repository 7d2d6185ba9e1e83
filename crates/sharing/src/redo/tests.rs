//! Histories of several nodes, merged in all kinds of orders, from pages of all kinds of ages.
//!
//! A history is made as nodes make it: a page's next version is written only when the version before it is durable.
//! Whatever the order in which the logs are read, the pages end as they were, and some log is always wanted. That
//! the checks can fail is shown by mergers that are wrong on purpose.

use super::{Gap, Group, Merge, MergeError, Pages, Push, Redo, RedoError, append};
use crate::protocol::{Epoch, NodeId, PageId, Psn};
use sardonyx_base::random::Random;
use sardonyx_storage::log::record::{append_write, mark_end};
use sardonyx_storage::page::Address;
use std::collections::BTreeMap;
use std::fmt::Debug;

const BYTES: usize = 8;
const EPOCH: Epoch = Epoch(3);

type Image = (Psn, [u8; BYTES]);

/// Pages of a few bytes; `room` changes are taken, then none.
#[derive(Clone, PartialEq, Debug)]
struct Shelf {
    pages: BTreeMap<PageId, Image>,
    room: usize,
}

#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("no room")]
struct NoRoom;

impl Shelf {
    fn new() -> Self {
        Shelf {
            pages: BTreeMap::new(),
            room: usize::MAX,
        }
    }
}

impl Pages for Shelf {
    type Error = NoRoom;

    fn psn(&self, page: PageId) -> Psn {
        self.pages.get(&page).map_or(Psn(0), |image| image.0)
    }

    fn apply(&mut self, redo: &Redo<'_>) -> Result<(), NoRoom> {
        let (psn, bytes) = self.pages.entry(redo.page).or_default();
        assert_eq!(redo.psn, psn.next(), "{:?} out of order", redo.page);
        for (offset, written) in redo.writes() {
            bytes[offset..offset + written.len()].copy_from_slice(written);
        }
        self.room = self.room.checked_sub(1).ok_or(NoRoom)?;
        *psn = redo.psn;
        Ok(())
    }
}

/// Logs as nodes wrote them, and every version of every page.
struct History {
    logs: Vec<Vec<Vec<u8>>>,
    versions: BTreeMap<PageId, Vec<Image>>,
}

impl History {
    /// Some hundred transactions of a few nodes, in groups of one to three.
    fn new(random: &mut Random, nodes: usize, pages: usize) -> History {
        let mut logs = vec![Vec::new(); nodes];
        let mut versions: BTreeMap<PageId, Vec<Image>> = (0..pages as u64)
            .map(|page| (PageId(page), vec![Image::default()]))
            .collect();
        for _ in 0..60 {
            let log = random.below(nodes as u64) as usize;
            let mut records = Vec::new();
            for _ in 0..1 + random.below(3) {
                transaction(random, &mut versions, &mut records);
            }
            logs[log].push(records);
        }
        History { logs, versions }
    }

    fn newest(&self) -> BTreeMap<PageId, Image> {
        let newest = self.versions.iter();
        newest
            .map(|(&page, all)| (page, all[all.len() - 1]))
            .collect()
    }
}

/// A transaction that makes new versions of one or two pages.
fn transaction(
    random: &mut Random,
    versions: &mut BTreeMap<PageId, Vec<Image>>,
    records: &mut Vec<u8>,
) {
    let first = random.below(versions.len() as u64);
    let second = random.below(versions.len() as u64);
    let mut last = 0;
    for page in [first, second]
        .into_iter()
        .take(1 + usize::from(first != second))
    {
        let page = PageId(page);
        let all = versions.get_mut(&page).expect("it is there");
        let (mut psn, mut bytes) = all[all.len() - 1];
        psn = psn.next();
        let mut writes = Vec::new();
        for _ in 0..random.below(3) {
            let start = random.below(BYTES as u64) as usize;
            let end = start + 1 + random.below((BYTES - start) as u64) as usize;
            bytes[start..end].fill_with(|| random.next() as u8);
            writes.push((start, bytes[start..end].to_vec()));
        }
        let writes = writes.iter().map(|(start, bytes)| (*start, &bytes[..]));
        last = append(records, page, psn, writes);
        all.push((psn, bytes));
    }
    mark_end(records, last);
}

/// Merges the logs in a random order.
fn merge_all(history: &History, random: &mut Random, bound: usize, shelf: &mut Shelf) {
    let nodes = history.logs.len();
    let mut merge = opened(nodes, bound);
    let mut next = vec![0; nodes];
    let mut most = 0;
    loop {
        let open: Vec<usize> = (0..nodes)
            .filter(|&log| next[log] <= history.logs[log].len())
            .collect();
        if open.is_empty() {
            break;
        }
        let name = |log: usize| NodeId(log as u16);
        let wanted = |log: usize| next[log] == history.logs[log].len() || merge.wants(name(log));
        assert!(open.iter().any(|&log| wanted(log)), "no log is wanted");
        let log = open[random.below(open.len() as u64) as usize];
        let number = next[log] as u64 + 1;
        let group = match history.logs[log].get(next[log]) {
            Some(records) => Group::redo(number, EPOCH, records),
            None => Group::closing(number, EPOCH.next()),
        };
        let wanted = wanted(log);
        let taken = merge.push(name(log), &group, shelf).expect("no gap");
        assert_eq!(taken == Push::Taken, wanted);
        next[log] += usize::from(taken == Push::Taken);
        most = most.max(merge.waiting_bytes());
    }
    let group_max = history
        .logs
        .iter()
        .flatten()
        .map(|group| group.len() * 8)
        .max();
    assert!(
        most <= bound + nodes * group_max.unwrap_or(0),
        "{most} bytes wait"
    );
    assert!((0..nodes).all(|log| merge.forget(NodeId(log as u16))));
    assert_eq!(merge.waiting_bytes(), 0);
}

fn opened(nodes: usize, bound: usize) -> Merge {
    let mut merge = Merge::new(bound);
    for log in 0..nodes {
        merge
            .open::<NoRoom>(NodeId(log as u16), EPOCH, 1)
            .expect("new");
    }
    merge
}

#[test]
fn any_order_of_any_logs_from_pages_of_any_age_gives_the_newest_versions() {
    for seed in 0..2000 {
        let mut random = Random::stream(seed, 0);
        let nodes = 1 + random.below(4) as usize;
        let history = History::new(&mut random, nodes, 1 + (seed % 5) as usize);
        let mut shelf = Shelf::new();
        // A backup has each page in some version.
        for (&page, all) in &history.versions {
            let stored = all[random.below(all.len() as u64) as usize];
            shelf.pages.insert(page, stored);
        }
        let bound = [0, 100, 1000, usize::MAX / 2][random.below(4) as usize];
        merge_all(&history, &mut random, bound, &mut shelf);
        assert_eq!(shelf.pages, history.newest(), "seed {seed}");
    }
}

/// A transaction with one write to one page, alone in its group.
fn change(page: u64, psn: u64, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    let last = append(&mut records, PageId(page), Psn(psn), [(offset, bytes)]);
    mark_end(&mut records, last);
    records
}

fn push(merge: &mut Merge, shelf: &mut Shelf, log: u16, number: u64, records: &[u8]) -> Push {
    let group = Group::redo(number, EPOCH, records);
    merge.push(NodeId(log), &group, shelf).expect("it is right")
}

fn refusal(
    merge: &mut Merge,
    shelf: &mut Shelf,
    log: u16,
    group: &Group<'_>,
) -> MergeError<NoRoom> {
    let (before, bytes) = (shelf.clone(), merge.waiting_bytes());
    let error = merge
        .push(NodeId(log), group, shelf)
        .expect_err("it is wrong");
    assert_eq!((&before, bytes), (&*shelf, merge.waiting_bytes()));
    error
}

/// The case that a recovery from one log gets wrong: storage has 3, A made 4 and 5 and dropped its copy, B made 6.
#[test]
fn a_page_whose_newest_version_is_in_two_logs() {
    let (mut shelf, mut merge) = (Shelf::new(), opened(2, 0));
    shelf.pages.insert(PageId(7), (Psn(3), *b"33333333"));
    assert_eq!(
        push(&mut merge, &mut shelf, 1, 1, &change(7, 6, 0, b"66")),
        Push::Taken
    );
    assert_eq!(shelf.psn(PageId(7)), Psn(3));
    assert_eq!(
        (merge.needed_from(NodeId(1)), merge.next_group(NodeId(1))),
        (Some(1), Some(2))
    );
    assert_eq!(
        push(&mut merge, &mut shelf, 1, 2, &change(8, 1, 0, b"x")),
        Push::Later
    );
    push(&mut merge, &mut shelf, 0, 1, &change(7, 3, 0, b"old"));
    push(&mut merge, &mut shelf, 0, 2, &change(7, 4, 2, b"44"));
    push(&mut merge, &mut shelf, 0, 3, &change(7, 5, 1, b"55"));
    assert_eq!(shelf.pages[&PageId(7)], (Psn(6), *b"66543333"));
    assert_eq!(merge.needed_from(NodeId(1)), Some(2));
}

#[test]
fn a_version_in_no_log_is_an_error_when_all_have_ended() {
    let (mut shelf, mut merge) = (Shelf::new(), opened(2, 1 << 20));
    push(&mut merge, &mut shelf, 1, 1, &change(7, 3, 0, b"3"));
    push(&mut merge, &mut shelf, 1, 2, &change(9, 2, 0, b"2"));
    let fence = Group::closing(3, EPOCH.next());
    assert_eq!(
        merge.push(NodeId(1), &fence, &mut shelf).unwrap(),
        Push::Taken
    );
    assert!(!merge.has_all_of(NodeId(1)) && !merge.forget(NodeId(1)));
    let fence = Group::closing(1, EPOCH);
    let error = merge.push(NodeId(0), &fence, &mut shelf).unwrap_err();
    let gap = Gap {
        page: PageId(7),
        missing: Psn(1),
        log: NodeId(1),
        psn: Psn(3),
    };
    assert!(
        matches!(error, MergeError::Gap(found) if found == gap),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .starts_with("version 1 of page 7 is in no log, and version 3")
    );
    let (mut shelf, mut merge) = (Shelf::new(), opened(2, 1 << 20));
    push(&mut merge, &mut shelf, 1, 1, &change(7, 3, 0, b"3"));
    merge.end(NodeId(1), &shelf).expect("the other may have it");
    assert!(matches!(merge.end(NodeId(0), &shelf), Err(MergeError::Gap(found)) if found == gap));
}

/// With little memory a gap shows before the logs end: each of them waits for another.
#[test]
fn logs_that_wait_for_each_other_have_a_gap() {
    let (mut shelf, mut merge) = (Shelf::new(), opened(2, 0));
    push(&mut merge, &mut shelf, 0, 1, &change(7, 3, 0, b"3"));
    let more = change(8, 1, 0, b"1");
    assert_eq!(push(&mut merge, &mut shelf, 0, 2, &more), Push::Later);
    push(&mut merge, &mut shelf, 1, 1, &change(7, 2, 0, b"2"));
    let error = refusal(&mut merge, &mut shelf, 0, &Group::redo(2, EPOCH, &more));
    assert!(
        matches!(
            error,
            MergeError::Gap(Gap {
                missing: Psn(1),
                ..
            })
        ),
        "{error}"
    );
}

#[test]
fn a_group_is_refused_whole() {
    let (mut shelf, mut merge) = (Shelf::new(), opened(1, 1 << 20));
    let whole = [change(1, 1, 0, b"1"), change(2, 1, 0, b"1")].concat();
    for length in (8..whole.len()).step_by(8) {
        let cut = &whole[..length];
        let at_a_record = [16, 32, 48].contains(&length);
        if !at_a_record {
            let error = refusal(&mut merge, &mut shelf, 0, &Group::redo(1, EPOCH, cut));
            assert!(
                matches!(
                    error,
                    MergeError::Redo {
                        source: RedoError::Record(_),
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
    // A write to another page than the version's, and one in the next transaction.
    for foreign in [
        [change(1, 1, 0, b"1"), loose(1)].concat(),
        loose(9),
        unmarked_then(2),
    ] {
        let error = refusal(&mut merge, &mut shelf, 0, &Group::redo(1, EPOCH, &foreign));
        assert!(
            matches!(
                error,
                MergeError::Redo {
                    source: RedoError::Unversioned { .. },
                    ..
                }
            ),
            "{error}"
        );
    }
    let first = change(1, 0, 0, b"1");
    let error = refusal(&mut merge, &mut shelf, 0, &Group::redo(1, EPOCH, &first));
    assert!(
        matches!(
            error,
            MergeError::Redo {
                source: RedoError::First { .. },
                ..
            }
        ),
        "{error}"
    );
}

fn loose(page: u64) -> Vec<u8> {
    let mut records = Vec::new();
    append_write(&mut records, Address(page * 4096), b"loose");
    mark_end(&mut records, 0);
    records
}

fn unmarked_then(page: u64) -> Vec<u8> {
    let mut records = Vec::new();
    append(&mut records, PageId(1), Psn(1), [(0, &b"1"[..])]);
    append_write(&mut records, Address(page * 4096), b"another page");
    records
}

#[test]
fn nothing_is_taken_behind_a_fence_or_from_another_epoch_or_out_of_its_turn() {
    let (mut shelf, mut merge) = (Shelf::new(), opened(2, 1 << 20));
    let records = change(1, 1, 0, b"1");
    let error = refusal(
        &mut merge,
        &mut shelf,
        0,
        &Group::redo(1, EPOCH.next(), &records),
    );
    assert!(matches!(error, MergeError::Epoch { .. }), "{error}");
    let error = refusal(&mut merge, &mut shelf, 0, &Group::closing(1, Epoch(2)));
    assert!(matches!(error, MergeError::Epoch { .. }), "{error}");
    for number in [0, 2] {
        let error = refusal(
            &mut merge,
            &mut shelf,
            0,
            &Group::redo(number, EPOCH, &records),
        );
        assert!(
            matches!(error, MergeError::Order { expected: 1, .. }),
            "{error}"
        );
    }
    let error = refusal(&mut merge, &mut shelf, 5, &Group::redo(1, EPOCH, &records));
    assert!(matches!(error, MergeError::UnknownLog { .. }), "{error}");
    merge
        .push(NodeId(0), &Group::closing(1, Epoch(9)), &mut shelf)
        .unwrap();
    let error = refusal(&mut merge, &mut shelf, 0, &Group::redo(2, EPOCH, &records));
    assert!(
        matches!(
            error,
            MergeError::Closed {
                closed: Epoch(9),
                ..
            }
        ),
        "{error}"
    );
    let again = merge.open::<NoRoom>(NodeId(0), Epoch(10), 1);
    assert!(matches!(again, Err(MergeError::KnownLog { .. })));
}

#[test]
fn the_same_version_in_two_logs_is_an_error() {
    let (mut shelf, mut merge) = (Shelf::new(), opened(2, 1 << 20));
    push(&mut merge, &mut shelf, 0, 1, &change(1, 2, 0, b"a"));
    let other = change(1, 2, 0, b"b");
    let error = refusal(&mut merge, &mut shelf, 1, &Group::redo(1, EPOCH, &other));
    assert!(
        matches!(error, MergeError::Twice { psn: Psn(2), .. }),
        "{error}"
    );
}

/// Pages that refuse a change, at any place of a group or of what waited for it, can be given the group again.
#[test]
fn a_group_that_the_pages_refuse_is_given_again() {
    for room in 0..5 {
        let (mut shelf, mut merge) = (Shelf::new(), opened(2, 1 << 20));
        let waits = [
            change(1, 2, 0, b"22"),
            change(1, 3, 1, b"33"),
            change(2, 9, 0, b"9"),
        ]
        .concat();
        push(&mut merge, &mut shelf, 1, 1, &waits);
        shelf.room = room;
        let group = [
            change(3, 1, 0, b"3"),
            change(1, 1, 0, b"111"),
            change(4, 2, 0, b"2"),
        ]
        .concat();
        let group = Group::redo(1, EPOCH, &group);
        let first = merge.push(NodeId(0), &group, &mut shelf);
        assert_eq!(first.is_err(), room < 4, "room for {room}");
        if first.is_err() {
            assert!(matches!(first, Err(MergeError::Pages(NoRoom))));
            shelf.room = usize::MAX;
            assert_eq!(
                merge.push(NodeId(0), &group, &mut shelf).unwrap(),
                Push::Taken
            );
        }
        assert_eq!(shelf.pages[&PageId(1)], (Psn(3), *b"233\0\0\0\0\0"));
        assert_eq!(shelf.psn(PageId(3)), Psn(1));
        assert_eq!(
            merge.needed_from(NodeId(0)),
            Some(1),
            "version 2 of page 4 waits"
        );
    }
}

/// Shows that the check of [`any_order_of_any_logs_from_pages_of_any_age_gives_the_newest_versions`] can fail.
fn caught<F: Fn(&History, &mut Random, &mut Shelf) + std::panic::RefUnwindSafe>(wrong: F) -> bool {
    (0..50).any(|seed| {
        let run = || {
            let mut random = Random::stream(seed, 0);
            let history = History::new(&mut random, 3, 3);
            let mut shelf = Shelf::new();
            wrong(&history, &mut random, &mut shelf);
            assert_eq!(shelf.pages, history.newest());
        };
        std::panic::catch_unwind(run).is_err()
    })
}

#[test]
fn planted_errors_are_caught() {
    let right = caught(|history, random, shelf| merge_all(history, random, 200, shelf));
    let one_log = caught(|history, random, shelf| {
        let only = History {
            logs: vec![history.logs[0].clone()],
            versions: BTreeMap::new(),
        };
        merge_all(&only, random, 200, shelf);
    });
    let one_after_the_other = caught(|history, _, shelf| {
        for log in &history.logs {
            let mut merge = opened(1, usize::MAX / 2);
            for (records, number) in log.iter().zip(1..) {
                push(&mut merge, shelf, 0, number, records);
            }
        }
    });
    let forgotten = caught(|history, _, shelf| {
        let longest = history.logs.iter().map(Vec::len).max().unwrap_or(0);
        for group in 0..longest {
            // The records waiting at the end of each round are forgotten with the merger.
            let mut merge = opened(history.logs.len(), usize::MAX / 2);
            for (log, groups) in history.logs.iter().enumerate() {
                if let Some(records) = groups.get(group) {
                    push(&mut merge, shelf, log as u16, 1, records);
                }
            }
        }
    });
    assert!(!right && one_log && one_after_the_other && forgotten);
}
