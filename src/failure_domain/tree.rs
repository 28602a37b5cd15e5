//! The tree of failure domains: racks hold chassis, chassis hold nodes, and so on.
//!
//! Level 0 is below the root, the last level are the leaves (targets, or ranks). A level numbers its domains so that
//! the children of a domain, and hence the leaves below it, are consecutive: a domain is two numbers, and everything
//! asked about it is arithmetic on two arrays.

use std::ops::Range;

use hashbrown::HashMap;

use super::{Error, Result};

/// A domain by its place: the level, counted from 0 below the root, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain {
    pub level: usize,
    pub index: usize,
}

#[derive(Clone, Debug)]
pub struct Tree {
    levels: Vec<Level>,
    /// The leaf of each path that was given.
    leaves: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Level {
    /// Of each domain; the root is 0.
    parents: Vec<u32>,
    /// Of each domain of the level above, and one more: where its children begin here.
    first: Vec<u32>,
    names: Names,
}

/// Where the names of a level come from.
#[derive(Clone, Debug, Default)]
enum Names {
    /// Their number below the parent.
    #[default]
    ByPosition,
    /// The number of the path that led here.
    ByPath(Vec<u32>),
    Given {
        text: String,
        ends: Vec<usize>,
    },
}

impl Tree {
    /// One leaf for each path, which must differ: "rack3/chassis1/node17" with `separator` '/'.
    pub fn from_paths<P: AsRef<str>>(paths: &[P], separator: char) -> Result<Tree> {
        Growing::default().grow(paths, separator, false)
    }

    /// One leaf, a level of its own, for each rank below the domain that its path names.
    pub fn of_ranks<P: AsRef<str>>(paths: &[P], separator: char) -> Result<Tree> {
        Growing::default().grow(paths, separator, true)
    }

    /// The number of children of each domain, level by level: first one number, for the root.
    pub fn from_degrees<D: AsRef<[u32]>>(degrees: &[D]) -> Result<Tree> {
        let mut levels: Vec<Level> = Vec::new();
        for (number, degrees) in degrees.iter().enumerate() {
            let (found, wanted) = (
                degrees.as_ref().len(),
                levels.last().map_or(1, Level::width),
            );
            if found != wanted {
                return Err(Error::Degrees {
                    level: number,
                    found,
                    wanted,
                });
            }
            levels.push(Level::with_degrees(number, degrees.as_ref())?);
        }
        let leaves = levels.last().ok_or(Error::Empty)?.width() as u32;
        Ok(Tree {
            levels,
            leaves: (0..leaves).collect(),
        })
    }

    /// How many levels there are below the root.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// How many domains level `level` has.
    pub fn width(&self, level: usize) -> usize {
        self.levels[level].width()
    }

    pub fn leaf_count(&self) -> usize {
        self.levels.last().map_or(0, Level::width)
    }

    /// The leaf of path number `path` (of rank `path`).
    pub fn leaf_of(&self, path: usize) -> usize {
        self.leaves[path] as usize
    }

    /// The leaf of each path, in the order of the paths.
    pub fn leaves(&self) -> &[u32] {
        &self.leaves
    }

    /// `None` for the domains of level 0, whose parent is the root.
    pub fn parent(&self, domain: Domain) -> Option<Domain> {
        let level = domain.level.checked_sub(1)?;
        let index = self.levels[domain.level].parents[domain.index] as usize;
        Some(Domain { level, index })
    }

    /// Of each domain of a level, its parent's number in the level above; 0 in level 0.
    pub fn parents(&self, level: usize) -> &[u32] {
        &self.levels[level].parents
    }

    /// The numbers of the children of a domain, in the level below it; none of a leaf.
    pub fn children(&self, domain: Domain) -> Range<usize> {
        match self.levels.get(domain.level + 1) {
            Some(below) => below.children(domain.index),
            None => 0..0,
        }
    }

    pub fn degree(&self, domain: Domain) -> usize {
        self.children(domain).len()
    }

    /// The leaves below a domain; a leaf has itself.
    pub fn leaves_below(&self, domain: Domain) -> Range<usize> {
        let mut range = domain.index..domain.index + 1;
        for below in self.levels.iter().skip(domain.level + 1) {
            range = below.first[range.start] as usize..below.first[range.end] as usize;
        }
        range
    }

    /// The domains of level `level` below a domain above that level, or below the root.
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

    /// How many domains of level `level` each domain of level `above` has below it, or the root.
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

    /// The domain of level `level` that holds a leaf.
    pub fn ancestor(&self, leaf: usize, level: usize) -> Domain {
        let mut index = leaf;
        for below in self.levels[level + 1..].iter().rev() {
            index = below.parents[index] as usize;
        }
        Domain { level, index }
    }

    /// The domain of level `level` that holds a domain of that level or one below.
    pub fn above(&self, domain: Domain, level: usize) -> Domain {
        let mut index = domain.index;
        for below in self.levels[level + 1..=domain.level].iter().rev() {
            index = below.parents[index] as usize;
        }
        Domain { level, index }
    }

    /// Whether there is such a domain.
    pub fn has(&self, domain: Domain) -> bool {
        let level = self.levels.get(domain.level);
        level.is_some_and(|level| domain.index < level.width())
    }

    /// All domains of a level.
    pub fn domains(&self, level: usize) -> impl Iterator<Item = Domain> + use<> {
        (0..self.width(level)).map(move |index| Domain { level, index })
    }

    /// The names from the top down to a domain, as the paths had them.
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

    /// The domain that a path from the top names, whole ("rack3/chassis1") or any level deep.
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

impl Level {
    fn width(&self) -> usize {
        self.parents.len()
    }

    fn children(&self, parent: usize) -> Range<usize> {
        self.first[parent] as usize..self.first[parent + 1] as usize
    }

    fn with_degrees(level: usize, degrees: &[u32]) -> Result<Level> {
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
        let room = parents.try_reserve_exact(width as usize);
        room.map_err(|_| Error::Memory)?;
        for (parent, &degree) in degrees.iter().enumerate() {
            parents.extend(std::iter::repeat_n(parent as u32, degree as usize));
        }
        Ok(Level {
            parents,
            first,
            names: Names::ByPosition,
        })
    }
}

/// A tree whose domains are numbered as they are met.
#[derive(Default)]
struct Growing<'a> {
    levels: Vec<GrowingLevel<'a>>,
}

#[derive(Default)]
struct GrowingLevel<'a> {
    numbers: HashMap<(u32, &'a str), u32, foldhash::fast::FixedState>,
    parents: Vec<u32>,
    names: Vec<&'a str>,
}

impl<'a> Growing<'a> {
    fn grow<P: AsRef<str>>(
        mut self,
        paths: &'a [P],
        separator: char,
        of_ranks: bool,
    ) -> Result<Tree> {
        u32::try_from(paths.len()).map_err(|_| Error::TooWide)?;
        let depth = paths
            .first()
            .ok_or(Error::Empty)?
            .as_ref()
            .split(separator)
            .count();
        self.levels.resize_with(depth, GrowingLevel::default);
        let mut bottom = Vec::with_capacity(paths.len());
        let mut before: Option<(&str, u32)> = None;
        for (index, path) in paths.iter().map(AsRef::as_ref).enumerate() {
            // Ranks of a node often stand together.
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

    /// The number of the last domain of a path, and whether it is new.
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
            (parent, is_new) = level.number(parent, part);
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

    /// Numbers every level anew, so that children stand together in the order in which they were met.
    fn finish(self, mut leaves: Vec<u32>, of_ranks: bool) -> Tree {
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
            levels.push(Level {
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
            levels.push(Level {
                parents,
                first,
                names: Names::ByPath(order),
            });
        }
        Tree { levels, leaves }
    }
}

impl<'a> GrowingLevel<'a> {
    fn number(&mut self, parent: u32, name: &'a str) -> (u32, bool) {
        let next = self.parents.len() as u32;
        let number = *self.numbers.entry((parent, name)).or_insert(next);
        if number == next {
            self.parents.push(parent);
            self.names.push(name);
        }
        (number, number == next)
    }
}

/// The numbers of the children in the order of their parents, and where those of each parent begin.
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

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 5] = ["r1/c0/n0", "r0/c0/n0", "r1/c0/n1", "r0/c1/n0", "r1/c2/n0"];

    #[test]
    fn children_stand_together_in_the_order_in_which_they_were_met() {
        let tree = Tree::from_paths(&PATHS, '/').unwrap();
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
        let tree = Tree::of_ranks(&["a/x", "a/y", "a/x", "b/x"], '/').unwrap();
        assert_eq!(tree.leaves(), [0, 2, 1, 3]);
        assert_eq!(tree.path(Domain { level: 2, index: 1 }), "a/x/2");
        assert_eq!(tree.leaves_below(tree.find("a/x", '/').unwrap()), 0..2);
    }

    #[test]
    fn degrees_give_the_same_shape() {
        let tree = Tree::from_degrees(&[vec![2], vec![1, 3]]).unwrap();
        assert_eq!((tree.width(0), tree.leaf_count()), (2, 4));
        assert_eq!(tree.children(Domain { level: 0, index: 1 }), 1..4);
        assert_eq!(tree.path(Domain { level: 1, index: 3 }), "1/2");
    }

    #[test]
    fn what_is_no_tree_is_an_error() {
        let of = |paths: &[&str]| Tree::from_paths(paths, '/').unwrap_err();
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
        let of = |degrees: &[Vec<u32>]| Tree::from_degrees(degrees).unwrap_err();
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
