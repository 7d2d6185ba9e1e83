#![allow(missing_docs)]
use sardonyx_workload::routing::{ReferenceDistribution, heuristic};
use sardonyx_workload::trace::{locality::Locality, statistics::Statistics, synthetic};
fn main() {
    let t = std::time::Instant::now();
    let trace = synthetic::generate(std::env::args().nth(1).map_or(1, |s| s.parse().unwrap()));
    let s = Statistics::of(&trace);
    println!(
        "tx {} acc {} mean {:.1} largest {} distinct {} upd {:.3} wr {:.4} locks/tx {:.2} wl/tx {:.2}",
        s.transactions,
        s.accesses,
        s.mean_accesses(),
        s.largest,
        s.distinct_pages,
        s.update_share(),
        s.write_share(),
        s.mean_locks(),
        s.write_locks as f64 / s.transactions as f64
    );
    for p in &s.partitions {
        print!(
            "{} {} d{} {:.2}/{:.2}; ",
            p.name, p.accesses, p.distinct_pages, p.hottest_1_percent, p.hottest_10_percent
        );
    }
    println!("\n{:?}", t.elapsed());
    for nodes in [1, 2, 4, 8, 16] {
        let d =
            ReferenceDistribution::of_trace(&trace, ReferenceDistribution::fragments_for(nodes));
        let t = std::time::Instant::now();
        let (tables, q) = heuristic::affinity(&d, nodes, &Default::default()).unwrap();
        let e = t.elapsed();
        let (rt, _) = heuristic::random(&d, nodes).unwrap();
        let a = Locality::of(&trace, &tables, 1000, 1);
        let r = Locality::of(&trace, &rt, 1000, 1);
        println!(
            "N={nodes}: aff {:.3} ro {:.3} recent {:.3} imb {:.2}/{:.2} rev {} | rand {:.3} ro {:.3} recent {:.3} rev {} | {:?} {:?}",
            a.local_share(),
            a.local_share_with_read_optimisation(),
            a.recent_share(),
            a.load_imbalance(),
            q.authority_imbalance,
            a.revocations,
            r.local_share(),
            r.local_share_with_read_optimisation(),
            r.recent_share(),
            r.revocations,
            e,
            q
        );
    }
}
