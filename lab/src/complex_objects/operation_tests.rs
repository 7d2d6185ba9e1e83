use super::super::build::{Audit, Build};
use super::*;
use crate::complex_objects::workload::{Generator, Mix, References};
use sardonyx_multilevel::PlainPages;
use std::collections::BTreeMap;

struct World {
    pages: PlainPages,
    surroundings: Surroundings,
    references: References,
}

fn world(semantic: bool) -> World {
    let scale = Scale::new(20, 50, 10, 4).unwrap();
    let references = References::generate(scale, 1);
    let mut pages = PlainPages::new();
    pages.area(3);
    let area = pages.area(scale.all_pages());
    let surroundings = Surroundings {
        scale,
        area,
        semantic,
        processors: Processors::new(1),
        access_time: Duration::ZERO,
    };
    for complex_object in 0..scale.complex_objects() {
        let build = Build {
            surroundings: &surroundings,
            references: &references,
            complex_object,
        };
        build.execute(&mut pages).unwrap();
    }
    World {
        pages,
        surroundings,
        references,
    }
}

const MIX: Mix = Mix {
    operations: 5,
    own_accesses: 6,
    foreign_accesses: 6,
    update_percent: 40,
};

impl World {
    fn values(&mut self) -> Vec<i64> {
        let audit = |complex_object| {
            let audit = Audit {
                surroundings: &self.surroundings,
                references: &self.references,
                complex_object,
            };
            audit.execute(&mut self.pages).unwrap()
        };
        (0..20).flat_map(audit).collect()
    }

    fn operations(&self, transactions: usize) -> Vec<ObjectOperation> {
        let mut generator = Generator::new(&self.references, MIX, 2).unwrap();
        let all = (0..transactions).flat_map(|_| generator.transaction().operations);
        all.collect()
    }

    fn visit(&mut self, request: &ObjectOperation) -> (Visited, Option<Inverse>) {
        let visit = Visit {
            surroundings: &self.surroundings,
            request,
        };
        let visited = visit.execute(&mut self.pages).unwrap();
        let inverse = visit.inverse(&visited);
        (visited, inverse)
    }
}

#[test]
fn values_are_the_sums_of_what_was_added() {
    let mut world = world(false);
    let mut expected = vec![0i64; 20 * 50];
    for request in world.operations(50) {
        let mut sum = 0;
        for access in &request.accesses {
            let identity = world.surroundings.scale.identity(access.subobject) as usize;
            match access.change {
                Some(change) => expected[identity] += change,
                None => sum += expected[identity],
            }
        }
        let (visited, _) = world.visit(&request);
        assert_eq!(visited.sum, sum);
    }
    assert_eq!(world.values(), expected);
    assert!(expected.iter().any(|&value| value != 0));
}

#[test]
fn the_inverse_as_bytes_undoes_an_operation_also_after_others() {
    let mut world = world(false);
    let requests = world.operations(10);
    let (first, others) = requests.split_first().unwrap();
    for request in others {
        world.visit(request);
    }
    let others_alone = world.values();
    let mut world = self::world(false);
    let (_, inverse) = world.visit(first);
    for request in others {
        world.visit(request);
    }
    assert_ne!(world.values(), others_alone);
    let inverse = inverse.unwrap();
    assert_eq!(inverse.name(), TakeBack::NAME);
    let take_back = TakeBack::decode(inverse.bytes()).unwrap();
    take_back.execute(&mut world.pages).unwrap();
    assert_eq!(world.values(), others_alone);
}

#[test]
fn what_was_only_read_needs_no_inverse() {
    let mut world = world(false);
    let mut request = world.operations(1).remove(0);
    for access in &mut request.accesses {
        access.change = None;
    }
    let before = world.values();
    assert_eq!(world.visit(&request).1, None);
    assert_eq!(world.values(), before);
}

#[test]
fn each_subobject_is_locked_once_as_strongly_as_needed_in_order() {
    for semantic in [false, true] {
        let world = world(semantic);
        for mut request in world.operations(20) {
            // One that is read and changed.
            let mut again = request.accesses[0];
            again.change = match again.change {
                Some(_) => None,
                None => Some(1),
            };
            request.accesses.push(again);
            let mut needed: BTreeMap<u64, [bool; 2]> = BTreeMap::new();
            for access in &request.accesses {
                let identity = world.surroundings.scale.identity(access.subobject);
                let needs = needed.entry(identity).or_default();
                needs[usize::from(access.change.is_some())] = true;
            }
            let expected: Vec<(u64, Mode)> = needed
                .into_iter()
                .flat_map(|(identity, needs)| match (needs, semantic) {
                    ([true, true], true) => vec![(identity, ADD), (identity, SHARED)],
                    ([_, true], true) => vec![(identity, ADD)],
                    ([_, true], false) => vec![(identity, EXCLUSIVE)],
                    ([_, false], _) => vec![(identity, SHARED)],
                })
                .collect();
            let visit = Visit {
                surroundings: &world.surroundings,
                request: &request,
            };
            let mut locks = LockRequests::default();
            visit.locks(&mut locks);
            let asked: Vec<(u64, Mode)> = locks.iter().map(|(_, id, mode)| (id, mode)).collect();
            assert_eq!(asked, expected);
        }
    }
}

#[test]
fn an_inverse_needs_no_lock_that_the_operation_did_not_have() {
    for semantic in [false, true] {
        let mut world = world(semantic);
        for request in world.operations(20) {
            let Some(inverse) = world.visit(&request).1 else {
                continue;
            };
            let visit = Visit {
                surroundings: &world.surroundings,
                request: &request,
            };
            let (mut had, mut needed) = (LockRequests::default(), LockRequests::default());
            visit.locks(&mut had);
            TakeBack::decode(inverse.bytes())
                .unwrap()
                .locks(&mut needed);
            for (_, identity, mode) in needed.iter() {
                assert!(had.iter().any(|(_, id, had)| (id, had) == (identity, mode)));
            }
        }
    }
}

#[test]
fn bytes_that_are_no_inverse_are_refused() {
    let mut world = world(true);
    let inverse = world
        .operations(1)
        .iter()
        .find_map(|request| world.visit(request).1);
    let bytes = inverse.unwrap().bytes().to_vec();
    assert!(TakeBack::decode(&bytes).is_some());
    assert!(TakeBack::decode(&bytes[..bytes.len() - 1]).is_none());
    assert!(TakeBack::decode(&[]).is_none());
    let mut other_mode = bytes.clone();
    other_mode[2] = 7;
    assert!(TakeBack::decode(&other_mode).is_none());
}

#[test]
fn damage_is_found() {
    let mut world = world(false);
    let request = world.operations(1).remove(0);
    let header = world.surroundings.scale.header_page(request.complex_object);
    let page = world.pages.page(world.surroundings.area, header).unwrap();
    let damage = |world: &mut World, at: usize| {
        let bytes = world.pages.write(page, at..at + 1).unwrap();
        bytes[0] ^= 1;
        let visit = Visit {
            surroundings: &world.surroundings,
            request: &request,
        };
        let outcome = visit.execute(&mut world.pages);
        world.pages.write(page, at..at + 1).unwrap()[0] ^= 1;
        outcome
    };
    let is_damaged = |outcome| matches!(outcome, Err(VisitError::Damaged { .. }));
    assert!(is_damaged(damage(&mut world, 0)));
    let Owner::Own = request.accesses[0].owner else {
        panic!("own subobjects come first");
    };
    let slot = 16 + 2 * usize::from(request.accesses[0].subobject.number);
    assert!(is_damaged(damage(&mut world, slot)));
    let Owner::Foreign { reference } = request.accesses[6].owner else {
        panic!("foreign subobjects come last");
    };
    let reference = 16 + 2 * 50 + 8 * usize::from(reference);
    assert!(is_damaged(damage(&mut world, reference)));
    assert!(damage(&mut world, 4095).is_ok(), "nothing is there");
}

#[test]
fn an_access_works_once() {
    let mut world = world(false);
    world.surroundings.access_time = Duration::from_nanos(1);
    let request = world.operations(1).remove(0);
    world.visit(&request);
    assert_eq!(world.surroundings.processors.worked().0, 12);
}
