/// What a run's server comes to hold, with room to spare.
const OCTETS: usize = 1 << 30;
const PAGE: usize = 4_096;

/// Touches memory and gives it back. A page that a virtual machine has never touched has to be found by its host first, which costs forty times a
/// page's zeroing and is counted as the server's processor time: in its first second a server of credit control seemed to cost twice as much.
pub(crate) fn touch_memory() {
    let mut octets = vec![0_u8; OCTETS];
    octets.iter_mut().step_by(PAGE).for_each(|octet| *octet = 1);
    std::hint::black_box(&octets);
}
