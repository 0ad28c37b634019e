//! Division of a rate among those who ask.

use super::Need;

/// One that has nothing to send keeps this part of an even share, in whole messages, while others are busy:
/// so it can begin at once.
const IDLE_PART: u64 = 8;

/// Divides a rate (above 0) among processes, by what they need and hold now. As many numbers as processes,
/// whole except where one has all; their sum is at most the rate.
pub(super) fn divide(rate: f64, needs: &[Need], held: &[f64]) -> Vec<f64> {
    let mut parts = vec![0.0; needs.len()];
    let most = needs.iter().copied().max().unwrap_or(Need::Unable);
    let first: Vec<usize> = (0..needs.len()).filter(|&at| needs[at] == most).collect();
    // The cast saturates.
    let whole = rate.floor() as u64;
    if whole == 0 || needs.len() == 1 {
        let holder = first.iter().copied().find(|&at| held[at] > 0.0);
        if let Some(one) = holder.or(first.first().copied()) {
            parts[one] = rate;
        }
        return parts;
    }
    let idle = match most {
        Need::Busy => needs.iter().filter(|need| **need == Need::Idle).count() as u64,
        Need::Idle | Need::Unable => 0,
    };
    let kept = whole / needs.len() as u64 / IDLE_PART;
    let rest = whole - kept * idle;
    if first.len() == 1 && kept * idle == 0 {
        parts[first[0]] = rate;
        return parts;
    }
    let (each, extra) = (rest / first.len() as u64, rest % first.len() as u64);
    // Who has one more already keeps it.
    let mut order = first.clone();
    order.sort_by_key(|&at| held[at] <= each as f64);
    for (place, &at) in order.iter().enumerate() {
        parts[at] = (each + u64::from((place as u64) < extra)) as f64;
    }
    if most == Need::Busy {
        (0..needs.len()).filter(|&at| needs[at] == Need::Idle).for_each(|at| parts[at] = kept as f64);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::Need::{Busy, Idle, Unable};
    use super::*;

    #[test]
    fn the_busy_share_evenly_the_idle_keep_a_little_and_who_cannot_send_has_nothing() {
        assert_eq!(divide(100.0, &[Busy, Idle, Unable], &[0.0; 3]), [96.0, 4.0, 0.0]);
        assert_eq!(divide(100.0, &[Busy, Busy, Idle], &[0.0; 3]), [48.0, 48.0, 4.0]);
        assert_eq!(divide(100.0, &[Idle, Idle, Idle], &[0.0; 3]), [34.0, 33.0, 33.0]);
        assert_eq!(divide(9.0, &[Idle, Unable, Idle], &[0.0; 3]), [5.0, 0.0, 4.0]);
        assert_eq!(divide(9.0, &[Unable, Unable], &[0.0; 2]), [5.0, 4.0], "they have nothing to lose");
    }

    #[test]
    fn one_alone_has_all_of_it_and_less_than_one_is_not_divided() {
        assert_eq!(divide(2.5, &[Idle], &[0.0]), [2.5]);
        assert_eq!(divide(2.5, &[Idle, Busy, Unable], &[2.0, 0.0, 0.0]), [0.0, 2.5, 0.0]);
        assert_eq!(divide(0.1, &[Busy, Busy], &[0.0; 2]), [0.1, 0.0]);
        assert_eq!(divide(0.1, &[Busy, Busy], &[0.0, 0.1]), [0.0, 0.1], "who has it keeps it");
        assert_eq!(divide(0.1, &[Busy, Idle], &[0.0, 0.1]), [0.1, 0.0], "unless another is in need");
    }

    #[test]
    fn the_odd_one_stays_with_who_has_it() {
        assert_eq!(divide(7.0, &[Busy, Busy], &[3.0, 4.0]), [3.0, 4.0]);
        assert_eq!(divide(2.0, &[Busy, Busy, Busy], &[0.0, 1.0, 1.0]), [0.0, 1.0, 1.0]);
    }

    #[test]
    fn never_more_than_there_is() {
        let needs = [Unable, Idle, Busy];
        for rate in [0.001, 0.5, 1.0, 1.5, 2.0, 3.9, 7.0, 24.0, 100.5, 10_000.0] {
            for case in 0..3_usize.pow(5) {
                for count in 1..=5 {
                    let needs: Vec<Need> =
                        (0..count).map(|at| needs[case / 3_usize.pow(at as u32) % 3]).collect();
                    let parts = divide(rate, &needs, &vec![0.0; count]);
                    let sum: f64 = parts.iter().sum();
                    assert!(sum <= rate && sum >= rate.floor().min(rate), "{rate} {needs:?} {parts:?}");
                    let alone = parts.iter().filter(|part| **part > 0.0).count() == 1;
                    assert!(alone || parts.iter().all(|part| part.fract() == 0.0), "{rate} {parts:?}");
                }
            }
        }
    }
}
