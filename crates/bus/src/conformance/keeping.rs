//! What is kept, how safely, and what is let go of.

use super::{Ground, all_from, append_each, texts};

pub(crate) async fn what_was_acknowledged_survives_a_crash(ground: &dyn Ground) {
    let mut expected = Vec::new();
    for round in 0..3 {
        let bus = ground.bus();
        let topic = bus.topic("t").unwrap();
        for n in 0..10 {
            let text = format!("{round}-{n}");
            let index = append_each(&*topic, &[&text]).await;
            assert_eq!(index, expected.len() as u64);
            expected.push(text);
        }
        drop((topic, bus));
        ground.crash();
        assert_eq!(texts(&all_from(&*ground.bus().topic("t").unwrap(), 0)), expected);
    }
}
