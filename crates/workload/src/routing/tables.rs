//! Routing and authority tables together, in the form of a TOML file.

use super::{AuthorityTable, FragmentLayout, MAX_NODES, RoutingTable};
use crate::trace::{Header, MAX_PAGES};
use serde::{Deserialize, Serialize};

/// The first key of the file names its format.
const FORMAT: &str = "sardonyx-routing-1";

/// The most fragments of a partition in a file.
const MAX_FRAGMENTS: u64 = 1 << 20;

/// The nodes of transactions, and the granting nodes of their locks. Both tables have the same
/// nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct Tables {
    /// Transaction types to nodes.
    pub routing: RoutingTable,
    /// Pages to nodes.
    pub authority: AuthorityTable,
}

/// The reason why a file has no tables for a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// The file is not TOML of the format.
    #[error("{file}: {reason}")]
    Syntax {
        /// The file's name as it was given.
        file: String,
        /// The fault, with line and column.
        reason: String,
    },
    /// A value is wrong.
    #[error("{file}: {key} is wrong: {reason}")]
    Value {
        /// The file's name as it was given.
        file: String,
        /// The value's key.
        key: String,
        /// The value found and the allowed ones.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    nodes: u16,
    #[serde(rename = "type")]
    types: Vec<TypeEntry>,
    #[serde(rename = "partition")]
    partitions: Vec<PartitionEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeEntry {
    name: String,
    nodes: Vec<u16>,
    shares: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartitionEntry {
    name: String,
    pages: u64,
    fragment_pages: u64,
    /// Runs of fragments: how many, and their node.
    authority: Vec<(u64, u16)>,
}

impl Tables {
    /// The tables as TOML, with the names of a trace.
    ///
    /// # Panics
    /// If the header has not as many types and partitions as the tables.
    pub fn to_toml(&self, header: &Header) -> String {
        assert_eq!(header.types().len(), self.routing.types());
        assert_eq!(
            header.partitions().len(),
            self.authority.layout().partitions()
        );
        let mut text = format!(
            "# Where transactions run and who grants their locks. A type's transactions go to its\n\
             # nodes in the shares given; a partition's authority is in runs [fragments, node].\n\
             format = \"{FORMAT}\"\nnodes = {}\n",
            self.routing.nodes()
        );
        for (kind, name) in header.types().iter().enumerate() {
            let (nodes, shares): (Vec<_>, Vec<_>) = self.routing.shares(kind as u16).unzip();
            text += &format!("\n[[type]]\nname = \"{name}\"\nnodes = {nodes:?}\n");
            text += &format!("shares = {shares:?}\n");
        }
        let layout = self.authority.layout();
        for (number, partition) in header.partitions().iter().enumerate() {
            let (pages, fragment_pages) = layout.sizes(number);
            let owners = &self.authority.owners()[layout.fragments(number)];
            let runs = owners.chunk_by(|one, other| one == other);
            let runs: Vec<[u64; 2]> = runs
                .map(|run| [run.len() as u64, u64::from(run[0])])
                .collect();
            text += &format!(
                "\n[[partition]]\nname = \"{}\"\npages = {pages}\nfragment_pages = \
                 {fragment_pages}\nauthority = [\n",
                partition.name
            );
            for line in runs.chunks(10) {
                let cells = line
                    .iter()
                    .map(|[count, node]| format!("[{count}, {node}]"));
                text += &format!("  {},\n", cells.collect::<Vec<_>>().join(", "));
            }
            text += "]\n";
        }
        text
    }

    /// Reads tables for a trace. `file` is the name for errors.
    ///
    /// # Errors
    /// [`TablesError`] that names the key: the text is not TOML, not of the format, or not for a trace with this
    /// header.
    pub fn from_toml(text: &str, file: &str, header: &Header) -> Result<Self, TablesError> {
        let parsed: File = toml::from_str(text).map_err(|error| TablesError::Syntax {
            file: file.into(),
            reason: error.to_string().trim_end().into(),
        })?;
        parsed
            .tables(header)
            .map_err(|(key, reason)| TablesError::Value {
                file: file.into(),
                key,
                reason,
            })
    }
}

/// The fault: the key, and the reason.
type Wrong = (String, String);

impl File {
    fn tables(&self, header: &Header) -> Result<Tables, Wrong> {
        let wrong = |key: &str, reason: String| Err((key.to_string(), reason));
        if self.format != FORMAT {
            return wrong(
                "format",
                format!("it is {:?}: {FORMAT:?} is read", self.format),
            );
        }
        if !(1..=MAX_NODES).contains(&self.nodes) {
            return wrong(
                "nodes",
                format!("{}: choose between 1 and {MAX_NODES}", self.nodes),
            );
        }
        same_names(
            "type",
            self.types.iter().map(|one| &one.name),
            header.types().iter(),
        )?;
        let names = header.partitions().iter().map(|one| &one.name);
        same_names(
            "partition",
            self.partitions.iter().map(|one| &one.name),
            names,
        )?;
        let rows = self.types.iter().map(|entry| entry.weights(self.nodes));
        let weights = rows.collect::<Result<Vec<_>, _>>()?;
        let routing = RoutingTable::of_weights(self.nodes, &weights).ok_or_else(|| {
            (
                "type".to_string(),
                "a type has no share above 0".to_string(),
            )
        })?;
        let mut owners = Vec::new();
        for (entry, partition) in self.partitions.iter().zip(header.partitions()) {
            entry.check(partition.pages)?;
            entry.add_owners(self.nodes, &mut owners)?;
        }
        let cuts = self
            .partitions
            .iter()
            .map(|one| (one.pages, one.fragment_pages));
        let layout = FragmentLayout::of_cuts(cuts);
        let authority = AuthorityTable::new(self.nodes, layout, owners)
            .expect("as many owners as fragments, each a node");
        Ok(Tables { routing, authority })
    }
}

impl TypeEntry {
    fn weights(&self, nodes: u16) -> Result<Vec<f64>, Wrong> {
        let wrong =
            |key: &str, reason: String| Err((format!("{key} of type {:?}", self.name), reason));
        if self.nodes.len() != self.shares.len() {
            let (nodes, shares) = (self.nodes.len(), self.shares.len());
            return wrong(
                "shares",
                format!("{shares} of them for {nodes} nodes: give as many"),
            );
        }
        let mut weights = vec![0.0; usize::from(nodes)];
        for (&node, &share) in self.nodes.iter().zip(&self.shares) {
            let Some(weight) = weights.get_mut(usize::from(node)) else {
                return wrong(
                    "nodes",
                    format!("there is no node {node}: they go from 0 to {}", nodes - 1),
                );
            };
            if !(share > 0.0 && share <= 1.0) {
                return wrong(
                    "shares",
                    format!("{share}: it must be above 0 and at most 1"),
                );
            }
            if *weight != 0.0 {
                return wrong("nodes", format!("node {node} is there twice"));
            }
            *weight = share;
        }
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > 1e-3 {
            return wrong("shares", format!("they add up to {sum}: it must be 1"));
        }
        Ok(weights)
    }
}

impl PartitionEntry {
    fn wrong(&self, key: &str, reason: String) -> Wrong {
        (format!("{key} of partition {:?}", self.name), reason)
    }

    fn check(&self, pages: u64) -> Result<(), Wrong> {
        if self.pages != pages {
            let reason = format!("{}: the trace's has {pages}", self.pages);
            return Err(self.wrong("pages", reason));
        }
        let size = self.fragment_pages;
        let possible = size.is_power_of_two() && size <= MAX_PAGES;
        if !possible || self.pages.div_ceil(size) > MAX_FRAGMENTS {
            let reason = format!(
                "{size}: it must be a power of two that gives at most {MAX_FRAGMENTS} fragments"
            );
            return Err(self.wrong("fragment_pages", reason));
        }
        Ok(())
    }

    fn add_owners(&self, nodes: u16, owners: &mut Vec<u16>) -> Result<(), Wrong> {
        let mut left = self.pages.div_ceil(self.fragment_pages);
        let fragments = left;
        for &(count, node) in &self.authority {
            if node >= nodes {
                let reason = format!("there is no node {node}: they go from 0 to {}", nodes - 1);
                return Err(self.wrong("authority", reason));
            }
            if count > left {
                let reason = format!("its runs have more than the {fragments} fragments there are");
                return Err(self.wrong("authority", reason));
            }
            left -= count;
            owners.extend(std::iter::repeat_n(node, count as usize));
        }
        if left > 0 {
            let reason = format!("its runs lack {left} of the {fragments} fragments");
            return Err(self.wrong("authority", reason));
        }
        Ok(())
    }
}

fn same_names<'a>(
    what: &str,
    found: impl Iterator<Item = &'a String>,
    expected: impl Iterator<Item = &'a String>,
) -> Result<(), Wrong> {
    let (found, expected): (Vec<_>, Vec<_>) = (found.collect(), expected.collect());
    if found == expected {
        Ok(())
    } else {
        let key = format!("the names of each {what}");
        Err((
            key,
            format!("they are {found:?}; the trace has {expected:?}, in this order"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{ReferenceDistribution, heuristic};
    use crate::trace::Trace;
    use proptest::prelude::*;

    fn sample(nodes: u16) -> (Tables, Header) {
        let mut text = String::from(
            "sardonyx-trace 1\npage-bytes 4096\ntype a\ntype b\npartition p 10\npartition q 5000\n",
        );
        for page in 0..10 {
            text += &format!("transaction a\nr p {page}\nr q {}\n", page * 7);
            text += &format!("transaction b\nr p {page} {page}\nw q {}\n", 4_000 + page);
        }
        let trace = Trace::read((text + "end\n").as_bytes(), "small").unwrap();
        let distribution = ReferenceDistribution::of_trace(&trace, 64);
        let options = heuristic::Options::for_nodes(nodes);
        let tables = heuristic::affinity(&distribution, nodes, &options)
            .unwrap()
            .0;
        (tables, trace.header().clone())
    }

    #[test]
    fn what_is_written_is_read() {
        for nodes in [1, 2, 3, 7, 1_000] {
            let (tables, header) = sample(nodes);
            let text = tables.to_toml(&header);
            let read = Tables::from_toml(&text, "x.toml", &header).unwrap();
            assert_eq!(read.authority, tables.authority);
            assert_eq!(read.to_toml(&header), text, "{nodes} nodes");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let (tables, header) = sample(2);
        let good = tables.to_toml(&header);
        for (old, new, said) in [
            (
                "nodes = 2",
                "nodes = 0",
                "nodes is wrong: 0: choose between 1 and 1000",
            ),
            ("nodes = 2", "nodes = \"two\"", "line 4"),
            (
                "sardonyx-routing-1",
                "sardonyx-routing-2",
                "format is wrong",
            ),
            (
                "name = \"a\"",
                "name = \"c\"",
                "the names of each type is wrong",
            ),
            (
                "pages = 5000",
                "pages = 4999",
                "pages of partition \"q\" is wrong: 4999: the trace's has 5000",
            ),
            (
                "fragment_pages = 1\n",
                "fragment_pages = 3\n",
                "it must be a power of two",
            ),
            (
                "fragment_pages = 1\n",
                "fragment_pages = 2\n",
                "authority of partition \"p\" is wrong: its runs have more than the 5",
            ),
            ("pages = 10\n", "pages = 10\nextra = 1\n", "unknown field"),
        ] {
            assert!(good.contains(old), "{old} is not in\n{good}");
            let error = Tables::from_toml(&good.replacen(old, new, 1), "x.toml", &header);
            let error = error.unwrap_err().to_string();
            assert!(
                error.starts_with("x.toml: ") && error.contains(said),
                "{new}: {error}"
            );
        }
        let file = |shares: &str, nodes: &str| {
            let start = good.find("[[type]]").unwrap();
            let end = good.find("[[partition]]").unwrap();
            let types = ["a", "b"].map(|name| {
                format!("[[type]]\nname = \"{name}\"\nnodes = {nodes}\nshares = {shares}\n")
            });
            let text = [&good[..start], &types.concat(), &good[end..]].concat();
            Tables::from_toml(&text, "x.toml", &header).map_err(|error| error.to_string())
        };
        assert!(file("[0.5, 0.5]", "[0, 1]").is_ok());
        for (shares, nodes, said) in [
            (
                "[0.5, 0.5]",
                "[0, 2]",
                "there is no node 2: they go from 0 to 1",
            ),
            ("[0.5, 0.4]", "[0, 1]", "they add up to 0.9"),
            ("[1.0]", "[0, 1]", "1 of them for 2 nodes"),
            ("[0.5, 0.5]", "[1, 1]", "node 1 is there twice"),
            (
                "[1.5, -0.5]",
                "[0, 1]",
                "1.5: it must be above 0 and at most 1",
            ),
            ("[nan, 0.5]", "[0, 1]", "it must be above 0"),
            ("[]", "[]", "they add up to 0"),
        ] {
            let error = file(shares, nodes).unwrap_err();
            assert!(error.contains(said), "{shares} {nodes}: {error}");
        }
    }

    proptest! {
        #[test]
        fn damage_never_panics(place: prop::sample::Index, byte in 0x20u8..0x7f) {
            let (tables, header) = sample(3);
            let mut text = tables.to_toml(&header).into_bytes();
            let place = place.index(text.len());
            text[place] = byte;
            let _ = Tables::from_toml(&String::from_utf8(text).unwrap(), "x.toml", &header);
        }
    }
}
