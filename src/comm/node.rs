//! Which node a process runs on, and how messages name a rank.

use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A rank as the user knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankName {
    /// In the communicator of the user.
    pub rank: usize,
    /// Empty if it is not known.
    pub host: String,
}

impl fmt::Display for RankName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.host.as_str() {
            "" => write!(f, "rank {}", self.rank),
            host => write!(f, "rank {} on {host}", self.rank),
        }
    }
}

/// The name of the host that this process runs on.
pub fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// A random id that the kernel makes at every boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The same number in all processes of a node, and another on every other node. Without a boot id, every process gets its
/// own.
pub(super) fn of_this_process() -> u64 {
    let mut hasher = DefaultHasher::new();
    match fs::read(BOOT_ID) {
        Ok(boot) => {
            let system = rustix::system::uname();
            (boot, system.nodename()).hash(&mut hasher);
        }
        Err(_) => {
            let now = std::time::SystemTime::now();
            (std::process::id(), now).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::RankName;

    #[test]
    fn a_rank_is_named_with_its_host_if_that_is_known() {
        let name = |host: &str| RankName {
            rank: 3,
            host: host.into(),
        };
        assert_eq!(name("node7").to_string(), "rank 3 on node7");
        assert_eq!(name("").to_string(), "rank 3");
    }

    #[test]
    fn a_process_is_always_on_the_same_node() {
        assert_eq!(super::of_this_process(), super::of_this_process());
    }
}
