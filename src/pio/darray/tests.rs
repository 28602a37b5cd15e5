//! Programs of many calls on files in memory, compared with a model that has everything in one place.

use std::collections::HashMap;

use super::super::convert::convert;
use super::super::format::tests::fake::{self, Disk, FakeFile};
use super::super::{DecompSpec, IoPlacement, IoSystem, Kind, Rearranger};
use super::*;
use crate::comm::local::{LocalComm, run};

mod calls;
mod faults;
mod programs;

type Value = i64;

fn to_bytes(value: Value, kind: Kind) -> Vec<u8> {
    convert(&value.to_ne_bytes(), Kind::Int64, kind).unwrap()
}

fn to_value(bytes: &[u8], kind: Kind) -> Value {
    let bytes = convert(bytes, kind, Kind::Int64).unwrap();
    Value::from_ne_bytes(bytes.try_into().unwrap())
}

/// How the elements of an array are dealt out to ranks.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    Blocks,
    Stripes,
    /// Every third element is nowhere; ranks hold theirs in descending order, with holes between.
    Gaps,
    /// Everything on the last rank.
    Last,
}

fn deal(total: u64, ranks: usize, pattern: Pattern) -> Vec<Vec<i64>> {
    let mut maps = vec![Vec::new(); ranks];
    for element in 0..total {
        let rank = match pattern {
            Pattern::Blocks => element as usize * ranks / total as usize,
            Pattern::Stripes | Pattern::Gaps => element as usize % ranks,
            Pattern::Last => ranks - 1,
        };
        let gap = matches!(pattern, Pattern::Gaps) && element % 3 == 1;
        maps[rank].push(if gap { 0 } else { element as i64 + 1 });
    }
    if matches!(pattern, Pattern::Gaps) {
        maps.iter_mut().for_each(|map| map.reverse());
    }
    maps
}

/// Where a variable has its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    None,
    Unlimited,
    /// A dimension of that length.
    Fixed(u64),
}

#[derive(Clone, Copy, Debug)]
struct Var {
    kind: Kind,
    records: Records,
    fill: Value,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: Kind,
    pattern: Pattern,
    rearranger: Rearranger,
}

/// What all ranks share.
#[derive(Clone, Debug)]
struct Setting {
    ranks: usize,
    placement: IoPlacement,
    parallel: bool,
    /// Bytes that may be buffered.
    limit: u64,
    dims: Vec<u64>,
    vars: Vec<Var>,
    decomps: Vec<Shape>,
}

impl Setting {
    fn total(&self) -> u64 {
        self.dims.iter().product()
    }

    fn system(&self, comm: LocalComm) -> Arc<IoSystem<LocalComm>> {
        Arc::new(IoSystem::new(&comm, self.placement, Rearranger::Box).unwrap())
    }

    fn decomps(&self, system: &IoSystem<LocalComm>) -> Vec<Arc<Decomp>> {
        let make = |shape: &Shape| {
            let map = &deal(self.total(), self.ranks, shape.pattern)[system.comm.rank()];
            let mut spec = DecompSpec::new(shape.kind, self.dims.clone(), shape.rearranger);
            spec.strict = true;
            Arc::new(Decomp::new(system, &spec, map).unwrap())
        };
        self.decomps.iter().map(make).collect()
    }

    fn create(&self, system: &Arc<IoSystem<LocalComm>>, disk: &Disk) -> File<LocalComm> {
        let mut file = fake::file(system, self.parallel, |t| FakeFile::create(disk, t));
        file.limit_buffer(self.limit);
        file
    }

    /// Dimensions and variables, which get their places in `vars` as numbers.
    fn define(&self, file: &mut File<LocalComm>) -> Result<()> {
        let time = file.ask(|f| f.def_dim(c"time", None))?;
        let mut own = Vec::new();
        for length in &self.dims {
            own.push(file.ask(|f| f.def_dim(c"length", Some(*length)))?);
        }
        for var in &self.vars {
            let mut dims = match var.records {
                Records::None => vec![],
                Records::Unlimited => vec![time],
                Records::Fixed(length) => vec![file.ask(|f| f.def_dim(c"t", Some(length)))?],
            };
            dims.extend(&own);
            let id = file.ask(|f| f.def_var(c"var", var.kind, &dims))?;
            let fill = to_bytes(var.fill, var.kind);
            file.ask(|f| f.def_var_fill(id, false, Some(&fill)))?;
        }
        file.enddef()
    }

    /// What a rank holds of a decomposition.
    fn map(&self, decomp: usize, rank: usize) -> Vec<i64> {
        deal(self.total(), self.ranks, self.decomps[decomp].pattern).swap_remove(rank)
    }
}

/// Different in every place of every version, and small enough for every kind.
fn value_at(version: u64, element: u64) -> Value {
    ((version * 31 + element * 7) % 101) as Value
}

/// A rank's array of one version.
fn array(map: &[i64], kind: Kind, version: u64) -> Vec<u8> {
    let value = |entry: &i64| match entry {
        0 => 120,
        element => value_at(version, *element as u64 - 1),
    };
    map.iter().flat_map(|e| to_bytes(value(e), kind)).collect()
}

/// What the file is to hold.
#[derive(Clone, Default)]
struct Model {
    arrays: HashMap<(usize, u64), Vec<Value>>,
    records: u64,
}

impl Model {
    fn write(&mut self, setting: &Setting, var: usize, frame: u64, decomp: usize, with: With) {
        let mut whole = vec![with.fill; setting.total() as usize];
        for map in deal(
            setting.total(),
            setting.ranks,
            setting.decomps[decomp].pattern,
        ) {
            for element in map.iter().filter(|e| **e > 0).map(|e| *e as u64 - 1) {
                whole[element as usize] = value_at(with.version, element);
            }
        }
        if setting.vars[var].records == Records::Unlimited {
            self.records = self.records.max(frame + 1);
        }
        self.arrays.insert((var, frame), whole);
    }

    /// What a rank is to read; nothing if that record does not exist.
    fn read(&self, setting: &Setting, var: usize, frame: u64, map: &[i64]) -> Option<Vec<Value>> {
        if setting.vars[var].records == Records::Unlimited && frame >= self.records {
            return None;
        }
        let unwritten = vec![setting.vars[var].fill; setting.total() as usize];
        let whole = self.arrays.get(&(var, frame)).unwrap_or(&unwritten);
        let value = |entry: &i64| match entry {
            0 => UNTOUCHED,
            element => whole[*element as usize - 1],
        };
        Some(map.iter().map(value).collect())
    }
}

#[derive(Clone, Copy)]
struct With {
    version: u64,
    fill: Value,
}

/// What arrays hold before they are read.
const UNTOUCHED: Value = 119;

fn read_values(file: &mut File<LocalComm>, var: usize, decomp: &Decomp) -> Result<Vec<Value>> {
    let mut array = to_bytes(UNTOUCHED, decomp.kind).repeat(decomp.map_len());
    read(file, var as i32, decomp, &mut array)?;
    let values = array.chunks(decomp.kind.size());
    Ok(values.map(|value| to_value(value, decomp.kind)).collect())
}

fn code<T>(result: &Result<T>) -> i32 {
    result.as_ref().map_or_else(Error::code, |_| 0)
}
