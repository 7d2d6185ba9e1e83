//! Damaged files, a few hundred times (`SARDONYX_DAMAGES` times, if that is set): opening or verifying reports an
//! error, or all rows are unchanged. `cargo xtask torture-damage` does it by thousands.

use sardonyx_lab::crashes::damage::torture;

#[test]
fn i4_i5_damage_anywhere_is_reported_or_harmless_by_a_checksum_of_all_rows() {
    let damages = sardonyx_base::random::asked("SARDONYX_DAMAGES").unwrap_or(400);
    let tally = torture(11, damages).unwrap_or_else(|what| panic!("{what}"));
    println!("{tally}");
    assert!(tally.noticed > damages / 3 && tally.harmless > 0, "{tally}");
}
