use crate::eventually;
use serde_json::Value;
pub(crate) use servers::foreign::needs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A peer has started after so long, also many at a time.
const START_MAX: Duration = Duration::from_secs(30);

/// A program that nobody here wrote the core of: it says what happens, one JSON object a line with its kind
/// in `event`, and ends with its standard input. Dropping it kills it.
pub struct ForeignProgram {
    name: &'static str,
    child: Child,
    input: Mutex<ChildStdin>,
    events: Arc<Mutex<Vec<Value>>>,
}

impl ForeignProgram {
    /// Starts one.
    pub fn start(name: &'static str, mut command: Command) -> ForeignProgram {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name} (run scripts/install-foreign): {error}"));
        let events: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (output, kept) = (BufReader::new(child.stdout.take().unwrap()), events.clone());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
                kept.lock().unwrap().push(event);
            }
        });
        let input = Mutex::new(child.stdin.take().unwrap());
        ForeignProgram { name, child, input, events }
    }

    /// Tells it something: a verb and `name=value`, with tabs between.
    pub fn tell(&self, verb: &str, fields: &[(&str, &str)]) {
        let mut line = verb.to_owned();
        for (name, value) in fields {
            assert!(!value.contains(['\t', '\n']), "a command is one line: {value:?}");
            line += &format!("\t{name}={value}");
        }
        line.push('\n');
        self.input.lock().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// What happened so far of one kind, in its order.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let events = self.events.lock().unwrap();
        events.iter().filter(|event| event["event"] == kind).cloned().collect()
    }

    /// All that happened so far.
    pub fn all(&self) -> Vec<Value> {
        self.events.lock().unwrap().clone()
    }

    /// Waits for the first event of one of these kinds.
    pub async fn first(&self, kinds: &[&str]) -> Value {
        let what = format!("{} says {}", self.name, kinds.join(" or "));
        eventually(&what, START_MAX, async || {
            let events = self.events.lock().unwrap();
            let found = events.iter().find(|event| kinds.iter().any(|kind| event["event"] == *kind));
            found.cloned().ok_or_else(|| format!("{events:?}"))
        })
        .await
    }
}

impl Drop for ForeignProgram {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let events = self.events.lock().unwrap();
            let last: Vec<String> = events.iter().rev().take(20).map(Value::to_string).collect();
            eprintln!("--- {} said last, the newest first:\n{}", self.name, last.join("\n"));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder of `foreign`, in which something was installed.
pub(crate) fn folder(name: &str, installed: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign").join(name);
    assert!(folder.join(installed).exists(), "run scripts/install-foreign first: no {installed} in {name}");
    folder
}

/// Java with the classes of `foreign/java`: quick to start, as little as possible is compiled.
pub(crate) fn java(main: &str) -> Command {
    needs("java");
    let target = folder("java", "target/built").join("target");
    let mut command = Command::new("java");
    command
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx128m", "-cp"])
        .arg(format!("{0}/classes:{0}/lib/*", target.display()))
        .args(["foreign.Main", main]);
    command
}
