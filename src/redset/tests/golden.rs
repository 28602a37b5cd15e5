//! Sets that the original library wrote, rebuilt after every loss that they tolerate.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::header::Header;
use super::super::rebuild::{SchemeKind, contents, rebuild};
use super::{Scheme, memory_dir};
use crate::kvtree::Tree;

/// A copy of a golden set.
struct Golden {
    dir: tempfile::TempDir,
    kind: SchemeKind,
    scheme: Scheme,
    /// Redundancy files and data files of each rank.
    redundancy: Vec<PathBuf>,
    data: Vec<Vec<PathBuf>>,
    /// From original to present paths.
    map: Tree,
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

impl Golden {
    fn copy(set: &str, kind: SchemeKind) -> Golden {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("c_tests/golden")
            .join(set);
        let dir = memory_dir();
        let mut headers = BTreeMap::new();
        for part in ["data", "enc"] {
            fs::create_dir(dir.path().join(part)).unwrap();
            for entry in fs::read_dir(from.join(part)).unwrap() {
                let path = entry.unwrap().path();
                let copy = dir.path().join(part).join(path.file_name().unwrap());
                fs::write(&copy, fs::read(&path).unwrap()).unwrap();
                let is_redundancy = copy.to_string_lossy().contains(".grp_");
                if is_redundancy {
                    let (header, _) = Header::read(&copy).unwrap().unwrap();
                    headers.insert(header.rank, (header, copy));
                }
            }
        }
        let mut map = Tree::new();
        let mut data = Vec::new();
        for (header, _) in headers.values() {
            let files = header.own().files.iter().map(|file| {
                let now = dir.path().join(&file.path);
                let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap();
                map.edit().set_str(&text(&file.path), &text(&now));
                now
            });
            data.push(files.collect());
        }
        Golden {
            kind,
            scheme: headers[&0].0.own().descriptor.scheme,
            redundancy: headers.into_values().map(|(_, path)| path).collect(),
            data,
            map,
            dir,
        }
    }

    fn files(&self) -> Files {
        let all = self.redundancy.iter().chain(self.data.iter().flatten());
        let there = all.filter(|path| path.exists());
        there
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    }

    fn rebuild(&self) -> super::Result<()> {
        let prefix = self.dir.path().join("enc/ck.");
        let found = self.redundancy.iter().filter(|path| path.exists());
        let found: Vec<_> = found.cloned().collect();
        rebuild(self.kind, &found, prefix.as_os_str(), Some(self.map.view()))
    }

    fn lose_and_rebuild_every_combination(&self) {
        let ranks = self.redundancy.len();
        let before = self.files();
        for combination in 0u32..1 << ranks {
            let lost: Vec<_> = (0..ranks)
                .filter(|rank| combination >> rank & 1 == 1)
                .collect();
            for (path, bytes) in &before {
                fs::write(path, bytes).unwrap();
            }
            for &rank in &lost {
                let files = self.data[rank].iter().chain([&self.redundancy[rank]]);
                files.for_each(|path| fs::remove_file(path).unwrap());
            }
            let left = self.files();
            let outcome = self.rebuild();
            if self.scheme.tolerates(ranks, &lost) {
                outcome.unwrap();
                assert!(self.files() == before, "{lost:?}");
            } else {
                assert!(outcome.is_err(), "{lost:?}");
                assert!(self.files() == left, "{lost:?}");
            }
        }
    }
}

#[test]
fn partner() {
    Golden::copy("partner_n4_k1", SchemeKind::Partner).lose_and_rebuild_every_combination();
    Golden::copy("partner_n5_k2", SchemeKind::Partner).lose_and_rebuild_every_combination();
}

#[test]
fn xor() {
    Golden::copy("xor_n4", SchemeKind::Xor).lose_and_rebuild_every_combination();
    Golden::copy("xor_n5", SchemeKind::Xor).lose_and_rebuild_every_combination();
}

#[test]
fn reed_solomon() {
    Golden::copy("rs_n4_k2", SchemeKind::ReedSolomon).lose_and_rebuild_every_combination();
    Golden::copy("rs_n6_k3", SchemeKind::ReedSolomon).lose_and_rebuild_every_combination();
}

/// Files that version 0.1.0 wrote: they have checksums, and name no generation.
#[test]
fn files_of_the_first_version() {
    Golden::copy("0.1.0/partner_n4_k1", SchemeKind::Partner).lose_and_rebuild_every_combination();
    Golden::copy("0.1.0/xor_n4", SchemeKind::Xor).lose_and_rebuild_every_combination();
    Golden::copy("0.1.0/rs_n4_k2", SchemeKind::ReedSolomon).lose_and_rebuild_every_combination();
}

#[test]
fn contents_are_listed_in_rank_order_from_few_files() {
    let golden = Golden::copy("rs_n6_k3", SchemeKind::ReedSolomon);
    let some = [0, 3].map(|rank| golden.redundancy[rank].clone());
    let found = contents(golden.kind, &some).unwrap();
    assert_eq!(found.world_ranks, [0, 1, 2, 3, 4, 5]);
    let original = golden.data.iter().flatten();
    let original = original.map(|path| path.strip_prefix(golden.dir.path()).unwrap());
    assert!(found.files.iter().map(PathBuf::as_path).eq(original));
    assert!(contents(golden.kind, &some[..1]).is_err());
    assert!(contents(SchemeKind::Xor, &some).is_err());
    assert!(contents(golden.kind, &[]).is_err());
}

#[test]
fn every_original_needs_a_place_in_the_map() {
    let golden = Golden::copy("xor_n4", SchemeKind::Xor);
    let before = golden.files();
    let files = &golden.redundancy;
    let prefix = golden.dir.path().join("enc/ck.");
    let empty = Tree::new();
    let outcome = rebuild(golden.kind, files, prefix.as_os_str(), Some(empty.view()));
    assert!(outcome.unwrap_err().to_string().contains("map"));
    assert!(golden.files() == before);
}
