//! Files of different sets under one prefix: names come back, generations do not.

use super::*;

/// What is under the prefix now, by name.
fn saved(place: &Place) -> Vec<(String, Vec<u8>)> {
    let content = |name: String| {
        let bytes = fs::read(place.dir.path().join(&name)).unwrap();
        (name, bytes)
    };
    place.names().into_iter().map(content).collect()
}

/// The write after next has the names of this one.
fn write_twice(place: &Place, ranks: usize, segment: u64) {
    place.write(&samples(ranks, c"2"), segment);
    place.write(&samples(ranks, c"3"), segment);
}

/// Writes the set of every file without its generation, as upstream and version 0.1.0 do.
fn forget_generations(place: &Place) {
    for name in place.names() {
        let path = place.dir.path().join(name);
        let mut content = Tree::new();
        file::read_file(&path, content.edit()).unwrap();
        content.edit().unset(GENERATION);
        file::write_file(&path, content.view()).unwrap();
    }
}

fn assert_every_old_file_is_refused(place: &Place, old: &[(String, Vec<u8>)], ranks: usize) {
    for (name, bytes) in old {
        let path = place.dir.path().join(name);
        let new = fs::read(&path).expect("a name that came back");
        fs::write(&path, bytes).unwrap();
        let text = place.read_single().unwrap_err().to_string();
        assert!(text.contains("of another set"), "{name}: {text}");
        assert!(place.read(ranks).iter().all(Result::is_err), "{name}");
        fs::write(&path, new).unwrap();
    }
    place.assert_holds(&samples(ranks, c"3"));
}

#[test]
fn a_file_of_an_earlier_set_is_refused() {
    for (ranks, segment) in [(2, SEGMENT), (3, SMALL), (9, SMALL)] {
        let place = Place::new();
        place.write(&samples(ranks, c"1"), segment);
        let old = saved(&place);
        write_twice(&place, ranks, segment);
        assert_every_old_file_is_refused(&place, &old, ranks);
    }
}

#[test]
fn a_file_of_an_earlier_set_without_a_generation_is_refused() {
    for (ranks, segment) in [(2, SEGMENT), (9, SMALL)] {
        let place = Place::new();
        place.write(&samples(ranks, c"1"), segment);
        forget_generations(&place);
        place.assert_holds(&samples(ranks, c"1"));
        let old = saved(&place);
        write_twice(&place, ranks, segment);
        assert_every_old_file_is_refused(&place, &old, ranks);
    }
}

/// The user removes a set and writes another: it has the names of the first.
#[test]
fn sets_that_could_not_know_of_each_other_differ() {
    let place = Place::new();
    place.write(&samples(4, c"1"), SMALL);
    let old = saved(&place);
    for (name, _) in &old {
        fs::remove_file(place.dir.path().join(name)).unwrap();
    }
    place.write(&samples(4, c"3"), SMALL);
    assert_every_old_file_is_refused(&place, &old, 4);
}

#[test]
fn one_process_writes_a_generation_too() {
    let place = Place::new();
    let write = |version: &CStr| {
        let mut all = Tree::new();
        for (rank, model) in samples(3, version).iter().enumerate() {
            all.edit().set(&rank_text(rank), Some(model.to_tree()));
        }
        write_to_gather(&place.prefix, &mut all.edit(), 3).unwrap();
    };
    write(c"1");
    let old = saved(&place);
    write(c"2");
    write(c"3");
    assert_every_old_file_is_refused(&place, &old, 3);
}

#[test]
fn what_is_no_generation_is_an_error() {
    let place = Place::new();
    place.write(&samples(2, c"1"), SEGMENT);
    for name in [c"", c".0.0"] {
        tamper(&place, name, |file| file.set_str(GENERATION, c"new"));
        place.assert_unreadable(2);
    }
}

/// Files without generations, as upstream leaves them: two of them have data of rank 1.
#[test]
fn a_rank_in_two_files_fails_on_all() {
    let place = Place::new();
    place.write(&samples(3, c"1"), SMALL);
    forget_generations(&place);
    let copy = sample(1, c"2").to_tree();
    tamper(&place, c".0.2", |data| {
        data.child(RANK).set(c"1", Some(copy));
    });
    place.assert_unreadable(3);
}
