//! Process of one sound: its start, its pipes, its end.

use super::SynthesisError;
use rustix::process::{Pid, Signal, kill_process_group, setpriority_process};
use std::process::Stdio;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

/// Variables of the server that a process gets.
const VARIABLES: [&str; 4] = ["PATH", "LANG", "HOME", "TMPDIR"];
/// Texts are UTF-8 also where the server's environment does not say so.
const LANG: &str = "C.UTF-8";
/// Added to the niceness: a call that runs goes before a sound that is made.
const NICENESS: i32 = 10;
/// Octets that are read at a time.
const PIECE_OCTETS: usize = 64 * 1024;
/// Octets of standard error that are kept: its end.
const STDERR_OCTETS_MAX: usize = 4_096;
/// Characters of its last line.
const LINE_CHARS_MAX: usize = 200;

/// Runs a command with a text, and returns the WAV file that it writes.
pub(super) async fn sound(
    arguments: &[String],
    text: &str,
    octets_max: usize,
) -> Result<Vec<u8>, SynthesisError> {
    let program = arguments.first().map_or("", String::as_str);
    let pipe =
        |why: std::io::Error| SynthesisError::Pipe { program: program.to_owned(), why: why.to_string() };
    let (mut child, mut group) = start(arguments)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let outputs = async {
        tokio::try_join!(
            async { write(stdin, text).await.map_err(pipe) },
            async {
                match read(stdout, octets_max).await.map_err(pipe)? {
                    Some(sound) => Ok(sound),
                    None => Err(SynthesisError::TooLarge { program: program.to_owned(), limit: octets_max }),
                }
            },
            async { read_end(stderr).await.map_err(pipe) },
        )
    };
    let ((), sound, said) = outputs.await?;
    let status = child.wait().await.map_err(pipe)?;
    group.has_ended();
    let last_line = last_line(&said);
    let program = program.to_owned();
    if !status.success() {
        return Err(SynthesisError::Failed { program, status: status.to_string(), last_line });
    }
    if !is_wav(&sound) {
        return Err(SynthesisError::NotWav { program, octets: sound.len(), last_line });
    }
    Ok(sound)
}

/// `RIFF`, a size, `WAVE`.
fn is_wav(sound: &[u8]) -> bool {
    sound.starts_with(b"RIFF") && sound.get(8..12) == Some(b"WAVE")
}

fn start(arguments: &[String]) -> Result<(Child, ProcessGroup), SynthesisError> {
    let program = arguments.first().map_or("", String::as_str);
    let mut command = Command::new(program);
    command.args(arguments.iter().skip(1)).env_clear().env("LANG", LANG);
    for name in VARIABLES {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    let not_started = |why: std::io::Error| SynthesisError::NotStarted {
        program: program.to_owned(),
        why: why.to_string(),
    };
    let child = command.spawn().map_err(not_started)?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if leader.is_some() {
        // Refused where the server has a lower priority itself: then so does the process.
        let _ = setpriority_process(leader, NICENESS);
    }
    Ok((child, ProcessGroup(leader)))
}

/// A program and all that it has started; killed unless the program has ended by itself.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn has_ended(&mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It may have ended just now.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Writes the text and closes the pipe. A program need not read all of it.
async fn write(stdin: Option<ChildStdin>, text: &str) -> std::io::Result<()> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(text.as_bytes()).await {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => Err(why),
        _ => Ok(()),
    }
}

/// All octets, or nothing if there are more than the limit.
async fn read(pipe: Option<impl AsyncRead + Unpin>, octets_max: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut octets = Vec::new();
    if let Some(pipe) = pipe {
        let limit = u64::try_from(octets_max).unwrap_or(u64::MAX).saturating_add(1);
        pipe.take(limit).read_to_end(&mut octets).await?;
    }
    Ok((octets.len() <= octets_max).then_some(octets))
}

/// Reads all octets and keeps the last ones.
async fn read_end(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut end = Vec::new();
    let Some(mut pipe) = pipe else { return Ok(end) };
    let mut piece = vec![0; PIECE_OCTETS];
    loop {
        let count = pipe.read(&mut piece).await?;
        if count == 0 {
            return Ok(end);
        }
        end.extend_from_slice(&piece[..count]);
        let surplus = end.len().saturating_sub(STDERR_OCTETS_MAX);
        end.drain(..surplus);
    }
}

/// The last line that is not empty, without control characters.
fn last_line(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(LINE_CHARS_MAX).collect()
}
