//! Exploration of hand-overs: hosts that are asked to hand over, ended, killed, stopped and started again, beside a store
//! that answers. Hosts that do not serve run [`Turn`], as real ones do.
//!
//! A host serves again within the lease after each event. A promotion to a host that follows takes only the closing and
//! the opening of the database, and that host serves then. So neither a promotion nor a restart leaves the database
//! without a host until a person asks again. The host that opens the database takes the log from any other one; it is
//! the one in the register then. Each rule that this rests on is left out once, and that is found.

mod world;

use super::{ANY_OTHER, CLOSING_MOST, SUCCESSOR_WAIT, Wish, Wished};
use sardonyx_base::seeds::{Seeds, first_failure};
use std::time::Duration;
use world::{EVENTS, HOSTS, Host, Planted, Role, STEP, WORK_MS_MAX, World};

impl World {
    fn run(&mut self) {
        self.until_served(self.hand_over_time());
        for _ in 0..EVENTS {
            let pause = self.random.below(400);
            self.pass(Duration::from_millis(pause));
            self.until_served(self.wait.max(SUCCESSOR_WAIT) + self.hand_over_time());
            let serving = self.serving().unwrap();
            let other = (serving + 1 + self.random.below(HOSTS as u64 - 1) as usize) % HOSTS;
            match self.random.below(19) {
                0..=2 => self.promote_to_follower(serving, other),
                3 => {
                    // Its name is misspelled, or it does not come: any other host takes over.
                    self.hosts[other].role = Role::Down;
                    let name = self.hosts[other].name.clone();
                    self.promote(&name);
                    self.pass(self.hand_over_time());
                    self.until_served(self.wait.min(SUCCESSOR_WAIT) + self.hand_over_time());
                    self.start(other);
                }
                4 => self.restart_all(serving),
                5 => {
                    // It dies while it hands over.
                    self.promote(ANY_OTHER);
                    let pause = self.random.below(300);
                    self.pass(Duration::from_millis(pause));
                    self.hosts[serving].role = Role::Down;
                    self.until_served(self.wait + self.hand_over_time());
                    self.start(serving);
                }
                6 => {
                    self.promote(&self.hosts[serving].name.clone());
                    self.pass(self.hand_over_time());
                    assert_eq!(self.serving(), Some(serving), "it serves already");
                }
                7 => self.drain_without_answer(serving),
                8 => {
                    // Two in a row: the second one comes at any moment of the first hand-over.
                    for _ in 0..2 {
                        self.promote(ANY_OTHER);
                        let pause = self.random.below(700);
                        self.pass(Duration::from_millis(pause));
                    }
                    self.until_served(SUCCESSOR_WAIT.max(self.wait) + 3 * self.hand_over_time());
                }
                9 => {
                    // While another host takes over.
                    self.hosts[serving].role = Role::Down;
                    let pause = self.random.below(self.wait.as_millis() as u64 + 400);
                    self.pass(Duration::from_millis(pause));
                    self.promote(ANY_OTHER);
                    self.until_served(self.wait + 3 * self.hand_over_time());
                    self.start(serving);
                }
                10 => self.kill_receiver(serving, other),
                11 => {
                    self.hosts[other].cannot_open = true;
                    let name = self.hosts[other].name.clone();
                    self.promote(&name);
                    self.pass(self.hand_over_time());
                    self.until_served(SUCCESSOR_WAIT.min(self.wait) + 2 * self.hand_over_time());
                    self.hosts[other].cannot_open = false;
                }
                12 => self.stop(serving, other),
                13 => {
                    self.wish_on_claim = true;
                    self.promote(ANY_OTHER);
                    self.pass(self.hand_over_time());
                    // The host that claimed serves, and hands over again, as it was asked to.
                    self.until_served(2 * self.hand_over_time());
                }
                14 if !self.is_local => {
                    // Its close hangs.
                    self.hosts[serving].closes_for = Some(Duration::from_secs(86_400));
                    self.promote(ANY_OTHER);
                    self.pass(2 * self.looks + 4 * STEP);
                    self.until_served(CLOSING_MOST + self.wait + self.hand_over_time());
                    self.start(serving);
                }
                15 => self.close_slowly(serving),
                16 => self.drain_sole_host(serving),
                17 => {
                    // No claim succeeds for a while. Each step checks that no host asks without a pause.
                    self.hosts[serving].role = Role::Down;
                    let refusal = Duration::from_millis(self.random.below(3000));
                    self.refuses_until = self.now + self.wait + refusal;
                    self.until_served(2 * self.wait + refusal + self.hand_over_time());
                    self.start(serving);
                }
                _ => {
                    self.hosts[serving].role = Role::Down;
                    self.until_served(self.wait + self.hand_over_time());
                    self.start(serving);
                }
            }
        }
    }

    /// The wish is there, and its answer is lost: it is made again some time later. The next host is not drained.
    fn drain_without_answer(&mut self, serving: usize) {
        let mut wish = Wish::new(1, ANY_OTHER);
        self.wish(&mut wish);
        let pause = self.random.below(1500);
        self.pass(Duration::from_millis(pause));
        let next = self.serving().filter(|by| *by != serving);
        if self.planted == Some(Planted::WishRepeated) {
            wish = Wish::new(1, ANY_OTHER);
        }
        self.wish(&mut wish);
        if let Some(next) = next {
            self.pass(self.hand_over_time());
            assert_eq!(self.serving(), Some(next), "it was drained, too");
        }
        self.until_served(SUCCESSOR_WAIT + self.hand_over_time());
    }

    /// No other host comes, so the one that was asked serves again. The wish, which is repeated since its answer was lost,
    /// was carried out: that host is not asked once more.
    fn drain_sole_host(&mut self, serving: usize) {
        let others = (0..HOSTS).filter(|host| *host != serving);
        let others: Vec<_> = others.collect();
        for host in &others {
            self.hosts[*host].role = Role::Down;
        }
        let mut wish = Wish::new(1, ANY_OTHER);
        self.wish(&mut wish);
        let most = self.now + self.hand_over_time();
        while self.serving() == Some(serving) {
            assert!(self.now < most, "it does not hand over");
            self.step();
        }
        self.until_served(SUCCESSOR_WAIT + self.hand_over_time());
        self.wish(&mut wish);
        let until = self.now + self.hand_over_time();
        while self.now < until {
            self.step();
            assert_eq!(self.serving(), Some(serving), "it was drained twice");
        }
        others.into_iter().for_each(|host| self.start(host));
    }

    /// A close takes longer than a host gives signs that closes. If it sends the rest of the log to the store, the others
    /// wait for it; if not, one of them takes over.
    fn close_slowly(&mut self, serving: usize) {
        let more = Duration::from_millis(self.random.below(60_000));
        let takes = CLOSING_MOST + self.wait + self.hand_over_time() + more;
        self.hosts[serving].closes_for = Some(takes);
        self.promote(ANY_OTHER);
        let began = self.now;
        while self.serving().is_none_or(|by| by == serving) {
            let passed = self.now - began;
            let most = takes + self.hand_over_time();
            assert!(passed <= most, "no other host serves after {passed:?}");
            self.step();
            let sends_rest = matches!(self.hosts[serving].role, Role::Closes(_)) && self.is_local;
            assert!(
                !sends_rest || self.log_of == Some(serving),
                "a host continues without the rest of the log"
            );
        }
        self.pass((began + takes + self.hand_over_time()).saturating_duration_since(self.now));
    }

    fn wish(&mut self, wish: &mut Wish) {
        if let Wished::Put(replacement) = wish.found(self.stored.as_ref()).unwrap() {
            self.put(&replacement.record);
        }
    }

    /// The host that is to take over dies while it does.
    fn kill_receiver(&mut self, serving: usize, other: usize) {
        let name = self.hosts[other].name.clone();
        self.promote(&name);
        let pause = self.random.below(900);
        self.pass(Duration::from_millis(pause));
        self.hosts[other].role = Role::Down;
        if self.serving() != Some(serving) {
            self.until_served(self.wait.max(SUCCESSOR_WAIT) + 2 * self.hand_over_time());
        }
        self.start(other);
    }

    /// A host is stopped at any moment of a hand-over, or just after its claim, and continues when others may serve.
    fn stop(&mut self, serving: usize, other: usize) {
        self.promote(ANY_OTHER);
        let (pause, began) = (self.random.below(900), self.now);
        let after_claim = self.random.chance(1, 2);
        let is_claimed = |host: &Host| matches!(host.role, Role::Claimed(_));
        let claimed = loop {
            let claimed = self.hosts.iter().position(is_claimed);
            let passed = self.now - began;
            let is_time = match after_claim {
                true => claimed.is_some() || passed > self.hand_over_time(),
                false => passed >= Duration::from_millis(pause),
            };
            if is_time {
                break claimed.filter(|_| after_claim);
            }
            self.step();
        };
        let stopped = claimed.unwrap_or([serving, other][self.random.below(2) as usize]);
        let time = self.wait.mul_f64(self.random.below(30) as f64 / 10.0);
        self.hosts[stopped].stopped_until = self.now + time;
        self.pass(time);
        self.until_served(self.wait.max(SUCCESSOR_WAIT) + 2 * self.hand_over_time());
    }

    fn promote_to_follower(&mut self, serving: usize, other: usize) {
        let to_any = self.random.chance(1, 2);
        let all_follow = Duration::from_millis(WORK_MS_MAX) + 2 * self.looks;
        self.pass(all_follow);
        if self.serving() != Some(serving) {
            return;
        }
        let name = self.hosts[other].name.clone();
        self.promote(if to_any { ANY_OTHER } else { &name });
        let began = self.now;
        while self.serving().is_none_or(|by| by == serving) {
            let took = self.now - began;
            let most = self.hand_over_time();
            assert!(
                took <= most,
                "a promotion is not carried out after {took:?}"
            );
            self.step();
        }
        assert!(
            to_any || self.serving() == Some(other),
            "another host took over"
        );
        self.handed_over += 1;
    }

    /// As an upgrade does: the followers, then the host that served.
    fn restart_all(&mut self, serving: usize) {
        for host in (0..HOSTS).filter(|host| *host != serving) {
            self.hosts[host].role = Role::Down;
            self.start(host);
            self.pass(Duration::from_millis(WORK_MS_MAX));
        }
        self.promote_to_follower(serving, (serving + 1) % HOSTS);
        if self.serving() != Some(serving) {
            self.hosts[serving].role = Role::Down;
            self.start(serving);
        }
        self.until_served(self.hand_over_time());
    }
}

#[test]
fn each_hand_over_is_carried_out_and_a_host_serves_within_the_lease_after_each_event() {
    let seeds = Seeds::new(0, 24);
    let mut handed_over = 0;
    seeds.explore(|seed| {
        let mut world = World::new(seed, None);
        world.run();
        handed_over += world.handed_over;
    });
    assert!(handed_over > 5 * seeds.count(), "{handed_over}");
}

#[test]
fn each_rule_of_hand_overs_that_is_left_out_is_found() {
    for planted in [
        Planted::WishOverwritten,
        Planted::NotReleased,
        Planted::WishForgotten,
        Planted::WishRepeated,
        Planted::OpensLate,
        Planted::ClaimForgotten,
        Planted::ClosesForever,
        Planted::RestGivenUp,
    ] {
        let found = first_failure(0..200, |seed| World::new(seed, Some(planted)).run());
        println!("{planted:?}: {found:?}");
        assert!(found.is_some(), "{planted:?}");
    }
}
