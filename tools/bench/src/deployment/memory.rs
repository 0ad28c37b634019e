/// What a run's server comes to hold, with room to spare.
const OCTETS: usize = 1 << 30;
const PAGE: usize = 4_096;

/// Touches memory and gives it back: 1 GiB, or half of what there is. A page that a virtual machine has never
/// touched has to be found by its host first, which is counted as the processor time of whoever touches it:
/// 10 us a page were seen, and a server of credit control that seemed to cost half as much again.
pub(crate) fn touch_memory() {
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|told| available(&told));
    let mut octets = vec![0_u8; available.map_or(0, |octets| octets / 2).min(OCTETS)];
    octets.iter_mut().step_by(PAGE).for_each(|octet| *octet = 1);
    std::hint::black_box(&octets);
}

/// The octets of `MemAvailable` (proc(5)).
fn available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<usize>().ok()?.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_there_is_is_read_from_what_the_kernel_tells() {
        let told = "MemTotal:       24684084 kB\nMemFree:        20000000 kB\nMemAvailable:     524288 kB\n";
        assert_eq!(available(told), Some(512 << 20));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
