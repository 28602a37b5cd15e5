//! Water-filling: a group is split among domains of unlike size as evenly as they can hold it.
//!
//! Every child of a domain gets `height` units of each group, or as many as it has targets if these are fewer. The
//! units that remain go around among the others, each group going on where the one before it ended, so that no child
//! gets two of them. How many units a domain got from all groups before some group is therefore a formula, and for a
//! target that is the frame. Rounding down again and again is the same as rounding down once, so that the way back to
//! the group is one division.

use smallvec::SmallVec;

use super::failed::{Lost, all_lost};
use super::layout::Shuffle;
use super::{Domain, Error, Layout, Place, Result, Source, Tolerance, Tree, Units};

#[derive(Clone, Debug)]
pub(super) struct Water {
    /// For each level that is kept.
    steps: Vec<Step>,
    /// Units of a group.
    group: u64,
}

/// How the domains of the level above split what they have among those of this level.
#[derive(Clone, Debug, Default)]
struct Step {
    /// Of each domain above.
    fills: Vec<Fill>,
    /// The children of each domain above, those with fewer targets first; and for each child its rank in this order.
    order: Vec<u32>,
    ranks: Vec<u32>,
    /// In that order: the units of a group that go to children before this one, other than those that go around.
    before: Vec<u64>,
    /// Of each child: the units that it gets of every group.
    least: Vec<u64>,
    /// The most that any so and so many domains of this level hold.
    losses: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Fill {
    height: u64,
    /// Units that do not go around.
    sum: u64,
    /// How many children are full.
    full: u64,
    /// Among how many the others go around.
    rest: u64,
}

/// A domain as one group sees it.
struct Seen<'a> {
    step: &'a Step,
    fill: Fill,
    level: usize,
    parent: usize,
    /// Where its children begin.
    start: usize,
    /// How many units have gone around before this group.
    gone: u64,
}

impl Fill {
    /// Units of a group in children that are full.
    fn in_full(&self) -> u64 {
        self.sum - self.rest * self.height
    }

    /// Of `units` among children with so many targets, ascending.
    fn new(sizes: &[u64], units: u64) -> Fill {
        let (mut height, mut left) = (0, units);
        for (rank, &size) in sizes.iter().enumerate() {
            let others = (sizes.len() - rank) as u64;
            let rise = (size - height).min(left / others);
            height += rise;
            left -= rise * others;
            if height < size {
                break;
            }
        }
        let full = sizes.partition_point(|&size| size <= height) as u64;
        Fill {
            height,
            sum: sizes.iter().map(|&size| size.min(height)).sum(),
            full,
            rest: sizes.len() as u64 - full,
        }
    }
}

impl Water {
    pub(super) fn new(tree: &Tree, levels: &[usize], units: Units) -> Result<Water> {
        let (group, targets) = (units.total()?, tree.leaf_count() as u64);
        if group > targets {
            return Err(Error::TooFewTargets {
                units: group,
                targets,
            });
        }
        let mut steps: Vec<Step> = Vec::with_capacity(levels.len());
        // Of each domain above: the units that it holds at least, and at most.
        let mut held = vec![(group, group)];
        let mut above = None;
        for &level in levels {
            let step;
            (step, held) = Step::new(tree, above, level, &held);
            steps.push(step);
            above = Some(level);
        }
        Ok(Water { steps, group })
    }

    /// The most units that `failed` domains of a level hold.
    pub(super) fn loss(&self, step: usize, failed: u64) -> u64 {
        let losses = &self.steps[step].losses;
        losses[(failed as usize).min(losses.len() - 1)].min(self.group)
    }

    pub(super) fn tolerance(&self, parity: u32) -> Tolerance {
        let parity = u64::from(parity);
        let exact = self.steps.iter().map(|step| {
            let tolerable = step.losses.partition_point(|&loss| loss <= parity);
            tolerable as u32 - 1
        });
        let bound = (0..self.steps.len()).map(|step| (parity / self.loss(step, 1)) as u32);
        Tolerance {
            exact: exact.collect(),
            bound: bound.collect(),
        }
    }

    pub(super) fn least(&self, step: usize, index: usize) -> u64 {
        self.steps[step].least[index]
    }

    /// What a domain that holds `units` loses at most.
    pub(super) fn lost(&self, step: usize, parent: usize, units: u64, children: &[Lost]) -> u64 {
        let step = &self.steps[step];
        let fill = step.fills[parent];
        let is_full = |lost: &&Lost| u64::from(step.ranks[lost.index]) < fill.full;
        let (full, others): (Vec<&Lost>, Vec<&Lost>) = children.iter().partition(is_full);
        let others: Vec<Lost> = others.into_iter().copied().collect();
        let around = (units - fill.sum) as usize;
        full.iter().map(|lost| lost.light).sum::<u64>() + all_lost(&others, around)
    }

    pub(super) fn place(&self, layout: &Layout, shuffle: Shuffle, source: Source) -> Result<Place> {
        let Source { group, unit } = source;
        self.check_group(group)?;
        let (mut taken, mut unit) = (group * self.group, u64::from(unit));
        let mut index = 0;
        for step in 0..self.steps.len() {
            let seen = self.see(layout, step, index, group, taken);
            let (rank, turn);
            (rank, unit, turn) = seen.child_with(shuffle, unit);
            index = seen.child(rank);
            taken = match turn {
                Some(turn) => {
                    group * seen.fill.height + taken_around(seen.gone, turn, seen.fill.rest)
                }
                None => group * seen.step.least[index],
            };
        }
        Ok(Place {
            target: index as u64,
            frame: taken,
        })
    }

    pub(super) fn source(
        &self,
        layout: &Layout,
        shuffle: Shuffle,
        place: Place,
    ) -> Result<Option<Source>> {
        self.check_group(place.frame)?;
        let way = self.way(layout, shuffle, place.target as usize);
        let group = way.group(place.frame, self.group);
        let group = group.ok_or(Error::TooLarge)?;
        self.check_group(group)?;
        let unit = way.unit(group, self.group);
        Ok(Some(Source { group, unit }))
    }

    fn way(&self, layout: &Layout, shuffle: Shuffle, target: usize) -> Way {
        let mut ways: SmallVec<[Passed; 8]> = SmallVec::new();
        let mut child = target;
        for (number, step) in self.steps.iter().enumerate().rev() {
            let parent = layout.parent(number, child);
            let fill = step.fills[parent];
            let rank = step.ranks[child];
            ways.push(match u64::from(rank).checked_sub(fill.full) {
                Some(rank) => {
                    let level = layout.plan().levels()[number];
                    let size = fill.rest as usize;
                    let turn = shuffle.backward(level, parent, size, rank as u32);
                    Passed {
                        fill,
                        least: fill.height,
                        before: fill.in_full() + rank * fill.height,
                        turn: Some(turn.into()),
                    }
                }
                None => Passed {
                    fill,
                    least: step.least[child],
                    before: step.before[layout.children(number, parent).start + rank as usize],
                    turn: None,
                },
            });
            child = parent;
        }
        ways.reverse();
        Way(ways)
    }

    /// Numbers beyond which the formulas overflow.
    fn check_group(&self, group: u64) -> Result<()> {
        match group < u64::MAX / (4 * self.group) {
            true => Ok(()),
            false => Err(Error::TooLarge),
        }
    }

    fn see(&self, layout: &Layout, step: usize, parent: usize, group: u64, taken: u64) -> Seen<'_> {
        let level = layout.plan().levels()[step];
        let start = layout.children(step, parent).start;
        let step = &self.steps[step];
        let fill = step.fills[parent];
        Seen {
            step,
            fill,
            level,
            parent,
            start,
            gone: taken - group * fill.sum,
        }
    }
}

/// The domains above a target and the target itself, each as one child of the one before.
struct Way(SmallVec<[Passed; 8]>);

struct Passed {
    /// Of the domain above.
    fill: Fill,
    least: u64,
    /// The units of a group that go to children before this one, other than those that go around.
    before: u64,
    /// Among those that units go around.
    turn: Option<u64>,
}

impl Passed {
    /// How many units it got before a group, if the domain above had units going around.
    fn taken(&self, group: u64, gone: u64) -> u64 {
        let around = match self.turn {
            Some(turn) => taken_around(gone, turn, self.fill.rest),
            None => 0,
        };
        group * self.least + around
    }

    fn unit(&self, unit: u64, gone: u64) -> u64 {
        let Fill {
            height, sum, rest, ..
        } = self.fill;
        match self.turn {
            Some(turn) if unit >= height => sum + (turn + rest - gone % rest) % rest,
            _ => self.before + unit,
        }
    }
}

/// The group that has the unit in a frame, unless numbers get too large. The units that a domain got before group g are
/// (growth * g + start) / scale, rounded down.
macro_rules! group_of {
    ($name:ident, $number:ty) => {
        fn $name(&self, frame: u64, units: u64) -> Option<u64> {
            let (mut growth, mut start, mut scale): ($number, $number, $number) =
                (units.into(), 0, 1);
            for passed in &self.0 {
                let (fill, least) = (passed.fill, <$number>::from(passed.least));
                let Some(turn) = passed.turn else {
                    (growth, start, scale) = (least, 0, 1);
                    continue;
                };
                let around = growth - scale * <$number>::from(fill.sum);
                let later = <$number>::from(fill.rest - 1 - turn);
                start = start.checked_add(scale.checked_mul(later)?)?;
                scale = scale.checked_mul(fill.rest.into())?;
                growth = around.checked_add(scale.checked_mul(least)?)?;
            }
            let frames = <$number>::from(frame).checked_add(1)?;
            let reached = scale.checked_mul(frames)? - start;
            u64::try_from(reached.checked_sub(1)?.checked_div(growth)?).ok()
        }
    };
}

impl Way {
    group_of!(group_of_small, u64);
    group_of!(group_of_large, u128);

    fn group(&self, frame: u64, units: u64) -> Option<u64> {
        let small = self.group_of_small(frame, units);
        small.or_else(|| self.group_of_large(frame, units))
    }

    /// Which unit of a group the target got.
    fn unit(&self, group: u64, units: u64) -> u32 {
        let mut taken = group * units;
        let gone: SmallVec<[u64; 8]> = self
            .0
            .iter()
            .map(|passed| {
                let gone = taken - group * passed.fill.sum;
                taken = passed.taken(group, gone);
                gone
            })
            .collect();
        let steps = self.0.iter().zip(gone).rev();
        steps.fold(0, |unit, (passed, gone)| passed.unit(unit, gone)) as u32
    }
}

/// How many of the units that have gone around went to the child with a turn.
fn taken_around(gone: u64, turn: u64, children: u64) -> u64 {
    (gone + children - 1 - turn) / children
}

impl Step {
    /// `held`: of each domain above, the units that it holds at least and at most; and the same of those here.
    fn new(
        tree: &Tree,
        above: Option<usize>,
        level: usize,
        held: &[(u64, u64)],
    ) -> (Step, Vec<(u64, u64)>) {
        let width = tree.width(level);
        let mut step = Step {
            ranks: vec![0; width],
            least: vec![0; width],
            ..Step::default()
        };
        let mut here = vec![(0, 0); width];
        for (index, &(least, most)) in held.iter().enumerate() {
            let children = tree.below(above.map(|level| Domain { level, index }), level);
            let size = |index| tree.leaves_below(Domain { level, index }).len() as u64;
            let mut order: Vec<usize> = children.collect();
            order.sort_by_key(|&child| size(child));
            let sizes: Vec<u64> = order.iter().map(|&child| size(child)).collect();
            let fill = Fill::new(&sizes, least);
            let mut around = most - fill.sum;
            let mut before = 0;
            for (rank, &child) in order.iter().enumerate() {
                let each = sizes[rank].min(fill.height);
                let may_have_more = rank as u64 >= fill.full && most > fill.sum;
                here[child] = (each, each + u64::from(may_have_more));
                step.losses
                    .push(each + u64::from(may_have_more && around > 0));
                around = around.saturating_sub(may_have_more.into());
                step.ranks[child] = rank as u32;
                step.least[child] = each;
                step.order.push(child as u32);
                step.before.push(before);
                before += each;
            }
            step.fills.push(fill);
        }
        step.losses.sort_unstable_by(|one, other| other.cmp(one));
        step.losses.insert(0, 0);
        (1..step.losses.len()).for_each(|place| step.losses[place] += step.losses[place - 1]);
        (step, here)
    }
}

impl Seen<'_> {
    fn child(&self, rank: u64) -> usize {
        self.step.order[self.start + rank as usize] as usize
    }

    /// The rank of the child that gets a unit, which of its units this is, and its turn if units go around to it.
    fn child_with(&self, shuffle: Shuffle, unit: u64) -> (u64, u64, Option<u64>) {
        let fill = self.fill;
        if unit >= fill.sum {
            let turn = (self.gone + unit - fill.sum) % fill.rest;
            let rank = shuffle.forward(self.level, self.parent, fill.rest as usize, turn as u32);
            return (fill.full + u64::from(rank), fill.height, Some(turn));
        }
        // Those that are not full have as many each.
        if let Some(after) = unit.checked_sub(fill.in_full()) {
            let rank = after / fill.height;
            let turn = shuffle.backward(self.level, self.parent, fill.rest as usize, rank as u32);
            return (fill.full + rank, after % fill.height, Some(turn.into()));
        }
        let before = &self.step.before[self.start..][..fill.full as usize];
        let rank = before.partition_point(|&before| before <= unit) - 1;
        (rank as u64, unit - before[rank], None)
    }
}
