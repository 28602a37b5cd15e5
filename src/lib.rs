//! Stanchion: one library behind the C APIs of kvtree, rankstr, redset, Fenix and PIO.
//!
//! Dependencies go one way: `capi → {redset, fenix, pio} → {failure_domain, kvtree} → {protect, rankstr} → wire → {comm,
//! storage, erasure} → log`. Every room that can fail has its own error type. Inside, everything is a `Result`; only `capi`
//! speaks C.
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
pub mod failure_domain;
pub mod fenix;
pub mod kvtree;
pub mod log;
mod pages;
pub mod pio;
mod protect;
pub mod rankstr;
pub mod redset;
mod reserve;
pub mod storage;
mod wire;

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
    pub use crate::capi::pio::{
        PIOc_get_version, PIOc_get_version_hash, PIOc_get_version_major, PIOc_get_version_minor,
        PIOc_get_version_patch, PIOc_get_version_string, PIOc_set_global_log_level,
        PIOc_set_log_level, PIOc_strerror,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_att::{
        PIOc_copy_att, PIOc_del_att, PIOc_get_att, PIOc_get_att_double, PIOc_get_att_float,
        PIOc_get_att_int, PIOc_get_att_long, PIOc_get_att_longlong, PIOc_get_att_schar,
        PIOc_get_att_short, PIOc_get_att_text, PIOc_get_att_uchar, PIOc_get_att_uint,
        PIOc_get_att_ulonglong, PIOc_get_att_ushort, PIOc_inq_att, PIOc_inq_attid, PIOc_inq_attlen,
        PIOc_inq_attname, PIOc_inq_atttype, PIOc_put_att, PIOc_put_att_double, PIOc_put_att_float,
        PIOc_put_att_int, PIOc_put_att_long, PIOc_put_att_longlong, PIOc_put_att_schar,
        PIOc_put_att_short, PIOc_put_att_text, PIOc_put_att_uchar, PIOc_put_att_uint,
        PIOc_put_att_ulonglong, PIOc_put_att_ushort, PIOc_rename_att,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_darray::{
        PIOc_advanceframe, PIOc_read_darray, PIOc_set_buffer_size_limit, PIOc_setframe,
        PIOc_write_darray, PIOc_write_darray_multi,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_data::{
        PIOc_get_var, PIOc_get_var_double, PIOc_get_var_float, PIOc_get_var_int, PIOc_get_var_long,
        PIOc_get_var_longlong, PIOc_get_var_schar, PIOc_get_var_short, PIOc_get_var_text,
        PIOc_get_var_uchar, PIOc_get_var_uint, PIOc_get_var_ulonglong, PIOc_get_var_ushort,
        PIOc_get_var1, PIOc_get_var1_double, PIOc_get_var1_float, PIOc_get_var1_int,
        PIOc_get_var1_long, PIOc_get_var1_longlong, PIOc_get_var1_schar, PIOc_get_var1_short,
        PIOc_get_var1_text, PIOc_get_var1_uchar, PIOc_get_var1_uint, PIOc_get_var1_ulonglong,
        PIOc_get_var1_ushort, PIOc_get_vara, PIOc_get_vara_double, PIOc_get_vara_float,
        PIOc_get_vara_int, PIOc_get_vara_long, PIOc_get_vara_longlong, PIOc_get_vara_schar,
        PIOc_get_vara_short, PIOc_get_vara_text, PIOc_get_vara_uchar, PIOc_get_vara_uint,
        PIOc_get_vara_ulonglong, PIOc_get_vara_ushort, PIOc_get_vars, PIOc_get_vars_double,
        PIOc_get_vars_float, PIOc_get_vars_int, PIOc_get_vars_long, PIOc_get_vars_longlong,
        PIOc_get_vars_schar, PIOc_get_vars_short, PIOc_get_vars_text, PIOc_get_vars_uchar,
        PIOc_get_vars_uint, PIOc_get_vars_ulonglong, PIOc_get_vars_ushort, PIOc_put_var,
        PIOc_put_var_double, PIOc_put_var_float, PIOc_put_var_int, PIOc_put_var_long,
        PIOc_put_var_longlong, PIOc_put_var_schar, PIOc_put_var_short, PIOc_put_var_text,
        PIOc_put_var_uchar, PIOc_put_var_uint, PIOc_put_var_ulonglong, PIOc_put_var_ushort,
        PIOc_put_var1, PIOc_put_var1_double, PIOc_put_var1_float, PIOc_put_var1_int,
        PIOc_put_var1_long, PIOc_put_var1_longlong, PIOc_put_var1_schar, PIOc_put_var1_short,
        PIOc_put_var1_text, PIOc_put_var1_uchar, PIOc_put_var1_uint, PIOc_put_var1_ulonglong,
        PIOc_put_var1_ushort, PIOc_put_vara, PIOc_put_vara_double, PIOc_put_vara_float,
        PIOc_put_vara_int, PIOc_put_vara_long, PIOc_put_vara_longlong, PIOc_put_vara_schar,
        PIOc_put_vara_short, PIOc_put_vara_text, PIOc_put_vara_uchar, PIOc_put_vara_uint,
        PIOc_put_vara_ulonglong, PIOc_put_vara_ushort, PIOc_put_vars, PIOc_put_vars_double,
        PIOc_put_vars_float, PIOc_put_vars_int, PIOc_put_vars_long, PIOc_put_vars_longlong,
        PIOc_put_vars_schar, PIOc_put_vars_short, PIOc_put_vars_text, PIOc_put_vars_uchar,
        PIOc_put_vars_uint, PIOc_put_vars_ulonglong, PIOc_put_vars_ushort,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_decomp::{
        PIOc_InitDecomp, PIOc_InitDecomp_ReadOnly, PIOc_InitDecomp_bc, PIOc_freedecomp,
        PIOc_get_local_array_size, PIOc_init_decomp, PIOc_set_blocksize,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_dim::{
        PIOc_def_dim, PIOc_inq_dim, PIOc_inq_dimid, PIOc_inq_dimlen, PIOc_inq_dimname,
        PIOc_rename_dim,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_file::{
        PIOc_File_is_Open, PIOc_closefile, PIOc_create, PIOc_createfile, PIOc_deletefile,
        PIOc_enddef, PIOc_inq, PIOc_inq_format, PIOc_inq_natts, PIOc_inq_ndims, PIOc_inq_nvars,
        PIOc_inq_unlimdim, PIOc_inq_unlimdims, PIOc_iotype_available, PIOc_open, PIOc_openfile,
        PIOc_openfile_retry, PIOc_openfile2, PIOc_redef, PIOc_set_fill, PIOc_sync,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_internal::{PIOc_get_vars_tc, PIOc_put_vars_tc, find_mpi_type};
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_iosystem::{
        PIOc_Init_Intracomm, PIOc_Init_Intracomm_from_F90, PIOc_Set_File_Error_Handling,
        PIOc_Set_IOSystem_Error_Handling, PIOc_finalize, PIOc_free_iosystem, PIOc_get_iosystem,
        PIOc_get_numiotasks, PIOc_iam_iotask, PIOc_iosystem_is_active, PIOc_iotask_rank,
        PIOc_set_hint, PIOc_set_iosystem_error_handling, PIOc_set_rearr_opts,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_map::{
        PIOc_read_nc_decomp, PIOc_readmap, PIOc_readmap_from_f90, PIOc_write_decomp,
        PIOc_write_nc_decomp, PIOc_writemap, PIOc_writemap_from_f90,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_nc4::{
        PIOc_def_var_chunking, PIOc_def_var_deflate, PIOc_def_var_endian, PIOc_def_var_filter,
        PIOc_def_var_quantize, PIOc_def_var_szip, PIOc_def_var_zstandard, PIOc_get_chunk_cache,
        PIOc_get_var_chunk_cache, PIOc_inq_filter_avail, PIOc_inq_var_chunking,
        PIOc_inq_var_deflate, PIOc_inq_var_endian, PIOc_inq_var_filter_ids,
        PIOc_inq_var_filter_info, PIOc_inq_var_quantize, PIOc_inq_var_zstandard,
        PIOc_set_chunk_cache, PIOc_set_var_chunk_cache,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_var::{
        PIOc_def_var, PIOc_def_var_fill, PIOc_inq_type, PIOc_inq_var, PIOc_inq_var_fill,
        PIOc_inq_vardimid, PIOc_inq_varid, PIOc_inq_varname, PIOc_inq_varnatts, PIOc_inq_varndims,
        PIOc_inq_vartype, PIOc_rename_var,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::pio_vard::{
        PIOc_get_vard, PIOc_get_vard_double, PIOc_get_vard_float, PIOc_get_vard_int,
        PIOc_get_vard_longlong, PIOc_get_vard_schar, PIOc_get_vard_short, PIOc_get_vard_text,
        PIOc_get_vard_uchar, PIOc_get_vard_uint, PIOc_get_vard_ulonglong, PIOc_get_vard_ushort,
        PIOc_put_vard, PIOc_put_vard_double, PIOc_put_vard_float, PIOc_put_vard_int,
        PIOc_put_vard_longlong, PIOc_put_vard_schar, PIOc_put_vard_short, PIOc_put_vard_text,
        PIOc_put_vard_uchar, PIOc_put_vard_uint, PIOc_put_vard_ulonglong, PIOc_put_vard_ushort,
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
    pub use crate::capi::stanchion_fdp::fdp_create;
    pub use crate::capi::stanchion_fdp::{
        fdp_create_local, fdp_destroy, fdp_get, fdp_members, fdp_picture, fdp_report,
        fdp_scenarios, fdp_size, fdp_survives, fdp_tolerance,
    };
    pub use crate::capi::stanchion_fdt::{
        fdt_create_degrees, fdt_create_paths, fdt_depth_get, fdt_destroy, fdt_domain_find,
        fdt_tolerance_check, fdt_tolerance_max, fdt_tolerance_vectors, fdt_vsymm_tree_generate,
        fdt_width_get,
    };
    pub use crate::capi::stanchion_fdt_layout::{
        fd_pg2tgt_map, fd_repair_map, fd_tgt2pg_map, fdt_failset_check, fdt_failvec_check,
        fdt_ft_perm_generate, fdt_layout_destroy, fdt_layout_get, fdt_layout_tolerance,
        fdt_polytope_get,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::stanchion_fenix::stanchion_fenix_checksums;
    #[cfg(feature = "mpi")]
    pub use crate::capi::stanchion_pio::{
        stanchion_pio_decomp_type, stanchion_pio_held, stanchion_pio_regions, stanchion_pio_strict,
        stanchion_pio_to_compute, stanchion_pio_to_io,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::stanchion_pio_values::{
        stanchion_pio_get_attribute, stanchion_pio_get_variable, stanchion_pio_put_attribute,
        stanchion_pio_put_variable, stanchion_pio_refuse_array,
    };
    #[cfg(feature = "mpi")]
    pub use crate::capi::stanchion_redset::{
        stanchion_redset_describe, stanchion_redset_to_kvtree, stanchion_redset_verify,
    };
}
