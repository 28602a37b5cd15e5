//! Sets that a placement by failure domains has chosen: the caller's placement, or that of the topology which the
//! environment of the job declares.
//!
//! A declared path says where a rank is, and the failure group names the leaf below it. The group string comes
//! behind the path unless the path ends with it already. It is one domain, whatever it looks like.

use std::hash::BuildHasher;

use super::{Error, Result, Scheme, agree};
use crate::comm::{self, Comm, Op};
use crate::failure_domain::placement::{self, Placement, Request, SEPARATOR};
use crate::failure_domain::topology;

/// The placement for what [`super::create`] was given; `None` if no rank has a declared path.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub(super) fn declared<C: Comm>(
    comm: &C,
    path: std::result::Result<Option<String>, topology::Error>,
    scheme: Scheme,
    group: Option<&[u8]>,
    set_size: usize,
) -> Result<Option<Placement>> {
    let path = agree(
        comm,
        path.map_err(placement::Error::from).map_err(Error::from),
    )?;
    let mut any = [path.is_some().into(), path.is_none().into()];
    comm.allreduce(Op::Max, &mut any)?;
    let Some(path) = path.filter(|_| any == [1, 0]) else {
        return match any {
            [0, _] => Ok(None),
            _ => Err(Error::Undeclared),
        };
    };
    let path = match group {
        Some(group) => with_leaf(path, &text_of(group)),
        None => path,
    };
    let request = Request::new(scheme.into(), set_size.min(comm.size()));
    Ok(Some(placement::create(comm, Some(&path), &request)?))
}

/// Different groups have different texts, whatever bytes they are.
fn text_of(group: &[u8]) -> String {
    let text = std::str::from_utf8(group).map(str::to_owned);
    text.unwrap_or_else(|_| group.escape_ascii().to_string())
}

fn with_leaf(path: String, group: &str) -> String {
    let outside = path.strip_suffix(group);
    let ends_with_it = outside.is_some_and(|rest| rest.is_empty() || rest.ends_with(SEPARATOR));
    match group.is_empty() || ends_with_it {
        true => path,
        false => format!("{path}{SEPARATOR}{}", group.replace(SEPARATOR, "_")),
    }
}

/// Refuses a placement that was made for other ranks, or that is not the same everywhere.
///
/// # Collective
/// Called by all ranks of `comm`; all return the same verdict.
pub(super) fn check<C: Comm>(comm: &C, placement: &Placement) -> Result<()> {
    let (placed, ranks) = (placement.rank_count(), comm.size());
    let fits = match placed == ranks {
        true => Ok(()),
        false => Err(Error::Misplaced { placed, ranks }),
    };
    agree(comm, fits)?;
    match comm::is_same(comm, &[fingerprint(placement)])? {
        true => Ok(()),
        false => Err(Error::Mismatch("they give different placements".into())),
    }
}

fn fingerprint(placement: &Placement) -> u64 {
    let sets = 0..placement.sets().count();
    let members: Vec<_> = sets.map(|set| placement.members(set)).collect();
    foldhash::fast::FixedState::default().hash_one((placement.scheme(), members))
}

impl From<Scheme> for placement::Scheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Single => Self::Single,
            Scheme::Copies { replicas } => Self::Partner { replicas },
            Scheme::Xor => Self::Xor,
            Scheme::ReedSolomon { k } => Self::ReedSolomon { k },
        }
    }
}

impl From<placement::Scheme> for Scheme {
    fn from(scheme: placement::Scheme) -> Self {
        match scheme {
            placement::Scheme::Single => Self::Single,
            placement::Scheme::Partner { replicas } => Self::Copies { replicas },
            placement::Scheme::Xor => Self::Xor,
            placement::Scheme::ReedSolomon { k } => Self::ReedSolomon { k },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_are_no_text_stay_apart() {
        assert_eq!(text_of("nö".as_bytes()), "nö");
        assert_ne!(text_of(b"n\xff"), text_of(b"n\xfe"));
    }

    #[test]
    fn the_group_is_the_last_part_of_the_path() {
        let leaf = |path: &str, group| with_leaf(path.into(), group);
        assert_eq!(leaf("r0/c1", "n7"), "r0/c1/n7");
        assert_eq!(leaf("r0/c1/n7", "n7"), "r0/c1/n7");
        assert_eq!(leaf("r0/c1/n7", "c1/n7"), "r0/c1/n7");
        assert_eq!(leaf("n7", "n7"), "n7");
        assert_eq!(leaf("r0/n17", "7"), "r0/n17/7");
        assert_eq!(leaf("r0", "a/b"), "r0/a_b");
        assert_eq!(leaf("r0/n7", ""), "r0/n7");
    }
}
