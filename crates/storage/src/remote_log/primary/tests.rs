//! A register in memory, with hosts that claim, renew, release, and name each other.

use super::*;
use proptest::prelude::*;

const WAIT: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Kept(u64, Option<StoredRegister>);

impl Kept {
    fn get(&self) -> Option<&StoredRegister> {
        self.1.as_ref()
    }

    fn put(&mut self, record: &Primary) {
        self.0 += 1;
        self.1 = Some(StoredRegister {
            bytes: record.encode().into(),
            version: RegisterVersion(self.0.to_string()),
        });
    }

    fn replace(&mut self, with: &Replacement) -> bool {
        let is_it = self.get().map(|stored| &stored.version) == with.expected.as_ref();
        if is_it {
            self.put(&with.record);
        }
        is_it
    }

    fn primary(&self) -> Primary {
        Primary::decode(1, self.get()).unwrap().unwrap()
    }
}

fn candidate(host: &str) -> Candidate {
    Candidate::new(1, host, u64::from(host.as_bytes()[0]), WAIT)
}

fn at(start: Instant, milliseconds: u64) -> [Instant; 2] {
    [start + Duration::from_millis(milliseconds); 2]
}

fn claims(candidate: &mut Candidate, kept: &Kept, now: [Instant; 2]) -> Option<Replacement> {
    match candidate.look(kept.get(), now).unwrap() {
        Look::Claim(replacement) => Some(replacement),
        Look::Follow(_) => None,
    }
}

fn renew(term: &mut Term, kept: &mut Kept, now: Instant) {
    if term.duty(now) == Duty::Renew
        && let Some(replacement) = term.found(kept.get()).unwrap()
    {
        assert!(kept.replace(&replacement));
        term.renewed(now);
    }
}

#[test]
fn one_serves_while_it_lives_and_another_when_it_is_gone() {
    let start = Instant::now();
    let (mut kept, mut a, mut b) = (Kept::default(), candidate("a"), candidate("b"));
    let [first, second] = [&mut a, &mut b].map(|c| claims(c, &kept, at(start, 0)).unwrap());
    assert!(kept.replace(&first) && !kept.replace(&second), "one of two");
    let mut term = Term::new(first.record, start);
    for now in (0..10_000).step_by(100) {
        renew(&mut term, &mut kept, at(start, now)[0]);
        assert!(claims(&mut b, &kept, at(start, now)).is_none(), "{now}");
    }
    // It is stopped; its lease is over long before any host takes it for failed.
    let taken = (10_000..20_000).step_by(100);
    let mut taken = taken.filter_map(|now| Some((now, claims(&mut b, &kept, at(start, now))?)));
    let (now, second) = taken.next().unwrap();
    assert!((11_600..=12_100).contains(&now), "{now}");
    assert!(term.lease_until().unwrap() < at(start, now)[0]);
    assert!(kept.replace(&second));
    assert_eq!(term.duty(at(start, now)[0]), Duty::Renew);
    assert_eq!(term.found(kept.get()).unwrap(), None);
    assert_eq!(term.duty(at(start, now)[0]), Duty::Over);
    assert_eq!(term.lease_until(), None);
    assert_eq!(kept.primary().host, "b");
}

#[test]
fn who_is_wanted_takes_over_when_it_is_released_and_others_when_it_does_not_come() {
    let start = Instant::now();
    for (wanted, taker) in [("b", "b"), (ANY_OTHER, "b"), ("c", "late"), ("a", "a")] {
        let (mut kept, mut a, mut b) = (Kept::default(), candidate("a"), candidate("b"));
        let first = claims(&mut a, &kept, at(start, 0)).unwrap();
        assert!(kept.replace(&first));
        let mut term = Term::new(first.record, start);
        let asked = Primary {
            wanted: Some(wanted.into()),
            ..kept.primary()
        };
        kept.put(&asked);
        assert!(claims(&mut b, &kept, at(start, 100)).is_none(), "it serves");
        let found = term.found(kept.get()).unwrap().unwrap();
        assert_eq!(term.wanted(), (wanted != "a").then_some(wanted));
        assert!(kept.replace(&Term::release(found, false)));
        let [by_a, by_b] = [&mut a, &mut b].map(|c| claims(c, &kept, at(start, 200)).is_some());
        assert_eq!((by_a, by_b), (taker == "a", matches!(taker, "a" | "b")));
        let late = (300..3000).step_by(100);
        let mut late = late.map(|now| claims(&mut b, &kept, at(start, now)).is_some());
        assert!(late.any(|claims| claims), "nobody waits for ever");
    }
}

#[test]
fn a_process_that_comes_back_need_not_wait_for_itself() {
    let start = Instant::now();
    let (mut kept, mut before) = (Kept::default(), candidate("a"));
    let first = claims(&mut before, &kept, at(start, 0)).unwrap();
    assert!(kept.replace(&first));
    let mut again = Candidate::new(1, "a", 99, WAIT);
    let second = claims(&mut again, &kept, at(start, 10)).unwrap();
    assert!(kept.replace(&second));
    let mut term = Term::new(first.record, start);
    assert_eq!(term.found(kept.get()).unwrap(), None, "it has a successor");
}

#[test]
fn each_term_of_a_process_has_its_own_number_and_none_is_waited_for() {
    let start = Instant::now();
    let (mut kept, mut a) = (Kept::default(), candidate("a"));
    let first = claims(&mut a, &kept, at(start, 0)).unwrap();
    assert!(kept.replace(&first));
    a.begins_term();
    // The store did not take the end of that term.
    let second = claims(&mut a, &kept, at(start, 10)).unwrap();
    assert_eq!(second.record.process, first.record.process + 1);
    // The claim is there, though its answer was lost.
    assert!(kept.replace(&second));
    let again = claims(&mut a, &kept, at(start, 20)).unwrap();
    assert_eq!(again.record.process, second.record.process);
    // Another process of this name is not this one.
    kept.put(&Primary {
        process: second.record.process + 1,
        ..kept.primary()
    });
    assert!(claims(&mut a, &kept, at(start, 30)).is_none());
}

#[test]
fn two_hosts_of_one_name_do_not_take_over_from_each_other_in_turn() {
    let start = Instant::now();
    let process = |process| Candidate::new(1, "a", process, WAIT);
    let (mut kept, mut one, mut other) = (Kept::default(), process(1), process(2));
    let first = claims(&mut one, &kept, at(start, 0)).unwrap();
    assert!(kept.replace(&first));
    let second = claims(&mut other, &kept, at(start, 10)).unwrap();
    assert!(kept.replace(&second), "as one that comes back");
    let mut second = Term::new(second.record, start);
    for now in (100..10_000).step_by(100) {
        renew(&mut second, &mut kept, at(start, now)[0]);
        assert!(claims(&mut one, &kept, at(start, now)).is_none(), "{now}");
    }
}

#[test]
fn a_lease_that_ran_out_begins_anew_if_nobody_has_taken_over() {
    let start = Instant::now();
    let (mut kept, mut a) = (Kept::default(), candidate("a"));
    let first = claims(&mut a, &kept, at(start, 0)).unwrap();
    assert!(kept.replace(&first));
    let mut term = Term::new(first.record, start);
    // The store was away for an hour.
    let late = at(start, 3_600_000)[0];
    assert!(term.lease_until().unwrap() < late);
    renew(&mut term, &mut kept, late);
    assert_eq!(term.lease_until(), Some(late + WAIT / 2));
}

#[test]
fn what_is_released_to_others_is_this_host_s_again_if_none_comes() {
    let start = Instant::now();
    let (mut kept, mut a, mut b) = (Kept::default(), candidate("a"), candidate("b"));
    let first = claims(&mut a, &kept, at(start, 0)).unwrap();
    assert!(kept.replace(&first));
    let mut term = Term::new(first.record, start);
    let found = term.found(kept.get()).unwrap().unwrap();
    assert!(kept.replace(&Term::release(found, true)));
    assert!(claims(&mut a, &kept, at(start, 100)).is_none());
    assert!(claims(&mut b, &kept, at(start, 100)).is_some());
    let mut late = (200..3000).step_by(100);
    assert!(late.any(|now| claims(&mut a, &kept, at(start, now)).is_some()));
    // Nor does one with a long lease wait for that.
    let record = Primary {
        wait: Duration::from_secs(3600),
        ..kept.primary()
    };
    kept.put(&record);
    let mut late = (4000..7000).step_by(100);
    assert!(late.any(|now| claims(&mut a, &kept, at(start, now)).is_some()));
}

proptest! {
    #[test]
    fn a_record_reads_back_and_any_other_byte_is_noticed(
        process: u64, count: u64, wait in 0u64..86_400_000, released: bool,
        host in "[a-zA-Z0-9._]{1,20}", wanted in proptest::option::of("[a-z]{1,9}|\\*"),
        changed: prop::sample::Index, to: u8,
    ) {
        let wait = Duration::from_millis(wait);
        let record = Primary { identity: 1, host, process, count, wait, released, wanted };
        let mut kept = Kept::default();
        kept.put(&record);
        prop_assert_eq!(&kept.primary(), &record);
        let mut stored = kept.1.unwrap();
        let at = changed.index(stored.bytes.len());
        let same = stored.bytes[at] == to;
        stored.bytes[at] = to;
        prop_assert_eq!(Primary::decode(1, Some(&stored)).is_ok(), same);
        stored.bytes.truncate(at);
        prop_assert!(Primary::decode(1, Some(&stored)).is_err());
    }
}

#[test]
fn names_that_would_be_read_as_something_else_are_refused() {
    assert!(
        ["a", "host-1.example.org", "--"]
            .iter()
            .all(|name| is_host_name(name))
    );
    let long = "a".repeat(HOST_NAME_BYTES_MAX + 1);
    for name in ["", "-", "*", "a b", "a\nb", "ä", &long] {
        assert!(!is_host_name(name), "{name:?}");
    }
}
