//! Room made ahead: zeros behind the end of a busy log's last file.
//!
//! A sync of a file that grew must have the file system commit the new length too, one such commit after the
//! other. Where what is written takes the place of zeros that are on disk already, there is nothing but the
//! octets themselves: a sync takes about half the time, and several overlap.

use super::{Log, LogFile, LogWriter};
use crate::embedded::lock::read;
use wal::write_all_at;

/// So many zeros at once, and only behind so many octets: a log that is hardly written to stays small.
const ROOM_OCTETS: u64 = 256 * 1024;
/// At most this part of a whole file.
const FILE_PARTS: u64 = 8;

static ZEROS: [u8; ROOM_OCTETS as usize] = [0; ROOM_OCTETS as usize];

/// The zeros behind the last file's end.
#[derive(Default)]
pub(super) struct PreallocatedTail {
    /// They end here; 0: none were written.
    end: u64,
    /// The disk did not take some: no more are written to this file.
    is_refused: bool,
}

impl PreallocatedTail {
    /// The file was cut, or another was begun.
    pub fn lose(&mut self) {
        *self = PreallocatedTail::default();
    }
}

impl Log {
    /// Before what is staged is written: sees that it finds room.
    pub(super) fn make_room(&self, writer: &mut LogWriter) {
        let octets = ROOM_OCTETS.min(self.shared.file_octets_max / FILE_PARTS);
        let is_wanted =
            !writer.staged.is_empty() && writer.offset >= octets && writer.offset > writer.room.end;
        if !is_wanted || writer.room.is_refused || writer.cut.is_some() {
            return;
        }
        if !self.is_emergency() && !self.shared.reserve.leaves_room(&self.shared) {
            return;
        }
        let Some(last) = read(&self.files).last().cloned() else { return };
        let begin = writer.staged.offset().max(writer.room.end);
        let end = (writer.offset + octets).min(self.shared.file_octets_max.max(writer.offset));
        let zeros = &ZEROS[..ZEROS.len().min((end - begin) as usize)];
        let filled = last.open(&self.shared).and_then(|file| {
            write_all_at(&*file, zeros, begin).inspect_err(|_| {
                // What little there is left is for records. Should it not be cut, the zeros are still behind
                // the end.
                let _ = file.set_len(begin);
            })
        });
        match filled {
            Ok(()) => writer.room.end = begin + zeros.len() as u64,
            Err(_) => writer.room.is_refused = true,
        }
    }

    /// The last file takes no more: cuts the zeros behind its end.
    pub(super) fn give_room_back(&self, writer: &mut LogWriter, last: &LogFile) {
        if writer.room.end > writer.offset
            && let Err(error) = last.open(&self.shared).and_then(|file| file.set_len(writer.offset))
        {
            tracing::warn!(topic = self.name, %error, "Preallocated zeros behind a full file could not be cut; they only take room.");
        }
        writer.room.lose();
    }
}
