//! Exchanges: requests that are received on the input stage and answered on the output stage. Each is answered once,
//! in the order of its lane, when it is durable (I1), or with the reason why it is not. The program's code in it harms
//! no other (I8).

use crate::common::{Item, Opened, PIPELINED_TWICE, hide_planned_panics, in_every_shape, options};
use sardonyx::procedures::{Exchange, Outcomes, Procedure, TableSpace};
use sardonyx::{Error, Shape, Table, Transaction};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Adds to an item; nothing to 13.
#[derive(Debug)]
struct Add(Table<Item>);

impl Procedure for Add {
    type Arguments = (u64, u64);
    type Output = u64;
    type Error = &'static str;
    type Located = ();

    fn name(&self) -> &str {
        "add"
    }

    fn check(&self, (id, _): &(u64, u64)) -> Result<(), &'static str> {
        if *id == 13 { Err("unlucky") } else { Ok(()) }
    }

    fn locate(&self, _: &(u64, u64), _: &TableSpace) {}

    fn execute(
        &self,
        &(id, by): &(u64, u64),
        (): (),
        transaction: &mut Transaction<'_>,
    ) -> Result<u64, &'static str> {
        let mut value = 0;
        let add = |item: &mut Item| {
            item.value += by;
            value = item.value;
        };
        match transaction.update(self.0, id, add) {
            Ok(Some(())) => Ok(value),
            _ => Err("absent"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Planned {
    Nothing,
    PanicReceiving,
    PanicAnswering,
}

type Told = Result<Vec<Result<u64, String>>, Error>;

/// Text from a client, such as `1+5 13+1`, and where its answer goes.
struct Line {
    text: &'static str,
    planned: Planned,
    answer: Sender<Told>,
}

impl Exchange for Line {
    type Procedure = Add;

    fn requests(&mut self, requests: &mut Vec<(u64, u64)>) {
        for word in self.text.split_whitespace() {
            let (id, by) = word.split_once('+').expect("a request");
            requests.push((id.parse().expect("an id"), by.parse().expect("a number")));
        }
        assert!(self.planned != Planned::PanicReceiving, "a planned panic");
    }

    fn answer(&mut self, outcomes: Result<Outcomes<Add>, Error>) {
        let told = |outcomes: Outcomes<Add>| {
            let texts = outcomes.into_iter();
            texts
                .map(|one| one.map_err(|error| error.to_string()))
                .collect()
        };
        self.answer
            .send(outcomes.map(told))
            .expect("somebody waits");
        assert!(self.planned != Planned::PanicAnswering, "a planned panic");
    }
}

fn line(text: &'static str, planned: Planned) -> (Line, Receiver<Told>) {
    let (answer, told) = channel();
    let line = Line {
        text,
        planned,
        answer,
    };
    (line, told)
}

#[test]
fn i1_an_exchange_is_answered_in_order_when_it_is_durable() {
    in_every_shape(|shape| {
        for crash_after in 1..=3 {
            let disk = SimulatedDisk::new(1, Faults::default());
            let opened = Opened::on(&disk, options(shape)).expect("opens");
            opened.put(1, 0).expect("durable");
            let add = opened
                .database
                .register(Add(opened.items))
                .expect("registered");
            let submit = |text, lane| {
                let (line, told) = line(text, Planned::Nothing);
                let owed = opened.database.submit_exchange(&add, line, lane);
                assert_eq!(owed.is_some(), !matches!(shape, Shape::Pipelined { .. }));
                (owed, told)
            };
            let mut submitted = vec![
                submit("1+5 13+1 1+2 99+1", 3),
                submit("", 3),
                submit("1+1", 3),
            ];
            let mut answers = Vec::new();
            for (owed, told) in submitted.drain(..crash_after) {
                if let Some(owed) = owed {
                    owed.answer();
                }
                answers.push(told.recv().expect("answered").expect("durable"));
            }
            // An answered request survives a crash at this moment.
            let recovered = Opened::on(&disk.restart(Faults::default()), options(shape));
            let least = answers.iter().flatten().flatten().max().copied();
            let value = recovered.expect("recovers").get(1);
            assert!(value >= least, "{value:?} after {least:?} was answered");
            let refused = |text: &str| Err(text.to_string());
            let first = vec![Ok(5), refused("unlucky"), Ok(7), refused("absent")];
            let expected = [first, vec![], vec![Ok(8)]];
            assert_eq!(answers, expected[..crash_after]);
        }
    });
}

#[test]
fn i8_panics_of_an_exchange_end_there() {
    hide_planned_panics();
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        opened.put(1, 0).expect("durable");
        let add = opened
            .database
            .register(Add(opened.items))
            .expect("registered");
        let ask = |planned| {
            let (line, told) = line("1+1", planned);
            if let Some(owed) = opened.database.submit_exchange(&add, line, 0) {
                owed.answer();
            }
            told.recv().expect("answered")
        };
        let panicked = ask(Planned::PanicReceiving).expect_err("nothing ran");
        assert!(matches!(panicked, Error::Panicked(_)), "{panicked}");
        assert_eq!(ask(Planned::PanicAnswering).expect("durable"), [Ok(1)]);
        assert_eq!(ask(Planned::Nothing).expect("durable"), [Ok(2)]);
        opened.database.close().expect("closes");
    });
}

#[test]
fn i7_whatever_becomes_of_an_exchange_it_is_answered() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        opened.put(1, 0).expect("durable");
        let add = opened
            .database
            .register(Add(opened.items))
            .expect("registered");
        let submit = || {
            let (line, told) = line("1+1", Planned::Nothing);
            let owed = opened.database.submit_exchange(&add, line, 0);
            (owed, told)
        };
        let nested = opened.database.run(|_| Ok(submit())).expect("it ran");
        let told = nested.1.recv().expect("answered");
        assert!(matches!(told, Err(Error::Nested(_))), "{told:?}");
        // An owed answer that is not given is an error.
        if let (Some(owed), told) = submit() {
            drop(owed);
            assert!(told.recv().expect("answered").is_err());
        }
        opened.database.close().expect("closes");
        let (owed, told) = submit();
        assert!(owed.is_none());
        let told = told.recv().expect("answered");
        assert!(matches!(told, Err(Error::Closed(_))), "{told:?}");
    });
}

#[test]
fn what_was_submitted_before_the_end_is_answered_by_it() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, options(PIPELINED_TWICE)).expect("opens");
    opened.put(1, 0).expect("durable");
    opened.put(2, 0).expect("durable");
    let add = opened
        .database
        .register(Add(opened.items))
        .expect("registered");
    let told: Vec<_> = (0..300)
        .map(|n| {
            let (line, told) = line(if n % 2 == 0 { "1+1" } else { "2+1" }, Planned::Nothing);
            assert!(opened.database.submit_exchange(&add, line, n % 2).is_none());
            told
        })
        .collect();
    opened.database.close().expect("closes");
    for (n, told) in told.into_iter().enumerate() {
        let told = told.recv().expect("answered").expect("durable");
        assert_eq!(told, [Ok(n as u64 / 2 + 1)], "each lane in its order");
    }
}
