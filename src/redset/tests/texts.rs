//! How error texts name ranks.

use super::{Job, Scheme, all_ok, create, is_redundancy};
use crate::comm::Comm;

/// Ranks of one set are not 0, 1, ... in the communicator; ranks of the others hear of them.
#[test]
fn ranks_are_named_as_in_the_communicator_and_with_their_hosts() {
    let job = Job::new(Scheme::Xor, 3, vec![vec![100]; 6]).apart(true);
    all_ok(job.apply());
    let maps = job.run(|comm| {
        let group = format!("node{}", comm.rank());
        let redset = create(&comm, job.scheme, Some(group.as_bytes()), job.min_size);
        redset.unwrap().set().unwrap().map.clone()
    });
    let lost = maps.iter().find(|map| !map.contains(&0)).unwrap();
    job.lose(|rank, path| lost.contains(&rank) && !is_redundancy(path));
    for (rank, verdict) in job.recover().into_iter().enumerate() {
        let text = verdict.unwrap_err().to_string();
        for lost in lost {
            let file = job.originals(*lost)[0].display().to_string();
            let told = format!("rank {lost} on node{lost}: {file}: ");
            assert!(text.contains(&told), "{rank}: {text}");
        }
        let first = lost.iter().min().unwrap();
        let heard = text.starts_with(&format!("rank {first} on node{first} failed: "));
        assert_eq!(heard, !lost.contains(&rank), "{rank}: {text}");
    }
}
