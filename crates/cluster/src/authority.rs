//! The place of the lock authority of loosely coupled nodes. It is the node to which a routing sends the transactions
//! that refer to a page (GEM paper, section 3.2: coordinated allocation of lock authority and workload).
//!
//! It is the division of `simulate` and of `trace route`: by branch, or a file's authority table. A node's place is its
//! slot. A client's end of HISTORY belongs to the client's node.

use crate::bank::Bank;
use crate::error::ClusterError;
use crate::routing::Routing;
use crate::setting::Setting;
use sardonyx_sharing::protocol::{Division, PageId};
use sardonyx_workload::debit_credit_pages::HISTORY;
use sardonyx_workload::reference::PageNumber;

/// Parts, if the pages are spread over all nodes.
const SPREAD: u16 = 64;

/// The division of the lock authority among the nodes of a setting.
///
/// # Errors
/// [`ClusterError::Division`]; as [`Routing::table`] if a file has the tables.
pub fn division(setting: &Setting) -> Result<Division, ClusterError> {
    let bank = Bank::new(setting);
    let runs = match &setting.authority {
        Routing::Random => return Ok(Division::spread(SPREAD)),
        Routing::Affinity => by_branch(setting, &bank),
        #[cfg(not(feature = "lab"))]
        Routing::Tables { .. } => return Err(crate::routing::NO_TABLES),
        #[cfg(feature = "lab")]
        Routing::Tables { file, text } => {
            let tables = Routing::tables(setting, file, text)?;
            let layout = tables.authority.layout();
            let mut runs = Vec::new();
            for partition in 0..layout.partitions() {
                let (_, fragment_pages) = layout.sizes(partition);
                let first = bank.page(PageNumber::new(partition as u16, 0));
                let owners = &tables.authority.owners()[layout.fragments(partition)];
                let owners = owners.iter().enumerate();
                runs.extend(owners.map(|(at, &node)| (first + at as u64 * fragment_pages, node)));
            }
            runs
        }
    };
    let mut runs: Vec<(PageId, u16)> = runs
        .into_iter()
        .map(|(page, place)| (PageId(page), place))
        .collect();
    runs.dedup_by_key(|(_, place)| *place);
    Ok(Division::by_place(bank.pages(), &runs)?)
}

/// The first page of each node in each partition.
fn by_branch(setting: &Setting, bank: &Bank) -> Vec<(u64, u16)> {
    let mut runs = Vec::new();
    for (partition, (_, pages)) in (0..).zip(setting.partitions()) {
        let begin = bank.page(PageNumber::new(partition, 0));
        for node in 0..setting.nodes {
            let first = match partition {
                HISTORY => {
                    let ends = u64::from(node) * u64::from(setting.clients_max);
                    begin + ends * u64::from(setting.history_pages)
                }
                _ => begin + first_page(setting, partition, pages, node),
            };
            // A node without pages there has none that begins another's.
            while runs.last().is_some_and(|&(last, _)| last == first) {
                runs.pop();
            }
            if first < begin + pages {
                runs.push((first, node));
            }
        }
    }
    runs
}

/// The first page of a partition that is a node's, or a later one's.
fn first_page(setting: &Setting, partition: u16, pages: u64, node: u16) -> u64 {
    let scale = setting.scale.pages();
    let (mut low, mut high) = (0, pages);
    while low < high {
        let middle = low.midpoint(high);
        let page = PageNumber::new(partition, middle as u32);
        match scale.node_of_page(page, setting.nodes) < node {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(all(test, feature = "lab"))]
mod tests {
    use super::*;
    use crate::setting::Scale;
    use sardonyx_workload::routing::{AuthorityTable, FragmentLayout, RoutingTable, Tables};

    fn homes(setting: &Setting) -> Vec<u16> {
        let division = division(setting).unwrap();
        let pages = 0..Bank::new(setting).pages();
        let home = |page| division.home(division.part_of(PageId(page))).unwrap();
        pages.map(home).collect()
    }

    fn setting(nodes: u16, branches_per_unit: u32, clustered: bool) -> Setting {
        Setting {
            clients_max: 3,
            history_pages: 4,
            scale: Scale {
                branches_per_unit,
                accounts_per_branch: 30,
                clustered,
                ..Scale::paper(1)
            },
            ..Setting::new(nodes)
        }
    }

    #[test]
    fn each_page_is_at_home_where_the_simulation_has_its_authority() {
        for (nodes, branches, clustered) in
            [(1, 7, true), (3, 7, true), (5, 3, false), (8, 100, false)]
        {
            let setting = setting(nodes, branches, clustered);
            let (bank, scale) = (Bank::new(&setting), setting.scale.pages());
            for (page, home) in (0..).zip(homes(&setting)) {
                let number = bank.number_of(page);
                let expected = match number.partition {
                    HISTORY => (number.page / (3 * 4)) as u16,
                    _ => scale.node_of_page(number, nodes),
                };
                assert_eq!(home, expected, "{number:?} of {nodes} nodes");
            }
        }
    }

    #[test]
    fn a_file_of_trace_route_says_whose_home_each_page_is() {
        let mut setting = setting(3, 10, true);
        let header = crate::routing::header(&setting).unwrap();
        let pages = header.partitions().iter().map(|one| one.pages);
        let layout = FragmentLayout::new(pages, 5);
        let authority = AuthorityTable::in_turn(3, layout);
        let routing = RoutingTable::random(setting.types(), 3);
        let tables = Tables { routing, authority };
        setting.authority = Routing::Tables {
            file: "tables.toml".into(),
            text: tables.to_toml(&header),
        };
        let bank = Bank::new(&setting);
        for (page, home) in (0..).zip(homes(&setting)) {
            assert_eq!(home, tables.authority.authority(bank.number_of(page)));
        }
        setting.authority = Routing::Random;
        let spread = division(&setting).unwrap();
        assert_eq!((spread.parts(), spread.home(1)), (SPREAD, None));
    }
}
