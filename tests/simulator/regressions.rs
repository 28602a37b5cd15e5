//! Lives that once showed a finding, and calls with a death at each of their steps.

use stanchion::fenix::Policy;
use stanchion::redset::Scheme;

use crate::fenix::{self, FenixLife};
use crate::gather::{self, GatherLife};
use crate::redset::{RedsetLife, Step};
use crate::trouble::{Fault, Trouble};
use crate::{Life, Tally};

/// How many of them show a finding.
pub fn run() -> u64 {
    let redset = [
        old_disks_return(),
        a_survivor_goes_on_alone(),
        memory_for_blocks_is_refused(),
        files_of_a_larger_job_return(),
    ];
    redset.iter().flatten().map(again).sum::<u64>()
        + renames_are_interrupted().iter().map(again).sum::<u64>()
        + again(&a_rank_is_new_when_a_member_is_first_stored())
}

fn again(life: &impl Life) -> u64 {
    match life.live(&mut Tally::default()) {
        Ok(()) => 0,
        Err(finding) => {
            println!("once mended, now again: {}\n{life:#?}", finding.0);
            1
        }
    }
}

fn life(ranks: usize, steps: Vec<Step>) -> RedsetLife {
    RedsetLife {
        ranks,
        set_size: ranks,
        ranks_per_node: 1,
        ranks_per_group: 1,
        files: 1,
        size: 300,
        resizes: false,
        in_place: true,
        block: None,
        steps,
    }
}

fn apply(scheme: Scheme, faults: Vec<Fault>) -> Step {
    Step::Apply {
        scheme,
        trouble: with(faults),
    }
}

fn with(faults: Vec<Fault>) -> Trouble {
    Trouble {
        faults,
        ..Trouble::none()
    }
}

/// Recover mixed two generations, or refused to rebuild the rank that has the old one.
fn old_disks_return() -> Vec<RedsetLife> {
    let schemes = [
        Scheme::Copies { replicas: 1 },
        Scheme::Xor,
        Scheme::ReedSolomon { k: 1 },
    ];
    let returned = |scheme: Scheme| {
        (1..8).map(move |parts| {
            let steps = vec![
                apply(scheme, vec![]),
                apply(scheme, vec![]),
                Step::Return {
                    rank: 1,
                    age: 1,
                    parts,
                },
                Step::Verify(with(vec![])),
                Step::Recover(with(vec![])),
                Step::Verify(with(vec![])),
            ];
            life(3, steps)
        })
    };
    schemes.into_iter().flat_map(returned).collect()
}

/// A survivor that had heard of the death exchanged headers with one that waited for it in the engine.
fn a_survivor_goes_on_alone() -> Vec<RedsetLife> {
    let dies = |nth| Fault::Dies { rank: 5, nth };
    let scheme = Scheme::ReedSolomon { k: 2 };
    let dies = (40..72).step_by(4).map(|nth| {
        let steps = vec![
            apply(scheme, vec![]),
            apply(scheme, vec![dies(nth)]),
            Step::Lose { ranks: vec![2] },
            Step::Recover(with(vec![dies(nth)])),
            Step::Recover(with(vec![])),
        ];
        RedsetLife {
            in_place: false,
            size: 3000,
            block: Some(64),
            ..life(6, steps)
        }
    });
    dies.collect()
}

/// The process ended.
fn memory_for_blocks_is_refused() -> Vec<RedsetLife> {
    let refused = (0..4).map(|nth| {
        let refused = vec![Fault::Memory { rank: 0, nth }];
        let steps = vec![
            apply(Scheme::Xor, vec![]),
            Step::Verify(with(refused.clone())),
            Step::Lose { ranks: vec![1] },
            Step::Recover(with(refused)),
            Step::Recover(with(vec![])),
        ];
        life(3, steps)
    });
    refused.collect()
}

/// Old and new files were read together.
fn renames_are_interrupted() -> Vec<GatherLife> {
    let interrupted = (20..140).map(|nth| GatherLife {
        ranks: 4,
        segment: 128,
        values: 4,
        steps: vec![
            gather::Step::Write(with(vec![])),
            gather::Step::Write(with(vec![Fault::AllDie { nth }])),
            gather::Step::Read(with(vec![])),
            gather::Step::ReadSingle,
        ],
    });
    interrupted.collect()
}

/// Recover failed: their descriptors are of ranks that there are no more.
fn files_of_a_larger_job_return() -> Vec<RedsetLife> {
    let schemes = [
        Scheme::Copies { replicas: 1 },
        Scheme::Xor,
        Scheme::ReedSolomon { k: 1 },
    ];
    let returned = |scheme: Scheme| {
        let age = 1;
        let parts = [4, 7].into_iter();
        parts.map(move |parts| {
            let steps = vec![
                apply(scheme, vec![]),
                Step::Shrink,
                apply(scheme, vec![]),
                Step::Return {
                    rank: 0,
                    age,
                    parts,
                },
                Step::Verify(with(vec![])),
                Step::Recover(with(vec![])),
                Step::Verify(with(vec![])),
            ];
            life(3, steps)
        })
    };
    schemes.into_iter().flat_map(returned).collect()
}

/// Two ranks of a set had lost a snapshot in which the member was not stored, one after the other; the second could not
/// get back what it had stored since.
fn a_rank_is_new_when_a_member_is_first_stored() -> FenixLife {
    use fenix::{Call, Step};
    let work = |calls| Step::Work {
        calls,
        trouble: with(vec![]),
    };
    let store = Call::Store {
        member: 1,
        subset: 2330617419722774117,
    };
    FenixLife {
        ranks: 4,
        policy: Policy::Parity {
            separation: 2,
            set_size: 3,
        },
        depth: Some(3),
        checksums: true,
        elements: 3,
        steps: vec![
            work(vec![Call::BarrierAndCommit]),
            Step::Lose { ranks: vec![0, 2] },
            Step::Restore(with(vec![])),
            Step::Lose { ranks: vec![3] },
            work(vec![store, Call::Commit]),
            Step::Restore(with(vec![])),
        ],
    }
}
