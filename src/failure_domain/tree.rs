//! The tree of failure domains: racks hold chassis, chassis hold nodes, and so on.
//!
//! Level 0 is below the root; the domains of the last level are the leaves (targets, or ranks). Each level numbers its
//! domains so that the children of a domain, and hence the leaves below it, are consecutive. A domain is therefore a
//! pair of numbers, and every query is arithmetic on two arrays per level. `builder` makes a tree from paths.

mod builder;

use std::ops::Range;

use super::{Error, Result};
use builder::TreeBuilder;

/// A domain: its level, counted from 0 below the root, and its index within that level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain {
    pub level: usize,
    pub index: usize,
}

impl Domain {
    pub fn new(level: usize, index: usize) -> Domain {
        Domain { level, index }
    }
}

#[derive(Clone, Debug)]
pub struct DomainTree {
    levels: Vec<TreeLevel>,
    /// For each path, in the order given: its leaf.
    leaves: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct TreeLevel {
    /// For each domain: the index of its parent in the level above (0 in level 0, whose parent is the root).
    parents: Vec<u32>,
    /// For each domain of the level above: the index of its first child here. One more entry marks the end.
    first: Vec<u32>,
    names: Names,
}

/// How the domains of a level are named.
#[derive(Clone, Debug, Default)]
enum Names {
    /// By their index among the children of their parent.
    #[default]
    ByPosition,
    /// By the number of a path, that is, of a rank.
    ByPath(Vec<u32>),
    /// By the parts of the paths: all names in one string, and where each ends.
    Given { text: String, ends: Vec<usize> },
}

impl DomainTree {
    /// One leaf per path ("rack3/chassis1/node17" with `separator` '/'); no path may occur twice.
    pub fn from_paths<P: AsRef<str>>(paths: &[P], separator: char) -> Result<DomainTree> {
        TreeBuilder::default().build(paths, separator, false)
    }

    /// One leaf per rank, in an additional level below the domains that the paths name. Ranks may share a path.
    pub fn of_ranks<P: AsRef<str>>(paths: &[P], separator: char) -> Result<DomainTree> {
        TreeBuilder::default().build(paths, separator, true)
    }

    /// From the number of children of each domain, level by level; `degrees[0]` has one entry, for the root.
    pub fn from_degrees<D: AsRef<[u32]>>(degrees: &[D]) -> Result<DomainTree> {
        let mut levels: Vec<TreeLevel> = Vec::new();
        for (number, degrees) in degrees.iter().enumerate() {
            let (found, wanted) = (
                degrees.as_ref().len(),
                levels.last().map_or(1, TreeLevel::width),
            );
            if found != wanted {
                return Err(Error::Degrees {
                    level: number,
                    found,
                    wanted,
                });
            }
            levels.push(TreeLevel::with_degrees(number, degrees.as_ref())?);
        }
        let leaves = levels.last().ok_or(Error::Empty)?.width() as u32;
        Ok(DomainTree {
            levels,
            leaves: (0..leaves).collect(),
        })
    }

    /// The number of levels below the root.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The number of domains in a level.
    pub fn width(&self, level: usize) -> usize {
        self.levels[level].width()
    }

    pub fn leaf_count(&self) -> usize {
        self.levels.last().map_or(0, TreeLevel::width)
    }

    /// The leaf of the `path`-th path, or of rank `path`.
    pub fn leaf_of(&self, path: usize) -> usize {
        self.leaves[path] as usize
    }

    /// The leaves of all paths, in the order of the paths.
    pub fn leaves(&self) -> &[u32] {
        &self.leaves
    }

    /// `None` in level 0: the parent is the root.
    pub fn parent(&self, domain: Domain) -> Option<Domain> {
        let level = domain.level.checked_sub(1)?;
        let index = self.levels[domain.level].parents[domain.index] as usize;
        Some(Domain { level, index })
    }

    /// For each domain of a level: the index of its parent in the level above; 0 in level 0.
    pub fn parents(&self, level: usize) -> &[u32] {
        &self.levels[level].parents
    }

    /// The children of a domain, as indices in the level below; empty for a leaf.
    pub fn children(&self, domain: Domain) -> Range<usize> {
        match self.levels.get(domain.level + 1) {
            Some(below) => below.children(domain.index),
            None => 0..0,
        }
    }

    pub fn degree(&self, domain: Domain) -> usize {
        self.children(domain).len()
    }

    /// The leaves below a domain; for a leaf, the leaf itself.
    pub fn leaves_below(&self, domain: Domain) -> Range<usize> {
        let mut range = domain.index..domain.index + 1;
        for below in self.levels.iter().skip(domain.level + 1) {
            range = below.first[range.start] as usize..below.first[range.end] as usize;
        }
        range
    }

    /// The domains of level `level` below `top`, which is above that level; `None` is the root.
    pub fn below(&self, top: Option<Domain>, level: usize) -> Range<usize> {
        let (mut range, next) = match top {
            Some(Domain { level, index }) => (index..index + 1, level + 1),
            None => (0..1, 0),
        };
        for below in &self.levels[next..=level] {
            range = below.first[range.start] as usize..below.first[range.end] as usize;
        }
        range
    }

    /// For each domain of level `above` (`None`: the root): how many domains of level `level` it contains.
    pub fn fan_outs(
        &self,
        above: Option<usize>,
        level: usize,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let tops = above.map_or(1, |above| self.width(above));
        (0..tops).map(move |index| {
            let top = above.map(|level| Domain { level, index });
            self.below(top, level).len()
        })
    }

    /// The domain of level `level` that contains a leaf.
    pub fn ancestor(&self, leaf: usize, level: usize) -> Domain {
        let mut index = leaf;
        for below in self.levels[level + 1..].iter().rev() {
            index = below.parents[index] as usize;
        }
        Domain { level, index }
    }

    /// The domain of level `level` that contains `domain`, which is of that level or a deeper one.
    pub fn above(&self, domain: Domain, level: usize) -> Domain {
        let mut index = domain.index;
        for below in self.levels[level + 1..=domain.level].iter().rev() {
            index = below.parents[index] as usize;
        }
        Domain { level, index }
    }

    /// Fails unless the level and the index exist.
    pub fn check(&self, Domain { level, index }: Domain) -> Result<()> {
        let width = self.levels.get(level).map_or(0, TreeLevel::width);
        match index < width {
            true => Ok(()),
            false => Err(Error::NoDomain { level, index }),
        }
    }

    /// The leaves below domains, as disjoint ascending ranges.
    pub fn leaves_below_all(&self, domains: &[Domain]) -> Vec<Range<usize>> {
        let mut ranges: Vec<_> = domains.iter().map(|&d| self.leaves_below(d)).collect();
        ranges.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        // Domains are nested or disjoint.
        ranges.dedup_by(|next, before| next.end <= before.end);
        ranges
    }

    /// All domains of a level.
    pub fn domains(&self, level: usize) -> impl Iterator<Item = Domain> + use<> {
        (0..self.width(level)).map(move |index| Domain { level, index })
    }

    /// The names from the outermost domain down to this one, joined with '/'.
    pub fn path(&self, domain: Domain) -> String {
        let mut parts = vec![self.name(domain)];
        let mut below = domain;
        while let Some(parent) = self.parent(below) {
            parts.push(self.name(parent));
            below = parent;
        }
        parts.reverse();
        parts.join("/")
    }

    pub fn name(&self, Domain { level, index }: Domain) -> String {
        let here = &self.levels[level];
        match &here.names {
            Names::ByPosition => {
                (index - here.first[here.parents[index] as usize] as usize).to_string()
            }
            Names::ByPath(paths) => paths[index].to_string(),
            Names::Given { text, ends } => {
                let start = index.checked_sub(1).map_or(0, |before| ends[before]);
                text[start..ends[index]].to_owned()
            }
        }
    }

    /// The domain that a path names, at any level: "rack3" or "rack3/chassis1".
    pub fn find(&self, path: &str, separator: char) -> Option<Domain> {
        let mut found: Option<Domain> = None;
        for (level, part) in path.split(separator).enumerate() {
            let candidates = match found {
                Some(domain) => self.children(domain),
                None => 0..self.levels.first()?.width(),
            };
            found = candidates
                .map(|index| Domain { level, index })
                .find(|&domain| domain.level < self.depth() && self.name(domain) == part);
            found?;
        }
        found
    }
}

impl TreeLevel {
    fn width(&self) -> usize {
        self.parents.len()
    }

    fn children(&self, parent: usize) -> Range<usize> {
        self.first[parent] as usize..self.first[parent + 1] as usize
    }

    fn with_degrees(level: usize, degrees: &[u32]) -> Result<TreeLevel> {
        let mut first = Vec::with_capacity(degrees.len() + 1);
        first.push(0);
        let mut width: u32 = 0;
        for (index, &degree) in degrees.iter().enumerate() {
            if degree == 0 {
                return Err(match level.checked_sub(1) {
                    Some(level) => Error::Childless { level, index },
                    None => Error::Empty,
                });
            }
            width = width.checked_add(degree).ok_or(Error::TooWide)?;
            first.push(width);
        }
        let mut parents = Vec::new();
        let reserved = parents.try_reserve_exact(width as usize);
        reserved.map_err(|_| Error::Memory)?;
        for (parent, &degree) in degrees.iter().enumerate() {
            parents.extend(std::iter::repeat_n(parent as u32, degree as usize));
        }
        Ok(TreeLevel {
            parents,
            first,
            names: Names::ByPosition,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 5] = ["r1/c0/n0", "r0/c0/n0", "r1/c0/n1", "r0/c1/n0", "r1/c2/n0"];

    #[test]
    fn children_stand_together_in_the_order_in_which_they_were_met() {
        let tree = DomainTree::from_paths(&PATHS, '/').unwrap();
        assert_eq!(tree.depth(), 3);
        assert_eq!(
            (0..3).map(|level| tree.width(level)).collect::<Vec<_>>(),
            [2, 4, 5]
        );
        assert_eq!(tree.leaves(), [0, 3, 1, 4, 2]);
        for (index, path) in PATHS.iter().enumerate() {
            let leaf = Domain {
                level: 2,
                index: tree.leaf_of(index),
            };
            assert_eq!(tree.path(leaf), *path);
            assert_eq!(tree.find(path, '/'), Some(leaf));
            assert!(
                tree.leaves_below(tree.ancestor(leaf.index, 0))
                    .contains(&leaf.index)
            );
        }
        let rack = tree.find("r1", '/').unwrap();
        assert_eq!(tree.leaves_below(rack), 0..3);
        assert_eq!((tree.parent(rack), tree.degree(rack)), (None, 2));
        assert_eq!(tree.find("r1/c1", '/'), None);
        assert_eq!(tree.find("r1/c0/n0/x", '/'), None);
    }

    #[test]
    fn ranks_are_leaves_below_their_nodes() {
        let tree = DomainTree::of_ranks(&["a/x", "a/y", "a/x", "b/x"], '/').unwrap();
        assert_eq!(tree.leaves(), [0, 2, 1, 3]);
        assert_eq!(tree.path(Domain { level: 2, index: 1 }), "a/x/2");
        assert_eq!(tree.leaves_below(tree.find("a/x", '/').unwrap()), 0..2);
    }

    #[test]
    fn degrees_give_the_same_shape() {
        let tree = DomainTree::from_degrees(&[vec![2], vec![1, 3]]).unwrap();
        assert_eq!((tree.width(0), tree.leaf_count()), (2, 4));
        assert_eq!(tree.children(Domain { level: 0, index: 1 }), 1..4);
        assert_eq!(tree.path(Domain { level: 1, index: 3 }), "1/2");
    }

    #[test]
    fn what_is_no_tree_is_an_error() {
        let of = |paths: &[&str]| DomainTree::from_paths(paths, '/').unwrap_err();
        assert_eq!(of(&[]), Error::Empty);
        assert!(matches!(
            of(&["a/b", "a"]),
            Error::Depth {
                index: 1,
                found: 1,
                wanted: 2,
                ..
            }
        ));
        assert!(matches!(
            of(&["a/b", "a/c/d"]),
            Error::Depth {
                index: 1,
                found: 3,
                wanted: 2,
                ..
            }
        ));
        assert!(matches!(of(&["a//b"]), Error::EmptyPart { index: 0, .. }));
        assert!(matches!(
            of(&["a/b", "a/b"]),
            Error::Duplicate { index: 1, .. }
        ));
        let of = |degrees: &[Vec<u32>]| DomainTree::from_degrees(degrees).unwrap_err();
        assert_eq!(of(&[]), Error::Empty);
        assert_eq!(of(&[vec![0]]), Error::Empty);
        assert_eq!(
            of(&[vec![2], vec![1, 0]]),
            Error::Childless { level: 0, index: 1 }
        );
        assert!(matches!(
            of(&[vec![2], vec![1]]),
            Error::Degrees {
                level: 1,
                found: 1,
                wanted: 2
            }
        ));
        assert_eq!(of(&[vec![2], vec![u32::MAX, 1]]), Error::TooWide);
    }
}
