//! Entries that are drawn by chance.

use super::*;

/// The rows that are drawn between two edges: for each number that may be drawn, the row at its place.
fn drawn(pair: &Pair, (from, to): (Edge<'_>, Edge<'_>)) -> Vec<u64> {
    let (mut number, mut bound, mut rows) = (0, 1, Vec::new());
    while number < bound {
        let mut same = |all| {
            bound = all;
            number
        };
        let sought = (pair.sought(from), pair.sought(to));
        let nodes = pair.store.bytes();
        let Ok(row) = pair.tree.draw(nodes, sought.0, sought.1, &mut same);
        rows.extend(row.map(|row| row.0));
        number += 1;
    }
    rows.sort_unstable();
    rows
}

#[test]
fn each_entry_between_two_edges_is_drawn_by_one_number() {
    let mut pair = Pair::new();
    let edge = |bytes: &'static [u8], behind| Edge { bytes, behind };
    let all = (edge(b"", false), edge(b"", true));
    assert!(drawn(&pair, all).is_empty());
    // Few entries before and behind, so that the ends of both sets are in the middle of nodes. Some entries are deleted.
    let sets = [("a", 40), ("b", 1_500), ("c", 7)];
    for (set, many) in sets {
        for number in 0..many {
            let row = u64::from(set.as_bytes()[0]) << 32 | number << 3;
            let of = (
                format!("{set}element{}", number * 7 % 1_511).into_bytes(),
                row,
            );
            assert!(pair.insert(&of));
            if number % 5 == 3 {
                assert!(pair.remove(&of));
            }
        }
    }
    assert_eq!(pair.tree.height, 2);
    let edges = [
        all,
        (edge(b"a", false), edge(b"a", true)),
        (edge(b"b", false), edge(b"b", true)),
        (edge(b"c", false), edge(b"c", true)),
        (edge(b"belement2", false), edge(b"belement31", true)),
        (edge(b"d", false), edge(b"e", true)),
        (edge(b"aelement3", false), edge(b"cz", false)),
    ];
    for (from, to) in edges {
        let there = pair.model.iter();
        let there = there.filter(|(key, _)| !is_before(key, from) && is_before(key, to));
        let mut rows: Vec<u64> = there.map(|(_, row)| *row).collect();
        rows.sort_unstable();
        assert_eq!(drawn(&pair, (from, to)), rows);
    }
}
