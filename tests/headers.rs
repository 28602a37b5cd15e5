//! The public headers are what the Rust signatures and their hand-written frames say, and every exported function is
//! where `src/capi/mod.rs` says it is.
//!
//! `BLESS=1 cargo test --test headers` writes the headers anew.

use cbindgen::{Builder, Config};
use std::fs;
use std::path::{Path, PathBuf};

/// The types of `src/capi/boundary.rs`, and the pointers that they are to C. cbindgen does not see through them.
const POINTERS: [(&str, &str); 5] = [
    ("In<", "*const "),
    ("Array<", "*const "),
    ("Out<", "*mut "),
    ("InOut<", "*mut "),
    ("OutArray<", "*mut "),
];
const TEXT: (&str, &str) = ("Text", "*const c_char");

/// A heading of a header begins and ends with these.
const HEADING: (&str, &str) = ("/* ======== ", " ========");

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

// ---- the headers ----

#[test]
fn the_headers_are_up_to_date() {
    for frame in fs::read_dir(root().join("src/capi/headers")).expect("the frames of the headers") {
        let frame = frame.expect("a frame").path();
        let name = frame.file_name().expect("a file");
        let include = root().join("include").join(name);
        let wanted = header(&frame);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&include, &wanted).expect("the header can be written");
        }
        let found = fs::read_to_string(&include).unwrap_or_default();
        assert!(
            found == wanted,
            "include/{} is stale: run BLESS=1 cargo test --test headers",
            name.display()
        );
    }
}

/// A frame with the declarations of its chapters: `//BODY` stands for all of a header without chapters.
fn header(frame: &Path) -> String {
    let source = root()
        .join("src/capi")
        .join(frame.file_stem().expect("a name"));
    let mut text = String::new();
    for line in read(frame).lines() {
        if line == "//BODY" {
            text += &declarations(&source.with_extension("rs"));
        } else if let Some(chapter) = line.strip_prefix("//CHAPTER ") {
            let chapter = source.join(chapter).with_extension("rs");
            text += &heading(&chapter);
            text += &declarations(&chapter);
        } else {
            text += line;
            text += "\n";
        }
    }
    let numbers = [
        ("@VERSION@", env!("CARGO_PKG_VERSION")),
        ("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR")),
        ("@MINOR@", env!("CARGO_PKG_VERSION_MINOR")),
        ("@PATCH@", env!("CARGO_PKG_VERSION_PATCH")),
    ];
    let fill = |text: String, (name, value): &(&str, &str)| text.replace(name, value);
    numbers.iter().fold(text, fill)
}

/// The title of a chapter, which its file is named after, and the first paragraph of its documentation.
fn heading(chapter: &Path) -> String {
    let source = read(chapter);
    let mut lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let title = lines.next().and_then(|line| line.strip_prefix(" # "));
    let title = title.unwrap_or_else(|| panic!("{} has no title", chapter.display()));
    assert_eq!(
        file_of(title),
        chapter
            .file_stem()
            .expect("a name")
            .to_str()
            .expect("UTF-8"),
        "a chapter is named after its title"
    );
    let paragraph = lines.skip(1).take_while(|line| !line.is_empty());
    let paragraph: String = paragraph.map(|line| format!("\n *{line}")).collect();
    format!("{}{title}{}{paragraph} */\n\n", HEADING.0, HEADING.1)
}

/// "I/O systems" is in `io_systems.rs`.
fn file_of(title: &str) -> String {
    let title = title.to_lowercase().replace(' ', "_");
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// The declarations of all exported functions of one Rust file.
fn declarations(source: &Path) -> String {
    let plain = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain.rs");
    fs::write(&plain, with_plain_pointers(&read(source))).expect("a file for cbindgen");
    let config =
        Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml can be read");
    let bindings = Builder::new()
        .with_config(config)
        .with_src(&plain)
        .generate()
        .expect("the C layer can be parsed");
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).expect("UTF-8");
    let text = text.replace("defined(STANCHION_PIO_NCAR)", "STANCHION_PIO_NCAR");
    match text.trim().replace(" (void)", "(void)") {
        none if none.is_empty() => none,
        text => text + "\n\n",
    }
}

/// The source with the signatures of exported functions as C sees them.
fn with_plain_pointers(source: &str) -> String {
    let mut is_signature = false;
    let mut plain = String::new();
    for line in source.lines() {
        is_signature |= line.contains("extern \"C\" fn ");
        match is_signature {
            true => plain += &with_plain_pointer(line),
            false => plain += line,
        }
        plain += "\n";
        is_signature &= !line.ends_with(['{', '}']);
    }
    plain
}

fn with_plain_pointer(line: &str) -> String {
    for (name, pointer) in POINTERS {
        if let Some((before, after)) = split_at_word(line, name) {
            let end = end_of_generics(after);
            let inner = format!("{before}{pointer}{}{}", &after[..end], &after[end + 1..]);
            return with_plain_pointer(&inner);
        }
    }
    match split_at_word(line, TEXT.0) {
        Some((before, after)) => with_plain_pointer(&format!("{before}{}{after}", TEXT.1)),
        None => line.into(),
    }
}

/// What is before and after the first place where `word` stands alone.
fn split_at_word<'a>(line: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).find_map(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let is_whole = word.ends_with('<') || !after.starts_with(in_name);
        (!before.ends_with(in_name) && is_whole).then_some((before, after))
    })
}

/// Where the `>` is that closes what has been opened.
fn end_of_generics(text: &str) -> usize {
    let mut depth = 1;
    let closes = |c: char| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    };
    text.find(closes).expect("a signature on one line")
}

// ---- where functions are ----

/// A row of `cmake/symbols.in`.
struct Symbol {
    name: String,
    header: String,
    is_internal: bool,
}

fn symbols() -> Vec<Symbol> {
    let table = read(&root().join("cmake/symbols.in"));
    let rows = table
        .lines()
        .filter(|row| !row.starts_with('#') && !row.is_empty());
    rows.map(|row| {
        let mut columns = row.split_whitespace();
        let mut column = || columns.next().expect("name, header and half").to_owned();
        Symbol {
            name: column(),
            header: column(),
            is_internal: row.contains("internal"),
        }
    })
    .collect()
}

#[test]
fn the_file_of_a_function_follows_from_its_name() {
    let lost = symbols().into_iter().filter(|symbol| {
        let source = rust_file(symbol).and_then(|file| fs::read_to_string(file).ok());
        let in_rust = source.is_some_and(|source| defines(&source, &symbol.name));
        !in_rust && !is_in_shim(symbol)
    });
    let lost: Vec<String> = lost.map(|symbol| symbol.name).collect();
    assert!(lost.is_empty(), "not where src/capi/mod.rs says: {lost:?}");
}

/// Header and chapter.
fn rust_file(symbol: &Symbol) -> Option<PathBuf> {
    let capi = root()
        .join("src/capi")
        .join(symbol.header.trim_end_matches(".h"));
    if symbol.is_internal {
        return Some(capi.join("internal.rs"));
    }
    let header = read(&root().join("include").join(&symbol.header));
    let mut chapter = None;
    for line in header.lines() {
        if let Some(title) = line.strip_prefix(HEADING.0) {
            chapter = title.split(HEADING.1).next();
        }
        if declares(line, &symbol.name) {
            return Some(match chapter {
                Some(title) => capi.join(file_of(title)).with_extension("rs"),
                None => capi.with_extension("rs"),
            });
        }
    }
    None
}

/// The functions for one type, as PIOc_put_var_int, are in the chapter of the one without.
fn declares(line: &str, name: &str) -> bool {
    const TYPED: [&str; 4] = [
        "PIOc_put_att",
        "PIOc_get_att",
        "PIOc_put_var",
        "PIOc_get_var",
    ];
    let untyped = TYPED.iter().any(|start| name.starts_with(start));
    let untyped = name.rsplit_once('_').filter(|_| untyped);
    let is_comment = line.starts_with(" *");
    let line = line.split("/*").next().unwrap_or_default();
    let declares = |name: &str| {
        let after = split_at_word(line, name).map(|(_, after)| after);
        after.is_some_and(|after| after.starts_with(['(', ';']))
    };
    let untyped = untyped.is_some_and(|(untyped, _)| untyped != "PIOc_put" && declares(untyped));
    !is_comment && (declares(name) || (untyped && !line.contains('#')))
}

fn defines(source: &str, name: &str) -> bool {
    let typed = source
        .split_once("\ntyped! {")
        .map_or("", |(_, typed)| typed);
    let starts = [format!("fn {name}("), format!("static {name}: ")];
    starts.iter().any(|start| source.contains(start))
        || typed
            .lines()
            .any(|line| split_at_word(line, name).is_some())
}

/// Defined in C: in a file whose name begins with that of the library.
fn is_in_shim(symbol: &Symbol) -> bool {
    let files = fs::read_dir(root().join("src/shim")).expect("the C files");
    files.map(|file| file.expect("a file").path()).any(|file| {
        let library = file
            .file_name()
            .and_then(|name| name.to_str()?.split('_').next());
        let is_its = library.is_some_and(|library| {
            symbol.name.contains(library) || symbol.header.starts_with(library)
        });
        is_its
            && read(&file).lines().any(|line| {
                let is_outside = !line.starts_with([' ', '*', '/', '#']);
                let after = split_at_word(line, &symbol.name).map(|(_, after)| after);
                is_outside && after.is_some_and(|after| after.starts_with(['(', '[', ';']))
            })
    })
}
