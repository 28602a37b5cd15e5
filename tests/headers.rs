//! The public headers are what the Rust signatures and the hand-written parts say.
//!
//! `BLESS=1 cargo test --test headers` writes them anew.

use cbindgen::{Builder, Config};
use std::fs;
use std::path::Path;

/// Header and the Rust files whose functions it declares, in this order.
const HEADERS: [(&str, &[&str]); 11] = [
    ("kvtree.h", &["kvtree.rs", "kvtree_file.rs"]),
    ("kvtree_util.h", &["kvtree_util.rs"]),
    ("kvtree_mpi.h", &["kvtree_mpi.rs"]),
    ("rankstr_mpi.h", &["rankstr_mpi.rs"]),
    ("redset.h", &["redset_mpi.rs", "redset.rs"]),
    ("fenix_data_subset.h", &["fenix_data_subset.rs"]),
    ("fenix_process_recovery.h", &[]),
    (
        "fenix.h",
        &["fenix_process.rs", "fenix.rs", "fenix_store.rs"],
    ),
    ("fenix_data_recovery.h", &[]),
    (
        "pio.h",
        &[
            "pio_iosystem.rs",
            "pio_decomp.rs",
            "pio_map.rs",
            "pio_file.rs",
            "pio_dim.rs",
            "pio_var.rs",
            "pio_att.rs",
            "pio_darray.rs",
            "pio_vard.rs",
            "pio_data.rs",
            "pio_nc4.rs",
            "pio.rs",
        ],
    ),
    (
        "stanchion.h",
        &[
            "stanchion.rs",
            "stanchion_fdt.rs",
            "stanchion_fdt_layout.rs",
            "stanchion_redset.rs",
            "stanchion_fenix.rs",
            "stanchion_pio.rs",
            "stanchion_pio_values.rs",
            "stanchion_fdp.rs",
        ],
    ),
];

fn config() -> Config {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("cbindgen.toml");
    Config::from_file(file).expect("cbindgen.toml can be read")
}

/// The declarations of all exported functions of one Rust file.
fn declarations(source: &Path) -> String {
    let bindings = Builder::new()
        .with_config(config())
        .with_src(source)
        .generate()
        .expect("the C layer can be parsed");
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).expect("UTF-8");
    let text = text.replace("defined(STANCHION_PIO_NCAR)", "STANCHION_PIO_NCAR");
    text.trim().replace(" (void)", "(void)") + "\n\n"
}

fn header(name: &str, sources: &[&str]) -> String {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi");
    let frame = fs::read_to_string(capi.join("headers").join(name)).expect("hand-written part");
    let body: String = sources
        .iter()
        .map(|source| declarations(&capi.join(source)))
        .collect();
    let numbers = [
        ("@VERSION@", env!("CARGO_PKG_VERSION")),
        ("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR")),
        ("@MINOR@", env!("CARGO_PKG_VERSION_MINOR")),
        ("@PATCH@", env!("CARGO_PKG_VERSION_PATCH")),
    ];
    let text = frame.replace("//BODY\n", &body);
    numbers
        .iter()
        .fold(text, |text, (name, value)| text.replace(name, value))
}

#[test]
fn the_headers_are_up_to_date() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for (name, sources) in HEADERS {
        let wanted = header(name, sources);
        let path = include.join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &wanted).expect("the header can be written");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "include/{name} is stale: run BLESS=1 cargo test --test headers"
        );
    }
}
