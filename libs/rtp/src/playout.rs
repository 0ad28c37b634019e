//! Sound that calls play: encoded once, shared by all of them, a frame a tick.

use crate::g711::G711Law;
use crate::{FRAME, FRAME_SAMPLES, frames_in};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Sounds and pauses that wait in one call at most.
pub const PLAYOUT_PARTS_MAX: usize = 32;

/// Sound in G.711, in whole frames: the last is filled with silence. For a thousand calls that play one
/// message it is made once and shared by an [`Arc`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedSound {
    law: G711Law,
    frames: Box<[[u8; FRAME_SAMPLES]]>,
}

impl EncodedSound {
    /// Encodes samples at 8 kHz.
    pub fn new(law: G711Law, samples: &[i16]) -> EncodedSound {
        let frames = samples.chunks(FRAME_SAMPLES).map(|chunk| {
            let mut frame = [law.silence(); FRAME_SAMPLES];
            law.encode_to(chunk, &mut frame);
            frame
        });
        EncodedSound { law, frames: frames.collect() }
    }

    /// Its law.
    pub fn law(&self) -> G711Law {
        self.law
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Time that it takes, in whole frames.
    pub fn duration(&self) -> Duration {
        FRAME * u32::try_from(self.frames()).unwrap_or(u32::MAX)
    }
}

/// A frame to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayoutFrame<'a> {
    /// Of a sound.
    Sound(&'a [u8; FRAME_SAMPLES]),
    /// Of a pause.
    Pause,
    /// Nothing is left to be played.
    Finished,
}

/// A part that was not taken: the caller's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayoutRefusal {
    /// [`PLAYOUT_PARTS_MAX`] parts wait already.
    Full,
    /// The sound has another law than the call.
    Law {
        /// That of the sound.
        sound: G711Law,
        /// That of the call.
        call: G711Law,
    },
}

impl fmt::Display for PlayoutRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlayoutRefusal::Full => {
                write!(
                    f,
                    "{PLAYOUT_PARTS_MAX} sounds and pauses wait already; add more when some have been played"
                )
            }
            PlayoutRefusal::Law { sound, call } => {
                write!(
                    f,
                    "a sound in {} for a call in {}: encode it by the law of the call",
                    sound.name(),
                    call.name()
                )
            }
        }
    }
}

impl std::error::Error for PlayoutRefusal {}

#[derive(Debug, Clone)]
enum PlayoutPart {
    Sound(Arc<EncodedSound>),
    /// Frames.
    Pause(usize),
}

impl PlayoutPart {
    fn frames(&self) -> usize {
        match self {
            PlayoutPart::Sound(sound) => sound.frames(),
            PlayoutPart::Pause(frames) => *frames,
        }
    }
}

/// Sounds and pauses of one call, one behind the other. Nothing is copied or allocated for a frame.
#[derive(Debug, Clone)]
pub struct Playout {
    law: G711Law,
    parts: VecDeque<PlayoutPart>,
    /// Next frame of the first part.
    at: usize,
}

impl Playout {
    /// Nothing is played.
    pub fn new(law: G711Law) -> Playout {
        Playout { law, parts: VecDeque::with_capacity(PLAYOUT_PARTS_MAX), at: 0 }
    }

    /// Adds a sound behind the others.
    ///
    /// # Errors
    /// Too many wait, or the law is another.
    pub fn push(&mut self, sound: Arc<EncodedSound>) -> Result<(), PlayoutRefusal> {
        if sound.law != self.law {
            return Err(PlayoutRefusal::Law { sound: sound.law, call: self.law });
        }
        self.push_part(PlayoutPart::Sound(sound))
    }

    /// Adds a pause behind the others, rounded up to a frame.
    ///
    /// # Errors
    /// Too many parts wait.
    pub fn push_pause(&mut self, pause: Duration) -> Result<(), PlayoutRefusal> {
        self.push_part(PlayoutPart::Pause(frames_in(pause) as usize))
    }

    fn push_part(&mut self, part: PlayoutPart) -> Result<(), PlayoutRefusal> {
        if self.parts.len() == PLAYOUT_PARTS_MAX {
            return Err(PlayoutRefusal::Full);
        }
        self.parts.push_back(part);
        Ok(())
    }

    /// Ends all at once: a key was pressed.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.at = 0;
    }

    /// Drops all but the part that is being played: a sentence ends, then the call.
    pub fn finish_part(&mut self) {
        self.parts.truncate(if self.at == 0 { 0 } else { 1 });
    }

    /// True when nothing is left.
    pub fn is_finished(&self) -> bool {
        self.time_left().is_zero()
    }

    /// Time that all parts still take.
    pub fn time_left(&self) -> Duration {
        let frames = self.parts.iter().map(PlayoutPart::frames).sum::<usize>().saturating_sub(self.at);
        FRAME * u32::try_from(frames).unwrap_or(u32::MAX)
    }

    /// The next frame.
    pub fn next_frame(&mut self) -> PlayoutFrame<'_> {
        while self.parts.front().is_some_and(|part| self.at >= part.frames()) {
            self.parts.pop_front();
            self.at = 0;
        }
        let at = self.at;
        match self.parts.front() {
            None => PlayoutFrame::Finished,
            Some(part) => {
                self.at += 1;
                match part {
                    PlayoutPart::Pause(_) => PlayoutFrame::Pause,
                    PlayoutPart::Sound(sound) => PlayoutFrame::Sound(&sound.frames[at]),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(samples: usize) -> Arc<EncodedSound> {
        Arc::new(EncodedSound::new(G711Law::A, &vec![1_000; samples]))
    }

    /// `s` a frame of sound, `p` of a pause, up to the end.
    fn played(playout: &mut Playout) -> String {
        let mut out = String::new();
        for _ in 0..1_000 {
            out.push(match playout.next_frame() {
                PlayoutFrame::Sound(_) => 's',
                PlayoutFrame::Pause => 'p',
                PlayoutFrame::Finished => return out,
            });
        }
        panic!("it does not end: {out}")
    }

    #[test]
    fn sounds_and_pauses_are_played_in_their_order_and_the_last_frame_is_filled_with_silence() {
        let mut playout = Playout::new(G711Law::A);
        let short = sound(170);
        assert_eq!((short.frames(), short.duration()), (2, Duration::from_millis(40)));
        playout.push(Arc::clone(&short)).unwrap();
        playout.push_pause(Duration::from_millis(50)).unwrap();
        playout.push(sound(0)).unwrap();
        playout.push(short).unwrap();
        assert_eq!(playout.time_left(), Duration::from_millis(140));
        playout.next_frame();
        let PlayoutFrame::Sound(frame) = playout.next_frame() else { panic!() };
        let (tone, silence) = (G711Law::A.encode(1_000), G711Law::A.silence());
        assert_eq!((frame[9], frame[10], frame[159]), (tone, silence, silence));
        assert_eq!(played(&mut playout), "pppss");
        assert!(playout.is_finished());
    }

    #[test]
    fn one_sound_is_shared_by_all_calls_that_play_it() {
        let sound = sound(1_600);
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let mut playout = Playout::new(G711Law::A);
                playout.push(Arc::clone(&sound)).unwrap();
                playout
            })
            .collect();
        assert_eq!(Arc::strong_count(&sound), 51);
        drop(calls);
        assert_eq!(Arc::strong_count(&sound), 1);
    }

    #[test]
    fn a_sentence_that_is_being_played_may_end_and_the_rest_is_dropped() {
        let mut playout = Playout::new(G711Law::A);
        playout.push(sound(480)).unwrap();
        playout.push(sound(480)).unwrap();
        playout.next_frame();
        playout.finish_part();
        assert_eq!(played(&mut playout), "ss");
        playout.push(sound(480)).unwrap();
        playout.finish_part();
        assert_eq!(played(&mut playout), "", "nothing of it was played yet");
        playout.push(sound(480)).unwrap();
        playout.next_frame();
        playout.clear();
        assert_eq!((played(&mut playout).as_str(), playout.is_finished()), ("", true));
    }

    #[test]
    fn a_sound_of_another_law_and_one_too_many_are_refused() {
        let mut playout = Playout::new(G711Law::Mu);
        let law = PlayoutRefusal::Law { sound: G711Law::A, call: G711Law::Mu };
        assert_eq!(playout.push(sound(160)), Err(law));
        for _ in 0..PLAYOUT_PARTS_MAX {
            playout.push_pause(FRAME).unwrap();
        }
        assert_eq!(playout.push_pause(FRAME), Err(PlayoutRefusal::Full));
        assert!(law.to_string().contains("PCMA for a call in PCMU"));
    }
}
