//! The text of the last error of each thread.

use crate::log;
use std::cell::RefCell;
use std::fmt;

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the text for `stanchion_last_error` and logs it.
pub fn remember(text: impl fmt::Display) {
    let text = text.to_string();
    log!(Error, "{text}");
    // At the end of a thread the place is gone before the last functions have run: atexit calls them later.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

pub fn last() -> String {
    LAST.try_with(|last| last.borrow().clone())
        .unwrap_or_default()
}
