//! Permissions of redundancy files and owners of rebuilt files.
//!
//! Redundancy holds the bytes of all files of a set: those may read it who may read each of the files, and nobody
//! else. A rebuild never gives a file to a user to whom the owner of the redundancy could not have given it.

use std::os::fd::OwnedFd;

use super::Result;
use super::header::FileRecord;
use crate::comm::Comm;
use crate::storage::names::{
    FileAttributes, FileName, Owner, give_to, process_owner, without_group,
};
use crate::wire::gather_numbers;

/// The permissions that all of some files grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    permissions: u32,
    /// The group to which the group permissions apply; `None` without any file.
    group: Option<u32>,
}

const ROOT: u32 = 0;
const NO_GROUP: u32 = u32::MAX;

impl Access {
    /// Without any file, redundancy is like any other new file.
    pub(super) const ANY: Access = Access {
        permissions: 0o666,
        group: None,
    };

    pub(super) fn of(files: &[FileRecord]) -> Access {
        let each = files.iter().map(|file| Access {
            // The owner must be able to write the redundancy file, even if the files are read-only.
            permissions: file.attributes.mode & Access::ANY.permissions | 0o600,
            group: Some(file.attributes.gid),
        });
        each.fold(Access::ANY, Access::and)
    }

    fn and(self, other: Access) -> Access {
        let one_group = match (self.group, other.group) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        };
        let permissions = self.permissions & other.permissions;
        Access {
            permissions: match one_group {
                true => permissions,
                false => without_group(permissions),
            },
            group: self.group.or(other.group),
        }
    }

    /// Creates a redundancy file. It never has, not even for a moment, more permissions than each file in it.
    pub(super) fn create(self, file: &FileName, owner: Option<Owner>) -> Result<OwnedFd> {
        let fd = match self.group {
            Some(group) => file.create_for_group(self.permissions, group)?,
            None => file.create(self.permissions)?,
        };
        if let Some(owner) = owner {
            let permissions = match self.group {
                Some(group) if group != owner.gid => without_group(self.permissions),
                _ => self.permissions,
            };
            give_to(&fd, owner, permissions)?;
        }
        Ok(fd)
    }
}

/// The data length of each rank, and the permissions that all files of all ranks grant, in one allgather.
///
/// # Collective
/// Called by all ranks of `comm`.
pub(super) fn gather<C: Comm>(comm: &C, bytes: u64, access: Access) -> Result<(Vec<u64>, Access)> {
    let group = access.group.unwrap_or(NO_GROUP);
    let granted = u64::from(group) << 32 | u64::from(access.permissions);
    let all = gather_numbers(comm, [bytes, granted])?;
    let each = all.iter().map(|&[_, granted]| Access {
        permissions: granted as u32,
        group: Some((granted >> 32) as u32).filter(|group| *group != NO_GROUP),
    });
    let strictest = each.fold(Access::ANY, Access::and);
    Ok((all.iter().map(|&[bytes, _]| bytes).collect(), strictest))
}

/// The owner of files that are rebuilt from a redundancy file of the owner `redundancy`. Anybody may write anything into a
/// header, so only root and the caller are trusted to name other owners: then the result is `None`, and files keep their
/// recorded owners, as far as the kernel lets the caller give them away.
pub(super) fn heir(redundancy: Owner) -> Option<Owner> {
    let is_caller = process_owner().is_some_and(|caller| caller.uid == redundancy.uid);
    (redundancy.uid != ROOT && !is_caller).then_some(redundancy)
}

/// The attributes of a rebuilt file.
pub(super) fn inherited(recorded: &FileAttributes, heir: Option<Owner>) -> FileAttributes {
    let Some(heir) = heir else {
        return *recorded;
    };
    FileAttributes {
        uid: heir.uid,
        gid: heir.gid,
        mode: match heir.gid == recorded.gid {
            true => recorded.mode,
            false => without_group(recorded.mode),
        },
        ..*recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::names::attributes;

    fn access(permissions: u32, group: u32) -> Access {
        Access {
            permissions,
            group: Some(group),
        }
    }

    #[test]
    fn the_strictest_file_decides() {
        let joined = |files: &[(u32, u32)]| {
            let each = files.iter().map(|(mode, group)| access(*mode, *group));
            each.fold(Access::ANY, Access::and).permissions
        };
        assert_eq!(joined(&[]), 0o666);
        assert_eq!(joined(&[(0o644, 7), (0o600, 7)]), 0o600);
        assert_eq!(joined(&[(0o640, 7), (0o660, 7)]), 0o640);
        assert_eq!(joined(&[(0o640, 7), (0o640, 8)]), 0o600);
        assert_eq!(joined(&[(0o644, 7), (0o644, 8)]), 0o644);
        assert_eq!(joined(&[(0o604, 7), (0o666, 7)]), 0o604);
    }

    #[test]
    fn a_file_of_another_group_is_narrower() {
        let dir = tempfile::tempdir().unwrap();
        let own = process_owner().unwrap();
        let mode = |access: Access| {
            let file = FileName::from(dir.path().join("file"));
            access.create(&file, None).unwrap();
            attributes(file.path()).unwrap().unwrap().mode & 0o777
        };
        assert_eq!(mode(access(0o600, own.gid)), 0o600);
        assert_eq!(mode(access(0o640, own.gid)) & !0o040, 0o600);
        assert_eq!(mode(access(0o640, own.gid + 1)), 0o600);
        assert_eq!(mode(access(0o660, own.gid + 1)), 0o600);
    }

    #[test]
    fn only_root_and_the_caller_name_other_owners() {
        let own = process_owner().unwrap();
        let stranger = Owner {
            uid: own.uid + 1,
            gid: 54321,
        };
        assert_eq!(heir(own), None);
        assert_eq!(heir(Owner { uid: 0, gid: 5 }), None);
        assert_eq!(heir(stranger), Some(stranger));
        let dir = tempfile::tempdir().unwrap();
        let mut recorded = attributes(dir.path()).unwrap().unwrap();
        (recorded.uid, recorded.gid, recorded.mode) = (0, 0, 0o100_650);
        let given = inherited(&recorded, Some(stranger));
        let seen = (given.uid, given.gid, given.mode & 0o777);
        assert_eq!(seen, (stranger.uid, stranger.gid, 0o600));
        assert_eq!(inherited(&recorded, None), recorded);
    }
}
