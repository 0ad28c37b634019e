use crate::Server;
use crate::foreign::{folder, needs};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A generator, or a compiler, takes at most so long.
const TOOL_MAX: Duration = Duration::from_secs(120);
/// So does a run of schemathesis; it takes a fraction of that on an idle machine.
const RUN_MAX: Duration = Duration::from_secs(400);

/// Tools that others wrote for descriptions of APIs, over a server's own description.
pub struct OpenApiTools {
    /// Where they are installed.
    tools: PathBuf,
    /// What they write.
    work: TempDir,
}

impl OpenApiTools {
    /// Fetches the description.
    pub async fn of(server: &Server) -> OpenApiTools {
        needs("openapi");
        let tools = folder("openapi", "venv/installed");
        let work = tempfile::Builder::new().prefix("campanile-it-openapi-").tempdir().unwrap();
        let document = server.api().get("/openapi.json").await;
        assert_eq!(document.status, 200);
        std::fs::write(work.path().join("openapi.json"), document.text).unwrap();
        OpenApiTools { tools, work }
    }

    /// Generates a client for Python, and runs `client.py` over it; returns what that says.
    pub async fn python(&self, server: &Server, people: &Path) -> Value {
        let mut generate = self.venv("openapi-python-client");
        generate.args(["generate", "--meta", "none", "--path", "openapi.json"]);
        generate.args(["--output-path", "campanile_client"]);
        generate.arg("--config").arg(self.tools.join("python-client.yml"));
        run(generate, TOOL_MAX).await;
        let mut client = self.venv("python");
        client.arg(self.tools.join("client.py")).arg(self.work.path());
        client.args([&server.url(), server.token()]).arg(people);
        last_line(&run(client, TOOL_MAX).await)
    }

    /// Generates types for TypeScript, compiles `client.ts` over them under the strictest rules, and runs it;
    /// returns what that says.
    pub async fn typescript(&self, server: &Server, people: &Path) -> Value {
        for file in ["client.ts", "tsconfig.json", "package.json"] {
            std::fs::copy(self.tools.join(file), self.work.path().join(file)).unwrap();
        }
        let modules = folder("openapi", "node_modules/openapi-fetch").join("node_modules");
        std::os::unix::fs::symlink(&modules, self.work.path().join("node_modules")).unwrap();
        let node = |script: &str| {
            let mut command = Command::new("node");
            command.arg(script).current_dir(self.work.path());
            command
        };
        let mut generate = node("node_modules/openapi-typescript/bin/cli.js");
        generate.args(["openapi.json", "--output", "api.d.ts"]);
        run(generate, TOOL_MAX).await;
        let mut compile = node("node_modules/typescript/bin/tsc");
        compile.args(["--project", "."]);
        run(compile, TOOL_MAX).await;
        let mut client = node("built/client.js");
        client.args([&server.url(), server.token()]).arg(people);
        last_line(&run(client, TOOL_MAX).await)
    }

    /// Runs schemathesis over the server; `seeds` are the ids that `hooks.py` puts into paths. Returns its
    /// report.
    pub async fn schemathesis(&self, server: &Server, seeds: &Value) -> String {
        let path = self.work.path().join("seeds.json");
        std::fs::write(&path, seeds.to_string()).unwrap();
        let mut st = self.venv("schemathesis");
        st.arg("--config-file").arg(self.tools.join("schemathesis.toml"));
        st.args(["run", "openapi.json", "--url", &server.url()]);
        st.args(["--header", &format!("Authorization: Bearer {}", server.token())]);
        st.args(["--report", "ndjson", "--report-ndjson-path", "events.ndjson"]);
        st.env("CAMPANILE_SEEDS", path).env("PYTHONPATH", &self.tools);
        run(st, RUN_MAX).await;
        std::fs::read_to_string(self.work.path().join("events.ndjson")).unwrap()
    }

    /// A program of the virtual environment, which finds its others there.
    fn venv(&self, name: &str) -> Command {
        let programs = self.tools.join("venv/bin");
        let mut command = Command::new(programs.join(name));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", programs.display())).current_dir(self.work.path());
        command
    }
}

/// Runs a program to its end; what it says is shown if it fails.
async fn run(command: Command, limit: Duration) -> String {
    let shown = format!("{command:?}");
    let mut command = tokio::process::Command::from(command);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = crate::within(&shown, limit, command.output()).await;
    let output = output.unwrap_or_else(|error| panic!("{shown}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}: {}\n{said}\n{wrong}", output.status);
    said
}

fn last_line(said: &str) -> Value {
    let line = said.trim().lines().last().unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))
}
