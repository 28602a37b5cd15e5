//! The panic boundary: C never sees a Rust panic.

use super::error;
use crate::reserve;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; a panic becomes `failed` and a text for `stanchion_last_error`.
///
/// Unwind safety is asserted: after a panic a tree may lack a change, but its links are whole, since rooms allocate before
/// they link.
pub(super) fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    reserve::refill();
    caught(failed, body)
}

/// As [`guard`] for a call that is not collective: returns `short` at once while memory is short. A collective call must
/// not return early, or the other ranks would wait: there the next agreement reports it.
pub(super) fn guard_alone<T>(failed: T, short: T, body: impl FnOnce() -> T) -> T {
    reserve::refill();
    if reserve::is_short() {
        error::remember(reserve::SHORT);
        return short;
    }
    caught(failed, body)
}

fn caught<T>(failed: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|cause| {
        // Formatting the message may panic, too.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| tell(cause))) {
            std::mem::forget(another);
        }
        failed
    })
}

fn tell(cause: Box<dyn Any + Send>) {
    let text = cause
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| cause.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown cause");
    error::remember(format!("internal error: {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_failure_value_and_a_text() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let value = guard(7, || panic!("gone {}", "wrong"));
        std::panic::set_hook(hook);
        assert_eq!(value, 7);
        assert!(error::last().contains("gone wrong"));
    }

    #[test]
    fn a_call_is_refused_while_memory_is_short() {
        reserve::PRETENDED.set(true);
        assert_eq!(guard_alone(7, 6, || 8), 6);
        assert_eq!(guard(7, || 8), 8);
        reserve::PRETENDED.set(false);
        assert_eq!(guard_alone(7, 6, || 8), 8);
        assert!(error::last().contains("memory"));
    }

    /// The payload of a panic may panic itself when it is dropped.
    #[test]
    fn a_panic_while_handling_one_stays_inside() {
        struct Worse;
        impl Drop for Worse {
            fn drop(&mut self) {
                panic!("worse");
            }
        }
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let value = guard(7, || std::panic::panic_any(Worse));
        std::panic::set_hook(hook);
        assert_eq!(value, 7);
    }
}
