//! Exchanges between threads, against a slow but literal simulation of the hops.

use super::super::Tree;
use super::super::model::hops::{hops_both_ways, hops_one_way};
use super::super::model::{self, Model, number};
use super::*;
use crate::comm::local::{LocalComm, run};
use crate::comm::{FromPeer, PeerFailure};
use proptest::prelude::*;
use std::ffi::CStr;

// ---- the real thing -------------------------------------------------------------------------

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shortest,
    OneWay(Direction),
}

const KINDS: [Kind; 3] = [
    Kind::Shortest,
    Kind::OneWay(Direction::Right),
    Kind::OneWay(Direction::Left),
];

impl Kind {
    fn run(
        self,
        comm: &LocalComm,
        outgoing: Option<TreeRef>,
        incoming: Option<TreeMut>,
    ) -> Result<()> {
        match self {
            Kind::Shortest => exchange(comm, outgoing, incoming),
            Kind::OneWay(direction) => exchange_direction(comm, outgoing, incoming, direction),
        }
    }

    fn by_hops(self, outgoing: &[Model], results: &mut [Model]) {
        match self {
            Kind::Shortest => hops_both_ways(outgoing, results),
            Kind::OneWay(direction) => hops_one_way(direction, outgoing, results),
        }
    }

    fn results(self, outgoing: &[Model], held: &[Model]) -> Vec<Model> {
        run(outgoing.len(), |comm| {
            let outgoing = outgoing[comm.rank()].to_tree();
            let mut incoming = held[comm.rank()].to_tree();
            let into = Some(incoming.edit());
            self.run(&comm, Some(outgoing.view()), into).unwrap();
            Model::of(incoming.view())
        })
    }
}

/// What all ranks send: sparse or dense, in random order of destinations.
fn messages() -> impl Strategy<Value = Vec<Model>> {
    (1..=9usize).prop_flat_map(|size| {
        let message = (0..size, model::model());
        let outgoing = proptest::collection::vec(message, 0..=size).prop_map(|messages| {
            let mut outgoing = Model::default();
            for (to, message) in messages {
                outgoing.set(&number(to), Some(message));
            }
            outgoing
        });
        proptest::collection::vec(outgoing, size)
    })
}

/// Messages in which every order shows: each rank sends to all, several keys on two levels.
fn dense(size: usize) -> Vec<Model> {
    let message = |from: usize| {
        let mut message = Model::default();
        for key in [c"a", c"b", c"c"] {
            for value in 0..3 {
                message.child(key).child(&number(10 * from + value));
            }
        }
        message
    };
    let outgoing = |from| {
        let mut outgoing = Model::default();
        for to in 0..size {
            outgoing.set(&number(to), Some(message(from)));
        }
        outgoing
    };
    (0..size).map(outgoing).collect()
}

fn assert_as_by_hops(outgoing: &[Model], held: &[Model]) {
    for kind in KINDS {
        let mut expected = held.to_vec();
        kind.by_hops(outgoing, &mut expected);
        let found = kind.results(outgoing, held);
        assert_eq!(found, expected, "{kind:?}");
    }
}

#[test]
fn all_to_all_arrives_in_the_order_of_the_hops() {
    for size in 1..=9 {
        assert_as_by_hops(&dense(size), &vec![Model::default(); size]);
    }
}

/// One message only: the fewest rounds, from every rank to every other.
#[test]
fn single_messages_arrive_in_the_order_of_the_hops() {
    for size in 1..=9 {
        let all = dense(size);
        for from in 0..size {
            let mut outgoing = vec![Model::default(); size];
            let to = (from * from + 1) % size;
            let message = all[from].get(&number(to)).cloned();
            outgoing[from].set(&number(to), message);
            assert_as_by_hops(&outgoing, &vec![Model::default(); size]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The order ends up in files: it is that of the original library, element by element.
    #[test]
    fn messages_arrive_in_the_order_of_the_hops(outgoing in messages()) {
        assert_as_by_hops(&outgoing, &vec![Model::default(); outgoing.len()]);
    }

    #[test]
    fn messages_are_merged_into_what_was_there(outgoing in messages(), held in model::model()) {
        let mut all_held = vec![held; outgoing.len()];
        all_held[0].child(c"0").child(c"a").child(c"earlier");
        assert_as_by_hops(&outgoing, &all_held);
    }

    /// Independent of any hops: who sent what to whom.
    #[test]
    fn every_message_arrives_below_its_sender(outgoing in messages()) {
        for kind in KINDS {
            let results = kind.results(&outgoing, &vec![Model::default(); outgoing.len()]);
            for (to, result) in results.iter().enumerate() {
                for (from, outgoing) in outgoing.iter().enumerate() {
                    let sent = outgoing.get(&number(to)).map(Model::sorted);
                    prop_assert_eq!(result.get(&number(from)).map(Model::sorted), sent);
                }
                let senders = outgoing.iter().filter(|o| o.get(&number(to)).is_some());
                prop_assert_eq!(result.0.len(), senders.count());
            }
        }
    }
}

// ---- failures -------------------------------------------------------------------------------

/// All ranks fail, the one that is to blame with its own error, and nothing arrives.
fn assert_all_fail(kind: Kind, size: usize, bad: usize, key: Option<&CStr>) {
    let ended = run(size, |comm| {
        let mut outgoing = Tree::new();
        for to in 0..size {
            outgoing.edit().child(&rank_text(to)).child(c"data");
        }
        let is_bad = comm.rank() == bad;
        if let Some(key) = key.filter(|_| is_bad) {
            outgoing.edit().child(key);
        }
        let mut incoming = Tree::new();
        let into = (!is_bad || key.is_some()).then(|| incoming.edit());
        let error = kind.run(&comm, Some(outgoing.view()), into).unwrap_err();
        assert!(incoming.view().is_empty());
        error
    });
    for (rank, error) in ended.into_iter().enumerate() {
        match error {
            Error::Peer(PeerFailure { who, .. }) => assert!(who.rank == bad && rank != bad),
            Error::Null(_) => assert!(rank == bad && key.is_none()),
            Error::Destination { .. } => assert!(rank == bad && key.is_some()),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_rank_that_cannot_take_part_fails_on_all() {
    for kind in KINDS {
        for size in [1, 2, 3, 5, 8] {
            for bad in [0, size / 2, size - 1] {
                assert_all_fail(kind, size, bad, None);
                for key in [c"8", c"-1", c"one", c"", c"99999999999999999999"] {
                    assert_all_fail(kind, size, bad, Some(key));
                }
            }
        }
    }
}

#[test]
fn ranks_may_have_nothing_to_send() {
    for kind in KINDS {
        run(4, |comm| {
            let mut incoming = Tree::new();
            kind.run(&comm, None, Some(incoming.edit())).unwrap();
            assert!(incoming.view().is_empty());
            // A message may be nothing at all.
            let mut outgoing = Tree::new();
            outgoing.edit().set(c"2", None);
            let into = Some(incoming.edit());
            kind.run(&comm, Some(outgoing.view()), into).unwrap();
            let expected = if comm.rank() == 2 { 4 } else { 0 };
            assert_eq!(incoming.view().len(), expected);
        });
    }
}

#[test]
fn a_rank_written_in_two_ways_is_one_rank() {
    run(2, |comm| {
        let (mut outgoing, mut incoming) = (Tree::new(), Tree::new());
        outgoing.edit().child(c"1").child(c"a");
        outgoing.edit().child(c"01").child(c"b");
        exchange(&comm, Some(outgoing.view()), Some(incoming.edit())).unwrap();
        if comm.rank() == 1 {
            let message = incoming.view().get(c"0").unwrap();
            assert!(message.elem(c"a").is_some() && message.elem(c"b").is_some());
        }
    });
}

#[test]
fn queued_messages_are_copies() {
    let (mut queue, mut message) = (Tree::new(), Tree::new());
    message.edit().child(c"a");
    enqueue(&mut queue.edit(), 3, Some(message.view())).unwrap();
    drop(message);
    enqueue(&mut queue.edit(), 4, None).unwrap();
    let queued = Model::of(queue.view());
    assert!(queued.get(c"3").unwrap().get(c"a").is_some());
    assert_eq!(queued.get(c"4"), Some(&Model::default()));
}

// ---- one to one, one to all -----------------------------------------------------------------

/// As a tree looks that was sent once.
fn received(model: &Model) -> Model {
    let mut received = Model::default();
    received.unpack_in_front(model, Order::Reversed);
    received
}

/// Whatever is received into, it is replaced.
fn something() -> Tree {
    let mut tree = Tree::new();
    tree.edit().child(c"what was there");
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn trees_are_sent_and_received(model in model::model()) {
        run(2, |comm| match comm.rank() {
            0 => {
                send(&comm, 1, Some(model.to_tree().view())).unwrap();
                send(&comm, 1, None).unwrap();
            }
            _ => {
                let mut tree = something();
                recv(&comm, 0, tree.edit()).unwrap();
                assert_eq!(Model::of(tree.view()), received(&model));
                recv(&comm, 0, tree.edit()).unwrap();
                assert!(tree.view().is_empty());
            }
        });
    }

    #[test]
    fn trees_are_passed_around(model in model::model(), size in 1..6usize) {
        run(size, |comm| {
            let (rank, tree) = (comm.rank(), model.to_tree());
            let mut incoming = something();
            let outgoing = (rank + 1 < size).then(|| (rank + 1, Some(tree.view())));
            let from = rank.checked_sub(1).map(|from| (from, incoming.edit()));
            sendrecv(&comm, outgoing, from).unwrap();
            let expected = match rank {
                0 => Model::of(something().view()),
                _ => received(&model),
            };
            assert_eq!(Model::of(incoming.view()), expected);
        });
    }

    #[test]
    fn a_tree_reaches_all_ranks(model in model::model(), size in 1..6usize) {
        for root in 0..size {
            run(size, |comm| {
                let is_root = comm.rank() == root;
                let mut tree = if is_root { model.to_tree() } else { something() };
                bcast(&comm, root as i64, Some(tree.edit())).unwrap();
                let expected = if is_root { model.clone() } else { received(&model) };
                assert_eq!(Model::of(tree.view()), expected);
            });
        }
    }
}

/// Small trees go another way than large ones.
#[test]
fn trees_of_every_size_around_the_seam_reach_all_ranks() {
    for length in (8 * SMALL - 40)..(8 * SMALL + 10) {
        let key = std::ffi::CString::new(vec![b'x'; length]).unwrap();
        let sent = || {
            let mut tree = Tree::new();
            tree.edit().child(&key);
            tree
        };
        run(2, |comm| {
            let mut tree = if comm.rank() == 1 {
                sent()
            } else {
                something()
            };
            bcast(&comm, 1, Some(tree.edit())).unwrap();
            assert_eq!(Model::of(tree.view()), Model::of(sent().view()));
        });
    }
}

#[test]
fn a_rank_without_a_tree_fails_the_broadcast_on_all() {
    let ended = run(4, |comm| {
        let mut tree = something();
        let given = (comm.rank() != 2).then(|| tree.edit());
        bcast(&comm, 0, given).unwrap_err()
    });
    for (rank, error) in ended.iter().enumerate() {
        match error {
            Error::Null(_) => assert_eq!(rank, 2),
            error => assert!(
                error.as_peer().is_some_and(|peer| peer.who.rank == 2),
                "{error}"
            ),
        }
    }
}

#[test]
fn no_tree_at_the_root_is_an_empty_one() {
    run(3, |comm| {
        let mut tree = something();
        let given = (comm.rank() != 1).then(|| tree.edit());
        bcast(&comm, 1, given).unwrap();
        assert!(comm.rank() == 1 || tree.view().is_empty());
    });
}

#[test]
fn a_root_that_is_none_or_another_than_the_others_name_fails_on_all() {
    for size in [2, 3, 5] {
        for (bad, wrong) in (0..size).flat_map(|bad| [-1, 1, 99].map(|wrong| (bad, wrong))) {
            let ended = run(size, |comm| {
                let mut tree = Tree::new();
                tree.edit().child(c"kept");
                let root = if comm.rank() == bad { wrong } else { 0 };
                let error = bcast(&comm, root, Some(tree.edit())).unwrap_err();
                assert!(tree.view().get(c"kept").is_some());
                error
            });
            for (rank, error) in ended.into_iter().enumerate() {
                match (wrong, rank == bad) {
                    (1, _) => assert!(matches!(error, Error::Roots)),
                    (_, true) => assert!(matches!(error, Error::Comm(_))),
                    (_, false) => assert!(error.as_peer().unwrap().who.rank == bad),
                }
            }
        }
    }
}
