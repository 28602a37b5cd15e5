//! Flows: what has to be computed from what so that nothing is missing any more.
//!
//! A flow takes bytes of equal length at its sources, combines them with coefficients, and puts the
//! results at its targets. All ranks of a set derive the same list from the same knowledge: which ranks
//! have their data, which have their redundancy. `engine` carries the list out.

use super::layout::{Copies, Role, Stripes};
use super::{Error, Result};
use crate::erasure::{gf, matrix};

/// One of the two byte streams of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its files, one after the other; zeros follow the end.
    Data,
    /// Its redundancy, behind the header.
    Payload,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) rank: usize,
    pub(super) part: Part,
    pub(super) offset: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) length: u64,
    pub(super) sources: Vec<Place>,
    pub(super) targets: Vec<Place>,
    /// Coefficients of all sources for each target.
    pub(super) rows: Vec<Vec<u8>>,
    pub(super) workers: Workers,
}

impl Flow {
    /// All ranks that take part.
    pub(super) fn ranks(&self) -> impl Iterator<Item = usize> {
        let places = self.sources.iter().chain(&self.targets);
        let workers = match &self.workers {
            Workers::AtTargets => &[][..],
            Workers::InTurn(ranks) => ranks,
        };
        places
            .map(|place| place.rank)
            .chain(workers.iter().copied())
    }
}

/// Who computes.
#[derive(Clone, Debug)]
pub(super) enum Workers {
    /// Each target its own bytes: nothing has to be sent on.
    AtTargets,
    /// These ranks, block by block in turn, for all targets. Sources reach one rank instead of every
    /// target, and the work of a few targets is spread over the others.
    InTurn(Vec<usize>),
}

/// What a rank still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Have {
    pub(super) data: bool,
    pub(super) payload: bool,
}

impl Have {
    pub(super) const ALL: Have = Have {
        data: true,
        payload: true,
    };

    pub(super) fn part(&self, part: Part) -> bool {
        match part {
            Part::Data => self.data,
            Part::Payload => self.payload,
        }
    }
}

/// `None` if too much is missing.
pub(super) type Flows = Option<Vec<Flow>>;

/// What completes a set without redundancy: nothing, if nothing is lost.
pub(super) fn nothing(have: &[Have]) -> Flows {
    have.iter().all(|have| have.data).then(Vec::new)
}

/// What completes a set under PARTNER.
pub(super) fn copy(copies: &Copies, have: &[Have]) -> Flows {
    let mut flows = Vec::new();
    for owner in 0..have.len() {
        let own = Place {
            rank: owner,
            part: Part::Data,
            offset: 0,
        };
        let replicas = (1..=copies.replicas).map(|distance| copies.place(owner, distance));
        let places = || std::iter::once(own).chain(replicas.clone());
        let is_there = |place: &Place| have[place.rank].part(place.part);
        let targets: Vec<_> = places().filter(|place| !is_there(place)).collect();
        if targets.is_empty() || copies.bytes[owner] == 0 {
            continue;
        }
        flows.push(Flow {
            length: copies.bytes[owner],
            sources: vec![places().find(is_there)?],
            rows: vec![vec![1]; targets.len()],
            targets,
            workers: Workers::AtTargets,
        });
    }
    Some(flows)
}

/// What completes a set under XOR or RS; `parity` has the coefficient of each rank in each row.
pub(super) fn solve(stripes: &Stripes, parity: &[Vec<u8>], have: &[Have]) -> Result<Flows> {
    let all = (0..stripes.ranks).map(|stripe| Stripe::new(stripes, stripe, have));
    let incomplete = all.filter(|stripe| !stripe.is_complete());
    let mut flows = Vec::new();
    for stripe in incomplete {
        match stripe.flow(parity)? {
            Some(flow) => flows.push(flow),
            None => return Ok(None),
        }
    }
    // Every rank is the only target of one stripe, so the work is spread already.
    let encodes = have.iter().all(|have| have.data && !have.payload);
    if encodes && stripes.k == 1 {
        flows
            .iter_mut()
            .for_each(|flow| flow.workers = Workers::AtTargets);
    }
    Ok(Some(flows))
}

/// The ranks of one stripe by what they contribute.
struct Stripe<'a> {
    stripes: &'a Stripes,
    data: Vec<usize>,
    lost_data: Vec<usize>,
    /// Row and rank.
    parity: Vec<(usize, usize)>,
    lost_parity: Vec<(usize, usize)>,
    roles: Vec<Role>,
}

impl<'a> Stripe<'a> {
    fn new(stripes: &'a Stripes, stripe: usize, have: &[Have]) -> Stripe<'a> {
        let roles = (0..stripes.ranks).map(|rank| stripes.role(rank, stripe));
        let mut parts = Stripe {
            stripes,
            roles: roles.collect(),
            data: Vec::new(),
            lost_data: Vec::new(),
            parity: Vec::new(),
            lost_parity: Vec::new(),
        };
        for (rank, have) in have.iter().enumerate() {
            match (parts.roles[rank], have) {
                (Role::Data(_), Have { data: true, .. }) => parts.data.push(rank),
                (Role::Data(_), _) => parts.lost_data.push(rank),
                (Role::Parity(row), Have { payload: true, .. }) => parts.parity.push((row, rank)),
                (Role::Parity(row), _) => parts.lost_parity.push((row, rank)),
            }
        }
        parts
    }

    fn place(&self, rank: usize) -> Place {
        self.stripes.place(rank, self.roles[rank])
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
            length: self.stripes.chunk,
            sources: sources.iter().map(|&rank| self.place(rank)).collect(),
            targets: targets.map(|&rank| self.place(rank)).collect(),
            rows,
            workers: Workers::InTurn(sources),
        }))
    }

    /// For each lost data chunk the coefficients of the sources: first the data chunks that are left,
    /// then as many parity chunks as data chunks are lost.
    fn rows_of_lost_data(&self, parity: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        if self.lost_data.is_empty() {
            return Ok(Vec::new());
        }
        let equations: Vec<_> = self
            .parity
            .iter()
            .map(|(row, _)| &parity[*row][..])
            .collect();
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
