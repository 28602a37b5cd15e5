//! Files that nobody's gather wrote: names that lead elsewhere, loops, numbers that are none.

use super::*;

/// A map with these entries and no more.
fn map_of(level: i32, ranks: i32, entries: &[(&CStr, &CStr)]) -> Tree {
    let mut map = Tree::new();
    map.edit().set_int(LEVEL, level);
    map.edit().set_int(RANKS, ranks);
    for (number, (name, offset)) in entries.iter().enumerate() {
        let mut entry = map.edit().into_child(RANK).into_child(&rank_text(number));
        entry.set_str(FILE, name);
        entry.set_str(OFFSET, offset);
    }
    map
}

#[test]
fn numbers_are_whole_numbers() {
    for offset in [c"", c"x", c"0x0", c"-0", c"18446744073709551616", c"1 "] {
        let place = Place::new();
        place.write(&samples(1, c"1"), SEGMENT);
        let map = map_of(1, 1, &[(c".0.0", offset)]);
        file::write_file(&place.prefix, map.view()).unwrap();
        place.assert_unreadable(1);
    }
    // As an int of 32 bits the first would be 1.
    let numbers = [c"4294967297", c"1x", c"-1", c""].map(|text| (RANKS, text));
    for (key, text) in numbers.into_iter().chain([(LEVEL, c"1x"), (LEVEL, c"-1")]) {
        let place = Place::new();
        place.write(&samples(1, c"1"), SEGMENT);
        tamper(&place, c"", |map| map.set_str(key, text));
        assert!(place.read_single().is_err(), "{key:?} {text:?}");
    }
}

/// Each map names the next one often: without a limit 50 to the power of 4 reads.
#[test]
fn a_file_is_read_once() {
    let place = Place::new();
    place.write(&samples(1, c"1"), SEGMENT);
    for level in (1..=4).rev() {
        let name = suffix(level - 1, 0, 0);
        let map = map_of(level as i32, 1, &[(&*name, c"0"); 50]);
        let path = match level {
            4 => place.prefix.clone(),
            _ => with_suffix(&place.prefix, &suffix(level, 0, 0)),
        };
        file::write_file(&path, map.view()).unwrap();
    }
    let error = place.read_single().unwrap_err();
    assert!(matches!(error, Error::NamedTwice { .. }), "{error}");
    // Nor does whoever replaces it wander about in it.
    place.write(&samples(1, c"2"), SEGMENT);
    place.assert_holds(&samples(1, c"2"));
}

#[test]
fn a_rank_that_stands_twice_does_not_stand_for_another() {
    let place = Place::new();
    place.write(&samples(2, c"1"), SMALL);
    let copy = fs::read(with_suffix(&place.prefix, c".0.0")).unwrap();
    fs::write(with_suffix(&place.prefix, c".0.1"), copy).unwrap();
    assert!(matches!(place.read_single(), Err(Error::RankCount { .. })));
}

#[test]
fn a_rank_that_stands_twice_in_a_file_fails_on_all() {
    let place = Place::new();
    place.write(&samples(2, c"1"), SEGMENT);
    tamper(&place, c".0.0", |data| {
        data.child(RANK).into_child(c"00").set_int(c"X", 1);
    });
    place.assert_unreadable(2);
}

/// Nothing but the levels ends this.
#[test]
fn a_map_that_leads_to_itself_is_an_error() {
    let place = Place::new();
    file::write_file(&place.prefix, map_of(2, 1, &[(c"", c"0")]).view()).unwrap();
    place.assert_unreadable(1);
}

/// A second message of the same length would wait for the next receive of that rank.
#[test]
fn a_rank_that_stands_twice_with_the_same_data_fails_on_all() {
    let place = Place::new();
    place.write(&samples(2, c"1"), SEGMENT);
    let twin = sample(1, c"1").to_tree();
    tamper(&place, c".0.0", |data| {
        data.child(RANK).set(c"01", Some(twin));
    });
    place.assert_unreadable(2);
}

/// A set that is replaced is removed by the names in its maps, whoever wrote those.
#[test]
fn only_files_of_a_set_are_removed() {
    let place = Place::new();
    let keep = [
        "precious",
        "gather.txt",
        "gather.0.0.bak",
        "gather.0.x",
        "gather.0.7",
        "gather.1.7",
    ];
    for name in keep {
        fs::write(place.dir.path().join(name), "not ours").unwrap();
    }
    // A map may be the top of a set whose prefix looks like a name of this one.
    file::write_file(
        &place.dir.path().join("gather.0.8"),
        map_of(1, 1, &[]).view(),
    )
    .unwrap();
    let lures = [c"/../precious", c".txt", c".0.0.bak", c".0.x"];
    let entries: Vec<_> = lures.iter().map(|name| (&**name, c"0")).collect();
    file::write_file(&place.prefix, map_of(1, 1, &entries).view()).unwrap();
    place.write(&samples(2, c"1"), SEGMENT);
    place.assert_holds(&samples(2, c"1"));
    let names = place.names();
    assert!(
        keep.iter()
            .chain(&["gather.0.8"])
            .all(|name| names.iter().any(|n| n == name))
    );
}

#[test]
fn a_set_that_uses_up_all_names_is_refused() {
    let place = Place::new();
    let names: Vec<_> = (0..=255).map(|zeros| suffix(0, 1, zeros)).collect();
    let entries: Vec<_> = names.iter().map(|name| (&**name, c"0")).collect();
    file::write_file(&place.prefix, map_of(1, 1, &entries).view()).unwrap();
    let ended = run(2, |comm| {
        let tree = Tree::new();
        write_gather(&comm, Some(&place.prefix), Some(tree.view()))
    });
    assert!(ended.iter().all(Result::is_err));
}
