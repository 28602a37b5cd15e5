//! Which rank holds which chunk of a stripe.
//!
//! XOR and RS cut the data of each rank into chunks of equal length. Stripe `s` has one chunk of every rank: `k` of
//! them hold parity, the others data. XOR is the case `k == 1` with all coefficients 1.

/// The stripes of a set under XOR or RS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stripes {
    pub(super) ranks: usize,
    /// Parity chunks in each stripe.
    pub(super) k: usize,
    /// Bytes in a chunk.
    pub(super) chunk: u64,
}

/// What a rank contributes to a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Its data chunk of this index.
    Data(usize),
    /// The parity of this row.
    Parity(usize),
}

impl Stripes {
    /// Stripes long enough for ranks that hold up to `largest` bytes.
    pub(super) fn covering(ranks: usize, k: usize, largest: u64) -> Stripes {
        let chunk = largest.div_ceil((ranks - k) as u64).max(1);
        Stripes { ranks, k, chunk }
    }

    pub(super) fn role(&self, rank: usize, stripe: usize) -> Role {
        let row = (stripe + self.ranks - rank) % self.ranks;
        if row < self.k {
            return Role::Parity(row);
        }
        // Parity stripes of this rank that lie below this one.
        let wrapped = (rank + self.k).saturating_sub(self.ranks);
        let skipped = if stripe > rank { self.k } else { wrapped };
        Role::Data(stripe - skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stripe_has_each_parity_row_once_and_every_rank_each_data_chunk_once() {
        for ranks in 2..12 {
            for k in 1..ranks {
                let stripes = Stripes::covering(ranks, k, 1000);
                for stripe in 0..ranks {
                    let rows = (0..ranks).filter_map(|r| match stripes.role(r, stripe) {
                        Role::Parity(row) => Some(row),
                        Role::Data(_) => None,
                    });
                    let mut rows: Vec<_> = rows.collect();
                    rows.sort_unstable();
                    assert_eq!(rows, (0..k).collect::<Vec<_>>());
                }
                for rank in 0..ranks {
                    let chunks = (0..ranks).filter_map(|s| match stripes.role(rank, s) {
                        Role::Data(index) => Some(index),
                        Role::Parity(_) => None,
                    });
                    assert!(chunks.eq(0..ranks - k), "{ranks} {k} {rank}");
                }
            }
        }
    }
}
