//! Files in memory, for tests: strict about what the file libraries leave to their callers, and failing on
//! request.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::comm::Comm;
use crate::comm::local::LocalComm;
use crate::pio::format::pieces::cut;
use crate::pio::format::{Attribute, Counts, Format, GLOBAL, Transfer, Variable};
use crate::pio::{Error, File, Hyperslabs, IoSystem, Kind, Result};

mod values;

use values::FakeValues;

pub(crate) const FAULT: i32 = -77;
pub(crate) const ENOTINDEFINE: i32 = -38;
pub(crate) const EINDEFINE: i32 = -39;
pub(crate) const EINVALCOORDS: i32 = -40;
pub(crate) const ENOTATT: i32 = -43;
pub(crate) const EBADDIM: i32 = -46;
pub(crate) const ENOTVAR: i32 = -49;

/// What outlives the tasks that have the file open.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<Contents>>);

#[derive(Default)]
struct Contents {
    header: Header,
    values: FakeValues,
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[derive(Clone, Default)]
struct Header {
    dims: Vec<(CString, Option<u64>)>,
    vars: Vec<Var>,
    attributes: Vec<Named>,
}

#[derive(Clone)]
struct Var {
    name: CString,
    kind: Kind,
    dims: Vec<i32>,
    attributes: Vec<Named>,
    filled: bool,
    fill: Vec<u8>,
}

#[derive(Clone)]
struct Named {
    name: CString,
    kind: Kind,
    values: Vec<u8>,
}

/// An open file. Every task has its own header, as with PnetCDF.
pub(crate) struct FakeFile {
    disk: Disk,
    header: Header,
    defining: bool,
    /// With which every call is made together.
    tasks: Option<LocalComm>,
    calls: usize,
    writes: usize,
    /// The number of the call that fails.
    pub(crate) failing: Option<usize>,
}

impl FakeFile {
    pub(crate) fn create(disk: &Disk, tasks: Option<LocalComm>) -> Self {
        if tasks.as_ref().is_none_or(|tasks| tasks.rank() == 0) {
            *disk.lock() = Contents::default();
        }
        Self {
            defining: true,
            header: Header::default(),
            ..Self::open(disk, tasks)
        }
    }

    pub(crate) fn open(disk: &Disk, tasks: Option<LocalComm>) -> Self {
        if tasks.as_ref().is_none_or(|tasks| tasks.rank() == 0) {
            disk.lock().values.forget_calls();
        }
        Self {
            disk: disk.clone(),
            header: disk.lock().header.clone(),
            defining: false,
            tasks,
            calls: 0,
            writes: 0,
            failing: None,
        }
    }

    /// Calls that change or move something begin here: all tasks must be in the same one.
    fn enter(&mut self, call: &'static str, vars: &[i32]) -> Result<()> {
        self.meet(call, vars);
        self.count(call)
    }

    fn meet(&self, call: &'static str, vars: &[i32]) {
        if let Some(tasks) = &self.tasks {
            let mut mine = call.as_bytes().to_vec();
            vars.iter()
                .for_each(|v| mine.extend_from_slice(&v.to_le_bytes()));
            let sum = crc32fast::hash(&mine).to_le_bytes();
            let mut all = vec![0; 4 * tasks.size()];
            tasks.allgather(&sum, &mut all).expect("a task is missing");
            let same = all.chunks(4).all(|other| other == sum);
            assert!(same, "I/O tasks are in different calls, one in {call}");
        }
    }

    /// Every call begins here.
    fn count(&mut self, call: &'static str) -> Result<()> {
        self.calls += 1;
        match self.failing {
            Some(number) if number == self.calls => fail(call, FAULT),
            _ => Ok(()),
        }
    }

    fn enter_defining(&mut self, call: &'static str) -> Result<()> {
        self.enter(call, &[])?;
        match self.defining {
            true => Ok(()),
            false => fail(call, ENOTINDEFINE),
        }
    }

    fn in_order(&self, call: &'static str) -> Result<()> {
        match self.defining {
            true => fail(call, EINDEFINE),
            false => Ok(()),
        }
    }

    fn var_at(&mut self, var: i32) -> Result<&mut Var> {
        let found = usize::try_from(var).ok();
        let found = found.and_then(|at| self.header.vars.get_mut(at));
        found.map_or_else(|| fail("var", ENOTVAR), Ok)
    }

    fn attributes(&mut self, var: i32) -> Result<&mut Vec<Named>> {
        match var {
            GLOBAL => Ok(&mut self.header.attributes),
            _ => Ok(&mut self.var_at(var)?.attributes),
        }
    }

    fn named(&mut self, var: i32, name: &CStr) -> Result<&mut Named> {
        let mut all = self.attributes(var)?.iter_mut();
        let found = all.find(|attribute| *attribute.name == *name);
        found.map_or_else(|| fail("attribute", ENOTATT), Ok)
    }

    /// Kind, lengths of the dimensions (nothing for the unlimited one) and fill value.
    fn shape(&mut self, var: i32) -> Result<(Kind, Vec<Option<u64>>, Vec<u8>)> {
        let own = self.var_at(var)?.clone();
        let dims = own.dims.iter();
        let lengths = dims.map(|dim| self.header.dims[*dim as usize].1).collect();
        Ok((own.kind, lengths, own.fill))
    }

    fn read_one(&mut self, read: &mut Transfer) -> Result<()> {
        self.in_order("read")?;
        let (stored, lengths, fill) = self.shape(read.var)?;
        let disk = self.disk.lock();
        disk.values.read(read, (stored, &fill), &lengths)
    }

    fn write_one(&mut self, write: &mut Transfer) -> Result<()> {
        let (kind, lengths, _) = self.shape(write.var)?;
        let call = self.writes;
        let mut disk = self.disk.lock();
        disk.values.write(write, kind, &lengths, call)?;
        // As a library that swaps bytes in place does.
        write.data.fill(0xEE);
        Ok(())
    }
}

/// A file on the I/O tasks of a system, all of them or the first. `make` is [`FakeFile::create`] or
/// [`FakeFile::open`].
pub(crate) fn file(
    system: &Arc<IoSystem<LocalComm>>,
    parallel: bool,
    make: impl FnOnce(Option<LocalComm>) -> FakeFile,
) -> File<LocalComm> {
    let color = (parallel && system.io.is_some()).then_some(0);
    let key = system.io_rank().unwrap_or(0) as i32;
    let tasks = system.comm.split(color, key).unwrap();
    let format: Option<Box<dyn Format>> = match (system.io_rank(), parallel) {
        (Some(_), true) | (Some(0), false) => Some(Box::new(make(tasks))),
        _ => None,
    };
    File::new(system.clone(), Ok(format), parallel).unwrap()
}

fn fail<T>(call: &'static str, code: i32) -> Result<T> {
    Err(Error::Format {
        call,
        code,
        text: format!("code {code}"),
    })
}

impl Format for FakeFile {
    fn def_dim(&mut self, name: &CStr, length: Option<u64>) -> Result<i32> {
        self.enter_defining("def_dim")?;
        self.header.dims.push((name.into(), length));
        Ok(self.header.dims.len() as i32 - 1)
    }

    fn def_var(&mut self, name: &CStr, kind: Kind, dims: &[i32]) -> Result<i32> {
        self.enter_defining("def_var")?;
        let known = 0..self.header.dims.len() as i32;
        if !dims.iter().all(|dim| known.contains(dim)) {
            return fail("def_var", EBADDIM);
        }
        self.header.vars.push(Var {
            name: name.into(),
            kind,
            dims: dims.to_vec(),
            attributes: Vec::new(),
            filled: false,
            fill: kind.default_fill(),
        });
        Ok(self.header.vars.len() as i32 - 1)
    }

    fn def_var_fill(&mut self, var: i32, fill: bool, value: Option<&[u8]>) -> Result<()> {
        self.enter_defining("def_var_fill")?;
        let var = self.var_at(var)?;
        var.filled = fill;
        var.fill = value.map_or_else(|| var.kind.default_fill(), <[u8]>::to_vec);
        Ok(())
    }

    fn inq_var_fill(&mut self, var: i32) -> Result<(bool, Vec<u8>)> {
        self.count("inq_var_fill")?;
        let var = self.var_at(var)?;
        Ok((var.filled, var.fill.clone()))
    }

    fn set_fill(&mut self, fill: bool) -> Result<bool> {
        self.enter_defining("set_fill")?;
        let old = self.header.vars.iter().any(|var| var.filled);
        self.header
            .vars
            .iter_mut()
            .for_each(|var| var.filled = fill);
        Ok(old)
    }

    fn redef(&mut self) -> Result<()> {
        self.enter("redef", &[])?;
        self.in_order("redef")?;
        self.defining = true;
        Ok(())
    }

    fn enddef(&mut self) -> Result<()> {
        self.enter_defining("enddef")?;
        self.defining = false;
        self.disk.lock().header = self.header.clone();
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.enter("sync", &[])?;
        self.in_order("sync")
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.disk.lock().header = self.header.clone();
        self.enter("close", &[])
    }

    fn counts(&mut self) -> Result<Counts> {
        self.count("counts")?;
        let unlimited = self.header.dims.iter().position(|dim| dim.1.is_none());
        Ok(Counts {
            dims: self.header.dims.len() as i32,
            vars: self.header.vars.len() as i32,
            attributes: self.header.attributes.len() as i32,
            unlimited: unlimited.map_or(-1, |at| at as i32),
        })
    }

    fn file_format(&mut self) -> Result<i32> {
        self.count("file_format")?;
        Ok(1)
    }

    fn dim(&mut self, dim: i32) -> Result<(CString, u64)> {
        self.count("dim")?;
        match self.header.dims.get(dim as usize) {
            Some((name, Some(length))) => Ok((name.clone(), *length)),
            Some((name, None)) => Ok((name.clone(), self.disk.lock().values.records)),
            None => fail("dim", EBADDIM),
        }
    }

    fn dim_named(&mut self, name: &CStr) -> Result<i32> {
        self.count("dim_named")?;
        let found = self.header.dims.iter().position(|dim| *dim.0 == *name);
        found.map_or_else(|| fail("dim_named", EBADDIM), |at| Ok(at as i32))
    }

    fn var(&mut self, var: i32) -> Result<Variable> {
        self.count("var")?;
        let var = self.var_at(var)?;
        Ok(Variable {
            name: var.name.clone(),
            kind: var.kind,
            dims: var.dims.clone(),
            attributes: var.attributes.len() as i32,
        })
    }

    fn var_named(&mut self, name: &CStr) -> Result<i32> {
        self.count("var_named")?;
        let found = self.header.vars.iter().position(|var| *var.name == *name);
        found.map_or_else(|| fail("var_named", ENOTVAR), |at| Ok(at as i32))
    }

    fn rename_dim(&mut self, dim: i32, name: &CStr) -> Result<()> {
        self.enter_defining("rename_dim")?;
        self.header.dims[dim as usize].0 = name.into();
        Ok(())
    }

    fn rename_var(&mut self, var: i32, name: &CStr) -> Result<()> {
        self.enter_defining("rename_var")?;
        self.var_at(var)?.name = name.into();
        Ok(())
    }

    fn attribute(&mut self, var: i32, name: &CStr) -> Result<Attribute> {
        self.count("attribute")?;
        let found = self.named(var, name)?;
        Ok(Attribute {
            kind: found.kind,
            length: (found.values.len() / found.kind.size()) as u64,
        })
    }

    fn attribute_at(&mut self, var: i32, index: i32) -> Result<CString> {
        self.count("attribute_at")?;
        let found = self.attributes(var)?.get(index as usize);
        found.map_or_else(|| fail("attribute_at", ENOTATT), |a| Ok(a.name.clone()))
    }

    fn attribute_named(&mut self, var: i32, name: &CStr) -> Result<i32> {
        self.count("attribute_named")?;
        let all = self.attributes(var)?;
        let found = all.iter().position(|attribute| *attribute.name == *name);
        found.map_or_else(|| fail("attribute_named", ENOTATT), |at| Ok(at as i32))
    }

    fn put_attribute(
        &mut self,
        var: i32,
        name: &CStr,
        stored: Kind,
        memory: Kind,
        values: &[u8],
    ) -> Result<()> {
        self.enter_defining("put_attribute")?;
        let own = Named {
            name: name.into(),
            kind: stored,
            values: values::convert_all(values, memory, stored)?,
        };
        let all = self.attributes(var)?;
        all.retain(|attribute| *attribute.name != *name);
        all.push(own);
        Ok(())
    }

    fn get_attribute(&mut self, var: i32, name: &CStr, memory: Kind) -> Result<Vec<u8>> {
        self.count("get_attribute")?;
        let found = self.named(var, name)?;
        values::convert_all(&found.values, found.kind, memory)
    }

    fn rename_attribute(&mut self, var: i32, name: &CStr, new: &CStr) -> Result<()> {
        self.enter_defining("rename_attribute")?;
        self.named(var, name)?.name = new.into();
        Ok(())
    }

    fn delete_attribute(&mut self, var: i32, name: &CStr) -> Result<()> {
        self.enter_defining("delete_attribute")?;
        self.named(var, name)?;
        let all = self.attributes(var)?;
        all.retain(|attribute| *attribute.name != *name);
        Ok(())
    }

    fn write(&mut self, writes: &mut [Transfer]) -> Result<()> {
        let vars: Vec<_> = writes.iter().map(|write| write.var).collect();
        self.writes += 1;
        self.enter("write", &vars)?;
        self.in_order("write")?;
        let ended = writes.iter_mut().map(|write| self.write_one(write));
        ended.fold(Ok(()), Result::and)
    }

    /// Every other variable is written and read in pieces.
    fn begin_pieces(
        &mut self,
        parts: &[(i32, Kind, &Hyperslabs)],
    ) -> Result<Option<Vec<Hyperslabs>>> {
        const PIECE: u64 = 5;
        let vars: Vec<_> = parts.iter().map(|part| part.0).collect();
        if vars.iter().any(|var| var % 2 == 0) {
            return Ok(None);
        }
        self.writes += 1;
        // What fails here fails on all tasks.
        self.meet("begin_pieces", &vars);
        let pieces = parts.iter().map(|part| cut(part.2, |_| PIECE).into_owned());
        Ok(Some(pieces.collect()))
    }

    fn put_piece(&mut self, write: &mut Transfer) -> Result<()> {
        self.count("put_piece")?;
        self.in_order("put_piece")?;
        self.write_one(write)
    }

    fn get_piece(&mut self, piece: &mut Transfer) -> Result<()> {
        self.count("get_piece")?;
        self.read_one(piece)
    }

    fn end_pieces(&mut self) -> Result<()> {
        self.enter("end_pieces", &[])
    }

    fn read(&mut self, read: &mut Transfer) -> Result<()> {
        self.enter("read", &[read.var])?;
        self.read_one(read)
    }
}
