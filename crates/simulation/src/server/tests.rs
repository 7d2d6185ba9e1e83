//! Stations against schedules computed by hand and by the simplest possible rule.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;

use proptest::prelude::*;

use super::*;
use crate::time::Time;

fn seconds(seconds: u64) -> Span {
    Span::from_seconds(1.0) * seconds
}

fn at(second: u64) -> Time {
    Time::ZERO + seconds(second)
}

/// A customer that comes, is served, and loses patience if service has not begun by then.
#[derive(Clone, Copy, Debug)]
struct Visit {
    arrival: u64,
    service: u64,
    patience: Option<u64>,
    holds: bool,
}

/// The beginning of each service: all in turn take the server that is free first, unless that is later than their
/// patience.
fn begins_by_the_rule(visits: &[Visit], servers: u32) -> Vec<Option<u64>> {
    let mut free = vec![0; servers as usize];
    let begin = |visit: &Visit| {
        let first = free.iter_mut().min().expect("a server");
        let begin = visit.arrival.max(*first);
        if visit
            .patience
            .is_some_and(|patience| begin > visit.arrival + patience)
        {
            return None;
        }
        *first = begin + visit.service;
        Some(begin)
    };
    visits.iter().map(begin).collect()
}

/// Waits for one server until patience is lost.
async fn acquire_within(kernel: &Kernel, server: &Server, patience: Option<u64>) -> Option<Permit> {
    let Some(patience) = patience else {
        return Some(server.acquire().await);
    };
    let mut acquire = pin!(server.acquire());
    let mut lost = pin!(kernel.wait(seconds(patience)));
    poll_fn(|context| {
        if let Poll::Ready(permit) = acquire.as_mut().poll(context) {
            return Poll::Ready(Some(permit));
        }
        lost.as_mut().poll(context).map(|()| None)
    })
    .await
}

/// The beginning of each service, and the station at the end.
fn simulate(visits: &[Visit], servers: u32) -> (Vec<Option<u64>>, ServerStatistics) {
    let kernel = Kernel::new();
    let server = Server::new(&kernel, servers);
    let begins = Rc::new(RefCell::new(vec![None; visits.len()]));
    for (index, &visit) in visits.iter().enumerate() {
        let (clock, server, begins) = (kernel.clone(), server.clone(), Rc::clone(&begins));
        kernel.spawn(async move {
            clock.wait(seconds(visit.arrival)).await;
            let waited = if visit.holds || visit.patience.is_some() {
                let Some(permit) = acquire_within(&clock, &server, visit.patience).await else {
                    return;
                };
                clock.wait(seconds(visit.service)).await;
                permit.waited()
            } else {
                server.serve(seconds(visit.service)).await
            };
            let begin = seconds(visit.arrival) + waited;
            begins.borrow_mut()[index] = Some(begin.as_picoseconds() / 1_000_000_000_000);
        });
    }
    kernel.run_until(at(1_000_000));
    (begins.take(), server.statistics())
}

fn visits() -> impl Strategy<Value = Vec<Visit>> {
    // Patience ends at odd seconds and all else happens at even ones, so that it is never a tie.
    let patience = prop::option::weighted(0.3, (0..15u64).prop_map(|patience| 2 * patience + 1));
    let visit = (0..12u64, 0..20u64, patience, any::<bool>());
    prop::collection::vec(visit, 0..40).prop_map(|visits| {
        let mut arrival = 0;
        let place = |(pause, service, patience, holds)| {
            arrival += 2 * pause;
            Visit {
                arrival,
                service: 2 * service,
                patience,
                holds,
            }
        };
        visits.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn first_come_first_served(visits in visits(), servers in 1u32..4) {
        let (begins, statistics) = simulate(&visits, servers);
        prop_assert_eq!(&begins, &begins_by_the_rule(&visits, servers));
        let served = begins.iter().flatten().count() as u64;
        prop_assert_eq!(statistics.arrivals, visits.len() as u64);
        prop_assert_eq!(statistics.completions, served);
        prop_assert_eq!(statistics.abandoned, visits.len() as u64 - served);
        prop_assert!(statistics.queue_little.holds() && statistics.station_little.holds());
        let work: u64 = visits.iter().zip(&begins).filter(|(_, begin)| begin.is_some())
            .map(|(visit, _)| visit.service).sum();
        let (station, queue) = (statistics.station_little, statistics.queue_little);
        let busy = station.level_integral - queue.level_integral;
        prop_assert_eq!(busy, u128::from(work) * 1_000_000_000_000);
    }
}

/// Three customers of 4, 2 and 2 seconds, at seconds 0, 1 and 2, and one server.
fn three(kernel: &Kernel) -> Server {
    let server = Server::new(kernel, 1);
    for (arrival, service) in [(0, 4), (1, 2), (2, 2)] {
        let (clock, server) = (kernel.clone(), server.clone());
        kernel.spawn(async move {
            clock.wait(seconds(arrival)).await;
            server.serve(seconds(service)).await;
        });
    }
    server
}

#[test]
fn statistics_by_hand() {
    let kernel = Kernel::new();
    let server = three(&kernel);
    kernel.run_until(at(10));
    let statistics = server.statistics();
    // Served 0-4, 4-6, 6-8; the queue is 1 long in 1-2, 2 in 2-4, 1 in 4-6.
    assert_eq!(statistics.measured, seconds(10));
    assert_eq!(
        (
            statistics.arrivals,
            statistics.completions,
            statistics.abandoned
        ),
        (3, 3, 0)
    );
    assert_eq!(statistics.utilisation, 0.8);
    assert_eq!(statistics.mean_waiting, 0.7);
    assert_eq!(statistics.mean_in_station, 1.5);
    assert_eq!(
        (statistics.most_waiting, statistics.most_in_station),
        (2, 3)
    );
    assert_eq!(statistics.mean_wait_seconds, 7.0 / 3.0);
    assert_eq!(statistics.mean_stay_seconds, 5.0);
    assert_eq!(statistics.throughput(), 0.3);
    assert_eq!(statistics.station_little.customer_time, 15_000_000_000_000);
    assert!(statistics.queue_little.holds() && statistics.station_little.holds());
}

#[test]
fn a_reset_measures_from_then_on() {
    let kernel = Kernel::new();
    let server = three(&kernel);
    kernel.run_until(at(3));
    server.reset();
    assert_eq!(server.statistics().utilisation, 0.0, "no time, no mean");
    kernel.run_until(at(5));
    let statistics = server.statistics();
    // Of 3-5: busy all the time; two wait in 3-4, one in 4-5; one left, one began.
    assert_eq!((statistics.arrivals, statistics.completions), (0, 1));
    assert_eq!(
        (statistics.utilisation, statistics.mean_waiting),
        (1.0, 1.5)
    );
    assert_eq!(
        (statistics.most_waiting, statistics.most_in_station),
        (2, 3)
    );
    assert_eq!(
        (statistics.mean_wait_seconds, statistics.mean_stay_seconds),
        (3.0, 4.0)
    );
    assert!(statistics.queue_little.holds() && statistics.station_little.holds());
    assert_eq!((server.servers(), server.waiting()), (1, 1));
}

#[test]
fn who_is_dropped_while_served_frees_the_server() {
    let kernel = Kernel::new();
    let server = Server::new(&kernel, 1);
    let (clock, leaver) = (kernel.clone(), server.clone());
    kernel.spawn(async move {
        let mut service = Box::pin(leaver.serve(seconds(100)));
        let mut lost = Box::pin(clock.wait(seconds(3)));
        poll_fn(|context| {
            assert!(service.as_mut().poll(context).is_pending());
            lost.as_mut().poll(context)
        })
        .await;
        drop(service);
        // Its old event must not end this wait early.
        clock.wait(seconds(200)).await;
        assert_eq!(clock.now(), at(203));
    });
    let (clock, follower) = (kernel.clone(), server.clone());
    kernel.spawn(async move {
        clock.wait(seconds(1)).await;
        assert_eq!(follower.serve(seconds(1)).await, seconds(2));
        assert_eq!(clock.now(), at(4));
    });
    kernel.run_until(at(300));
    let statistics = server.statistics();
    assert_eq!((statistics.completions, statistics.abandoned), (1, 1));
    assert_eq!(statistics.utilisation, 4.0 / 300.0);
    assert!(statistics.queue_little.holds() && statistics.station_little.holds());
}

#[test]
fn a_server_granted_to_one_who_goes_in_that_instant_is_passed_on() {
    let kernel = Kernel::new();
    let server = Server::new(&kernel, 1);
    let (clock, holder) = (kernel.clone(), server.clone());
    kernel.spawn(async move {
        let permit = holder.acquire().await;
        clock.wait(seconds(2)).await;
        drop(permit);
    });
    // Dropped by its owner in the instant of the grant, after the grant and before its own turn.
    let pending = Rc::new(RefCell::new(None));
    let (slot, waiter) = (Rc::clone(&pending), server.clone());
    kernel.spawn(async move {
        poll_fn(|context| {
            let mut acquire = Box::pin(waiter.acquire());
            assert!(acquire.as_mut().poll(context).is_pending());
            *slot.borrow_mut() = Some(acquire);
            Poll::Ready(())
        })
        .await;
    });
    let (clock, slot) = (kernel.clone(), Rc::clone(&pending));
    kernel.spawn(async move {
        clock.wait(seconds(2)).await;
        drop(slot.borrow_mut().take());
    });
    let last = server.clone();
    let clock = kernel.clone();
    kernel.spawn(async move {
        assert_eq!(last.acquire().await.waited(), seconds(2));
        assert_eq!(clock.now(), at(2));
    });
    kernel.run_until(at(5));
    let statistics = server.statistics();
    assert_eq!((statistics.completions, statistics.abandoned), (2, 1));
    assert_eq!(statistics.utilisation, 0.4);
}

#[test]
fn a_station_without_servers_is_refused() {
    let outcome = std::panic::catch_unwind(|| Server::new(&Kernel::new(), 0));
    assert!(outcome.is_err());
}
