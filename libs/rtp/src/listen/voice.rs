//! Voice by its energy over the noise; the end of the first words; long speech.

use super::{SILENCE_DBM0, level};
use crate::{SoundFrame, frames_in};
use std::time::Duration;

/// Below this level nothing is voice, in dBm0.
const VOICE_LEVEL_MIN: f32 = -45.0;
/// From this level on everything is.
const VOICE_LEVEL_SURE: f32 = -22.0;
/// Voice is so many dB above the noise.
const ABOVE_NOISE: f32 = 10.0;
/// The estimate of the noise rises by so many dB a frame: 3 dB a second.
const NOISE_RISE: f32 = 0.06;
/// Voice holds for so many frames after its last one: gaps between sounds of a word.
const HANG_FRAMES: u32 = 5;

/// Voice activity of one stream. The noise is the least level of late; steady noise is no voice after some
/// seconds, unless it is loud.
#[derive(Debug, Clone)]
pub struct VoiceActivity {
    noise: f32,
    /// Frames that still count as voice.
    hang: u32,
}

impl Default for VoiceActivity {
    fn default() -> VoiceActivity {
        VoiceActivity { noise: VOICE_LEVEL_MIN - ABOVE_NOISE, hang: 0 }
    }
}

impl VoiceActivity {
    /// Nothing was heard.
    pub fn new() -> VoiceActivity {
        VoiceActivity::default()
    }

    /// Hears a frame: true for voice, and for 100 ms after it.
    pub fn handle_frame(&mut self, frame: &SoundFrame) -> bool {
        let level = level(frame);
        let threshold = (self.noise + ABOVE_NOISE).clamp(VOICE_LEVEL_MIN, VOICE_LEVEL_SURE);
        // Digital silence says nothing of the noise.
        if level > SILENCE_DBM0 {
            self.noise = (self.noise + NOISE_RISE).min(level);
        }
        match level >= threshold {
            true => self.hang = HANG_FRAMES,
            false => self.hang = self.hang.saturating_sub(1),
        }
        self.hang > 0
    }
}

/// End of the wait for the person's first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstWordsEnd {
    /// It was silent for long enough.
    Silence,
    /// The time is over, and somebody still speaks.
    Limit,
}

/// Wait before a message is played: until it was silent for some time, or for a time in all.
#[derive(Debug, Clone)]
pub struct FirstWords {
    silence_frames: u32,
    limit_frames: u32,
    frames: u32,
    silent: u32,
    end: Option<FirstWordsEnd>,
}

impl FirstWords {
    /// Silence after which a message is played.
    pub const SILENCE: Duration = Duration::from_millis(700);
    /// Time after which it is played in any case.
    pub const LIMIT: Duration = Duration::from_secs(2);

    /// From the answer on, with [`SILENCE`](Self::SILENCE) and [`LIMIT`](Self::LIMIT).
    pub fn new() -> FirstWords {
        FirstWords::with(Self::SILENCE, Self::LIMIT)
    }

    /// From now on, with other times, each rounded up to a frame.
    pub fn with(silence: Duration, limit: Duration) -> FirstWords {
        FirstWords {
            silence_frames: frames_in(silence),
            limit_frames: frames_in(limit),
            frames: 0,
            silent: 0,
            end: None,
        }
    }

    /// Counts a frame, voice or not as [`VoiceActivity`] says. Gives the end with the frame that brings it
    /// and with each frame after it.
    pub fn handle_frame(&mut self, is_voice: bool) -> Option<FirstWordsEnd> {
        self.frames = self.frames.saturating_add(1);
        self.silent = if is_voice { 0 } else { self.silent.saturating_add(1) };
        let is_silent = (self.silent >= self.silence_frames).then_some(FirstWordsEnd::Silence);
        let is_over = (self.frames >= self.limit_frames).then_some(FirstWordsEnd::Limit);
        self.end = self.end.or(is_silent).or(is_over);
        self.end
    }
}

impl Default for FirstWords {
    fn default() -> FirstWords {
        FirstWords::new()
    }
}

/// Long speech without a pause: a hint at an answering machine. A hint only, persons speak too.
#[derive(Debug, Clone)]
pub struct LongSpeech {
    limit_frames: u32,
    /// Frames since speech began, pauses among them.
    frames: u32,
    pause: u32,
    is_told: bool,
}

impl LongSpeech {
    /// Speech that is a hint.
    pub const LIMIT: Duration = Duration::from_millis(3_500);
    /// Pauses up to this belong to the speech.
    pub const PAUSE_MAX: Duration = Duration::from_millis(600);

    /// Nothing was heard; tells speech of at least `limit`, rounded up to a frame.
    pub fn new(limit: Duration) -> LongSpeech {
        LongSpeech { limit_frames: frames_in(limit), frames: 0, pause: 0, is_told: false }
    }

    /// Counts a frame, voice or not as [`VoiceActivity`] says. True once, when speech has been long enough.
    pub fn handle_frame(&mut self, is_voice: bool) -> bool {
        self.pause = if is_voice { 0 } else { self.pause.saturating_add(1) };
        let is_over = self.pause > frames_in(Self::PAUSE_MAX) || self.frames == 0 && !is_voice;
        self.frames = if is_over { 0 } else { self.frames.saturating_add(1) };
        let is_long = is_voice && self.frames >= self.limit_frames && !self.is_told;
        self.is_told |= is_long;
        is_long
    }
}
