//! Protected sets and gathered trees, changed in structure and brought into a directory; then everything that reads them.

use crate::mutate::{Choices, TreeFile, change};
use crate::watch::bounded;
use stanchion::comm::Comm;
use stanchion::comm::local;
use stanchion::kvtree::{Tree, gather};
use stanchion::redset::rebuild::{self, SetFiles};
use stanchion::redset::{self, Descriptor, Scheme};
use std::borrow::Cow;
use std::ffi::{CString, OsStr};
use std::fmt::Debug;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// As upstream made the golden sets.
const NAME: &str = "enc/ck.";

/// The files of one directory, those that begin with a tree taken apart.
struct Seed {
    ranks: usize,
    trees: Vec<(PathBuf, TreeFile)>,
    data: Vec<(PathBuf, Vec<u8>)>,
}

impl Seed {
    fn of(directory: &Path) -> Seed {
        let mut seed = Seed {
            ranks: 0,
            trees: Vec::new(),
            data: Vec::new(),
        };
        for path in files_below(directory) {
            let bytes = fs::read(&path).unwrap();
            let path = path.strip_prefix(directory).unwrap().to_owned();
            match path.to_string_lossy() {
                name if name.starts_with("data") => seed.data.push((path, bytes)),
                name if name.starts_with("gather") || name.ends_with(".redset") => {
                    seed.trees.push((path, TreeFile::of(&bytes)));
                }
                _ => (),
            }
        }
        seed.ranks = seed
            .trees
            .iter()
            .filter(|(path, _)| is_descriptor(path))
            .count();
        seed
    }

    /// The trees whose paths fit.
    fn fitting(&self, fits: fn(&Path) -> bool) -> Vec<(&Path, &TreeFile)> {
        let all = self.trees.iter().map(|(path, file)| (&**path, file));
        all.filter(|(path, _)| fits(path)).collect()
    }

    /// Those, changed.
    fn changed(
        &self,
        choices: &mut Choices,
        fits: fn(&Path) -> bool,
    ) -> Vec<(&Path, Cow<'_, [u8]>)> {
        let (paths, files): (Vec<_>, Vec<_>) = self.fitting(fits).into_iter().unzip();
        paths.into_iter().zip(change(&files, choices)).collect()
    }

    /// One of them, changed.
    fn one_changed(
        &self,
        choices: &mut Choices,
        fits: fn(&Path) -> bool,
    ) -> (&Path, Cow<'_, [u8]>) {
        let (path, file) = *choices.of(&self.fitting(fits));
        (path, change(&[file], choices).remove(0))
    }
}

fn is_descriptor(path: &Path) -> bool {
    // enc/ck.<rank>.redset
    path.to_string_lossy().matches('.').count() == 2 && is_of_set(path)
}

fn is_of_set(path: &Path) -> bool {
    path.starts_with("enc")
}

fn is_header(path: &Path) -> bool {
    is_of_set(path) && !is_descriptor(path)
}

fn is_gathered(path: &Path) -> bool {
    path.to_string_lossy().starts_with("gather")
}

pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// Upstream's sets, and some of ours, which have checksums.
static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(|| {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("c_tests/golden");
    let mut directories: Vec<_> = fs::read_dir(golden)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    directories.retain(|path| path.join("enc").is_dir());
    directories.sort();
    let mut seeds: Vec<_> = directories.iter().map(|path| Seed::of(path)).collect();
    let schemes = [
        (3, Scheme::Copies { replicas: 1 }),
        (3, Scheme::Xor),
        (4, Scheme::ReedSolomon { k: 2 }),
    ];
    seeds.extend(schemes.map(|(ranks, scheme)| applied(ranks, scheme)));
    seeds
});

/// A set that this library protects.
fn applied(ranks: usize, scheme: Scheme) -> Seed {
    clear_set();
    local::run(ranks, |comm| {
        let rank = comm.rank();
        let file = PathBuf::from(format!("data/r{rank}_f0.bin"));
        fs::write(&file, vec![rank as u8; 100 + 40 * rank]).unwrap();
        let set = redset::create(&comm, scheme, Some(rank.to_string().as_bytes()), ranks).unwrap();
        set.apply(&[file], OsStr::new(NAME)).unwrap();
    });
    let seed = Seed::of(Path::new("."));
    assert_eq!(seed.ranks, ranks);
    seed
}

fn clear(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap().is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }
}

/// Empties the current directory, which is of this program alone, but for the directories of a set.
fn clear_set() {
    clear(Path::new("."));
    fs::create_dir_all("data").unwrap();
    fs::create_dir_all("enc").unwrap();
}

/// Which of the files of a set are gone: some or all kinds of those of one rank.
struct Loss {
    rank: String,
    kinds: [bool; 3],
}

impl Loss {
    fn choose(choices: &mut Choices, ranks: usize) -> Loss {
        let happens = choices.flag();
        let (rank, kinds) = (choices.below(ranks), 1 + choices.below(7));
        Loss {
            rank: rank.to_string(),
            kinds: [1, 2, 4].map(|kind| happens && kinds & kind != 0),
        }
    }

    /// Names are `data/r<rank>_...` and `enc/ck.<rank>....`.
    fn takes(&self, path: &Path) -> bool {
        let kind = match is_of_set(path) {
            false => 0,
            true => 1 + usize::from(is_descriptor(path)),
        };
        let name = path.to_string_lossy();
        let of_rank = ["data/r", NAME].iter().any(|start| {
            let rank = name
                .strip_prefix(start)
                .and_then(|rest| rest.strip_prefix(&*self.rank));
            rank.is_some_and(|rest| rest.starts_with(['_', '.']))
        });
        self.kinds[kind] && of_rank
    }
}

/// Brings a set into the current directory: changed, and without some files.
fn bring(choices: &mut Choices, fits: fn(&Path) -> bool) -> (&'static Seed, usize) {
    let seed = choices.of(&SEEDS);
    let loss = Loss::choose(choices, seed.ranks);
    clear_set();
    let others = seed
        .trees
        .iter()
        .filter(|(path, _)| is_of_set(path) && !fits(path));
    let others = others.map(|(path, file)| (&**path, Cow::Borrowed(file.bytes())));
    let data = seed
        .data
        .iter()
        .map(|(path, bytes)| (&**path, Cow::Borrowed(&bytes[..])));
    let mut length = 0;
    for (path, bytes) in seed
        .changed(choices, fits)
        .into_iter()
        .chain(others)
        .chain(data)
    {
        if !loss.takes(path) {
            length += bytes.len();
            fs::write(path, bytes).unwrap();
        }
    }
    (seed, length)
}

fn found() -> Vec<SetFiles> {
    rebuild::applied(OsStr::new(NAME)).unwrap_or_default().sets
}

/// One header alone.
pub fn redset_header(input: &[u8]) {
    let mut choices = Choices(input);
    let seed = choices.of(&SEEDS);
    let (path, bytes) = seed.one_changed(&mut choices, is_header);
    let file = PathBuf::from(path.file_name().unwrap());
    fs::write(&file, &bytes).unwrap();
    bounded(bytes.len(), || {
        for kind in [
            rebuild::SchemeKind::Partner,
            rebuild::SchemeKind::Xor,
            rebuild::SchemeKind::ReedSolomon,
        ] {
            let _ = rebuild::contents(kind, std::slice::from_ref(&file));
        }
    });
    fs::remove_file(file).unwrap();
}

/// Whatever in a descriptor file might be a descriptor.
pub fn redset_descriptor(input: &[u8]) {
    let mut choices = Choices(input);
    let seed = choices.of(&SEEDS);
    let (_, bytes) = seed.one_changed(&mut choices, is_descriptor);
    let mut tree = Tree::new();
    if stanchion::kvtree::pack::unpack_into(
        &bytes[20..],
        tree.edit(),
        stanchion::kvtree::pack::Order::AsPacked,
    )
    .is_err()
    {
        return;
    }
    bounded(bytes.len(), || {
        for entry in tree
            .view()
            .iter()
            .filter_map(|entry| entry.tree()?.get(c"DESC"))
        {
            if let Ok(descriptor) = Descriptor::from_tree(entry) {
                let again = descriptor.to_tree();
                assert_eq!(Descriptor::from_tree(again.view()).ok(), Some(descriptor));
            }
        }
    });
}

/// What `stanchion verify` does.
pub fn redset_offline_verify(input: &[u8]) {
    let (_, length) = bring(&mut Choices(input), is_header);
    bounded(length, || {
        for set in found() {
            let _ = rebuild::verify(&set, OsStr::new(NAME));
        }
    });
}

/// What `stanchion rebuild` does, with a map that keeps it inside of the directory.
pub fn redset_offline_rebuild(input: &[u8]) {
    let (seed, length) = bring(&mut Choices(input), is_header);
    let mut map = Tree::new();
    for (path, _) in &seed.data {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        map.edit().set_str(&path, &path);
    }
    bounded(length, || {
        for set in found() {
            if let Some(kind) = set.kind {
                let _ = rebuild::rebuild(kind, &set.files, OsStr::new(NAME), Some(map.view()));
            }
        }
    });
}

/// # Panics
/// If some ranks were told that all went well, and others that it did not.
pub fn same_verdict<E: Debug>(verdicts: &[Result<(), E>]) {
    let well = verdicts.iter().filter(|verdict| verdict.is_ok()).count();
    assert!(well == 0 || well == verdicts.len(), "{verdicts:?}");
}

/// All ranks of a job; they must come to one verdict.
fn job(input: &[u8], call: fn(&local::LocalComm) -> redset::Result<()>) {
    let (seed, length) = bring(&mut Choices(input), is_of_set);
    same_verdict(&bounded(length, || {
        local::run(seed.ranks, |comm| call(&comm))
    }));
}

pub fn redset_recover(input: &[u8]) {
    job(input, |comm| {
        let (_, verdict) = redset::recover(comm, OsStr::new(NAME))?;
        verdict
    });
}

pub fn redset_verify(input: &[u8]) {
    job(input, |comm| {
        let (_, verdict) = redset::verify(comm, OsStr::new(NAME))?;
        verdict
    });
}

/// Maps and data of a gather, by one process and by all ranks.
pub fn gathered(input: &[u8]) {
    let mut choices = Choices(input);
    let seed = choices.of(&SEEDS);
    let files = seed.changed(&mut choices, is_gathered);
    if files.is_empty() {
        return;
    }
    let ranks = seed.ranks.max(1) + usize::from(choices.below(4) == 0);
    let mut length = 0;
    for (path, bytes) in &files {
        length += bytes.len();
        fs::write(path, bytes).unwrap();
    }
    let prefix = Path::new("gather");
    bounded(length, || {
        let mut tree = Tree::new();
        let _ = gather::read_scatter_single(prefix, tree.edit());
        assert!(tree.view().preorder().count() <= length / 5);
        let verdicts = local::run(ranks, |comm| {
            let mut tree = Tree::new();
            gather::read_scatter(&comm, Some(prefix), Some(tree.edit()))
        });
        same_verdict(&verdicts);
    });
    for (path, _) in files {
        fs::remove_file(path).unwrap();
    }
}

/// # Panics
/// If sets that nobody changes cannot be verified and recovered.
pub fn check() {
    for seed in SEEDS.iter() {
        clear_set();
        for (path, file) in &seed.trees {
            assert!(file.packed() == file.bytes());
            fs::write(path, file.bytes()).unwrap();
        }
        for (path, bytes) in &seed.data {
            fs::write(path, bytes).unwrap();
        }
        assert!(!found().is_empty() && seed.ranks > 1);
        for set in found().iter().filter(|set| set.kind.is_some()) {
            rebuild::verify(set, OsStr::new(NAME)).unwrap();
        }
        let recovered = local::run(seed.ranks, |comm| {
            redset::recover(&comm, OsStr::new(NAME)).map(|(_, verdict)| verdict.is_ok())
        });
        assert!(recovered.into_iter().all(|verdict| verdict.unwrap()));
    }
}
