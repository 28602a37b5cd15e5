use super::super::Tree;
use super::*;

fn text(tree: Option<TreeRef>, indent: usize, mode: PrintMode) -> String {
    let mut text = String::new();
    lines(tree, indent, mode, |line| {
        text += &String::from_utf8_lossy(line);
        text.push('\n');
    });
    text
}

/// One of each: a value over nothing and one over an empty tree, two values, a bare key, a NULL.
fn sample() -> Tree {
    let mut tree = Tree::new();
    let mut edit = tree.edit();
    edit.set(c"nothing", None);
    edit.child(c"bare");
    edit.child(c"two").child(c"second");
    edit.child(c"two").child(c"first");
    edit.set_int(c"RANKS", 4);
    edit.set_u64(c"SIZE", 1024);
    edit.child(c"RANK").child(c"0").set_int(c"LEVEL", -1);
    tree
}

#[test]
fn one_key_a_line() {
    let expected = "  \
  RANK
    0
      LEVEL
        -1
  SIZE
    1024
    NULL LIST
  RANKS
    4
  two
    first
    second
  bare
  nothing
  NULL LIST
";
    assert_eq!(text(Some(sample().view()), 0, PrintMode::Tree), expected);
}

#[test]
fn key_and_value_on_a_line() {
    let expected = "  \
  RANK
    0
      LEVEL = -1
  SIZE = 1024
  RANKS = 4
  two
    first
    second
  bare
  nothing
  NULL LIST
";
    assert_eq!(
        text(Some(sample().view()), 0, PrintMode::KeyValue),
        expected
    );
}

#[test]
fn the_indent_is_that_of_the_root() {
    let mut tree = Tree::new();
    tree.edit().set_int(c"a", 1);
    assert_eq!(
        text(Some(tree.view()), 3, PrintMode::KeyValue),
        "     a = 1\n"
    );
    assert_eq!(
        text(Some(tree.view()), 3, PrintMode::Tree),
        "     a\n       1\n"
    );
}

#[test]
fn no_tree_and_an_empty_one() {
    for mode in [PrintMode::Tree, PrintMode::KeyValue] {
        assert_eq!(text(None, 2, mode), "  NULL LIST\n");
        assert_eq!(text(Some(Tree::new().view()), 2, mode), "");
    }
}

#[test]
fn bytes_that_are_no_text_are_left_alone() {
    let mut tree = Tree::new();
    tree.edit().child(c"\xff\xfe");
    lines(Some(tree.view()), 0, PrintMode::Tree, |line| {
        assert_eq!(line, b"  \xff\xfe");
    });
}
