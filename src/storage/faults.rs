//! Faults for tests: chosen system calls of this thread fail, come up short, or never happen.
//!
//! ```ignore
//! for n in 0.. {
//!     let plan = faults::plan([faults::fail(Errno::NOSPC).at(n)]);
//!     let outcome = replace(&path, b"new");
//!     let fired = plan.fired();
//!     drop(plan);
//!     /* check the files against the outcome */
//!     if !fired { break }
//! }
//! ```
//! A plan belongs to one thread: with ranks as threads, one rank can fail alone.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use rustix::fs::Stat;
use rustix::io::{Errno, Result};

use super::Operation;

/// What every operation of a crashed process returns: no code here retries or excuses it.
pub const CRASHED: Errno = Errno::CANCELED;

#[derive(Clone, Copy, Debug)]
enum Effect {
    Fail(Errno),
    Short(usize),
    Crash,
}

/// One fault and the operations it applies to: all of them until narrowed.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    effect: Effect,
    only: Option<Operation>,
    first: usize,
    once: bool,
    seen: usize,
}

/// The operation is not carried out and returns `errno`.
pub fn fail(errno: Errno) -> Rule {
    rule(Effect::Fail(errno))
}

/// The read or write moves at most `bytes` bytes. Other operations are not counted.
pub fn short(bytes: usize) -> Rule {
    rule(Effect::Short(bytes))
}

/// The process dies before the operation: it and all later ones, cleanup included, do nothing.
pub fn crash() -> Rule {
    rule(Effect::Crash)
}

fn rule(effect: Effect) -> Rule {
    Rule {
        effect,
        only: None,
        first: 0,
        once: false,
        seen: 0,
    }
}

impl Rule {
    /// Counts and hits only operations of this kind.
    pub fn of(self, kind: Operation) -> Self {
        Self {
            only: Some(kind),
            ..self
        }
    }

    /// Hits once: the `n`-th operation that counts, from 0.
    pub fn at(self, n: usize) -> Self {
        Self {
            first: n,
            once: true,
            ..self
        }
    }

    /// Hits all operations that count from the `n`-th on: a disk that is full stays full.
    pub fn from(self, n: usize) -> Self {
        Self { first: n, ..self }
    }

    fn counts(&self, op: Operation) -> bool {
        let moves_bytes = matches!(op, Operation::Read | Operation::Write);
        let possible = moves_bytes || !matches!(self.effect, Effect::Short(_));
        possible && self.only.is_none_or(|only| only == op)
    }

    fn hits(&mut self, op: Operation) -> bool {
        if !self.counts(op) {
            return false;
        }
        let index = self.seen;
        self.seen += 1;
        index == self.first || index > self.first && !self.once
    }
}

#[derive(Default)]
struct FaultState {
    rules: Vec<Rule>,
    trace: Vec<Operation>,
    fired: bool,
    crashed: bool,
}

impl FaultState {
    fn before(&mut self, op: Operation) -> Result<usize> {
        self.trace.push(op);
        if self.crashed {
            return Err(CRASHED);
        }
        let mut effect = None;
        for rule in &mut self.rules {
            // Every rule counts the operation, also when an earlier one decides about it.
            if rule.hits(op) {
                effect = effect.or(Some(rule.effect));
            }
        }
        self.fired |= effect.is_some();
        match effect {
            None => Ok(usize::MAX),
            Some(Effect::Short(bytes)) => Ok(bytes),
            Some(Effect::Fail(errno)) => Err(errno),
            Some(Effect::Crash) => {
                self.crashed = true;
                Err(CRASHED)
            }
        }
    }
}

type Watcher = Rc<dyn Fn()>;

thread_local! {
    static ACTIVE: RefCell<Option<FaultState>> = const { RefCell::new(None) };
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Calls `watcher` ahead of every system call of this thread, until the guard is dropped. If it unwinds, the process
/// counts as dead: system calls of destructors do nothing.
pub fn watch(watcher: impl Fn() + 'static) -> ActiveWatch {
    WATCHER.set(Some(Rc::new(watcher)));
    ActiveWatch(PhantomData)
}

/// A watcher in force. It cannot leave its thread.
#[must_use = "the watch ends when the guard is dropped"]
pub struct ActiveWatch(PhantomData<*const ()>);

impl Drop for ActiveWatch {
    fn drop(&mut self) {
        WATCHER.set(None);
    }
}

/// Puts the rules in force on this thread, in place of any earlier plan, until the guard is dropped.
/// A plan without rules only records.
pub fn plan(rules: impl IntoIterator<Item = Rule>) -> ActivePlan {
    let rules = rules.into_iter().collect();
    let state = FaultState {
        rules,
        ..FaultState::default()
    };
    ACTIVE.set(Some(state));
    ActivePlan(PhantomData)
}

/// A plan in force. It cannot leave its thread.
#[must_use = "the plan ends when the guard is dropped"]
pub struct ActivePlan(PhantomData<*const ()>);

impl ActivePlan {
    /// Whether any rule has hit so far.
    pub fn fired(&self) -> bool {
        self.read(|state| state.fired)
    }

    /// The operations asked for so far, in order, including those that a fault replaced.
    pub fn trace(&self) -> Vec<Operation> {
        self.read(|state| state.trace.clone())
    }

    fn read<T: Default>(&self, get: impl FnOnce(&FaultState) -> T) -> T {
        ACTIVE.with_borrow(|state| state.as_ref().map(get).unwrap_or_default())
    }
}

impl Drop for ActivePlan {
    fn drop(&mut self) {
        ACTIVE.set(None);
    }
}

/// Zeroes the nanoseconds of times for a watched thread: their digits change the length of headers, and with it the number
/// of calls.
pub(super) fn still(mut stat: Stat) -> Stat {
    if WATCHER.with_borrow(Option::is_some) {
        let times = [
            &mut stat.st_atime_nsec,
            &mut stat.st_mtime_nsec,
            &mut stat.st_ctime_nsec,
        ];
        times.into_iter().for_each(|nanoseconds| *nanoseconds = 0);
    }
    stat
}

/// Called ahead of every system call: how many bytes it may move, or the error it returns instead.
pub(super) fn before(op: Operation) -> Result<usize> {
    if let Some(watcher) = WATCHER.with_borrow(Clone::clone) {
        if std::thread::panicking() {
            return Err(CRASHED);
        }
        watcher();
    }
    ACTIVE.with_borrow_mut(|state| match state {
        Some(state) => state.before(op),
        None => Ok(usize::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{Open, Read, Write};

    #[test]
    fn a_rule_counts_only_its_kind() {
        let plan = plan([fail(Errno::IO).of(Write).at(1)]);
        assert_eq!(before(Write), Ok(usize::MAX));
        assert_eq!(before(Read), Ok(usize::MAX));
        assert!(!plan.fired());
        assert_eq!(before(Write), Err(Errno::IO));
        assert_eq!(before(Write), Ok(usize::MAX));
        assert!(plan.fired());
        assert_eq!(plan.trace(), [Write, Read, Write, Write]);
    }

    #[test]
    fn a_full_disk_stays_full() {
        let _plan = plan([fail(Errno::NOSPC).of(Write).from(1)]);
        let outcomes = [Write, Read, Write, Write].map(before);
        let full = Err(Errno::NOSPC);
        assert_eq!(outcomes, [Ok(usize::MAX), Ok(usize::MAX), full, full]);
    }

    #[test]
    fn a_watcher_that_unwinds_ends_the_process() {
        struct Tidy<'a>(&'a mut Option<Result<usize>>);
        impl Drop for Tidy<'_> {
            fn drop(&mut self) {
                *self.0 = Some(before(Operation::Unlink));
            }
        }
        let mut tidied = None;
        let _watch = watch(|| std::panic::resume_unwind(Box::new(())));
        let death = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _tidy = Tidy(&mut tidied);
            before(Write)
        }));
        assert!(death.is_err());
        assert_eq!(tidied, Some(Err(CRASHED)));
    }

    #[test]
    fn nothing_works_after_a_crash() {
        let plan = plan([crash().at(1), short(3)]);
        assert_eq!(before(Write), Ok(3));
        assert_eq!(before(Open), Err(CRASHED));
        assert_eq!(before(Write), Err(CRASHED));
        drop(plan);
        assert_eq!(before(Write), Ok(usize::MAX));
    }
}
