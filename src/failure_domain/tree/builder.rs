//! Builds a tree from paths.
//!
//! `build` interns the parts of every path, level by level, and numbers domains as they first appear. `finish` then
//! renumbers each level so that the children of a domain are consecutive.

use hashbrown::HashMap;

use super::super::{Error, Result};
use super::{DomainTree, Names, TreeLevel};

/// The domains found so far, numbered in the order of their first appearance.
#[derive(Default)]
pub(super) struct TreeBuilder<'a> {
    levels: Vec<LevelBuilder<'a>>,
}

#[derive(Default)]
struct LevelBuilder<'a> {
    numbers: HashMap<(u32, &'a str), u32, foldhash::fast::FixedState>,
    parents: Vec<u32>,
    names: Vec<&'a str>,
}

impl<'a> TreeBuilder<'a> {
    /// `of_ranks`: paths may repeat, and each gets a leaf of its own below the domain that it names.
    pub(super) fn build<P: AsRef<str>>(
        mut self,
        paths: &'a [P],
        separator: char,
        of_ranks: bool,
    ) -> Result<DomainTree> {
        u32::try_from(paths.len()).map_err(|_| Error::TooWide)?;
        let depth = paths
            .first()
            .ok_or(Error::Empty)?
            .as_ref()
            .split(separator)
            .count();
        self.levels.resize_with(depth, LevelBuilder::default);
        let mut bottom = Vec::with_capacity(paths.len());
        let mut before: Option<(&str, u32)> = None;
        for (index, path) in paths.iter().map(AsRef::as_ref).enumerate() {
            // Consecutive ranks often share a node: skip the lookups.
            if let Some((_, number)) = before.filter(|(last, _)| of_ranks && *last == path) {
                bottom.push(number);
                continue;
            }
            let (number, is_new) = self.insert(index, path, separator)?;
            if !is_new && !of_ranks {
                return Err(Error::Duplicate {
                    index,
                    path: path.to_owned(),
                });
            }
            bottom.push(number);
            before = Some((path, number));
        }
        Ok(self.finish(bottom, of_ranks))
    }

    /// The number of the innermost domain of a path, and whether it is new.
    fn insert(&mut self, index: usize, path: &'a str, separator: char) -> Result<(u32, bool)> {
        let (mut parent, mut is_new, mut found) = (0, false, 0);
        let wanted = self.levels.len();
        for part in path.split(separator) {
            found += 1;
            if part.is_empty() {
                return Err(Error::EmptyPart {
                    index,
                    path: path.to_owned(),
                });
            }
            let Some(level) = self.levels.get_mut(found - 1) else {
                continue;
            };
            (parent, is_new) = level.intern(parent, part);
        }
        if found != wanted {
            return Err(Error::Depth {
                index,
                path: path.to_owned(),
                found,
                wanted,
            });
        }
        Ok((parent, is_new))
    }

    /// Renumbers every level so that children of one domain are consecutive, in the order of their first appearance.
    fn finish(self, mut leaves: Vec<u32>, of_ranks: bool) -> DomainTree {
        let mut levels = Vec::with_capacity(self.levels.len() + 1);
        let mut numbers_above = vec![0];
        for level in self.levels {
            let parents: Vec<u32> = level
                .parents
                .iter()
                .map(|&parent| numbers_above[parent as usize])
                .collect();
            let (order, first) = sorted_by_parent(&parents, numbers_above.len());
            let mut names = (String::new(), Vec::with_capacity(order.len()));
            let mut numbers = vec![0; order.len()];
            for (new, &old) in order.iter().enumerate() {
                numbers[old as usize] = new as u32;
                names.0.push_str(level.names[old as usize]);
                names.1.push(names.0.len());
            }
            levels.push(TreeLevel {
                parents: order.iter().map(|&old| parents[old as usize]).collect(),
                first,
                names: Names::Given {
                    text: names.0,
                    ends: names.1,
                },
            });
            numbers_above = numbers;
        }
        leaves
            .iter_mut()
            .for_each(|leaf| *leaf = numbers_above[*leaf as usize]);
        if of_ranks {
            let (order, first) = sorted_by_parent(&leaves, numbers_above.len());
            let parents = order.iter().map(|&rank| leaves[rank as usize]).collect();
            order
                .iter()
                .enumerate()
                .for_each(|(leaf, &rank)| leaves[rank as usize] = leaf as u32);
            levels.push(TreeLevel {
                parents,
                first,
                names: Names::ByPath(order),
            });
        }
        DomainTree { levels, leaves }
    }
}

impl<'a> LevelBuilder<'a> {
    /// The number of the child `name` of `parent`, and whether it is new.
    fn intern(&mut self, parent: u32, name: &'a str) -> (u32, bool) {
        let next = self.parents.len() as u32;
        let number = *self.numbers.entry((parent, name)).or_insert(next);
        if number == next {
            self.parents.push(parent);
            self.names.push(name);
        }
        (number, number == next)
    }
}

/// A counting sort of children by parent: the children in that order, and where those of each parent begin.
fn sorted_by_parent(parents: &[u32], above: usize) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0; above + 1];
    parents
        .iter()
        .for_each(|&parent| first[parent as usize + 1] += 1);
    (0..above).for_each(|parent| first[parent + 1] += first[parent]);
    let mut next = first.clone();
    let mut order = vec![0; parents.len()];
    for (child, &parent) in parents.iter().enumerate() {
        order[next[parent as usize] as usize] = child as u32;
        next[parent as usize] += 1;
    }
    (order, first)
}
