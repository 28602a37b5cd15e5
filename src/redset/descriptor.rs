//! What a rank knows about its set, and the tree in which files keep it.

use std::ffi::CStr;

use super::{Error, Result, Scheme};
use crate::kvtree::{Tree, TreeRef};

/// The scheme's name in trees.
fn tree_name(scheme: Scheme) -> &'static CStr {
    match scheme {
        Scheme::Single => c"SINGLE",
        Scheme::Copies { .. } => c"PARTNER",
        Scheme::Xor => c"XOR",
        Scheme::ReedSolomon { .. } => c"RS",
    }
}

/// A rank's place in its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub enabled: bool,
    pub scheme: Scheme,
    /// Number of sets, and which of them is ours.
    pub groups: usize,
    pub group: usize,
    /// Size of our set, and our rank in it.
    pub ranks: usize,
    pub rank: usize,
    /// Size of the communicator the sets were made from, and our rank in it.
    pub world_ranks: usize,
    pub world_rank: usize,
}

const ENABLED: &CStr = c"ENABLED";
const TYPE: &CStr = c"TYPE";
const GROUPS: &CStr = c"GROUPS";
const GROUP: &CStr = c"GROUP";
const RANKS: &CStr = c"RANKS";
const RANK: &CStr = c"RANK";
const WORLD_RANKS: &CStr = c"WRANKS";
const WORLD_RANK: &CStr = c"WRANK";
const REPLICAS: &CStr = c"REPLICAS";
const PARITY_BLOCKS: &CStr = c"CKSUM";

impl Descriptor {
    pub fn to_tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut edit = tree.edit();
        edit.set_int(ENABLED, i32::from(self.enabled));
        edit.set_str(TYPE, tree_name(self.scheme));
        match self.scheme {
            Scheme::Copies { replicas } => edit.set_u64(REPLICAS, replicas as u64),
            Scheme::ReedSolomon { k } => edit.set_u64(PARITY_BLOCKS, k as u64),
            Scheme::Single | Scheme::Xor => (),
        }
        for (key, number) in [
            (GROUPS, self.groups),
            (GROUP, self.group),
            (RANKS, self.ranks),
            (RANK, self.rank),
            (WORLD_RANKS, self.world_ranks),
            (WORLD_RANK, self.world_rank),
        ] {
            edit.set_u64(key, number as u64);
        }
        tree
    }

    pub fn from_tree(tree: TreeRef) -> Result<Descriptor> {
        let number = |key: &CStr| number(tree, key);
        let scheme = match tree.value(TYPE)?.to_bytes() {
            b"SINGLE" => Scheme::Single,
            b"PARTNER" => Scheme::Copies {
                replicas: number(REPLICAS)?,
            },
            b"XOR" => Scheme::Xor,
            b"RS" => Scheme::ReedSolomon {
                k: number(PARITY_BLOCKS)?,
            },
            other => {
                let name = String::from_utf8_lossy(other).into_owned();
                return Err(Error::UnknownScheme(name));
            }
        };
        let descriptor = Descriptor {
            enabled: number(ENABLED)? != 0,
            scheme,
            groups: number(GROUPS)?,
            group: number(GROUP)?,
            ranks: number(RANKS)?,
            rank: number(RANK)?,
            world_ranks: number(WORLD_RANKS)?,
            world_rank: number(WORLD_RANK)?,
        };
        descriptor.check()?;
        Ok(descriptor)
    }

    fn check(&self) -> Result<()> {
        self.scheme.check(self.ranks)?;
        let places = [
            (self.rank, self.ranks),
            (self.group, self.groups),
            (self.world_rank, self.world_ranks),
        ];
        match places.iter().all(|(place, count)| place < count) {
            true => Ok(()),
            false => Err(Error::Descriptor(format!("{self:?}"))),
        }
    }

    /// Whether both are places in one set that is protected in the same way.
    pub(super) fn is_of_same_set(&self, other: &Descriptor) -> bool {
        let set = |d: &Descriptor| (d.scheme, d.groups, d.group, d.ranks, d.world_ranks);
        set(self) == set(other)
    }

    /// The rank `distance` to the left in the set.
    pub fn left(&self, distance: usize) -> usize {
        (self.rank + self.ranks - distance % self.ranks) % self.ranks
    }

    /// The rank `distance` to the right in the set.
    pub fn right(&self, distance: usize) -> usize {
        (self.rank + distance) % self.ranks
    }
}

fn number(tree: TreeRef, key: &CStr) -> Result<usize> {
    let value = tree.value_int(key)?;
    usize::try_from(value).map_err(|_| {
        let key = key.to_string_lossy();
        Error::Descriptor(format!("{key} is {value}"))
    })
}
