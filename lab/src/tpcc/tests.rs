use super::consistency::{Consistency, check};
use super::draw::{Constants, Draw, is_original, last_name};
use super::figures::is_complete;
use super::load::{constants, load};
use super::paths;
use super::records::Schema;
use super::requests::{Generator, Kind, Request, Who};
use super::run::{Load, Outcome, run};
use super::scale::{self, DISTRICTS, Scale};
use super::transactions::Tpcc;
use sardonyx::Tables;
use sardonyx::procedures::Registered;
use sardonyx_benchmark::debit_credit::run::{Progress, Until};
use sardonyx_workload::random::Random;
use std::path::Path;

const SEED: u64 = 7;

fn opened(path: &Path) -> (Tables, Schema) {
    let database = Tables::open(path).unwrap();
    let schema = Schema::of(&database).unwrap();
    paths::create(&database, &schema).unwrap();
    (database, schema)
}

fn registered(database: &Tables, schema: Schema) -> Registered<Tpcc> {
    database.register(Tpcc::new(schema)).unwrap()
}

fn run_some(database: &Tables, schema: Schema, scale: Scale, seed: u64) -> Outcome {
    let work = Load {
        scale,
        constants: constants(SEED),
        clients: 2,
        batch: 37,
        in_flight: 2,
        until: Until::Transactions(3_000),
        seed,
    };
    let procedure = registered(database, schema);
    run(database, &procedure, &work, &Progress::default()).unwrap()
}

#[test]
fn the_conditions_hold_after_loading_running_and_opening_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.sdx");
    let scale = Scale::small(2);
    let (database, schema) = opened(&path);
    load(&database, &schema, &scale, SEED, |_| {}).unwrap();
    let found = check(&database, &schema, &scale).unwrap();
    assert_eq!(found, Consistency::default());

    let mut outcome = run_some(&database, schema, scale, 1);
    let found = check(&database, &schema, &scale).unwrap();
    assert!(found.holds(), "{:?}", found.first);
    assert!(is_complete(&outcome, &found), "{outcome:?} {found:?}");
    assert!(outcome.rolled_back > 0 && outcome.delivered > 0);
    assert_eq!(outcome.all() + outcome.rolled_back, 3_000);
    database.close().unwrap();

    // The ordered indexes exist again.
    let (database, schema) = opened(&path);
    assert_eq!(check(&database, &schema, &scale).unwrap(), found);
    let later = run_some(&database, schema, scale, 2);
    outcome.delivered += later.delivered;
    (outcome.committed.iter_mut().zip(later.committed)).for_each(|(sum, more)| *sum += more);
    let found = check(&database, &schema, &scale).unwrap();
    assert!(found.holds(), "{:?}", found.first);
    assert!(is_complete(&outcome, &found), "{outcome:?} {found:?}");
}

#[test]
fn an_order_with_an_unused_item_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let scale = Scale::small(1);
    let (database, schema) = opened(&directory.path().join("shop.sdx"));
    load(&database, &schema, &scale, SEED, |_| {}).unwrap();
    let before = database.read(|view| Ok(view.pages().to_vec())).unwrap();
    let procedure = registered(&database, schema);
    let mut generator = Generator::new(scale, &constants(SEED), 3, (0, 1));
    let request = std::iter::repeat_with(|| generator.request(5))
        .find(|request| match request {
            Request::NewOrder { lines, count, .. } => {
                lines[usize::from(*count) - 1].item > scale.items
            }
            _ => false,
        })
        .unwrap();
    let refused = database.submit_batch(&procedure, vec![request], 0);
    let refused = refused.wait().unwrap().pop().unwrap().unwrap_err();
    assert_eq!(refused.to_string(), "there is no item 201");
    let after = database.read(|view| Ok(view.pages().to_vec())).unwrap();
    assert!(before == after[..before.len()] && after[before.len()..].iter().all(|&b| b == 0));
}

#[test]
fn each_violation_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let scale = Scale::small(1);
    let (database, schema) = opened(&directory.path().join("shop.sdx"));
    load(&database, &schema, &scale, SEED, |_| {}).unwrap();
    let violated = || {
        let found = check(&database, &schema, &scale).unwrap();
        let conditions = found.violations.iter().zip(1..);
        let violated = conditions.filter(|(count, _)| **count > 0);
        violated.map(|(_, number)| number).collect::<Vec<u32>>()
    };
    let district = scale::district(1, 4);
    let update = |change: fn(&mut super::records::District)| {
        let updated = database.run(|tx| tx.update(schema.districts, district, change));
        assert_eq!(updated.unwrap(), Some(()));
    };
    update(|row| row.year_to_date += 1);
    assert_eq!(violated(), [1, 9]);
    update(|row| row.year_to_date -= 1);
    update(|row| row.next_order += 1);
    assert_eq!(violated(), [2]);
    update(|row| row.next_order -= 1);
    let newest = scale::order(district, scale.customers);
    let delete = database.run(|tx| tx.remove(schema.new_orders, newest));
    let new = delete.unwrap().unwrap();
    assert_eq!(violated(), [2, 5, 11]);
    database
        .run(|tx| tx.insert(schema.new_orders, &new))
        .unwrap();
    let middle = scale::order(district, scale.delivered() + 2);
    let delete = database.run(|tx| tx.remove(schema.new_orders, middle));
    let new = delete.unwrap().unwrap();
    assert_eq!(violated(), [3, 5, 11]);
    database
        .run(|tx| tx.insert(schema.new_orders, &new))
        .unwrap();
    let line = scale::line(newest, 2);
    let deliver = database.run(|tx| tx.update(schema.order_lines, line, |row| row.delivered = 9));
    assert_eq!(deliver.unwrap(), Some(()));
    assert_eq!(violated(), [7, 10, 12]);
    let delete = database.run(|tx| tx.delete(schema.order_lines, line));
    assert!(delete.unwrap());
    assert_eq!(violated(), [4, 6]);
}

#[test]
fn the_mix_is_the_standards() {
    let scale = Scale::standard(3).unwrap();
    let mut generator = Generator::new(scale, &constants(SEED), 1, (0, 1));
    let mut kinds = [0; 5];
    let (mut lines_of_all, mut remote_lines, mut unused) = (0, 0, 0);
    let (mut named, mut remote_payments) = (0, 0);
    for _ in 0..100_000 {
        let request = generator.request(1);
        kinds[request.kind() as usize] += 1;
        match request {
            Request::NewOrder {
                customer,
                lines,
                count,
                ..
            } => {
                let lines = &lines[..usize::from(count)];
                assert!((5..=15).contains(&lines.len()));
                let home = scale::warehouse_of(scale::district_of_customer(customer));
                let remote = lines.iter().filter(|line| u64::from(line.supplier) != home);
                lines_of_all += lines.len();
                remote_lines += remote.count();
                unused += usize::from(lines.iter().any(|line| line.item > scale.items));
            }
            Request::Payment { who, district, .. } => {
                let of = match who {
                    Who::Named { district, .. } => {
                        named += 1;
                        district
                    }
                    Who::Key(customer) => scale::district_of_customer(customer),
                };
                remote_payments += usize::from(of >> 4 != district >> 4);
            }
            Request::StockLevel { threshold, .. } => assert!((10..=20).contains(&threshold)),
            _ => {}
        }
    }
    assert_eq!(kinds, [45_000, 43_000, 4_000, 4_000, 4_000]);
    let near = |found: usize, of: usize, percent: f64| {
        let share = found as f64 / of as f64 * 100.0;
        assert!(
            (share - percent).abs() < percent / 10.0,
            "{share} {percent}"
        );
    };
    near(remote_lines, lines_of_all, 1.0);
    near(unused, 45_000, 1.0);
    near(named, 43_000, 60.0);
    near(remote_payments, 43_000, 15.0);
    near(lines_of_all, 45_000, 1_000.0);
}

#[test]
fn what_is_drawn_is_as_the_standard_says() {
    assert_eq!(&last_name(371), b"PRICALLYOUGHT   ");
    assert_eq!(&last_name(0), b"BARBARBAR       ");
    assert_eq!(&last_name(999), b"EINGEINGEING    ");
    let loading = Constants::of_loading(&mut Random::new(1));
    let mut draw = Draw::new(2, loading);
    let (mut items, mut original) = (vec![0_u32; 100_001], 0);
    for _ in 0..1_000_000 {
        items[draw.item(100_000) as usize] += 1;
    }
    assert_eq!(items[0], 0);
    // The bits of two numbers are or-ed: some items are drawn often, most seldom.
    items.sort_unstable();
    let often: u32 = items[90_000..].iter().sum();
    assert!((600_000..800_000).contains(&often), "{often}");
    for _ in 0..10_000 {
        original += u32::from(is_original(&draw.data()));
        let text: [u8; 20] = draw.text(10);
        let end = text.iter().rposition(|&letter| letter != b' ');
        assert!(end.is_some());
    }
    assert!((900..1_100).contains(&original), "{original}");
    let mut numbers = draw.permutation(100);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=100));
}

#[test]
fn keys_keep_the_order_of_their_parts() {
    let last = scale::line(
        scale::order(scale::district(65_536, DISTRICTS), (1 << 28) - 1),
        15,
    );
    assert!(last < 1 << 53);
    let orders = [(1, 9, 5), (1, 10, 1), (2, 1, 1), (2, 1, 2)];
    let keys = orders.map(|(w, d, o)| scale::order(scale::district(w, d), o));
    assert!(keys.is_sorted());
    assert_eq!(scale::district_of_order(keys[1]), scale::district(1, 10));
    assert_eq!(scale::number_of_order(keys[3]), 2);
    let customer = scale::customer(scale::district(7, 3), 3_000);
    assert_eq!(scale::district_of_customer(customer), scale::district(7, 3));
    assert_eq!(Kind::ALL.map(Kind::percent).iter().sum::<usize>(), 100);
}
