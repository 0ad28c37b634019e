//! Messages over the control stream: frames of a length, and what [`PushMessage`] writes and reads.

use std::io;

use quinn::{RecvStream, SendStream};

use super::message::PushMessage;

impl PushMessage {
    /// Sends it as a frame.
    pub async fn send(&self, stream: &mut SendStream) -> io::Result<()> {
        let frame = self.write();
        stream.write_all(&(frame.len() as u32).to_be_bytes()).await?;
        stream.write_all(&frame).await?;
        Ok(())
    }

    /// Receives a frame of `most` octets at most.
    pub async fn receive(stream: &mut RecvStream, most: usize) -> io::Result<Self> {
        let wrong = |words: String| io::Error::new(io::ErrorKind::InvalidData, words);
        let mut len = [0; 4];
        stream.read_exact(&mut len).await.map_err(io::Error::other)?;
        let len = u32::from_be_bytes(len) as usize;
        if len > most {
            return Err(wrong(format!("the other side sent a frame of {len} octets, {most} are the limit")));
        }
        // What is read grows with what has come, not with what was said.
        let mut frame = Vec::with_capacity(len.min(1 << 16));
        while frame.len() < len {
            let room = (len - frame.len()).min(1 << 16);
            let chunk = stream.read_chunk(room, true).await.map_err(io::Error::other)?;
            let chunk = chunk.ok_or_else(|| wrong("the other side ended within a frame".into()))?;
            frame.extend_from_slice(&chunk.bytes);
        }
        Self::read(&frame).ok_or_else(|| wrong("the other side sent a frame that is none of ours".into()))
    }
}
