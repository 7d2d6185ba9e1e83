use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::task::Wake;

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counter {
    fn woken(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

fn channel(name: &str) -> Arc<[u8]> {
    name.as_bytes().into()
}

fn message(channel: &str, payload: &str) -> Arc<Message> {
    Arc::new(Message {
        channel: channel.as_bytes().into(),
        matched: None,
        payload: payload.as_bytes().into(),
        process: 7,
        is_owed: false,
    })
}

fn taken(inbox: &Inbox) -> Vec<String> {
    let taken = inbox.take(usize::MAX);
    let text = |message: Arc<Message>| String::from_utf8_lossy(&message.payload).into_owned();
    taken.into_iter().map(text).collect()
}

fn post(hub: &Hub, channel: &str, payload: &str) -> Option<u64> {
    hub.post([message(channel, payload)].iter())
}

#[test]
fn messages_are_given_out_when_they_are_durable_and_none_before_is_left() {
    let hub = Arc::new(Hub::default());
    let (one, other) = (hub.enter(1), hub.enter(2));
    assert_eq!(post(&hub, "a", "nobody listens"), None);
    one.listen(&Listening::To(channel("a")));
    other.listen(&Listening::To(channel("a")));
    other.listen(&Listening::To(channel("b")));
    let numbers = ["1", "2", "3", "4"].map(|payload| post(&hub, "a", payload).unwrap());
    hub.durable(numbers[1]);
    assert_eq!(taken(&one), Vec::<String>::new());
    hub.withdraw(numbers[0]);
    assert_eq!(taken(&one), ["2"]);
    hub.durable_to(numbers[3]);
    assert_eq!(taken(&one), ["3", "4"]);
    assert_eq!(taken(&other), ["2", "3", "4"]);
    assert_eq!(other.channels(), [channel("a"), channel("b")]);
    assert!(other.listens(b"b") && !one.listens(b"b"));
    // A listener that has left is no listener.
    drop(other);
    assert_eq!(post(&hub, "b", "5"), None);
}

#[test]
fn channels_that_begin_alike_are_found_with_their_listeners() {
    let hub = Arc::new(Hub::default());
    let (one, other) = (hub.enter(1), hub.enter(2));
    for name in ["a", "b", "ba", "bb", "c"] {
        one.listen(&Listening::To(channel(name)));
    }
    other.listen(&Listening::To(channel("ba")));
    one.listen(&Listening::NoMore(channel("bb")));
    let found = |prefix: &[u8]| {
        hub.look(|channels| {
            let found = channels.beginning_with(prefix);
            found
                .map(|(name, count)| (String::from_utf8_lossy(name).into_owned(), count))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(found(b"b"), [("b".into(), 1), ("ba".into(), 2)]);
    assert_eq!(found(b"bb"), []);
    assert_eq!(found(b"").len(), 4);
    let listeners = |name: &[u8]| hub.look(|channels| channels.listeners(name));
    assert_eq!((listeners(b"ba"), listeners(b"bb")), (2, 0));
}

#[test]
fn posts_that_are_left_are_settled_and_keep_nothing_back() {
    let is_durable = Arc::new(AtomicBool::new(true));
    let (asked, work) = (is_durable.clone(), Arc::new(Mutex::new(Vec::new())));
    let works = work.clone();
    let posting = Posting::new(
        move || asked.load(Ordering::Relaxed),
        move |one| works.lock().unwrap().push(one),
    );
    let one = posting.hub().enter(1);
    one.listen(&Listening::To(channel("a")));
    let post = |payload| posting.post([message("a", payload)].iter()).unwrap();
    let run = || {
        let taken = std::mem::take(&mut *work.lock().unwrap());
        let count = taken.len();
        taken.into_iter().for_each(|one| one());
        count
    };
    drop(post("1"));
    drop(post("2"));
    post("3").durable_alone();
    assert_eq!(taken(&one), Vec::<String>::new());
    // One thread for both.
    assert_eq!(run(), 1);
    assert_eq!(taken(&one), ["1", "2", "3"]);
    is_durable.store(false, Ordering::Relaxed);
    drop(post("lost"));
    post("4").durable_alone();
    assert_eq!(run(), 1);
    assert_eq!(taken(&one), ["4"]);
    // There was no thread: the next one settles both.
    is_durable.store(true, Ordering::Relaxed);
    drop(post("5"));
    work.lock().unwrap().clear();
    drop(post("6"));
    assert_eq!(run(), 1);
    assert_eq!(taken(&one), ["5", "6"]);
}

#[test]
fn who_ends_to_listen_gets_nothing_more_of_the_channel() {
    let hub = Arc::new(Hub::default());
    let one = hub.enter(1);
    one.listen(&Listening::To(channel("a")));
    one.listen(&Listening::To(channel("b")));
    let waiting = post(&hub, "a", "waits").unwrap();
    hub.durable_to(waiting);
    let later = post(&hub, "a", "not durable yet").unwrap();
    let kept = post(&hub, "b", "kept").unwrap();
    one.listen(&Listening::NoMore(channel("a")));
    hub.durable_to(later);
    hub.durable_to(kept);
    assert_eq!(taken(&one), ["kept"]);
    one.listen(&Listening::ToNone);
    assert_eq!(one.channels(), Vec::<Arc<[u8]>>::new());
    assert_eq!(post(&hub, "b", "too late"), None);
    assert_eq!(hub.usage(), 0.0);
}

#[test]
fn many_channels_are_ended_together_with_their_messages() {
    let hub = Arc::new(Hub::default());
    let one = hub.enter(1);
    let names: Vec<_> = (0..3000)
        .map(|number| channel(&format!("c{number}")))
        .collect();
    for name in &names {
        one.listen(&Listening::To(name.clone()));
    }
    for name in ["c1", "c2999", "c2998", "c1"] {
        hub.durable_to(post(&hub, name, name).unwrap());
    }
    let ended: Vec<_> = [&names[..2], &names[2999..]].concat();
    one.end(&ended);
    assert_eq!(one.channels(), names[2..2999]);
    let waits = message("c2998", "c2998").bytes();
    assert_eq!(hub.usage(), waits as f64 / WAITING_BYTES_MAX as f64);
    assert_eq!(taken(&one), ["c2998"]);
    one.end(&names);
    assert!(one.channels().is_empty() && hub.usage() == 0.0);
}

#[test]
fn who_forgets_channels_keeps_the_messages_that_wait_and_who_leaves_listens_to_none() {
    let hub = Arc::new(Hub::default());
    let one = hub.enter(1);
    let names: Vec<_> = (0..3000)
        .map(|number| channel(&format!("c{number}")))
        .collect();
    for name in &names {
        one.listen(&Listening::To(name.clone()));
    }
    let number = post(&hub, "c1", "waits").unwrap();
    hub.durable(number);
    one.forget(&names[..2]);
    one.forget(&names[..1]);
    assert_eq!(one.channels(), names[2..]);
    assert_eq!(post(&hub, "c1", "behind"), None);
    assert_eq!(taken(&one), ["waits"]);
    drop(one);
    hub.look(|channels| assert_eq!(channels.beginning_with(b"").count(), 0));
}

#[test]
fn a_listener_is_woken_by_what_it_waits_for() {
    let hub = Arc::new(Hub::default());
    let one = hub.enter(1);
    let counter = Arc::new(Counter::default());
    let waker = Waker::from(counter.clone());
    let context = Context::from_waker(&waker);
    assert_eq!(one.poll(true, &context), Poll::Pending);
    one.listen(&Listening::To(channel("a")));
    assert_eq!(one.poll(true, &context), Poll::Pending);
    let first = post(&hub, "a", "1").unwrap();
    assert_eq!(counter.woken(), 0);
    hub.durable_to(first);
    assert_eq!(counter.woken(), 1);
    assert_eq!(one.poll(true, &context), Poll::Ready(Event::Messages));
    // In a transaction it waits for its end only.
    assert_eq!(one.poll(false, &context), Poll::Pending);
    let second = post(&hub, "a", "2").unwrap();
    hub.durable_to(second);
    assert_eq!(counter.woken(), 0);
    assert_eq!(one.poll(true, &context), Poll::Ready(Event::Messages));
    assert_eq!(taken(&one), ["1", "2"]);
}

#[test]
fn a_listener_that_takes_nothing_is_ended_at_the_bound_and_others_are_not() {
    let hub = Arc::new(Hub::default());
    let (slow, quick) = (hub.enter(1), hub.enter(2));
    let counter = Arc::new(Counter::default());
    let waker = Waker::from(counter.clone());
    let context = Context::from_waker(&waker);
    for inbox in [&slow, &quick] {
        inbox.listen(&Listening::To(channel("a")));
    }
    assert_eq!(slow.poll(false, &context), Poll::Pending);
    let payload = "x".repeat(1 << 20);
    let bytes = message("a", &payload).bytes();
    let fit = WAITING_BYTES_MAX / bytes;
    for _ in 0..fit {
        hub.durable_to(post(&hub, "a", &payload).unwrap());
        assert_eq!(quick.take(1).len(), 1);
    }
    assert!(hub.usage() > 0.9 && counter.woken() == 0 && !slow.is_over());
    hub.durable_to(post(&hub, "a", &payload).unwrap());
    assert_eq!(counter.woken(), 1);
    assert_eq!(
        slow.poll(false, &context),
        Poll::Ready(Event::Over(Over::Behind))
    );
    assert!(slow.take(usize::MAX).is_empty() && slow.channels().is_empty());
    assert_eq!(hub.usage(), bytes as f64 / WAITING_BYTES_MAX as f64);
    // It is ended for good.
    slow.listen(&Listening::To(channel("b")));
    assert_eq!(post(&hub, "b", "1"), None);
    assert_eq!(quick.take(usize::MAX).len(), 1);
}

#[test]
fn of_a_listener_that_is_ended_some_channels_are_closed_and_the_others_when_it_leaves() {
    let hub = Arc::new(Hub::default());
    let (slow, quick) = (hub.enter(1), hub.enter(2));
    let names: Vec<_> = (0..LEFT_AT_ONCE + 2)
        .map(|number| channel(&format!("c{number}")))
        .collect();
    for name in &names {
        slow.listen(&Listening::To(name.clone()));
    }
    let last = format!("c{}", LEFT_AT_ONCE + 1);
    quick.listen(&Listening::To(channel(&last)));
    let payload = "x".repeat(WAITING_BYTES_MAX);
    hub.durable_to(post(&hub, "c0", &payload).unwrap());
    assert!(slow.is_over());
    assert_eq!(slow.channels(), names[LEFT_AT_ONCE..]);
    // It receives nothing more, from whatever channel.
    hub.durable_to(post(&hub, &last, "1").unwrap());
    assert!(slow.take(usize::MAX).is_empty() && hub.usage() > 0.0);
    assert_eq!(taken(&quick), ["1"]);
    assert_eq!(hub.usage(), 0.0);
    drop(slow);
    assert_eq!(hub.look(|channels| channels.beginning_with(b"").count()), 1);
}

#[test]
fn a_listener_is_ended_when_what_it_waits_for_is_withdrawn() {
    let hub = Arc::new(Hub::default());
    let (one, other) = (hub.enter(1), hub.enter(2));
    let counter = Arc::new(Counter::default());
    let waker = Waker::from(counter.clone());
    let context = Context::from_waker(&waker);
    one.listen(&Listening::To(channel("a")));
    for name in [channel("a"), channel("b")] {
        other.listen(&Listening::To(name));
    }
    assert_eq!(one.poll(true, &context), Poll::Pending);
    let owed = |name| {
        let message = Message::clone(&message(name, "owed"));
        let is_owed = true;
        hub.post([Arc::new(Message { is_owed, ..message })].iter())
    };
    hub.withdraw(post(&hub, "a", "1").unwrap());
    let number = owed("b").unwrap();
    other.listen(&Listening::NoMore(channel("b")));
    hub.withdraw(number);
    assert!(!one.is_over() && !other.is_over() && counter.woken() == 0);
    let number = owed("a").unwrap();
    other.listen(&Listening::NoMore(channel("a")));
    post(&hub, "a", "2").unwrap();
    hub.withdraw(number);
    assert_eq!(counter.woken(), 1);
    let over = Event::Over(Over::Withdrawn);
    assert_eq!(one.poll(true, &context), Poll::Ready(over));
    assert!(!other.is_over() && one.is_over());
}

#[derive(Clone, Debug)]
enum Act {
    Listen(u64, Listening),
    Post(Vec<(usize, u8)>),
    Durable(usize),
    DurableTo(usize),
    Withdraw(usize),
    Take(u64, usize),
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let name = || (0..NAMES.len()).prop_map(|at| channel(NAMES[at]));
    let change = prop_oneof![
        6 => name().prop_map(Listening::To),
        3 => name().prop_map(Listening::NoMore),
        1 => Just(Listening::ToNone),
    ];
    let act = prop_oneof![
        4 => (0..3_u64, change).prop_map(|(id, change)| Act::Listen(id, change)),
        4 => prop::collection::vec((0..NAMES.len(), any::<u8>()), 1..4).prop_map(Act::Post),
        2 => any::<prop::sample::Index>().prop_map(|at| Act::Durable(at.index(1000))),
        2 => any::<prop::sample::Index>().prop_map(|at| Act::DurableTo(at.index(1000))),
        1 => any::<prop::sample::Index>().prop_map(|at| Act::Withdraw(at.index(1000))),
        2 => (0..3_u64, 0..400_usize).prop_map(|(id, bytes)| Act::Take(id, bytes)),
    ];
    prop::collection::vec(act, 0..80)
}

/// A channel, a payload, and who listened when it was posted.
type Told = (usize, u8, Vec<u64>);

/// The same by plain lists, which are searched from the beginning each time.
#[derive(Default)]
struct Model {
    listens: BTreeMap<u64, Vec<usize>>,
    /// The number, the fate (none as long as it is not known), and the messages.
    posts: Vec<(u64, Option<bool>, Vec<Told>)>,
    given: usize,
    waiting: BTreeMap<u64, Vec<(usize, u8)>>,
}

impl Model {
    fn decide(&mut self, fate: bool, is_meant: impl Fn(u64) -> bool) {
        for (number, there, _) in &mut self.posts {
            if is_meant(*number) {
                there.get_or_insert(fate);
            }
        }
        while let Some((_, Some(fate), messages)) = self.posts.get(self.given) {
            self.given += 1;
            for (channel, payload, listeners) in messages.iter().filter(|_| *fate) {
                for id in listeners {
                    if self.listens.entry(*id).or_default().contains(channel) {
                        let waiting = self.waiting.entry(*id).or_default();
                        waiting.push((*channel, *payload));
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn channels_do_what_plain_lists_do(acts in acts()) {
        let (mut channels, mut model) = (Channels::default(), Model::default());
        let at = |name: &Arc<[u8]>| NAMES.iter().position(|n| n.as_bytes() == &name[..]).unwrap();
        for act in acts {
            let number = |model: &Model, at: usize| match model.posts.len() {
                0 => 0,
                posts => model.posts[at % posts].0,
            };
            match act {
                Act::Listen(id, change) => {
                    channels.listen(id, &change);
                    let listens = model.listens.entry(id).or_default();
                    let waiting = model.waiting.entry(id).or_default();
                    match change {
                        Listening::To(name) if listens.contains(&at(&name)) => {}
                        Listening::To(name) => listens.push(at(&name)),
                        Listening::NoMore(name) => {
                            listens.retain(|there| *there != at(&name));
                            waiting.retain(|(there, _)| *there != at(&name));
                        }
                        Listening::ToNone => (listens.clear(), waiting.clear()).0,
                    }
                }
                Act::Post(sent) => {
                    let messages = sent.iter().map(|(at, payload)| {
                        message(NAMES[*at], &payload.to_string())
                    });
                    let messages: Vec<_> = messages.collect();
                    let post = channels.post(messages.iter());
                    let told = sent.iter().map(|(at, payload)| {
                        let listens = model.listens.iter();
                        let who = listens.filter(|(_, there)| there.contains(at));
                        (*at, *payload, who.map(|(id, _)| *id).collect::<Vec<_>>())
                    });
                    let told: Vec<_> = told.collect();
                    let is_heard = told.iter().any(|(_, _, who)| !who.is_empty());
                    prop_assert_eq!(post.is_some(), is_heard);
                    model.posts.extend(post.map(|number| (number, None, told)));
                }
                Act::Durable(at) => {
                    let number = number(&model, at);
                    channels.durable(number);
                    model.decide(true, |post| post == number);
                }
                Act::DurableTo(at) => {
                    let number = number(&model, at);
                    channels.durable_to(number);
                    model.decide(true, |post| post <= number);
                }
                Act::Withdraw(at) => {
                    let number = number(&model, at);
                    // A durable one is not withdrawn.
                    if model.posts.iter().any(|(n, fate, _)| *n == number && fate.is_none()) {
                        channels.withdraw(number);
                        model.decide(false, |post| post == number);
                    }
                }
                Act::Take(id, bytes) => {
                    let taken = channels.take(id, bytes);
                    let waiting = model.waiting.entry(id).or_default();
                    prop_assert!(waiting.is_empty() == taken.is_empty());
                    for (message, (at, payload)) in taken.iter().zip(waiting.drain(..taken.len())) {
                        prop_assert_eq!(&message.channel[..], NAMES[at].as_bytes());
                        let payload = payload.to_string();
                        prop_assert_eq!(&message.payload[..], payload.as_bytes());
                    }
                }
            }
            for id in 0..3 {
                let listens = model.listens.entry(id).or_default();
                let there: Vec<usize> = channels.channels_of(id).map(at).collect();
                prop_assert_eq!(&there, listens);
            }
        }
        for id in 0..3 {
            let left = channels.take(id, usize::MAX).len();
            prop_assert_eq!(left, model.waiting.entry(id).or_default().len());
        }
    }
}
