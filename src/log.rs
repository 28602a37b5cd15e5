//! Messages for people: silent unless a level asks for them.
//!
//! The level comes from `stanchion_set_log_level` or, before that, from `STANCHION_LOG`; without either
//! from the settings of an API that has one for it.
//! Messages go to the sink that the C API installed, or to standard error. One that cannot be written, because
//! standard error is full or closed or nobody reads it, is dropped: no call fails for a message.

mod standard_error;

use std::fmt;
use std::sync::{
    OnceLock, RwLock,
    atomic::{AtomicI32, Ordering},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Level {
    Error = 1,
    Warning = 2,
    Info = 3,
    Debug = 4,
}

impl Level {
    /// The level with this number, or the one closest to it.
    pub fn nearest(number: i32) -> Level {
        match number {
            ..=1 => Level::Error,
            2 => Level::Warning,
            3 => Level::Info,
            4.. => Level::Debug,
        }
    }
}

/// Receives every message that passes the level.
pub type Sink = Box<dyn Fn(Level, &str) + Send + Sync>;

const UNSET: i32 = -1;
static LEVEL: AtomicI32 = AtomicI32::new(UNSET);
static DEFAULT: AtomicI32 = AtomicI32::new(0);
static SINK: RwLock<Option<Sink>> = RwLock::new(None);

pub fn set_level(level: i32) {
    LEVEL.store(level.clamp(0, Level::Debug as i32), Ordering::Relaxed);
}

/// What is logged where nobody has chosen a level.
pub fn set_default_level(level: Level) {
    DEFAULT.store(level as i32, Ordering::Relaxed);
}

pub fn level() -> i32 {
    match LEVEL.load(Ordering::Relaxed) {
        UNSET => level_of_environment().unwrap_or(DEFAULT.load(Ordering::Relaxed)),
        level => level,
    }
}

fn level_of_environment() -> Option<i32> {
    static FROM_ENV: OnceLock<Option<i32>> = OnceLock::new();
    *FROM_ENV.get_or_init(|| {
        let asked = std::env::var("STANCHION_LOG").ok()?;
        let level: i32 = asked.trim().parse().ok()?;
        Some(level.clamp(0, Level::Debug as i32))
    })
}

pub fn set_sink(sink: Option<Sink>) {
    *SINK.write().unwrap_or_else(|e| e.into_inner()) = sink;
}

/// Whether messages of this level are wanted.
pub fn is_on(level: Level) -> bool {
    level as i32 <= self::level()
}

pub fn write(level: Level, text: fmt::Arguments) {
    if !is_on(level) {
        return;
    }
    let text = text.to_string();
    match &*SINK.read().unwrap_or_else(|e| e.into_inner()) {
        Some(sink) => sink(level, &text),
        None => to_standard_error(&format!("stanchion: {text}\n")),
    }
}

/// For what is told whatever the level. No signal comes of it, and what cannot be written is dropped.
pub(crate) fn to_standard_error(line: &str) {
    standard_error::write(line.as_bytes());
}

#[macro_export]
macro_rules! log {
    ($level:ident, $($arg:tt)*) => {
        $crate::log::write($crate::log::Level::$level, format_args!($($arg)*))
    };
}
