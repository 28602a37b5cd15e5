//! Distributed sparing: assigns a spare unit to each lost unit of a group.
//!
//! Spares are the last units of a group and are spread like the others. All verdicts count spares as units, so wherever
//! the units of a group move, a further failure that the layout tolerates costs at most K of them. Each lost unit takes
//! the free spare in the least crowded domains, comparing the outermost level first.

use std::ops::Range;

use super::{Domain, Error, FileId, Layout, Result, TargetAddress, UnitAddress};

/// Marks a lost unit without a spare.
pub const UNPLACED: u32 = u32::MAX;

impl Layout {
    /// Moves the units of a group away from failed domains. `slots` holds the slot of each data and parity unit:
    /// initially its own number, [`UNPLACED`] for none. `failed` are all failed domains, those of earlier repairs
    /// included. Returns how many units are left without a slot.
    pub fn repair(
        &self,
        file: FileId,
        group: u64,
        failed: &[Domain],
        slots: &mut [u32],
    ) -> Result<u32> {
        let all = self.group_size() as usize;
        self.check_slots(slots)?;
        failed
            .iter()
            .try_for_each(|&domain| self.tree().check(domain))?;
        let gone = self.tree().leaves_below_all(failed);
        let mut targets = Vec::with_capacity(all);
        for unit in 0..all as u32 {
            let TargetAddress { target, .. } = self.place(file, UnitAddress { group, unit })?;
            targets.push(target as usize);
        }
        let is_gone = |slot: u32| is_in(&gone, targets[slot as usize]);
        for slot in slots.iter_mut() {
            if *slot != UNPLACED && is_gone(*slot) {
                *slot = UNPLACED;
            }
        }
        let lost = slots.iter().filter(|slot| **slot == UNPLACED).count() as u64;
        let parity = self.units().parity;
        if lost > u64::from(parity) {
            return Err(Error::Lost {
                group,
                lost,
                parity,
            });
        }
        let spares = slots.len() as u32..all as u32;
        let mut free: Vec<u32> = spares
            .filter(|spare| !is_gone(*spare) && !slots.contains(spare))
            .collect();
        for unit in 0..slots.len() {
            if slots[unit] == UNPLACED {
                slots[unit] = self.take_emptiest(&mut free, slots, &targets);
            }
        }
        Ok(slots.iter().filter(|slot| **slot == UNPLACED).count() as u32)
    }

    /// Takes the free spare whose domains hold the fewest units, comparing the outermost level first.
    fn take_emptiest(&self, free: &mut Vec<u32>, slots: &[u32], targets: &[usize]) -> u32 {
        let crowd = |&spare: &u32| -> Vec<usize> {
            let crowd_in = |&level: &usize| {
                let domain = |slot: u32| self.tree().ancestor(targets[slot as usize], level);
                let used = slots.iter().filter(|slot| **slot != UNPLACED);
                used.filter(|&&slot| domain(slot) == domain(spare)).count()
            };
            self.plan().levels().iter().map(crowd_in).collect()
        };
        let best = (0..free.len()).min_by_key(|&place| crowd(&free[place]));
        best.map_or(UNPLACED, |place| free.remove(place))
    }

    fn check_slots(&self, slots: &[u32]) -> Result<()> {
        let units = self.units();
        let (found, wanted) = (slots.len(), (units.data + units.parity) as usize);
        if found != wanted {
            return Err(Error::Slots { found, wanted });
        }
        let mut sorted: Vec<u32> = slots.iter().copied().filter(|&s| s != UNPLACED).collect();
        sorted.sort_unstable();
        let group = self.group_size();
        match sorted.last() {
            Some(&unit) if u64::from(unit) >= group => Err(Error::NoUnit { unit, units: group }),
            _ if sorted.windows(2).any(|pair| pair[0] == pair[1]) => Err(Error::SlotTwice),
            _ => Ok(()),
        }
    }
}

fn is_in(ranges: &[Range<usize>], leaf: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= leaf);
    ranges.get(next).is_some_and(|range| range.start <= leaf)
}
