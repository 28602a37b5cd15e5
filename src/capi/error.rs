//! The last error of each thread; its text is formatted when somebody asks for it.
//!
//! Nothing here panics: not when standard error is closed or full, and not in a thread that is ending and has no
//! thread-locals any more (`atexit`, destructors of C).

use super::boundary::Text;
use crate::{kvtree, log};
use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::{fmt, ptr};

#[derive(Default)]
enum Last {
    #[default]
    None,
    Other(Box<dyn fmt::Display>),
    Tree(kvtree::Error),
}

/// Keys up to this length need no memory.
const SHORT: usize = 31;

/// A key that is not set, with its NUL; empty if the last error is another one. Many callers expect it, so that noting
/// it is cheap: no destructor, no allocation, no formatting.
type ShortKey = [u8; SHORT + 1];
const NONE: ShortKey = [0; SHORT + 1];

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last::None) };
    static MISSING: Cell<ShortKey> = const { Cell::new(NONE) };
}

/// Keeps an error for `stanchion_last_error` and logs it; its text is formatted only for whoever asks.
pub fn remember(error: impl fmt::Display + 'static) {
    log!(Error, "{error}");
    replace(Last::Other(Box::new(error)));
}

/// As [`remember`]; a key that is not set is no error to log.
pub fn keep(error: kvtree::Error) {
    match error {
        kvtree::Error::NotSet(_) => keep_answer(error),
        _ => {
            log!(Error, "{error}");
            replace(Last::Tree(error));
        }
    }
}

/// As [`keep`] where the caller asked whether something is there, and it is not.
pub fn keep_answer(error: kvtree::Error) {
    log!(Debug, "{error}");
    replace(Last::Tree(error));
}

/// As [`keep`] for a key that is not set.
#[inline]
pub fn not_set(key: Text) {
    let text = key.get().unwrap_or_default();
    let bytes = text.to_bytes_with_nul();
    let is_short = (2..=SHORT + 1).contains(&bytes.len());
    if !is_short || log::is_on(log::LogLevel::Debug) {
        return keep_key(text);
    }
    // Copied in place: a copy of the whole array would wait for the bytes that were just stored.
    let _ = MISSING.try_with(|place| {
        // SAFETY: the place has room for that many bytes, and is this thread's alone.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr().cast(), bytes.len()) }
    });
}

#[cold]
#[inline(never)]
fn keep_key(key: &CStr) {
    keep(kvtree::Error::NotSet(key.into()));
}

fn replace(last: Last) {
    // In a thread that is ending nobody reads it.
    let _ = MISSING.try_with(|place| place.set(NONE));
    let _ = LAST.try_with(|place| {
        if let Ok(mut place) = place.try_borrow_mut() {
            *place = last;
        }
    });
}

pub fn last() -> String {
    let missing = MISSING.try_with(Cell::get).unwrap_or(NONE);
    let key = CStr::from_bytes_until_nul(&missing).ok();
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        return kvtree::Error::NotSet(key.into()).to_string();
    }
    let text = |place: &RefCell<Last>| match place.try_borrow().as_deref() {
        Ok(Last::Other(error)) => error.to_string(),
        Ok(Last::Tree(error)) => error.to_string(),
        Ok(Last::None) | Err(_) => String::new(),
    };
    LAST.try_with(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_the_one_that_came_last() {
        let long = std::ffi::CString::new("x".repeat(SHORT + 1)).unwrap();
        let miss = |key: &CStr| not_set(key.into());
        for key in [c"absent", c"", &long, c"\xff"] {
            remember("before");
            miss(key);
            let text = format!("key {:?} is not set", key.to_string_lossy());
            assert_eq!(last(), text);
            assert_eq!(last(), text);
            keep(kvtree::Error::NullKey);
            assert_eq!(last(), kvtree::Error::NullKey.to_string());
            miss(c"again");
            remember("after");
            assert_eq!(last(), "after");
        }
    }
}
