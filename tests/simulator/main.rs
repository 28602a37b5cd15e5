//! The simulator: whole lives of jobs, with everything that goes wrong in them, from one seed each.
//!
//! A seed gives a life: a job and a list of steps (calls of the library with faults in them, and what happens to disks
//! and ranks between calls). Ranks are threads of which one runs at a time, so a seed gives the same run whenever it
//! is repeated. After every step the job is compared with a model of what it must be. A life that shows a finding is
//! reduced and printed as Rust, to be kept in `regressions.rs`.
//!
//! `scripts/simulate.sh` runs it by hand, for hours: `--from <seed>`, `--seeds <n>`, `--seconds <n>`; `--only
//! redset|gather|fenix` lives only lives of one kind. Without arguments it runs as long as a test may.

mod chance;
mod disk;
mod fenix;
mod gather;
mod redset;
mod reduce;
mod regressions;
mod scarce;
mod trouble;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use chance::Chance;

/// What must not happen, but did.
#[derive(Debug)]
pub struct Finding(pub String);

pub type Checked<T = ()> = Result<T, Finding>;

/// A job and all that happens to it.
pub trait Life: Clone + Debug {
    fn random(chance: &mut Chance) -> Self;

    /// Ends at the first finding.
    fn live(&self, tally: &mut Tally) -> Checked;

    /// Lives that are a little simpler, the simplest first.
    fn smaller(&self) -> Vec<Self>;
}

/// How often things happened.
#[derive(Default)]
pub struct Tally {
    times: BTreeMap<&'static str, u64>,
    /// Differs, as good as always, where two runs do.
    trace: u64,
}

impl Tally {
    pub fn note(&mut self, what: &'static str) {
        *self.times.entry(what).or_default() += 1;
    }

    /// What a run must have in common with every repetition of it.
    pub fn trace(&mut self, numbers: &[u64]) {
        self.trace = numbers
            .iter()
            .fold(self.trace, |trace, n| chance::hash(&[trace, *n]));
    }
}

/// One seed in so many is lived twice: if the runs differ, no finding could be repeated.
const TWICE: u64 = 16;

/// After so many findings somebody should look at them first.
const ENOUGH: u64 = 10;

const KINDS: [&str; 3] = ["redset", "gather", "fenix"];

struct Options {
    from: u64,
    seeds: u64,
    time: Duration,
    only: Option<String>,
    is_asked_for: bool,
}

impl Options {
    /// Arguments for the usual test harness are let pass; a filter that does not name this test leaves it out.
    fn parse(arguments: impl Iterator<Item = String>) -> Options {
        let mut options = Options {
            from: 1,
            seeds: u64::MAX,
            time: Duration::from_secs(20),
            only: None,
            is_asked_for: true,
        };
        let mut arguments = arguments.peekable();
        let number = |text: Option<String>| {
            let number = text.as_deref().map(str::parse);
            number.and_then(Result::ok).expect("a number must follow")
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--from" => options.from = number(arguments.next()),
                "--seeds" => {
                    options.seeds = number(arguments.next());
                    options.time = Duration::MAX;
                }
                "--seconds" => options.time = Duration::from_secs(number(arguments.next())),
                "--only" => options.only = arguments.next(),
                "--list" => options.is_asked_for = false,
                other if other.starts_with('-') => (),
                filter => options.is_asked_for &= "simulator".contains(filter),
            }
        }
        options
    }
}

fn main() -> ExitCode {
    let options = Options::parse(std::env::args().skip(1));
    if !options.is_asked_for {
        return ExitCode::SUCCESS;
    }
    let mut findings = regressions::run();
    let mut tally = Tally::default();
    let begun = Instant::now();
    let mut seeds = 0;
    while seeds < options.seeds && begun.elapsed() < options.time && findings < ENOUGH {
        let seed = options.from + seeds;
        let usual = KINDS[seed as usize % KINDS.len()];
        let found = match options.only.as_deref().unwrap_or(usual) {
            "redset" => one::<redset::RedsetLife>(seed, &mut tally),
            "gather" => one::<gather::GatherLife>(seed, &mut tally),
            "fenix" => one::<fenix::FenixLife>(seed, &mut tally),
            other => panic!("{other} is none of {KINDS:?}"),
        };
        findings += u64::from(found);
        seeds += 1;
    }
    println!(
        "simulator: {seeds} seeds from {}, {} s, {findings} findings",
        options.from,
        begun.elapsed().as_secs()
    );
    for (what, times) in &tally.times {
        println!("  {times:>9} {what}");
    }
    match findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Whether the life of this seed shows a finding.
fn one<L: Life>(seed: u64, tally: &mut Tally) -> bool {
    let life = L::random(&mut Chance::new(seed));
    let checked = match seed % TWICE {
        0 => live_twice(&life, tally),
        _ => life.live(tally),
    };
    let Err(finding) = checked else {
        return false;
    };
    println!("seed {seed}: {}", finding.0);
    let (life, finding) = reduce::reduce(life, finding, Duration::from_secs(20));
    println!("reduced: {}\n{}", finding.0, as_rust(&life));
    true
}

fn live_twice(life: &impl Life, tally: &mut Tally) -> Checked {
    let traces = [(); 2].map(|()| {
        let mut own = Tally::default();
        let checked = life.live(&mut own);
        (own.trace, checked)
    });
    let [(first, checked), (second, _)] = traces;
    checked?;
    life.live(tally)?;
    match first == second {
        true => Ok(()),
        false => Err(Finding("two runs of one seed differ".into())),
    }
}

/// Lists are printed as vectors, so that the text can stand in a test.
fn as_rust(life: &impl Debug) -> String {
    format!("{life:#?}").replace('[', "vec![")
}
