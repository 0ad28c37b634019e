//! A small machine under software emulation: Debian's cloud kernel, which has SCTP and more than one device,
//! and a folder in memory with the programs under test. What `scripts/install-foreign` unpacked is in
//! `tools/it/foreign/debian/guest`.

use crate::foreign::{folder, needs};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The last line of a guest whose work was all in order.
const PASSED: &str = "guest: passed";
const MEMORY_MB: u32 = 1024;
const PROCESSORS: u32 = 2;
const ASK_EVERY: Duration = Duration::from_millis(200);

/// A machine that is going to be booted.
pub struct Guest {
    folder: TempDir,
    files: Vec<(String, PathBuf)>,
}

impl Guest {
    /// A machine whose first process is this script, run by busybox.
    pub fn new(init: &str) -> Guest {
        needs("guest");
        let folder = tempfile::Builder::new().prefix("campanile-it-guest-").tempdir().unwrap();
        let script = folder.path().join("init");
        fs::write(&script, init).unwrap();
        let mut guest = Guest { folder, files: vec![("init".to_owned(), script)] };
        // HTTP clients want somebody to trust, though nothing here is encrypted.
        let nobody = rcgen::generate_simple_self_signed(vec!["nobody.test".to_owned()]).unwrap();
        guest.text("roots.pem", &nobody.cert.pem());
        let unpacked = unpacked();
        guest.file("bin/busybox", &unpacked.join("busybox"));
        for module in fs::read_dir(unpacked.join("modules")).unwrap() {
            let module = module.unwrap();
            guest.file(&format!("modules/{}", module.file_name().to_str().unwrap()), &module.path());
        }
        guest
    }

    /// With a file at this path, without the slash in front.
    pub fn file(&mut self, path: &str, from: &Path) {
        self.files.push((path.to_owned(), from.to_owned()));
    }

    /// With a file that holds this text.
    pub fn text(&mut self, path: &str, text: &str) {
        let file = self.folder.path().join(format!("text-{}", self.files.len()));
        fs::write(&file, text).unwrap();
        self.file(path, &file);
    }

    /// With a program at this path, without what only debuggers read, and with the shared libraries that it
    /// needs.
    pub fn program(&mut self, path: &str, from: &Path) {
        let small = self.folder.path().join(path.replace('/', "-"));
        let stripped = Command::new("strip").arg("-o").arg(&small).arg(from).status();
        assert!(
            stripped.is_ok_and(|status| status.success()),
            "strip (Debian's binutils) of {}",
            from.display()
        );
        self.file(path, &small);
        let said = Command::new("ldd").arg(from).output().unwrap();
        for library in
            String::from_utf8(said.stdout).unwrap().split_whitespace().filter(|word| word.starts_with('/'))
        {
            let place = library.trim_start_matches('/');
            if self.files.iter().all(|(path, _)| path != place) {
                self.file(place, Path::new(library));
            }
        }
    }

    /// Boots it, and returns what it said once it has switched itself off.
    ///
    /// # Panics
    /// It did not say that all was in order, or was not done within `within`: with all that it said.
    pub fn run(self, within: Duration) -> String {
        let image = self.folder.path().join("initrd");
        write_archive(&self.files, &image).unwrap();
        let console = self.folder.path().join("console");
        let mut machine = Machine(boot(&image, &console));
        let began = Instant::now();
        let is_over = loop {
            if machine.0.try_wait().unwrap().is_some() {
                break true;
            }
            if began.elapsed() > within {
                break false;
            }
            std::thread::sleep(ASK_EVERY);
        };
        let said = String::from_utf8_lossy(&fs::read(&console).unwrap_or_default()).replace('\r', "");
        assert!(is_over, "the guest was not done within {} s:\n{said}", within.as_secs());
        assert!(said.lines().any(|line| line == PASSED), "something in the guest failed:\n{said}");
        said
    }
}

/// The emulator; it ends with the test.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn unpacked() -> PathBuf {
    folder("debian/guest", "vmlinuz")
}

fn boot(image: &Path, console: &Path) -> Child {
    Command::new("qemu-system-x86_64")
        .args([
            "-accel",
            "tcg,thread=multi",
            "-cpu",
            "max",
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
        ])
        .args(["-no-reboot", "-m", &MEMORY_MB.to_string(), "-smp", &PROCESSORS.to_string()])
        .arg("-kernel")
        .arg(unpacked().join("vmlinuz"))
        .arg("-initrd")
        .arg(image)
        .args(["-append", "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off random.trust_cpu=on"])
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .stdin(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("cannot start qemu-system-x86_64 (run scripts/install-foreign): {error}")
        })
}

/// An initial ram file system: the kernel's `newc` archive, uncompressed
/// (Documentation/driver-api/early-userspace/buffer-format).
fn write_archive(files: &[(String, PathBuf)], to: &Path) -> std::io::Result<()> {
    const FILE: u32 = 0o100_000;
    const FOLDER: u32 = 0o040_000;
    let mut out = BufWriter::new(File::create(to)?);
    let mut folders: Vec<&str> = vec!["dev", "proc", "sys", "tmp"];
    for (path, _) in files {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        folders.extend(above);
    }
    folders.sort_unstable();
    folders.dedup();
    for (number, folder) in folders.iter().enumerate() {
        entry(&mut out, number, folder, FOLDER | 0o755, &[])?;
    }
    for (number, (path, from)) in files.iter().enumerate() {
        let mode = fs::metadata(from)?.permissions().mode() & 0o777;
        let mode = if path == "init" { 0o755 } else { mode };
        entry(&mut out, folders.len() + number, path, FILE | mode, &fs::read(from)?)?;
    }
    entry(&mut out, 0, "TRAILER!!!", 0, &[])?;
    out.flush()
}

fn entry(out: &mut impl Write, number: usize, path: &str, mode: u32, octets: &[u8]) -> std::io::Result<()> {
    let (links, size, name) = (1, octets.len(), path.len() + 1);
    // Inode, mode, user, group, links, time, size, four numbers of devices, length of the name, no checksum.
    write!(out, "070701{:08x}{mode:08x}{:08x}{:08x}{links:08x}{:08x}{size:08x}", number + 1, 0, 0, 0)?;
    write!(out, "{:08x}{:08x}{:08x}{:08x}{name:08x}{:08x}", 0, 0, 0, 0, 0)?;
    let padding = |octets: usize| &[0; 3][..octets.wrapping_neg() & 3];
    out.write_all(path.as_bytes())?;
    out.write_all(&[0])?;
    out.write_all(padding(110 + name))?;
    out.write_all(octets)?;
    out.write_all(padding(size))
}
