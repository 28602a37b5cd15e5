//! What a rank knows about its set, and the tree in which files keep it.

use std::ffi::CStr;

use super::{Error, Result};
use crate::kvtree::{Tree, TreeRef};

/// How the files of a set are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Not at all: only noted down.
    Single,
    /// `replicas` ranks to the right hold a copy each.
    Partner { replicas: usize },
    /// One parity block a stripe: survives the loss of one rank.
    Xor,
    /// `k` parity blocks a stripe: survives the loss of `k` ranks.
    ReedSolomon { k: usize },
}

impl Scheme {
    /// As files name the scheme.
    pub fn name(self) -> &'static CStr {
        match self {
            Self::Single => c"SINGLE",
            Self::Partner { .. } => c"PARTNER",
            Self::Xor => c"XOR",
            Self::ReedSolomon { .. } => c"RS",
        }
    }

    /// How many right neighbours keep the header of a rank, and how many may be lost at best.
    pub fn copies(self) -> usize {
        match self {
            Self::Single => 0,
            Self::Partner { replicas } => replicas,
            Self::Xor => 1,
            Self::ReedSolomon { k } => k,
        }
    }

    /// Whether a set of `ranks` ranks survives that these have lost something.
    pub(super) fn tolerates(self, ranks: usize, lost: &[usize]) -> bool {
        match self {
            Self::Single => lost.is_empty(),
            Self::Xor => lost.len() <= 1,
            Self::ReedSolomon { k } => lost.len() <= k,
            Self::Partner { replicas } => lost.iter().all(|rank| {
                let mut holders = (1..=replicas).map(|distance| (rank + distance) % ranks);
                holders.any(|holder| !lost.contains(&holder))
            }),
        }
    }

    /// As ranks tell each other.
    pub(super) fn numbers(self) -> [u64; 2] {
        match self {
            Self::Single => [0, 0],
            Self::Partner { replicas } => [1, replicas as u64],
            Self::Xor => [2, 0],
            Self::ReedSolomon { k } => [3, k as u64],
        }
    }

    pub(super) fn from_numbers([kind, count]: [u64; 2]) -> Option<Scheme> {
        let count = usize::try_from(count).ok()?;
        match kind {
            0 => Some(Self::Single),
            1 => Some(Self::Partner { replicas: count }),
            2 => Some(Self::Xor),
            3 => Some(Self::ReedSolomon { k: count }),
            _ => None,
        }
    }

    /// Whether a set of `ranks` ranks can be protected so.
    pub(super) fn check(self, ranks: usize) -> Result<()> {
        let fits = match self {
            Self::Single => true,
            Self::Xor => ranks >= 2,
            Self::Partner { replicas } => (1..ranks).contains(&replicas),
            Self::ReedSolomon { k } => (1..ranks).contains(&k) && ranks + k <= 256,
        };
        match fits {
            true => Ok(()),
            false => Err(Error::SetSize {
                scheme: self,
                ranks,
            }),
        }
    }
}

/// A rank's place in its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub enabled: bool,
    pub scheme: Scheme,
    /// How many sets there are, and which one is ours.
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
        edit.set_str(TYPE, self.scheme.name());
        match self.scheme {
            Scheme::Partner { replicas } => edit.set_u64(REPLICAS, replicas as u64),
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
            b"PARTNER" => Scheme::Partner {
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
