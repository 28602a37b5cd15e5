//! How much the long tests try: a part of their cases always, all of them where `STANCHION_TEST_ALL` is set, as in the
//! slow run of `scripts/test.sh`.

fn all() -> bool {
    std::env::var_os("STANCHION_TEST_ALL").is_some()
}

/// How many random cases, of `wanted`.
pub(crate) fn cases(wanted: u32) -> u32 {
    if all() { wanted } else { wanted.div_ceil(3) }
}

/// How far it is from one case of a series to the next.
pub(crate) fn stride(usual: usize) -> usize {
    if all() { 1 } else { usual }
}
