//! Every engine of the registry keeps acknowledged transactions, and a faulty one is detected.

use std::path::Path;
use std::time::Duration;

use sardonyx_benchmark::debit_credit::model::{Model, Sums};
use sardonyx_benchmark::debit_credit::requests::{Request, Scale};
use sardonyx_benchmark::floor::Face;
use sardonyx_lab::product::Product;
use sardonyx_peers::{Engine, Failure, Options, Peer, PeerError, findings, registry, run};

fn options(directory: &Path, engines: Vec<Engine>) -> Options {
    Options {
        engines,
        scale: Scale::new(500, 20, 4).unwrap(),
        groups: vec![1, 7, 300],
        time: Duration::ZERO,
        face: Face::Busy,
        directory: directory.to_path_buf(),
        seed: 6,
    }
}

#[test]
fn every_engine_keeps_the_bank_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let report = run(&options(directory.path(), registry()), |_| {}).unwrap();
    let text = findings(&report, false).unwrap().text().to_string();
    let report = report.figures;
    assert_eq!(report.peers.len(), registry().len());
    for peer in &report.peers {
        let groups: Vec<_> = peer.cells.iter().map(|cell| cell.group).collect();
        assert_eq!(groups, [1, 7, 300], "{}", peer.name);
        let best = peer.best().unwrap().transactions_per_second;
        assert!(
            peer.cells
                .iter()
                .all(|cell| cell.transactions_per_second <= best)
        );
        assert!(
            peer.cells
                .iter()
                .all(|cell| cell.responses.count == cell.group as u64)
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    for peer in &report.peers {
        assert_eq!(
            text.matches(&format!("\n{} ", peer.name)).count(),
            2,
            "{text}"
        );
    }
    assert!(text.contains("this run: a core kept busy"), "{text}");
}

#[test]
fn every_engine_serves_a_group_with_the_same_records_twice() {
    let scale = Scale::new(3, 2, 1).unwrap();
    let requests = [5, -3, 10].map(|amount| Request {
        account: 2,
        amount,
        teller: 1,
        branch: 1,
    });
    for engine in registry() {
        let directory = tempfile::tempdir().unwrap();
        let mut bank = (engine.open)(directory.path(), scale).unwrap();
        bank.run_group(&requests).unwrap();
        bank.run_group(&requests[..1]).unwrap();
        let expected = Sums {
            accounts: 17,
            tellers: 17,
            branches: 17,
            history: 17,
        };
        assert_eq!(bank.sums().unwrap(), expected, "{}", engine.name);
        assert_eq!(bank.history_lines().unwrap(), 4, "{}", engine.name);
    }
}

#[test]
fn an_engine_reports_a_record_that_is_not_there() {
    for engine in registry() {
        let directory = tempfile::tempdir().unwrap();
        let mut bank = (engine.open)(directory.path(), Scale::new(3, 2, 1).unwrap()).unwrap();
        let request = Request {
            account: 4,
            amount: 1,
            teller: 1,
            branch: 1,
        };
        assert!(bank.run_group(&[request]).is_err(), "{}", engine.name);
    }
}

/// Loses one transaction of every group, and all of them when closed.
struct Forgetful {
    model: Model,
    loses: bool,
}

impl Forgetful {
    fn engine(loses: bool) -> Engine {
        if loses {
            Engine {
                open: |_, scale| Ok(Box::new(Forgetful::of(scale, true))),
                ..Self::engine(false)
            }
        } else {
            Engine::of::<Forgetful>()
        }
    }

    fn of(scale: Scale, loses: bool) -> Self {
        Forgetful {
            model: Model::new(scale),
            loses,
        }
    }
}

impl Product for Forgetful {
    fn name() -> &'static str {
        "Forgetful"
    }

    fn settings() -> &'static str {
        "in memory"
    }
}

impl Peer for Forgetful {
    fn open(_: &Path, scale: Scale) -> Result<Self, Failure> {
        Ok(Forgetful::of(scale, false))
    }

    fn run_group(&mut self, requests: &[Request]) -> Result<(), Failure> {
        for request in &requests[usize::from(self.loses)..] {
            self.model.apply(request)?;
        }
        Ok(())
    }

    fn sums(&mut self) -> Result<Sums, Failure> {
        Ok(self.model.sums())
    }

    fn history_lines(&mut self) -> Result<u64, Failure> {
        Ok(self.model.history_count())
    }
}

#[test]
fn an_engine_that_loses_a_transaction_has_no_figure() {
    let directory = tempfile::tempdir().unwrap();
    // An immediate loss shows after the first cell, of one transaction.
    let error = run(
        &options(directory.path(), vec![Forgetful::engine(true)]),
        |_| {},
    )
    .unwrap_err();
    let PeerError::Wrong {
        transactions,
        lines,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!((transactions, lines), (1, 0));
    // Transactions that never reached the disk are missing when the bank is opened again.
    let error = run(
        &options(directory.path(), vec![Forgetful::engine(false)]),
        |_| {},
    )
    .unwrap_err();
    let PeerError::Wrong {
        transactions,
        lines,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!((transactions, lines), (308, 0));
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        0,
        "removed on error too"
    );
}

#[test]
fn nothing_to_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let none = options(directory.path(), Vec::new());
    assert!(matches!(run(&none, |_| {}), Err(PeerError::Nothing)));
    let empty_group = Options {
        groups: vec![1, 0],
        ..options(directory.path(), registry())
    };
    assert!(matches!(run(&empty_group, |_| {}), Err(PeerError::Nothing)));
}
