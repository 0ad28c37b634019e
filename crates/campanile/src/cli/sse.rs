//! Server-sent events, out of octets as they come (HTML standard, section 9.2.6).

/// One event is at most so many octets.
const EVENT_OCTETS_MAX: usize = 4 << 20;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SseEvent {
    pub name: String,
    pub data: String,
}

/// What has come and is no whole event yet.
#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
    after_cr: bool,
    name: String,
    data: Vec<String>,
    octets: usize,
}

impl Events {
    /// Takes octets; gives the events they complete, or says that one is too large.
    pub fn feed(&mut self, octets: &[u8]) -> Result<Vec<SseEvent>, String> {
        let mut events = Vec::new();
        for &octet in octets {
            let is_second = octet == b'\n' && std::mem::take(&mut self.after_cr);
            self.after_cr = octet == b'\r';
            if is_second {
                continue;
            }
            if octet == b'\n' || octet == b'\r' {
                let line = std::mem::take(&mut self.line);
                events.extend(self.line(&String::from_utf8_lossy(&line)));
                continue;
            }
            self.line.push(octet);
            self.octets += 1;
            if self.octets > EVENT_OCTETS_MAX {
                return Err(format!("an event is over the limit of {EVENT_OCTETS_MAX} octets"));
            }
        }
        Ok(events)
    }

    fn line(&mut self, line: &str) -> Option<SseEvent> {
        if line.is_empty() {
            self.octets = 0;
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return (!data.is_empty()).then(|| SseEvent { name, data: data.join("\n") });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => self.data.push(value.to_owned()),
            // Ids, waits, and comments (an empty field) that keep the connection alive.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_come_whole_however_they_are_cut() {
        let text = ": hello\n\nevent: progress\nid: 7\ndata: {\"a\":\ndata: 1}\n\nevent:done\r\ndata:å\r\n\r\ndata: x\r\rretry: 5\n\n";
        let expected = vec![event("progress", "{\"a\":\n1}"), event("done", "å"), event("", "x")];
        for size in 1..text.len() {
            let mut events = Events::default();
            let got: Vec<SseEvent> =
                text.as_bytes().chunks(size).flat_map(|piece| events.feed(piece).unwrap()).collect();
            assert_eq!(got, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..8).find_map(|_| events.feed(&piece).err());
        assert!(refused.unwrap().contains("over the limit"));
    }
}
