use super::*;
use crate::comm::local::run;
use crate::pio::error::EINVAL;
use crate::storage::{Operation, faults};
use proptest::prelude::*;
use rustix::io::Errno;

/// The words of a text.
fn words(text: &[u8]) -> Words {
    let mut left = std::io::Cursor::new(text.to_vec());
    let fill = move |buffer: &mut [u8]| {
        // Small pieces, so that words are cut.
        let end = buffer.len().min(5);
        Ok(std::io::Read::read(&mut left, &mut buffer[..end]).unwrap_or(0))
    };
    Words::new("text".into(), Box::new(fill))
}

/// The maps in a text, read as rank 0 does.
fn parse(text: &[u8], most: usize) -> Result<(Vec<u64>, Vec<Vec<i64>>)> {
    let mut reader = MapReader::begin(words(text), most)?;
    let mut maps = vec![Vec::new(); reader.ranks];
    for (rank, map) in maps.iter_mut().enumerate() {
        reader.read_map(rank, &mut |piece| {
            map.extend_from_slice(piece);
            Ok(())
        })?;
    }
    Ok((reader.dims, maps))
}

fn written(style: Style, dims: &[u64], maps: &[Vec<i64>]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map");
    let ended = run(maps.len(), |comm| {
        write(&comm, &path, style, dims, &maps[comm.rank()])
    });
    ended.into_iter().for_each(|outcome| outcome.unwrap());
    std::fs::read(&path).unwrap()
}

const NCAR: &str = "version 2001 npes 3 ndims 2 \n3 4 \n0 3\n12 0 1 \n1 0\n\n2 2\n7 5 \n\n";
const SCORPIO: &str =
    "version 2001 npes 3 ndims 2 \n3 4 \n0 3\n12 0 1 \n1 0\n2 2\n7 5 \n\nioid\t517\n";

fn sample() -> Vec<Vec<i64>> {
    vec![vec![12, 0, 1], vec![], vec![7, 5]]
}

#[test]
fn files_are_upstreams() {
    let scorpio = Style::Scorpio { ioid: 517 };
    assert_eq!(written(Style::Ncar, &[3, 4], &sample()), NCAR.as_bytes());
    assert_eq!(written(scorpio, &[3, 4], &sample()), SCORPIO.as_bytes());
}

#[test]
fn both_styles_are_read_by_as_many_ranks_and_by_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map");
    for text in [NCAR, SCORPIO] {
        std::fs::write(&path, text).unwrap();
        for size in [3, 5] {
            let ended = run(size, |comm| read(&comm, &path).unwrap());
            for (rank, got) in ended.into_iter().enumerate() {
                let map = sample().get(rank).cloned().unwrap_or_default();
                let dims = vec![3, 4];
                assert_eq!(got, TextMap { dims, map });
            }
        }
        let ended = run(2, |comm| read(&comm, &path).unwrap_err().code());
        assert_eq!(ended, [EINVAL; 2]);
    }
}

#[test]
fn a_trace_at_the_end_is_ignored() {
    let text = format!("{NCAR}Obtained 2 stack frames.\n./a.out(+0x5d) [0x55]\n");
    assert_eq!(parse(text.as_bytes(), 3).unwrap().1, sample());
}

#[test]
fn what_is_wrong_is_found() {
    let wrong = [
        ("2001", "2000"),
        ("version", "versi0n"),
        ("npes 3", "npes 0"),
        ("npes 3", "npes 4"),
        ("npes 3", "npes -3"),
        ("ndims 2", "ndims 0"),
        ("ndims 2", "ndims 3"),
        ("\n3 4", "\n3 0"),
        ("\n3 4", "\n3 4294967296"),
        ("0 3\n", "1 3\n"),
        ("0 3\n", "0 -3\n"),
        ("0 3\n", "0 4\n"),
        ("0 3\n", "0 99999999999999999999\n"),
        ("12 0", "13 0"),
        ("12 0", "-1 0"),
        ("12 0", "1x2 0"),
        ("12 0", "12.0 0"),
        ("7 5", "7"),
    ];
    for (from, to) in wrong {
        let text = NCAR.replacen(from, to, 1);
        assert!(text != NCAR && parse(text.as_bytes(), 3).is_err(), "{text}");
    }
    assert!(parse(&[b'x'; 1000], 3).is_err());
    assert!(parse(&[0xff; 1000], 3).is_err());
}

#[test]
fn a_cut_file_is_an_error_wherever_it_was_cut() {
    for text in [NCAR, SCORPIO] {
        // All that comes after the last entry of the last rank is for people.
        let end = text.find("7 5 ").unwrap() + 4;
        for length in 0..end {
            assert!(parse(&text.as_bytes()[..length], 3).is_err(), "{length}");
        }
        assert!(parse(&text.as_bytes()[..end], 3).is_ok());
    }
}

#[test]
fn a_cut_file_is_the_same_error_on_all_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map");
    for length in [0, 10, 35, 45, 52, NCAR.find("7 5").unwrap() + 1] {
        std::fs::write(&path, &NCAR[..length]).unwrap();
        let ended = run(4, |comm| read(&comm, &path).unwrap_err().code());
        assert_eq!(ended, [EINVAL; 4]);
    }
    let ended = run(3, |comm| read(&comm, &dir.path().join("none")).unwrap_err());
    assert!(ended.iter().all(|e| e.code() == crate::pio::error::EIO));
}

#[test]
fn long_maps_travel_in_pieces() {
    let length = 2 * PIECE as i64 + 3;
    let maps: Vec<Vec<i64>> = (0..3)
        .map(|r| (0..length).map(|e| (e + r) % 9).collect())
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map");
    let ended = run(3, |comm| {
        write(&comm, &path, Style::Ncar, &[8], &maps[comm.rank()]).unwrap();
        read(&comm, &path).unwrap().map
    });
    assert_eq!(ended, maps);
}

#[test]
fn a_write_that_fails_is_an_error_on_all_ranks_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map");
    std::fs::write(&path, "old").unwrap();
    for operation in [Operation::Create, Operation::Write, Operation::Fsync] {
        let ended = run(3, |comm| {
            let _plan = faults::plan([faults::fail(Errno::NOSPC).of(operation)]);
            write(&comm, &path, Style::Ncar, &[8], &[1, 2]).unwrap_err()
        });
        assert!(ended.iter().all(|e| e.code() == crate::pio::error::EIO));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

fn maps() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<i64>>)> {
    let dims = prop::collection::vec(1..9_u64, 1..5);
    dims.prop_flat_map(|dims| {
        let total = dims.iter().product::<u64>() as i64;
        let map = prop::collection::vec(0..=total, 0..40);
        (Just(dims), prop::collection::vec(map, 1..6))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::cases(256)))]

    #[test]
    fn what_was_written_is_read((dims, maps) in maps(), ioid in any::<i32>()) {
        for style in [Style::Ncar, Style::Scorpio { ioid }] {
            let text = written(style, &dims, &maps);
            prop_assert_eq!(parse(&text, maps.len()).unwrap(), (dims.clone(), maps.clone()));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..200), at in 0..NCAR.len()) {
        let _ = parse(&text, 3);
        let mut changed = NCAR.as_bytes().to_vec();
        changed.splice(at..at, text);
        let _ = parse(&changed, 3);
    }
}
