//! The walks through four calls in docs/design.md name files and functions: all of them exist where it says.

use std::fs;
use std::path::Path;

#[test]
fn every_step_of_the_walks_is_where_the_design_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let design = fs::read_to_string(root.join("docs/design.md")).unwrap();
    let (_, walks) = design.split_once("## Four calls, step by step").unwrap();
    let (walks, _) = walks.split_once("\n## ").unwrap();
    let steps = walks.lines().filter(|line| line.starts_with("| "));
    let (mut named, mut wrong) = (0, Vec::new());
    for place in steps.filter_map(|step| step.split('|').nth(2)) {
        let mut source = None;
        for name in place.split('`').skip(1).step_by(2) {
            named += 1;
            if name.ends_with(".rs") || name.ends_with('/') {
                source = fs::read_to_string(root.join("src").join(name)).ok();
                if source.is_none() {
                    wrong.push(format!("src/{name} does not exist"));
                }
            } else if !source.as_ref().is_some_and(|source| defines(source, name)) {
                wrong.push(format!("{name} is not where {place} says"));
            }
        }
    }
    assert!(named > 50, "the walks name {named} things only");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `function`, `Type`, or `Type::function`, whose type may be a trait of another file.
fn defines(source: &str, name: &str) -> bool {
    let (of, item) = name.rsplit_once("::").unwrap_or(("", name));
    let is_whole =
        |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    let has = |word: &str, item: &str| {
        let definition = format!("{word} {item}");
        let mut places = source.match_indices(&definition);
        places.any(|(at, found)| is_whole(&source[at + found.len()..]))
    };
    let is_there = ["fn", "struct", "enum", "trait"]
        .iter()
        .any(|word| has(word, item));
    is_there && (of.is_empty() || source.contains(of))
}
