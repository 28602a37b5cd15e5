//! `RUSTFLAGS="--cfg loom" cargo test` in this directory. The models are in src/kvtree/list/watch/interleavings.rs.
#![cfg(all(test, loom))]
#![allow(dead_code)] // what the models do not call

/// Stands for `kvtree::list`, as far as its watch looks at it.
#[path = "../../src/kvtree/list"]
mod list {
    mod raw {
        pub(super) struct RawElem;
    }
    mod watch;
}
