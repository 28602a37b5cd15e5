//! Stanchion: one library behind the C APIs of kvtree, rankstr and redset; Fenix and PIO are to follow.
//!
//! Dependencies go one way: `capi → redset → {kvtree, rankstr} → {comm, storage, erasure} → log`. Every
//! room that can fail has its own error type. Inside, everything is a `Result`; only `capi` speaks C.
#![deny(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    unreachable_pub,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc
)]

pub mod capi;
pub mod comm;
pub mod erasure;
pub mod fenix;
pub mod kvtree;
pub mod log;
mod pages;
pub mod pio;
pub mod rankstr;
pub mod redset;
pub mod storage;

/// Every exported C function, header by header; `cmake/stanchion.map` holds the same names for the
/// linker. `kvtree_setf`, `kvtree_getf`, `stanchion_*_f` and `__fenix_*init` are C (`src/shim`).
pub mod exports {
    #[cfg(feature = "mpi")]
    pub use crate::capi::fenix::{
        Fenix_Data_group_create, Fenix_Data_group_delete, Fenix_Data_group_get_member_at_position,
        Fenix_Data_group_get_number_of_members, Fenix_Data_group_get_number_of_snapshots,
        Fenix_Data_group_get_redundancy_policy, Fenix_Data_group_get_snapshot_at_position,
        Fenix_Data_member_attr_get, Fenix_Data_member_attr_set, Fenix_Data_member_create,
        Fenix_Data_member_delete, Fenix_Data_snapshot_delete, Fenix_Data_subset_create,
        Fenix_Data_subset_createv, Fenix_Data_subset_delete,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::fenix_data_subset::{
        __fenix_data_subset_free, __fenix_data_subset_merge, FENIX_DATA_SUBSET_EMPTY,
        FENIX_DATA_SUBSET_FULL,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::fenix_process::{
        Fenix_Callback_pop, Fenix_Callback_register, Fenix_Finalize, Fenix_Initialized,
        Fenix_Process_detect_failures, Fenix_Process_fail_list, Fenix_check_cancelled,
        Fenix_get_number_of_ranks_with_role, Fenix_get_role,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::fenix_store::{
        Fenix_Data_barrier, Fenix_Data_commit, Fenix_Data_commit_barrier, Fenix_Data_member_istore,
        Fenix_Data_member_istorev, Fenix_Data_member_lrestore, Fenix_Data_member_restore,
        Fenix_Data_member_restore_from_rank, Fenix_Data_member_store, Fenix_Data_member_storev,
        Fenix_Data_test, Fenix_Data_wait,
    };
    pub use crate::capi::kvtree::{
        kvtree_delete, kvtree_elem_extract, kvtree_elem_extract_by_addr, kvtree_elem_extract_int,
        kvtree_elem_first, kvtree_elem_get, kvtree_elem_get_first_val, kvtree_elem_hash,
        kvtree_elem_key, kvtree_elem_key_int, kvtree_elem_next, kvtree_extract, kvtree_get,
        kvtree_get_kv, kvtree_get_kv_int, kvtree_get_val, kvtree_list_int, kvtree_merge,
        kvtree_new, kvtree_pack, kvtree_pack_size, kvtree_set, kvtree_set_kv, kvtree_set_kv_int,
        kvtree_size, kvtree_sort, kvtree_sort_int, kvtree_unpack, kvtree_unset, kvtree_unset_all,
        kvtree_unset_kv, kvtree_unset_kv_int,
    };
    pub use crate::capi::kvtree_file::{
        kvtree_lock_open_read, kvtree_log, kvtree_print, kvtree_print_mode, kvtree_read_fd,
        kvtree_read_file, kvtree_read_scatter_single, kvtree_read_with_lock,
        kvtree_write_close_unlock, kvtree_write_fd, kvtree_write_file, kvtree_write_persist,
        kvtree_write_to_gather, kvtree_write_with_lock,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::kvtree_mpi::{
        kvtree_bcast, kvtree_exchange, kvtree_exchange_direction, kvtree_exchange_sendq,
        kvtree_read_scatter, kvtree_recv, kvtree_send, kvtree_sendrecv, kvtree_write_gather,
    };
    pub use crate::capi::kvtree_util::{
        kvtree_util_get_bytecount, kvtree_util_get_crc32, kvtree_util_get_double,
        kvtree_util_get_int, kvtree_util_get_int64, kvtree_util_get_ptr, kvtree_util_get_str,
        kvtree_util_get_unsigned_long, kvtree_util_set_bytecount, kvtree_util_set_crc32,
        kvtree_util_set_double, kvtree_util_set_int, kvtree_util_set_int64, kvtree_util_set_ptr,
        kvtree_util_set_str, kvtree_util_set_unsigned_long,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_decomp::{
        PIOc_InitDecomp, PIOc_InitDecomp_ReadOnly, PIOc_InitDecomp_bc, PIOc_freedecomp,
        PIOc_get_local_array_size, PIOc_init_decomp, PIOc_set_blocksize,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_iosystem::{
        PIOc_Init_Intracomm, PIOc_Init_Intracomm_from_F90, PIOc_Set_File_Error_Handling,
        PIOc_Set_IOSystem_Error_Handling, PIOc_finalize, PIOc_free_iosystem, PIOc_get_iosystem,
        PIOc_get_numiotasks, PIOc_iam_iotask, PIOc_iosystem_is_active, PIOc_iotask_rank,
        PIOc_set_hint, PIOc_set_iosystem_error_handling, PIOc_set_rearr_opts,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::rankstr_mpi::{rankstr_mpi, rankstr_mpi_comm_split};
    pub use crate::capi::redset::{
        redset_filelist_count, redset_filelist_file, redset_filelist_get_data_partner,
        redset_filelist_get_data_rs, redset_filelist_get_data_xor, redset_filelist_release,
        redset_rebuild_partner, redset_rebuild_rs, redset_rebuild_xor,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::redset_mpi::{
        redset_apply, redset_config, redset_create, redset_create_partner, redset_create_rs,
        redset_create_single, redset_create_xor, redset_delete, redset_filelist_enc_get,
        redset_filelist_orig_get, redset_finalize, redset_init, redset_recover, redset_unapply,
    };
    pub use crate::capi::stanchion::{
        stanchion_build_info, stanchion_last_error, stanchion_set_log_callback,
        stanchion_set_log_level, stanchion_version,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::stanchion_fenix::stanchion_fenix_checksums;
    #[cfg(feature = "mpi")]
    pub use crate::capi::stanchion_pio::stanchion_pio_strict;
    #[cfg(feature = "mpi")]
    pub use crate::capi::stanchion_redset::{
        stanchion_redset_describe, stanchion_redset_to_kvtree, stanchion_redset_verify,
    };
}
