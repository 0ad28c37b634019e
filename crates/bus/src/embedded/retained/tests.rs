use super::super::moved::Moved;
use super::super::{Embedded, Options};
use super::*;
use crate::Bus;
use power_cut::{Dice, SimulatedDisk, root};
use std::collections::BTreeMap;

fn bus(disk: &SimulatedDisk) -> Embedded {
    Embedded::on(Arc::new(disk.clone()), Moved::new(), &root(), &Options::default()).unwrap()
}

fn now<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn sorted(retained: &dyn Retained) -> BTreeMap<String, Vec<u8>> {
    retained.all().into_iter().map(|(key, value)| (key, value.to_vec())).collect()
}

#[test]
fn the_last_value_of_each_key_comes_back_after_a_restart() {
    let disk = SimulatedDisk::new();
    let first = bus(&disk);
    let control = first.retained("control").unwrap();
    let changed = control.changed(control.version());
    now(control.set("1", b"run")).unwrap();
    now(changed);
    now(control.set("2", b"run")).unwrap();
    now(control.set("1", b"stop")).unwrap();
    now(control.set("2", b"")).unwrap();
    now(control.set("3", b"pause")).unwrap();
    assert_eq!(control.version(), 5);
    assert_eq!(control.value("2"), None);
    let expected = BTreeMap::from([("1".to_owned(), b"stop".to_vec()), ("3".to_owned(), b"pause".to_vec())]);
    assert_eq!(sorted(&*control), expected);
    let again = bus(&disk.power_cut(&mut Dice(1)));
    assert_eq!(sorted(&*again.retained("control").unwrap()), expected);
}

#[test]
fn the_log_is_rewritten_when_most_of_it_is_out_of_date() {
    let disk = SimulatedDisk::new();
    let first = bus(&disk);
    let routes = first.retained("routes").unwrap();
    let mut dice = Dice(9);
    let mut expected = BTreeMap::new();
    for n in 0..3000 {
        let key = format!("route-{}", dice.roll(20));
        let value = vec![n as u8; dice.roll(200) as usize];
        now(routes.set(&key, &value)).unwrap();
        if value.is_empty() {
            expected.remove(&key)
        } else {
            expected.insert(key, value)
        };
        if n % 500 == 499 {
            let cut = bus(&disk.power_cut(&mut dice));
            assert_eq!(sorted(&*cut.retained("routes").unwrap()), expected, "after {n}");
        }
    }
    drop(first);
    let octets: usize = disk.files("retained").iter().map(|(_, octets)| octets.len()).sum();
    assert!(octets < 3 * COMPACT_OCTETS_MIN as usize, "{octets} octets for 20 keys");
    assert_eq!(sorted(&*bus(&disk).retained("routes").unwrap()), expected);
}

#[test]
fn a_value_the_disk_did_not_take_is_not_seen() {
    let disk = SimulatedDisk::new();
    let first = bus(&disk);
    let control = first.retained("control").unwrap();
    now(control.set("1", b"run")).unwrap();
    disk.fault(|faults| faults.room = Some(10));
    assert!(matches!(now(control.set("1", b"stop")), Err(BusError::DiskFull { .. })));
    assert_eq!(control.value("1").unwrap(), "run");
    assert_eq!(control.version(), 1);
    disk.fault(|faults| faults.room = None);
    now(control.set("1", b"stop")).unwrap();
    assert_eq!(control.value("1").unwrap(), "stop");
}

#[test]
fn keys_and_values_over_their_limit_are_refused() {
    let disk = SimulatedDisk::new();
    let first = bus(&disk);
    let control = first.retained("control").unwrap();
    let long = "k".repeat(KEY_OCTETS_MAX + 1);
    assert!(matches!(now(control.set(&long, b"v")), Err(BusError::TooLarge { limit: KEY_OCTETS_MAX, .. })));
    let large = vec![0; RECORD_OCTETS_MAX];
    assert!(matches!(now(control.set("k", &large)), Err(BusError::TooLarge { what: "a value", .. })));
}
