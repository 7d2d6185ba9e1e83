//! Charts as SVG: curves with intervals, and heat maps.
//!
//! The pictures are complete alone: no script, no font, no file beside them. They are made for paper as for screens.
//! Markers and dashes distinguish curves without colour, and the legend is beside the data. The y axis begins at 0
//! unless it is logarithmic. They follow a dark screen. The same data gives the same bytes (I11).

mod axis;
mod curves;
mod heat_map;
mod sheet;
mod svg;

pub use axis::Axis;
pub use curves::{Chart, Mark, Panel, Series};
pub use heat_map::HeatMap;
pub use sheet::Sheet;
