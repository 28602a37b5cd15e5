//! Standard error without SIGPIPE, which a broken pipe raises and which ends a process by default: the signal is blocked in
//! this thread during the write, and consumed if the write has raised it.
#![allow(unsafe_code)]

use std::io::{ErrorKind, Write};
use std::mem::MaybeUninit;
use std::ptr;

/// What cannot be written is dropped.
pub(super) fn write(line: &[u8]) {
    let blocked = Blocked::begin();
    let written = std::io::stderr().write_all(line);
    let is_broken = written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
    if let Some(blocked) = blocked {
        blocked.end(is_broken);
    }
}

/// SIGPIPE is blocked in this thread.
struct Blocked {
    signal: libc::sigset_t,
    /// The thread's mask before.
    before: libc::sigset_t,
}

impl Blocked {
    /// `None` if a SIGPIPE is pending already: it is the program's, and another would merge with it.
    fn begin() -> Option<Blocked> {
        let (mut signal, mut waiting, mut before) = (empty(), empty(), empty());
        // SAFETY: sets of ours, which are initialized.
        unsafe {
            libc::sigaddset(&mut signal, libc::SIGPIPE);
            libc::sigpending(&mut waiting);
            if libc::sigismember(&waiting, libc::SIGPIPE) == 1 {
                return None;
            }
            let code = libc::pthread_sigmask(libc::SIG_BLOCK, &signal, &mut before);
            (code == 0).then_some(Blocked { signal, before })
        }
    }

    fn end(self, is_raised: bool) {
        let at_once = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: sets of ours, which are initialized.
        unsafe {
            if is_raised {
                libc::sigtimedwait(&self.signal, ptr::null_mut(), &at_once);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut());
        }
    }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initializes the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}
