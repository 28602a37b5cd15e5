//! Who takes which place in a new world. Nothing here communicates, except to learn the claims.

use crate::comm::Comm;
use crate::fenix::{Error, Result};

/// What a process says of itself before a new world is made: its place in the old one, and what it knows of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) place: usize,
    size: usize,
    /// Places below are active ones. Above `size` when the process was asked for the impossible.
    active: usize,
}

impl Claim {
    pub(super) fn at_start(rank: usize, size: usize, spares: i64) -> Self {
        let spares = usize::try_from(spares).ok().filter(|&spares| spares < size);
        Self {
            place: rank,
            size,
            active: spares.map_or(usize::MAX, |spares| size - spares),
        }
    }

    pub(super) fn again(place: usize, size: usize, active: usize) -> Self {
        Self {
            place,
            size,
            active,
        }
    }

    /// The claims of all ranks.
    ///
    /// # Collective
    /// Called by all ranks of `comm`.
    pub(super) fn gather(self, comm: &impl Comm) -> crate::comm::Result<Vec<Claim>> {
        const BYTES: usize = 3 * size_of::<u64>();
        let own = [self.place, self.size, self.active].map(|number| (number as u64).to_le_bytes());
        let mut all = vec![0; BYTES * comm.size()];
        comm.allgather(own.as_flattened(), &mut all)?;
        let numbers = |claim: &[u8]| {
            let number = |i: usize| u64::from_le_bytes(std::array::from_fn(|b| claim[8 * i + b]));
            [0, 1, 2].map(|i| number(i) as usize)
        };
        let claims = all.chunks(BYTES).map(numbers);
        Ok(claims
            .map(|[place, size, active]| Claim::again(place, size, active))
            .collect())
    }
}

/// A new world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// The world's rank of each process by its place: active ones first, then spares.
    pub(super) ranks: Vec<usize>,
    /// For each active rank, whether a spare has taken it.
    pub(super) recovered: Vec<bool>,
    /// Old places whose processes are dead, ascending.
    pub(super) failed: Vec<usize>,
    /// Whether there were fewer spares than dead active processes.
    pub(super) depleted: bool,
}

impl Places {
    pub(super) fn from_claims(claims: &[Claim]) -> Result<Places> {
        let Claim { size, active, .. } = claims[0];
        let same = |claim: &Claim| (claim.size, claim.active) == (size, active);
        if !claims.iter().all(same) || !(1..=size).contains(&active) {
            return Err(Error::Spares { size });
        }
        let alive: Vec<usize> = claims.iter().map(|claim| claim.place).collect();
        let mut claimed = vec![false; size];
        let once = |place: &usize| {
            let free = claimed.get_mut(*place).filter(|taken| !**taken);
            free.map(|taken| *taken = true).is_some()
        };
        match alive.iter().all(once) {
            true => Ok(Self::assign(size, active, &alive)),
            false => Err(Error::Invariant("two processes claim one place, or none")),
        }
    }

    /// `alive` holds the old place of each rank of the new world. Survivors keep their order; the last living spare
    /// takes the first lost place, and so on. Where spares run out, those behind move up.
    pub(super) fn assign(size: usize, active: usize, alive: &[usize]) -> Places {
        let mut ranks = vec![None; size];
        let living = alive.iter().enumerate();
        living.for_each(|(rank, &place)| ranks[place] = Some(rank));
        let mut spares: Vec<usize> = ranks[active..].iter().flatten().copied().collect();
        let taken = |rank: &Option<usize>| match *rank {
            Some(rank) => Some((rank, false)),
            None => spares.pop().map(|spare| (spare, true)),
        };
        let seats: Vec<(usize, bool)> = ranks[..active].iter().filter_map(taken).collect();
        let recovered: Vec<bool> = seats.iter().map(|seat| seat.1).collect();
        Places {
            ranks: seats.iter().map(|seat| seat.0).chain(spares).collect(),
            depleted: recovered.len() < active,
            recovered,
            failed: (0..size).filter(|&place| ranks[place].is_none()).collect(),
        }
    }

    /// The place of a rank of the new world.
    pub(super) fn place_of(&self, rank: usize) -> Result<usize> {
        let found = self.ranks.iter().position(|&at| at == rank);
        found.ok_or(Error::Invariant("a living process has no place"))
    }
}
