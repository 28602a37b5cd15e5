//! Generates the Rust declarations of `calls.in`. Part of `build.rs`, not of the library.

use std::fmt::Write;

/// The parsed `calls.in`.
struct CallTable<'a> {
    libraries: Vec<LibraryPrefix<'a>>,
    /// The endings of function names, one for each kind of data.
    kinds: Vec<&'a str>,
    functions: Vec<Function<'a>>,
}

struct LibraryPrefix<'a> {
    name: &'a str,
    prefix: &'a str,
}

struct Function<'a> {
    returns: &'a str,
    name: &'a str,
    arguments: Vec<&'a str>,
}

/// A struct of function pointers for each of the `libraries`, which contains one for the functions of all of them.
pub fn rust_of(text: &str, libraries: &[&str]) -> String {
    let table = read(text);
    let mut rust = structure("Calls", &[], &table.functions, "{nc}");
    for library in &table.libraries {
        if libraries.contains(&library.name) {
            rust += &of_library(&table, library);
        }
    }
    rust
}

fn read(text: &str) -> CallTable<'_> {
    let mut table = CallTable {
        libraries: Vec::new(),
        kinds: Vec::new(),
        functions: Vec::new(),
    };
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [] | ["#", ..] => {}
            ["library", name, prefix, _] => table.libraries.push(LibraryPrefix { name, prefix }),
            ["kind", ending, ..] => table.kinds.push(ending),
            _ => table.functions.push(prototype(line)),
        }
    }
    table
}

fn prototype(line: &str) -> Function<'_> {
    let parts = line.strip_suffix(')').and_then(|line| line.split_once('('));
    let (head, arguments) = parts.unwrap_or_else(|| panic!("calls.in: {line}"));
    let (returns, name) = head.rsplit_once(' ').expect("calls.in: no type");
    Function {
        returns,
        name,
        arguments: arguments.split(',').map(str::trim).collect(),
    }
}

impl Function<'_> {
    /// Its field in the struct of the library with that prefix, if it belongs there.
    fn field(&self, prefix: &str) -> Option<&str> {
        let name = self.name.strip_prefix(prefix)?;
        let stem = name.split_once("_{").map_or(name, |(stem, _)| stem);
        Some(stem)
    }

    fn rust_type(&self) -> String {
        let arguments: Vec<_> = self.arguments.iter().copied().map(rust_type).collect();
        let arguments = arguments.join(", ");
        let returns = rust_type(self.returns);
        let function = format!("unsafe extern \"C\" fn({arguments}) -> {returns}");
        match self.name.ends_with('}') {
            true => format!("ByKind<{function}>"),
            false => format!("Call<{function}>"),
        }
    }

    /// The C functions that it stands for.
    fn names(&self, prefix: &str, kinds: &[&str]) -> Vec<String> {
        let name = self.name.replace("{nc}", prefix);
        let Some((stem, ending)) = name.split_once("_{") else {
            return vec![name];
        };
        let of_kind = |kind: &&str| match (*kind, ending) {
            ("text", "number}") => stem.to_string(),
            (kind, _) => format!("{stem}_{kind}"),
        };
        kinds.iter().map(of_kind).collect()
    }
}

/// Lengths have 64 bits in both libraries. Data are always `*mut c_void`, so that put and get functions have one type.
fn rust_type(c: &str) -> String {
    let mut parts = c.split('*');
    let base = parts.next().expect("a text has a first part").trim();
    let (mut points_to_const, base) = match base.strip_prefix("const ") {
        Some(base) => (true, base),
        None => (false, base),
    };
    let mut rust = match base {
        "{type}" => return "*mut c_void".into(),
        "{count}" => "u64".into(),
        "int" | "char" | "void" => format!("c_{base}"),
        "MPI_Comm" | "MPI_Info" => format!("crate::comm::mpi::{base}"),
        _ => panic!("calls.in: a type {c}"),
    };
    for part in parts {
        let constness = if points_to_const { "const" } else { "mut" };
        rust = format!("*{constness} {rust}");
        points_to_const = part.trim() == "const";
    }
    rust
}

fn structure(name: &str, first: &[&str], functions: &[Function], prefix: &str) -> String {
    let mut rust = format!("pub(super) struct {name} {{\n");
    for field in first {
        let _ = writeln!(rust, "    pub(super) {field},");
    }
    for function in functions {
        if let Some(field) = function.field(prefix) {
            let _ = writeln!(rust, "    pub(super) {field}: {},", function.rust_type());
        }
    }
    rust + "}\n"
}

/// The struct, and the function that fills it from `find`.
fn of_library(table: &CallTable, library: &LibraryPrefix) -> String {
    let (first, rest) = library.name.split_at(1);
    let name = first.to_uppercase() + rest;
    let structure = structure(&name, &["both: Calls"], &table.functions, library.prefix);
    let fill = |of: &str| -> String {
        let fields = table.functions.iter().filter_map(|function| {
            let field = function.field(of)?;
            let names = function.names(library.prefix, &table.kinds);
            let calls: Vec<_> = names
                .iter()
                .map(|n| format!("find.call(\"{n}\")?"))
                .collect();
            Some(match function.name.ends_with('}') {
                true => format!("{field}: [{}],\n", calls.join(", ")),
                false => format!("{field}: {},\n", calls[0]),
            })
        });
        fields.collect()
    };
    format!(
        "{structure}\nimpl {name} {{\n    pub(super) fn find(find: &Find) -> std::result::Result<Self, String> {{\n\
         // SAFETY: calls.in has the types of the library's header, which the build compares it with.\n\
         unsafe {{ Ok(Self {{\nboth: Calls {{\n{}}},\n{}}}) }}\n}}\n}}\n",
        fill("{nc}"),
        fill(library.prefix)
    )
}
