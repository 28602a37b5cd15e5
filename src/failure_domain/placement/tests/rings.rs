//! An independent exhaustive search for rings that survive more than those of a placement.
//!
//! A tolerance is better if it is higher at some level and not lower at outer ones. Levels inside that one do not
//! matter: the ranks of one of its domains are equivalent, and trees that differ only inside are searched once.

use std::collections::{HashMap, HashSet};

use super::*;

/// The results of earlier searches.
#[derive(Default)]
pub(super) struct Known(HashMap<(Table, usize, usize, Vec<u32>), bool>);

impl Known {
    /// Whether `count` rings with `replicas` copies can survive more than `had`.
    pub(super) fn are_better(
        &mut self,
        table: &Table,
        count: usize,
        replicas: usize,
        had: &[u32],
    ) -> bool {
        (0..table.len()).any(|level| {
            let mut target = had[..=level].to_vec();
            target[level] += 1;
            if target[level] as usize > replicas {
                return false;
            }
            let key = (table[..=level].to_vec(), count, replicas, target);
            if let Some(known) = self.0.get(&key) {
                return *known;
            }
            let found = Rings::exist(&key.0, count, replicas, &key.3);
            self.0.insert(key, found);
            found
        })
    }
}

/// The search. Domains of the innermost relevant level represent their ranks.
struct Rings<'a> {
    replicas: usize,
    /// For each level.
    target: &'a [u32],
    /// For each domain: the domains around it, from the outermost to itself.
    above: Vec<Vec<u32>>,
    /// For each domain of each level: its shape, and the first domain of the innermost level inside it.
    shapes: Vec<Vec<(Vec<u8>, usize)>>,
    /// Free ranks of each domain, and how many it had initially.
    left: Vec<u8>,
    all: Vec<u8>,
    /// Ring sizes, and how many rings of each are still to be filled.
    sizes: [(usize, usize); 2],
    /// States that are known to lead nowhere.
    hopeless: HashSet<u128>,
}

impl Rings<'_> {
    fn exist(table: &[Vec<u32>], count: usize, replicas: usize, target: &[u32]) -> bool {
        let (ranks, innermost) = (table[0].len(), &table[table.len() - 1]);
        let sets = SetSizes::new(ranks, count);
        let domains = innermost.iter().max().map_or(0, |last| *last as usize + 1);
        let mut rings = Rings {
            replicas,
            target,
            above: vec![Vec::new(); domains],
            shapes: Vec::new(),
            left: vec![0; domains],
            all: Vec::new(),
            sizes: [
                (sets.smallest(), count - sets.larger()),
                (sets.smallest() + 1, sets.larger()),
            ],
            hopeless: HashSet::new(),
        };
        for rank in 0..ranks {
            let domain = innermost[rank] as usize;
            rings.left[domain] += 1;
            rings.above[domain] = table.iter().map(|level| level[rank]).collect();
        }
        rings.all = rings.left.clone();
        rings.shapes = (0..table.len())
            .map(|level| rings.shapes_of(level))
            .collect();
        rings.next()
    }

    /// A canonical key: the ranks of the innermost domains, and at how many levels each begins a new domain.
    fn shapes_of(&self, level: usize) -> Vec<(Vec<u8>, usize)> {
        let mut shapes: Vec<(Vec<u8>, usize)> = Vec::new();
        for (domain, above) in self.above.iter().enumerate() {
            let is_first = above[level] as usize == shapes.len();
            if is_first {
                shapes.push((Vec::new(), domain));
            }
            let begin = match is_first {
                true => 0,
                false => above
                    .iter()
                    .zip(&self.above[domain - 1])
                    .filter(|(a, b)| a != b)
                    .count(),
            };
            shapes[above[level] as usize]
                .0
                .extend([begin as u8, self.all[domain]]);
        }
        shapes
    }

    fn next(&mut self) -> bool {
        let Some(first) = self.left.iter().position(|left| *left > 0) else {
            return true;
        };
        (0..2).any(|kind| {
            let (size, left) = self.sizes[kind];
            if left == 0 {
                return false;
            }
            self.sizes[kind].1 -= 1;
            let found = self.take(first, &mut Vec::new(), size);
            self.sizes[kind].1 += 1;
            found
        })
    }

    fn take(&mut self, domain: usize, ring: &mut Vec<usize>, size: usize) -> bool {
        ring.push(domain);
        self.left[domain] -= 1;
        let start = ring.len().saturating_sub(self.replicas + 1);
        let found = self.holds(&ring[start..]) && self.go_on(ring, size);
        self.left[domain] += 1;
        ring.pop();
        found
    }

    fn go_on(&mut self, ring: &mut Vec<usize>, size: usize) -> bool {
        if ring.len() == size {
            let around: Vec<usize> = ring.iter().chain(ring.iter()).copied().collect();
            let mut circles = around[..size + self.replicas].windows(self.replicas + 1);
            return circles.all(|codeword| self.holds(codeword)) && self.next();
        }
        let state = self.state(ring, size);
        if self.hopeless.contains(&state) {
            return false;
        }
        let found = (0..self.left.len()).any(|domain| {
            self.left[domain] > 0 && !self.has_twin(domain) && self.take(domain, ring, size)
        });
        if !found {
            self.hopeless.insert(state);
        }
        found
    }

    /// The search state packed into four bits per number: free ranks, and the part of the ring that still matters.
    fn state(&self, ring: &[usize], size: usize) -> u128 {
        let beginning = &ring[..self.replicas.min(ring.len())];
        let end = &ring[beginning
            .len()
            .max(ring.len().saturating_sub(self.replicas))..];
        let numbers = [size, ring.len(), self.sizes[0].1, self.sizes[1].1];
        let ring = beginning.iter().chain(end).chain(&numbers).copied();
        let left = self.left.iter().map(|left| usize::from(*left));
        ring.chain(left)
            .fold(1, |state, number| state << 4 | number as u128)
    }

    /// Whether an equivalent domain comes before this one and neither has been used yet.
    fn has_twin(&self, domain: usize) -> bool {
        let above = &self.above[domain];
        (0..above.len()).any(|level| {
            let here = above[level] as usize;
            let Some(before) = here.checked_sub(1) else {
                return false;
            };
            let shapes = &self.shapes[level];
            let is_sibling = || {
                let first = shapes[before].1;
                level == 0 || self.above[first][level - 1] == above[level - 1]
            };
            shapes[here].0 == shapes[before].0
                && is_sibling()
                && [here, before]
                    .iter()
                    .all(|one| self.is_untouched(level, *one))
        })
    }

    fn is_untouched(&self, level: usize, domain: usize) -> bool {
        let inside = self.above.iter().zip(self.left.iter().zip(&self.all));
        inside
            .filter(|(above, _)| above[level] as usize == domain)
            .all(|(_, (left, all))| left == all)
    }

    /// Whether a codeword, or a part of it, meets the target.
    fn holds(&self, codeword: &[usize]) -> bool {
        self.target.iter().enumerate().all(|(level, failures)| {
            let mut held = [0_u8; 16];
            for &domain in codeword {
                held[self.above[domain][level] as usize] += 1;
            }
            held.sort_unstable_by(|a, b| b.cmp(a));
            let lost = held.iter().take(*failures as usize);
            lost.map(|held| usize::from(*held)).sum::<usize>() <= self.replicas
        })
    }
}
