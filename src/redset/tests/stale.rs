//! Ranks that come back with files of an earlier apply.

use super::*;

/// What a rank can have of an earlier apply, or lose.
const PARTS: [fn(&Path) -> bool; 3] = [
    |path| !is_redundancy(path),
    |path| path.to_string_lossy().contains(".mem_"),
    |path| is_redundancy(path) && !path.to_string_lossy().contains(".mem_"),
];

/// What has become of a part of a rank's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Stale,
    Lost,
}

/// Of each rank, by part.
type Fates = Vec<[Fate; 3]>;

/// A set that was applied to twice, with the files as they were after each time.
struct Twice {
    job: Job,
    old: Files,
    new: Files,
}

impl Twice {
    /// The files of most ranks change, and some change their lengths.
    fn apply(scheme: Scheme, ranks: usize, apart: bool) -> Twice {
        let sizes = (0..ranks).map(|rank| vec![20 + rank * 3, rank % 2]);
        let job = Job::new(scheme, ranks, sizes.collect()).apart(apart);
        all_ok(job.apply());
        let old = job.files();
        for rank in (0..ranks).filter(|rank| rank % 4 != 3) {
            let longer = if rank % 3 == 2 { 7 } else { 0 };
            let bytes = vec![0xa5 ^ rank as u8; 20 + rank * 3 + longer];
            fs::write(&job.originals(rank)[0], bytes).unwrap();
        }
        all_ok(job.apply());
        let new = job.files();
        assert_ne!(old, new);
        Twice { job, old, new }
    }

    fn rank_of(&self, path: &Path) -> usize {
        let dir = path.parent().unwrap().file_name().unwrap();
        dir.to_string_lossy().parse().unwrap()
    }

    /// Gives every file its fate.
    fn befall(&self, fates: &Fates) {
        let present = self.job.files();
        for (path, new) in &self.new {
            let part = PARTS.iter().position(|is_one| is_one(path)).unwrap();
            let wanted = match fates[self.rank_of(path)][part] {
                Fate::Kept => Some(new),
                Fate::Stale => self.old.get(path),
                Fate::Lost => None,
            };
            match wanted {
                _ if wanted == present.get(path) => (),
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
        }
        for path in present.keys().filter(|path| !self.new.contains_key(*path)) {
            fs::remove_file(path).unwrap();
        }
    }

    /// Recovers from what the fates leave, and checks that all files are of one apply, the newest where that was
    /// possible.
    fn check(&self, fates: &Fates) {
        let scheme = self.job.scheme;
        self.befall(fates);
        let left = self.job.files();
        let hit = |rank: &usize| fates[*rank].iter().any(|fate| *fate != Fate::Kept);
        let hit: Vec<_> = (0..fates.len()).filter(hit).collect();
        // A single rank cannot know that there was another apply.
        let is_mixed = left != self.new && left != self.old;
        let verified = self.job.verify();
        assert!(
            verified.iter().all(|it| it.is_err() == is_mixed),
            "{scheme:?} {fates:?}"
        );
        let verdicts = self.job.recover();
        let after = self.job.files();
        if scheme.tolerates(fates.len(), &hit) {
            let told = format!("{scheme:?} {fates:?} {verdicts:?}");
            assert!(verdicts.iter().all(Result::is_ok), "{told}");
            assert!(after == self.new, "{told}");
        } else if verdicts.iter().all(Result::is_ok) {
            assert!(
                after == self.new || after == self.old,
                "{scheme:?} {fates:?}"
            );
        } else {
            all_fail(&verdicts);
            assert!(after == left);
        }
    }
}

/// Every fate of the parts of one rank, but that nothing happens.
fn fates() -> Vec<[Fate; 3]> {
    let each = [Fate::Kept, Fate::Stale, Fate::Lost];
    let all = each
        .iter()
        .flat_map(|&a| each.iter().flat_map(move |&b| each.map(|c| [a, b, c])));
    all.filter(|fate| *fate != [Fate::Kept; 3]).collect()
}

fn all_schemes(ranks: usize) -> Vec<Scheme> {
    let mut all = schemes(ranks);
    all.push(Scheme::Single);
    all
}

/// Sets of ranks that the scheme survives to lose, by bits, and one rank more where that is too much.
fn hit_ranks(scheme: Scheme, ranks: usize) -> Vec<Vec<usize>> {
    let sets = (0u32..1 << ranks).map(|bits| {
        let hit = (0..ranks).filter(|rank| bits >> rank & 1 == 1);
        hit.collect::<Vec<_>>()
    });
    let sets = sets.filter(|hit| scheme.tolerates(ranks, hit) || hit.len() == 1);
    sets.collect()
}

/// A generator that always gives the same numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

fn every_case(twice: &Twice) -> Vec<Fates> {
    let ranks = twice.job.ranks();
    let mut cases = Vec::new();
    for hit in hit_ranks(twice.job.scheme, ranks) {
        let mut partial: Vec<Fates> = vec![vec![[Fate::Kept; 3]; ranks]];
        for rank in hit {
            let with = |case: &Fates| {
                let case = case.clone();
                fates().into_iter().map(move |fate| {
                    let mut case = case.clone();
                    case[rank] = fate;
                    case
                })
            };
            partial = partial.iter().flat_map(with).collect();
        }
        cases.extend(partial);
    }
    cases
}

/// Up to four ranks: of every scheme as many cases as `pick` says.
fn try_few_ranks(fits: fn(Scheme) -> bool, mut pick: impl FnMut(usize) -> Vec<usize>) -> usize {
    let mut tried = 0;
    for ranks in 1..=4 {
        let schemes = all_schemes(ranks).into_iter();
        for scheme in schemes.filter(|it| fits(*it) && it.check(ranks).is_ok()) {
            let twice = Twice::apply(scheme, ranks, ranks == 3);
            let cases = every_case(&twice);
            let picked = pick(cases.len());
            picked.iter().for_each(|case| twice.check(&cases[*case]));
            tried += picked.len();
        }
    }
    tried
}

#[test]
fn stale_and_lost_parts_of_few_ranks_are_told_and_rebuilt() {
    let mut dice = Dice(7);
    try_few_ranks(
        |_| true,
        |cases| (0..12).map(|_| dice.roll(cases)).collect(),
    );
}

#[test]
#[ignore = "slow"]
fn every_stale_and_lost_part_of_few_ranks_with_copies() {
    let tried = try_few_ranks(
        |it| matches!(it, Scheme::Copies { .. }),
        |cases| (0..cases).collect(),
    );
    assert_eq!(tried, 82_322);
}

#[test]
#[ignore = "slow"]
fn every_stale_and_lost_part_of_few_ranks_with_parity() {
    let tried = try_few_ranks(
        |it| !matches!(it, Scheme::Copies { .. }),
        |cases| (0..cases).collect(),
    );
    assert_eq!(tried, 81_471);
}

/// From five to nine ranks.
fn try_more_ranks(mut left: usize) {
    let mut dice = Dice(11);
    while left > 0 {
        let ranks = 5 + dice.roll(5);
        let schemes = all_schemes(ranks);
        let scheme = schemes[dice.roll(schemes.len())];
        let twice = Twice::apply(scheme, ranks, dice.roll(2) == 1);
        let cases = left.min(20);
        left -= cases;
        for _ in 0..cases {
            let mut case = vec![[Fate::Kept; 3]; ranks];
            let mut hit = Vec::new();
            for _ in 0..dice.roll(scheme.copies() + 2) {
                let rank = dice.roll(ranks);
                hit.push(rank);
                if scheme.tolerates(ranks, &hit) || hit.len() == 1 {
                    case[rank] = fates()[dice.roll(fates().len())];
                } else {
                    hit.pop();
                }
            }
            twice.check(&case);
        }
    }
}

#[test]
fn stale_and_lost_parts_of_more_ranks_are_told_and_rebuilt() {
    try_more_ranks(40);
}

#[test]
#[ignore = "slow"]
fn many_stale_and_lost_parts_of_more_ranks() {
    try_more_ranks(20_000);
}
