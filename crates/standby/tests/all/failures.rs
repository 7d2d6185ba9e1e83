//! The standby, the primary or the connection fails: nothing that was durable is lost, nothing is
//! overwritten, and everything goes on when what failed is back.

use crate::common::bank::{Bank, fail_over, is_full, options};
use crate::common::proxy::{Fate, Proxy, Way};
use crate::common::{LONG, at, disk, serve, serve_with};
use sardonyx::{Error, Shape};
use sardonyx_standby::{RemoteError, StandbyStatus};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::recovery::RecoveryError;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn the_log_is_freed_by_the_standby_and_no_backup_is_made_here() {
    let (here, there) = (disk(1), disk(2));
    let server = serve(&there);
    let standby = at(server.address());
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    // Ten times what the log holds.
    bank.transact_patiently(3000);
    assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
    bank.database.checkpoint().unwrap();
    assert!(standby.status().checkpoints > 0, "{:?}", standby.status());
    assert!(bank.database.statistics().checkpoint.checkpoints > 0);
    let log_bytes = bank.database.statistics().log.disk_bytes;
    assert!(
        log_bytes > 4 * (256 << 10),
        "the log went round: {log_bytes}"
    );
    assert_eq!(standby.lag().unwrap().groups, 0);
    bank.check_balances();
    let done = bank.done;
    bank.database.close().unwrap();
    server.stop();
    let backup = |disk: &SimulatedDisk| {
        disk.files()
            .iter()
            .filter(|name| name.starts_with("backup/"))
            .count()
    };
    assert_eq!((backup(&here), backup(&there)), (0, 2));
    assert_eq!(fail_over(&there), done);
}

#[test]
fn the_interval_between_checkpoints_that_the_primary_chooses_is_the_standbys() {
    let there = disk(41);
    // By itself it would take its first one long after all this.
    let server = serve_with(&there, |options| options.log_bytes_max(64 << 20));
    let standby = at(server.address());
    let chosen = options(7).checkpoint_interval_transactions(50);
    let mut bank = Bank::open(&disk(40), chosen.checkpoint_at(standby.clone())).unwrap();
    for checkpoints in 1..=4 {
        bank.transact_patiently(50);
        let came = standby.wait_for(|status| status.checkpoints >= checkpoints, LONG);
        assert!(came, "{checkpoints}: {:?}", standby.status());
    }
    bank.database.close().unwrap();
}

#[test]
fn a_standby_that_keeps_up_is_sent_the_groups_from_memory() {
    let server = serve(&disk(42));
    let standby = at(server.address());
    let mut bank = Bank::at(&disk(43), standby.clone()).unwrap();
    bank.transact_patiently(10);
    assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
    let before = standby.status().sent;
    // It is made to keep up: who sends may have to wait for its turn.
    for _ in 0..300 {
        bank.transact_patiently(1);
        assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
    }
    let after = standby.status().sent;
    assert!(after.groups >= before.groups + 300, "{after:?}");
    assert_eq!(after.groups_read_back, before.groups_read_back);
}

#[test]
fn a_killed_primary_recovers_from_the_image_and_its_own_log() {
    let (mut here, there) = (disk(3), disk(4));
    let server = serve(&there);
    let proxy = Proxy::new(|_, _, _| Fate::Pass);
    let mut done = 0;
    for _ in 0..4 {
        proxy.lead_to(Some(server.address()));
        let standby = at(proxy.address);
        let mut bank = Bank::at(&here, standby.clone()).unwrap();
        bank.done = done;
        bank.check_balances();
        bank.transact_patiently(1000);
        assert!(standby.wait_until_caught_up(LONG));
        // The standby does not get these.
        proxy.lead_to(None);
        proxy.cut();
        for _ in 0..40 {
            bank.transact().unwrap();
        }
        done = bank.done;
        here.crash();
        drop(bank);
        here = here.restart(Faults::default());
    }
    proxy.lead_to(Some(server.address()));
    let standby = at(proxy.address);
    let bank = Bank::at(&here, standby.clone()).unwrap();
    assert!(
        bank.database.recovery().groups >= 40,
        "{:?}",
        bank.database.recovery()
    );
    assert!(standby.wait_until_caught_up(LONG));
    drop(bank);
    server.stop();
    assert_eq!(fail_over(&there), done);
}

#[test]
fn when_the_primarys_disk_is_gone_the_standby_has_all_that_it_had_acknowledged() {
    for seed in 0..6 {
        let (here, there) = (disk(10 + seed), disk(50 + seed));
        let server = serve(&there);
        let standby = at(server.address());
        let mut bank = Bank::at(&here, standby.clone()).unwrap();
        bank.transact_patiently(100 + 150 * seed);
        assert!(standby.wait_until_caught_up(LONG));
        let at_least = bank.done;
        bank.transact_patiently(50);
        let at_most = bank.done;
        // Both machines lose their power; only the standby's disk comes back.
        there.crash();
        drop(bank);
        server.stop();
        let found = fail_over(&there.restart(Faults::default()));
        assert!(
            (at_least..=at_most).contains(&found),
            "seed {seed}: {at_least} {found} {at_most}"
        );
    }
}

#[test]
fn a_standby_that_was_away_or_crashed_catches_up() {
    let (here, mut there) = (disk(20), disk(21));
    let proxy = Proxy::new(|_, _, _| Fate::Pass);
    let standby = at(proxy.address);
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    for round in 0..5 {
        let server = serve(&there);
        proxy.lead_to(Some(server.address()));
        bank.transact_patiently(300);
        assert!(standby.wait_until_caught_up(LONG), "round {round}");
        if round % 2 == 0 {
            there.crash();
        }
        bank.transact_patiently(20);
        proxy.lead_to(None);
        drop(server);
        proxy.cut();
        assert!(standby.wait_for(|status| !status.connected, LONG));
        for _ in 0..20 {
            bank.transact().unwrap();
        }
        there = there.restart(Faults::default());
    }
    let server = serve(&there);
    proxy.lead_to(Some(server.address()));
    assert!(standby.wait_until_caught_up(LONG));
    let done = bank.done;
    bank.database.checkpoint().unwrap();
    drop(bank);
    server.stop();
    assert_eq!(fail_over(&there), done);
}

#[test]
fn a_full_log_refuses_transactions_with_the_reason_and_goes_on_when_the_standby_is_back() {
    let (here, there) = (disk(30), disk(31));
    let server = serve(&there);
    let proxy = Proxy::new(|_, _, _| Fate::Pass);
    proxy.lead_to(Some(server.address()));
    let standby = at(proxy.address);
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    bank.transact_patiently(500);
    proxy.lead_to(None);
    proxy.cut();
    assert!(standby.wait_for(|status| !status.connected, LONG));
    let refusal = bank.transact_until_full();
    assert!(is_full(&refusal), "{refusal:?}");
    let text = refusal.to_string();
    let address = proxy.address.to_string();
    assert!(
        text.contains("standby") && text.contains(&address),
        "{text}"
    );
    assert!(bank.database.checkpoint().is_err(), "the standby is away");
    assert!(standby.lag().unwrap().transactions > 0);
    bank.check_balances();
    proxy.lead_to(Some(server.address()));
    assert!(standby.wait_until_caught_up(LONG));
    bank.transact_patiently(500);
    assert!(standby.wait_until_caught_up(LONG));
    let done = bank.done;
    drop(bank);
    server.stop();
    assert_eq!(fail_over(&there), done);
}

/// Runs a bank through a proxy with this plan until so many messages did not pass.
fn through(
    seed: u64,
    met: usize,
    plan: impl Fn(usize, Way, usize) -> Fate + Send + Sync + 'static,
) {
    let (here, there) = (disk(seed), disk(seed + 1));
    let server = serve(&there);
    let proxy = Proxy::new(plan);
    proxy.lead_to(Some(server.address()));
    let standby = at(proxy.address);
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    while proxy.met() < met {
        bank.transact_patiently(1);
    }
    bank.transact_patiently(50);
    assert!(
        standby.wait_until_caught_up(LONG),
        "seed {seed}: {:?}",
        standby.status()
    );
    assert!(standby.status().connections > 1);
    let done = bank.done;
    bank.database.checkpoint().unwrap();
    bank.check_balances();
    drop(bank);
    server.stop();
    assert_eq!(fail_over(&there), done, "seed {seed}");
}

/// Fate `n` meets message `n / 2` of a connection, in the one way or the other, and the next fate a later connection. A
/// connection that ends for another reason, as when it is slow, uses no fate up.
fn at_every_message(
    fates: usize,
    fate: impl Fn(usize) -> Fate + Send + Sync + 'static,
) -> impl Fn(usize, Way, usize) -> Fate + Send + Sync + 'static {
    // The next fate, and the connection that met the last one.
    let next = Mutex::new((0, None));
    move |connection, way, number| {
        let mut next = next.lock().unwrap();
        let (n, last) = *next;
        let mine = [Way::ToStandby, Way::ToPrimary][n % 2];
        let is_later = last.is_none_or(|last| connection > last);
        if n < fates && is_later && way == mine && number == n / 2 {
            *next = (n + 1, Some(connection));
            fate(n)
        } else {
            Fate::Pass
        }
    }
}

#[test]
fn the_connection_cut_at_every_message() {
    through(100, 60, at_every_message(60, |_| Fate::Cut));
}

#[test]
fn the_connection_cut_within_every_message() {
    through(200, 60, at_every_message(60, |n| Fate::Tear(n * 977 + 1)));
}

#[test]
fn a_damaged_message_ends_the_connection_and_nothing_else() {
    through(300, 60, at_every_message(60, |n| Fate::Flip(n * 1009)));
}

#[test]
fn an_image_cut_at_every_message_is_an_error_and_the_next_attempt_works() {
    let (mut here, there) = (disk(40), disk(41));
    let server = serve(&there);
    let mut bank = Bank::at(&here, at(server.address())).unwrap();
    bank.transact_patiently(1500);
    let done = bank.done;
    here.crash();
    drop(bank);
    let cut_at = |message: usize, fate: Fate| {
        let proxy = Proxy::new(move |_, way, number| {
            if way == Way::ToPrimary && number == message {
                fate
            } else {
                Fate::Pass
            }
        });
        proxy.lead_to(Some(server.address()));
        proxy
    };
    let mut cut = 0;
    for (message, fate) in (0..100).flat_map(|n| [(n, Fate::Cut), (n, Fate::Flip(31 * n))]) {
        here = here.restart(Faults::default());
        let proxy = cut_at(message, fate);
        match Bank::at(&here, at(proxy.address)) {
            Err(error @ Error::Unavailable(_)) => {
                let Some(OpenError::Standby { source, .. }) = error.downcast_ref() else {
                    panic!("{error}")
                };
                assert!(
                    matches!(source, RemoteError::Unreachable { .. }),
                    "{source}"
                );
                cut += 1;
            }
            Err(error) => panic!("{error}"),
            Ok(mut bank) => {
                assert!(proxy.met() <= 1);
                bank.done = done;
                bank.check_balances();
                break;
            }
        }
    }
    assert!(cut >= 8, "a welcome, a beginning, pages and an end: {cut}");
}

#[test]
fn without_its_standby_a_freed_log_is_an_error_and_never_an_old_state() {
    let (here, there) = (disk(60), disk(61));
    let server = serve(&there);
    let mut bank = Bank::at(&here, at(server.address())).unwrap();
    bank.transact_patiently(1500);
    bank.database.close().unwrap();
    server.stop();
    for _ in 0..2 {
        let alone = Bank::open(&here, options(7))
            .err()
            .expect("it cannot be recovered alone");
        let of_recovery = alone.downcast_ref::<RecoveryError>();
        assert!(of_recovery.is_some(), "{alone:?}");
    }
    let nobody = at("127.0.0.1:1");
    let found = Bank::at(&here, nobody)
        .err()
        .expect("nobody listens there")
        .to_string();
    assert!(found.contains("127.0.0.1:1"), "{found}");
}

#[test]
fn another_databases_standby_is_refused() {
    let there = disk(70);
    let server = serve(&there);
    let standby = at(server.address());
    let mut bank = Bank::at(&disk(71), standby.clone()).unwrap();
    bank.transact_patiently(10);
    assert!(standby.wait_until_caught_up(LONG));
    drop(bank);
    let other = at(server.address());
    let mut bank = Bank::open(&disk(72), options(8).checkpoint_at(other.clone())).unwrap();
    assert!(other.wait_for(|status| status.trouble.is_some(), LONG));
    let trouble = other.status().trouble.unwrap();
    assert!(matches!(trouble, RemoteError::Refused { .. }), "{trouble}");
    let text = trouble.to_string();
    assert!(
        text.contains("0000000000000007") && text.contains("0000000000000008"),
        "{text}"
    );
    let refusal = bank.transact_until_full();
    assert!(
        is_full(&refusal) && refusal.to_string().contains("do not belong"),
        "{refusal}"
    );
    drop(bank);
    assert_eq!(server.report().unwrap().identity, 7);
    server.stop();
    assert_eq!(fail_over(&there), 10);
}

#[test]
fn a_standby_that_was_opened_as_the_database_is_refused_and_left_alone() {
    for (more_here, more_there) in [(0, 20), (20, 1), (20, 20), (1, 200)] {
        let (here, there) = (disk(80), disk(81));
        let server = serve(&there);
        let standby = at(server.address());
        let mut bank = Bank::at(&here, standby.clone()).unwrap();
        bank.transact_patiently(20);
        assert!(standby.wait_until_caught_up(LONG));
        drop(bank);
        server.stop();
        let mut over = Bank::open(&there, options(7)).unwrap();
        over.transact_patiently(more_there);
        assert_eq!(over.check(), 20 + more_there);
        over.database.close().unwrap();
        let server = serve(&there);
        let standby = at(server.address());
        // The old primary comes back; its log reaches back far enough.
        let mut bank = Bank::at(&here, standby.clone()).unwrap();
        (0..more_here).for_each(|_| bank.transact().unwrap());
        assert!(standby.wait_for(|status| status.trouble.is_some(), LONG));
        let trouble = standby.status().trouble.unwrap();
        let expected = matches!(
            trouble,
            RemoteError::Ahead { .. } | RemoteError::Diverged { .. }
        );
        assert!(expected, "{more_here} {more_there}: {trouble}");
        drop(bank);
        server.stop();
        assert_eq!(fail_over(&there), 20 + more_there);
    }
}

#[test]
fn an_empty_standby_is_made_of_the_log_or_of_the_pages_when_that_no_longer_reaches_back() {
    let here = disk(90);
    let first = disk(91);
    let server = serve(&first);
    let proxy = Proxy::new(|_, _, _| Fate::Pass);
    proxy.lead_to(Some(server.address()));
    let standby = at(proxy.address);
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    // Less than a segment, so that nothing is freed.
    bank.transact_patiently(2);
    assert!(standby.wait_until_caught_up(LONG));
    // Its disk is lost early: another one starts from the beginning.
    proxy.lead_to(None);
    server.stop();
    let second = disk(92);
    let server = serve(&second);
    proxy.lead_to(Some(server.address()));
    assert!(standby.wait_for(|s| s.connected && s.connections == 2, LONG));
    bank.transact_patiently(1500);
    assert!(standby.wait_until_caught_up(LONG));
    // Late: it is made of the pages here, while transactions go on.
    proxy.lead_to(None);
    server.stop();
    let third = disk(93);
    let server = serve(&third);
    proxy.lead_to(Some(server.address()));
    bank.transact_patiently(700);
    assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
    bank.database.checkpoint().unwrap();
    bank.transact_patiently(700);
    assert!(standby.wait_until_caught_up(LONG));
    // One that has less than the log here reaches back to is not, since it has something.
    proxy.lead_to(None);
    server.stop();
    let server = serve(&second);
    proxy.lead_to(Some(server.address()));
    let too_old =
        |status: &StandbyStatus| matches!(status.trouble, Some(RemoteError::TooOld { .. }));
    assert!(standby.wait_for(too_old, LONG), "{:?}", standby.status());
    proxy.lead_to(None);
    server.stop();
    // The right one is still welcome, also to a primary that needs its image.
    let server = serve(&third);
    proxy.lead_to(Some(server.address()));
    assert!(standby.wait_until_caught_up(LONG));
    let done = bank.done;
    drop(bank);
    let mut bank = Bank::at(&here, at(proxy.address)).unwrap();
    bank.done = done;
    bank.check_balances();
    drop(bank);
    server.stop();
    // Its journal begins with the seed.
    let mut over = Bank::open(&third, options(7)).unwrap();
    over.done = done;
    over.check_balances();
}

#[test]
fn a_seed_that_is_cut_off_anywhere_is_sent_again() {
    for (at_message, way) in [
        (1, Way::ToStandby),
        (2, Way::ToStandby),
        (3, Way::ToStandby),
        (4, Way::ToStandby),
        (1, Way::ToPrimary),
        (2, Way::ToPrimary),
    ] {
        let here = disk(94);
        let first = disk(95);
        let server = serve(&first);
        // Twice, once the second standby is there.
        let left = Arc::new(AtomicUsize::new(0));
        let cuts = left.clone();
        let proxy = Proxy::new(move |_, to, message| {
            let is_meant = to == way && message == at_message;
            let less = |left: usize| left.checked_sub(1);
            let cut = is_meant.then(|| cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less));
            match cut {
                Some(Ok(2)) => Fate::Tear(3),
                Some(Ok(_)) => Fate::Cut,
                _ => Fate::Pass,
            }
        });
        proxy.lead_to(Some(server.address()));
        let standby = at(proxy.address);
        let mut bank = Bank::at(&here, standby.clone()).unwrap();
        bank.transact_patiently(700);
        assert!(standby.wait_until_caught_up(LONG));
        // Another test's standby may get the port.
        proxy.lead_to(None);
        server.stop();
        let second = disk(96);
        let server = serve(&second);
        left.store(2, Ordering::SeqCst);
        proxy.lead_to(Some(server.address()));
        bank.transact_patiently(200);
        assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
        assert_eq!(left.load(Ordering::SeqCst), 0, "it was cut off");
        let done = bank.done;
        drop(bank);
        server.stop();
        let mut over = Bank::open(&second, options(7)).unwrap();
        over.done = done;
        over.check_balances();
    }
}

#[test]
fn whatever_else_connects_does_not_disturb() {
    let (here, there) = (disk(110), disk(111));
    let server = serve(&there);
    let standby = at(server.address());
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    bank.transact_patiently(50);
    for garbage in [
        &b""[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[0; 100],
        &[0xff; 100],
        &[0, 0, 0, 5, 1, 2, 3, 4, 5],
    ] {
        let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
        stream.write_all(garbage).unwrap();
        bank.transact_patiently(20);
    }
    assert!(standby.wait_until_caught_up(LONG));
    assert_eq!(standby.status().connections, 1, "it was never disturbed");
    let done = bank.done;
    drop(bank);
    server.stop();
    assert_eq!(fail_over(&there), done);
}

#[test]
fn a_standby_without_threads_is_refused_and_a_locked_directory_too() {
    let (here, there) = (disk(120), disk(121));
    let server = serve(&there);
    let standby = at(server.address());
    let threadless = options(7)
        .shape(Shape::Threadless)
        .checkpoint_at(standby.clone());
    let found = Bank::open(&here, threadless)
        .err()
        .expect("it needs threads");
    assert!(found.to_string().contains("thread"), "{found}");
    let bank = Bank::at(&here, standby.clone()).unwrap();
    assert!(standby.wait_until_caught_up(LONG));
    let found = Bank::open(&there, options(7))
        .err()
        .expect("the standby has it open");
    assert!(found.to_string().contains("LOCK"), "{found}");
    drop(bank);
}

#[test]
fn an_image_of_another_history_is_refused() {
    let (here, there) = (disk(130), disk(131));
    let server = serve(&there);
    let standby = at(server.address());
    let mut bank = Bank::at(&here, standby.clone()).unwrap();
    bank.transact_patiently(1500);
    assert!(standby.wait_until_caught_up(LONG));
    drop(bank);
    server.stop();
    let mut over = Bank::open(&there, options(7)).unwrap();
    over.transact_patiently(3);
    over.database.close().unwrap();
    let server = serve(&there);
    let found = Bank::at(&here, at(server.address()))
        .err()
        .expect("it is refused");
    assert!(found.to_string().contains("standby"), "{found}");
    server.stop();
    assert_eq!(fail_over(&there), 1503);
}
