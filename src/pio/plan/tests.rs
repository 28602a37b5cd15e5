use super::*;
use crate::comm::local::run;
use crate::pio::alloc::fuse;
use crate::pio::error::ENOMEM;
use crate::pio::{Decomp, IoPlacement, Kind};

/// Entries without a pattern, in no order, a part of them on each rank.
fn map_of(rank: usize, ranks: usize) -> Vec<i64> {
    let mut entries: Vec<i64> = (1..=600).map(|n| n * 7 % 601).collect();
    entries.swap(3, 500);
    let entries = entries.into_iter().enumerate();
    let own = entries.filter(|(at, n)| (at * at + *n as usize) % ranks == rank);
    own.map(|(_, entry)| entry).collect()
}

/// What all ranks get if memory runs out on rank `failing` after so many requests, and whether it did.
fn verdicts(
    rearranger: Rearranger,
    failing: usize,
    requests: u32,
) -> Vec<(std::result::Result<(), i32>, bool)> {
    run(4, |comm| {
        let placement = IoPlacement {
            tasks: 2,
            stride: 2,
            base: 0,
        };
        let rank = comm.rank();
        let system = IoSystem::new(&comm, placement, rearranger).unwrap();
        let map = map_of(rank, 4);
        let spec = DecompSpec::new(Kind::Int, vec![601], rearranger);
        fuse::light((rank == failing).then_some(requests));
        let made = Decomp::new(&system, &spec, &map);
        let burnt = rank == failing && !fuse::is_lit();
        fuse::light(None);
        (made.map(drop).map_err(|error| error.code()), burnt)
    })
}

#[test]
fn memory_that_runs_out_on_one_rank_is_everybodys_error() {
    for rearranger in [Rearranger::Box, Rearranger::Subset] {
        for failing in 0..4 {
            let mut failures = 0;
            for requests in 0.. {
                let ended = verdicts(rearranger, failing, requests);
                let verdict = ended[0].0;
                assert!(
                    ended.iter().all(|(other, _)| *other == verdict),
                    "{ended:?}"
                );
                if !ended[failing].1 {
                    assert_eq!(verdict, Ok(()));
                    break;
                }
                failures += u32::from(verdict == Err(ENOMEM));
            }
            assert!(failures > 5, "{failures}");
        }
    }
}
