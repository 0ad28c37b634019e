//! The web console: its build, which the program embeds, its checks and its stories in a browser.

use super::compile::{PROFILE, succeeds};
use super::stages::{Failure, Stages};
use super::{Extent, Run, output_folder};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the console is, below the root.
const FOLDER: &str = "console";
/// The description of the API as the program prints it, below the folder of output.
const DESCRIPTION: &str = "openapi.json";
/// The set of `scripts/install-foreign` that its stories need.
const BROWSER: &str = "chromium";
/// Said where a checkout has none.
const ABSENT: &str = "console: there is no console/package.json";

/// The console of a checkout.
pub struct Console {
    root: PathBuf,
}

impl Console {
    /// Nothing where there is none.
    pub fn of(root: &Path) -> Option<Console> {
        root.join(FOLDER).join("package.json").exists().then(|| Console { root: root.to_path_buf() })
    }

    /// Before anything of Rust is built: the crate that embeds it is made of what this leaves.
    ///
    /// # Errors
    /// It cannot be built, is too large, or a check found something.
    pub fn build(&self, stages: &mut Stages) -> Result<(), Failure> {
        let mut script = Command::new(self.root.join("scripts/build-console"));
        script.arg("--required");
        stages.run("console: build", || succeeds(script))?;
        stages.run("console: types", || succeeds(self.npm(&["run", "check"])))?;
        stages.run("console: unit tests", || succeeds(self.npm(&["run", "test:unit"])))
    }

    /// Whether the types of its client are those of the program's API.
    ///
    /// # Errors
    /// They are not, or the program does not run.
    pub fn compare_types(&self, stages: &mut Stages) -> Result<(), Failure> {
        stages.run("console: types of the API", || {
            let description = self.described()?;
            succeeds(self.npm(&["run", "schema:check", "--", &description.display().to_string()]))
        })
    }

    /// Stories in a browser, against the program.
    ///
    /// # Errors
    /// One of them failed.
    pub fn stories(&self, stages: &mut Stages, is_full: bool) -> Result<(), Failure> {
        let mut command = self.npm(&["run", if is_full { "test:all" } else { "test:stories" }]);
        command.env("CAMPANILE_BIN", self.program()?);
        stages.run("stories: console", || succeeds(command))
    }

    fn npm(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("npm");
        command.args(arguments).current_dir(self.root.join(FOLDER));
        command
    }

    /// The program in the profile of tests.
    fn program(&self) -> Result<PathBuf, Failure> {
        let target = output_folder(&self.root).with_file_name(PROFILE).join("campanile");
        target.canonicalize().map_err(|error| format!("{}: {error}", target.display()))
    }

    /// Writes what the program says of its API; gives the file's whole path.
    fn described(&self) -> Result<PathBuf, Failure> {
        let output = Command::new(self.program()?).arg("openapi").output();
        let output = output.map_err(|error| format!("campanile openapi: {error}"))?;
        if !output.status.success() {
            return Err(format!("campanile openapi: {}", output.status));
        }
        let folder = output_folder(&self.root);
        let file = folder.join(DESCRIPTION);
        let failed = |error: std::io::Error| format!("{}: {error}", file.display());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        std::fs::write(&file, output.stdout).map_err(failed)?;
        file.canonicalize().map_err(failed)
    }
}

/// The console alone, its stories with it: `cargo xtask console`.
pub fn console(is_full: bool) -> bool {
    Run::new().ends(|run| {
        let console = Console::of(&run.root).ok_or(ABSENT)?;
        console.build(&mut run.stages)?;
        run.stages.run("build", super::build_program)?;
        console.compare_types(&mut run.stages)?;
        run.console_stories(is_full)
    })
}

impl Run {
    /// The stages of the console that come before the build.
    pub(super) fn console_build(&mut self) -> Result<(), Failure> {
        match Console::of(&self.root) {
            Some(console) => console.build(&mut self.stages),
            None => {
                println!("\n{ABSENT}: its stages are left out");
                self.left_out.push(ABSENT.to_owned());
                Ok(())
            }
        }
    }

    pub(super) fn console_types(&mut self) -> Result<(), Failure> {
        Console::of(&self.root).map_or(Ok(()), |console| console.compare_types(&mut self.stages))
    }

    /// Stories in a browser, which is installed for them; `make check` has none.
    pub(super) fn console_after(&mut self, extent: Extent) -> Result<(), Failure> {
        if extent == Extent::Check || Console::of(&self.root).is_none() {
            return Ok(());
        }
        self.console_stories(extent == Extent::Full)
    }

    fn console_stories(&mut self, is_full: bool) -> Result<(), Failure> {
        self.install("the console's stories", &[BROWSER])?;
        let console = Console::of(&self.root).ok_or(ABSENT)?;
        console.stories(&mut self.stages, is_full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_checkout_has_a_console_if_it_has_the_list_of_its_packages() {
        let root = std::env::temp_dir().join(format!("xtask-console-{}", std::process::id()));
        fs::create_dir_all(root.join(FOLDER).join("build")).unwrap();
        assert!(Console::of(&root).is_none(), "an empty output is no console");
        fs::write(root.join(FOLDER).join("package.json"), "{}").unwrap();
        assert!(Console::of(&root).is_some());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_browser_of_the_stories_is_a_set_of_the_script() {
        let script = fs::read_to_string(crate::root().join("scripts/install-foreign")).unwrap();
        assert!(script.contains(&format!("\ninstall_{BROWSER}()")));
    }
}
