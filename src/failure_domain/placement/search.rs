//! The best sets of a given number: the stride rule, then level by level from the outermost as much more as can be had.
//!
//! Best is what is required first, then the tolerance at the outermost level, then at the next, and so on.

use super::super::Tree;
use super::Scheme;
use super::bound::Sizes;
use super::draft::Draft;
use super::exact::{self, Found};
use super::rules::{Rules, Tolerance};
use super::sets::Sets;
use super::swaps;

pub(super) struct Searched {
    pub(super) draft: Draft,
    pub(super) tolerance: Vec<Tolerance>,
}

/// `required` has a number for each level.
pub(super) fn best(
    tree: &Tree,
    scheme: Scheme,
    sizes: &Sizes,
    sets: Sets,
    required: &[u32],
) -> Searched {
    let mut rules = Rules::new(tree, scheme);
    let draft = Draft::stride(scheme, sets);
    let tolerance = rules.tolerance(&draft);
    let mut search = Search {
        rules,
        found: Searched { draft, tolerance },
        kept: vec![0; tree.depth()],
        effort: swaps::effort(sets.ranks()),
    };
    let bound = sizes.bound(scheme, sets);
    let reachable: Vec<_> = required
        .iter()
        .zip(&bound)
        .map(|(a, b)| *a.min(b))
        .collect();
    search.raise(&reachable);
    search.raise(&bound);
    search.found
}

struct Search<'t> {
    rules: Rules<'t>,
    found: Searched,
    /// What must not be given up any more.
    kept: Vec<u32>,
    /// That is left for swaps.
    effort: usize,
}

impl Search<'_> {
    /// Goes as near to `most` as can be, outer levels first.
    fn raise(&mut self, most: &[u32]) {
        for (level, &most) in most.iter().enumerate() {
            while self.found.tolerance[level].any < most {
                let mut target = self.kept.clone();
                target[level] = self.found.tolerance[level].any + 1;
                if !self.reach(&target) {
                    break;
                }
            }
            let had = self.found.tolerance[level].any.min(most);
            self.kept[level] = self.kept[level].max(had);
        }
    }

    fn reach(&mut self, target: &[u32]) -> bool {
        let mut draft = self.found.draft.clone();
        let found = match draft.sets.ranks() <= exact::MOST_RANKS {
            true => exact::search(&mut self.rules, &mut draft, target),
            false => Found::Unknown,
        };
        let reached = match found {
            Found::Yes => true,
            Found::No => false,
            Found::Unknown => swaps::repair(&mut self.rules, &mut draft, target, &mut self.effort),
        };
        if reached {
            let tolerance = self.rules.tolerance(&draft);
            self.found = Searched { draft, tolerance };
        }
        reached
    }
}
