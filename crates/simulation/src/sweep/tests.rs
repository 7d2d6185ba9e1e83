//! Ranges, grids, and their drawings.

use super::*;
use crate::measurement::Measurement;

fn paper() -> Layers {
    Layers::named("paper").unwrap()
}

fn values(range: &str) -> Vec<String> {
    Dimension::read(range).unwrap().values
}

/// Outcomes whose mean response time is nodes over MIPS, times 1000.
fn outcomes(sweep: &Sweep) -> Vec<Outcome> {
    let outcome = |point: &Parameters| {
        let mut one = Measurement::default();
        one.response.mean = 1000.0 * f64::from(point.nodes) / point.node.mips;
        Outcome::new(point.clone(), vec![one.clone(), one])
    };
    sweep.points().iter().map(outcome).collect()
}

#[test]
fn ranges_are_lists_steps_and_multiples() {
    assert_eq!(values("node.mips=10, 20,40"), ["10", "20", "40"]);
    assert_eq!(values("routing=affinity,random"), ["affinity", "random"]);
    assert_eq!(values("nodes=1..4"), ["1", "2", "3", "4"]);
    assert_eq!(values("nodes=2..9+3"), ["2", "5", "8"]);
    assert_eq!(values("x=100..800*2"), ["100", "200", "400", "800"]);
    assert_eq!(
        values("x=0.1..0.5+0.1"),
        ["0.1", "0.2", "0.3", "0.4", "0.5"]
    );
    assert_eq!(values("x=1..2*1.5"), ["1.0", "1.5"]);
    assert_eq!(
        values("x=1..10*1.5").last().map(String::as_str),
        Some("7.59375")
    );
    assert!(Dimension::read("x=1..8*2").unwrap().geometric);
}

#[test]
fn what_is_wrong_with_a_range_is_said() {
    for (range, reason) in [
        ("nodes", "there is no ="),
        ("=1,2", "the key or the values are missing"),
        ("nodes=", "the key or the values are missing"),
        ("nodes=1,,2", "a value is missing"),
        ("nodes=1,2,1", "1 is there twice"),
        ("nodes=a..b", "these are not numbers"),
        ("nodes=1..inf", "these are not numbers"),
        ("nodes=4..1", "the last value is below the first"),
        ("nodes=1..4+0", "the step must be above 0"),
        ("nodes=0..4*2", "multiples need a first value above 0"),
        ("nodes=1..4*1", "a factor above 1"),
        ("node.mips=1..5000", "more than 1000 values"),
    ] {
        let error = Dimension::read(range).unwrap_err().to_string();
        assert!(
            error.contains(reason) && error.starts_with(range),
            "{range}: {error}"
        );
    }
}

#[test]
fn impossible_points_are_named_before_anything_is_simulated() {
    let error = |ranges: &[&str]| Sweep::new(&paper(), ranges, None).unwrap_err().to_string();
    assert!(error(&["nodes=1,0"]).contains("nodes = 0 is out of range: choose 1 to 1000"));
    assert!(error(&["node.misp=1,2"]).contains("misp"));
    assert!(error(&["routing=nearest"]).contains("unknown variant"));
    assert!(error(&[]).contains("0 parameters"));
    assert!(error(&["nodes=1", "node.mips=1", "gem.servers=1"]).contains("3 parameters"));
    assert!(error(&["nodes=1", "nodes=2"]).contains("nodes is swept twice"));
    let large = error(&["nodes=1..200", "node.mips=1..200"]);
    assert!(
        large.contains("40000 points: choose ranges with at most 10000"),
        "{large}"
    );
    let figure = Sweep::new(&paper(), &["nodes=1"], Some("mean"))
        .unwrap_err()
        .to_string();
    assert!(figure.contains("SECTION/NAME"), "{figure}");
}

#[test]
fn the_first_parameter_varies_fastest() {
    let sweep = Sweep::new(&paper(), &["nodes=1..3", "node.mips=10,20"], None).unwrap();
    let points: Vec<_> = sweep
        .points()
        .iter()
        .map(|one| (one.nodes, one.node.mips))
        .collect();
    let wanted = [
        (1, 10.0),
        (2, 10.0),
        (3, 10.0),
        (1, 20.0),
        (2, 20.0),
        (3, 20.0),
    ];
    assert_eq!(points, wanted);
    let csv = sweep.csv(&outcomes(&sweep)).unwrap();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "nodes,node.mips,mean response time (ms),half_width,replications,saturated"
    );
    assert_eq!(lines[1], "1,10,100,0,2,false");
    assert_eq!(lines[6], "3,20,150,0,2,false");
    let svg = sweep.svg(&outcomes(&sweep)).unwrap();
    assert!(svg.contains(">300<") && svg.contains(">50.0<"), "{svg}");
    assert_eq!(svg, sweep.svg(&outcomes(&sweep)).unwrap());
}

#[test]
fn one_parameter_gives_a_curve() {
    for range in [
        "nodes=1..5",
        "node.mips=10..160*2",
        "routing=affinity,random",
    ] {
        let sweep = Sweep::new(&paper(), &[range], None).unwrap();
        let svg = sweep.svg(&outcomes(&sweep)).unwrap();
        // One more in the legend.
        assert_eq!(
            svg.matches("<circle").count(),
            sweep.points().len() + 1,
            "{range}"
        );
    }
}

#[test]
fn values_that_are_names_are_written_at_the_axis() {
    let sweep = Sweep::new(&paper(), &["routing=affinity,random"], None).unwrap();
    let svg = sweep.svg(&outcomes(&sweep)).unwrap();
    assert!(
        svg.contains(">affinity</text>") && svg.contains(">random</text>"),
        "{svg}"
    );
}

#[test]
fn any_figure_can_be_drawn_and_an_unknown_one_is_said() {
    let sweep = |figure| Sweep::new(&paper(), &["nodes=1..2"], Some(figure)).unwrap();
    let io = sweep("composition of the response time/I/O");
    let csv = io.csv(&outcomes(&io)).unwrap();
    assert!(
        csv.starts_with("nodes,composition of the response time: I/O (ms),"),
        "{csv}"
    );
    let unknown = sweep("response time/mode");
    let error = unknown.svg(&outcomes(&unknown)).unwrap_err().to_string();
    assert!(error.contains("response time/mean") && error.contains("\"response time/mode\""));
}
