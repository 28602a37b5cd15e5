//! Making plans.
//!
//! Box: every rank knows by arithmetic which task each of its elements goes to and tells it; a task learns
//! who will send only from that. Subset: every rank sends its map to the I/O task of its group, which merges
//! them. What the I/O tasks then hold is a map again, this time of blocks of the whole array on the I/O tasks:
//! the box rearranger among the I/O tasks alone. It finds elements held twice in different groups, and its
//! plan is kept where it pays.
//!
//! A rank that fails locally goes on without elements up to the next agreement.

use std::ops::Range;

use super::blocks::{Blocks, Even, Given};
use super::coverage::Found;
use super::decomp::{Layout, Outside};
use super::map::Map;
use super::merge::{Merged, merge};
use super::plan::{Held, Plan, Rearranger};
use super::route::{Leg, PLANNING, Route, to_blocks};
use super::sequence::Sequence;
use super::{Error, IoSystem, Regions, Result, agree, agree_with, memory};
use crate::comm::{self, Comm, Op, Sparse};
use crate::log;

/// Regions of fewer bytes on average are made into blocks before they reach the file.
const SMALL_REGION: u64 = 64 << 10;

/// A read through blocks fetches at most so many elements for one that is wanted.
const MOST_UNWANTED: u64 = 16;

/// The number of elements of an array.
pub(super) fn total(dims: &[u64]) -> Result<u64> {
    let product = dims.iter().try_fold(1u64, |total, d| total.checked_mul(*d));
    match product.filter(|total| *total > 0 && *total <= i64::MAX as u64) {
        Some(total) if !dims.is_empty() => Ok(total),
        _ => Err(Error::Invalid(format!(
            "{dims:?} are no dimensions of an array"
        ))),
    }
}

/// `regular`: this rank's map, if it is regular.
pub(super) fn plan<C: Sparse>(
    system: &IoSystem<C>,
    layout: &Layout,
    regular: Option<Map>,
) -> Result<Plan> {
    match layout.rearranger {
        Rearranger::Box => plan_box(system, layout, regular),
        Rearranger::Subset => plan_subset(system, layout, regular),
    }
}

/// This rank's map, in order where `sorted` asks for it.
fn map_of(
    layout: &Layout,
    regular: Option<Map>,
    rank: usize,
    sorted: impl Fn(Range<u64>) -> bool,
) -> Result<Map> {
    if let Some(map) = regular {
        return Ok(map);
    }
    let total = total(layout.dims)?;
    let make = |entries: &[i64]| Map::sorted_within(entries, total, rank, &sorted);
    match make(layout.map) {
        Err(wrong @ Error::Bounds { .. }) if layout.outside != Outside::Refused => {
            let (entries, replaced) = within_bounds(layout, total)?;
            let map = make(&entries)?;
            let how = match layout.outside {
                Outside::Wrapped => "counted on from the beginning of the array",
                _ => "taken for holes",
            };
            log!(Warning, "{wrong}; {replaced} such entries are {how}");
            Ok(map)
        }
        made => made,
    }
}

/// The map with something else in place of what is not in the array, and how many entries that is.
fn within_bounds(layout: &Layout, total: u64) -> Result<(Vec<i64>, usize)> {
    let mut kept = memory::list(layout.map.len())?;
    let is_inside = |entry: i64| entry >= 0 && entry as u64 <= total;
    let within = |&entry: &i64| match is_inside(entry) {
        true => entry,
        false => layout.outside.replace(entry, total),
    };
    kept.extend(layout.map.iter().map(within));
    let replaced = layout.map.iter().filter(|entry| !is_inside(**entry));
    let count = replaced.count();
    Ok((kept, count))
}

fn plan_box<C: Sparse>(
    system: &IoSystem<C>,
    layout: &Layout,
    regular: Option<Map>,
) -> Result<Plan> {
    let rank = system.comm.rank();
    let shares = blocks_of(system, layout).and_then(|blocks| {
        let map = map_of(layout, regular, rank, |part| blocks.divide(part))?;
        let map_len = map.length;
        let (shares, globals) = blocks.shares(map)?;
        Ok((blocks, shares, globals, map_len))
    });
    let (blocks, shares, globals, map_len) = agree(&system.comm, shares)?;
    let task = system.io_rank();
    let rank_of = |task: usize| system.io_ranks[task];
    let made = to_blocks(&system.comm, rank_of, task, &blocks, shares);
    let checked = made.and_then(|(route, found)| {
        let duplicate = found.duplicate.filter(|_| !layout.read_only);
        match task.zip(duplicate) {
            Some((task, place)) => Err(Error::Duplicate {
                element: blocks.global(task, place),
            }),
            None => Ok((route, found)),
        }
    });
    let (first, found) = agree(&system.comm, checked)?;
    let mut sums = [found.held];
    system.comm.allreduce(Op::Sum, &mut sums)?;
    let straight = task.map_or_else(Regions::default, |task| blocks.regions(task));
    let (straight, longest, streams) = agree_on_end(system, Ok(straight), first.length, &first)?;
    Ok(Plan {
        map_len,
        globals,
        held: Held::Regions(straight.clone()),
        straight,
        first,
        second: Route::default(),
        writes_blocks: false,
        reads_blocks: false,
        streams,
        blocks: Regions::default(),
        longest,
        has_holes: sums[0] < total(layout.dims)?,
    })
}

/// The last agreement: on what is left to go wrong, with the longest buffer of all ranks, and whether what any I/O task
/// reads can be sent on as it comes.
fn agree_on_end<C: Comm, T>(
    system: &IoSystem<C>,
    own: Result<T>,
    longest: u64,
    first: &Route,
) -> Result<(T, u64, bool)> {
    let mut least = [u64::MAX - longest, first.ascends().into()];
    let own = agree_with(&system.comm, own, &mut least)?;
    Ok((own, u64::MAX - least[0], least[1] == 1))
}

/// Even blocks, or the regions that the user gives on the I/O tasks.
fn blocks_of<C: Comm>(system: &IoSystem<C>, layout: &Layout) -> Result<Blocks> {
    let given = layout.io_region.filter(|_| system.io.is_some());
    let mut any = [u64::from(given.is_some())];
    system.comm.allreduce(Op::Max, &mut any)?;
    if any[0] == 0 {
        let (element, tasks) = (layout.kind.size(), system.io_ranks.len());
        total(layout.dims)?;
        let even = Even::new(layout.dims, element, tasks, layout.block_size);
        return Ok(Blocks::Even(even));
    }
    let regions = share_regions(system, layout.dims.len(), given)?;
    Given::new(layout.dims, regions).map(Blocks::Given)
}

/// The regions of all I/O tasks, on all ranks.
fn share_regions<C: Comm>(
    system: &IoSystem<C>,
    dimensions: usize,
    given: Option<(&[u64], &[u64])>,
) -> Result<Regions> {
    let width = 2 * dimensions;
    let mut all = vec![0; system.io_ranks.len() * width * 8];
    if let Some(io) = &system.io {
        let mut own = vec![0; width];
        if let Some((start, count)) = given.filter(|(s, c)| s.len() + c.len() == width) {
            own[..dimensions].copy_from_slice(start);
            own[dimensions..].copy_from_slice(count);
        }
        let own: Vec<u8> = own.into_iter().flat_map(u64::to_le_bytes).collect();
        io.allgather(&own, &mut all)?;
    }
    system.comm.bcast(system.io_root(), &mut all)?;
    let words = all.chunks(8).filter_map(|word| word.first_chunk());
    let words: Vec<u64> = words.map(|word| u64::from_le_bytes(*word)).collect();
    let mut regions = Regions::new(dimensions);
    for region in words.chunks(width) {
        regions.push(&region[..dimensions], &region[dimensions..]);
    }
    Ok(regions)
}

fn plan_subset<C: Sparse>(
    system: &IoSystem<C>,
    layout: &Layout,
    regular: Option<Map>,
) -> Result<Plan> {
    let rank = system.comm.rank();
    let map = agree(&system.comm, map_of(layout, regular, rank, |_| true))?;
    let io_rank = system.io_ranks[system.groups.task_of(system.comm.rank())];
    let (members, merged) = gather_maps(system, io_rank, &map.globals)?;
    let (merged, gathered) = match merged {
        Ok(merged) => (merged, Ok(())),
        Err(error) => (Merged::default(), Err(error)),
    };
    let Merged {
        held,
        places,
        duplicate,
    } = merged;
    // Who has nothing for each other does not talk.
    let leg = |(rank, places): (_, Sequence)| (!places.is_empty()).then_some(Leg { rank, places });
    let first = Route {
        out: leg((io_rank, map.locals)).into_iter().collect(),
        into: members.into_iter().zip(places).filter_map(leg).collect(),
        length: held.len(),
        covered: true,
        disjoint: duplicate.is_none(),
    };
    let second = second_way(system, layout, &held);
    let checked = gathered.and(second).and_then(|(route, regions, found)| {
        match duplicate.or(found.duplicate).filter(|_| !layout.read_only) {
            Some(element) if layout.strict => Err(Error::Duplicate { element }),
            duplicate => Ok((route, regions, found, duplicate)),
        }
    });
    let (second, blocks, found, duplicate) = agree(&system.comm, checked)?;
    if let Some(element) = duplicate {
        log!(
            Warning,
            "element {element} of the array is held in more than one place of the maps; one of its values is written"
        );
    }
    finish_subset(
        system,
        layout,
        Halves {
            map_len: map.length,
            globals: map.globals,
            first,
            second,
            held,
            blocks,
            found,
        },
    )
}

/// On an I/O task, the ranks of its group and what they hold together.
fn gather_maps<C: Comm>(
    system: &IoSystem<C>,
    io_rank: usize,
    own: &Sequence,
) -> Result<(Vec<usize>, Result<Merged>)> {
    let rank = system.comm.rank();
    let members = system.io_rank().map(|task| system.groups.members(task));
    let members = members.unwrap_or_default();
    // Without memory for it an empty one goes, which is no list and so everybody's error.
    let (message, packed) = match io_rank == rank {
        true => (Vec::new(), Ok(())),
        false => match own.to_bytes() {
            Ok(bytes) => (bytes, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        },
    };
    let sends: Vec<(usize, &[u8])> = match io_rank == rank {
        true => Vec::new(),
        false => vec![(io_rank, &message[..])],
    };
    let from: Vec<usize> = members.iter().copied().filter(|m| *m != rank).collect();
    let mut came = comm::transfer_unsized(&system.comm, PLANNING + 2, &sends, &from)?.into_iter();
    let lists = members.iter().map(|member| match *member == rank {
        true => own.copied(),
        false => Sequence::from_bytes(&came.next().unwrap_or_default()),
    });
    let lists = lists.collect::<Result<Vec<Sequence>>>();
    let merged = packed.and(lists).and_then(|lists| merge(&lists));
    Ok((members, merged))
}

/// From what the I/O tasks hold to blocks.
fn second_way<C: Sparse>(
    system: &IoSystem<C>,
    layout: &Layout,
    held: &Sequence,
) -> Result<(Route, Regions, Found)> {
    let Some(io) = &system.io else {
        return Ok(Default::default());
    };
    let map = held.copied().map(|globals| Map {
        length: held.len() as usize,
        globals,
        locals: Sequence::block(0, held.len()),
    });
    let even = Even::new(
        layout.dims,
        layout.kind.size(),
        io.size(),
        layout.block_size,
    );
    let blocks = Blocks::Even(even);
    let (shares, shared) = match map.and_then(|map| blocks.shares(map)) {
        Ok((shares, _)) => (shares, Ok(())),
        Err(error) => (Vec::new(), Err(error)),
    };
    let task = io.rank();
    let made = to_blocks(io, |task| task, Some(task), &blocks, shares);
    let (route, mut found) = shared.and(made)?;
    found.duplicate = found.duplicate.map(|place| blocks.global(task, place));
    Ok((route, blocks.regions(task), found))
}

/// Both halves of a subset plan, before it is decided which are kept.
struct Halves {
    map_len: usize,
    globals: Sequence,
    first: Route,
    second: Route,
    held: Sequence,
    blocks: Regions,
    found: Found,
}

fn finish_subset<C: Comm>(system: &IoSystem<C>, layout: &Layout, halves: Halves) -> Result<Plan> {
    let total = total(layout.dims)?;
    let stretches = halves.held.stretches();
    let mut sums = [halves.held.len(), stretches, halves.found.held];
    system.comm.allreduce(Op::Sum, &mut sums)?;
    let [held, stretches, covered] = sums;
    let small = held * (layout.kind.size() as u64) < stretches * SMALL_REGION;
    let small = small && stretches > system.io_ranks.len() as u64;
    let has_holes = covered < total;
    let writes_blocks = !layout.read_only && (small || has_holes);
    let reads_blocks = small && held * MOST_UNWANTED >= total;
    let uses_blocks = writes_blocks || reads_blocks;
    let longest = halves.first.length.max(halves.second.length);
    let second = if uses_blocks {
        halves.second
    } else {
        Route::default()
    };
    let held = match system.io {
        Some(_) => Held::Elements(layout.dims.to_vec(), halves.held),
        None => Held::Nothing,
    };
    let straight = match writes_blocks && reads_blocks {
        true => Ok(Regions::default()),
        false => held.regions(),
    };
    let (straight, longest, streams) = agree_on_end(system, straight, longest, &halves.first)?;
    Ok(Plan {
        map_len: halves.map_len,
        globals: halves.globals,
        first: halves.first,
        second,
        writes_blocks,
        reads_blocks,
        streams: streams && !reads_blocks,
        held,
        straight,
        blocks: halves.blocks,
        longest,
        has_holes,
    })
}

#[cfg(test)]
mod tests;
