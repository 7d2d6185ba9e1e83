//! Pages that come over a connection in parts, put together: an image of a standby, or the seed of one.
//!
//! Each stripe's parts come in order; memory grows with what has come (I10).

use crate::protocol::PagesHead;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::{PageStore, StoreError};

/// Pages, put together from their stripes.
#[derive(Debug)]
pub(crate) struct Assembly {
    store: PageStore,
    block_bytes: u64,
    /// Bytes that came of each stripe.
    stripes: Vec<u64>,
}

impl Assembly {
    /// `None` if no standby has such a shape.
    pub fn new(
        stripes: u32,
        block_bytes: u32,
        memory_bytes_max: u64,
    ) -> Result<Option<Assembly>, StoreError> {
        let block = block_bytes as usize;
        if !(1..=999).contains(&stripes) || block == 0 || !block.is_multiple_of(PAGE_SIZE) {
            return Ok(None);
        }
        Ok(Some(Assembly {
            store: PageStore::reserve(memory_bytes_max)?,
            block_bytes: block_bytes.into(),
            stripes: vec![0; stripes as usize],
        }))
    }

    /// Puts a part where it belongs. Returns whether it is the stripe's next one.
    pub fn add(&mut self, head: PagesHead, mut bytes: &[u8]) -> Result<bool, StoreError> {
        let stripes = self.stripes.len() as u64;
        let Some(received) = self.stripes.get_mut(head.stripe as usize) else {
            return Ok(false);
        };
        if *received != head.offset || bytes.is_empty() {
            return Ok(false);
        }
        while !bytes.is_empty() {
            let (block, within) = (*received / self.block_bytes, *received % self.block_bytes);
            let store_block = block * stripes + u64::from(head.stripe);
            let start = store_block * self.block_bytes + within;
            let length = bytes.len().min((self.block_bytes - within) as usize);
            let end = start + length as u64;
            self.store.grow_to(end.div_ceil(PAGE_SIZE as u64))?;
            self.store.bytes_mut()[start as usize..end as usize].copy_from_slice(&bytes[..length]);
            bytes = &bytes[length..];
            *received += length as u64;
        }
        Ok(true)
    }

    /// Bytes that came.
    pub fn received(&self) -> u64 {
        self.stripes.iter().sum()
    }

    /// The pages.
    pub fn into_store(self) -> PageStore {
        self.store
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_are_put_together_and_disorder_is_noticed() {
        const BLOCK: usize = 2 * PAGE_SIZE;
        let whole: Vec<u8> = (0..7 * PAGE_SIZE).map(|n| (n / 64 % 251) as u8).collect();
        let mut assembly = Assembly::new(3, BLOCK as u32, 1 << 30).unwrap().unwrap();
        for stripe in 0..3u32 {
            let blocks = whole.chunks(BLOCK).skip(stripe as usize).step_by(3);
            let mine: Vec<u8> = blocks.flatten().copied().collect();
            let mut offset = 0;
            // Parts that are no multiple of a block or a page.
            for part in mine.chunks(3000) {
                let head = PagesHead { stripe, offset };
                assert!(assembly.add(head, part).unwrap());
                assert!(!assembly.add(head, part).unwrap(), "the same again");
                offset += part.len() as u64;
            }
        }
        assert_eq!(assembly.received(), whole.len() as u64);
        assert!(assembly.store.bytes() == whole);
        let foreign = PagesHead {
            stripe: 3,
            offset: 0,
        };
        assert!(!assembly.add(foreign, b"x").unwrap());
    }

    #[test]
    fn an_image_larger_than_memory_is_an_error() {
        let mut assembly = Assembly::new(1, 4096, 4096).unwrap().unwrap();
        let head = PagesHead {
            stripe: 0,
            offset: 0,
        };
        assert!(assembly.add(head, &[1; 4096]).unwrap());
        let head = PagesHead {
            stripe: 0,
            offset: 4096,
        };
        assert!(matches!(
            assembly.add(head, &[1]),
            Err(StoreError::Full { .. })
        ));
        assert!(Assembly::new(0, 4096, 1 << 20).unwrap().is_none());
        assert!(Assembly::new(1, 100, 1 << 20).unwrap().is_none());
    }
}
