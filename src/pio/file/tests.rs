use super::super::format::tests::fake::{self, Disk, EINDEFINE, ENOTVAR, FAULT, FakeFile};
use super::super::{Hyperslabs, IoPlacement, Kind, Rearranger};
use super::*;
use crate::comm::local::{LocalComm, run};

/// Numbers of ranks and of I/O tasks, the stride and the first of them, and whether the library is parallel.
const SYSTEMS: [(usize, i64, i64, i64, bool); 8] = [
    (1, 1, 1, 0, true),
    (1, 1, 1, 0, false),
    (3, 1, 1, 2, true),
    (4, 2, 2, 1, true),
    (4, 2, 2, 1, false),
    (5, 3, 1, 4, true),
    (5, 3, 1, 4, false),
    (5, 5, 1, 0, true),
];

fn system(comm: LocalComm, tasks: i64, stride: i64, base: i64) -> Arc<IoSystem<LocalComm>> {
    let placement = IoPlacement {
        tasks,
        stride,
        base,
    };
    Arc::new(IoSystem::new(&comm, placement, Rearranger::Box).unwrap())
}

/// On all ranks of all systems, with a new file.
fn on_all(test: impl Fn(File<LocalComm>) + Sync) {
    for (ranks, tasks, stride, base, parallel) in SYSTEMS {
        let disk = Disk::default();
        run(ranks, |comm| {
            let system = system(comm, tasks, stride, base);
            test(fake::file(&system, parallel, |t| {
                FakeFile::create(&disk, t)
            }));
        });
    }
}

/// Two variables, `xy` of 2 by 3 and `tx` of records of 2.
fn define(file: &mut File<LocalComm>) -> (i32, i32) {
    let t = file.ask(|f| f.def_dim(c"t", None)).unwrap();
    let x = file.ask(|f| f.def_dim(c"x", Some(2))).unwrap();
    let y = file.ask(|f| f.def_dim(c"y", Some(3))).unwrap();
    let xy = file.ask(|f| f.def_var(c"xy", Kind::Int, &[x, y])).unwrap();
    let tx = file
        .ask(|f| f.def_var(c"tx", Kind::Short, &[t, x]))
        .unwrap();
    file.enddef().unwrap();
    (xy, tx)
}

fn region(start: &[u64], count: &[u64]) -> Hyperslabs {
    let mut regions = Hyperslabs::new(start.len());
    regions.push(start, count);
    regions
}

fn bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

#[test]
fn answers_reach_all_ranks() {
    on_all(|mut file| {
        let (xy, tx) = define(&mut file);
        assert_eq!((xy, tx), (0, 1));
        let dim = file.ask(|f| f.dim(2)).unwrap();
        assert_eq!((dim.0.as_c_str(), dim.1), (c"y", 3));
        let counts = file.ask(|f| f.counts()).unwrap();
        assert_eq!((counts.dims, counts.vars, counts.unlimited), (3, 2, 0));
        let var = file.ask(|f| f.var(1)).unwrap();
        assert_eq!((var.kind, var.dims), (Kind::Short, vec![0, 1]));
        // The longest that travels with the agreement, and one byte more.
        for length in [0, 1, 8, 15, 16, 17, 1000] {
            let ones = vec![0xFF_u8; length];
            assert_eq!(file.ask(|_| Ok(ones.clone())).unwrap(), ones);
        }
        assert_eq!(file.ask(|_| Ok(u64::MAX)).unwrap(), u64::MAX);
        file.close().unwrap();
    });
}

#[test]
fn descriptions_are_asked_for_once() {
    on_all(|mut file| {
        let (xy, tx) = define(&mut file);
        let all = file.describe(&[xy, tx, xy]).unwrap();
        assert_eq!(all[0].dims, [2, 3]);
        assert!(!all[0].records && all[1].records);
        assert_eq!(all[0], all[2]);
        // No message is needed for what is known: one rank alone may ask.
        if file.system.comm.rank() == 0 {
            file.describe(&[tx]).unwrap();
        }
        assert_eq!(file.describe(&[xy, 7]).unwrap_err().code(), ENOTVAR);
        file.redef().unwrap();
        let fill = 9_i32.to_ne_bytes();
        file.ask(|f| f.def_var_fill(0, true, Some(&fill))).unwrap();
        file.enddef().unwrap();
        assert_eq!(file.describe(&[xy]).unwrap()[0].fill_as(Kind::Byte), [9]);
        file.close().unwrap();
    });
}

#[test]
fn plain_variables_are_put_and_got() {
    on_all(|mut file| {
        let (xy, tx) = define(&mut file);
        let all = region(&[0, 0], &[2, 3]);
        let data = bytes(&[1, 2, 3, 4, 5, 6]);
        file.put(xy, Kind::Int, &all, &data).unwrap();
        file.put(tx, Kind::Int, &region(&[4, 1], &[1, 1]), &bytes(&[7]))
            .unwrap();
        let mut got = [0; 24];
        file.get(xy, Kind::Int, &all, &mut got).unwrap();
        assert_eq!(got[..], data);
        let mut corners = region(&[0, 2], &[1, 1]);
        corners.push(&[1, 0], &[1, 2]);
        let mut got = [0; 16];
        file.get(xy, Kind::Int, &corners, &mut got).unwrap();
        assert_eq!(got[..], bytes(&[3, 4, 5, 0]));
        let mut record = [0; 4];
        file.get(tx, Kind::Short, &region(&[4, 0], &[1, 2]), &mut record)
            .unwrap();
        assert_eq!(record[2..], 7_i16.to_ne_bytes());
        file.close().unwrap();
    });
}

#[test]
fn one_bad_rank_is_everybodys_error() {
    on_all(|mut file| {
        let (xy, _) = define(&mut file);
        let last = file.system.comm.size() - 1;
        let length = if file.system.comm.rank() == last {
            23
        } else {
            24
        };
        let all = region(&[0, 0], &[2, 3]);
        let put = file.put(xy, Kind::Int, &all, &vec![0; length]);
        assert_eq!(put.unwrap_err().code(), -36);
        let got = file.get(xy, Kind::Int, &all, &mut vec![0; length]);
        assert_eq!(got.unwrap_err().code(), -36);
        file.forbid_writing();
        let put = file.put(xy, Kind::Int, &all, &[0; 24]);
        assert_eq!(put.unwrap_err().code(), -37);
        file.close().unwrap();
    });
}

#[test]
fn frames_advance_from_none() {
    on_all(|mut file| {
        assert_eq!(file.frame(3), -1);
        file.advance_frame(3);
        assert_eq!(file.frame(3), 0);
        file.set_frame(3, 8);
        file.advance_frame(3);
        assert_eq!((file.frame(3), file.frame(2)), (9, -1));
        file.set_frame(3, i32::MAX);
        file.advance_frame(3);
        assert_eq!(file.frame(3), i32::MAX);
        file.close().unwrap();
    });
}

#[test]
fn a_failing_call_fails_on_all_ranks() {
    // Creation, put, sync, get, close: as many calls as that needs.
    for failing in 1..=30 {
        for (ranks, tasks, stride, base, parallel) in SYSTEMS {
            let disk = Disk::default();
            let codes = run(ranks, |comm| {
                let system = system(comm, tasks, stride, base);
                let last = if parallel { tasks as usize - 1 } else { 0 };
                let faulty = system.io_rank() == Some(last);
                let mut file = fake::file(&system, parallel, |tasks| {
                    let mut memory = FakeFile::create(&disk, tasks);
                    memory.failing = faulty.then_some(failing);
                    memory
                });
                let all = region(&[0], &[4]);
                let ended = [
                    file.ask(|f| f.def_dim(c"x", Some(4))).map(drop),
                    file.ask(|f| f.def_var(c"v", Kind::Int, &[0])).map(drop),
                    file.enddef(),
                    file.describe(&[0]).map(drop),
                    file.put(0, Kind::Int, &all, &[1; 16]),
                    file.sync(),
                    file.get(0, Kind::Int, &all, &mut [0; 16]),
                    file.redef(),
                    file.close(),
                ];
                ended.map(|end| end.map_or_else(|error| error.code(), |()| 0))
            });
            assert!(codes.iter().all(|other| *other == codes[0]));
            assert_eq!(
                codes[0].contains(&FAULT),
                failing <= 12,
                "{failing} {codes:?}"
            );
        }
    }
}

#[test]
fn a_file_that_is_not_open_everywhere_is_closed() {
    for parallel in [false, true] {
        let codes = run(4, |comm| {
            let system = system(comm, 2, 2, 0);
            let disk = Disk::default();
            let opened: Result<Option<Box<dyn Format>>> = match system.io_rank() {
                Some(0) => Ok(Some(Box::new(FakeFile::create(&disk, None)))),
                Some(_) => Err(Error::IoType(9)),
                None => Ok(None),
            };
            File::new(system, opened, parallel).err().map(|e| e.code())
        });
        assert_eq!(codes, [Some(-500); 4]);
    }
}

#[test]
fn data_cannot_be_written_while_defining() {
    on_all(|mut file| {
        let (xy, _) = define(&mut file);
        file.redef().unwrap();
        let put = file.put(xy, Kind::Int, &region(&[0, 0], &[1, 1]), &[0; 4]);
        assert_eq!(put.unwrap_err().code(), EINDEFINE);
        assert_eq!(file.sync().unwrap_err().code(), EINDEFINE);
        file.close().unwrap();
    });
}
