//! Communicators: duplicates and the handlers of their users, splits, failures, and what is refused.

use mpi_sys as ffi;
use stanchion::comm::mpi::{self, MPI_Comm, MPI_Errhandler, MpiComm};
use stanchion::comm::{Agreement, Comm, Error, Resilient, Result, set_protocol, ulfm};

use crate::{duplicate, free, private, world};

pub fn run() {
    a_duplicate_is_made_once_and_freed_with_its_communicator();
    the_handler_of_the_user_is_restored();
    a_borrowed_communicator_is_the_users_own();
    what_is_no_communicator_is_refused();
    an_intercommunicator_is_refused();
    parts_of_a_split_know_their_ranks();
    a_part_outlives_the_communicator_of_the_user();
    a_split_for_the_user_has_the_users_handler();
    ranks_of_one_communicator_are_found_in_another();
    another_protocol_is_refused_by_all_ranks();
    a_failure_is_kept_for_the_communicator_of_the_user();
    without_failures_a_resilient_communicator_is_whole();
    resilient_communicators_are_known_by_their_handler();
}

fn handler_of(comm: MPI_Comm) -> MPI_Errhandler {
    // SAFETY: a constant of the MPI shim, never written.
    let mut handler = unsafe { ffi::RSMPI_ERRORS_RETURN };
    // SAFETY: `comm` is valid; `handler` is ours to write.
    assert_eq!(
        unsafe { ffi::MPI_Comm_get_errhandler(comm, &mut handler) },
        0
    );
    handler
}

fn set_handler(comm: MPI_Comm, handler: MPI_Errhandler) {
    // SAFETY: both are valid.
    assert_eq!(unsafe { ffi::MPI_Comm_set_errhandler(comm, handler) }, 0);
}

fn predefined_handlers() -> [MPI_Errhandler; 2] {
    // SAFETY: constants of the MPI shim, never written.
    unsafe { [ffi::RSMPI_ERRORS_RETURN, ffi::RSMPI_ERRORS_ARE_FATAL] }
}

fn a_duplicate_is_made_once_and_freed_with_its_communicator() {
    for _ in 0..20 {
        let user = duplicate(world());
        let (first, second) = (
            MpiComm::private(user).unwrap(),
            MpiComm::private(user).unwrap(),
        );
        assert!(first.handle() == second.handle() && first.handle() != user);
        // The user's own duplicate does not inherit it.
        let copy = duplicate(user);
        let other = MpiComm::private(copy).unwrap();
        assert!(other.handle() != first.handle());
        other.barrier().unwrap();
        free(copy);
        first.barrier().unwrap();
        free(user);
    }
}

fn the_handler_of_the_user_is_restored() {
    for handler in predefined_handlers() {
        let user = duplicate(world());
        set_handler(user, handler);
        for _ in 0..2 {
            MpiComm::private(user).unwrap().barrier().unwrap();
            assert!(handler_of(user) == handler);
            drop(MpiComm::borrowed(user).unwrap());
            assert!(handler_of(user) == handler);
        }
        free(user);
    }
}

fn a_borrowed_communicator_is_the_users_own() {
    let user = duplicate(world());
    let comm = MpiComm::borrowed(user).unwrap();
    assert!(comm.handle() == user && handler_of(user) == predefined_handlers()[0]);
    assert!(matches!(
        comm.send(comm.rank(), -77, b""),
        Err(Error::Transport { .. })
    ));
    drop(comm);
    free(user);
}

fn what_is_no_communicator_is_refused() {
    // SAFETY: a handle is an integer or a raw pointer, for which zero is a value.
    let unset: MPI_Comm = unsafe { std::mem::zeroed() };
    for none in [unset, mpi::null_comm()] {
        assert!(mpi::is_null(none) && !mpi::is_null(world()));
        let refused = |result: Result<()>| assert!(matches!(result, Err(Error::NullCommunicator)));
        refused(MpiComm::private(none).map(drop));
        refused(MpiComm::borrowed(none).map(drop));
        refused(mpi::split_for_user(none, None, 0).map(drop));
        refused(mpi::rank_in(none, 0, world()).map(drop));
    }
    // What MPI_Comm_free leaves in the user's variable.
    let mut user = duplicate(world());
    MpiComm::private(user).unwrap().barrier().unwrap();
    // SAFETY: valid, and not used again.
    unsafe { ffi::MPI_Comm_free(&mut user) };
    assert!(matches!(
        MpiComm::private(user).map(drop),
        Err(Error::NullCommunicator)
    ));
}

fn an_intercommunicator_is_refused() {
    let comm = private();
    if comm.size() < 2 {
        return;
    }
    let is_first = comm.rank() == 0;
    let part = mpi::split_for_user(world(), Some(u32::from(is_first)), 0).unwrap();
    let mut between = mpi::null_comm();
    // SAFETY: the leaders are rank 0 of each part, ranks 0 and 1 of the world; `between` is ours to write.
    let code = unsafe {
        ffi::MPI_Intercomm_create(part, 0, world(), i32::from(is_first), 31, &mut between)
    };
    assert_eq!(code, 0);
    let handler = handler_of(between);
    let refused = |result: Result<()>| assert!(matches!(result, Err(Error::Intercommunicator)));
    refused(MpiComm::private(between).map(drop));
    refused(MpiComm::borrowed(between).map(drop));
    assert!(handler_of(between) == handler);
    free(between);
    free(part);
}

fn parts_of_a_split_know_their_ranks() {
    let comm = private();
    let part = comm.split(Some((comm.rank() % 2) as u32), -(comm.rank() as i32));
    let part = part.unwrap().unwrap();
    assert_eq!(part.size(), (comm.size() + 1 - comm.rank() % 2) / 2);
    assert_eq!(part.rank(), part.size() - 1 - comm.rank() / 2);
    assert!(comm.split(None, 0).unwrap().is_none());
    let too_high = comm.split(Some(1 << 31), 0).map(drop);
    assert!(matches!(
        too_high,
        Err(Error::Transport {
            call: "MPI_Comm_split",
            ..
        })
    ));
    // The chunk limit is inherited: else these ranks would not understand each other.
    let all = comm.split(Some(0), 0).unwrap().unwrap();
    let mut told = crate::bytes(all.rank(), 20);
    all.bcast(0, &mut told).unwrap();
    assert_eq!(told, crate::bytes(0, 20));
}

fn a_part_outlives_the_communicator_of_the_user() {
    let user = duplicate(world());
    let part = MpiComm::private(user)
        .unwrap()
        .split(Some(0), 0)
        .unwrap()
        .unwrap();
    free(user);
    part.barrier().unwrap();
    assert!(mpi::take_failure().is_none());
}

fn a_split_for_the_user_has_the_users_handler() {
    for handler in predefined_handlers() {
        let user = duplicate(world());
        set_handler(user, handler);
        let rank = MpiComm::private(user).unwrap().rank();
        let joins = rank != 0;
        let part = mpi::split_for_user(user, joins.then_some(3), -(rank as i32)).unwrap();
        assert_eq!(mpi::is_null(part), !joins);
        if joins {
            assert!(handler_of(part) == handler);
            let comm = MpiComm::private(part).unwrap();
            assert_eq!(comm.rank(), comm.size() - rank);
            comm.barrier().unwrap();
            free(part);
        }
        free(user);
    }
}

fn ranks_of_one_communicator_are_found_in_another() {
    let comm = private();
    let size = comm.size();
    let reversed = mpi::split_for_user(world(), Some(0), -(comm.rank() as i32)).unwrap();
    for rank in 0..size {
        let found = mpi::rank_in(world(), rank as i32, reversed).unwrap();
        assert_eq!(found, Some(size - 1 - rank));
    }
    free(reversed);
    // SAFETY: a constant of the MPI shim, never written.
    let own = unsafe { ffi::RSMPI_COMM_SELF };
    for rank in 0..size {
        let found = mpi::rank_in(world(), rank as i32, own).unwrap();
        assert_eq!(found, (rank == comm.rank()).then_some(0));
    }
    assert_eq!(mpi::rank_of_process(), Some(comm.rank() as i32));
    // SAFETY: a constant of the MPI shim, never written.
    assert!(mpi::is_proc_null(unsafe { ffi::RSMPI_PROC_NULL }) && !mpi::is_proc_null(0));
    // SAFETY: the world is valid.
    let number = unsafe { ffi::RSMPI_Comm_c2f(world()) };
    assert!(mpi::comm_of_fortran(number as i32) == world());
}

/// Of no build.
const OTHER_PROTOCOL: u16 = 60_000;

fn another_protocol_is_refused_by_all_ranks() {
    let user = duplicate(world());
    let (rank, size) = (private().rank(), private().size());
    let protocol = set_protocol(OTHER_PROTOCOL);
    if rank != size - 1 {
        set_protocol(protocol);
    }
    let refused = MpiComm::private(user).map(drop);
    set_protocol(protocol);
    if size > 1 {
        let text = refused.unwrap_err().to_string();
        assert!(
            text.contains(&format!("(protocol {OTHER_PROTOCOL})")),
            "{text}"
        );
        assert!(text.contains(&format!("(protocol {protocol})")), "{text}");
    }
    // Nothing is left of the refusal.
    let comm = MpiComm::private(user).unwrap();
    comm.barrier().unwrap();
    free(user);
}

fn a_failure_is_kept_for_the_communicator_of_the_user() {
    let user = duplicate(world());
    drop(MpiComm::private(user).unwrap());
    assert!(mpi::take_failure().is_none());
    mpi::note_failure(user, 7);
    mpi::note_failure(world(), 8);
    assert!(
        mpi::take_failure() == Some((user, 7)),
        "the first of two is kept"
    );
    assert!(mpi::take_failure().is_none());
    mpi::note_failure(user, 9);
    free(user);
    assert!(
        mpi::take_failure().is_none(),
        "nothing can be raised on a freed one"
    );
    assert!(!ulfm::is_failure(0) && !ulfm::is_failure(ffi::MPI_ERR_COMM as i32));
}

fn without_failures_a_resilient_communicator_is_whole() {
    let comm = private();
    let (rank, size) = (comm.rank(), comm.size());
    let shrunk = comm.shrink().unwrap();
    assert_eq!((shrunk.rank(), shrunk.size()), (rank, size));
    let agreed = shrunk
        .agree(if rank == 0 { 0b110 } else { 0b011 | 1 << 31 })
        .unwrap();
    let flag = if size > 1 { 0b010 } else { 0b110 };
    assert_eq!(
        agreed,
        Agreement {
            flag,
            someone_failed: false
        }
    );
    assert!(shrunk.failed().unwrap().is_empty() && !shrunk.is_revoked());
    shrunk.signal((rank + 1) % size);
    while !shrunk.signalled().unwrap() {
        std::thread::yield_now();
    }
    let (_, mut came) = ((), []);
    shrunk.recv((rank + size - 1) % size, 1, &mut came).unwrap();
    assert!(!shrunk.signalled().unwrap());
    if !ulfm::available() {
        shrunk.revoke();
        ulfm::revoke_all(None);
        mpi::revoke_for_user(world());
        ulfm::mark_stale(world());
        assert!(!shrunk.is_revoked() && !ulfm::is_stale(world()));
    }
    shrunk.barrier().unwrap();
}

unsafe extern "C" fn ignore(_comm: *mut MPI_Comm, _code: *mut i32) {}

/// Last of all: the handler stays known.
fn resilient_communicators_are_known_by_their_handler() {
    let comm = private();
    assert!(!mpi::is_resilient(world()));
    let mut handler = handler_of(world());
    type Handler = unsafe extern "C" fn(*mut MPI_Comm, *mut i32, ...);
    // SAFETY: MPI's type of handlers is variadic; this one does not look at what comes after its two arguments.
    let ignore = unsafe { std::mem::transmute::<*const (), Handler>(ignore as *const ()) };
    // SAFETY: a function of the right kind; `handler` is ours to write.
    unsafe { ffi::MPI_Comm_create_errhandler(Some(ignore), &mut handler) };
    mpi::set_resilient_handler(handler);
    let (user, own) = comm.split_for_user(true, 0).unwrap().unwrap();
    assert!(mpi::is_resilient(user.handle()) && !mpi::is_resilient(world()));
    let found = MpiComm::private(user.handle()).unwrap();
    assert!(
        found.handle() == own.handle(),
        "the private one is its duplicate"
    );
    found.barrier().unwrap();
    let left_out = comm.split_for_user(false, 0).unwrap();
    assert!(left_out.is_none());
    // A communicator that the program makes of it inherits the handler.
    let derived = duplicate(user.handle());
    assert!(mpi::is_resilient(derived));
    MpiComm::private(derived).unwrap().barrier().unwrap();
    free(derived);
}
