//! A process that may have little address space (`ulimit -v`): the store asks only for the used part, and names the
//! remedy at the limit. The test is alone in its process: the limit is the process'.

use crate::alone::alone;
use rustix::process::{Resource, Rlimit, setrlimit};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::{PageStore, StoreError};

const LIMIT_BYTES: u64 = 2 << 30;

#[test]
fn a_store_far_larger_than_the_address_space_grows_until_the_limit_and_then_says_so() {
    alone(|| {
        let limit = Rlimit {
            current: Some(LIMIT_BYTES),
            maximum: Some(LIMIT_BYTES),
        };
        setrlimit(Resource::As, limit).unwrap();
        let mut stores = [(); 2].map(|()| PageStore::reserve(1 << 40).unwrap());
        let page = |number: usize| number * PAGE_SIZE;
        for pages in [1, 511, 512, 513, 10_000, 50_000_u64] {
            for (n, store) in stores.iter_mut().enumerate() {
                let first = store.bytes().as_ptr();
                let before = store.pages() as usize;
                store.grow_to(pages).unwrap();
                assert!(before == 0 || store.bytes().as_ptr() == first);
                assert!((0..before).all(|at| store.bytes()[page(at)] == n as u8 + 1));
                (before..pages as usize).for_each(|at| store.bytes_mut()[page(at)] = n as u8 + 1);
            }
        }
        let refused = stores[0].grow_to(LIMIT_BYTES / PAGE_SIZE as u64);
        let Err(error @ StoreError::AddressSpace { .. }) = refused else {
            panic!("{refused:?}");
        };
        let text = error.to_string();
        assert!(text.contains("ulimit -v") && text.contains("memory_bytes_max"));
        assert_eq!(stores[0].pages(), 50_000);
        assert_eq!(stores[0].bytes()[page(49_999)], 1);
        // Address space that another store freed can be used.
        let [mut store, other] = stores;
        drop(other);
        store.grow_to(90_000).unwrap();
        assert_eq!(store.bytes()[page(89_999)], 0);
    });
}
