//! What can go wrong, its code in PIO, and how all ranks learn of it.

use crate::comm::{self, Comm, Op};

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("{what} {id} does not exist")]
    NoSuch { what: &'static str, id: i64 },
    #[error("{0} must not be NULL")]
    Null(&'static str),
    #[error("{0}")]
    Invalid(String),
    #[error(
        "entry {position} of the map of rank {rank} is {value}, outside of the {total} elements of the array"
    )]
    Bounds {
        rank: usize,
        position: u64,
        value: i64,
        total: u64,
    },
    #[error(
        "element {element} of the array is held by more than one place of the maps; data could be lost in writing"
    )]
    Duplicate { element: u64 },
    #[error("no I/O task takes element {0} of the array: the regions given leave it out")]
    Homeless(u64),
    #[error("the regions given to I/O tasks {0} and {1} overlap")]
    Overlap(usize, usize),
    #[error("{}", io_type_text(*.0))]
    IoType(i32),
    #[error("{0} is not a rearranger")]
    Rearranger(i32),
    #[error("{0} is not a type of data")]
    Kind(i32),
    #[error("memory has run out: {0} bytes are needed")]
    Memory(u64),
    #[error("{path}: {text}")]
    Storage { path: String, text: String },
    /// A file library failed; the code is its own, which PIO shares.
    #[error("{call}: {text}")]
    Format {
        call: &'static str,
        code: i32,
        text: String,
    },
    #[error("{0}")]
    Comm(String),
    /// Another rank of the collective failed.
    #[error("rank {rank} failed: {text}")]
    Peer {
        rank: usize,
        code: i32,
        text: String,
    },
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// PIO's number for it; the same in both ABIs.
    pub fn code(&self) -> i32 {
        match self {
            Error::NoSuch { .. } => EBADID,
            Error::Null(_) | Error::Invalid(_) => EINVAL,
            Error::Bounds { .. } | Error::Duplicate { .. } => EINVAL,
            Error::Homeless(_) | Error::Overlap(..) => EINVAL,
            Error::IoType(_) => EBADIOTYPE,
            Error::Rearranger(_) => EBADREARR,
            Error::Kind(_) => EBADTYPE,
            Error::Memory(_) => ENOMEM,
            Error::Storage { .. } | Error::Comm(_) => EIO,
            Error::Format { code, .. } | Error::Peer { code, .. } => *code,
        }
    }
}

fn io_type_text(iotype: i32) -> String {
    let (name, option) = match iotype {
        1 => ("PnetCDF", "STANCHION_PNETCDF"),
        2 => ("netCDF", "STANCHION_NETCDF"),
        3 | 4 => return format!("I/O type {iotype} (netCDF-4) is not supported; 1 and 2 are"),
        _ => return format!("{iotype} is not an I/O type that is supported; 1 and 2 are"),
    };
    format!("I/O type {iotype} ({name}) is not part of this build: configure it with -D{option}=ON")
}

pub const EBADID: i32 = -33;
pub const EINVAL: i32 = -36;
pub const EBADTYPE: i32 = -45;
pub const ENOMEM: i32 = -61;
pub const EIO: i32 = -68;
pub const EBADIOTYPE: i32 = -500;
pub const EBADREARR: i32 = -502;

impl From<comm::Error> for Error {
    fn from(error: comm::Error) -> Self {
        Error::Comm(error.to_string())
    }
}

/// Turns the local results of all ranks into one verdict: `Ok` everywhere, or the code of the lowest rank
/// that failed everywhere.
pub fn agree<C: Comm, T>(comm: &C, local: Result<T>) -> Result<T> {
    let own = match &local {
        Ok(_) => u64::MAX,
        Err(error) => (comm.rank() as u64) << 32 | u64::from(error.code() as u32),
    };
    let mut lowest = [own];
    comm.allreduce(Op::Min, &mut lowest)?;
    if lowest[0] == u64::MAX {
        return local;
    }
    let (rank, code) = ((lowest[0] >> 32) as usize, lowest[0] as u32 as i32);
    let text = match &local {
        Err(error) if rank == comm.rank() => error.to_string(),
        _ => String::new(),
    };
    let text = comm::share_text(comm, rank, text)?;
    match local {
        Err(error) if rank == comm.rank() => Err(error),
        _ => Err(Error::Peer { rank, code, text }),
    }
}
