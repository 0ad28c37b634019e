//! Receives one pushed file: `receive LISTEN FOLDER [data-port=N] [interface=NAME] [sync=true]`. For trials:
//! the key is the one of the example `push`.

use paced_udp::push::{ReceiveOptions, Receiving, SiteKey};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, folder, rest @ ..] = arguments.as_slice() else {
        return Err("usage: receive LISTEN FOLDER [data-port=N] [interface=NAME] [sync=true]".into());
    };
    let given = |name: &str| rest.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let options = ReceiveOptions {
        listen: listen.parse()?,
        data_port: given("data-port").map_or(Ok(0), str::parse)?,
        interface: given("interface").map(str::parse).transpose()?,
        into: folder.into(),
        key: SiteKey::new([7; 32]),
        signers: Vec::new(),
        size_max: 16 << 30,
        keep_free: 0,
        overwrite: false,
        sync: given("sync").map_or(Ok(false), str::parse)?,
        once: true,
        arrived: None,
    };
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let receiving = tokio::spawn(Receiving::bind(options)?.run(tell));
    while let Some(word) = told.recv().await {
        println!("{word:?}");
    }
    Ok(receiving.await?)
}
