//! Records how this build was made: which MPI its handles belong to, target and profile; says which instruction sets the
//! compiler knows; makes the Rust side of what is called of the file libraries.

use std::{env, fs, path::Path, process::Command};

#[path = "src/pio/format/table.rs"]
mod table;

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

/// What Open MPI 5 calls the failure of processes; nothing where the MPI cannot repair communicators.
const PROBE_ULFM: &str = r#"
#include <mpi.h>
#if defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif
stanchion_probe
#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
MPIX_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED_PENDING MPIX_ERR_REVOKED
#endif
"#;

/// The file libraries: how cargo calls the feature, the variable in which CMake gives the names under which the library is
/// looked for, one after the other, and what stands for them without CMake.
const FILE_LIBRARIES: [(&str, &str, &str); 2] = [
    (
        "netcdf",
        "STANCHION_NETCDF_NAMES",
        "libnetcdf.so.19:libnetcdf.so",
    ),
    (
        "pnetcdf",
        "STANCHION_PNETCDF_NAMES",
        "libpnetcdf.so.4:libpnetcdf.so.0d:libpnetcdf.so",
    ),
];

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
    ulfm();
    println!("cargo:rustc-check-cfg=cfg(stanchion_avx512)");
    if minor_version_of_rustc().is_some_and(|minor| minor >= AVX512_SINCE) {
        println!("cargo:rustc-cfg=stanchion_avx512");
    }
    file_libraries();
}

/// CMake has tried whether a program with ULFM links and says so in STANCHION_ULFM; without CMake the header decides.
fn ulfm() {
    println!("cargo:rustc-check-cfg=cfg(stanchion_ulfm)");
    println!("cargo:rerun-if-env-changed=STANCHION_ULFM");
    let asked = env::var("STANCHION_ULFM").ok();
    if env::var_os("CARGO_FEATURE_MPI").is_none() || asked.as_deref() == Some("OFF") {
        return;
    }
    match ulfm_of_compiler() {
        Some([failed, pending, revoked]) => {
            println!("cargo:rustc-cfg=stanchion_ulfm");
            println!("cargo:rustc-env=STANCHION_PROC_FAILED={failed}");
            println!("cargo:rustc-env=STANCHION_PROC_FAILED_PENDING={pending}");
            println!("cargo:rustc-env=STANCHION_REVOKED={revoked}");
        }
        None if asked.is_some() => println!(
            "cargo:warning=Fenix cannot repair jobs: the error classes of ULFM in mpi-ext.h are no plain numbers"
        ),
        None => (),
    }
}

fn file_libraries() {
    const TABLE: &str = "src/pio/format/calls.in";
    println!("cargo:rerun-if-changed={TABLE}");
    println!("cargo:rerun-if-changed=src/pio/format/table.rs");
    let mut used = Vec::new();
    for (library, variable, default) in FILE_LIBRARIES {
        println!("cargo:rerun-if-env-changed={variable}");
        let names = env::var(variable).unwrap_or_else(|_| default.into());
        println!("cargo:rustc-env={variable}={names}");
        if env::var_os(format!("CARGO_FEATURE_{}", library.to_uppercase())).is_some() {
            used.push(library);
        }
    }
    let text = fs::read_to_string(TABLE).expect("calls.in can be read");
    let directory = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let made = Path::new(&directory).join("calls.rs");
    fs::write(made, table::rust_of(&text, &used)).expect("OUT_DIR can be written");
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

/// The lines that the preprocessor leaves after the marker of a probe, without its own line markers.
fn preprocessed(probe: &str) -> Option<Vec<String>> {
    let file = Path::new(&env::var_os("OUT_DIR")?).join("probe.c");
    fs::write(&file, probe).ok()?;
    let mpicc = env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
    let output = Command::new(mpicc).arg("-E").arg(&file).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, after) = text.split_once("stanchion_probe")?;
    let lines = after.lines().filter(|line| !line.starts_with('#'));
    Some(lines.map(String::from).collect())
}

fn mpi_of_compiler() -> Option<String> {
    let lines = preprocessed(PROBE)?;
    let literals: String = lines
        .iter()
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .collect();
    (!literals.is_empty()).then_some(literals)
}

/// The error classes of a failed process, of one that an open receive may wait for, and of a revoked
/// communicator.
fn ulfm_of_compiler() -> Option<[i32; 3]> {
    let lines = preprocessed(PROBE_ULFM)?;
    let numbers = lines.iter().flat_map(|line| line.split_whitespace());
    let numbers: Vec<i32> = numbers.map_while(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}
