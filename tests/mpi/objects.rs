//! Datatypes, hints and requests of the user.

use std::ffi::CString;

use mpi_sys as ffi;
use stanchion::comm::mpi::{self, Datatype, Info, MPI_Datatype, NumberType};
use stanchion::comm::{Comm, Error};

pub fn run() {
    predefined_datatypes_are_dense();
    a_strided_datatype_is_packed_and_unpacked();
    a_datatype_outlives_the_users();
    what_is_no_datatype_is_refused();
    hints_are_kept_and_impossible_ones_refused();
    a_request_of_the_user_is_tested();
    assert!(!mpi::entry().is_null());
}

fn predefined_datatypes_are_dense() {
    for size in [1, 2, 4, 8] {
        for number in [NumberType::Signed(size), NumberType::Unsigned(size)] {
            let datatype = Datatype::of(number.datatype()).unwrap();
            assert_eq!((datatype.size(), datatype.is_dense()), (size as u64, true));
            assert!(datatype.handle() == number.datatype());
        }
    }
    for size in [4, 8] {
        assert_eq!(
            Datatype::of(NumberType::Real(size).datatype())
                .unwrap()
                .size(),
            size as u64
        );
    }
}

/// Two numbers with one between them, in elements of four.
fn strided() -> MPI_Datatype {
    let (mut vector, mut resized) = (mpi::null_datatype(), mpi::null_datatype());
    let int = NumberType::Signed(4).datatype();
    // SAFETY: valid datatypes; the new ones are ours to write and to free.
    unsafe {
        ffi::MPI_Type_vector(2, 1, 2, int, &mut vector);
        ffi::MPI_Type_create_resized(vector, 0, 16, &mut resized);
        ffi::MPI_Type_commit(&mut resized);
        ffi::MPI_Type_free(&mut vector);
    }
    resized
}

fn free(mut datatype: MPI_Datatype) {
    // SAFETY: ours, and not used again.
    unsafe { ffi::MPI_Type_free(&mut datatype) };
}

fn pack(datatype: &Datatype) {
    let numbers: Vec<i32> = (0..20).collect();
    let mut packed = [0u8; 24];
    // SAFETY: elements 1 to 3 of five.
    unsafe { datatype.pack(numbers.as_ptr().cast(), 1, &mut packed) }.unwrap();
    let found: Vec<_> = packed
        .chunks(4)
        .map(|n| i32::from_ne_bytes(n.try_into().unwrap()))
        .collect();
    assert_eq!(found, [4, 6, 8, 10, 12, 14]);
    let mut back = vec![-1i32; 20];
    // SAFETY: as above.
    unsafe { datatype.unpack(back.as_mut_ptr().cast(), 1, &packed) }.unwrap();
    let expected = (0..20).map(|n| {
        if (4..16).contains(&n) && n % 2 == 0 {
            n
        } else {
            -1
        }
    });
    assert!(expected.eq(back));
}

fn a_strided_datatype_is_packed_and_unpacked() {
    let user = strided();
    let datatype = Datatype::of(user).unwrap();
    assert_eq!((datatype.size(), datatype.is_dense()), (8, false));
    pack(&datatype);
    free(user);
}

fn a_datatype_outlives_the_users() {
    let user = strided();
    let datatype = Datatype::of(user).unwrap();
    free(user);
    pack(&datatype);
}

fn what_is_no_datatype_is_refused() {
    // SAFETY: a handle is an integer or a raw pointer, for which zero is a value.
    let unset: MPI_Datatype = unsafe { std::mem::zeroed() };
    for none in [unset, mpi::null_datatype(), NumberType::Real(3).datatype()] {
        let refused = Datatype::of(none).map(drop);
        assert!(matches!(
            refused,
            Err(Error::Transport {
                call: "MPI_Type_size",
                ..
            })
        ));
    }
}

fn hints_are_kept_and_impossible_ones_refused() {
    let hint = |key: &str, value: &str| (CString::new(key).unwrap(), CString::new(value).unwrap());
    let hints = [
        hint("cb_nodes", "1"),
        hint("striping", "yes"),
        hint("cb_nodes", "2"),
    ];
    let info = Info::new(&hints).unwrap();
    let (mut value, mut found) = ([0u8; 8], 0);
    // SAFETY: `value` has room for seven bytes and NUL; `found` is ours to write.
    unsafe {
        let into = value.as_mut_ptr().cast();
        ffi::MPI_Info_get(info.handle(), c"cb_nodes".as_ptr(), 7, into, &mut found);
    }
    assert_eq!((found, &value[..2]), (1, &b"2\0"[..]));
    for wrong in [hint("", "1"), hint("key", ""), hint(&"k".repeat(5000), "1")] {
        assert!(matches!(
            Info::new(&[wrong]).map(drop),
            Err(Error::Transport { .. })
        ));
    }
}

fn a_request_of_the_user_is_tested() {
    let comm = crate::private();
    let (own, mut request) = (comm.rank() as i32, mpi::null_request());
    let mut came = [0u8; 2];
    // SAFETY: `came` outlives the request, which is complete below.
    unsafe {
        let (into, kind) = (came.as_mut_ptr().cast(), ffi::RSMPI_UINT8_T);
        ffi::MPI_Irecv(into, 2, kind, own, 41, crate::world(), &mut request);
    }
    // SAFETY: a valid request; the status is not wanted.
    assert!(unsafe { mpi::test(&mut request, ffi::RSMPI_STATUS_IGNORE) }.is_none());
    // SAFETY: two bytes that outlive the blocking call; the receive is posted.
    unsafe {
        let (from, kind) = (b"ab".as_ptr().cast(), ffi::RSMPI_UINT8_T);
        ffi::MPI_Send(from, 2, kind, own, 41, crate::world());
    }
    // SAFETY: as above.
    while unsafe { mpi::test(&mut request, ffi::RSMPI_STATUS_IGNORE) } != Some(0) {}
    assert!(&came == b"ab" && request == mpi::null_request());
}
