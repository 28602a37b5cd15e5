//! The box rearranger: each I/O task holds one contiguous block of the array, or the region that the user gave it.

use super::blocks::{Blocks, EvenBlocks, UserBlocks};
use super::pattern::{Pattern, to_blocks};
use super::{HeldElements, Plan, agree_on_end, parse_map, total};
use crate::comm::{Comm, Op, Sparse};
use crate::pio::map::Map;
use crate::pio::{DecompSpec, Error, Hyperslabs, IoSystem, Result, agree};
use crate::wire;

pub(super) fn plan<C: Sparse>(
    system: &IoSystem<C>,
    spec: &DecompSpec,
    map: &[i64],
    regular: Option<Map>,
) -> Result<Plan> {
    let rank = system.comm.rank();
    let shares = blocks_of(system, spec).and_then(|blocks| {
        let map = match regular {
            Some(map) => map,
            None => parse_map(spec, map, rank, |part| blocks.divide(part))?,
        };
        let map_len = map.length;
        let (shares, globals) = blocks.shares(map)?;
        Ok((blocks, shares, globals, map_len))
    });
    let (blocks, shares, globals, map_len) = agree(&system.comm, shares)?;
    let task = system.io_rank();
    let rank_of = |task: usize| system.io_ranks[task];
    let made = to_blocks(&system.comm, rank_of, task, &blocks, shares);
    let checked = made.and_then(|(pattern, coverage)| {
        let duplicate = coverage.duplicate.filter(|_| !spec.read_only);
        match task.zip(duplicate) {
            Some((task, place)) => Err(Error::Duplicate {
                element: blocks.global(task, place),
            }),
            None => Ok((pattern, coverage)),
        }
    });
    let (to_io, coverage) = agree(&system.comm, checked)?;
    let mut sums = [coverage.held];
    system.comm.allreduce(Op::Sum, &mut sums)?;
    let regions = task.map_or_else(Hyperslabs::default, |task| blocks.regions(task));
    let (regions, longest, streams) = agree_on_end(system, Ok(regions), to_io.length, &to_io)?;
    Ok(Plan {
        map_len,
        globals,
        holding: HeldElements::Hyperslabs(regions.clone()),
        held_regions: regions,
        to_io,
        to_blocks: Pattern::default(),
        writes_blocks: false,
        reads_blocks: false,
        streams,
        blocks: Hyperslabs::default(),
        longest,
        has_holes: sums[0] < total(&spec.dims)?,
    })
}

/// Even blocks, or the regions that the user gives on the I/O tasks. Collective.
fn blocks_of<C: Comm>(system: &IoSystem<C>, spec: &DecompSpec) -> Result<Blocks> {
    let given = spec.io_region.as_ref().filter(|_| system.io.is_some());
    let mut any = [u64::from(given.is_some())];
    system.comm.allreduce(Op::Max, &mut any)?;
    if any[0] == 0 {
        total(&spec.dims)?;
        return Ok(Blocks::Even(EvenBlocks::new(spec, system.io_ranks.len())));
    }
    let regions = share_regions(system, spec.dims.len(), given)?;
    UserBlocks::new(&spec.dims, regions).map(Blocks::User)
}

/// The regions of all I/O tasks, on all ranks. Collective.
fn share_regions<C: Comm>(
    system: &IoSystem<C>,
    dimensions: usize,
    given: Option<&(Vec<u64>, Vec<u64>)>,
) -> Result<Hyperslabs> {
    let width = 2 * dimensions;
    let mut all = vec![0; system.io_ranks.len() * width * 8];
    if let Some(io) = &system.io {
        let mut own = vec![0; width];
        if let Some((start, count)) = given.filter(|(s, c)| s.len() + c.len() == width) {
            own[..dimensions].copy_from_slice(start);
            own[dimensions..].copy_from_slice(count);
        }
        let mut bytes = Vec::new();
        wire::put(&mut bytes, &own);
        io.allgather(&bytes, &mut all)?;
    }
    system.comm.bcast(system.io_root(), &mut all)?;
    let words: Vec<u64> = wire::numbers(&all).collect();
    let mut regions = Hyperslabs::new(dimensions);
    for region in words.chunks(width) {
        regions.push(&region[..dimensions], &region[dimensions..]);
    }
    Ok(regions)
}
