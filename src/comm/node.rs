//! Which node a process runs on.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

/// New at every start of a kernel.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The same number in all processes of a node, and another one on every other node. Where the system does not
/// tell, no two processes get the same.
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
    #[test]
    fn a_process_is_always_on_the_same_node() {
        assert_eq!(super::of_this_process(), super::of_this_process());
    }
}
