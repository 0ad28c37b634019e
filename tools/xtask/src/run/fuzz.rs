//! Fuzzing of every target: ten minutes where its library has changed since it last ran so long, else two.

use super::full_run::{self, FullRun};
use super::jobs::{self, EndedJob, TestJob};
use super::stages::Failure;
use super::{Run, retry};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Targets side by side.
const WIDTH: usize = 2;
const SECONDS_CHANGED: u32 = 600;
const SECONDS_KNOWN: u32 = 120;

/// A fuzz target of a library.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FuzzTarget {
    library: String,
    target: String,
}

impl FuzzTarget {
    fn name(&self) -> String {
        format!("{}/{}", self.library, self.target)
    }

    fn folder(&self) -> String {
        format!("libs/{}", self.library)
    }
}

/// Fuzzes the targets of these libraries, or all, and puts on record those that ran ten minutes. False:
/// something was found.
pub fn fuzz(libraries: &[&str]) -> bool {
    Run::new().ends(|run| run.fuzz(libraries))
}

impl Run {
    fn fuzz(&mut self, libraries: &[&str]) -> Result<(), Failure> {
        let mut targets = targets(&self.root).map_err(|error| format!("libs: {error}"))?;
        if let Some(unknown) = libraries.iter().find(|name| !targets.iter().any(|one| one.library == **name))
        {
            return Err(format!("no library in libs/ has the name {unknown:?} and fuzz targets"));
        }
        targets.retain(|one| libraries.is_empty() || libraries.contains(&one.library.as_str()));
        let mut record = FullRun::read(&self.root, full_run::FUZZ);
        let (changed, known): (Vec<_>, Vec<_>) = targets.into_iter().partition(|target| {
            record.changed(&self.root, &target.name(), &[target.folder().as_str()]).is_some()
        });
        self.each("fuzz targets of changed libraries", &changed, SECONDS_CHANGED)?;
        self.each("other fuzz targets", &known, SECONDS_KNOWN)?;
        for target in &changed {
            if let Err(why) = record.note(&self.root, &target.name(), &[&target.folder()]) {
                self.left_out.push(format!("record of {}: {why}", target.name()));
            }
        }
        record.write(&self.root).map_err(|error| format!("{}: {error}", full_run::FUZZ.path))?;
        println!("\n{} is written: commit it", full_run::FUZZ.path);
        Ok(())
    }

    fn each(&mut self, stage: &str, targets: &[FuzzTarget], seconds: u32) -> Result<(), Failure> {
        if targets.is_empty() {
            return Ok(());
        }
        let jobs = targets.iter().map(|target| job(&self.root, target, seconds)).collect();
        let folder = super::output_folder(&self.root);
        self.stages.run(&format!("{stage}, {seconds} s each"), || {
            let ended = jobs::run(jobs, WIDTH, &folder, report).map_err(|error| error.to_string())?;
            let failed: Vec<&str> =
                ended.iter().filter(|ended| !ended.succeeded).map(|ended| ended.name.as_str()).collect();
            if failed.is_empty() { Ok(()) } else { Err(format!("found something: {}", failed.join(", "))) }
        })
    }
}

fn job(root: &Path, target: &FuzzTarget, seconds: u32) -> TestJob {
    let mut command = Command::new(root.join("scripts/fuzz"));
    command.args([&target.library, &target.target, &seconds.to_string()]);
    TestJob { name: target.name(), command }
}

fn report(ended: &EndedJob) {
    let result = if ended.succeeded { "ok" } else { "FAILED" };
    let runs = ended.output.lines().rev().find(|line| line.starts_with("Done ")).unwrap_or_default();
    println!("{result:6} {:6.1} s  {}: {runs}", ended.seconds, ended.name);
    if !ended.succeeded {
        retry::print(ended);
    }
}

/// All targets, by library and name.
fn targets(root: &Path) -> std::io::Result<Vec<FuzzTarget>> {
    let mut all = Vec::new();
    for library in fs::read_dir(root.join("libs"))? {
        let folder: PathBuf = library?.path();
        let Ok(files) = fs::read_dir(folder.join("fuzz/fuzz_targets")) else { continue };
        for file in files {
            let path = file?.path();
            if let (Some(library), Some(target)) = (folder.file_name(), path.file_stem())
                && path.extension().is_some_and(|extension| extension == "rs")
            {
                let text = |name: &std::ffi::OsStr| name.to_string_lossy().into_owned();
                all.push(FuzzTarget { library: text(library), target: text(target) });
            }
        }
    }
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_every_library_is_found() {
        let all: Vec<String> = targets(&crate::root()).unwrap().iter().map(FuzzTarget::name).collect();
        for known in ["cap/read", "proxy_protocol/header", "placeholders/fill", "smtp/client"] {
            assert!(all.iter().any(|name| name == known), "{known} is not among {all:?}");
        }
    }
}
