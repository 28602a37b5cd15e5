//! The last error of each thread, and its text once somebody asks for it.
//!
//! Nothing here panics: not when standard error is closed or full, and not in a thread that is ending and has no
//! thread-locals any more (`atexit`, destructors of C).

use crate::{kvtree, log};
use std::cell::RefCell;
use std::fmt;

#[derive(Default)]
enum Last {
    #[default]
    None,
    Text(String),
    /// A key that is not set is often no surprise: nothing is formatted before somebody wants to read it.
    Tree(kvtree::Error),
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last::None) };
}

/// Keeps the text for `stanchion_last_error` and logs it.
pub fn remember(text: impl fmt::Display) {
    let text = text.to_string();
    log!(Error, "{text}");
    replace(Last::Text(text));
}

/// As [`remember`], but formats only what is logged.
pub fn keep(error: kvtree::Error) {
    log!(Error, "{error}");
    replace(Last::Tree(error));
}

fn replace(last: Last) {
    // A thread that is ending has nobody to read it.
    let _ = LAST.try_with(|place| {
        if let Ok(mut place) = place.try_borrow_mut() {
            *place = last;
        }
    });
}

pub fn last() -> String {
    let text = |place: &RefCell<Last>| match place.try_borrow().as_deref() {
        Ok(Last::Text(text)) => text.clone(),
        Ok(Last::Tree(error)) => error.to_string(),
        Ok(Last::None) | Err(_) => String::new(),
    };
    LAST.try_with(text).unwrap_or_default()
}
