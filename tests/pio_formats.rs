//! The file libraries behind PIO's `Format`, each with a real file. Not part of a plain `cargo test`:
//! `cargo test --features netcdf,pnetcdf --test pio_formats`, and under mpiexec with a runner:
//! `cargo test --config 'target."cfg(unix)".runner = "mpiexec -n 3"' --features netcdf,pnetcdf --test pio_formats`.
#![cfg(any(feature = "netcdf", feature = "pnetcdf"))]

use std::ffi::CString;
use std::path::Path;

use stanchion::pio::format::{Counts, Format, GLOBAL, Transfer};
use stanchion::pio::{Error, Hyperslabs, Kind};

const CLASSIC: i32 = 0;
const CDF5: i32 = 32;
const WRITABLE: i32 = 1;
const ECHAR: i32 = -56;
const ERANGE: i32 = -60;

/// Of how many tasks this is which; a serial library has one.
#[derive(Clone, Copy)]
struct Task {
    rank: u64,
    size: u64,
}

type Opened = Box<dyn Format>;

fn bytes<T: Copy, const N: usize>(values: &[T], turn: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| turn(*value)).collect()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    bytes(values, f64::to_ne_bytes)
}

fn as_doubles(bytes: &[u8]) -> Vec<f64> {
    let one = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap());
    bytes.chunks(8).map(one).collect()
}

fn as_ints(bytes: &[u8]) -> Vec<i32> {
    let one = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap());
    bytes.chunks(4).map(one).collect()
}

fn region(start: &[u64], count: &[u64]) -> Hyperslabs {
    let mut regions = Hyperslabs::new(start.len());
    regions.push(start, count);
    regions
}

fn code<T>(result: Result<T, Error>) -> i32 {
    result.map_or_else(|error| error.code(), |_| 0)
}

fn write(
    file: &mut Opened,
    var: i32,
    kind: Kind,
    regions: &Hyperslabs,
    mut data: Vec<u8>,
) -> Result<(), Error> {
    file.write(&mut [Transfer {
        var,
        kind,
        regions,
        data: &mut data,
    }])
}

fn metadata(mut file: Opened) {
    let time = file.def_dim(c"time", None).unwrap();
    let column = file.def_dim(c"column", Some(6)).unwrap();
    let field = file
        .def_var(c"field", Kind::Double, &[time, column])
        .unwrap();
    let count = file.def_var(c"count", Kind::Int, &[]).unwrap();
    assert_eq!((time, column, field, count), (0, 1, 0, 1));
    let counts = Counts {
        dims: 2,
        vars: 2,
        attributes: 0,
        unlimited: time,
    };
    assert_eq!(file.counts().unwrap(), counts);
    assert_eq!(file.dim(column).unwrap(), (c"column".into(), 6));
    assert_eq!(file.dim_named(c"time").unwrap(), time);
    let described = file.var(field).unwrap();
    assert_eq!(
        (described.name.as_c_str(), described.kind),
        (c"field", Kind::Double)
    );
    assert_eq!(
        (described.dims, described.attributes),
        (vec![time, column], 0)
    );
    assert!(file.var(count).unwrap().dims.is_empty());
    file.rename_dim(column, c"cell").unwrap();
    file.rename_var(count, c"number").unwrap();
    assert_eq!(file.var_named(c"number").unwrap(), count);
    let missing = file.var_named(c"count").unwrap_err();
    assert_eq!(missing.code(), -49);
    assert!(
        missing.to_string().contains("Variable not found")
            || missing.to_string().contains("not defined"),
        "{missing}"
    );
    assert_eq!(code(file.dim(7)), -46);
    assert_eq!(file.file_format().unwrap(), 1);
    file.enddef().unwrap();
    file.redef().unwrap();
    file.close().unwrap();
}

fn attributes(mut file: Opened) {
    let var = file.def_var(c"v", Kind::Float, &[]).unwrap();
    let text = b"degrees";
    file.put_attribute(var, c"units", Kind::Char, Kind::Char, text)
        .unwrap();
    let described = file.attribute(var, c"units").unwrap();
    assert_eq!((described.kind, described.length), (Kind::Char, 7));
    assert_eq!(file.get_attribute(var, c"units", Kind::Char).unwrap(), text);
    assert_eq!(code(file.get_attribute(var, c"units", Kind::Int)), ECHAR);
    let values = doubles(&[1.5, -2.0, 1e6]);
    let put = |file: &mut Opened, name, stored, memory, values: &[u8]| {
        code(file.put_attribute(GLOBAL, name, stored, memory, values))
    };
    assert_eq!(
        put(&mut file, c"numbers", Kind::Int, Kind::Double, &values),
        0
    );
    assert_eq!(
        put(&mut file, c"numbers", Kind::Int, Kind::Char, text),
        ECHAR
    );
    assert_eq!(
        put(&mut file, c"numbers", Kind::Char, Kind::Double, &values),
        ECHAR
    );
    assert_eq!(
        as_ints(&file.get_attribute(GLOBAL, c"numbers", Kind::Int).unwrap()),
        [1, -2, 1_000_000]
    );
    let back = file
        .get_attribute(GLOBAL, c"numbers", Kind::Double)
        .unwrap();
    assert_eq!(as_doubles(&back), [1.0, -2.0, 1e6]);
    assert_eq!(
        code(file.get_attribute(GLOBAL, c"numbers", Kind::Short)),
        ERANGE
    );
    file.rename_attribute(GLOBAL, c"numbers", c"n").unwrap();
    assert_eq!(file.attribute_at(GLOBAL, 0).unwrap().as_c_str(), c"n");
    assert_eq!(file.attribute_named(GLOBAL, c"n").unwrap(), 0);
    file.delete_attribute(GLOBAL, c"n").unwrap();
    assert_eq!(code(file.attribute(GLOBAL, c"n")), -43);
    assert_eq!(file.var(var).unwrap().attributes, 1);
    file.close().unwrap();
}

const KINDS: [Kind; 10] = [
    Kind::Byte,
    Kind::Short,
    Kind::Int,
    Kind::Float,
    Kind::Double,
    Kind::UnsignedByte,
    Kind::UnsignedShort,
    Kind::UnsignedInt,
    Kind::Int64,
    Kind::UnsignedInt64,
];

/// The numbers of 1.. in a kind.
fn counted(kind: Kind, count: usize) -> Vec<u8> {
    let one = |value: usize| match kind {
        Kind::Float => (value as f32).to_ne_bytes().to_vec(),
        Kind::Double => (value as f64).to_ne_bytes().to_vec(),
        _ => value.to_le_bytes()[..kind.size()].to_vec(),
    };
    (1..=count).flat_map(one).collect()
}

/// Every kind in memory to every kind in the file and back.
fn conversions(mut file: Opened, task: Task) {
    let width = 5;
    let dim = file.def_dim(c"d", Some(width * task.size)).unwrap();
    let mut vars = Vec::new();
    for stored in KINDS {
        for memory in KINDS {
            let name = CString::new(format!("v_{}_{}", stored as i32, memory as i32)).unwrap();
            vars.push((file.def_var(&name, stored, &[dim]).unwrap(), memory));
        }
    }
    let letters = file.def_var(c"letters", Kind::Char, &[dim]).unwrap();
    file.enddef().unwrap();
    let mine = region(&[width * task.rank], &[width]);
    for (var, memory) in &vars {
        let given = counted(*memory, width as usize);
        write(&mut file, *var, *memory, &mine, given.clone()).unwrap();
        for kind in KINDS {
            let mut data = vec![0; width as usize * kind.size()];
            file.read(&mut Transfer::new(*var, kind, &mine, &mut data))
                .unwrap();
            assert_eq!(data, counted(kind, width as usize), "{var} {kind:?}");
        }
    }
    write(&mut file, letters, Kind::Char, &mine, b"abcde".to_vec()).unwrap();
    assert_eq!(
        code(write(&mut file, letters, Kind::Int, &mine, vec![0; 20])),
        ECHAR
    );
    assert_eq!(
        code(write(&mut file, vars[0].0, Kind::Char, &mine, vec![0; 5])),
        ECHAR
    );
    let mut back = [0; 5];
    file.read(&mut Transfer::new(letters, Kind::Char, &mine, &mut back))
        .unwrap();
    assert_eq!(&back, b"abcde");
    assert_eq!(
        code(write(
            &mut file,
            vars[0].0,
            Kind::Double,
            &mine,
            doubles(&[1e9; 5])
        )),
        ERANGE
    );
    assert_eq!(
        code(write(&mut file, vars[0].0, Kind::Double, &mine, vec![])),
        -36
    );
    file.close().unwrap();
}

/// Records grow by what is written, are the same on every task, and are found again after closing.
fn records(mut file: Opened, task: Task, open: impl Fn(i32) -> Opened) {
    let time = file.def_dim(c"time", None).unwrap();
    let x = file.def_dim(c"x", Some(3 * task.size)).unwrap();
    let a = file.def_var(c"a", Kind::Double, &[time, x]).unwrap();
    let b = file.def_var(c"b", Kind::Int, &[time, x]).unwrap();
    file.enddef().unwrap();
    for step in 0..3 {
        let mine = region(&[step, 3 * task.rank], &[1, 3]);
        let none = Hyperslabs::new(2);
        // Only the last task writes the last step of `b`.
        let regions = if step < 2 || task.rank + 1 == task.size {
            &mine
        } else {
            &none
        };
        let mut of_a = doubles(&[step as f64, task.rank as f64, 0.5]);
        let mut of_b = bytes(&[step as i32; 3], i32::to_ne_bytes);
        let writes = &mut [
            Transfer {
                var: a,
                kind: Kind::Double,
                regions: &mine,
                data: &mut of_a,
            },
            Transfer {
                var: b,
                kind: Kind::Int,
                regions,
                data: &mut of_b,
            },
        ];
        file.write(writes).unwrap();
        assert_eq!(file.dim(time).unwrap().1, step + 1);
    }
    // Only the first task writes here, and then nobody.
    let late = region(&[7, 0], &[1, 2]);
    let regions = if task.rank == 0 {
        late.clone()
    } else {
        Hyperslabs::new(2)
    };
    write(
        &mut file,
        b,
        Kind::Int,
        &regions,
        bytes(&[70, 71], i32::to_ne_bytes),
    )
    .unwrap();
    write(&mut file, b, Kind::Int, &Hyperslabs::new(2), vec![]).unwrap();
    assert_eq!(file.dim(time).unwrap().1, 8);
    file.sync().unwrap();
    let mut data = vec![0; 8];
    file.read(&mut Transfer::new(b, Kind::Int, &late, &mut data))
        .unwrap();
    assert_eq!(as_ints(&data), [70, 71]);
    file.close().unwrap();

    let mut file = open(WRITABLE);
    assert_eq!(file.dim(time).unwrap().1, 8);
    let neighbour = (task.rank + 1) % task.size;
    let theirs = region(&[1, 3 * neighbour], &[2, 3]);
    let mut data = vec![0; 48];
    file.read(&mut Transfer::new(a, Kind::Double, &theirs, &mut data))
        .unwrap();
    let rank = neighbour as f64;
    assert_eq!(as_doubles(&data), [1.0, rank, 0.5, 2.0, rank, 0.5]);
    let beyond = region(&[8, 0], &[1, 1]);
    let got = code(file.read(&mut Transfer::new(a, Kind::Double, &beyond, &mut data)));
    assert!(got == -40 || got == -57, "{got}");
    let outside = region(&[0, 3 * task.size], &[1, 1]);
    let got = code(write(&mut file, a, Kind::Double, &outside, vec![0; 8]));
    assert!(got == -40 || got == -57, "{got}");
    file.close().unwrap();
    let mut file = open(0);
    assert_eq!(code(file.redef()), -37);
    file.close().unwrap();
}

/// Many small regions, whole blocks, a scalar; large enough to take every way that the library has.
fn shapes(mut file: Opened, task: Task) {
    let rows = file.def_dim(c"rows", Some(2 * task.size)).unwrap();
    let long = file.def_dim(c"long", Some(1 << 18)).unwrap();
    let big = file.def_var(c"big", Kind::Double, &[rows, long]).unwrap();
    let ragged = file.def_var(c"ragged", Kind::Int, &[rows, long]).unwrap();
    let scalar = file.def_var(c"scalar", Kind::Double, &[]).unwrap();
    file.enddef().unwrap();
    let block = region(&[2 * task.rank, 0], &[2, 1 << 18]);
    let values: Vec<f64> = (0..1 << 19)
        .map(|i| i as f64 + 0.25 * task.rank as f64)
        .collect();
    let mut stripes = Hyperslabs::new(2);
    for at in (0..1 << 18).step_by(1 << 8) {
        stripes.push(&[2 * task.rank, at], &[1, 3]);
        stripes.push(&[2 * task.rank + 1, at + 1], &[1, 1]);
    }
    let pieces: Vec<i32> = (0..stripes.elements() as i32).collect();
    let mut data = doubles(&values);
    let mut small = bytes(&pieces, i32::to_ne_bytes);
    file.write(&mut [
        Transfer {
            var: big,
            kind: Kind::Double,
            regions: &block,
            data: &mut data,
        },
        Transfer {
            var: ragged,
            kind: Kind::Int,
            regions: &stripes,
            data: &mut small,
        },
    ])
    .unwrap();
    let one = if task.rank == 0 {
        region(&[], &[])
    } else {
        Hyperslabs::new(0)
    };
    write(&mut file, scalar, Kind::Double, &one, doubles(&[4.5])).unwrap();
    data.fill(0);
    file.read(&mut Transfer::new(big, Kind::Double, &block, &mut data))
        .unwrap();
    assert!(as_doubles(&data) == values);
    file.read(&mut Transfer::new(ragged, Kind::Int, &stripes, &mut small))
        .unwrap();
    assert!(as_ints(&small) == pieces);
    let mut got = [0; 8];
    file.sync().unwrap();
    file.read(&mut Transfer::new(
        scalar,
        Kind::Double,
        &region(&[], &[]),
        &mut got,
    ))
    .unwrap();
    assert_eq!(f64::from_ne_bytes(got), 4.5);
    file.close().unwrap();
}

/// As [`records`] with rows so large that each task writes its own.
fn large_records(mut file: Opened, task: Task, open: impl Fn(i32) -> Opened) {
    let row = 1 << 17;
    let time = file.def_dim(c"time", None).unwrap();
    let x = file.def_dim(c"x", Some(row * task.size)).unwrap();
    let a = file.def_var(c"a", Kind::Double, &[time, x]).unwrap();
    let b = file.def_var(c"b", Kind::Float, &[time, x]).unwrap();
    file.enddef().unwrap();
    let value = |step: u64, rank: u64, i: u64| (1000 * step + 10 * rank) as f64 + i as f64 / 8.0;
    let values = |steps: std::ops::Range<u64>, rank| {
        let of_step = |step| (0..row).map(move |i| value(step, rank, i));
        steps.flat_map(of_step).collect::<Vec<f64>>()
    };
    let two = region(&[1, row * task.rank], &[2, row]);
    write(
        &mut file,
        a,
        Kind::Double,
        &two,
        doubles(&values(1..3, task.rank)),
    )
    .unwrap();
    assert_eq!(file.dim(time).unwrap().1, 3);
    let one = region(&[task.rank, row * task.rank], &[1, row]);
    write(
        &mut file,
        b,
        Kind::Double,
        &one,
        doubles(&values(0..1, task.rank)),
    )
    .unwrap();
    let written = 3.max(task.size);
    assert_eq!(file.dim(time).unwrap().1, written);
    let last = region(&[written, 0], &[1, row]);
    let none = Hyperslabs::new(2);
    let regions = if task.rank + 1 == task.size {
        &last
    } else {
        &none
    };
    write(
        &mut file,
        a,
        Kind::Double,
        regions,
        doubles(&values(9..10, 0)),
    )
    .unwrap();
    assert_eq!(file.dim(time).unwrap().1, written + 1);
    file.close().unwrap();

    let mut file = open(0);
    assert_eq!(file.dim(time).unwrap().1, written + 1);
    let neighbour = (task.rank + 1) % task.size;
    let mut data = vec![0; 16 * row as usize];
    let theirs = region(&[1, row * neighbour], &[2, row]);
    file.read(&mut Transfer::new(a, Kind::Double, &theirs, &mut data))
        .unwrap();
    assert!(as_doubles(&data) == values(1..3, neighbour));
    let mut data = vec![0; 8 * row as usize];
    file.read(&mut Transfer::new(a, Kind::Double, &last, &mut data))
        .unwrap();
    assert!(as_doubles(&data) == values(9..10, 0));
    let theirs = region(&[neighbour, row * neighbour], &[1, row]);
    file.read(&mut Transfer::new(b, Kind::Double, &theirs, &mut data))
        .unwrap();
    assert!(as_doubles(&data) == values(0..1, neighbour));
    file.close().unwrap();
}

/// More than a library takes at once: 2.5 GiB of each task, in runs so short that it is done together.
#[cfg(feature = "pnetcdf")]
fn huge(mut file: Opened, task: Task) {
    let (rows, row) = (5 << 14, 1 << 15);
    let y = file.def_dim(c"y", Some(rows)).unwrap();
    let x = file.def_dim(c"x", Some(row * task.size + 1)).unwrap();
    let tile = file.def_var(c"tile", Kind::Byte, &[y, x]).unwrap();
    file.enddef().unwrap();
    let mine = region(&[0, row * task.rank], &[rows, row]);
    let value = |i: usize| (i / 12_345 + task.rank as usize) as u8 % 127;
    let mut data: Vec<u8> = (0..(rows * row) as usize).map(value).collect();
    let mut writes = [Transfer {
        var: tile,
        kind: Kind::Byte,
        regions: &mine,
        data: &mut data,
    }];
    file.write(&mut writes).unwrap();
    data.fill(0);
    file.read(&mut Transfer::new(tile, Kind::Byte, &mine, &mut data))
        .unwrap();
    assert!(data.iter().enumerate().all(|(i, got)| *got == value(i)));
    file.close().unwrap();
}

fn filling(mut file: Opened, task: Task) {
    let x = file.def_dim(c"x", Some(2 * task.size)).unwrap();
    let plain = file.def_var(c"plain", Kind::Int, &[x]).unwrap();
    let own = file.def_var(c"own", Kind::Int, &[x]).unwrap();
    assert_eq!(
        file.inq_var_fill(plain).unwrap(),
        (false, Kind::Int.default_fill())
    );
    assert_eq!(code(file.def_var_fill(own, true, Some(&[1; 3]))), -36);
    file.def_var_fill(own, true, Some(&9_i32.to_ne_bytes()))
        .unwrap();
    assert_eq!(
        file.inq_var_fill(own).unwrap(),
        (true, 9_i32.to_ne_bytes().to_vec())
    );
    file.enddef().unwrap();
    write(
        &mut file,
        own,
        Kind::Int,
        &region(&[2 * task.rank], &[1]),
        1_i32.to_ne_bytes().to_vec(),
    )
    .unwrap();
    let mut data = vec![0; 8];
    file.read(&mut Transfer::new(
        own,
        Kind::Int,
        &region(&[2 * task.rank], &[2]),
        &mut data,
    ))
    .unwrap();
    assert_eq!(as_ints(&data), [1, 9]);
    file.redef().unwrap();
    assert!(!file.set_fill(true).unwrap() || file.set_fill(false).unwrap());
    file.close().unwrap();
}

fn path_of(directory: &Path, name: &str) -> CString {
    CString::new(directory.join(name).to_str().unwrap()).unwrap()
}

fn everything(
    task: Task,
    create: impl Fn(&str, i32) -> Result<Opened, Error>,
    open: impl Fn(&str, i32) -> Result<Opened, Error>,
) {
    metadata(create("metadata.nc", CLASSIC).unwrap());
    attributes(create("attributes.nc", CLASSIC).unwrap());
    conversions(create("conversions.nc", CDF5).unwrap(), task);
    records(create("records.nc", CLASSIC).unwrap(), task, |mode| {
        open("records.nc", mode).unwrap()
    });
    large_records(create("large.nc", CDF5).unwrap(), task, |mode| {
        open("large.nc", mode).unwrap()
    });
    shapes(create("shapes.nc", CDF5).unwrap(), task);
    filling(create("filling.nc", CLASSIC).unwrap(), task);
    let missing = open("missing.nc", 0).err().unwrap();
    let text = missing.to_string();
    assert!(
        text.contains("No such file") || text.contains("does not exist"),
        "{text}"
    );
    let noclobber = 4;
    assert_eq!(code(create("records.nc", noclobber)), -35);
}

#[cfg(feature = "netcdf")]
#[test]
fn netcdf() {
    use stanchion::pio::format::netcdf;
    let directory = tempfile::tempdir().unwrap();
    let task = Task { rank: 0, size: 1 };
    everything(
        task,
        |name, mode| netcdf::create(&path_of(directory.path(), name), mode),
        |name, mode| netcdf::open(&path_of(directory.path(), name), mode),
    );
}

#[cfg(feature = "pnetcdf")]
#[test]
fn pnetcdf() {
    use mpi_sys as ffi;
    use stanchion::comm::{Comm, mpi::MpiComm};
    use stanchion::pio::format::pnetcdf;
    // SAFETY: called once, before any other call of MPI.
    unsafe { ffi::MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    {
        // SAFETY: a constant of the MPI shim, never written.
        let world = MpiComm::private(unsafe { ffi::RSMPI_COMM_WORLD }).unwrap();
        // One for all ranks, and for no other run.
        let mut number = std::process::id().to_le_bytes();
        world.bcast(0, &mut number).unwrap();
        let name = format!("stanchion-pio-formats-{}", u32::from_le_bytes(number));
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        world.barrier().unwrap();
        let task = Task {
            rank: world.rank() as u64,
            size: world.size() as u64,
        };
        let hints = [(c"nc_var_align_size".into(), c"1".into())];
        everything(
            task,
            |name, mode| pnetcdf::create(&world, &path_of(&directory, name), mode, &hints),
            |name, mode| pnetcdf::open(&world, &path_of(&directory, name), mode, &[]),
        );
        if std::env::var_os("STANCHION_TEST_HUGE").is_some() {
            let path = path_of(&directory, "huge.nc");
            huge(pnetcdf::create(&world, &path, CDF5, &[]).unwrap(), task);
        }
        let long = [(CString::new(vec![b'k'; 5000]).unwrap(), c"1".into())];
        let refused = pnetcdf::create(&world, &path_of(&directory, "hint.nc"), 0, &long);
        assert_eq!(code(refused), -68);
        world.barrier().unwrap();
        if world.rank() == 0 {
            std::fs::remove_dir_all(&directory).unwrap();
        }
    }
    // SAFETY: nothing of MPI is used afterwards.
    unsafe { ffi::MPI_Finalize() };
}
