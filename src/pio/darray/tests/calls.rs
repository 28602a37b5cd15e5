//! Single calls: what they do and what they refuse.

use super::super::super::error::{EINVAL, EINVALCOORDS, EPERM, EVARDIMMISMATCH};
use super::super::super::format::tests::fake::ENOTVAR;
use super::*;

const ERANGE: i32 = -60;

/// Two I/O tasks of four ranks; a variable without records and one with.
pub(super) fn setting(parallel: bool, pattern: Pattern) -> Setting {
    let var = |kind, records| Var {
        kind,
        records,
        fill: 105,
    };
    let shape = |rearranger| Shape {
        kind: Kind::Int,
        pattern,
        rearranger,
    };
    Setting {
        ranks: 4,
        placement: IoPlacement {
            tasks: 2,
            stride: 2,
            base: 1,
        },
        parallel,
        limit: u64::MAX,
        dims: vec![3, 4],
        vars: vec![
            var(Kind::Int, Records::None),
            var(Kind::Byte, Records::Unlimited),
        ],
        decomps: vec![shape(Rearranger::Box), shape(Rearranger::Subset)],
    }
}

struct Rank {
    rank: usize,
    system: Arc<IoSystem<LocalComm>>,
    file: File<LocalComm>,
    decomps: Vec<Arc<Decomp>>,
}

impl Rank {
    /// A version of what this rank holds.
    fn array(&self, setting: &Setting, version: u64) -> Vec<u8> {
        array(&setting.map(0, self.rank), Kind::Int, version)
    }

    fn decomp(&self, kind: Kind, dims: &[u64], map: &[i64], read_only: bool) -> Arc<Decomp> {
        let spec = DecompSpec {
            read_only,
            strict: true,
            ..DecompSpec::new(kind, dims.to_vec(), Rearranger::Subset)
        };
        Arc::new(Decomp::new(&self.system, &spec, map).unwrap())
    }
}

/// On all ranks, with a serial and with a parallel library.
fn on_all(pattern: Pattern, test: impl Fn(Rank, &Setting) + Sync) {
    for parallel in [false, true] {
        let setting = setting(parallel, pattern);
        let disk = Disk::default();
        run(setting.ranks, |comm| {
            let rank = comm.rank();
            let system = setting.system(comm);
            let decomps = setting.decomps(&system);
            let mut file = setting.create(&system, &disk);
            setting.define(&mut file).unwrap();
            let rank = Rank {
                rank,
                system,
                file,
                decomps,
            };
            test(rank, &setting);
        });
    }
}

#[test]
fn an_array_that_is_too_short_on_one_rank_fails_on_all() {
    on_all(Pattern::Blocks, |mut own, setting| {
        let mut array = own.array(setting, 1);
        array.truncate(array.len() - usize::from(own.rank == 3));
        for decomp in &own.decomps {
            let ended = write(&mut own.file, 0, decomp, &array, None);
            assert_eq!(code(&ended), EINVAL);
            assert!(own.file.buffer.is_empty());
            let ended = read(&mut own.file, 0, decomp, &mut array);
            assert_eq!(code(&ended), EINVAL);
        }
        own.file.close().unwrap();
    });
}

#[test]
fn wrong_calls_are_refused_on_all_ranks() {
    on_all(Pattern::Blocks, |mut own, setting| {
        let array = own.array(setting, 1);
        let flat = own.decomp(Kind::Int, &[12], &setting.map(0, own.rank), false);
        let file = &mut own.file;
        let mut room = array.clone();
        assert_eq!(
            code(&write(file, 7, &own.decomps[0], &array, None)),
            ENOTVAR
        );
        assert_eq!(code(&read(file, 7, &own.decomps[0], &mut room)), ENOTVAR);
        assert_eq!(code(&write(file, 0, &flat, &array, None)), EVARDIMMISMATCH);
        assert_eq!(code(&read(file, 0, &flat, &mut room)), EVARDIMMISMATCH);
        let no_frame = write(file, 1, &own.decomps[0], &array, None);
        assert_eq!(code(&no_frame), EINVALCOORDS);
        let short_fill = write(file, 0, &own.decomps[0], &array, Some(&[1]));
        assert_eq!(code(&short_fill), EINVAL);
        let vars = [0, 0];
        let too_few = write_multi(file, &vars, &own.decomps[0], &array, None, None, true);
        assert_eq!(code(&too_few), EINVAL);
        let frames = Some(&[0][..]);
        let twice = array.repeat(2);
        let too_few = write_multi(file, &vars, &own.decomps[0], &twice, frames, None, true);
        assert_eq!(code(&too_few), EINVAL);
        file.forbid_writing();
        assert_eq!(code(&write(file, 0, &own.decomps[0], &array, None)), EPERM);
        own.file.close().unwrap();
    });
}

#[test]
fn ranks_that_go_to_different_records_are_told_so() {
    on_all(Pattern::Blocks, |mut own, setting| {
        let mut array = own.array(setting, 1);
        own.file.set_frame(0, own.rank as i32);
        write(&mut own.file, 0, &own.decomps[0], &array, None).unwrap();
        own.file.set_frame(1, i32::from(own.rank == 2));
        let ended = write(&mut own.file, 1, &own.decomps[0], &array, None);
        assert_eq!(code(&ended), EINVAL);
        for frame in [0, 1] {
            let frames = Some(&[frame][..]);
            let decomp = &own.decomps[0];
            write_multi(&mut own.file, &[1], decomp, &array, frames, None, true).unwrap();
        }
        let ended = read(&mut own.file, 1, &own.decomps[0], &mut array);
        assert_eq!(code(&ended), EINVAL);
        own.file.close().unwrap();
    });
}

#[test]
fn a_decomposition_for_reading_gives_everybody_everything() {
    on_all(Pattern::Stripes, |mut own, setting| {
        let array = own.array(setting, 3);
        write(&mut own.file, 0, &own.decomps[1], &array, None).unwrap();
        let everything: Vec<i64> = (1..=12).collect();
        let decomp = own.decomp(Kind::Short, &setting.dims, &everything, true);
        let refused = write(&mut own.file, 0, &decomp, &[0; 24], None);
        assert_eq!(code(&refused), EINVAL);
        let expected: Vec<_> = (0..12).map(|element| value_at(3, element)).collect();
        assert_eq!(read_values(&mut own.file, 0, &decomp).unwrap(), expected);
        own.file.close().unwrap();
    });
}

#[test]
fn many_records_are_written_at_once() {
    on_all(Pattern::Blocks, |mut own, setting| {
        let dims = [2, 3, 4];
        let map = &deal(24, 4, Pattern::Stripes)[own.rank];
        let decomp = own.decomp(Kind::Int, &dims, map, false);
        own.file.set_frame(1, 3);
        let two = array(map, Kind::Int, 5);
        write(&mut own.file, 1, &decomp, &two, None).unwrap();
        own.file.set_frame(1, 4);
        write(&mut own.file, 1, &decomp, &two, None).unwrap();
        for (frame, first) in [(3, 0), (4, 0), (5, 12)] {
            own.file.set_frame(1, frame);
            let map = setting.map(0, own.rank);
            let expected = map.iter().map(|e| value_at(5, first + *e as u64 - 1));
            let got = read_values(&mut own.file, 1, &own.decomps[0]).unwrap();
            assert_eq!(got, expected.collect::<Vec<_>>());
        }
        own.file.close().unwrap();
    });
}

#[test]
fn places_without_data_get_the_default_of_the_variable() {
    on_all(Pattern::Gaps, |mut own, setting| {
        own.file.redef().unwrap();
        let file = &mut own.file;
        let real = file
            .ask(|f| f.def_var(c"real", Kind::Float, &[1, 2]))
            .unwrap();
        file.enddef().unwrap();
        let map = setting.map(0, own.rank);
        let everything: Vec<i64> = (1..=12).collect();
        let all = own.decomp(Kind::Float, &setting.dims, &everything, true);
        let double = own.decomp(Kind::Double, &setting.dims, &map, false);
        let values = array(&map, Kind::Double, 1);
        write(&mut own.file, real, &double, &values, None).unwrap();
        let mut got = vec![0; 48];
        read(&mut own.file, real, &all, &mut got).unwrap();
        assert_eq!(got[4..8], Kind::Float.default_fill());
        assert_eq!(got[..4], to_bytes(value_at(1, 0), Kind::Float));
        // A real default is too large for a whole number, whose own default takes its place.
        let whole = own.array(setting, 1);
        write(&mut own.file, real, &own.decomps[0], &whole, None).unwrap();
        read(&mut own.file, real, &all, &mut got).unwrap();
        let default = convert(&Kind::Int.default_fill(), Kind::Int, Kind::Float);
        assert_eq!(got[4..8], default.unwrap());
        own.file.close().unwrap();
    });
}

#[test]
fn another_fill_value_than_the_variables_is_refused_as_ncar_does() {
    on_all(Pattern::Gaps, |mut own, setting| {
        own.file.redef().unwrap();
        let fill = 105_i32.to_ne_bytes();
        let file = &mut own.file;
        file.ask(|f| f.def_var_fill(0, true, Some(&fill))).unwrap();
        file.enddef().unwrap();
        let array = own.array(setting, 1);
        let other = 106_i32.to_ne_bytes();
        let ended = write(&mut own.file, 0, &own.decomps[0], &array, Some(&other));
        let refused = cfg!(feature = "pio_ncar");
        assert_eq!(code(&ended), if refused { EINVAL } else { 0 });
        write(&mut own.file, 0, &own.decomps[0], &array, Some(&fill)).unwrap();
        own.file.close().unwrap();
    });
}

#[test]
fn variables_with_and_without_records_together() {
    on_all(Pattern::Stripes, |mut own, setting| {
        let array = own.array(setting, 1);
        let both = [array.clone(), array].concat();
        let frames = Some(&[0, 0][..]);
        let decomp = &own.decomps[0];
        let ended = write_multi(&mut own.file, &[0, 1], decomp, &both, frames, None, true);
        let refused = cfg!(feature = "pio_ncar");
        assert_eq!(code(&ended), if refused { EVARDIMMISMATCH } else { 0 });
        own.file.close().unwrap();
    });
}

#[test]
fn what_is_written_again_is_kept_once() {
    on_all(Pattern::Stripes, |mut own, setting| {
        for version in 0..5 {
            let array = own.array(setting, version);
            own.file.set_frame(1, version as i32 % 2);
            write(&mut own.file, 0, &own.decomps[0], &array, None).unwrap();
            write(&mut own.file, 1, &own.decomps[0], &array, None).unwrap();
        }
        let kept = own.file.buffer.take();
        let vars: Vec<_> = kept.iter().map(|entry| entry.var).collect();
        assert_eq!(vars, [1, 0, 1]);
        own.file.close().unwrap();
    });
}

#[test]
fn arrays_of_one_record_share_their_regions() {
    on_all(Pattern::Stripes, |mut own, setting| {
        own.file.redef().unwrap();
        let dims = [0, 1, 2];
        let file = &mut own.file;
        let other = file.ask(|f| f.def_var(c"more", Kind::Int, &dims)).unwrap();
        file.enddef().unwrap();
        let array = own.array(setting, 1);
        for var in [1, other] {
            own.file.set_frame(var, 6);
            write(&mut own.file, var, &own.decomps[0], &array, None).unwrap();
        }
        let kept = own.file.buffer.take();
        let regions = kept[0].placed.as_ref().zip(kept[1].placed.as_ref());
        assert!(regions.is_some_and(|(one, other)| Arc::ptr_eq(one, other)));
        own.file.close().unwrap();
    });
}

#[test]
fn the_fullest_rank_decides_when_all_write() {
    on_all(Pattern::Last, |mut own, setting| {
        let each = own.array(setting, 1).len() + size_of::<BufferedArray>();
        if own.rank == 3 {
            own.file.limit_buffer(2 * each as u64);
        }
        for frame in 0..6 {
            own.file.set_frame(1, frame);
            let array = own.array(setting, 1);
            write(&mut own.file, 1, &own.decomps[0], &array, None).unwrap();
            assert_eq!(own.file.buffer.is_empty(), frame % 3 == 2);
        }
        own.file.close().unwrap();
    });
}

#[test]
fn a_decomposition_may_be_gone_before_its_arrays_are_written() {
    on_all(Pattern::Gaps, |mut own, setting| {
        let array = own.array(setting, 2);
        let decomp = own.decomps.remove(0);
        write(&mut own.file, 0, &decomp, &array, None).unwrap();
        drop(decomp);
        own.file.sync().unwrap();
        let got = read_values(&mut own.file, 0, &own.decomps[0]).unwrap();
        let value = |entry: &i64| match entry {
            0 => UNTOUCHED,
            element => value_at(2, *element as u64 - 1),
        };
        let map = setting.map(0, own.rank);
        assert_eq!(got, map.iter().map(value).collect::<Vec<_>>());
        own.file.close().unwrap();
    });
}

#[test]
fn one_variable_that_cannot_be_written_does_not_cost_the_others() {
    on_all(Pattern::Stripes, |mut own, setting| {
        let array = own.array(setting, 1);
        own.file.set_frame(1, 0);
        let large = 300_i32.to_ne_bytes().repeat(array.len() / 4);
        write(&mut own.file, 1, &own.decomps[0], &large, None).unwrap();
        write(&mut own.file, 0, &own.decomps[0], &array, None).unwrap();
        let lost = own.file.sync();
        assert_eq!(code(&lost), ERANGE);
        let text = lost.unwrap_err().to_string();
        assert!(
            text.contains("lost") && text.contains("variables 1"),
            "{text}"
        );
        own.file.sync().unwrap();
        let got = read_values(&mut own.file, 0, &own.decomps[0]).unwrap();
        let map = setting.map(0, own.rank);
        let expected = map.iter().map(|e| value_at(1, *e as u64 - 1));
        assert_eq!(got, expected.collect::<Vec<_>>());
        own.file.close().unwrap();
    });
}

#[test]
fn the_limit_of_the_process_is_returned_when_it_is_set() {
    let old = set_buffer_limit(1 << 30);
    assert_eq!(set_buffer_limit(old), 1 << 30);
    assert_eq!(buffer_limit(), old);
}
