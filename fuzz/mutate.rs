//! Inputs: bytes changed at random, and trees changed where it hurts, with a right checksum.

use std::borrow::Cow;

/// A generator of numbers that is the same everywhere (splitmix64).
pub struct Random(u64);

impl Random {
    /// Of one input of one target.
    pub fn of(seed: u64, target: usize, input: u64) -> Random {
        let mut random = Random(seed ^ ((target as u64) << 56));
        random.0 = random.next() ^ input;
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// One to four changes.
    pub fn change(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            self.change_once(bytes);
        }
    }

    fn change_once(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let end = (at + 1 + self.below(40)).min(bytes.len());
        match self.below(7) {
            _ if bytes.is_empty() => *bytes = self.bytes(8),
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.next() as u8,
            2 => {
                let number = [0, 1, u32::MAX, 0x7fff_ffff, 100_000][self.below(5)].to_be_bytes();
                let count = (bytes.len() - at).min(4);
                bytes[at..at + count].copy_from_slice(&number[..count]);
            }
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let new = self.bytes(end - at);
                bytes.splice(at..at, new);
            }
            _ => {
                let copy = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, copy);
            }
        }
    }
}

/// Decisions taken from the bytes of an input; when they have run out, all are the first.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn below(&mut self, count: usize) -> usize {
        let (now, rest) = self.0.split_at(self.0.len().min(2));
        self.0 = rest;
        now.iter()
            .fold(0, |number, byte| number << 8 | usize::from(*byte))
            % count.max(1)
    }

    pub fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    pub fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

// ---- trees ----

/// A key and what is below it.
#[derive(Clone, PartialEq)]
pub struct Node {
    pub key: Vec<u8>,
    pub below: Vec<Node>,
}

const HEADER: usize = 20;
const CRC: usize = 4;
const SIZE: std::ops::Range<usize> = 8..16;

/// A file that begins with a tree, taken apart.
#[derive(Clone)]
pub struct TreeFile {
    bytes: Vec<u8>,
    tree: Vec<Node>,
    /// Where the bytes behind the tree begin.
    data: usize,
}

impl TreeFile {
    /// # Panics
    /// If the file is not a good one.
    pub fn of(bytes: &[u8]) -> TreeFile {
        let size = u64::from_be_bytes(bytes[SIZE].try_into().unwrap()) as usize;
        TreeFile {
            bytes: bytes.to_vec(),
            tree: nodes(&mut &bytes[HEADER..size]),
            data: size,
        }
    }

    /// As the file was.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// With sizes and checksum as they must be.
    pub fn packed(&self) -> Vec<u8> {
        let mut bytes = self.bytes[..HEADER].to_vec();
        pack(&self.tree, &mut bytes);
        seal(&mut bytes);
        bytes.extend(&self.bytes[self.data..]);
        bytes
    }
}

fn nodes(bytes: &mut &[u8]) -> Vec<Node> {
    let (count, rest) = bytes.split_at(4);
    *bytes = rest;
    let count = u32::from_be_bytes(count.try_into().unwrap());
    let one = |_| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap();
        let key = bytes[..end].to_vec();
        *bytes = &bytes[end + 1..];
        Node {
            key,
            below: nodes(bytes),
        }
    };
    (0..count).map(one).collect()
}

fn pack(list: &[Node], bytes: &mut Vec<u8>) {
    bytes.extend((list.len() as u32).to_be_bytes());
    for node in list {
        bytes.extend(&node.key);
        bytes.push(0);
        pack(&node.below, bytes);
    }
}

/// Appends the checksum of a packed tree behind its header, and sets its size.
pub fn seal(bytes: &mut Vec<u8>) {
    let size = (bytes.len() + CRC) as u64;
    bytes[SIZE].copy_from_slice(&size.to_be_bytes());
    let crc = crc32fast::hash(bytes);
    bytes.extend(crc.to_be_bytes());
}

/// Numbers that are just too large, or much too large, for something.
const NUMBERS: [&str; 18] = [
    "0",
    "1",
    "2",
    "3",
    "255",
    "256",
    "20000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "-1",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551612",
    "99999999999999999999999",
];
const WORDS: [&str; 10] = [
    "SINGLE", "PARTNER", "XOR", "RS", "REPLICAS", "CKSUM", "CRC32", "", "x", "RANK",
];

/// Changes one or two things in some of the files, or the same thing in all, and returns the bytes of each. Paths stay as
/// they are: targets write.
pub fn change<'a>(files: &[&'a TreeFile], choices: &mut Choices) -> Vec<Cow<'a, [u8]>> {
    let mut files: Vec<_> = files.iter().map(|file| Cow::Borrowed(*file)).collect();
    for _ in 0..=choices.below(2) {
        if choices.below(3) == 0 {
            everywhere(&mut files, choices);
        } else if !files.is_empty() {
            let index = choices.below(files.len());
            once(&mut files[index].to_mut().tree, choices);
        }
    }
    let bytes = files.into_iter().map(|file| match file {
        Cow::Borrowed(untouched) => Cow::Borrowed(untouched.bytes()),
        Cow::Owned(changed) => Cow::Owned(changed.packed()),
    });
    bytes.collect()
}

/// All nodes, parents first.
fn all(list: &[Node]) -> Vec<&Node> {
    fn gather<'a>(list: &'a [Node], nodes: &mut Vec<&'a Node>) {
        for node in list {
            nodes.push(node);
            gather(&node.below, nodes);
        }
    }
    let mut nodes = Vec::new();
    gather(list, &mut nodes);
    nodes
}

/// Calls `act` with every node, parents first.
fn each(list: &mut [Node], act: &mut dyn FnMut(&mut Node)) {
    for node in list {
        act(node);
        each(&mut node.below, act);
    }
}

fn is_path(key: &[u8]) -> bool {
    key.iter().any(|byte| b"/.".contains(byte))
}

/// Gives all values of one key the same new value.
fn everywhere(files: &mut [Cow<TreeFile>], choices: &mut Choices) {
    let value = new_key(choices, &[]);
    let nodes = files.iter().flat_map(|file| all(&file.tree));
    let mut names: Vec<_> = nodes
        .filter(|node| matches!(&node.below[..], [only] if only.below.is_empty()))
        .map(|node| &node.key)
        .collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let name = choices.of(&names).to_vec();
    for file in files {
        each(&mut file.to_mut().tree, &mut |node| {
            if node.key == name && node.below.len() == 1 && !is_path(&node.below[0].key) {
                node.below[0].key = value.clone();
            }
        });
    }
}

fn new_key(choices: &mut Choices, others: &[&Node]) -> Vec<u8> {
    match choices.below(4) {
        0 => choices.of(&WORDS).as_bytes().to_vec(),
        1 if !others.is_empty() => choices.of(others).key.clone(),
        _ => choices.of(&NUMBERS).as_bytes().to_vec(),
    }
}

/// Changes one node: its key, its children or the one after it.
fn once(tree: &mut [Node], choices: &mut Choices) {
    let others = all(tree);
    if others.is_empty() {
        return;
    }
    let (at, what) = (choices.below(others.len()), choices.below(6));
    let (key, other) = (new_key(choices, &others), choices.of(&others));
    let other = Node::clone(other);
    let child = choices.below(8);
    let mut number = 0;
    each(tree, &mut |node| {
        if number == at {
            match what {
                0 | 1 if !is_path(&node.key) => node.key = key.clone(),
                2 if child < node.below.len() => drop(node.below.remove(child)),
                3 if child < node.below.len() => node.below.push(node.below[child].clone()),
                4 => node.below = other.below.clone(),
                _ => node.below.push(other.clone()),
            }
        }
        number += 1;
    });
}
