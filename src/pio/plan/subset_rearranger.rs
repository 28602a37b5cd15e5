//! The subset rearranger: each I/O task holds the elements of its own group of ranks, in global order.

use super::blocks::{Blocks, EvenBlocks};
use super::coverage::Coverage;
use super::merge::{Merged, merge};
use super::pattern::{PLANNING, Pattern, Peer, to_blocks};
use super::{HeldElements, Plan, agree_on_end, parse_map, total};
use crate::comm::{self, Comm, Op, Sparse};
use crate::log;
use crate::pio::map::Map;
use crate::pio::sequence::Sequence;
use crate::pio::{DecompSpec, Error, Hyperslabs, IoSystem, Result, agree};

/// Hyperslabs of fewer bytes on average are made into blocks before they reach the file.
const SMALL_REGION: u64 = 64 << 10;

/// A read through blocks fetches at most this many elements for each one that is wanted.
const MOST_UNWANTED: u64 = 16;

pub(super) fn plan<C: Sparse>(
    system: &IoSystem<C>,
    spec: &DecompSpec,
    map: &[i64],
    regular: Option<Map>,
) -> Result<Plan> {
    let rank = system.comm.rank();
    let parsed = regular.map_or_else(|| parse_map(spec, map, rank, |_| true), Ok);
    let map = agree(&system.comm, parsed)?;
    let io_rank = system.io_ranks[system.groups.task_of(rank)];
    let (members, merged) = gather_maps(system, io_rank, total(&spec.dims)?, &map.globals)?;
    let (merged, gathered) = match merged {
        Ok(merged) => (merged, Ok(())),
        Err(error) => (Merged::default(), Err(error)),
    };
    let Merged {
        held,
        places,
        duplicate,
    } = merged;
    // Ranks with nothing to exchange send no message.
    let peer =
        |(rank, places): (_, Sequence)| (!places.is_empty()).then_some(Peer { rank, places });
    let to_io = Pattern {
        out: peer((io_rank, map.locals)).into_iter().collect(),
        into: members.into_iter().zip(places).filter_map(peer).collect(),
        length: held.len(),
        covered: true,
        disjoint: duplicate.is_none(),
    };
    let second = plan_blocks(system, spec, &held);
    let checked = gathered.and(second).and_then(|(pattern, regions, found)| {
        match duplicate.or(found.duplicate).filter(|_| !spec.read_only) {
            Some(element) if spec.strict => Err(Error::Duplicate { element }),
            duplicate => Ok((pattern, regions, found.held, duplicate)),
        }
    });
    let (to_blocks, blocks, covered, duplicate) = agree(&system.comm, checked)?;
    if let Some(element) = duplicate {
        log!(
            Warning,
            "element {element} of the array is held in more than one place of the maps; one of its values is written"
        );
    }
    let draft = Plan {
        map_len: map.length,
        globals: map.globals,
        to_io,
        to_blocks,
        writes_blocks: false,
        reads_blocks: false,
        streams: false,
        holding: match system.io {
            Some(_) => HeldElements::Elements(spec.dims.clone(), held),
            None => HeldElements::Nothing,
        },
        held_regions: Hyperslabs::default(),
        blocks,
        longest: 0,
        has_holes: false,
    };
    finish(system, spec, draft, covered)
}

/// On an I/O task, the ranks of its group and the union of what they hold. Collective.
fn gather_maps<C: Comm>(
    system: &IoSystem<C>,
    io_rank: usize,
    total: u64,
    own: &Sequence,
) -> Result<(Vec<usize>, Result<Merged>)> {
    let rank = system.comm.rank();
    let members = system.io_rank().map(|task| system.groups.members(task));
    let members = members.unwrap_or_default();
    let mut packed = Ok(());
    let mut message = None;
    if io_rank != rank {
        // A rank without memory sends an empty message, which its I/O task refuses.
        message = Some(own.to_bytes().unwrap_or_else(|error| {
            packed = Err(error);
            Vec::new()
        }));
    }
    let sends: Vec<(usize, &[u8])> = message.iter().map(|bytes| (io_rank, &bytes[..])).collect();
    let from: Vec<usize> = members.iter().copied().filter(|m| *m != rank).collect();
    let mut came = comm::transfer_unsized(&system.comm, PLANNING + 2, &sends, &from)?.into_iter();
    let lists = members.iter().map(|member| match *member == rank {
        true => own.copied(),
        false => {
            let list = Sequence::from_bytes(&came.next().unwrap_or_default())?;
            let inside = list.end() <= total;
            let wrong = || {
                let member = system.comm.user_rank(*member);
                Error::Comm(format!("rank {member} sends a map that leaves the array"))
            };
            inside.then_some(list).ok_or_else(wrong)
        }
    });
    let lists = lists.collect::<Result<Vec<Sequence>>>();
    let merged = packed.and(lists).and_then(|lists| merge(&lists));
    Ok((members, merged))
}

/// The exchange from what the I/O tasks hold to even blocks. Collective over the I/O tasks.
fn plan_blocks<C: Sparse>(
    system: &IoSystem<C>,
    spec: &DecompSpec,
    held: &Sequence,
) -> Result<(Pattern, Hyperslabs, Coverage)> {
    let Some(io) = &system.io else {
        return Ok(Default::default());
    };
    let map = held.copied().map(|globals| Map {
        length: held.len() as usize,
        globals,
        locals: Sequence::block(0, held.len()),
    });
    let blocks = Blocks::Even(EvenBlocks::new(spec, io.size()));
    let (shares, shared) = match map.and_then(|map| blocks.shares(map)) {
        Ok((shares, _)) => (shares, Ok(())),
        Err(error) => (Vec::new(), Err(error)),
    };
    let task = io.rank();
    let made = to_blocks(io, |task| task, Some(task), &blocks, shares);
    let (pattern, mut found) = shared.and(made)?;
    found.duplicate = found.duplicate.map(|place| blocks.global(task, place));
    Ok((pattern, blocks.regions(task), found))
}

/// Decides whether writes and reads go through blocks, and drops what is not needed. `covered`: elements of this task's
/// block that some rank holds. Collective.
fn finish<C: Comm>(
    system: &IoSystem<C>,
    spec: &DecompSpec,
    mut plan: Plan,
    covered: u64,
) -> Result<Plan> {
    let total = total(&spec.dims)?;
    let stretches = match &plan.holding {
        HeldElements::Elements(_, held) => held.stretches(),
        _ => 0,
    };
    let mut sums = [plan.to_io.length, stretches, covered];
    system.comm.allreduce(Op::Sum, &mut sums)?;
    let [held, stretches, covered] = sums;
    let small = held * (spec.kind.size() as u64) < stretches * SMALL_REGION;
    let small = small && stretches > system.io_ranks.len() as u64;
    plan.has_holes = covered < total;
    plan.writes_blocks = !spec.read_only && (small || plan.has_holes);
    plan.reads_blocks = small && held * MOST_UNWANTED >= total;
    let longest = plan.to_io.length.max(plan.to_blocks.length);
    if !plan.writes_blocks && !plan.reads_blocks {
        plan.to_blocks = Pattern::default();
    }
    let regions = match plan.writes_blocks && plan.reads_blocks {
        true => Ok(Hyperslabs::default()),
        false => plan.holding.regions(),
    };
    let (regions, longest, streams) = agree_on_end(system, regions, longest, &plan.to_io)?;
    Ok(Plan {
        held_regions: regions,
        longest,
        streams: streams && !plan.reads_blocks,
        ..plan
    })
}
