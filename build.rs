//! Records how this build was made: which MPI its handles belong to, target and profile; and says
//! which instruction sets the compiler knows.

use std::{env, fs, path::Path, process::Command};

/// Preprocessed against `mpi.h`: the line after the marker names the family and version.
const PROBE: &str = r#"
#include <mpi.h>
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
stanchion_probe
#if defined(OPEN_MPI)
"Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#elif defined(MPICH_VERSION)
"MPICH " MPICH_VERSION
#elif defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION) || defined(MPICH_NAME)
"MPICH " "compatible"
#endif
"#;

/// Rust 1.89 was the first stable one with the intrinsics of AVX-512 and GFNI.
const AVX512_SINCE: u32 = 89;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MPICC");
    let mpi = match env::var_os("CARGO_FEATURE_MPI") {
        Some(_) => mpi_of_compiler().unwrap_or_else(|| "an unknown MPI".into()),
        None => "no MPI".into(),
    };
    let var = |name| env::var(name).unwrap_or_default();
    println!("cargo:rustc-env=STANCHION_MPI={mpi}");
    println!(
        "cargo:rustc-env=STANCHION_BUILD_INFO={}, {}, {mpi}",
        var("TARGET"),
        var("PROFILE")
    );
    println!("cargo:rustc-check-cfg=cfg(stanchion_avx512)");
    if minor_version_of_rustc().is_some_and(|minor| minor >= AVX512_SINCE) {
        println!("cargo:rustc-cfg=stanchion_avx512");
    }
}

/// From its line such as "rustc 1.95.0 (59807616e 2026-04-14)".
fn minor_version_of_rustc() -> Option<u32> {
    let output = Command::new(env::var_os("RUSTC")?)
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.strip_prefix("rustc 1.")?;
    version.split('.').next()?.parse().ok()
}

fn mpi_of_compiler() -> Option<String> {
    let file = Path::new(&env::var_os("OUT_DIR")?).join("probe.c");
    fs::write(&file, PROBE).ok()?;
    let mpicc = env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
    let output = Command::new(mpicc).arg("-E").arg(&file).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, after) = text.split_once("stanchion_probe")?;
    // Only the string literals count: the preprocessor adds line markers of its own.
    let lines = after.lines().filter(|line| !line.starts_with('#'));
    let literals: String = lines
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .collect();
    (!literals.is_empty()).then_some(literals)
}
