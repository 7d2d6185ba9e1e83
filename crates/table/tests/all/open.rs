//! Open transactions: their reads and writes beside the tables, their results at the end, and their equivalence to a
//! serial order.

mod stock;

use sardonyx_base::random::Random;
use sardonyx_rows::constraints::Due;
use sardonyx_rows::schema::Value;
use sardonyx_rows::{Rows, TableError};
use sardonyx_table::OpenRows;
use stock::{Step, Stock};

/// An open transaction, its steps, and its results.
struct Running {
    open: OpenRows,
    steps: Vec<Step>,
    told: Vec<String>,
}

/// Open transactions and closures, interleaved by a seed. At the end of each the same steps are run as a closure that
/// is undone: its results decide if the open one may end.
fn interleave(seed: u64, is_ordered: bool) -> (u64, u64) {
    let mut random = Random::new(seed);
    let mut stock = Stock::new(is_ordered);
    let (items, parts) = (stock.items, stock.parts);
    let mut running: Vec<Running> = Vec::new();
    let (mut ended, mut needless) = (0, 0);
    for _ in 0..120 {
        match random.below(10) {
            0..=1 if running.len() < 4 => {
                let open = stock.begin();
                running.push(Running {
                    open,
                    steps: Vec::new(),
                    told: Vec::new(),
                });
            }
            2..=3 => {
                let step = Step::random(&mut random);
                stock.closure(&[step]);
            }
            4 if !running.is_empty() => {
                let at = random.below(running.len() as u64) as usize;
                let Running { open, steps, told } = running.swap_remove(at);
                let mut tx = stock.world.space.begin(&mut stock.world.log);
                let now: Vec<String> = (steps.iter())
                    .map(|step| step.run(&mut tx, items, parts))
                    .collect();
                let state = [Step::Scan, Step::Parts].map(|step| step.run(&mut tx, items, parts));
                tx.abort();
                stock.world.redo();
                let conflict = stock.conflicts(open);
                ended += 1;
                if now == told {
                    needless += u64::from(conflict);
                    if !conflict {
                        assert_eq!(stock.all(), state.join("; "), "seed {seed}: {steps:?}");
                    }
                } else {
                    assert!(conflict, "seed {seed}: {steps:?}\n{told:?}\n{now:?}");
                }
            }
            _ if !running.is_empty() => {
                let at = random.below(running.len() as u64) as usize;
                let one = &mut running[at];
                let step = Step::random(&mut random);
                one.told.push(step.run(&mut one.open, items, parts));
                one.steps.push(step);
            }
            _ => {}
        }
    }
    (ended, needless)
}

#[test]
fn open_transactions_and_closures_are_as_if_run_one_after_another() {
    let (mut ended, mut needless) = (0, 0);
    let seeds = sardonyx_base::random::seeds(40);
    for seed in 0..seeds {
        let (one, other) = interleave(seed, seed % 2 == 0);
        ended += one;
        needless += other;
    }
    assert!(ended > 5 * seeds, "{ended} ended");
    // A row further than was wanted may have been looked at. A change reads its row, even if it returns nothing of it.
    assert!(
        needless * 20 < ended,
        "{needless} of {ended} conflicted without a cause"
    );
}

/// Steps of an open transaction, then of others, and whether it conflicts.
fn meets(open_steps: &[Step], others: &[Step]) -> bool {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    for step in open_steps {
        step.run(&mut open, items, parts);
    }
    stock.closure(others);
    stock.conflicts(open)
}

#[test]
fn named_anomalies_are_conflicts() {
    // Lost update.
    assert!(meets(&[Step::Add(1, 1)], &[Step::Add(1, 1)]));
    // Write skew: it read rows that the other changed.
    assert!(meets(
        &[Step::Get(1), Step::SetAmount(2, 4)],
        &[Step::SetAmount(1, 4)]
    ));
    // A row that was absent came.
    assert!(meets(
        &[Step::Get(9), Step::SetAmount(2, 4)],
        &[Step::Insert(9, 1, None)]
    ));
    // Phantoms: in a range, in an index, in a scan, in a number of rows.
    let inserted = [Step::Insert(9, 4, None)];
    for read in [
        Step::Range(8, 20, 10, false),
        Step::Range(8, 20, 10, true),
        Step::ByAmount(4),
        Step::CountAmounts(4, 5),
        Step::Count,
        Step::Scan,
    ] {
        assert!(
            meets(&[read.clone(), Step::SetAmount(2, 3)], &inserted),
            "{read:?}"
        );
    }
    // A unique code that was free is taken; a key, too.
    assert!(meets(
        &[Step::SetCode(1, Some(77))],
        &[Step::SetCode(2, Some(77))]
    ));
    assert!(meets(
        &[Step::Insert(9, 1, None)],
        &[Step::Insert(9, 1, None)]
    ));
    // The row that it refers to goes; a row comes that refers to the one that it deleted.
    assert!(meets(&[Step::InsertPart(1, 5)], &[Step::Delete(5)]));
    assert!(meets(&[Step::Delete(5)], &[Step::InsertPart(1, 5)]));
}

#[test]
fn what_is_not_in_the_way_is_no_conflict() {
    // Other keys, in the same pages.
    assert!(!meets(
        &[Step::Insert(20, 1, None)],
        &[Step::Insert(21, 1, None)]
    ));
    assert!(!meets(
        &[Step::Add(1, 1)],
        &[Step::Add(2, 1), Step::Delete(3)]
    ));
    // Rows beside a range, or behind its read part.
    assert!(!meets(
        &[Step::Range(0, 3, 10, false), Step::SetAmount(1, 4)],
        &[Step::SetAmount(5, 4), Step::Insert(30, 1, None)]
    ));
    assert!(!meets(
        &[Step::Range(0, 100, 2, false), Step::SetAmount(1, 4)],
        &[Step::Insert(30, 1, None)]
    ));
    // A value that came back.
    assert!(!meets(
        &[Step::Get(1), Step::SetAmount(2, 4)],
        &[Step::SetAmount(1, 3), Step::SetAmount(1, 1)]
    ));
    // A number that stayed, of other rows.
    assert!(!meets(
        &[Step::Count, Step::SetAmount(2, 4)],
        &[Step::Insert(40, 1, None), Step::Delete(7)]
    ));
}

#[test]
fn many_reads_are_compared_as_few_are() {
    // Each of these is more than are compared one by one.
    let keys: Vec<Step> = (0..700).map(|id| Step::Get(2 * id)).collect();
    let range = [Step::Range(100, 1100, 2000, false)];
    let codes: Vec<Step> = (0..700).map(|code| Step::ByCode(2 * code)).collect();
    let amounts: Vec<Step> = (0..700)
        .map(|amount| Step::CountAmounts(4 * amount, 4 * amount + 2))
        .collect();
    let cases: [(&[Step], Step, bool); 23] = [
        (&keys, Step::SetAmount(6, 9), true),
        (&keys, Step::Delete(1000), true),
        // A key that was absent.
        (&keys, Step::Insert(1302, 1, None), true),
        (&keys, Step::SetCode(8, Some(9999)), true),
        // Others in the same pages.
        (&keys, Step::SetAmount(7, 9), false),
        (&keys, Step::Insert(1301, 1, None), false),
        (&keys, Step::Delete(9), false),
        (&range, Step::SetAmount(101, 9), true),
        (&range, Step::Delete(1099), true),
        (&range, Step::Insert(500, 1, None), true),
        (&range, Step::SetAmount(99, 9), false),
        (&range, Step::Insert(1102, 1, None), false),
        (&range, Step::Delete(3), false),
        (&codes, Step::SetAmount(6, 9), true),
        (&codes, Step::SetCode(6, None), true),
        // A code that was absent, and the first one of another row.
        (&codes, Step::SetCode(9, Some(1000)), true),
        (&codes, Step::SetCode(9, Some(1001)), false),
        (&codes, Step::Delete(7), false),
        (&amounts, Step::SetAmount(9, 804), true),
        (&amounts, Step::Delete(10), true),
        (&amounts, Step::SetAmount(9, 806), true),
        (&amounts, Step::SetAmount(5, 804), true),
        (&amounts, Step::SetAmount(5, 806), false),
    ];
    for (reads, change, conflicts) in cases {
        for is_ordered in [false, true] {
            let mut stock = Stock::new(is_ordered);
            let (items, parts) = (stock.items, stock.parts);
            let rows = (8..1100).filter(|id| *id != 500);
            let rows: Vec<Step> = rows.map(|id| Step::Insert(id, 1, None)).collect();
            stock.closure(&rows);
            let mut open = stock.begin();
            for step in reads {
                step.run(&mut open, items, parts);
            }
            Step::SetAmount(4, 5).run(&mut open, items, parts);
            stock.closure(std::slice::from_ref(&change));
            // A key that is found by its hash has no order: then nothing is read.
            let has_read = is_ordered || reads.len() > 1;
            assert_eq!(stock.conflicts(open), conflicts && has_read, "{change:?}");
        }
    }
}

#[test]
fn a_value_outside_of_its_row_is_compared_with_the_row() {
    // Of the same length and beginning as the code before: the row's bytes do not change.
    let code = |step: &str| Value::from(format!("code 1 of a text that is {step} than its place"));
    let reads = [
        Step::Get(1),
        Step::Range(0, 100, 100, false),
        Step::ByAmount(1),
        Step::Scan,
    ];
    for read in reads {
        for (changed, conflicts) in [("larger", true), ("longer", false)] {
            let mut stock = Stock::new(true);
            let (items, parts) = (stock.items, stock.parts);
            let mut open = stock.begin();
            read.run(&mut open, items, parts);
            let change = |stock: &mut Stock, step: &str| {
                stock.world.commit(|tx| {
                    let mut rows = Rows::numbered(tx, items).expect("a table");
                    rows.update(&[Value::from(1)], &[("code", code(step))])
                        .expect("updated");
                });
            };
            change(&mut stock, "larger");
            if changed == "longer" {
                change(&mut stock, "longer");
            }
            assert_eq!(stock.conflicts(open), conflicts, "{read:?}");
        }
    }
}

#[test]
fn rows_exchange_what_is_unique() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    for step in [
        Step::SetCode(1, None),
        Step::SetCode(2, Some(1)),
        Step::SetCode(1, Some(2)),
    ] {
        assert_eq!(step.run(&mut open, items, parts), "true");
    }
    assert!(!stock.conflicts(open));
    let told = stock.closure(&[Step::ByCode(1), Step::ByCode(2)]);
    assert!(
        told[0].starts_with("(Int(2) ") && told[1].starts_with("(Int(1) "),
        "{told:?}"
    );
}

#[test]
fn marks_take_back_rows_and_entries() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    let all = |open: &mut OpenRows| {
        [Step::Scan, Step::ByAmount(4), Step::ByCode(50), Step::Count]
            .map(|step| step.run(open, items, parts))
    };
    let before = all(&mut open);
    let mark = open.savepoint();
    for step in [
        Step::Insert(50, 4, Some(50)),
        Step::SetAmount(1, 4),
        Step::Delete(2),
        Step::Insert(2, 4, None),
    ] {
        step.run(&mut open, items, parts);
    }
    let inner = open.savepoint();
    assert_ne!(all(&mut open), before);
    open.rollback_to(mark).expect("marked");
    assert_eq!(all(&mut open), before);
    assert!(open.rollback_to(inner).is_err());
    assert!(!open.has_changes());
}

#[test]
fn held_references_are_checked_when_they_are_due() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    open.hold_references(true);
    assert_eq!(Step::InsertPart(1, 99).run(&mut open, items, parts), "()");
    open.hold_references(false);
    assert_eq!(open.held_references().len(), 1);
    let error = open.check_held(|_| Due::NOW).unwrap_err();
    assert!(
        matches!(error, TableError::NoSuchReference { .. }),
        "{error}"
    );
    assert_eq!(Step::Insert(99, 1, None).run(&mut open, items, parts), "()");
    open.check_held(|_| Due::NOW).expect("it is there now");
    assert!(!stock.conflicts(open));
}

#[test]
fn one_that_only_read_is_compared_too_when_it_is_installed() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let read = |stock: &mut Stock| {
        let mut open = stock.begin();
        Step::Get(1).run(&mut open, items, parts);
        assert!(!open.has_changes());
        open
    };
    let stale = read(&mut stock);
    stock.closure(&[Step::SetAmount(1, 7)]);
    // The transaction continues behind the installation, with the reads of this one.
    assert!(stock.conflicts(stale));
    let fresh = read(&mut stock);
    assert!(!stock.conflicts(fresh));
}

#[test]
fn a_change_of_the_schema_is_a_conflict() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    Step::SetAmount(1, 4).run(&mut open, items, parts);
    let number = stock.items;
    stock
        .world
        .commit(|tx| tx.drop_index(number, "by_amount").expect("dropped"));
    assert!(stock.conflicts(open));
}

#[test]
fn what_it_keeps_is_bounded() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin().with_bytes_max(2000);
    let told: Vec<String> = (100..200)
        .map(|id| Step::Insert(id, 1, None).run(&mut open, items, parts))
        .collect();
    assert_eq!(told[0], "()");
    assert!(told[99].contains("limit"), "{}", told[99]);
    // Its changes are still there.
    assert!(!stock.conflicts(open));
    assert_eq!(
        stock.closure(&[Step::Get(100)])[0],
        "(Int(100) Int(1) Null)"
    );
}
