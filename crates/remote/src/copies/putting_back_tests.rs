//! Put-backs by hand: copies that were restored or are away, processes that meet an older register, and sets of earlier
//! programs.

use super::ancestry::After;
use super::evidence::Refused;
use super::keeper::{Keeper, Replaced};
use super::planted::Planted;
use super::putting_back::{PutBack, PutBackOutcome, Unfinished};
use super::record::SetRecord;
use super::restored_world::{COPIES, set};
use super::schedules::with_and_without;
use super::sites::{KEEPER, Sites};
use super::tests::Host;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{Register, RemoteStore};
use std::sync::Arc;

fn try_to(sites: &Arc<Sites>, wish: &PutBack, away: &[&str]) -> Result<PutBackOutcome, Unfinished> {
    Host::try_to_put_back(sites, sites.at(KEEPER), None, wish, away)
}

fn refusal(sites: &Arc<Sites>, wish: &PutBack, away: &[&str]) -> String {
    let unfinished = try_to(sites, wish, away).unwrap_err();
    unfinished.of(&Keeper::new(sites.at(KEEPER))).to_string()
}

fn in_sync(record: &SetRecord) -> Vec<&str> {
    record.in_sync().map(|copy| &copy.place[..]).collect()
}

/// P has acknowledged two entries, the second one on {a, b}. The keeper and a are restored to before both.
fn restored_with_a(sites: &Arc<Sites>) {
    let (keeper, a) = (sites.record(), sites.backup("a"));
    let p = Host::new(sites);
    p.appends(1, "p1");
    p.cut(&["c"]);
    p.appends(2, "p2");
    set(&*sites.at(KEEPER), keeper.encode().as_bytes());
    sites.restore("a", &a);
}

#[test]
fn i1_a_restored_copy_is_no_proof_against_a_line_of_registers() {
    with_and_without(Planted::OneLackIsProof, || {
        let sites = Sites::new(&COPIES);
        restored_with_a(&sites);
        // H reaches the restored copy alone, and continues the older register.
        let h = Host::new_beside(&sites, &["b", "c"]);
        h.appends(1, "h1");
        let Err(Unfinished::Refused(refused)) = try_to(&sites, &PutBack::default(), &[]) else {
            return false;
        };
        let text = refused.to_string();
        // The person knows which copies were restored, and keeps the line of P.
        let Some(name) = text.split_whitespace().find(|word| word.starts_with("3-")) else {
            return false;
        };
        let wish = PutBack {
            keep: Some(name.parse().unwrap()),
            ..PutBack::default()
        };
        let put = try_to(&sites, &wish, &[]).unwrap();
        let host = Host::new(&sites);
        in_sync(&put.record) == ["b"]
            && put.excluded == ["a"]
            && host
                .copies
                .read(2)
                .unwrap()
                .is_some_and(|bytes| bytes == b"p2")
    });
}

#[test]
fn i1_nothing_is_put_back_while_a_copy_is_away_that_is_not_named_as_lost() {
    with_and_without(Planted::SilentPassedOver, || {
        let sites = Sites::new(&COPIES);
        restored_with_a(&sites);
        let before = sites.record();
        let refused = try_to(&sites, &PutBack::default(), &["b"]).is_err();
        refused && sites.record() == before
    });
    let sites = Sites::new(&COPIES);
    restored_with_a(&sites);
    let error = refusal(&sites, &PutBack::default(), &["b"]);
    assert!(
        error.contains("--lost PLACE") && error.contains("b ("),
        "{error}"
    );
    let lost = |places: &[&str]| PutBack {
        lost: places.iter().map(|place| (*place).into()).collect(),
        ..PutBack::default()
    };
    let error = refusal(&sites, &lost(&["d"]), &[]);
    assert!(error.contains("no copy of this set"), "{error}");
    let error = refusal(&sites, &lost(&["a", "b", "c"]), &[]);
    assert!(error.contains("named as lost"), "{error}");
    // A person gives the second entry up: c has the first one.
    let put = try_to(&sites, &lost(&["b"]), &["b"]).unwrap();
    assert_eq!(put.excluded, ["b", "a"]);
    assert_eq!(in_sync(&put.record), ["c"]);
    let host = Host::new(&sites);
    assert_eq!(host.copies.read(1).unwrap().unwrap(), b"p1");
}

#[test]
fn i1_a_restored_copy_leaves_the_set_and_is_filled() {
    with_and_without(Planted::BehindKept, || {
        let sites = Sites::new(&COPIES);
        restored_with_a(&sites);
        let put = try_to(&sites, &PutBack::default(), &[]).unwrap();
        // The intact copy is away.
        let host = Host::new_beside(&sites, &["b"]);
        let read = host.copies.read(2);
        let is_lost = matches!(read, Ok(None));
        put.excluded == ["a"] && !is_lost
    });
}

/// The copy c was excluded after entry 1, and is restored to before that.
#[test]
fn i1_a_restored_copy_that_is_out_is_compared_from_the_beginning() {
    with_and_without(Planted::RecordedTrusted, || {
        let sites = Sites::new(&COPIES);
        let c = sites.backup("c");
        let p = Host::new(&sites);
        p.appends(1, "p1");
        p.appends(2, "p2");
        p.cut(&["c"]);
        p.appends(3, "p3");
        sites.restore("c", &c);
        p.cut(&[]);
        p.maintain();
        let life = sites.record().copies.iter().map(|copy| copy.life).max();
        let c = super::life::Life::new(sites.at("c"), life.unwrap());
        sites.in_sync() == ["a", "b", "c"] && c.read(1).unwrap().is_some()
    });
}

/// A process writes generations 2 and 3. Then its keeper is restored, and the process has no directory to notice that.
#[test]
fn a_process_that_meets_an_older_register_begins_another_line() {
    with_and_without(Planted::AuthorKept, || {
        let store = Arc::new(MemoryStore::new());
        let keeper = Keeper::new(store.clone());
        let first = SetRecord::new(9, &["a".into(), "b".into()], 1);
        keeper.replace(None, &first).unwrap();
        let advance = |writer: u64| {
            let view = keeper.read().unwrap();
            match keeper
                .replace(Some(&view.version), &view.record.taken(writer))
                .unwrap()
            {
                Replaced::Done(view) => view.record.clone(),
                other => panic!("{other:?}"),
            }
        };
        let backup = store.read_register(Register::Copies).unwrap().unwrap();
        advance(2);
        let lost = advance(3);
        set(&*store, &backup.bytes);
        advance(4);
        advance(5);
        let other = advance(6);
        other.after_state(&lost) == After::Other
    });
}

fn version_of(sites: &Sites) -> String {
    let stored = sites.at(KEEPER).read_register(Register::Copies).unwrap();
    let text = String::from_utf8(stored.unwrap().bytes).unwrap();
    text.lines().next().unwrap().into()
}

/// Programs without an ancestry may serve and follow: nothing that hosts and persons do makes the register one that these
/// cannot read, until a person raises it.
#[test]
fn a_set_of_earlier_programs_stays_readable_for_them_until_a_person_raises_it() {
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let unsigned = SetRecord::new(9, &["a".into(), "b".into()], 0);
    set(&*sites.at(KEEPER), unsigned.encode().as_bytes());
    let host = Host::new(&sites);
    host.appends(1, "one");
    host.cut(&["b"]);
    host.appends(2, "two");
    host.cut(&[]);
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "b"]);
    assert_eq!(version_of(&sites), "format_version = 1");
    // A follower excludes a copy that it cannot read from.
    let follower = Host::new_beside(&sites, &["b"]);
    for _ in 0..40 {
        let _ = follower.copies.read(1);
        super::time::Time::pause(&follower.net, std::time::Duration::from_millis(50));
    }
    assert_eq!(sites.in_sync(), ["a"]);
    assert_eq!(version_of(&sites), "format_version = 1");
    host.maintain();
    host.change(&["c"], &[]).unwrap();
    assert_eq!(version_of(&sites), "format_version = 2");
    let keeper = Keeper::new(sites.at(KEEPER) as Arc<dyn RemotePlace>);
    let view = keeper.read().unwrap();
    assert!(!view.record.has_ancestry());
    keeper
        .replace_signed(Some(&view.version), &view.record.raised())
        .unwrap();
    assert_eq!(version_of(&sites), "format_version = 3");
    // The host that serves continues.
    host.appends(3, "three");
    assert_eq!(version_of(&sites), "format_version = 3");
}

fn without(places: &[&str]) -> PutBack {
    PutBack {
        lost: places.iter().map(|place| (*place).into()).collect(),
        ..PutBack::default()
    }
}

/// `a` was restored to a moment after its last state, so it has an entry that no other copy has.
#[test]
fn a_copy_that_is_named_as_lost_and_knows_a_state_keeps_its_line_from_being_discarded() {
    let sites = Sites::new(&COPIES);
    let first = Host::new(&sites);
    first.appends(1, "one");
    let (keeper, b) = (sites.record(), sites.backup("b"));
    first.cut(&["c"]);
    first.appends(2, "two");
    drop(first);
    set(&*sites.at(KEEPER), keeper.encode().as_bytes());
    sites.restore("b", &b);
    let other = Host::new_beside(&sites, &["a", "b"]);
    other.appends(2, "another");
    drop(other);
    let put = try_to(&sites, &without(&["a", "b"]), &[]);
    let refused = put.expect_err("of two lines");
    assert!(matches!(refused, Unfinished::Refused(Refused::Lines(_))));
}

/// Only a directory knows the newest state, and its one copy was restored to before all entries.
#[test]
fn a_restored_set_is_not_kept_while_a_copy_outside_of_it_knows_more() {
    let sites = Sites::new(&COPIES);
    let (keeper, a) = (sites.record(), sites.backup("a"));
    let host = Host::new(&sites);
    host.appends(1, "one");
    host.cut(&["c"]);
    host.appends(2, "two");
    host.cut(&["b", "c"]);
    host.appends(3, "three");
    drop(host);
    let newest = sites.record();
    set(&*sites.at(KEEPER), keeper.encode().as_bytes());
    sites.restore("a", &a);
    let put = Host::try_to_put_back(
        &sites,
        sites.at(KEEPER),
        Some(newest),
        &PutBack::default(),
        &[],
    );
    let refused = put
        .expect_err("restored")
        .of(&Keeper::new(sites.at(KEEPER)));
    assert!(refused.to_string().contains("know more"), "{refused}");
    try_to(&sites, &PutBack::default(), &[]).expect("b has two entries");
    let host = Host::new(&sites);
    assert_eq!(host.copies.read(2).unwrap().unwrap(), b"two");
}

/// `b` has as many entries of the discarded line as its number records of the kept one.
#[test]
fn a_copy_outside_of_the_set_is_compared_after_a_line_was_discarded() {
    for lost in [&[][..], &["b"]] {
        let sites = Sites::new(&COPIES);
        let (keeper, b) = (sites.record(), sites.backup("b"));
        let first = Host::new(&sites);
        first.appends(1, "one");
        first.appends(2, "two");
        first.cut(&["b"]);
        first.appends(3, "three");
        drop(first);
        let newest = sites.record();
        set(&*sites.at(KEEPER), keeper.encode().as_bytes());
        sites.restore("b", &b);
        let other = Host::new_beside(&sites, &["a", "c"]);
        other.appends(1, "another");
        other.appends(2, "and another");
        drop(other);
        let wish = PutBack {
            keep: Some(super::evidence::name_of(&newest)),
            ..without(lost)
        };
        try_to(&sites, &wish, &[]).expect("the line is chosen");
        let host = Host::new(&sites);
        host.appends(4, "four");
        host.maintain();
        let record = sites.record();
        let copy = record.copies.iter().find(|copy| copy.place == "b");
        let copy = super::life::Life::new(sites.at("b"), copy.unwrap().life);
        for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
            assert_eq!(copy.read(number).unwrap().unwrap(), text.as_bytes());
        }
    }
}

/// The keeper and two copies are restored while a process runs. It reaches a generation of which it informed them before.
#[test]
fn each_copy_in_sync_knows_the_state_under_which_an_entry_is_acknowledged() {
    let sites = Sites::new(&COPIES);
    let host = Host::new(&sites);
    host.appends(1, "one");
    let (keeper, a, b) = (sites.record(), sites.backup("a"), sites.backup("b"));
    host.cut(&["c"]);
    host.appends(2, "two");
    set(&*sites.at(KEEPER), keeper.encode().as_bytes());
    sites.restore("a", &a);
    sites.restore("b", &b);
    host.cut(&[]);
    let appended = host
        .append(2, "again")
        .and_then(|_| host.append(3, "three"));
    let record = sites.record();
    let knows = |place: &str| {
        let seen = super::witness::seen_at(&*sites.at(place)).unwrap();
        let mut seen = seen.iter();
        seen.any(|seen| seen.generation == record.generation && seen.author == record.author())
    };
    let mut in_sync = record.in_sync();
    assert!(appended.is_err() || in_sync.all(|copy| knows(&copy.place)));
}
