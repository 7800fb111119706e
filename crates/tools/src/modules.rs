//! The modules of the project and which of them use each other, read from the source files, and a picture of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A crate with its modules in layers, lowest first. A module may use those of lower layers only.
pub struct Crate {
    pub title: &'static str,
    pub source: &'static str,
    pub layers: &'static [&'static [&'static str]],
    /// The lowest layers, which everything uses: they are drawn as one row, without arrows.
    foundation: usize,
}

/// The core and the extension.
pub const CRATES: [Crate; 2] = [
    Crate {
        title: "crates/lsbf: the core, without PostgreSQL",
        source: "crates/lsbf/src",
        layers: &[
            &["limits", "mix", "interrupt", "prefetch", "binomial", "balance"],
            &["error"],
            &["memory"],
            &["vector"],
            &["params"],
            &["hash"],
            &["filter"],
            &["rates"],
            &["design"],
            &["handle"],
        ],
        foundation: 3,
    },
    Crate {
        title: "src: the extension",
        source: "src",
        layers: &[
            &["boundary"],
            &["vector", "cache"],
            &["types"],
            &["aggregate", "query", "window", "design"],
            &["hooks"],
        ],
        foundation: 1,
    },
];

/// The repository that this crate is part of.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// For each module of a crate, the modules that it uses. The root is not a module, and tests do not count.
pub fn uses(root: &Path, source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let source = root.join(source);
    let files = rust_files(&source);
    let inside = |file: &Path| file.strip_prefix(&source).expect("it is inside").to_path_buf();
    let names: BTreeSet<String> =
        files.iter().filter_map(|file| module_path(&inside(file)).into_iter().next()).collect();
    let exports = root_exports(&source.join("lib.rs"), &names);
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        let path = module_path(&inside(file));
        let Some(module) = path.first().filter(|module| *module != "tests") else { continue };
        let text = std::fs::read_to_string(file).expect("it can be read");
        let used = used_names(&text, path.len()).into_iter().map(|name| exports.get(&name).cloned().unwrap_or(name));
        // Macros at the root of a crate are no modules.
        let used = used.filter(|name| name != module && names.contains(name));
        modules.entry(module.clone()).or_default().extend(used);
    }
    modules
}

/// The path of the module in a file; empty for the root.
fn module_path(file: &Path) -> Vec<String> {
    let parts = file.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_string());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// Names that the root re-exports, and the modules they come from.
fn root_exports(lib: &Path, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let text = code_of(&std::fs::read_to_string(lib).expect("it can be read"));
    let mut exports = BTreeMap::new();
    for path in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let Some((module, names)) = path.split_once("::").filter(|(module, _)| modules.contains(*module)) else {
            continue;
        };
        let names = names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
        exports.extend(names.map(|name| (name.to_string(), module.to_string())));
    }
    exports
}

/// A file without its comments and without its tests.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first names of all paths that start at the root of the crate: `crate::name`, or as many `super::` as the module
/// is deep, also within groups.
fn used_names(text: &str, depth: usize) -> BTreeSet<String> {
    let code = code_of(text);
    let mut found = BTreeSet::new();
    for start in ["crate::".to_string(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&start) {
            first_names(&code[at + start.len()..], &mut found);
        }
    }
    found
}

/// The names at the start of a path: one, or those of a group in braces.
fn first_names(path: &str, found: &mut BTreeSet<String>) {
    let path = path.trim_start();
    let Some(group) = path.strip_prefix('{') else {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
        found.insert(path[..end].to_string());
        return;
    };
    let (mut open, mut is_start) = (1, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return;
        }
        if is_start && !c.is_whitespace() {
            first_names(&group[at..], found);
        }
        is_start = open == 1 && (c == ',' || is_start && c.is_whitespace());
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    for path in entries.map(|entry| entry.expect("the entry can be read").path()) {
        match path.is_dir() {
            true => files.extend(rust_files(&path)),
            false if path.extension().is_some_and(|ending| ending == "rs") => files.push(path),
            false => {}
        }
    }
    files.sort();
    files
}

/// Modules without a layer, and uses of a module in the same or a higher layer.
pub fn violations(root: &Path, krate: &Crate) -> Vec<String> {
    let layer = |name: &str| krate.layers.iter().position(|layer| layer.contains(&name));
    let mut found = Vec::new();
    for (module, used) in uses(root, krate.source) {
        let Some(own) = layer(&module) else {
            found.push(format!("{}/{module} is in no layer", krate.source));
            continue;
        };
        let wrong = used.iter().filter(|name| layer(name).is_none_or(|other| other >= own));
        found.extend(wrong.map(|name| format!("{}/{module} must not use {name}", krate.source)));
    }
    found
}

const BOX_WIDTH: usize = 98;
const BOX_HEIGHT: usize = 30;
const GAP: usize = 10;
const ROW: usize = 64;
const TOP: usize = 64;
const MARGIN: usize = 24;

/// The picture of both crates: one row per layer, and arrows from every module to the modules that it uses. An arrow
/// that is implied by a path of other arrows is omitted.
pub fn picture(root: &Path) -> String {
    let mut out = String::new();
    let width = 2 * MARGIN + 8 * BOX_WIDTH + 7 * GAP;
    let mut top = 0;
    for krate in &CRATES {
        top += draw(root, krate, top, width, &mut out);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" width=\"{width}\" height=\"{top}\" \
         font-family=\"Helvetica, Arial, sans-serif\">\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#777\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{top}\" fill=\"#fff\"/>\n{out}</svg>\n"
    )
}

/// Draws a crate below `top`; returns its height.
fn draw(root: &Path, krate: &Crate, top: usize, width: usize, out: &mut String) -> usize {
    let modules = uses(root, krate.source);
    let (foundation, layers) = krate.layers.split_at(krate.foundation);
    let foundation = foundation.concat();
    let mut places = BTreeMap::new();
    let rows = layers.iter().rev().map(|layer| layer.to_vec()).chain([foundation.clone()]);
    for (number, row) in rows.enumerate() {
        let taken = row.len() * BOX_WIDTH + (row.len() - 1) * GAP;
        for (at, name) in row.into_iter().enumerate() {
            places.insert(name, ((width - taken) / 2 + at * (BOX_WIDTH + GAP), top + TOP + number * ROW));
        }
    }
    let title = top + 34;
    out.push_str(&format!(
        "<text x=\"{MARGIN}\" y=\"{title}\" font-size=\"18\" font-weight=\"bold\">{}</text>\n",
        krate.title
    ));
    for (name, &(x, y)) in &places {
        let Some(used) = modules.get(*name) else { continue };
        let used: BTreeSet<String> = used.iter().filter(|name| !foundation.contains(&name.as_str())).cloned().collect();
        for to in direct(&modules, &used).iter().filter_map(|other| places.get(other.as_str())) {
            out.push_str(&arrow((x, y), *to));
        }
    }
    for (name, &place) in &places {
        out.push_str(&module(name, place));
    }
    let below = top + TOP + layers.len() * ROW - 12;
    out.push_str(&format!(
        "<text x=\"{}\" y=\"{below}\" font-size=\"12\" fill=\"#666\" text-anchor=\"middle\">common to all of them</text>\n",
        width / 2
    ));
    TOP + (layers.len() + 1) * ROW
}

fn arrow((x, y): (usize, usize), (to_x, to_y): (usize, usize)) -> String {
    let (from_x, to_x) = (x + BOX_WIDTH / 2, to_x + BOX_WIDTH / 2);
    let (from_y, to_y) = (y + BOX_HEIGHT, to_y - 2);
    let bend = (to_y - from_y) / 2;
    let (first, second) = (from_y + bend, to_y - bend);
    format!(
        "<path d=\"M{from_x} {from_y} C{from_x} {first} {to_x} {second} {to_x} {to_y}\" fill=\"none\" stroke=\"#999\" \
         marker-end=\"url(#arrow)\"/>\n"
    )
}

fn module(name: &str, (x, y): (usize, usize)) -> String {
    let (centre, base) = (x + BOX_WIDTH / 2, y + BOX_HEIGHT / 2 + 5);
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"#eaf3fb\" \
         stroke=\"#0072b2\"/>\n<text x=\"{centre}\" y=\"{base}\" font-size=\"14\" text-anchor=\"middle\">{name}</text>\n"
    )
}

/// The modules of `used` that none of the others uses, directly or indirectly.
fn direct(modules: &BTreeMap<String, BTreeSet<String>>, used: &BTreeSet<String>) -> Vec<String> {
    let reaches = |from: &String, to: &String| {
        let (mut open, mut seen) = (vec![from.clone()], BTreeSet::new());
        while let Some(name) = open.pop() {
            for next in modules.get(&name).into_iter().flatten() {
                if next == to {
                    return true;
                }
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        false
    };
    used.iter().filter(|to| !used.iter().any(|from| from != *to && reaches(from, to))).cloned().collect()
}
