// Writes step traces for `kraftcheck conform` (docs/foreign-traces.md). Copy it; it needs nothing.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::sync::Mutex;

/// Rows, messages and steps are `Fields`: what is left out is hidden, not unchanged.
pub enum Json {
    Number(i64),
    Truth(bool),
    Text(&'static str),
    List(Vec<Json>),
    Fields(Vec<(&'static str, Json)>),
}
use Json::{Fields, List, Number, Text};

impl Display for Json {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let joined = |all: Vec<String>| all.join(",");
        match self {
            Number(value) => write!(f, "{value}"),
            Json::Truth(value) => write!(f, "{value}"),
            Text(value) => write!(f, "\"{value}\""), // names of roles and errors need no escapes
            List(all) => write!(f, "[{}]", joined(all.iter().map(Json::to_string).collect())),
            Fields(all) => {
                let one = |(name, value): &(&str, Json)| format!("\"{name}\":{value}");
                write!(f, "{{{}}}", joined(all.iter().map(one).collect()))
            }
        }
    }
}

pub struct Emitter<W: Write>(Mutex<W>);

impl<W: Write> Emitter<W> {
    /// Writes the header. rows: "full" if every field will be there, else "partial".
    pub fn new(out: W, rows: &'static str, constants: Json) -> io::Result<Self> {
        let emitter = Emitter(Mutex::new(out));
        let format = ("format", Text("kraftcheck steps 1"));
        let about = [("producer", Text("emitter")), ("rows", Text(rows))];
        let mut head = vec![format, ("constants", constants)];
        head.extend(about);
        emitter.line(Fields(head)).map(|()| emitter)
    }

    /// One handler call of a node. Call it under the lock that guards the node's state.
    pub fn step(&self, node: i64, mut fields: Vec<(&'static str, Json)>) -> io::Result<()> {
        fields.push(("node", Number(node)));
        self.line(Fields(fields))
    }

    fn line(&self, fields: Json) -> io::Result<()> {
        let mut out = self.0.lock().expect("another thread panicked while it wrote");
        writeln!(out, "{fields}")?;
        out.flush() // what was told survives a crash
    }
}

fn main() -> io::Result<()> {
    let voters = List(vec![Number(1), Number(2), Number(3)]);
    let quorum = ("protocol", Text("quorum"));
    let constants = Fields(vec![quorum, ("voters", voters), ("fetchMaxRecords", Number(2))]);
    let emitter = Emitter::new(io::stdout(), "partial", constants)?;
    let input = Fields(vec![("type", Text("ElectionTimeout"))]);
    let after = Fields(vec![("role", Text("Prospective")), ("epoch", Number(0))]);
    emitter.step(1, vec![("input", input), ("after", after)])
}
