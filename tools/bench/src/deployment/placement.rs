use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::path::{Path, PathBuf};

/// Where a child process runs, and what is loaded into it before all else.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    /// The processors it is bound to; none named: those of this process.
    pub(crate) cpus: Vec<usize>,
    /// Each of its threads is bound to one of these, in turn, once it is up.
    pub(crate) each_thread: bool,
    /// A library whose functions stand in for the system's of the same name: an allocator.
    pub(crate) preload: Option<PathBuf>,
}

impl Placement {
    /// Starts a child that inherits this thread's processors, which for that moment are those named here.
    ///
    /// # Errors
    /// The system does not let us have them, or what `spawn` says.
    pub(crate) fn spawn<T>(&self, spawn: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.cpus.is_empty() {
            return spawn();
        }
        let before = sched_getaffinity(None)?;
        sched_setaffinity(None, &set(&self.cpus))?;
        let spawned = spawn();
        sched_setaffinity(None, &before)?;
        spawned
    }

    /// `LD_PRELOAD`, where something is loaded.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.preload.iter().map(|library| ("LD_PRELOAD", library.as_path()))
    }

    /// Binds the threads of a process that is up, and looks whether what was asked for is so.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn settle(&self, pid: u32) -> Result<(), String> {
        let describe = |error: io::Error| format!("process {pid}: {error}");
        if let Some(library) = &self.preload {
            let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(describe)?;
            if !is_mapped(&maps, library) {
                return Err(format!(
                    "{name} was not loaded into process {pid}: it would measure another allocator"
                ));
            }
        }
        if !self.each_thread {
            return Ok(());
        }
        let cpus = if self.cpus.is_empty() { own_cpus().map_err(describe)? } else { self.cpus.clone() };
        let mut threads: Vec<i32> = std::fs::read_dir(format!("/proc/{pid}/task"))
            .map_err(describe)?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        threads.sort_unstable();
        for (number, thread) in threads.into_iter().enumerate() {
            let cpu = cpus[number % cpus.len().max(1)];
            match sched_setaffinity(Pid::from_raw(thread), &set(&[cpu])) {
                // It ended meanwhile.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => return Err(describe(error.into())),
            }
        }
        Ok(())
    }
}

/// A process has this library, or the file that its name stands for, among what is mapped.
pub(crate) fn is_mapped(maps: &str, library: &Path) -> bool {
    let real = std::fs::canonicalize(library).unwrap_or_else(|_| library.to_owned());
    maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5)).any(|path| Path::new(path) == real)
}

/// The processors that this process may use.
///
/// # Errors
/// The system does not say.
pub(crate) fn own_cpus() -> io::Result<Vec<usize>> {
    let own = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| own.is_set(*cpu)).collect())
}

/// Binds the calling thread.
///
/// # Errors
/// None of them is ours.
pub(crate) fn bind_this_thread(cpus: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set(cpus))?)
}

fn set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_runs_where_it_was_put_and_we_stay_where_we_are() {
        let before = own_cpus().unwrap();
        let last = *before.last().unwrap();
        let placement = Placement { cpus: vec![last], ..Placement::default() };
        let output = placement
            .spawn(|| {
                std::process::Command::new("grep").args(["Cpus_allowed_list", "/proc/self/status"]).output()
            })
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.split_ascii_whitespace().last(), Some(last.to_string().as_str()));
        assert_eq!(own_cpus().unwrap(), before);
    }

    #[test]
    fn a_library_counts_as_loaded_only_if_it_is_mapped() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 123                        /lib/none/libx.so.2\n";
        assert!(is_mapped(maps, Path::new("/lib/none/libx.so.2")));
        assert!(!is_mapped(maps, Path::new("/lib/none/libx.so")));
        let asked = Placement { preload: Some("/lib/none/libx.so.2".into()), ..Placement::default() };
        assert!(asked.settle(std::process::id()).unwrap_err().contains("libx.so.2"));
        assert!(Placement::default().settle(std::process::id()).is_ok());
    }
}
