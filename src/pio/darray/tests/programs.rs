//! Random programs.

use super::super::super::error::EINVALCOORDS;
use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Write {
        var: usize,
        decomp: usize,
        frame: i32,
        fill: Option<Value>,
    },
    /// All variables that have records, at once.
    WriteMulti {
        decomp: usize,
        frame: i32,
        flush: bool,
    },
    Read {
        var: usize,
        decomp: usize,
        frame: i32,
    },
    Sync,
    Redefine,
    Reopen,
}

fn vars() -> impl Strategy<Value = Var> {
    let records = prop_oneof![
        Just(Records::None),
        Just(Records::Unlimited),
        Just(Records::Fixed(4))
    ];
    (kinds(), records, 102..110_i64).prop_map(|(kind, records, fill)| Var {
        kind,
        records,
        fill,
    })
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Byte, Kind::Short, Kind::Int, Kind::Double])
}

fn shapes() -> impl Strategy<Value = Shape> {
    let patterns = prop::sample::select(vec![
        Pattern::Blocks,
        Pattern::Stripes,
        Pattern::Gaps,
        Pattern::Last,
    ]);
    let rearrangers = prop::sample::select(vec![Rearranger::Box, Rearranger::Subset]);
    (kinds(), patterns, rearrangers).prop_map(|(kind, pattern, rearranger)| Shape {
        kind,
        pattern,
        rearranger,
    })
}

fn places() -> impl Strategy<Value = (usize, IoPlacement)> {
    let index = any::<prop::sample::Index>;
    (1..7_usize, index(), index(), index()).prop_map(|(ranks, tasks, stride, base)| {
        let tasks = 1 + tasks.index(ranks);
        let placement = IoPlacement {
            tasks: tasks as i64,
            stride: 1 + stride.index(ranks / tasks) as i64,
            base: base.index(ranks) as i64,
        };
        (ranks, placement)
    })
}

fn settings() -> impl Strategy<Value = Setting> {
    let limits = prop::sample::select(vec![0, 300, 700, u64::MAX]);
    let vars = prop::collection::vec(vars(), 1..5);
    let decomps = prop::collection::vec(shapes(), 1..4);
    let dims = prop::collection::vec(1..6_u64, 1..4);
    (places(), any::<bool>(), limits, dims, vars, decomps).prop_map(
        |((ranks, placement), parallel, limit, dims, vars, decomps)| Setting {
            ranks,
            placement,
            parallel,
            limit,
            dims,
            vars,
            decomps,
        },
    )
}

fn steps(vars: usize, decomps: usize) -> impl Strategy<Value = Vec<Step>> {
    let fills = prop::option::of(111..118_i64);
    let write =
        (0..vars, 0..decomps, 0..4, fills).prop_map(|(var, decomp, frame, fill)| Step::Write {
            var,
            decomp,
            frame,
            fill,
        });
    let multi =
        (0..decomps, 0..4, any::<bool>()).prop_map(|(decomp, frame, flush)| Step::WriteMulti {
            decomp,
            frame,
            flush,
        });
    let read = (0..vars, 0..decomps, -1..4).prop_map(|(var, decomp, frame)| Step::Read {
        var,
        decomp,
        frame,
    });
    let step = prop_oneof![
        8 => write,
        2 => multi,
        3 => read,
        1 => Just(Step::Sync),
        1 => Just(Step::Redefine),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..20)
}

/// One rank in the middle of a program.
struct Rank<'a> {
    setting: &'a Setting,
    disk: &'a Disk,
    system: Arc<IoSystem<LocalComm>>,
    decomps: Vec<Arc<Decomp>>,
    file: File<LocalComm>,
    model: Model,
    version: u64,
}

impl Rank<'_> {
    fn array(&self, decomp: usize, version: u64) -> Vec<u8> {
        let map = self.setting.map(decomp, self.system.comm.rank());
        array(&map, self.setting.decomps[decomp].kind, version)
    }

    fn write(&mut self, var: usize, decomp: usize, frame: i32, fill: Option<Value>) {
        self.version += 1;
        let mut own = self.array(decomp, self.version);
        // More than is needed is no error.
        own.extend([1; 8]);
        let decomposed = &self.decomps[decomp];
        let given = fill.map(|fill| to_bytes(fill, decomposed.kind));
        let (var_id, file) = (var as i32, &mut self.file);
        file.set_frame(var_id, frame);
        write(file, var_id, decomposed, &own, given.as_deref()).unwrap();
        self.note(var, decomp, frame, self.version, fill);
    }

    fn note(&mut self, var: usize, decomp: usize, frame: i32, version: u64, fill: Option<Value>) {
        let own = &self.setting.vars[var];
        let frame = match own.records {
            Records::None => 0,
            _ => frame as u64,
        };
        let fill = fill.unwrap_or(own.fill);
        let with = With { version, fill };
        self.model.write(self.setting, var, frame, decomp, with);
    }

    fn write_multi(&mut self, decomp: usize, frame: i32, flush: bool) {
        let vars = self.setting.vars.iter().enumerate();
        let with_records = vars.filter(|(_, var)| var.records != Records::None);
        let vars: Vec<_> = with_records.map(|(var, _)| var as i32).collect();
        let version = |var: &i32| self.version + *var as u64;
        let arrays = vars.iter().map(|var| self.array(decomp, version(var)));
        let arrays = arrays.collect::<Vec<_>>().concat();
        let frames = vec![frame; vars.len()];
        let decomposed = &self.decomps[decomp];
        let file = &mut self.file;
        write_multi(file, &vars, decomposed, &arrays, Some(&frames), None, flush).unwrap();
        assert!(!flush || self.file.buffer.is_empty());
        for var in vars {
            let version = self.version + var as u64;
            self.note(var as usize, decomp, frame, version, None);
        }
        self.version += 10;
    }

    fn read(&mut self, var: usize, decomp: usize, frame: i32) {
        self.file.set_frame(var as i32, frame);
        let place = match self.setting.vars[var].records {
            Records::None => 0,
            _ => frame.max(0) as u64,
        };
        let map = self.setting.map(decomp, self.system.comm.rank());
        let expected = self.model.read(self.setting, var, place, &map);
        let got = read_values(&mut self.file, var, &self.decomps[decomp]);
        match expected {
            Some(expected) => assert_eq!(got.unwrap(), expected),
            None => assert_eq!(code(&got), EINVALCOORDS),
        }
    }

    fn step(mut self, step: Step) -> Self {
        match step {
            Step::Write {
                var,
                decomp,
                frame,
                fill,
            } => self.write(var, decomp, frame, fill),
            Step::WriteMulti {
                decomp,
                frame,
                flush,
            } => self.write_multi(decomp, frame, flush),
            Step::Read { var, decomp, frame } => self.read(var, decomp, frame),
            Step::Sync => {
                self.file.sync().unwrap();
                assert!(self.file.buffer.is_empty());
            }
            Step::Redefine => {
                self.file.redef().unwrap();
                self.file.enddef().unwrap();
            }
            Step::Reopen => {
                self.file.close().unwrap();
                let (system, parallel) = (&self.system, self.setting.parallel);
                self.file = fake::file(system, parallel, |t| FakeFile::open(self.disk, t));
                self.file.limit_buffer(self.setting.limit);
            }
        }
        self
    }
}

fn check(setting: &Setting, steps: &[Step]) {
    let disk = Disk::default();
    run(setting.ranks, |comm| {
        let system = setting.system(comm);
        let decomps = setting.decomps(&system);
        let mut file = setting.create(&system, &disk);
        setting.define(&mut file).unwrap();
        let mut rank = Rank {
            setting,
            disk: &disk,
            system,
            decomps,
            file,
            model: Model::default(),
            version: 0,
        };
        for step in steps {
            rank = rank.step(*step);
        }
        rank = rank.step(Step::Reopen);
        for var in 0..setting.vars.len() {
            for frame in 0..4 {
                rank.read(var, 0, frame);
            }
        }
        rank.file.close().unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_file_holds_what_was_written_last(
        (setting, steps) in settings().prop_flat_map(|setting| {
            let steps = steps(setting.vars.len(), setting.decomps.len());
            (Just(setting), steps)
        })
    ) {
        check(&setting, &steps);
    }
}
