//! Every statement must hold where the GEM paper's world is true, and fail where it is not.

use super::*;
use crate::figures::{Configuration, Needs};
use crate::measurement::Measurement;
use crate::parameters::Parameters;

fn all_needs(statements: &[Statement]) -> Needs {
    let mut needs = Needs::default();
    statements
        .iter()
        .for_each(|statement| statement.needs(&mut needs));
    needs
}

#[test]
fn all_statements_hold_in_the_papers_world() {
    let all = all();
    let study = paper_world::study(&all_needs(&all));
    for statement in &all {
        let verdict = statement.judge(&study);
        let arithmetic = statement.claims.iter().all(|claim| claim.arithmetic);
        let expected = if arithmetic {
            Holds::Arithmetic
        } else {
            Holds::Holds
        };
        assert_eq!(verdict.holds, expected, "{verdict:#?}");
        assert!(
            verdict.why.is_empty() && !verdict.ours.is_empty(),
            "{verdict:#?}"
        );
    }
}

/// A way in which a measurement can be wrong, and its name.
type Fault = (&'static str, fn(&mut Measurement));

/// Ways in which a measurement can be wrong.
const FAULTS: &[Fault] = &[
    ("slow", |one| {
        one.response.mean *= 3.0;
        one.response.normalised *= 3.0;
    }),
    ("fast", |one| {
        one.response.mean *= 0.01;
        one.response.normalised *= 0.01;
    }),
    ("in GEM for long", |one| one.composition.gem = 1000.0),
    ("locks waited for", |one| one.composition.lock_wait = 1000.0),
    ("no I/O", |one| one.composition.io = 0.0),
    ("no CPU queues", |one| one.composition.cpu_wait = 0.0),
    ("input queue", |one| one.composition.input_queue = 1.0),
    ("low throughput", |one| one.throughput *= 0.5),
    ("idle servers", |one| {
        one.servers
            .iter_mut()
            .for_each(|station| station.utilisation = 0.0)
    }),
    ("busy servers", |one| {
        one.servers
            .iter_mut()
            .for_each(|station| station.utilisation = 1.0)
    }),
    ("queues", |one| {
        one.servers
            .iter_mut()
            .for_each(|station| station.wait_milliseconds = 1.0)
    }),
    ("even processors", |one| {
        one.cpu_of_nodes.iter_mut().for_each(|cpu| *cpu = 0.5)
    }),
    ("uneven processors", |one| one.cpu_of_nodes[0] = 0.01),
    ("no hits", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.hit_ratio = 0.0)
    }),
    ("hits only", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.hit_ratio = 0.999)
    }),
    ("no invalidations", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.invalidations = 0.0)
    }),
    ("many invalidations", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.invalidations = 9.0)
    }),
    ("no copies made invalid", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.made_invalid = 0.0)
    }),
    ("many copies made invalid", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.made_invalid = 9.0)
    }),
    ("no page from nodes", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.from_nodes = 0.0)
    }),
    ("many from nodes", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.from_nodes = 2.0)
    }),
    ("many reads", |one| {
        one.partitions.iter_mut().for_each(|part| part.reads = 2.0)
    }),
    ("no cache hits", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.cache_hit_ratio = 0.0)
    }),
    ("more accesses", |one| {
        one.partitions
            .iter_mut()
            .for_each(|part| part.accesses *= 2.0)
    }),
    ("no page requests", |one| one.locks.page_requests = 0.0),
    ("many page requests", |one| one.locks.page_requests = 9.0),
    ("slow page requests", |one| {
        one.locks.page_request_milliseconds = 20.0
    }),
    ("no page request's delay", |one| {
        one.locks.page_request_milliseconds = 0.5
    }),
    ("all locks local", |one| one.locks.local_share = 1.0),
    ("no lock local", |one| one.locks.local_share = 0.0),
    ("many remote", |one| one.locks.remote = 9.0),
    ("many messages", |one| one.locks.short_messages = 99.0),
];

fn is_met(claim: &Claim, study: &Study) -> bool {
    claim.judge(study).met == Met::Yes
}

/// A fault that breaks `claim` when only one of its points is wrong.
fn fault_seen(claim: &Claim) -> Option<(&'static str, Configuration)> {
    let mut needs = Needs::default();
    claim.quantity.needs(&mut needs);
    let base = Parameters::paper();
    for point in needs.outcomes().iter().chain(needs.throughputs()) {
        let wrong = point.parameters(&base);
        for (name, fault) in FAULTS {
            let study = paper_world::study_on(&base, &needs, &|at, one| {
                if paper_world::is_same_point(at, &wrong) {
                    fault(one);
                }
            });
            if !is_met(claim, &study) {
                return Some((*name, *point));
            }
        }
    }
    None
}

#[test]
fn every_claim_about_outcomes_fails_when_they_are_wrong() {
    for statement in all() {
        for claim in &statement.claims {
            let mut needs = Needs::default();
            claim.quantity.needs(&mut needs);
            if needs.outcomes().is_empty() && needs.throughputs().is_empty() {
                continue;
            }
            assert!(
                fault_seen(claim).is_some(),
                "{}: nothing breaks \"{}\"",
                statement.id,
                claim.what
            );
        }
    }
}

#[test]
fn every_claim_about_parameters_fails_when_they_are_wrong() {
    let faults: [fn(&mut Parameters); 6] = [
        |of| of.node.access_instructions *= 2.0,
        |of| of.gem.page_microseconds *= 2.0,
        |of| of.disk.controller_milliseconds *= 2.0,
        |of| of.messages.short_instructions *= 2.0,
        |of| of.workload.branches_per_node *= 2,
        |of| of.disk.instructions *= 20.0,
    ];
    let mut checked = 0;
    for statement in all() {
        for claim in &statement.claims {
            let mut needs = Needs::default();
            claim.quantity.needs(&mut needs);
            if !needs.outcomes().is_empty() || !needs.throughputs().is_empty() {
                continue;
            }
            let broken = faults.iter().any(|fault| {
                let mut base = Parameters::paper();
                fault(&mut base);
                !is_met(claim, &paper_world::study_on(&base, &needs, &|_, _| {}))
            });
            assert!(
                broken,
                "{}: nothing breaks \"{}\"",
                statement.id, claim.what
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 11);
}

/// The verdict on `id` in the GEM paper's world changed by `change`.
fn verdict(id: &str, change: &dyn Fn(&Parameters, &mut Measurement)) -> Verdict {
    let statement = all()
        .into_iter()
        .find(|statement| statement.id == id)
        .unwrap();
    let needs = all_needs(std::slice::from_ref(&statement));
    statement.judge(&paper_world::study_where(&needs, change))
}

#[test]
fn hit_ratios_that_do_not_fall_are_noticed() {
    let verdict = verdict("4.2-11", &|_, one| one.partitions[2].hit_ratio = 0.71);
    assert_eq!(verdict.holds, Holds::Fails);
    assert!(
        verdict.why.contains("5 nodes: 71 % is not 10 to 16 %"),
        "{}",
        verdict.why
    );
    assert!(!verdict.why.contains("1 node:"), "{}", verdict.why);
}

#[test]
fn without_any_difference_no_ordering_holds() {
    // The same everywhere but for chance, which is another at each point.
    let alike = |at: &Parameters, one: &mut Measurement| {
        let force = f64::from(u8::from(at.update == crate::parameters::Update::Force));
        let loose = f64::from(u8::from(at.coupling == crate::parameters::Coupling::Loose));
        let large = f64::from(u8::from(at.node.buffer_pages > 200));
        let factor = (1.0 + 0.37 * force) * (1.0 + 0.61 * loose) * (1.0 + 0.83 * large);
        let chance = one.composition.cpu_service / 25.0 - 1.0;
        one.response.normalised = 50.0 * (1.0 + chance * f64::from(at.nodes) * factor);
    };
    for id in ["4.2-6", "4.2-9", "4.5-4", "4.5-11", "4.5-12"] {
        let verdict = verdict(id, &alike);
        assert_ne!(verdict.holds, Holds::Holds, "{verdict:#?}");
        assert!(verdict.why.contains("may or may not be"), "{}", verdict.why);
    }
    assert_eq!(verdict("4.2-1", &alike).holds, Holds::Holds);
}

#[test]
fn a_planted_wrong_number_makes_a_statement_fail_though_its_other_claims_hold() {
    let right = verdict("4.2-4", &|_, _| {});
    assert_eq!(right.holds, Holds::Holds);
    let wrong = verdict("4.2-4", &|at, one| {
        if at.routing == crate::parameters::Routing::Random {
            one.servers[1].utilisation = 0.027;
        }
    });
    assert_eq!(wrong.holds, Holds::Fails);
    let met: Vec<_> = wrong.claims.iter().map(|claim| claim.met).collect();
    assert_eq!(met, [Met::Yes, Met::No, Met::Yes, Met::Yes]);
    assert!(
        wrong.why.contains("2.7 % is not below 2 %"),
        "{}",
        wrong.why
    );
}

#[test]
fn a_wide_interval_makes_a_statement_undecided() {
    // 1.7% on average, from 1.3 to 2.1%.
    let noisy = verdict("4.2-4", &|_, one| {
        let chance = one.composition.cpu_service / 25.0 - 1.0;
        one.servers[1].utilisation = 0.017 + 4.0 * chance;
    });
    assert_eq!(noisy.holds, Holds::Undecided, "{noisy:#?}");
    assert!(noisy.why.contains("may or may not be"), "{}", noisy.why);
}

#[test]
fn what_points_have_in_common_cancels_in_their_difference() {
    // Both response times scatter by 30 ms together; their difference of 1 ms does not.
    let common = |more: f64| {
        move |at: &Parameters, one: &mut Measurement| {
            let chance = one.composition.cpu_service / 25.0 - 1.0;
            let force = f64::from(u8::from(at.update == crate::parameters::Update::Force));
            one.response.normalised = 100.0 + 30_000.0 * chance + more * force;
        }
    };
    assert_eq!(verdict("4.2-5", &common(1.0)).claims[0].met, Met::Yes);
    assert_eq!(verdict("4.2-5", &common(-1.0)).claims[0].met, Met::No);
    let difference = verdict("4.2-5", &common(1.0)).claims.remove(0);
    assert!((difference.mean.unwrap() - 1.0).abs() < 1e-9);
    assert!(difference.half_width.unwrap() < 1e-6, "{difference:?}");
    let level = quantity::response(Configuration::debit_credit(1));
    let needs = all_needs(&all());
    let study = paper_world::study_where(&needs, &common(1.0));
    assert!(level.value(&study).unwrap().half_width > 50.0);
}

#[test]
fn the_points_of_undecided_claims_get_more_replications_and_no_others() {
    let statements = all();
    let needs = all_needs(&statements);
    // GEM's utilisation scatters from 1.3 to 2.1%; the more replications, the narrower.
    let simulate = |points: &[Parameters]| -> Result<Vec<_>, std::convert::Infallible> {
        let outcomes = points.iter().map(|point| {
            let count = point.run.least_replications;
            let wide = |chance: f64, one: &mut Measurement| {
                one.servers[1].utilisation = 0.017 + 4.0 * (chance - 1.0);
            };
            paper_world::outcome(point, count, &wide)
        });
        Ok(outcomes.collect())
    };
    let mut base = Parameters::paper();
    base.run.least_replications = 3;
    let Ok(mut study) = Study::run(&base, &needs, &simulate);
    let statement = |id| statements.iter().find(|one| one.id == id).unwrap();
    assert_eq!(statement("4.2-4").judge(&study).holds, Holds::Undecided);
    let Ok(verdicts) = judge(&statements, &mut study, &simulate);
    let verdict = verdicts.iter().find(|one| one.id == "4.2-4").unwrap();
    assert_eq!(verdict.holds, Holds::Holds, "{verdict:#?}");
    let count = |nodes| {
        let at = Configuration::debit_credit(nodes);
        study.outcome(&at).unwrap().replications.len()
    };
    assert_eq!((count(10), count(1)), (12, 3));
}

#[test]
fn a_statement_of_parameters_alone_is_arithmetic_and_fails_where_they_are_others() {
    assert_eq!(verdict("4.1-3", &|_, _| {}).holds, Holds::Arithmetic);
    let statement = all().into_iter().find(|one| one.id == "4.1-3").unwrap();
    let mut base = Parameters::paper();
    base.messages.short_instructions *= 2.0;
    let needs = all_needs(std::slice::from_ref(&statement));
    let study = paper_world::study_on(&base, &needs, &|_, _| {});
    let verdict = statement.judge(&study);
    assert_eq!(verdict.holds, Holds::Fails);
    assert!(
        verdict.check.contains("(arithmetic): 19998"),
        "{}",
        verdict.check
    );
}

#[test]
fn verdicts_are_counted_by_kind() {
    let all = all();
    let study = paper_world::study(&all_needs(&all));
    let verdicts: Vec<_> = all.iter().map(|one| one.judge(&study)).collect();
    let text = count(&verdicts);
    assert!(
        text.contains(" hold, ") && text.ends_with("are arithmetic, which no run can miss"),
        "{text}"
    );
    let first = verdicts.iter().position(|one| one.id == "4.1-1").unwrap();
    assert_eq!(
        count(&verdicts[first..=first]),
        "1 is arithmetic, which no run can miss"
    );
}

#[test]
fn a_throughput_out_of_reach_is_said() {
    let verdict = verdict("4.5-14", &|at, one| {
        one.saturated = at.coupling == crate::parameters::Coupling::Loose;
        one.servers[1].most_utilisation = 1.0;
        if one.saturated {
            one.servers[0].utilisation = 0.5;
        }
    });
    assert_eq!(verdict.holds, Holds::Fails);
    assert!(verdict.why.contains("cannot be reached"), "{}", verdict.why);
}

#[test]
fn points_that_are_missing_are_said() {
    let study = paper_world::study(&Needs::default());
    let verdicts: Vec<_> = all()
        .iter()
        .map(|statement| statement.judge(&study))
        .collect();
    let missing = verdicts
        .iter()
        .filter(|verdict| verdict.holds == Holds::NotSimulated);
    // All but those that need only parameters.
    assert_eq!(missing.count(), verdicts.len() - 5);
}

#[test]
fn numbers_are_in_order_and_not_there_twice() {
    let mut last = ("2", 0);
    for statement in all() {
        let (section, number) = statement.id.split_once('-').unwrap();
        let number: u32 = number.parse().unwrap();
        let first = section != last.0;
        assert_eq!(
            number,
            if first { 1 } else { last.1 + 1 },
            "{}",
            statement.id
        );
        assert!(section >= last.0, "{}", statement.id);
        last = (section, number);
    }
    assert_eq!(last, ("6", 1));
}

#[test]
fn the_table_has_a_row_for_each_statement() {
    let all = all();
    let study = paper_world::study(&all_needs(&all));
    let verdicts: Vec<_> = all
        .iter()
        .map(|statement| statement.judge(&study))
        .collect();
    let table = markdown(&verdicts);
    assert_eq!(table.matches("\n### ").count() + 1, 8);
    for statement in &all {
        assert_eq!(
            table.matches(&format!("| {} |", statement.id)).count(),
            1,
            "{}",
            statement.id
        );
    }
    let rows = table.lines().filter(|line| {
        ["| 2-", "| 4.", "| 6-"]
            .iter()
            .any(|id| line.starts_with(id))
    });
    assert!(
        rows.clone().all(|row| row.matches(" | ").count() == 5),
        "{table}"
    );
    assert_eq!(table, markdown(&verdicts));
}
