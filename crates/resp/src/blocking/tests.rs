use super::*;
use sardonyx_base::channels::{Inbox, Listening};
use sardonyx_base::memory::Budget;
use std::panic::{AssertUnwindSafe, catch_unwind};

const LIST: Found = Some((Kind::List, EntryId::MIN));

/// Clients of sessions 1 and so on.
struct World {
    blocked: Arc<Blocked>,
    posting: Arc<Posting>,
}

impl World {
    fn new() -> World {
        let posting = Posting::new(|| true, drop);
        World {
            blocked: Arc::new(Blocked::new(posting.clone())),
            posting,
        }
    }

    fn place(&self, session: u64) -> Arc<Place> {
        Place::new(session, &self.blocked)
    }

    fn wait_at(&self, place: &Arc<Place>, keys: &[&str]) {
        self.wait_with(place, Line::of(&[b"blpop"]), keys);
    }

    fn wait_with(&self, place: &Arc<Place>, line: Line, keys: &[&str]) {
        let call = WaitingCall {
            database: 0,
            command: crate::command::find(line.part(0)).unwrap(),
            group: crate::command::streams::group_of(&line).map(<[u8]>::to_vec),
            line,
            keys: keys.iter().map(|key| key.as_bytes().to_vec()).collect(),
            answer_bytes_max: 1 << 20,
            pending: Arc::new(Pending::new(1 << 20, Arc::new(Budget::default()))),
        };
        self.blocked.wait(call, place);
    }

    fn wait(&self, session: u64, keys: &[&str]) -> Arc<Place> {
        let place = self.place(session);
        self.wait_at(&place, keys);
        place
    }

    fn claim(&self, key: &str) -> Option<Claim> {
        let claimed = self.blocked.claim(&(0, key.into()), LIST, 0, &[]);
        claimed.map(|(claim, _)| claim)
    }

    /// The sessions that wait for a key, in the order in which they are served.
    fn order(&self, key: &str) -> Vec<u64> {
        let (mut from, mut order) = (0, Vec::new());
        let key = (0, key.into());
        while let Some((claim, behind)) = self.blocked.claim(&key, LIST, from, &[]) {
            order.push(claim.session);
            from = behind;
        }
        order
    }

    /// The inbox of a session, from now on.
    fn inbox(&self, session: u64) -> Inbox {
        let inbox = self.posting.hub().enter(0);
        let address = crate::channels::served_address(session);
        inbox.listen(&Listening::To(address));
        inbox
    }
}

/// The numbers of the places whose messages the session received.
fn told(inbox: &Inbox) -> Vec<u64> {
    let taken = inbox.take(usize::MAX);
    let places = taken
        .iter()
        .filter_map(|message| crate::channels::served_place(message));
    places.collect()
}

fn taken(place: &Place) -> Option<Reply> {
    place.take().map(|served| served.reply)
}

#[test]
fn clients_are_served_in_their_order_and_none_whose_place_is_dropped() {
    let world = World::new();
    assert!(world.blocked.is_empty());
    let one = world.wait(1, &["a", "b"]);
    let (two, three) = (world.wait(2, &["b"]), world.wait(3, &["b", "a"]));
    assert_eq!(
        (world.order("a"), world.order("b")),
        (vec![1, 3], vec![1, 2, 3])
    );
    drop(two);
    assert_eq!(world.order("b"), [1, 3]);
    let claim = world.claim("a").unwrap();
    // A claim covers all keys of the client.
    assert_eq!((claim.session, world.order("b")), (1, vec![3]));
    assert!(claim.serve(Reply::Ok.into()));
    assert_eq!((taken(&one), taken(&one)), (Some(Reply::Ok), None));
    assert!(!one.time_out() && three.time_out());
    assert!(world.blocked.is_empty() && world.order("a").is_empty());
    assert!(!world.blocked.unblock(3, Reply::Null));
    let four = world.wait(4, &["a"]);
    assert!(world.blocked.unblock(4, Reply::Null));
    assert_eq!(taken(&four), Some(Reply::Null));
}

/// The ways in which the wait of a client ends from without.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    Timeout,
    Unblock,
    Leave,
}

#[test]
fn an_end_that_crosses_with_serving_counts_only_if_the_client_is_not_served() {
    for end in [End::Timeout, End::Unblock, End::Leave] {
        // Before it is claimed, while it is, and when it was served.
        for step in 0..3 {
            for commits in [true, false] {
                let world = World::new();
                let inbox = world.inbox(1);
                let mut place = Some(world.wait(1, &["a"]));
                let number = place.as_ref().unwrap().number();
                let mut act = |at: usize| {
                    at == step
                        && match end {
                            End::Timeout => place.as_ref().unwrap().time_out(),
                            End::Unblock => world.blocked.unblock(1, Reply::Null),
                            End::Leave => place.take().is_none(),
                        }
                };
                let case = format!("{end:?} at {step}, commits: {commits}");
                let before = act(0);
                assert_eq!(before, step == 0 && end != End::Leave, "{case}");
                let claim = world.claim("a");
                assert_eq!(claim.is_some(), step > 0, "{case}");
                assert!(!act(1), "{case}");
                let is_served = match claim {
                    Some(claim) if commits => claim.serve(Reply::Ok.into()),
                    claim => {
                        drop(claim);
                        false
                    }
                };
                let late = act(2);
                assert_eq!(late, step == 2 && !commits && end != End::Leave, "{case}");
                let answer = place.as_ref().and_then(|place| taken(place));
                let (wanted, is_told) = match (end, step) {
                    (End::Leave, _) => (None, false),
                    (_, 1 | 2) if commits => (Some(Reply::Ok), false),
                    (End::Unblock, _) => (Some(Reply::Null), true),
                    // While the client is claimed, the session cannot know the outcome: it receives a message.
                    (End::Timeout, 1) => (Some(Reply::NullArray), true),
                    (End::Timeout, _) => (None, false),
                };
                assert_eq!(answer, wanted, "{case}");
                // The transaction notifies the session of its commit.
                assert_eq!(told(&inbox) == [number], is_told, "{case}");
                let gives_up = end == End::Leave && step < 2;
                assert_eq!(is_served, commits && step > 0 && !gives_up, "{case}");
                assert!(world.blocked.is_empty(), "{case}");
            }
        }
    }
}

#[test]
fn a_client_whose_serving_is_undone_or_panics_waits_on_where_it_was() {
    let world = World::new();
    let (one, two) = (world.wait(1, &["a"]), world.wait(2, &["a"]));
    drop(world.claim("a"));
    assert_eq!(world.order("a"), [1, 2]);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _claims = [world.claim("a"), world.claim("a")];
        assert_eq!(world.order("a"), [0; 0]);
        panic!("it is undone");
    }));
    assert!(panicked.is_err());
    assert_eq!(world.order("a"), [1, 2]);
    assert!(taken(&one).is_none() && taken(&two).is_none());
}

#[test]
fn an_old_place_takes_no_new_wait_away() {
    let world = World::new();
    let old = world.wait(1, &["a"]);
    let claim = world.claim("a").unwrap();
    assert!(claim.serve(Reply::Ok.into()));
    let new = world.wait(1, &["b"]);
    assert!(!old.time_out());
    drop(old);
    assert_eq!(world.order("b"), [1]);
    assert!(new.time_out() && world.blocked.is_empty());
}

#[test]
fn a_reader_is_claimed_only_if_the_stream_has_gone_on_and_for_the_place_of_its_key() {
    let world = World::new();
    let place = world.place(1);
    let line = "xread block 0 count 5 streams a b a 9-1 3-0 1-0";
    let line = Line::of(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
    world.wait_with(&place, line, &["a", "b", "a"]);
    let claim = |key: &str, ms, seq| {
        let last = EntryId { ms, seq };
        let found = Some((Kind::Stream, last));
        let claimed = world.blocked.claim(&(0, key.into()), found, 0, &[]);
        claimed.map(|(claim, _)| claim.call.line_for(claim.key))
    };
    let parts = |line: Line| line.parts(6).map(<[u8]>::to_vec).collect::<Vec<_>>();
    assert!(claim("a", 9, 1).is_none() && claim("b", 3, 0).is_none());
    assert_eq!(
        claim("a", 9, 2).map(parts),
        Some(vec![b"a".to_vec(), b"9-1".to_vec()])
    );
    assert_eq!(
        claim("b", 3, 1).map(parts),
        Some(vec![b"b".to_vec(), b"3-0".to_vec()])
    );
    assert!(world.claim("b").is_none());
}

#[test]
fn readers_of_a_group_that_has_nothing_are_passed_over() {
    let world = World::new();
    let reader = |session: u64, group: &str| {
        let place = world.place(session);
        let line = format!("xreadgroup group {group} ann block 0 streams a >");
        let line = Line::of(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
        world.wait_with(&place, line, &["a"]);
        place
    };
    let _places: Vec<_> = [(1, "g"), (2, "g"), (3, "h"), (4, "g")]
        .map(|(session, group)| reader(session, group))
        .into();
    let found = Some((Kind::Stream, EntryId { ms: 1, seq: 0 }));
    let key = (0, b"a".to_vec());
    let claim = |from, barren: &[Vec<u8>]| world.blocked.claim(&key, found, from, barren);
    let (first, behind) = claim(0, &[]).unwrap();
    assert_eq!(first.session, 1);
    let (next, behind) = claim(behind, &[b"g".to_vec()]).unwrap();
    assert_eq!(next.session, 3);
    assert!(claim(behind, &[b"g".to_vec(), b"h".to_vec()]).is_none());
    assert_eq!(claim(behind, &[b"h".to_vec()]).unwrap().0.session, 4);
}
