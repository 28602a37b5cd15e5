//! Which builds of this library can exchange messages.
//!
//! When ranks make the private duplicate of a communicator, they compare their versions. Builds with the
//! same [`PROTOCOL`] work together, whatever their release; others are refused on all ranks.

use std::fmt;

use super::{Comm, Error, Op, Result};

/// Changes whenever a message between ranks changes: its bytes, its tag, or whether it is sent at all.
const PROTOCOL: u16 = 7;

/// A build of this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    protocol: u16,
    release: [u16; 3],
}

impl Version {
    fn own() -> Version {
        Version {
            protocol: protocol(),
            release: [
                number(env!("CARGO_PKG_VERSION_MAJOR")),
                number(env!("CARGO_PKG_VERSION_MINOR")),
                number(env!("CARGO_PKG_VERSION_PATCH")),
            ],
        }
    }

    /// In one word, whose highest bits are the protocol.
    fn to_word(self) -> u64 {
        let [major, minor, patch] = self.release.map(u64::from);
        u64::from(self.protocol) << 48 | major << 32 | minor << 16 | patch
    }

    fn of_word(word: u64) -> Version {
        let part = |shift: u32| (word >> shift) as u16;
        Version {
            protocol: part(48),
            release: [part(32), part(16), part(0)],
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [major, minor, patch] = self.release;
        write!(f, "{major}.{minor}.{patch} (protocol {})", self.protocol)
    }
}

const fn number(text: &str) -> u16 {
    match u16::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("versions consist of numbers"),
    }
}

/// Refuses ranks of another protocol.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
pub(super) fn check_same<C: Comm>(comm: &C) -> Result<()> {
    let own = Version::own().to_word();
    let mut extremes = [own, !own];
    comm.allreduce(Op::Max, &mut extremes)?;
    let [highest, lowest] = [extremes[0], !extremes[1]].map(Version::of_word);
    if lowest.protocol == highest.protocol {
        return Ok(());
    }
    Err(Error::OtherVersion { lowest, highest })
}

#[cfg(not(any(test, feature = "faults")))]
fn protocol() -> u16 {
    PROTOCOL
}

#[cfg(any(test, feature = "faults"))]
use pretended::protocol;
#[cfg(any(test, feature = "faults"))]
pub use pretended::set_protocol;

/// Makes this thread pretend to be another build, for tests.
#[cfg(any(test, feature = "faults"))]
mod pretended {
    use std::cell::Cell;

    thread_local! {
        static PRETENDED: Cell<u16> = const { Cell::new(super::PROTOCOL) };
    }

    pub(super) fn protocol() -> u16 {
        PRETENDED.try_with(Cell::get).unwrap_or(super::PROTOCOL)
    }

    /// Returns the previous one.
    pub fn set_protocol(protocol: u16) -> u16 {
        PRETENDED.replace(protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::super::local::run;
    use super::*;

    #[test]
    fn a_word_keeps_a_version() {
        let version = Version {
            protocol: 7,
            release: [1, 20, 300],
        };
        assert_eq!(Version::of_word(version.to_word()), version);
        assert_eq!(version.to_string(), "1.20.300 (protocol 7)");
    }

    #[test]
    fn one_rank_of_another_protocol_is_refused_by_all_with_both_names() {
        for size in [2, 3, 5] {
            for other in 0..size {
                let ended = run(size, |comm| {
                    if comm.rank() == other {
                        set_protocol(PROTOCOL + 9);
                    }
                    check_same(&comm).unwrap_err().to_string()
                });
                let own = Version::own();
                let number = |protocol| format!("protocol {protocol}");
                let another = own
                    .to_string()
                    .replace(&number(PROTOCOL), &number(PROTOCOL + 9));
                let names = format!("{own} and {another}");
                assert!(ended.iter().all(|text| text.ends_with(&names)), "{ended:?}");
            }
        }
    }

    #[test]
    fn ranks_of_one_protocol_work_together() {
        assert!(run(3, |comm| check_same(&comm)).iter().all(Result::is_ok));
    }
}
