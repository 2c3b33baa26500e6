//! The controllers together.

use super::*;

#[test]
fn a_condition_keeps_its_transition_time_while_its_status_stays() {
    let mut status = json!({});
    set_condition(&mut status, "Ready", true, "A", "", "t1");
    set_condition(&mut status, "Ready", true, "B", "", "t2");
    assert_eq!(status["conditions"][0]["reason"], "B");
    assert_eq!(status["conditions"][0]["lastTransitionTime"], "t1");
    set_condition(&mut status, "Ready", false, "C", "", "t3");
    assert_eq!(status["conditions"][0]["lastTransitionTime"], "t3");
}
