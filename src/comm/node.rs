//! Which node a process runs on.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

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
    #[test]
    fn a_process_is_always_on_the_same_node() {
        assert_eq!(super::of_this_process(), super::of_this_process());
    }
}
