//! Claims of headers that applies could have left.

use super::*;

/// How many right neighbours keep what a rank says, and what the set survives.
#[derive(Clone, Copy, Debug)]
enum Protection {
    Copies(usize),
    Parity(usize),
}

impl Protection {
    fn copies(self) -> usize {
        match self {
            Protection::Copies(count) | Protection::Parity(count) => count,
        }
    }

    fn tolerates(self, ranks: usize, lost: &[usize]) -> bool {
        match self {
            Protection::Parity(count) => lost.len() <= count,
            Protection::Copies(count) => lost.iter().all(|rank| {
                let mut holders = (1..=count).map(|distance| (rank + distance) % ranks);
                holders.any(|holder| !lost.contains(&holder))
            }),
        }
    }
}

/// Some applies under one name; in each, the files of some ranks are others than before.
struct History {
    ranks: usize,
    protection: Protection,
    /// For each apply and rank, which content its files have.
    contents: Vec<Vec<u64>>,
}

/// What a rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// Which apply its header is of; nothing if it is lost.
    apply: Option<usize>,
    is_named: bool,
}

impl History {
    fn claim(&self, rank: usize, state: State) -> Option<HeaderClaim> {
        let apply = state.apply?;
        let left = (0..=self.protection.copies()).map(|d| (rank + self.ranks - d) % self.ranks);
        Some(HeaderClaim {
            generation: state
                .is_named
                .then_some(Generation::new(1 + apply as u64, 77 - apply as u64)),
            about: left
                .map(|rank| (rank, self.contents[apply][rank] * 16 + rank as u64))
                .collect(),
            common: 0,
        })
    }

    fn judge(&self, states: &[State]) -> Result<NewestApply, String> {
        let claims = states.iter().enumerate();
        let claims: Vec<_> = claims
            .map(|(rank, state)| self.claim(rank, *state))
            .collect();
        let tolerates = |lost: &[usize]| self.protection.tolerates(self.ranks, lost);
        judge(&claims, tolerates, |rank| rank)
    }

    /// No mix is taken for one apply, and what is tolerable is taken.
    fn check(&self, states: &[State]) {
        let newest = self.contents.len() - 1;
        let at_newest = |rank: &usize| states[*rank].apply == Some(newest);
        let (current, lost): (Vec<usize>, Vec<usize>) = (0..self.ranks).partition(at_newest);
        let has_name = current.iter().any(|&rank| states[rank].is_named);
        let told = || format!("{:?} {:?} {states:?}", self.protection, self.contents);
        let verdict = self.judge(states);
        if has_name && self.protection.tolerates(self.ranks, &lost) {
            let verdict = verdict.unwrap_or_else(|error| panic!("{} {error}", told()));
            assert_eq!(
                verdict.generation,
                Some(Generation::new(1 + newest as u64, 77 - newest as u64))
            );
            // A nameless header that says the same as one of the newest apply is taken for one.
            assert!(
                current.iter().all(|rank| verdict.current.contains(rank)),
                "{}",
                told()
            );
            let only = verdict
                .current
                .iter()
                .all(|&rank| states[rank].apply == Some(newest) || !states[rank].is_named);
            assert!(only, "{} {verdict:?}", told());
        } else if let Ok(verdict) = verdict {
            let named = verdict
                .current
                .iter()
                .filter(|&&rank| states[rank].is_named);
            let applies: BTreeSet<_> = named.map(|&rank| states[rank].apply).collect();
            assert!(applies.len() <= 1, "{} {verdict:?}", told());
        }
    }
}

/// Only files of another rank have changed, and no header names its apply: what all headers have in common tells.
#[test]
fn what_is_common_to_an_apply_tells_stale_ranks() {
    let claim = |rank: usize, common| {
        Some(HeaderClaim {
            generation: None,
            about: [rank, (rank + 3) % 4].map(|about| (about, 7)).into(),
            common,
        })
    };
    for stale in 0..4 {
        let claims = (0..4).map(|rank| claim(rank, if rank == stale { 10 } else { 12 }));
        let claims: Vec<_> = claims.collect();
        let verdict = judge(&claims, |lost| lost.len() <= 1, |rank| rank).unwrap();
        let current: BTreeSet<_> = (0..4).filter(|rank| *rank != stale).collect();
        assert_eq!(verdict.current, current);
    }
}

/// Two ranks of five have the newest apply. They know of all ranks, but three that are lost are too many.
#[test]
fn an_older_apply_is_taken_where_the_newest_cannot_be_completed() {
    let history = History {
        ranks: 5,
        protection: Protection::Parity(2),
        contents: vec![vec![0; 5], vec![1; 5]],
    };
    let states = [1, 0, 1, 0, 0].map(|apply| State {
        apply: Some(apply),
        is_named: true,
    });
    let verdict = history.judge(&states).unwrap();
    assert_eq!(verdict.generation, Some(Generation::new(1, 77)));
    assert_eq!(verdict.current, BTreeSet::from([1, 3, 4]));
}

/// Headers without a name that contradict those with one may be newer, as when upstream has applied in between.
#[test]
fn a_nameless_apply_is_a_rival_of_a_named_one() {
    let judged = |named: &[usize], tolerated| {
        let history = History {
            ranks: 4,
            protection: Protection::Parity(tolerated),
            contents: vec![vec![0; 4], vec![1; 4]],
        };
        let state = |rank| State {
            apply: Some(usize::from(!named.contains(&rank))),
            is_named: named.contains(&rank),
        };
        history.judge(&[0, 1, 2, 3].map(state))
    };
    let told = judged(&[0, 1], 2).unwrap_err();
    assert!(told.contains("one without a name on rank 2, 3"), "{told}");
    let verdict = judged(&[2], 3).unwrap();
    assert_eq!((verdict.generation, verdict.current.len()), (None, 3));
}

fn protections(ranks: usize) -> Vec<Protection> {
    let counts =
        (1..ranks).flat_map(|count| [Protection::Copies(count), Protection::Parity(count)]);
    counts.collect()
}

#[test]
fn all_states_of_few_ranks() {
    let each = [Some(1), Some(0), None].map(|apply| State {
        apply,
        is_named: true,
    });
    for ranks in 2..=4usize {
        for protection in protections(ranks) {
            for changed in 0..1usize << ranks {
                let history = History {
                    ranks,
                    protection,
                    contents: vec![
                        vec![0; ranks],
                        (0..ranks)
                            .map(|rank| (changed >> rank & 1) as u64)
                            .collect(),
                    ],
                };
                for case in 0..3usize.pow(ranks as u32) {
                    let state = |rank: usize| each[case / 3usize.pow(rank as u32) % 3];
                    history.check(&(0..ranks).map(state).collect::<Vec<_>>());
                }
            }
        }
    }
}

/// From five to nine, with nameless headers of other libraries among them.
fn try_more_ranks(cases: usize) {
    let mut seed = 5u64;
    let mut roll = |sides: usize| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) as usize % sides
    };
    for _ in 0..cases {
        let ranks = 5 + roll(5);
        let protections = protections(ranks);
        let protection = protections[roll(protections.len())];
        let mut contents = vec![vec![0; ranks]];
        for _ in 0..1 + roll(3) {
            let before = contents[contents.len() - 1].clone();
            contents.push(
                before
                    .into_iter()
                    .map(|it| it + u64::from(roll(4) > 0))
                    .collect(),
            );
        }
        let newest = contents.len() - 1;
        let mut states = vec![
            State {
                apply: Some(newest),
                is_named: true
            };
            ranks
        ];
        for _ in 0..roll(protection.copies() + 2) {
            let older = roll(newest + 1);
            states[roll(ranks)] = State {
                apply: (older < newest).then_some(older),
                is_named: true,
            };
        }
        for state in states
            .iter_mut()
            .filter(|state| state.apply == Some(newest))
        {
            state.is_named = roll(5) > 0;
        }
        History {
            ranks,
            protection,
            contents,
        }
        .check(&states);
    }
}

#[test]
fn some_states_of_more_ranks() {
    try_more_ranks(10_000);
}

#[test]
#[ignore = "slow"]
fn many_states_of_more_ranks() {
    try_more_ranks(100_000);
}

fn nameless(ranks: usize, applies: &[usize]) -> Result<NewestApply, String> {
    let history = History {
        ranks,
        protection: Protection::Parity(1),
        contents: vec![vec![0; ranks], vec![1; ranks]],
    };
    let states = applies.iter().map(|&apply| State {
        apply: Some(apply),
        is_named: false,
    });
    history.judge(&states.collect::<Vec<_>>())
}

#[test]
fn without_names_the_one_that_all_neighbours_contradict_is_stale() {
    let verdict = nameless(4, &[1, 0, 1, 1]).unwrap();
    assert_eq!(verdict.current, BTreeSet::from([0, 2, 3]));
    assert_eq!(nameless(3, &[1, 1, 1]).unwrap().current.len(), 3);
    // One word against another.
    assert!(nameless(2, &[1, 0]).is_err());
}

#[test]
fn applies_that_did_not_know_of_each_other_are_told_by_the_ranks_they_left() {
    let claim = |random| {
        Some(HeaderClaim {
            generation: Some(Generation::new(3, random)),
            about: (0..4).map(|rank| (rank, random)).collect(),
            common: 0,
        })
    };
    let judge =
        |claims: &[Option<HeaderClaim>]| judge(claims, |lost| lost.len() <= 3, |rank| 10 * rank);
    let verdict = judge(&[claim(1), claim(2), claim(1), claim(1)]);
    assert_eq!(verdict.unwrap().current, BTreeSet::from([0, 2, 3]));
    let error = judge(&[claim(1), claim(2), claim(2), claim(1)]);
    let text = error.unwrap_err();
    assert!(
        text.contains("3 (0000000000000001) on rank 0, 30"),
        "{text}"
    );
}

#[test]
fn texts_and_bytes_are_read_back() {
    let generation = Generation::new(12, 0xfeed);
    assert_eq!(
        Generation::from_text(&generation.to_text()),
        Some(generation)
    );
    for other in [
        "",
        "12",
        "12-feed",
        "-1-000000000000feed",
        "12-000000000000FEED",
        "012-000000000000feed",
    ] {
        assert_eq!(Generation::from_text(other), None, "{other}");
    }
    let claim = HeaderClaim {
        generation: Some(generation),
        about: BTreeMap::from([(3, 4), (5, 6)]),
        common: 9,
    };
    let mut bytes = Vec::new();
    claim.put(&mut bytes);
    assert_eq!(HeaderClaim::take(&mut &bytes[..]), Some(claim));
    assert_eq!(HeaderClaim::take(&mut &bytes[..bytes.len() - 1]), None);
}

#[test]
fn ranks_that_are_behind_know_it() {
    use crate::comm::local::run;
    let compare = |own: Vec<Option<Generation>>| {
        run(own.len(), |comm| {
            Generation::compare(&comm, own[comm.rank()]).unwrap()
        })
    };
    let [a, b, c] =
        [(1, 9), (2, 3), (2, 4)].map(|(counter, random)| Some(Generation::new(counter, random)));
    assert_eq!(compare(vec![a, None, a]), [Standing::Same; 3]);
    assert_eq!(compare(vec![None, None]), [Standing::Same; 2]);
    assert_eq!(compare(vec![a, b]), [Standing::Behind(2), Standing::Ahead]);
    assert_eq!(compare(vec![c, b]), [Standing::Ahead, Standing::Behind(2)]);
}
