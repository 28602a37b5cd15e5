//! Which apply or commit bytes belong to.
//!
//! Every apply has an identity that all ranks share: a counter, one more than the highest that any of them has found,
//! and random bits, which tell apart two applies that could not know of each other. A rank's header names it, and keeps
//! copies of what other ranks say about themselves. [`judge`] compares what all headers of a set claim, and says which
//! of them belong to the newest apply that the set can be completed to; the others count as lost. It is pure: the same
//! claims give the same verdict on every rank, with or without a network.
//!
//! Headers of older versions and of other libraries name no generation. That alone is no contradiction: they belong
//! to whatever they do not contradict.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use crate::comm::{self, Comm, Op};
use crate::wire::{put, take};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation {
    counter: u64,
    random: u64,
}

impl Generation {
    #[cfg(test)]
    pub(crate) const fn new(counter: u64, random: u64) -> Generation {
        Generation { counter, random }
    }

    /// The generation after the highest that any rank has found; none if any rank wants none.
    ///
    /// # Collective
    /// Called by all ranks of `comm`; all get the same one.
    pub(crate) fn next<C: Comm>(
        comm: &C,
        found: Option<Generation>,
        wanted: bool,
    ) -> comm::Result<Option<Generation>> {
        let own = Generation::after(found);
        let random = if comm.rank() == 0 { own.random } else { 0 };
        let mut highest = [own.counter, random, (!wanted).into()];
        comm.allreduce(Op::Max, &mut highest)?;
        let [counter, random, unwanted] = highest;
        Ok((unwanted == 0).then_some(Generation { counter, random }))
    }

    /// The generation after that one, as a process makes it that decides alone.
    pub(crate) fn after(found: Option<Generation>) -> Generation {
        let found = found.map_or(0, |found| found.counter);
        Generation {
            counter: found.saturating_add(1),
            random: RandomState::new().hash_one(found),
        }
    }

    /// How a rank's generation compares with those of all ranks that have one.
    ///
    /// # Collective
    /// Called by all ranks of `comm`. Either all have the same, or some are behind and some are not.
    pub(crate) fn compare<C: Comm>(comm: &C, own: Option<Generation>) -> comm::Result<Standing> {
        let numbers = |own: Generation| [own.counter, own.random, !own.counter, !own.random];
        let mut most = own.map_or([0; 4], numbers);
        comm.allreduce(Op::Max, &mut most)?;
        let is_one = |most: u64, least: u64| most == !least;
        let is_one_counter = is_one(most[0], most[2]);
        Ok(match own {
            _ if most == [0; 4] || is_one_counter && is_one(most[1], most[3]) => Standing::Same,
            Some(own) if own.counter < most[0] => Standing::Behind(most[0]),
            Some(own) if is_one_counter && own.random < most[1] => Standing::Behind(most[0]),
            _ => Standing::Ahead,
        })
    }

    /// As written to files.
    pub(crate) fn to_text(self) -> String {
        format!("{}-{:016x}", self.counter, self.random)
    }

    pub(crate) fn from_text(text: &str) -> Option<Generation> {
        let (counter, random) = text.split_once('-')?;
        let generation = Generation {
            counter: counter.parse().ok()?,
            random: u64::from_str_radix(random, 16).ok()?,
        };
        (generation.to_text() == text).then_some(generation)
    }

    pub(crate) fn numbers(of: Option<Generation>) -> [u64; 3] {
        of.map_or([0; 3], |it| [1, it.counter, it.random])
    }

    pub(crate) fn from_numbers([is_there, counter, random]: [u64; 3]) -> Option<Generation> {
        (is_there != 0).then_some(Generation { counter, random })
    }
}

/// A rank's generation among those of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Same,
    /// Another rank has this counter.
    Behind(u64),
    /// Another rank is behind, or this one has no generation.
    Ahead,
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} ({:016x})", self.counter, self.random)
    }
}

/// What the header of a rank says about the apply that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderClaim {
    pub(crate) generation: Option<Generation>,
    /// A fingerprint of what it says about each rank that it knows: its own and those it keeps copies for.
    pub(crate) about: BTreeMap<usize, u64>,
    /// What all headers of an apply have in common.
    pub(crate) common: u64,
}

impl HeaderClaim {
    fn contradicts(&self, other: &HeaderClaim) -> bool {
        let generations = self.generation.zip(other.generation);
        let of_both = self.about.iter();
        let of_both = of_both.filter_map(|(rank, says)| Some((says, other.about.get(rank)?)));
        generations.is_some_and(|(own, others)| own != others)
            || self.common != other.common
            || of_both.into_iter().any(|(says, other)| says != other)
    }

    pub(crate) fn put(&self, bytes: &mut Vec<u8>) {
        put(bytes, &Generation::numbers(self.generation));
        put(bytes, &[self.common, self.about.len() as u64]);
        for (&rank, &says) in &self.about {
            put(bytes, &[rank as u64, says]);
        }
    }

    pub(crate) fn take(bytes: &mut &[u8]) -> Option<HeaderClaim> {
        let generation = Generation::from_numbers(take(bytes)?);
        let [common, count] = take(bytes)?;
        let about = (0..count).map(|_| {
            let [rank, says] = take(bytes)?;
            Some((usize::try_from(rank).ok()?, says))
        });
        Some(HeaderClaim {
            generation,
            about: about.collect::<Option<_>>()?,
            common,
        })
    }
}

/// The apply that a set is completed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewestApply {
    pub(crate) generation: Option<Generation>,
    /// The ranks whose headers belong to it.
    pub(crate) current: BTreeSet<usize>,
}

/// The newest apply that the set can be completed to, from what the header of each rank claims. `tolerates` says whether
/// the set survives the loss of the given ranks. If no apply can be completed, returns the newest that knows all ranks, so
/// that the caller can say what is missing. The text of an error names generations, and ranks as `rank_of` does.
pub(crate) fn judge(
    claims: &[Option<HeaderClaim>],
    tolerates: impl Fn(&[usize]) -> bool,
    rank_of: impl Fn(usize) -> usize,
) -> Result<NewestApply, String> {
    if let Some(verdict) = unanimous(claims) {
        return Ok(verdict);
    }
    let candidates = candidates(claims);
    let is_known = |candidate: &&NewestApply| {
        let members = candidate.current.iter().flat_map(|&rank| &claims[rank]);
        let known: BTreeSet<_> = members.flat_map(|claim| claim.about.keys()).collect();
        (0..claims.len()).all(|rank| known.contains(&rank))
    };
    let is_tolerable = |candidate: &&NewestApply| {
        let ranks = 0..claims.len();
        let lost: Vec<_> = ranks
            .filter(|rank| !candidate.current.contains(rank))
            .collect();
        tolerates(&lost)
    };
    let known: Vec<_> = candidates.iter().filter(is_known).collect();
    let tolerable: Vec<_> = known.iter().copied().filter(|c| is_tolerable(c)).collect();
    let possible = match tolerable.is_empty() {
        true => known,
        false => tolerable,
    };
    match newest(&possible) {
        Some(index) => Ok(possible[index].clone()),
        None => Err(described(claims, rank_of)),
    }
}

/// The verdict if no claim contradicts another: the usual case.
fn unanimous(claims: &[Option<HeaderClaim>]) -> Option<NewestApply> {
    let present = || claims.iter().flatten();
    let generation = present().find_map(|claim| claim.generation);
    let common = present().next()?.common;
    let mut known = BTreeMap::new();
    let agrees = |claim: &HeaderClaim| {
        let same = claim.generation.is_none() || claim.generation == generation;
        let mut about = claim.about.iter();
        let is_known = about.all(|(rank, says)| known.entry(*rank).or_insert(*says) == says);
        same && claim.common == common && is_known
    };
    let agree = present().all(agrees);
    let current = (0..claims.len()).filter(|&rank| claims[rank].is_some());
    (agree && known.len() == claims.len()).then(|| NewestApply {
        generation,
        current: current.collect(),
    })
}

/// Each generation with the headers that belong to it, and the headers that name none and contradict all of them.
fn candidates(claims: &[Option<HeaderClaim>]) -> Vec<NewestApply> {
    let of = |generation: Option<Generation>| -> BTreeSet<usize> {
        let ranks = 0..claims.len();
        let claimed = |rank: &usize| claims[*rank].as_ref().map(|claim| claim.generation);
        ranks
            .filter(|rank| claimed(rank) == Some(generation))
            .collect()
    };
    let named: BTreeSet<_> = claims
        .iter()
        .flatten()
        .filter_map(|claim| claim.generation)
        .collect();
    let unnamed = of(None);
    let candidate = |generation| {
        let core = without_contradiction(claims, of(Some(generation)))?;
        let fits = |rank: &usize| !core.iter().any(|&other| contradict(claims, *rank, other));
        let joined = unnamed.iter().copied().filter(fits).collect();
        let joined = without_contradiction(claims, joined)?;
        Some(NewestApply {
            generation: Some(generation),
            current: core.union(&joined).copied().collect(),
        })
    };
    let mut candidates: Vec<_> = named.into_iter().filter_map(candidate).collect();
    let apart = without_contradiction(claims, unnamed);
    candidates.extend(
        apart
            .filter(|ranks| !ranks.is_empty())
            .map(|current| NewestApply {
                generation: None,
                current,
            }),
    );
    candidates
}

fn contradict(claims: &[Option<HeaderClaim>], a: usize, b: usize) -> bool {
    let both = claims[a].as_ref().zip(claims[b].as_ref());
    both.is_some_and(|(a, b)| a.contradicts(b))
}

/// Removes ranks that others contradict, those with the most contradictions first, until none is left; `None` if
/// ranks with equally many contradict each other.
fn without_contradiction(
    claims: &[Option<HeaderClaim>],
    mut ranks: BTreeSet<usize>,
) -> Option<BTreeSet<usize>> {
    loop {
        let against = |rank: usize| {
            let others = ranks
                .iter()
                .filter(|&&other| contradict(claims, rank, other));
            others.count()
        };
        let counts: Vec<_> = ranks.iter().map(|&rank| (rank, against(rank))).collect();
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        if most == 0 {
            return Some(ranks);
        }
        let outvoted = counts.iter().filter(|(_, count)| *count == most);
        let outvoted: Vec<_> = outvoted.map(|(rank, _)| *rank).collect();
        let mut pairs = outvoted
            .iter()
            .flat_map(|&a| outvoted.iter().map(move |&b| (a, b)));
        if pairs.any(|(a, b)| contradict(claims, a, b)) {
            return None;
        }
        ranks.retain(|rank| !outvoted.contains(rank));
    }
}

/// The candidate with the highest counter; among equal ones that with the most ranks; `None` if these are equal too.
pub(crate) fn newest(candidates: &[&NewestApply]) -> Option<usize> {
    let counter = |index: usize| candidates[index].generation.map(|it| it.counter);
    let highest = (0..candidates.len()).filter_map(counter).max();
    let mut rivals: Vec<_> = (0..candidates.len())
        .filter(|&it| counter(it) == highest)
        .collect();
    // A candidate without a generation competes only if its ranks are not part of another.
    let is_apart = |index: &usize| {
        let ranks = &candidates[*index].current;
        let mut others = rivals.iter();
        !others.any(|&other| ranks.is_subset(&candidates[other].current))
    };
    let unnamed = (0..candidates.len()).filter(|&it| counter(it).is_none());
    let apart: Vec<_> = unnamed.filter(is_apart).collect();
    rivals.extend(apart);
    let size = |index: &usize| candidates[*index].current.len();
    let most = rivals.iter().map(size).max()?;
    let mut largest = rivals.iter().copied().filter(|index| size(index) == most);
    let chosen = largest.next()?;
    largest.next().is_none().then_some(chosen)
}

/// Which rank has which generation.
fn described(claims: &[Option<HeaderClaim>], rank_of: impl Fn(usize) -> usize) -> String {
    let mut ranks: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (rank, claim) in claims.iter().enumerate() {
        let generation = claim.as_ref().map(|claim| claim.generation);
        ranks
            .entry(generation)
            .or_default()
            .push(rank_of(rank).to_string());
    }
    let told = ranks.iter().rev().map(|(generation, ranks)| {
        let ranks = ranks.join(", ");
        match generation {
            Some(Some(generation)) => format!("generation {generation} on rank {ranks}"),
            Some(None) => format!("one without a name on rank {ranks}"),
            None => format!("none on rank {ranks}"),
        }
    });
    let told: Vec<_> = told.collect();
    told.join("; ")
}

#[cfg(test)]
mod tests;
