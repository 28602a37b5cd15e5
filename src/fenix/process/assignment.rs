//! Assigns the slots of a new world. Pure, except for the allgather of the claims.

use std::cmp::Ordering;

use crate::comm::Comm;
use crate::fenix::{Error, Result};

/// What a process knows of the old world: its slot there, and how many processes and active ones that has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MembershipClaim {
    pub(super) slot: usize,
    size: usize,
    /// Slots below this one are active. Above `size` if the requested number of spares is impossible.
    active: usize,
    /// Whether the living must be most of the old world.
    quorum: bool,
}

impl MembershipClaim {
    pub(super) fn at_start(rank: usize, size: usize, spares: i64) -> Self {
        let spares = usize::try_from(spares).ok().filter(|&spares| spares < size);
        let active = spares.map_or(usize::MAX, |spares| size - spares);
        Self::again(rank, size, active)
    }

    pub(super) fn again(slot: usize, size: usize, active: usize) -> Self {
        Self {
            slot,
            size,
            active,
            quorum: false,
        }
    }

    pub(super) fn with_quorum(self, quorum: bool) -> Self {
        Self { quorum, ..self }
    }

    /// Gathers the claims of all ranks.
    ///
    /// # Collective
    /// Called by all ranks of `comm`.
    pub(super) fn gather(self, comm: &impl Comm) -> crate::comm::Result<Vec<MembershipClaim>> {
        const BYTES: usize = 4 * size_of::<u64>();
        let own = [self.slot, self.size, self.active, self.quorum.into()];
        let own = own.map(|number| (number as u64).to_le_bytes());
        let mut all = vec![0; BYTES * comm.size()];
        comm.allgather(own.as_flattened(), &mut all)?;
        let numbers = |claim: &[u8]| {
            let number = |i: usize| u64::from_le_bytes(std::array::from_fn(|b| claim[8 * i + b]));
            [0, 1, 2, 3].map(|i| number(i) as usize)
        };
        let claims = all.chunks(BYTES).map(numbers);
        Ok(claims
            .map(|[slot, size, active, quorum]| {
                MembershipClaim::again(slot, size, active).with_quorum(quorum != 0)
            })
            .collect())
    }
}

/// Who has which slot in a new world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankAssignment {
    /// The rank in the world of each slot: active processes first, then spares.
    pub(super) ranks: Vec<usize>,
    /// For each active slot: whether a spare has taken it.
    pub(super) recovered: Vec<bool>,
    /// The old slots of dead processes, ascending.
    pub(super) failed: Vec<usize>,
    /// Whether there were fewer living spares than dead active processes.
    pub(super) depleted: bool,
}

impl RankAssignment {
    pub(super) fn from_claims(claims: &[MembershipClaim]) -> Result<RankAssignment> {
        let MembershipClaim { size, active, .. } = claims[0];
        let same = |claim: &MembershipClaim| (claim.size, claim.active) == (size, active);
        if !claims.iter().all(same) || !(1..=size).contains(&active) {
            return Err(Error::Spares { size });
        }
        let alive: Vec<usize> = claims.iter().map(|claim| claim.slot).collect();
        let mut claimed = vec![false; size];
        let once = |slot: &usize| {
            let free = claimed.get_mut(*slot).filter(|taken| !**taken);
            free.map(|taken| *taken = true).is_some()
        };
        if !alive.iter().all(once) {
            return Err(Error::Invariant(
                "two processes claim one slot, or one that is not there",
            ));
        }
        if claims.iter().any(|claim| claim.quorum) && !is_quorum(size, &alive) {
            let living = alive.len();
            return Err(Error::Minority { living, size });
        }
        Ok(Self::assign(size, active, &alive))
    }

    /// `alive`: the old slot of each rank of the new world. Survivors keep their order; the last living spare takes the
    /// first lost slot, and so on. If spares run out, the active processes behind move up.
    pub(super) fn assign(size: usize, active: usize, alive: &[usize]) -> RankAssignment {
        let mut ranks = vec![None; size];
        let living = alive.iter().enumerate();
        living.for_each(|(rank, &slot)| ranks[slot] = Some(rank));
        let mut spares: Vec<usize> = ranks[active..].iter().flatten().copied().collect();
        let taken = |rank: &Option<usize>| match *rank {
            Some(rank) => Some((rank, false)),
            None => spares.pop().map(|spare| (spare, true)),
        };
        let seats: Vec<(usize, bool)> = ranks[..active].iter().filter_map(taken).collect();
        let recovered: Vec<bool> = seats.iter().map(|seat| seat.1).collect();
        RankAssignment {
            ranks: seats.iter().map(|seat| seat.0).chain(spares).collect(),
            depleted: recovered.len() < active,
            recovered,
            failed: (0..size).filter(|&slot| ranks[slot].is_none()).collect(),
        }
    }

    /// The slot of a rank of the new world.
    pub(super) fn slot_of(&self, rank: usize) -> Result<usize> {
        let found = self.ranks.iter().position(|&at| at == rank);
        found.ok_or(Error::Invariant("a living process has no slot"))
    }
}

/// Whether no others of the old world can be as many: of two halves the one with the first slot counts as more.
fn is_quorum(size: usize, alive: &[usize]) -> bool {
    match (2 * alive.len()).cmp(&size) {
        Ordering::Greater => true,
        Ordering::Equal => alive.contains(&0),
        Ordering::Less => false,
    }
}
