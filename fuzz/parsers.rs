//! Targets for one parser each: bytes of a file go in.

use crate::mutate::{Choices, seal};
use crate::sets::same_verdict;
use crate::watch::bounded;
use stanchion::comm::local;
use stanchion::failure_domain::DomainTree;
use stanchion::failure_domain::placement::{Placement, PlacementRequest, PlacementScheme};
use stanchion::failure_domain::topology;
use stanchion::kvtree::pack::{self, Order};
use stanchion::kvtree::{Tree, file};
use stanchion::pio::map_file;
use std::fs::{self, File};
use std::path::Path;

const SMALLEST_ELEMENT: usize = 5;

fn elements(tree: &Tree, length: usize) {
    assert!(tree.view().preorder().count() <= length / SMALLEST_ELEMENT);
}

/// A packed tree, which nothing protects.
pub fn packed_tree(input: &[u8]) {
    for order in [Order::AsPacked, Order::Reversed] {
        let mut tree = Tree::new();
        let used = bounded(input.len(), || pack::unpack_into(input, tree.edit(), order));
        elements(&tree, input.len());
        if let Ok(used) = used {
            assert_eq!(pack::packed_length(input).ok(), Some(used));
            assert!(used <= input.len());
        }
    }
}

/// A tree in a file, with its header and checksum as they come.
pub fn tree_file(input: &[u8]) {
    let path = Path::new("tree.kv");
    fs::write(path, input).unwrap();
    let mut tree = Tree::new();
    let by_name = bounded(input.len(), || file::read_file(path, tree.edit())).is_ok();
    elements(&tree, input.len());
    let mut tree = Tree::new();
    let used = bounded(input.len(), || {
        file::read_fd(path, File::open(path).unwrap(), tree.edit())
    });
    assert_eq!(by_name, used.is_ok());
    assert!(used.is_ok_and(|used| used <= input.len() as u64) || !by_name);
}

pub fn is_good_file(bytes: &[u8]) -> bool {
    fs::write("tree.kv", bytes).unwrap();
    file::read_file(Path::new("tree.kv"), Tree::new().edit()).is_ok()
}

pub fn is_good_map(bytes: &[u8]) -> bool {
    fs::write("map.txt", bytes).unwrap();
    let read = local::run(3, |comm| {
        map_file::read(&comm, Path::new("map.txt")).is_ok()
    });
    read.into_iter().all(|well| well)
}

/// The same with a checksum that is right, so that what is behind it is reached.
pub fn sealed_tree_file(input: &[u8]) {
    const MAGIC: [u8; 8] = [0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1];
    let mut bytes = [&MAGIC[..], &[0; 8], &[0, 0, 0, 1], input].concat();
    seal(&mut bytes);
    tree_file(&bytes);
}

/// A map as text, dealt to one to three ranks.
pub fn map_text(input: &[u8]) {
    let path = Path::new("map.txt");
    fs::write(path, input).unwrap();
    let ranks = 1 + input.len() % 3;
    let read = |comm: local::LocalComm| map_file::read(&comm, path).map(drop);
    same_verdict(&bounded(input.len(), || local::run(ranks, read)));
}

/// A file of hosts and their paths; the address of a node and its pattern.
pub fn topology_file(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    fs::write("topology.txt", text).unwrap();
    set("STANCHION_TOPOLOGY", "file:topology.txt");
    let _ = bounded(input.len(), topology::path);
    if text.contains('\0') {
        return;
    }
    let (address, pattern) = text.split_once('\n').unwrap_or((text, "switch.node"));
    set("STANCHION_TOPOLOGY", "slurm");
    set("SLURM_TOPOLOGY_ADDR", address);
    set("SLURM_TOPOLOGY_ADDR_PATTERN", pattern);
    let _ = bounded(input.len(), topology::path);
}

fn set(name: &str, value: &str) {
    // SAFETY: no other thread of this program looks at the environment.
    unsafe { std::env::set_var(name, value) };
}

/// Paths of ranks, and the sets that are placed by them.
pub fn topology_paths(input: &[u8]) {
    const MOST: usize = 48;
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let paths: Vec<_> = text.lines().take(MOST).collect();
    bounded(input.len(), || {
        let _ = DomainTree::from_paths(&paths, '/');
        let mut choices = Choices(input);
        let copies = choices.below(4);
        for scheme in [
            PlacementScheme::Xor,
            PlacementScheme::Partner { replicas: copies },
            PlacementScheme::ReedSolomon { k: copies },
        ] {
            let _ = Placement::of_paths(&paths, &PlacementRequest::new(scheme, choices.below(9)));
        }
    });
}
