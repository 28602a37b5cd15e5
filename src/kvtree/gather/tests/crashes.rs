//! A set replaces another at once: whichever ranks die, and before whichever system call.

use super::*;
use crate::storage::faults::Rule;
use crate::testing::stride;

/// A place that holds `old` in files of many segments, and files of `crashes` that died while they replaced it.
struct Scene {
    place: Place,
    old: Vec<Model>,
    new: Vec<Model>,
}

#[derive(Debug, PartialEq)]
enum Content {
    Old,
    New,
}

impl Scene {
    fn new(old: Vec<Model>, new: Vec<Model>) -> Scene {
        let place = Place::new();
        place.write(&old, SMALL);
        Scene { place, old, new }
    }

    /// Writes the new set while each rank lives by its rules; says whether any rule hit.
    fn write(&self, rules: impl Fn(usize) -> Option<Rule> + Sync) -> (bool, bool) {
        let ended = run(self.new.len(), |comm| {
            let tree = self.new[comm.rank()].to_tree();
            let plan = faults::plan(rules(comm.rank()));
            let prefix = Some(&*self.place.prefix);
            let outcome = write_segments(&comm, prefix, Some(tree.view()), SMALL);
            (plan.fired(), outcome.is_ok())
        });
        let succeeded = ended[0].1;
        assert!(ended.iter().all(|(_, ok)| *ok == succeeded), "one verdict");
        (ended.iter().any(|(fired, _)| *fired), succeeded)
    }

    /// What all ranks and one process read: the same set, whole.
    fn content(&self) -> Content {
        let all = self.place.read_single().expect("one process reads");
        let holds = |data: &[Model]| {
            let mut ranks = data.iter().enumerate();
            let held = |rank, model: &Model| {
                let found = all.get(&number(rank)).map(Model::sorted);
                found == Some(model.sorted())
            };
            all.0.len() == data.len() && ranks.all(|(rank, model)| held(rank, model))
        };
        let (content, data) = match holds(&self.old) {
            true => (Content::Old, &self.old),
            false => (Content::New, &self.new),
        };
        assert!(holds(data), "neither the old nor the new set");
        self.place.assert_holds(data);
        content
    }

    /// The next write brings everything in order, also for a reader that goes by names.
    fn assert_next_write_cleans_up(&self) {
        let next = samples(self.new.len(), c"3");
        self.place.write(&next, SMALL);
        self.place.assert_holds(&next);
        assert_eq!(self.place.read_by_names().unwrap(), next.len());
    }
}

impl Place {
    /// Reads as upstream's `kvtree_read_scatter_single` does: every file that is named like data counts. Returns the number of ranks.
    fn read_by_names(&self) -> std::result::Result<usize, String> {
        let mut top = Tree::new();
        file::read_file(&self.prefix, top.edit()).unwrap();
        let expected = top.view().value_u64(RANKS).unwrap() as usize;
        let mut found = 0;
        for name in self.names() {
            let digits = name.strip_prefix("gather.0.").unwrap_or("x");
            if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let mut tree = Tree::new();
                file::read_file(&self.dir.path().join(&name), tree.edit()).unwrap();
                found += tree.view().get(RANK).map_or(0, TreeRef::len);
            }
        }
        match found == expected {
            true => Ok(found),
            false => Err(format!("{found} ranks, not {expected}")),
        }
    }
}

fn crash_at(call: usize) -> Option<Rule> {
    Some(faults::crash().at(call))
}

/// One rank dies before its n-th call, and the others when the next agreement tells them, or before their m-th.
#[test]
fn a_crash_before_any_call_of_any_rank_leaves_one_set() {
    for ranks in [1, 2, 4] {
        for bad in 0..ranks {
            for call in 0.. {
                let scene = Scene::new(samples(ranks, c"1"), samples(ranks, c"2"));
                let (fired, succeeded) =
                    scene.write(|rank| (rank == bad).then(|| crash_at(call))?);
                let content = scene.content();
                assert!(!succeeded || content == Content::New);
                if !fired {
                    assert!(succeeded);
                    break;
                }
                scene.assert_next_write_cleans_up();
            }
        }
    }
}

/// The whole job dies: every rank at a moment of its own.
#[test]
fn crashes_of_all_ranks_leave_one_set() {
    let every = stride(3);
    let mut seen = Vec::new();
    let moments = (0..48usize).flat_map(|a| (0..32usize).map(move |b| (a, b)));
    for (first, others) in moments.filter(|(a, b)| (a + b) % every == 0) {
        let scene = Scene::new(samples(2, c"1"), samples(2, c"2"));
        let (fired, _) = scene.write(|rank| crash_at(if rank == 0 { first } else { others }));
        let content = scene.content();
        if !seen.contains(&content) {
            seen.push(content);
        }
        if (first * 32 + others) % 31 == 0 {
            scene.assert_next_write_cleans_up();
        }
        let is_last = (first, others) == (47, 31);
        assert!(!is_last || !fired, "a rank has more calls than were tried");
    }
    assert_eq!(seen.len(), 2, "both outcomes occur");
}

/// More or fewer writers than before, so that maps of maps appear or vanish and names of the two sets differ.
#[test]
fn sets_of_different_shapes_replace_each_other_whole() {
    let shapes = [1, 4, 9];
    for (old, new) in shapes.iter().flat_map(|&a| shapes.map(|b| (a, b))) {
        for call in (0..60).step_by(if old == new { 7 } else { 3 }) {
            let scene = Scene::new(samples(old, c"1"), samples(new, c"2"));
            let (_, succeeded) = scene.write(|rank| (rank == 0).then(|| crash_at(call))?);
            let content = scene.content();
            assert!(!succeeded || content == Content::New);
            scene.assert_next_write_cleans_up();
        }
    }
}

/// Errors instead of deaths: nothing of the new set stays, so that a reader by names still finds the old one.
#[test]
fn a_failed_write_leaves_no_file_of_the_new_set() {
    for operation in [
        Operation::Create,
        Operation::Write,
        Operation::Fsync,
        Operation::Rename,
    ] {
        for bad in 0..4 {
            let scene = Scene::new(samples(4, c"1"), samples(4, c"2"));
            let names = scene.place.names();
            let rule = faults::fail(Errno::IO).of(operation);
            let (fired, succeeded) = scene.write(|rank| (rank == bad).then_some(rule));
            assert!(fired && !succeeded, "{operation} on rank {bad}");
            assert_eq!(scene.content(), Content::Old);
            assert_eq!(scene.place.names(), names, "{operation} on rank {bad}");
            scene.assert_next_write_cleans_up();
        }
    }
}

/// The top map has its name, but nobody knows for how long: both sets must stay.
#[test]
fn after_a_failed_sync_of_the_directory_both_sets_can_be_read() {
    let scene = Scene::new(samples(1, c"1"), samples(1, c"2"));
    let old = fs::read(&scene.place.prefix).unwrap();
    // The data file's directory is synced first, the top map's second.
    let rule = faults::fail(Errno::IO).of(Operation::DirFsync).at(1);
    let (fired, succeeded) = scene.write(|_| Some(rule));
    assert!(fired && !succeeded);
    assert_eq!(scene.content(), Content::New);
    fs::write(&scene.place.prefix, old).unwrap();
    assert_eq!(scene.content(), Content::Old);
}

#[test]
fn names_take_turns_and_begin_with_those_of_upstream() {
    let place = Place::new();
    let file_names = ["gather.0.0", "gather.0.00"];
    for turn in 0..5 {
        let data = samples(3, c"1");
        place.write(&data, SEGMENT);
        assert_eq!(place.names(), ["gather", file_names[turn % 2]]);
        place.assert_holds(&data);
        assert_eq!(place.read_by_names(), Ok(3));
    }
}

#[test]
fn one_process_replaces_a_set_at_once() {
    let mut trees: Vec<Tree> = [c"1", c"2"]
        .map(|version| all_of(&samples(4, version)))
        .into();
    let [old, new] = &mut trees[..] else {
        unreachable!()
    };
    for call in 0.. {
        let place = Place::new();
        place.write(&samples(4, c"1"), SMALL);
        let names = place.names();
        let plan = faults::plan([faults::crash().at(call)]);
        let written = write_to_gather(&place.prefix, &mut new.edit(), 4);
        let fired = plan.fired();
        drop(plan);
        let found = place.read_single().unwrap().sorted();
        let is_new = found == Model::of(new.view()).sorted();
        assert!(is_new || found == Model::of(old.view()).sorted());
        assert!(is_new || written.is_err());
        if !fired {
            assert_eq!(place.names(), ["gather", "gather.0.00"]);
            break;
        }
        assert!(is_new || names.iter().all(|name| place.names().contains(name)));
        write_to_gather(&place.prefix, &mut new.edit(), 4).unwrap();
        assert_eq!(place.read_by_names(), Ok(4));
    }
}

/// As in upstream's own test of `kvtree_read_scatter_single`.
#[test]
fn processes_that_write_for_all_at_once_leave_one_set() {
    let place = Place::new();
    let expected = Model::of(all_of(&samples(4, c"1")).view()).sorted();
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut all = all_of(&samples(4, c"1"));
                    write_to_gather(&place.prefix, &mut all.edit(), 4).unwrap();
                });
            }
        });
        assert_eq!(place.read_single().unwrap().sorted(), expected);
        assert_eq!(place.read_by_names(), Ok(4));
    }
}

fn all_of(data: &[Model]) -> Tree {
    let mut all = Tree::new();
    for (rank, model) in data.iter().enumerate() {
        all.edit().set(&number(rank), Some(model.to_tree()));
    }
    all
}

#[test]
fn a_new_file_has_the_mode_of_the_map_it_belongs_to() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let data = samples(2, c"1");
    place.write(&data, SEGMENT);
    fs::set_permissions(&place.prefix, fs::Permissions::from_mode(0o600)).unwrap();
    place.write(&data, SEGMENT);
    for name in place.names() {
        let mode = fs::metadata(place.dir.path().join(&name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
