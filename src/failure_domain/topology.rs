//! The path of a rank in the tree of failure domains, from the environment variable STANCHION_TOPOLOGY.
//!
//! | value | path |
//! |---|---|
//! | `host` | the host name |
//! | `slurm` | SLURM_TOPOLOGY_ADDR, split as SLURM_TOPOLOGY_ADDR_PATTERN says |
//! | `file:<name>` | from the line "host path" of that file for this host; `#` starts a comment |
//! | anything else | the value itself, such as "rack3/chassis1/node17" |
//! | not set, empty | none |

use std::env::VarError;
use std::path::PathBuf;

use crate::comm::host_name;
use crate::storage::file::open_read;

const VARIABLE: &str = "STANCHION_TOPOLOGY";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("STANCHION_TOPOLOGY is slurm, but {0} is not set")]
    NotSet(&'static str),
    #[error("the environment variable {0} is not UTF-8")]
    NotText(&'static str),
    #[error(
        "SLURM_TOPOLOGY_ADDR is {address:?}, which has fewer parts than its pattern {pattern:?}"
    )]
    Pattern { address: String, pattern: String },
    #[error("{file}: {text}", file = file.display())]
    Read { file: PathBuf, text: String },
    #[error("{file}:{line}: expected a host and its path, or a comment", file = file.display())]
    Line { file: PathBuf, line: usize },
    #[error("{file} has no line for the host {host}", file = file.display())]
    NoHost { file: PathBuf, host: String },
}

type Result<T> = std::result::Result<T, Error>;

/// The path of this rank, or `None` if STANCHION_TOPOLOGY is not set.
pub fn path() -> Result<Option<String>> {
    path_in(&|name| match std::env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Error::NotText(name)),
    })
}

/// The path of this rank; the host name if STANCHION_TOPOLOGY is not set.
pub fn path_or_host() -> Result<String> {
    Ok(path()?.unwrap_or_else(host_name))
}

fn path_in(variable: &dyn Fn(&'static str) -> Result<Option<String>>) -> Result<Option<String>> {
    let Some(value) = variable(VARIABLE)?.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let path = match (value.as_str(), value.strip_prefix("file:")) {
        ("host", _) => host_name(),
        ("slurm", _) => slurm(variable)?,
        (_, Some(file)) => line_of(file.into(), &host_name())?,
        (_, None) => value,
    };
    Ok(Some(path))
}

/// "s0.s4.tux7" with the pattern "switch.switch.node" is "s0/s4/tux7". The last part may contain dots.
fn slurm(variable: &dyn Fn(&'static str) -> Result<Option<String>>) -> Result<String> {
    let needed = |name| variable(name)?.ok_or(Error::NotSet(name));
    let address = needed("SLURM_TOPOLOGY_ADDR")?;
    let pattern = needed("SLURM_TOPOLOGY_ADDR_PATTERN")?;
    let wanted = pattern.split('.').count();
    let parts: Vec<_> = address.splitn(wanted, '.').collect();
    match parts.len() == wanted {
        true => Ok(parts.join("/")),
        false => Err(Error::Pattern { address, pattern }),
    }
}

/// Looks for the full host name first, then for the part before the first dot.
fn line_of(file: PathBuf, host: &str) -> Result<String> {
    let unread = |cause: &dyn std::fmt::Display| Error::Read {
        file: file.clone(),
        text: cause.to_string(),
    };
    let opened = open_read(&file).map_err(|cause| unread(&cause))?;
    let text = std::io::read_to_string(std::fs::File::from(opened));
    let text = text.map_err(|cause| unread(&cause))?;
    let short = host.split('.').next().unwrap_or(host);
    let mut by_short_name = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [] => (),
            [name, path] if name == host => return Ok(path.to_owned()),
            [name, path] if name == short => by_short_name = Some(path.to_owned()),
            [_, _] => (),
            _ => {
                let line = number + 1;
                return Err(Error::Line { file, line });
            }
        }
    }
    by_short_name.ok_or_else(|| Error::NoHost {
        file,
        host: host.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn found(variables: &[(&str, &str)]) -> Result<Option<String>> {
        path_in(&|name| {
            let found = variables.iter().find(|variable| variable.0 == name);
            Ok(found.map(|variable| variable.1.to_owned()))
        })
    }

    fn topology(value: &str) -> Result<Option<String>> {
        found(&[(VARIABLE, value)])
    }

    #[test]
    fn a_value_is_a_path_or_says_where_it_is() {
        assert_eq!(found(&[]).unwrap(), None);
        assert_eq!(topology("").unwrap(), None);
        assert_eq!(topology("r1/n2").unwrap().unwrap(), "r1/n2");
        assert_eq!(topology("host").unwrap().unwrap(), host_name());
    }

    #[test]
    fn slurm_tells_switches_and_node() {
        let slurm = |address, pattern| {
            found(&[
                (VARIABLE, "slurm"),
                ("SLURM_TOPOLOGY_ADDR", address),
                ("SLURM_TOPOLOGY_ADDR_PATTERN", pattern),
            ])
        };
        let path = |address, pattern| slurm(address, pattern).unwrap().unwrap();
        assert_eq!(path("s0.s4.tux7", "switch.switch.node"), "s0/s4/tux7");
        assert_eq!(path("s0.tux7.site", "switch.node"), "s0/tux7.site");
        assert!(matches!(
            slurm("tux7", "switch.node"),
            Err(Error::Pattern { .. })
        ));
        assert!(matches!(
            topology("slurm"),
            Err(Error::NotSet("SLURM_TOPOLOGY_ADDR"))
        ));
    }

    #[test]
    fn a_file_has_a_line_for_each_host() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "# hosts\n\ntux1 r0/n1 # the first\ntux2.site r0/n2\n").unwrap();
        let of = |host: &str| line_of(file.path().to_owned(), host);
        assert_eq!(of("tux1").unwrap(), "r0/n1");
        assert_eq!(of("tux1.site").unwrap(), "r0/n1");
        assert_eq!(of("tux2.site").unwrap(), "r0/n2");
        assert!(matches!(of("tux2"), Err(Error::NoHost { .. })));
        writeln!(file, "tux3").unwrap();
        let of = |host: &str| line_of(file.path().to_owned(), host);
        assert!(matches!(of("tux4"), Err(Error::Line { line: 6, .. })));
        assert!(matches!(
            topology("file:/no/such/file"),
            Err(Error::Read { .. })
        ));
    }
}
