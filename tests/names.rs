//! One word, one thing: a type name stands once in the crate, so that a reader who has met it knows it everywhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every room has its own.
const OF_EVERY_ROOM: [&str; 3] = ["Error", "Result", "Config"];
const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

#[test]
fn type_names_stand_once() {
    let mut places = BTreeMap::<String, Vec<PathBuf>>::new();
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&file).expect("a source file");
        for name in type_names(&text) {
            places
                .entry(name.to_owned())
                .or_default()
                .push(file.clone());
        }
    }
    assert!(places.len() > 300, "only {} types were found", places.len());
    places.retain(|name, files| files.len() > 1 && !OF_EVERY_ROOM.contains(&&name[..]));
    assert!(places.is_empty(), "types of the same name: {places:#?}");
}

/// Files of tests may call things as they like.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let all = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    let is_test = |path: &PathBuf| {
        let words = path.iter().filter_map(|word| word.to_str());
        let mut words = words.map(|word| word.trim_end_matches(".rs"));
        words.any(|word| word == "tests" || word.ends_with("_tests"))
    };
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|it| it == "rs");
    all.filter(|path| is_rust(path) && !is_test(path)).collect()
}

/// Types outside of test modules. An indented `type` is one of a trait.
fn type_names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next();
    code.unwrap_or(text).lines().filter_map(|line| {
        let declared = line.trim_start();
        let declared = match declared.strip_prefix("pub") {
            Some(rest) => rest.split_once(") ").map_or(rest, |(_, rest)| rest),
            None => declared,
        };
        let declared = declared.trim_start().trim_start_matches("unsafe ");
        let (keyword, rest) = declared.split_once(' ')?;
        if !KEYWORDS.contains(&keyword) || (keyword == "type" && line.starts_with(' ')) {
            return None;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        name.starts_with(char::is_uppercase).then_some(name)
    })
}
