//! Log messages: silent unless the level enables them.
//!
//! The level comes from `stanchion_set_log_level` or, before that, from `STANCHION_LOG`; without either
//! from the settings of an API that has one for it.
//! Messages go to the sink that the C API installed, or to standard error, where each names its rank and host. One that
//! cannot be written, because standard error is full, closed or a broken pipe, is dropped: no call fails for a message.

mod origin;
mod standard_error;

use std::fmt;
use std::sync::{
    Mutex, RwLock,
    atomic::{AtomicI32, Ordering},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum LogLevel {
    Error = 1,
    Warning = 2,
    Info = 3,
    Debug = 4,
}

impl LogLevel {
    /// The level with this number, or the one closest to it.
    pub fn nearest(number: i32) -> LogLevel {
        match number {
            ..=1 => LogLevel::Error,
            2 => LogLevel::Warning,
            3 => LogLevel::Info,
            4.. => LogLevel::Debug,
        }
    }
}

/// Receives every message that passes the level.
pub type LogSink = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Above every level: the first message takes the slow path and reads the environment, later ones cost one comparison.
const UNKNOWN: i32 = i32::MAX;
static LEVEL: AtomicI32 = AtomicI32::new(UNKNOWN);
/// Whether the program or its environment has chosen the level; held while the level changes.
static CHOSEN: Mutex<Option<bool>> = Mutex::new(None);
static SINK: RwLock<Option<LogSink>> = RwLock::new(None);

pub fn set_level(level: i32) {
    let mut chosen = CHOSEN.lock().unwrap_or_else(|e| e.into_inner());
    *chosen = Some(true);
    LEVEL.store(in_range(level), Ordering::Relaxed);
}

/// Sets the level for when neither the program nor its environment has chosen one.
pub fn set_default_level(level: LogLevel) {
    let mut chosen = CHOSEN.lock().unwrap_or_else(|e| e.into_inner());
    if !*chosen.get_or_insert_with(ask_environment) {
        LEVEL.store(level as i32, Ordering::Relaxed);
    }
}

pub fn level() -> i32 {
    match LEVEL.load(Ordering::Relaxed) {
        UNKNOWN => first_level(),
        level => level,
    }
}

#[cold]
fn first_level() -> i32 {
    let mut chosen = CHOSEN.lock().unwrap_or_else(|e| e.into_inner());
    chosen.get_or_insert_with(ask_environment);
    LEVEL.load(Ordering::Relaxed)
}

/// Sets the level of the environment, or none; returns whether the environment has one.
fn ask_environment() -> bool {
    let asked = std::env::var("STANCHION_LOG").ok();
    let level: Option<i32> = asked.and_then(|text| text.trim().parse().ok());
    LEVEL.store(level.map_or(0, in_range), Ordering::Relaxed);
    level.is_some()
}

fn in_range(level: i32) -> i32 {
    level.clamp(0, LogLevel::Debug as i32)
}

pub fn set_sink(sink: Option<LogSink>) {
    *SINK.write().unwrap_or_else(|e| e.into_inner()) = sink;
}

/// Whether messages of this level are enabled.
#[inline]
pub fn is_on(level: LogLevel) -> bool {
    let level = level as i32;
    level <= LEVEL.load(Ordering::Relaxed) && level <= self::level()
}

/// Formats the text only if the level is enabled.
#[inline]
pub fn write(level: LogLevel, text: fmt::Arguments) {
    if is_on(level) {
        write_wanted(level, text);
    }
}

#[cold]
fn write_wanted(level: LogLevel, text: fmt::Arguments) {
    match &*SINK.read().unwrap_or_else(|e| e.into_inner()) {
        Some(sink) => sink(level, &text.to_string()),
        None => to_standard_error(text),
    }
}

/// Prints a message whatever the level. Raises no SIGPIPE, and drops what cannot be written.
pub(crate) fn to_standard_error(text: fmt::Arguments) {
    // In one piece, since many ranks may write.
    let line = format!("stanchion: {}: {text}\n", origin::here());
    standard_error::write(line.as_bytes());
}

#[macro_export]
macro_rules! log {
    ($level:ident, $($arg:tt)*) => {
        $crate::log::write($crate::log::LogLevel::$level, format_args!($($arg)*))
    };
}
