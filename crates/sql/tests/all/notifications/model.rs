//! Sessions that notify and listen, as plain lists.

use proptest::prelude::*;

#[derive(Clone, Debug)]
pub enum Say {
    Begin(bool),
    Listen(usize),
    Unlisten(Option<usize>),
    Notify(usize, u8, bool),
    Insert,
    Fail,
    Savepoint,
    Back,
    Commit,
    Rollback,
}

pub const NAMES: [&str; 2] = ["a", "b"];

pub fn says() -> impl Strategy<Value = Vec<(usize, Vec<Say>)>> {
    let say = prop_oneof![
        2 => any::<bool>().prop_map(Say::Begin),
        3 => (0..2_usize).prop_map(Say::Listen),
        1 => prop::option::of(0..2_usize).prop_map(Say::Unlisten),
        8 => (0..2_usize, 0..4_u8, any::<bool>()).prop_map(|(c, p, f)| Say::Notify(c, p, f)),
        2 => Just(Say::Insert),
        1 => Just(Say::Fail),
        1 => Just(Say::Savepoint),
        1 => Just(Say::Back),
        3 => Just(Say::Commit),
        1 => Just(Say::Rollback),
    ];
    // What one session says at once is one text.
    let flight = prop_oneof![3 => prop::collection::vec(say.clone(), 1..2), 1 => prop::collection::vec(say, 2..5)];
    prop::collection::vec((0..2_usize, flight), 1..50)
}

/// What a transaction signalled: notifications, and channels with whether they are listened to.
#[derive(Clone, Default)]
pub struct Signals {
    pub told: Vec<(usize, u8)>,
    pub listens: Vec<(Option<usize>, bool)>,
}

#[derive(Default)]
pub struct Transaction {
    pub read_only: bool,
    pub is_block: bool,
    pub has_failed: bool,
    pub signals: Signals,
    pub savepoints: Vec<Signals>,
}

/// Sessions as plain lists.
#[derive(Default)]
pub struct Model {
    pub listens: [Vec<usize>; 2],
    pub come: [Vec<String>; 2],
    pub open: [Option<Transaction>; 2],
    pub rows: usize,
}

impl Model {
    pub fn text(&mut self, say: &Say) -> String {
        match say {
            Say::Begin(false) => "begin".into(),
            Say::Begin(true) => "begin read only".into(),
            Say::Listen(channel) => format!("listen {}", NAMES[*channel]),
            Say::Unlisten(None) => "unlisten *".into(),
            Say::Unlisten(Some(channel)) => format!("unlisten {}", NAMES[*channel]),
            Say::Notify(channel, payload, false) => {
                format!("notify {}, '{payload}'", NAMES[*channel])
            }
            Say::Notify(channel, payload, true) => {
                format!("select pg_notify('{}', '{payload}')", NAMES[*channel])
            }
            Say::Insert => {
                self.rows += 1;
                format!("insert into t values ({})", self.rows)
            }
            Say::Fail => "select 1 / 0".into(),
            Say::Savepoint => "savepoint s".into(),
            Say::Back => "rollback to s".into(),
            Say::Commit => "commit".into(),
            Say::Rollback => "rollback".into(),
        }
    }

    /// Says one of a text. False if it fails.
    pub fn say(&mut self, who: usize, say: &Say) -> bool {
        let open = self.open[who].get_or_insert_default();
        if open.has_failed && !matches!(say, Say::Commit | Say::Rollback | Say::Back) {
            return false;
        }
        let can = match say {
            Say::Begin(read_only) => {
                if !open.is_block {
                    (open.is_block, open.read_only) = (true, *read_only);
                }
                true
            }
            Say::Listen(channel) => {
                open.signals.listens.push((Some(*channel), true));
                true
            }
            Say::Unlisten(channel) => {
                open.signals.listens.push((*channel, false));
                true
            }
            Say::Notify(channel, payload, _) => {
                if !open.signals.told.contains(&(*channel, *payload)) {
                    open.signals.told.push((*channel, *payload));
                }
                true
            }
            Say::Insert => !open.read_only,
            Say::Fail => false,
            Say::Savepoint if open.is_block => {
                open.savepoints.push(open.signals.clone());
                true
            }
            Say::Back if open.is_block => match open.savepoints.last() {
                Some(signals) => {
                    open.signals = signals.clone();
                    open.has_failed = false;
                    true
                }
                None => false,
            },
            Say::Savepoint | Say::Back => false,
            Say::Commit => {
                self.end(who, true);
                true
            }
            Say::Rollback => {
                self.end(who, false);
                true
            }
        };
        if !can && let Some(open) = &mut self.open[who] {
            open.has_failed = true;
        }
        can
    }

    pub fn end(&mut self, who: usize, commits: bool) {
        let Some(open) = self.open[who].take() else {
            return;
        };
        if !commits || open.has_failed {
            return;
        }
        for (channel, to) in open.signals.listens {
            let listens = &mut self.listens[who];
            listens.retain(|there| channel.is_some_and(|channel| *there != channel || to));
            if let Some(channel) = channel.filter(|channel| to && !listens.contains(channel)) {
                listens.push(channel);
            }
            let of = |text: &String| listens.iter().any(|one| text.starts_with(NAMES[*one]));
            self.come[who].retain(of);
        }
        for (channel, payload) in open.signals.told {
            for (to, listens) in self.listens.iter().enumerate() {
                if listens.contains(&channel) {
                    let text = format!("{}:{payload}:{}", NAMES[channel], who + 1);
                    self.come[to].push(text);
                }
            }
        }
    }

    /// The end of a text: what is not in a block commits.
    pub fn sync(&mut self, who: usize) {
        if self.open[who].as_ref().is_some_and(|open| !open.is_block) {
            self.end(who, true);
        }
    }
}
