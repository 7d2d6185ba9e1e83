//! Section 6: the GEM paper's conclusions without a measurement.

use super::Statement;
use super::claim::Bounds::{Above, Below};
use super::claim::claim;
use super::quantity::{measured, response};
use super::read;
use crate::figures::Configuration;

pub(super) fn statements() -> Vec<Statement> {
    let network = Configuration::debit_credit(10).random().large();
    let across = network.across_gem();
    vec![Statement {
        id: "6-1",
        says: "Page transfers across GEM would also improve coherency control for NOFORCE (also 4.4).",
        paper: "improved",
        tolerance: "An ordering: the difference exceeds its 95% interval.",
        claims: vec![
            claim(
                "gain, random, large buffer, 10 nodes",
                response(network) - response(across),
                Above(0.0),
                "ms",
            ),
            claim(
                "delay of a page request, above messages'",
                measured(across, read::page_request_delay)
                    - measured(network, read::page_request_delay),
                Below(0.0),
                "ms",
            ),
            claim(
                "CPU utilisation, above messages'",
                measured(across, read::cpu) - measured(network, read::cpu),
                Below(0.0),
                "points",
            ),
        ],
    }]
}
