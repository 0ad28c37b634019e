//! Far end of edge routes for the conformance checks: receivers on this machine, each with a folder.

use super::{EdgeRoute, EdgeSite, archive};
use crate::conformance::{FarEnd, Manner, Message};
use crate::{AlertDocuments, AnyRoute, DocumentSet, GatewayContext, NoDocuments};
use futures_util::future::BoxFuture;
use paced_udp::push::{Arrived, ReceiveOptions, Receiving, SiteKey};
use paced_udp::wire::Key;
use records::AlertNo;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinHandle;

/// Receivers.
const SITES: u32 = 12;
const WORDS: &str = "what the sites and we know";

/// Sites at work.
pub(super) struct Sites {
    folder: tempfile::TempDir,
    sites: Vec<EdgeSite>,
    tasks: Vec<JoinHandle<()>>,
}

impl Sites {
    pub(super) fn start() -> Sites {
        let folder = tempfile::tempdir().unwrap();
        let (mut sites, mut tasks) = (Vec::new(), Vec::new());
        for number in 0..SITES {
            let (name, into) = (format!("site-{number}"), folder.path().join(format!("site-{number}")));
            std::fs::create_dir_all(&into).unwrap();
            let receiving = Receiving::bind(receiver(&into)).unwrap();
            let address = receiving.address().unwrap().to_string();
            sites.push(EdgeSite { name, address, key: Some(WORDS.into()) });
            let (tell, mut told) = unbounded_channel();
            tasks.push(tokio::spawn(receiving.run(tell)));
            tasks.push(tokio::spawn(async move { while told.recv().await.is_some() {} }));
        }
        Sites { folder, sites, tasks }
    }
}

impl Drop for Sites {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn receiver(into: &Path) -> ReceiveOptions {
    ReceiveOptions {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        data_port: 0,
        interface: None,
        into: into.to_owned(),
        key: SiteKey::of(&Key::from_words(WORDS).unwrap()),
        signers: Vec::new(),
        size_max: 10_000_000,
        keep_free: 0,
        overwrite: false,
        sync: true,
        once: false,
        arrived: Some(Arrived(Arc::new(unpack))),
    }
}

/// Two processes may bring the same archive at once, since persons of the checks share sites: it is unpacked
/// once.
fn unpack(path: &Path) -> Result<(), String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap();
    archive::unpack(path).map(|_| ())
}

/// The alert of the checks, without attachments.
struct OneAlert;

impl AlertDocuments for OneAlert {
    fn documents(&self, _: AlertNo) -> BoxFuture<'_, Result<DocumentSet, NoDocuments>> {
        let documents = DocumentSet {
            cap: b"<alert/>".to_vec(),
            headline: None,
            mode: "live",
            priority: "routine",
            sent: "2026-01-01T00:00:00Z".to_owned(),
            expires: "2026-01-02T00:00:00Z".to_owned(),
            links: Vec::new(),
            attachments: Vec::new(),
        };
        Box::pin(async move { Ok(documents) })
    }
}

impl FarEnd for Sites {
    fn route(&self, name: &str, rate: f64, process: &str) -> AnyRoute {
        AnyRoute::new(EdgeRoute {
            name: name.to_owned(),
            rate,
            bandwidth: 100e6,
            signing_key: self.folder.path().join("signing"),
            sites: self.sites.clone(),
            // Each process has a folder of its own, as on machines of their own.
            work: self.folder.path().join(format!("work-{process}")),
            ..EdgeRoute::default()
        })
    }

    fn furnish(&self, context: &mut GatewayContext) {
        context.documents = Some(Arc::new(OneAlert));
    }

    fn persons(&self) -> u32 {
        SITES
    }

    fn address(&self, person: u32) -> String {
        format!("site-{person}")
    }

    /// A site takes what is for it.
    fn set_manner(&self, manner: Manner) -> bool {
        manner == Manner::Accept
    }

    fn cut(&self) -> bool {
        false
    }

    fn arrived(&self) -> Vec<Message> {
        let sites = (0..SITES).map(|person| self.address(person));
        sites.flat_map(|address| unpacked(&self.folder.path().join(&address), &address)).collect()
    }
}

/// The archives in a site's folder that were unpacked.
fn unpacked(folder: &Path, address: &str) -> Vec<Message> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.filter_map(|path| {
        let text = std::fs::read_to_string(path.join("alert.txt")).ok()?;
        let identity = path.file_name()?.to_str()?.to_owned();
        Some(Message { address: address.to_owned(), text, identity })
    });
    texts.collect()
}
