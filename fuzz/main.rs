//! Feeds changed files to every parser, from the numbers of the inputs alone: any of them can be run again.
//!
//! `--target <name>` only this one, `--seconds <n>` or `--inputs <n>` for each target, `--first <n>` the first input,
//! `--seed <n>`. A target is a plain function of bytes: `parsers` get the bytes of a file, `sets` and `decomposition` take
//! their decisions from them and change a good file in its structure, checksums put right. `watch` sees to crashes, time
//! and memory.

mod decomposition;
mod mutate;
mod parsers;
mod sets;
mod targets;
mod watch;

use mutate::Random;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use targets::{Source, TARGETS, Target};

#[global_allocator]
static ALLOCATOR: watch::Counting = watch::Counting;

struct Asked {
    target: Option<String>,
    seed: u64,
    first: u64,
    inputs: u64,
    time: Duration,
}

fn asked() -> Option<Asked> {
    let forever = Duration::from_secs(u32::MAX.into());
    let mut asked = Asked {
        target: None,
        seed: 1,
        first: 0,
        inputs: u64::MAX,
        time: Duration::from_secs(2),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--target" => asked.target = Some(value),
            "--seed" => asked.seed = value.parse().ok()?,
            "--first" => asked.first = value.parse().ok()?,
            "--inputs" => (asked.inputs, asked.time) = (value.parse().ok()?, forever),
            "--seconds" => asked.time = Duration::from_secs(value.parse().ok()?),
            _ => return None,
        }
    }
    Some(asked)
}

/// How many inputs were run, and whether all of them ended well.
fn run(target: &Target, index: usize, corpus: &[Vec<u8>], asked: &Asked) -> (u64, bool) {
    watch::enter(target.name);
    let start = Instant::now();
    let mut number = asked.first;
    let end = asked.first.saturating_add(asked.inputs);
    while number < end && start.elapsed() < asked.time {
        let mut random = Random::of(asked.seed, index, number);
        let input = match corpus.get(number as usize) {
            Some(good) => good.clone(),
            None if corpus.is_empty() => random.bytes(48),
            None => {
                let mut input = corpus[random.below(corpus.len())].clone();
                random.change(&mut input);
                input
            }
        };
        if !watch::input(number, || (target.run)(&input)) {
            return (number - asked.first, false);
        }
        number += 1;
    }
    (number - asked.first, true)
}

/// A directory of this program alone, in memory where there is one; and no file may grow large.
fn enter_directory() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let directory = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let directory = directory.expect("a directory can be made");
    std::env::set_current_dir(directory.path()).expect("it can be entered");
    let most = libc::rlimit {
        rlim_cur: 64 << 20,
        rlim_max: 64 << 20,
    };
    // SAFETY: plain calls of the system.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &most);
    }
    directory
}

fn main() -> ExitCode {
    let Some(asked) = asked() else {
        eprintln!(
            "usage: fuzz [--target <name>] [--seconds <n> | --inputs <n>] [--first <n>] [--seed <n>]"
        );
        return ExitCode::from(2);
    };
    let _directory = enter_directory();
    stanchion::log::set_level(0);
    watch::check();
    targets::check();
    watch::begin();
    let (mut all, mut well) = (0, true);
    for (index, target) in TARGETS.iter().enumerate() {
        if asked
            .target
            .as_ref()
            .is_some_and(|name| name != target.name)
        {
            continue;
        }
        let corpus = match target.source {
            Source::Files(load) => load(),
            Source::Choices => Vec::new(),
        };
        let start = Instant::now();
        let (inputs, ended_well) = run(target, index, &corpus, &asked);
        let verdict = if ended_well { "" } else { "  FAILED" };
        println!(
            "{inputs:>9} inputs  {:>5} s  {}{verdict}",
            start.elapsed().as_secs(),
            target.name
        );
        all += inputs;
        well &= ended_well;
    }
    println!("{all:>9} inputs in all");
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
