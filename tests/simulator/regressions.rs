//! Lives that once showed a finding.

use crate::{Life, Tally};

/// How many of them show one again.
pub fn run() -> u64 {
    0
}

fn _again(life: &impl Life) -> u64 {
    match life.live(&mut Tally::default()) {
        Ok(()) => 0,
        Err(finding) => {
            println!("once mended, now again: {}\n{life:#?}", finding.0);
            1
        }
    }
}
