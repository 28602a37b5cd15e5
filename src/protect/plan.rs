//! Plans: what has to be computed from what so that nothing is missing any more.
//!
//! A [`Geometry`] says where data and redundancy of a set lie. A [`Flow`] takes chunks of some ranks, combines them
//! with coefficients, and yields chunks of other ranks. All ranks derive the same flows from the same knowledge: the
//! scheme, the length of each rank's data, and what each rank still has.

use super::balance::assign_workers;
use super::layout::{Role, Stripes};
use super::{Error, Result, Scheme};
use crate::erasure::{gf, matrix};

/// No file is longer, with as much room for what its owner puts in front of the bytes.
const LONGEST: u64 = i64::MAX as u64 - (1 << 40);

/// One of the two byte streams of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What is protected.
    Data,
    /// What protects the data of other ranks: copies one after the other, or parity chunks.
    Redundancy,
}

/// Bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) rank: usize,
    pub(crate) part: Part,
    pub(crate) offset: u64,
    /// Data end before the last chunk does; zeros behind their end are neither read nor sent.
    pub(crate) length: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) sources: Vec<Chunk>,
    pub(crate) targets: Vec<Chunk>,
    /// Coefficients of all sources for each target.
    pub(crate) rows: Vec<Vec<u8>>,
    pub(crate) workers: Workers,
}

impl Flow {
    /// Bytes of the longest target.
    pub(crate) fn length(&self) -> u64 {
        let lengths = self.targets.iter().map(|target| target.length);
        lengths.max().unwrap_or(0)
    }

    pub(crate) fn is_copy(&self) -> bool {
        self.rows.iter().all(|row| row[..] == [1])
    }
}

/// Who computes.
#[derive(Clone, Debug)]
pub(crate) enum Workers {
    /// Each target computes its own bytes: nothing has to be sent on.
    AtTargets,
    /// These ranks, block by block in turn, compute for all targets. A source is sent to one rank instead of every
    /// target, and the work is spread ([`assign_workers`]).
    InTurn(Vec<usize>),
}

/// Makes every target compute its own bytes, so that each message is sent at once.
pub(crate) fn at_targets(flows: &mut [Flow]) {
    for flow in flows {
        flow.workers = Workers::AtTargets;
    }
}

/// What a rank still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Have {
    pub(crate) data: bool,
    pub(crate) redundancy: bool,
}

impl Have {
    pub(crate) const ALL: Have = Have {
        data: true,
        redundancy: true,
    };
    pub(crate) const NOTHING: Have = Have {
        data: false,
        redundancy: false,
    };
    /// Before redundancy is computed for the first time.
    pub(crate) const DATA: Have = Have {
        data: true,
        redundancy: false,
    };

    fn part(&self, part: Part) -> bool {
        match part {
            Part::Data => self.data,
            Part::Redundancy => self.redundancy,
        }
    }
}

/// Where data and redundancy of a set lie.
pub(crate) struct Geometry {
    /// Bytes of data of each rank.
    lengths: Vec<u64>,
    /// The node of each rank, numbered from 0.
    nodes: Vec<usize>,
    kind: Arrangement,
}

enum Arrangement {
    Single,
    Copies {
        replicas: usize,
    },
    Stripes {
        stripes: Stripes,
        /// Coefficient of each rank in each parity row.
        parity: Vec<Vec<u8>>,
    },
}

impl Geometry {
    /// For ranks with so many bytes of data each. The same numbers give the same verdict on all ranks.
    pub(crate) fn new(scheme: Scheme, lengths: Vec<u64>) -> Result<Geometry> {
        let largest = lengths.iter().copied().max();
        let largest = largest.ok_or(Error::Broken("a set has no ranks"))?;
        let ranks = lengths.len();
        scheme.check(ranks)?;
        let kind = match scheme {
            Scheme::Single => Arrangement::Single,
            Scheme::Copies { replicas } => Arrangement::Copies { replicas },
            Scheme::Xor => Arrangement::Stripes {
                stripes: Stripes::covering(ranks, 1, largest),
                parity: vec![vec![1; ranks]],
            },
            Scheme::ReedSolomon { k } => Arrangement::Stripes {
                stripes: Stripes::covering(ranks, k, largest),
                parity: matrix::parity_rows(ranks, k)
                    .ok_or(Error::Broken("the coding matrix has no inverse"))?,
            },
        };
        let nodes = (0..ranks).collect();
        let geometry = Geometry {
            lengths,
            nodes,
            kind,
        };
        match (0..ranks).all(|rank| geometry.is_possible(rank)) {
            true => Ok(geometry),
            false => Err(Error::TooLong),
        }
    }

    /// On these nodes; without them, every rank has a node, hence a link, of its own.
    pub(crate) fn on_nodes(mut self, nodes: &[usize]) -> Geometry {
        self.nodes = nodes.to_vec();
        self
    }

    /// Whether no stream of the rank is longer than a file can be.
    fn is_possible(&self, rank: usize) -> bool {
        let whole = match &self.kind {
            // Data count as whole chunks.
            Arrangement::Stripes { stripes, .. } => stripes.chunk.checked_mul(stripes.ranks as u64),
            _ => {
                let mut lengths = self.redundancy(rank).into_iter();
                lengths.try_fold(0u64, |sum, length| sum.checked_add(length))
            }
        };
        whole.is_some_and(|whole| whole <= LONGEST)
    }

    /// Bytes in a chunk, if there are stripes.
    pub(crate) fn chunk(&self) -> Option<u64> {
        match &self.kind {
            Arrangement::Stripes { stripes, .. } => Some(stripes.chunk),
            _ => None,
        }
    }

    /// Whether redundancy is the data of other ranks as they are.
    pub(crate) fn is_copies(&self) -> bool {
        matches!(self.kind, Arrangement::Copies { .. })
    }

    /// Lengths of the data chunks of a rank.
    pub(crate) fn data(&self, rank: usize) -> Vec<u64> {
        let length = self.lengths[rank];
        let chunk = self.chunk().unwrap_or(length).max(1);
        let starts = (0..length).step_by(usize::try_from(chunk).unwrap_or(usize::MAX));
        starts.map(|start| chunk.min(length - start)).collect()
    }

    /// Lengths of the copies or parity chunks that a rank holds.
    pub(crate) fn redundancy(&self, rank: usize) -> Vec<u64> {
        match &self.kind {
            Arrangement::Single => Vec::new(),
            Arrangement::Copies { replicas } => self.copies(*replicas, rank).collect(),
            Arrangement::Stripes { stripes, .. } => vec![stripes.chunk; stripes.k],
        }
    }

    /// The flows that complete the set; `None` if too much is missing.
    pub(crate) fn flows(&self, have: &[Have]) -> Result<Option<Vec<Flow>>> {
        match &self.kind {
            Arrangement::Single => Ok(have.iter().all(|have| have.data).then(Vec::new)),
            Arrangement::Copies { replicas } => Ok(self.copy(*replicas, have)),
            Arrangement::Stripes { stripes, parity } => self.solve(stripes, parity, have),
        }
    }

    /// The flows that compute all redundancy.
    pub(crate) fn encoding(&self) -> Result<Vec<Flow>> {
        let flows = self.flows(&vec![Have::DATA; self.lengths.len()])?;
        flows.ok_or(Error::Broken("redundancy cannot be computed from all data"))
    }

    /// Lengths of the copies that a rank holds: the data of its left neighbours, nearest first.
    fn copies(&self, replicas: usize, holder: usize) -> impl Iterator<Item = u64> {
        let ranks = self.lengths.len();
        (1..=replicas).map(move |distance| self.lengths[(holder + ranks - distance) % ranks])
    }

    fn copy(&self, replicas: usize, have: &[Have]) -> Option<Vec<Flow>> {
        let mut flows = Vec::new();
        for (owner, &length) in self.lengths.iter().enumerate() {
            let chunk = |rank, part, offset| Chunk {
                rank,
                part,
                offset,
                length,
            };
            let replica = |distance| {
                let holder = (owner + distance) % self.lengths.len();
                let offset = self.copies(replicas, holder).take(distance - 1).sum();
                chunk(holder, Part::Redundancy, offset)
            };
            let own = chunk(owner, Part::Data, 0);
            let all = || std::iter::once(own).chain((1..=replicas).map(replica));
            let is_there = |chunk: &Chunk| have[chunk.rank].part(chunk.part);
            let targets: Vec<_> = all().filter(|chunk| !is_there(chunk)).collect();
            if targets.is_empty() || length == 0 {
                continue;
            }
            flows.push(Flow {
                sources: vec![all().find(is_there)?],
                rows: vec![vec![1]; targets.len()],
                targets,
                workers: Workers::AtTargets,
            });
        }
        Some(flows)
    }

    fn solve(
        &self,
        stripes: &Stripes,
        parity: &[Vec<u8>],
        have: &[Have],
    ) -> Result<Option<Vec<Flow>>> {
        let mut flows = Vec::new();
        for stripe in 0..stripes.ranks {
            let stripe = Stripe::new(stripes, &self.lengths, stripe, have);
            if stripe.is_complete() {
                continue;
            }
            match stripe.flow(parity)? {
                Some(flow) => flows.push(flow),
                None => return Ok(None),
            }
        }
        flows.retain(|flow| flow.length() > 0);
        assign_workers(&mut flows, &self.nodes);
        Ok(Some(flows))
    }
}

/// The ranks of one stripe by what they contribute.
struct Stripe<'a> {
    stripes: &'a Stripes,
    lengths: &'a [u64],
    data: Vec<usize>,
    lost_data: Vec<usize>,
    /// Row and rank.
    parity: Vec<(usize, usize)>,
    lost_parity: Vec<(usize, usize)>,
    roles: Vec<Role>,
}

impl<'a> Stripe<'a> {
    fn new(stripes: &'a Stripes, lengths: &'a [u64], stripe: usize, have: &[Have]) -> Stripe<'a> {
        let roles = (0..stripes.ranks).map(|rank| stripes.role(rank, stripe));
        let mut sorted = Stripe {
            stripes,
            lengths,
            roles: roles.collect(),
            data: Vec::new(),
            lost_data: Vec::new(),
            parity: Vec::new(),
            lost_parity: Vec::new(),
        };
        for (rank, have) in have.iter().enumerate() {
            match sorted.roles[rank] {
                Role::Data(_) if have.data => sorted.data.push(rank),
                Role::Data(_) => sorted.lost_data.push(rank),
                Role::Parity(row) if have.redundancy => sorted.parity.push((row, rank)),
                Role::Parity(row) => sorted.lost_parity.push((row, rank)),
            }
        }
        sorted
    }

    fn chunk(&self, rank: usize) -> Chunk {
        let chunk = self.stripes.chunk;
        let (part, index, end) = match self.roles[rank] {
            Role::Data(index) => (Part::Data, index, self.lengths[rank]),
            Role::Parity(row) => (Part::Redundancy, row, u64::MAX),
        };
        let offset = index as u64 * chunk;
        Chunk {
            rank,
            part,
            offset,
            length: chunk.min(end.saturating_sub(offset)),
        }
    }

    fn is_complete(&self) -> bool {
        self.lost_data.is_empty() && self.lost_parity.is_empty()
    }

    /// The flow that completes the stripe, if enough is left of it.
    fn flow(mut self, parity: &[Vec<u8>]) -> Result<Option<Flow>> {
        if self.lost_data.len() > self.parity.len() {
            return Ok(None);
        }
        self.parity.truncate(self.lost_data.len());
        let lost_rows = self.rows_of_lost_data(parity)?;
        let lost_parity = self.lost_parity.iter();
        let rows_of_parity = lost_parity.map(|(row, _)| self.row_of(&parity[*row], &lost_rows));
        let rows = lost_rows.iter().cloned().chain(rows_of_parity).collect();
        let holders = self.parity.iter().map(|(_, rank)| rank);
        let sources: Vec<usize> = self.data.iter().chain(holders).copied().collect();
        let lost_holders = self.lost_parity.iter().map(|(_, rank)| rank);
        let targets = self.lost_data.iter().chain(lost_holders);
        Ok(Some(Flow {
            sources: sources.iter().map(|&rank| self.chunk(rank)).collect(),
            targets: targets.map(|&rank| self.chunk(rank)).collect(),
            rows,
            workers: Workers::AtTargets,
        }))
    }

    /// For each lost data chunk the coefficients of the sources: first the data chunks that are left, then as many
    /// parity chunks as data chunks are lost.
    fn rows_of_lost_data(&self, parity: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        if self.lost_data.is_empty() {
            return Ok(Vec::new());
        }
        let equations = self.parity.iter().map(|(row, _)| &parity[*row][..]);
        let equations: Vec<_> = equations.collect();
        let solved = matrix::rebuild_rows(&equations, &self.lost_data)
            .ok_or(Error::Broken("the coding matrix cannot be solved"))?;
        let of_sources = |row: &Vec<u8>| {
            let columns = self.data.iter().chain(&self.lost_data);
            columns.map(|&column| row[column]).collect()
        };
        Ok(solved.iter().map(of_sources).collect())
    }

    /// The coefficients of the sources for a parity row, once the lost data are replaced by theirs.
    fn row_of(&self, equation: &[u8], lost_rows: &[Vec<u8>]) -> Vec<u8> {
        let of_data = self.data.iter().map(|&rank| equation[rank]);
        let mut row: Vec<u8> = of_data.collect();
        row.resize(self.data.len() + self.parity.len(), 0);
        for (&rank, lost_row) in self.lost_data.iter().zip(lost_rows) {
            for (coefficient, of_lost) in row.iter_mut().zip(lost_row) {
                *coefficient ^= gf::mul(equation[rank], *of_lost);
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_lie_one_after_the_other() {
        let geometry = Geometry::new(Scheme::Copies { replicas: 2 }, vec![5, 7, 0, 3]).unwrap();
        assert_eq!(geometry.redundancy(1), [5, 3]);
        let flows = geometry.encoding().unwrap();
        let targets = flows.iter().flat_map(|flow| &flow.targets);
        let places: Vec<_> = targets.map(|it| (it.rank, it.offset, it.length)).collect();
        let expected = [
            (1, 0, 5),
            (2, 7, 5),
            (2, 0, 7),
            (3, 0, 7),
            (0, 0, 3),
            (1, 5, 3),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn what_no_file_can_hold_is_refused() {
        let huge = i64::MAX as u64 - (1 << 41);
        let copies = |replicas| Geometry::new(Scheme::Copies { replicas }, vec![huge; 4]);
        assert!(copies(1).is_ok());
        assert!(copies(3).is_err());
        assert!(Geometry::new(Scheme::Xor, vec![i64::MAX as u64; 4]).is_err());
        assert!(Geometry::new(Scheme::Xor, Vec::new()).is_err());
    }
}
