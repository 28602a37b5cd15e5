//! Errors, their codes in PIO, and how a failure of one rank becomes one verdict on all.

use crate::comm::{self, Comm, Op, PeerFailure, RankName};
use crate::reserve;

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
    #[error("the file was opened for reading only")]
    ReadOnly,
    #[error("variable {var} has dimensions {file:?}, the decomposition {decomp:?}")]
    Shape {
        var: i32,
        file: Vec<u64>,
        decomp: Vec<u64>,
    },
    #[error("variable {var} has no record {frame}")]
    Frame { var: i32, frame: i64 },
    #[error("memory has run out: {0} bytes are needed")]
    Memory(u64),
    #[error("{path}: {text}")]
    Storage { path: String, text: String },
    /// A file library cannot be loaded.
    #[error("{title} cannot be used: {text}")]
    Library { title: &'static str, text: String },
    /// A file library failed; the code is its own, which PIO shares.
    #[error("{call}: {text}")]
    Format {
        call: &'static str,
        code: i32,
        text: String,
    },
    /// Arrays that were buffered could not be written.
    #[error("{cause}; what was buffered for {arrays} is lost")]
    Lost { cause: Box<Error>, arrays: String },
    #[error("{0}")]
    Comm(String),
    /// Another rank of the collective failed.
    #[error("{failure}")]
    Peer { code: i32, failure: PeerFailure },
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// PIO's error code.
    pub fn code(&self) -> i32 {
        match self {
            Error::NoSuch { .. } => EBADID,
            Error::Null(_) | Error::Invalid(_) => EINVAL,
            Error::Bounds { .. } | Error::Duplicate { .. } => EINVAL,
            Error::Homeless(_) | Error::Overlap(..) => EINVAL,
            Error::IoType(_) | Error::Library { .. } => EBADIOTYPE,
            Error::Rearranger(_) => EBADREARR,
            Error::Kind(_) => EBADTYPE,
            Error::ReadOnly => EPERM,
            Error::Shape { .. } => EVARDIMMISMATCH,
            Error::Frame { .. } => EINVALCOORDS,
            Error::Memory(_) => ENOMEM,
            Error::Lost { cause, .. } => cause.code(),
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
pub const EPERM: i32 = -37;
pub const EINVALCOORDS: i32 = -40;
pub const EBADTYPE: i32 = -45;
pub const ENOMEM: i32 = -61;
/// The caller's buffer is too small.
pub const EINSUFFBUF: i32 = -219;
pub const EIO: i32 = -68;
pub const EBADIOTYPE: i32 = -500;
/// SCORPIO has no code for it, and uses NCAR's for something else.
pub const EVARDIMMISMATCH: i32 = if cfg!(feature = "pio_ncar") {
    -501
} else {
    EINVAL
};
pub const EBADREARR: i32 = -502;

/// Our texts for the codes of the file libraries that PIO itself returns.
pub(super) fn own_words(code: i32) -> Option<&'static str> {
    Some(match code {
        EBADID => "no such I/O system, decomposition or file",
        EINVAL => "invalid argument",
        EPERM => "the file may only be read",
        EINVALCOORDS => "an index is outside of the variable",
        EBADTYPE => "not a type of data",
        ENOMEM => "memory has run out",
        EINSUFFBUF => "the buffer is too small",
        EIO => "communication or a file failed",
        _ => return None,
    })
}

impl From<comm::Error> for Error {
    fn from(error: comm::Error) -> Self {
        Error::Comm(error.to_string())
    }
}

/// Turns the local results of all ranks into one verdict: `Ok` everywhere, or the code of the lowest rank
/// that failed everywhere.
pub fn agree<C: Comm, T>(comm: &C, local: Result<T>) -> Result<T> {
    agree_with(comm, local, &mut [])
}

/// As [`agree`]; `least` is min-reduced over all ranks in the same allreduce.
pub fn agree_with<C: Comm, T>(comm: &C, local: Result<T>, least: &mut [u64]) -> Result<T> {
    let local = local.and_then(|value| match reserve::is_short() {
        true => Err(Error::Memory(reserve::BYTES as u64)),
        false => Ok(value),
    });
    let own = match &local {
        Ok(_) => u64::MAX,
        Err(error) => (comm.rank() as u64) << 32 | u64::from(error.code() as u32),
    };
    let mut words = vec![own];
    words.extend_from_slice(least);
    comm.allreduce(Op::Min, &mut words)?;
    least.copy_from_slice(&words[1..]);
    if words[0] == u64::MAX {
        return local;
    }
    let (rank, code) = ((words[0] >> 32) as usize, words[0] as u32 as i32);
    let failure = comm::share_failure(comm, rank, || match &local {
        Err(Error::Peer { failure, .. }) => failure.clone(),
        Err(error) => PeerFailure::of(comm, error.to_string()),
        Ok(_) => PeerFailure::of(comm, String::new()),
    })?;
    match local {
        Err(error) if rank == comm.rank() => Err(error),
        _ => Err(Error::Peer { code, failure }),
    }
}

/// As [`agree`] for ranks that must give the same arguments: an error on all of them unless all digests are equal.
pub fn agree_same<C: Comm, T>(comm: &C, what: &str, local: Result<(T, u64)>) -> Result<T> {
    let mut digests = match &local {
        Ok((_, digest)) => [*digest, !*digest],
        Err(_) => [u64::MAX; 2],
    };
    let (local, _) = agree_with(comm, local, &mut digests)?;
    if digests[0] == !digests[1] {
        return Ok(local);
    }
    Err(different(comm, what))
}

/// The error when ranks' arguments differ.
pub(super) fn different<C: Comm>(comm: &C, what: &str) -> Error {
    let text = format!("the ranks ask for different {what}");
    match comm.rank() {
        0 => Error::Invalid(text),
        _ => {
            let (rank, host) = (comm.user_rank(0), String::new());
            let who = RankName { rank, host };
            Error::Peer {
                code: EINVAL,
                failure: PeerFailure { who, text },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::local::run;

    #[test]
    fn the_lowest_rank_that_failed_decides() {
        let ended = run(4, |comm| {
            let local = match comm.rank() {
                1 => Err(Error::Memory(7)),
                3 => Err(Error::Null("map")),
                rank => Ok(rank),
            };
            agree(&comm, local).unwrap_err()
        });
        assert!(ended.iter().all(|error| error.code() == ENOMEM));
        let own = ended.iter().filter(|e| !matches!(e, Error::Peer { .. }));
        assert_eq!(own.count(), 1);
    }

    #[test]
    fn ranks_that_want_different_things_are_told_so() {
        let verdicts = |digest: fn(usize) -> Result<u64>| {
            let ended = run(3, |comm| {
                let local = digest(comm.rank()).map(|digest| (comm.rank(), digest));
                agree_same(&comm, "dimensions", local)
            });
            ended
                .into_iter()
                .map(|verdict| verdict.map_err(|e| e.code()))
                .collect::<Vec<_>>()
        };
        assert_eq!(verdicts(|_| Ok(9)), [Ok(0), Ok(1), Ok(2)]);
        assert_eq!(verdicts(|rank| Ok(rank as u64 / 2)), [Err(EINVAL); 3]);
        let one_fails = |rank| match rank {
            1 => Err(Error::Kind(99)),
            _ => Ok(rank as u64),
        };
        assert_eq!(verdicts(one_fails), [Err(EBADTYPE); 3]);
    }
}
