//! After MPI_Finalize every call is an error, and what is dropped only releases memory.

use std::sync::Arc;

use stanchion::comm::mpi::{self, Datatype, Info, MpiComm, NumberType};
use stanchion::comm::{Comm, Error, Limit, Op, Result, Sparse, Underway};

use crate::{private, world};

/// What outlives MPI_Finalize.
pub struct Survivors {
    private: MpiComm,
    part: MpiComm,
    underway: <MpiComm as Comm>::Underway<Vec<u8>>,
    tested: <MpiComm as Comm>::Underway<Vec<u8>>,
    datatype: Datatype,
    info: Info,
}

impl Survivors {
    pub fn new() -> Survivors {
        let part = private().split(Some(0), 0).unwrap().unwrap();
        let own = part.rank();
        let receive = |tag| part.start(tag, vec![], vec![(own, vec![0; 3])]).unwrap();
        Survivors {
            underway: receive(1),
            tested: receive(2),
            private: private(),
            part,
            datatype: Datatype::of(NumberType::Signed(4).datatype()).unwrap(),
            info: Info::new(&[(c"key".into(), c"value".into())]).unwrap(),
        }
    }

    pub fn check(mut self) {
        let gone = |result: Result<()>| assert!(matches!(result, Err(Error::NotRunning)));
        for comm in [&self.private, &self.part] {
            gone(comm.barrier());
            gone(comm.send(0, 0, &[1]));
            gone(comm.recv(0, 0, &mut [1]));
            gone(comm.transfer(0, &[(0, &[1])], &mut [(0, &mut [1])]));
            let one = Limit {
                sends: Some(1),
                ..Limit::default()
            };
            gone(comm.transfer_limited(0, one, &[(0, &[1])], &mut [(0, &mut [1])]));
            let (turns, mut buffer) = ([Some((0, 1))], [0]);
            let buffers = &mut [&mut buffer[..]];
            gone(comm.transfer_in_turn(0, &[(0, &[1])], &turns, buffers, &mut |_, _| ()));
            gone(comm.recv_in_parts(0, &mut [(0, &mut [1])]));
            gone(
                comm.start(0, vec![(0, Arc::new(vec![1]))], vec![])
                    .unwrap()
                    .finish()
                    .map(drop),
            );
            gone(comm.bcast(0, &mut [1]));
            gone(comm.allreduce(Op::Sum, &mut [1]));
            gone(comm.scan(Op::Sum, &mut [1]));
            gone(comm.allgather(&[1], &mut vec![0; comm.size()]));
            gone(comm.alltoall(&vec![1; comm.size()]).map(drop));
            gone(comm.deliver(0, vec![(0, vec![1])]).map(drop));
            gone(comm.split(Some(0), 0).map(drop));
        }
        gone(MpiComm::private(world()).map(drop));
        gone(MpiComm::borrowed(world()).map(drop));
        gone(Datatype::of(NumberType::Real(8).datatype()).map(drop));
        gone(Info::new(&[]).map(drop));
        gone(mpi::check_running());
        gone(mpi::split_for_user(world(), Some(0), 0).map(drop));
        gone(mpi::rank_in(world(), 0, world()).map(drop));
        assert!(mpi::is_null(mpi::comm_of_fortran(0)) && !mpi::is_resilient(world()));
        // SAFETY: not even looked at.
        let tested = unsafe { mpi::test(&mut mpi::null_request(), std::ptr::null_mut()) };
        assert!(tested.is_some_and(|code| code != 0));
        // SAFETY: one element of four bytes.
        gone(unsafe { self.datatype.pack([1u8; 4].as_ptr(), 0, &mut [0; 4]) });
        assert!(self.tested.is_done());
        gone(self.underway.finish().map(drop));
        drop((self.tested, self.info, self.part, self.private));
    }
}
