//! Channels over a bad network: whatever it loses, repeats and reorders, each message is delivered
//! once and in order.

use crate::world::random::Random;
use sardonyx_sharing::protocol::channel::{Channel, Packet, WINDOW};

/// Two ends, and the packets under way to each.
struct Pair {
    ends: [Channel<u64>; 2],
    network: [Vec<Packet<u64>>; 2],
    sent: [u64; 2],
    delivered: [Vec<u64>; 2],
}

impl Pair {
    fn new() -> Self {
        Pair {
            ends: [Channel::new(), Channel::new()],
            network: [Vec::new(), Vec::new()],
            sent: [0, 0],
            delivered: [Vec::new(), Vec::new()],
        }
    }

    fn send(&mut self, from: usize) {
        let packet = self.ends[from].send(self.sent[from]);
        self.sent[from] += 1;
        self.network[1 - from].extend(packet);
    }

    fn deliver(&mut self, to: usize, place: usize) {
        let packet = self.network[to].swap_remove(place);
        let answer = self.ends[to].receive(packet, &mut self.delivered[to]);
        self.network[1 - to].extend(answer);
        self.network[1 - to].extend(self.ends[to].follow());
        let expected: Vec<u64> = (0..self.delivered[to].len() as u64).collect();
        assert_eq!(self.delivered[to], expected, "not each once and in order");
    }

    fn time_out(&mut self, end: usize) {
        let packets = self.ends[end].timeout();
        self.network[1 - end].extend(packets);
    }
}

#[test]
fn each_message_is_delivered_once_and_in_order() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let mut pair = Pair::new();
        let (loss, repetition) = (random.below(60), random.below(40));
        for _ in 0..200 {
            let end = random.below(2);
            match random.below(10) {
                0..3 => pair.send(end),
                3 => pair.time_out(end),
                _ if pair.network[end].is_empty() => {}
                _ => {
                    let place = random.below(pair.network[end].len());
                    if random.percent(loss) {
                        pair.network[end].swap_remove(place);
                    } else {
                        if random.percent(repetition) {
                            let again = pair.network[end][place].clone();
                            pair.network[end].push(again);
                        }
                        pair.deliver(end, place);
                    }
                }
            }
        }
        // A network that loses nothing any more brings what is missing.
        for _ in 0..4 {
            for end in 0..2 {
                pair.time_out(end);
            }
            for end in [0, 1, 0, 1] {
                while !pair.network[end].is_empty() {
                    let place = random.below(pair.network[end].len());
                    pair.deliver(end, place);
                }
            }
        }
        for end in 0..2 {
            let delivered = pair.delivered[1 - end].len() as u64;
            assert_eq!(delivered, pair.sent[end], "seed {seed}");
            assert!(pair.ends[end].is_settled(), "seed {seed}");
            // A message received again is not kept.
            let state = format!("{:?}", pair.ends[end]);
            assert!(state.contains("early: {}"), "seed {seed}: {state}");
        }
    }
}

#[test]
fn no_more_than_the_window_is_under_way() {
    let mut pair = Pair::new();
    for _ in 0..3 * WINDOW {
        pair.send(0);
    }
    assert_eq!(pair.network[1].len() as u64, WINDOW);
    assert_eq!(pair.ends[0].timeout().len() as u64, WINDOW);
    while !pair.ends[0].is_settled() {
        for end in [1, 0] {
            while !pair.network[end].is_empty() {
                pair.deliver(end, 0);
                let under_way = pair.ends[0].waiting().min(WINDOW as usize);
                assert!(pair.network[1].len() <= under_way);
            }
        }
        // The network loses nothing: messages without room follow by themselves, and no end waits for a timeout.
        assert!(!pair.network[1].is_empty() || pair.ends[0].is_settled());
    }
    assert_eq!(pair.delivered[1].len() as u64, 3 * WINDOW);
}
