//! All targets, and the good files that inputs begin with.

use crate::{decomposition, parsers, sets};
use std::fs;
use std::path::Path;

pub enum Source {
    /// Files that are changed byte by byte.
    Files(fn() -> Vec<Vec<u8>>),
    /// Bytes that the target takes its decisions from.
    Choices,
}

pub struct Target {
    pub name: &'static str,
    pub source: Source,
    pub run: fn(&[u8]),
}

const fn files(name: &'static str, load: fn() -> Vec<Vec<u8>>, run: fn(&[u8])) -> Target {
    Target {
        name,
        source: Source::Files(load),
        run,
    }
}

const fn choices(name: &'static str, run: fn(&[u8])) -> Target {
    Target {
        name,
        source: Source::Choices,
        run,
    }
}

pub const TARGETS: [Target; 14] = [
    files("packed_tree", packed_trees, parsers::packed_tree),
    files("tree_file", tree_files, parsers::tree_file),
    files("sealed_tree_file", packed_trees, parsers::sealed_tree_file),
    files("map_text", || corpus("map_text"), parsers::map_text),
    files(
        "topology_file",
        || corpus("topology_file"),
        parsers::topology_file,
    ),
    files(
        "topology_paths",
        || corpus("topology_paths"),
        parsers::topology_paths,
    ),
    choices("decomposition", decomposition::decomposition),
    choices("gathered", sets::gathered),
    choices("redset_header", sets::redset_header),
    choices("redset_descriptor", sets::redset_descriptor),
    choices("redset_offline_verify", sets::redset_offline_verify),
    choices("redset_offline_rebuild", sets::redset_offline_rebuild),
    choices("redset_recover", sets::redset_recover),
    choices("redset_verify", sets::redset_verify),
];

fn all_below(directory: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let files = sets::files_below(&directory);
    files
        .iter()
        .map(|path| fs::read(path).expect("the corpus can be read"))
        .collect()
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    all_below(&format!("fuzz/corpus/{name}"))
}

/// Every golden file that begins with a tree.
fn tree_files() -> Vec<Vec<u8>> {
    let mut files = all_below("c_tests/golden");
    files.retain(|bytes| bytes.starts_with(&[0x95, 0x1f, 0xc3, 0xf5]));
    files
}

/// What is between header and checksum of those.
fn packed_trees() -> Vec<Vec<u8>> {
    let packed = |bytes: Vec<u8>| {
        let size = u64::from_be_bytes(bytes[8..16].try_into().unwrap()) as usize;
        bytes[20..size - 4].to_vec()
    };
    tree_files().into_iter().map(packed).collect()
}

/// # Panics
/// If a corpus is empty, or a file of it is not one that the parser takes: then its changes would reach nothing.
pub fn check() {
    use stanchion::kvtree::{Tree, pack};
    assert!(tree_files().len() >= 10);
    for packed in packed_trees() {
        let mut tree = Tree::new();
        pack::unpack_into(&packed, tree.edit(), pack::Order::AsPacked).unwrap();
        assert!(pack::packed(Some(tree.view())).unwrap() == packed);
    }
    for bytes in tree_files() {
        assert!(parsers::is_good_file(&bytes));
    }
    assert!(
        corpus("map_text")
            .iter()
            .any(|bytes| parsers::is_good_map(bytes))
    );
    sets::check();
}
