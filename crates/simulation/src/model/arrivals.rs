use super::service::exponential;
use crate::parameters::Arrival;
use crate::time::Span;
use sardonyx_workload::random::Random;

pub struct Arrivals { mean: f64, random: Random }
impl Arrivals {
    pub fn new(_arrival: &Arrival, rate: f64, random: Random) -> Self { Arrivals { mean: 1.0 / rate, random } }
    pub fn next(&mut self) -> Span { Span::from_seconds(self.mean * exponential(&mut self.random)) }
}
