//! Files under faults, and files that are not what they should be.

use super::super::model::{self, Model};
use super::super::{Error, Tree};
use super::*;
use crate::storage::Operation;
use crate::storage::faults::{self, Rule};
use proptest::prelude::*;
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs;
use std::io::{Seek, Write};
use std::path::PathBuf;

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn empty() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tree.kv");
        Place { _dir: dir, path }
    }

    fn holding(content: impl AsRef<[u8]>) -> Place {
        let place = Place::empty();
        fs::write(&place.path, content).unwrap();
        place
    }

    /// What a reader finds.
    fn read(&self) -> Result<Model> {
        let mut tree = Tree::new();
        read_file(&self.path, tree.edit())?;
        Ok(Model::of(tree.view()))
    }

    fn tree(&self) -> Model {
        self.read().unwrap()
    }
}

/// A tree that takes several writes of a few bytes.
fn sample(name: &CStr) -> Tree {
    let mut tree = Tree::new();
    tree.edit().set_str(c"NAME", name);
    tree.edit().set_int(c"RANKS", 4);
    tree
}

fn is_bad_file(outcome: Result<impl Sized>) -> Option<FormatError> {
    match outcome {
        Err(Error::BadFile { source, .. }) => Some(source),
        _ => None,
    }
}

#[test]
fn a_fault_at_any_operation_leaves_the_old_tree_or_the_new_one() {
    let effects: [fn(usize) -> Vec<Rule>; 5] = [
        |n| vec![faults::crash().at(n)],
        |n| vec![faults::crash().at(n), faults::short(7)],
        |n| vec![faults::fail(Errno::NOSPC).at(n)],
        |n| vec![faults::fail(Errno::IO).at(n)],
        |n| vec![faults::fail(Errno::NOSPC).at(n), faults::short(7)],
    ];
    let (old, new) = (sample(c"old"), sample(c"new"));
    let (old_model, new_model) = (Model::of(old.view()), Model::of(new.view()));
    for rules in effects {
        let mut renamed = 0;
        for n in 0.. {
            let place = Place::holding(persisted(old.view()).unwrap());
            let plan = faults::plan(rules(n));
            let outcome = write_file(&place.path, new.view());
            let reached = plan.trace().len() > n;
            drop(plan);
            let found = place.tree();
            assert!(found == new_model || (found == old_model && outcome.is_err()));
            renamed += usize::from(found == new_model);
            if !reached {
                outcome.unwrap();
                break;
            }
        }
        assert!(renamed > 1, "faults after the rename were not tried");
    }
}

#[test]
fn a_failed_read_is_an_error_and_adds_nothing() {
    let place = Place::holding(persisted(sample(c"x").view()).unwrap());
    for operation in [Operation::Open, Operation::Read] {
        let mut tree = Tree::new();
        let _plan = faults::plan([faults::fail(Errno::ACCESS).of(operation)]);
        let error = read_file(&place.path, tree.edit()).unwrap_err();
        assert!(matches!(error, Error::Storage(_)), "{error}");
        assert!(tree.view().is_empty());
    }
    let _plan = faults::plan([faults::short(3)]);
    assert_eq!(place.tree(), Model::of(sample(c"x").view()));
}

#[test]
fn an_empty_file_is_an_empty_tree_and_a_missing_one_an_error() {
    assert_eq!(Place::holding(b"").tree(), Model::default());
    let error = Place::empty().read().unwrap_err();
    assert!(matches!(error, Error::Storage(e) if e.errno() == Errno::NOENT));
}

#[test]
fn bytes_are_those_of_the_files_in_the_field() {
    let mut tree = Tree::new();
    tree.edit().child(c"a");
    let bytes = persisted(tree.view()).unwrap();
    let expected = b"\x95\x1f\xc3\xf5\0\x01\0\x01\0\0\0\0\0\0\0\x22\0\0\0\x01\0\0\0\x01a\0\0\0\0\0";
    assert_eq!(bytes[..30], expected[..]);
    assert_eq!(bytes[30..], crc32fast::hash(expected).to_be_bytes());
}

/// A file whose header was changed, with the checksum that then is right.
fn resealed(change: impl FnOnce(&mut Vec<u8>)) -> Place {
    let mut bytes = persisted(sample(c"x").view()).unwrap();
    bytes.truncate(bytes.len() - CRC);
    change(&mut bytes);
    let crc = crc32fast::hash(&bytes);
    bytes.extend(crc.to_be_bytes());
    Place::holding(bytes)
}

#[test]
fn every_field_of_the_header_is_checked() {
    let magic = resealed(|bytes| bytes[0] ^= 1);
    assert_eq!(is_bad_file(magic.read()), Some(FormatError::Magic));
    for at in [5, 7] {
        let version = resealed(|bytes| bytes[at] = 2).read();
        let found = is_bad_file(version).unwrap();
        assert!(matches!(found, FormatError::Version { .. }), "{found}");
    }
    for size in [0u64, 1, 27] {
        let place = resealed(|bytes| bytes[8..16].copy_from_slice(&size.to_be_bytes()));
        assert_eq!(is_bad_file(place.read()), Some(FormatError::Size(size)));
    }
    // None of these may make us take that much memory.
    for size in [1u64 << 20, 1 << 40, i64::MAX as u64, u64::MAX] {
        let place = resealed(|bytes| bytes[8..16].copy_from_slice(&size.to_be_bytes()));
        let found = is_bad_file(place.read()).unwrap();
        assert!(matches!(found, FormatError::Short { expected, .. } if expected == size));
    }
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let bytes = persisted(sample(c"x").view()).unwrap();
    // Clearing the flag says that there is no checksum; what is left then reads as before.
    let flag = 8 * (HEADER - 1);
    for bit in (0..8 * bytes.len()).filter(|&bit| bit != flag) {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Place::holding(bytes).read().is_err(), "bit {bit}");
    }
}

#[test]
fn without_the_flag_no_checksum_is_expected() {
    let mut bytes = persisted(sample(c"x").view()).unwrap();
    bytes.truncate(bytes.len() - CRC);
    bytes[HEADER - 1] = 0;
    let size = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&size.to_be_bytes());
    assert_eq!(Place::holding(bytes).tree(), Model::of(sample(c"x").view()));
}

#[test]
fn every_truncation_but_the_empty_file_is_an_error() {
    let bytes = persisted(sample(c"x").view()).unwrap();
    for length in 1..bytes.len() {
        let found = is_bad_file(Place::holding(&bytes[..length]).read()).unwrap();
        assert!(matches!(found, FormatError::Short { got, .. } if got == length as u64));
    }
}

#[test]
fn trees_follow_each_other_in_a_file_and_data_follows_them() {
    let mut file = tempfile::tempfile().unwrap();
    let first = write_fd(&file, sample(c"first").view()).unwrap();
    write_fd(&file, sample(c"second").view()).unwrap();
    file.write_all(b"data").unwrap();
    file.rewind().unwrap();
    let name = Path::new("a name");
    let mut end = 0;
    for expected in [c"first", c"second"] {
        let mut tree = Tree::new();
        end += read_fd(name, &file, tree.edit()).unwrap();
        assert_eq!(tree.view().value(c"NAME").unwrap(), expected);
        assert_eq!(file.stream_position().unwrap(), end);
    }
    assert!(end > first);
    let rest = read_fd(name, &file, Tree::new().edit());
    assert!(matches!(
        is_bad_file(rest),
        Some(FormatError::Short { got: 4, .. })
    ));
    assert_eq!(read_fd(name, &file, Tree::new().edit()).unwrap(), 0);
}

proptest! {
    #[test]
    fn what_is_written_is_read_in_the_same_order(model in model::model()) {
        let place = Place::empty();
        write_file(&place.path, model.to_tree().view()).unwrap();
        prop_assert_eq!(place.tree(), model);
    }

    #[test]
    fn reading_merges(held in model::model(), written in model::model()) {
        let place = Place::holding(persisted(written.to_tree().view()).unwrap());
        let mut tree = held.to_tree();
        read_file(&place.path, tree.edit()).unwrap();
        let mut reversed = Model::default();
        reversed.unpack_in_front(&written, Order::Reversed);
        let mut expected = held;
        expected.merge(&reversed);
        prop_assert_eq!(Model::of(tree.view()), expected);
    }
}

// ---- under a lock ---------------------------------------------------------------------------

/// Whether somebody else could take the lock now.
fn is_free(path: &Path) -> bool {
    let file = fs::File::open(path).unwrap();
    let attempt = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::flock(&file, attempt).is_ok()
}

#[test]
fn reading_under_a_lock_makes_a_missing_file_and_leaves_no_lock() {
    let place = Place::empty();
    let mut tree = Tree::new();
    read_with_lock(&place.path, tree.edit()).unwrap();
    assert!(tree.view().is_empty());
    assert_eq!(fs::read(&place.path).unwrap(), b"");
    write_with_lock(&place.path, sample(c"x").view()).unwrap();
    read_with_lock(&place.path, tree.edit()).unwrap();
    assert_eq!(Model::of(tree.view()), place.tree());
    assert!(is_free(&place.path));
}

#[test]
fn a_file_that_may_only_be_read_is_read_under_a_lock_too() {
    let place = Place::holding(persisted(sample(c"x").view()).unwrap());
    let mut tree = Tree::new();
    let denied = faults::fail(Errno::ROFS).of(Operation::Open).at(0);
    let plan = faults::plan([denied]);
    read_with_lock(&place.path, tree.edit()).unwrap();
    assert!(plan.fired());
    assert!(!tree.view().is_empty());
}

#[test]
fn without_a_lock_nothing_is_read_or_written() {
    let bytes = persisted(sample(c"x").view()).unwrap();
    let place = Place::holding(&bytes);
    let no_locks = [Operation::Flock, Operation::Fcntl];
    let rules = no_locks.map(|kind| faults::fail(Errno::NOSYS).of(kind));
    let plan = faults::plan(rules);
    let mut tree = Tree::new();
    read_with_lock(&place.path, tree.edit()).unwrap_err();
    lock_open_read(&place.path, tree.edit()).unwrap_err();
    write_with_lock(&place.path, sample(c"y").view()).unwrap_err();
    let moved = [Operation::Read, Operation::Write, Operation::Truncate];
    assert!(plan.trace().iter().all(|op| !moved.contains(op)));
    assert!(tree.view().is_empty());
    assert_eq!(fs::read(&place.path).unwrap(), bytes);
}

#[test]
fn a_change_under_one_lock() {
    let place = Place::holding(persisted(sample(c"a much longer name").view()).unwrap());
    let mut tree = Tree::new();
    let fd = lock_open_read(&place.path, tree.edit()).unwrap();
    assert!(!is_free(&place.path));
    tree.edit().set_str(c"NAME", c"short");
    write_close_unlock(&place.path, fd, tree.view()).unwrap();
    assert!(is_free(&place.path));
    assert_eq!(place.tree(), Model::of(tree.view()));
    // Nothing of the longer tree is left behind.
    let size = fs::metadata(&place.path).unwrap().len();
    assert_eq!(size, persisted(tree.view()).unwrap().len() as u64);
}

#[test]
fn writing_under_a_lock_leaves_nothing_of_a_longer_tree() {
    let place = Place::holding(persisted(sample(c"a much longer name").view()).unwrap());
    write_with_lock(&place.path, sample(c"x").view()).unwrap();
    let expected = persisted(sample(c"x").view()).unwrap();
    assert_eq!(fs::read(&place.path).unwrap(), expected);
    assert!(is_free(&place.path));
}

#[test]
fn a_damaged_file_is_not_opened_for_a_change() {
    let place = Place::holding(b"somebody's notes, not a tree");
    lock_open_read(&place.path, Tree::new().edit()).unwrap_err();
    read_with_lock(&place.path, Tree::new().edit()).unwrap_err();
    assert!(is_free(&place.path));
    let content = fs::read(&place.path).unwrap();
    assert_eq!(content, b"somebody's notes, not a tree");
}

#[test]
fn a_failed_write_under_a_lock_is_reported_and_unlocks() {
    let kinds = [
        Operation::Seek,
        Operation::Write,
        Operation::Truncate,
        Operation::Fsync,
    ];
    for kind in kinds {
        let place = Place::holding(b"");
        let fd = lock_open_read(&place.path, Tree::new().edit()).unwrap();
        let plan = faults::plan([faults::fail(Errno::IO).of(kind)]);
        write_close_unlock(&place.path, fd, sample(c"x").view()).unwrap_err();
        write_with_lock(&place.path, sample(c"x").view()).unwrap_err();
        assert!(plan.fired());
        drop(plan);
        assert!(is_free(&place.path));
    }
}
