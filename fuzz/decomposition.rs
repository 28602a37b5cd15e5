//! A decomposition file as its library shows it: every name, length and value is the input's choice.

use crate::mutate::Choices;
use crate::sets::same_verdict;
use crate::watch::bounded;
use stanchion::comm::local;
use stanchion::pio::format::{Attribute, Counts, Format, Transfer, Variable};
use stanchion::pio::{Error, File, IoPlacement, IoSystem, Kind, Rearranger, Result, decomp_file};
use std::ffi::{CStr, CString};
use std::sync::Arc;

const NAMES: [&CStr; 3] = [c"global_size", c"maplen", c"map"];
const LENGTHS: [u64; 12] = [
    1,
    2,
    3,
    4,
    0,
    5,
    100,
    4096,
    1 << 20,
    1 << 31,
    1 << 40,
    u64::MAX,
];
const VALUES: [i64; 10] = [
    1,
    2,
    3,
    0,
    4,
    -1,
    1 << 20,
    i32::MAX as i64,
    i64::MAX,
    i64::MIN,
];
const TEXTS: [&str; 6] = ["C", "Fortran", "", "2.0.1", "C\0Fortran", "basic"];
const ENOTATT: i32 = -43;

struct Fake {
    input: Vec<u8>,
    used: usize,
    /// Of the dimensions of the three variables, one after the other.
    lengths: [u64; 4],
}

impl Fake {
    fn new(input: &[u8]) -> Self {
        let mut fake = Fake {
            input: input.to_vec(),
            used: 0,
            lengths: [2, 2, 2, 4],
        };
        for index in 0..fake.lengths.len() {
            if fake.below(3) == 0 {
                fake.lengths[index] = LENGTHS[fake.below(LENGTHS.len())];
            }
        }
        fake
    }

    fn below(&mut self, count: usize) -> usize {
        let mut choices = Choices(&self.input[self.used..]);
        let chosen = choices.below(count);
        self.used = self.input.len() - choices.0.len();
        chosen
    }

    /// Mostly the usual one.
    fn of<T: Clone>(&mut self, list: &[T], usual: usize) -> T {
        let is_odd = self.below(8) == 1;
        let index = if is_odd {
            self.below(list.len())
        } else {
            usual
        };
        list[index].clone()
    }
}

fn fail<T>(code: i32) -> Result<T> {
    let text = String::new();
    Err(Error::Format {
        call: "fake",
        code,
        text,
    })
}

impl Format for Fake {
    fn var_named(&mut self, name: &CStr) -> Result<i32> {
        let known = NAMES.iter().position(|known| *known == name);
        known.map_or_else(|| fail(-49), |index| Ok(index as i32))
    }

    fn var(&mut self, var: i32) -> Result<Variable> {
        let usual = [vec![0], vec![1], vec![2, 3]];
        Ok(Variable {
            name: NAMES[var as usize].into(),
            kind: Kind::Int,
            dims: self.of(
                &[usual[0].clone(), usual[1].clone(), usual[2].clone(), vec![]],
                var as usize,
            ),
            attributes: 0,
        })
    }

    fn dim(&mut self, dim: i32) -> Result<(CString, u64)> {
        Ok((c"d".into(), self.lengths[dim as usize]))
    }

    fn get_attribute(&mut self, _var: i32, name: &CStr, _memory: Kind) -> Result<Vec<u8>> {
        match self.below(16) {
            2 => return fail(ENOTATT),
            1 => return fail(-33),
            _ => (),
        }
        let usual = if name == c"array_order" { 0 } else { 3 };
        Ok(self.of(&TEXTS, usual).into())
    }

    fn attribute(&mut self, _var: i32, _name: &CStr) -> Result<Attribute> {
        Ok(Attribute {
            kind: Kind::Char,
            length: self.of(&LENGTHS, 0),
        })
    }

    fn counts(&mut self) -> Result<Counts> {
        Ok(Counts {
            dims: 4,
            vars: 3,
            attributes: 3,
            unlimited: -1,
        })
    }

    fn read(&mut self, read: &mut Transfer) -> Result<()> {
        assert_eq!(read.kind, Kind::Int64);
        assert_eq!(read.data.len() as u64, 8 * read.regions.elements());
        for word in read.data.chunks_exact_mut(8) {
            let usual = self.below(4);
            word.copy_from_slice(&self.of(&VALUES, usual).to_ne_bytes());
        }
        Ok(())
    }

    fn file_format(&mut self) -> Result<i32> {
        Ok(1)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    // What a reader of decompositions has no business with.
    fn def_dim(&mut self, _: &CStr, _: Option<u64>) -> Result<i32> {
        fail(-1)
    }
    fn def_var(&mut self, _: &CStr, _: Kind, _: &[i32]) -> Result<i32> {
        fail(-1)
    }
    fn def_var_fill(&mut self, _: i32, _: bool, _: Option<&[u8]>) -> Result<()> {
        fail(-1)
    }
    fn inq_var_fill(&mut self, _: i32) -> Result<(bool, Vec<u8>)> {
        fail(-1)
    }
    fn set_fill(&mut self, _: bool) -> Result<bool> {
        fail(-1)
    }
    fn redef(&mut self) -> Result<()> {
        fail(-1)
    }
    fn enddef(&mut self) -> Result<()> {
        fail(-1)
    }
    fn dim_named(&mut self, _: &CStr) -> Result<i32> {
        fail(-1)
    }
    fn rename_dim(&mut self, _: i32, _: &CStr) -> Result<()> {
        fail(-1)
    }
    fn rename_var(&mut self, _: i32, _: &CStr) -> Result<()> {
        fail(-1)
    }
    fn attribute_at(&mut self, _: i32, _: i32) -> Result<CString> {
        fail(-1)
    }
    fn attribute_named(&mut self, _: i32, _: &CStr) -> Result<i32> {
        fail(-1)
    }
    fn put_attribute(&mut self, _: i32, _: &CStr, _: Kind, _: Kind, _: &[u8]) -> Result<()> {
        fail(-1)
    }
    fn rename_attribute(&mut self, _: i32, _: &CStr, _: &CStr) -> Result<()> {
        fail(-1)
    }
    fn delete_attribute(&mut self, _: i32, _: &CStr) -> Result<()> {
        fail(-1)
    }
    fn write(&mut self, _: &mut [Transfer]) -> Result<()> {
        fail(-1)
    }
}

/// Read by two ranks, of which one has the file.
pub fn decomposition(input: &[u8]) {
    let verdicts = bounded(input.len(), || {
        local::run(2, |comm| {
            let placement = IoPlacement {
                tasks: 1,
                stride: 1,
                base: 0,
            };
            let system = IoSystem::new(&comm, placement, Rearranger::Box)?;
            let format: Option<Box<dyn Format>> = match system.io_rank() {
                Some(_) => Some(Box::new(Fake::new(input))),
                None => None,
            };
            let mut file = File::new(Arc::new(system), Ok(format), false)?;
            decomp_file::read(&mut file, Some(4096)).map(drop)
        })
    });
    same_verdict(&verdicts);
}
