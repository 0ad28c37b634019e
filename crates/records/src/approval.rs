use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// The approval of an alert: which is needed, who gave it, and how the request for it ended. What is approved
/// is a version of the alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Raised by every change of what stands here: a change names the one that it saw.
    pub revision: u32,
    /// How many other people have to approve.
    pub needs: ApprovalNeed,
    /// Who wrote the alert; the first submitted it.
    pub authors: Vec<ApprovalPerson>,
    /// When approval was asked for; at first the moment of acceptance.
    pub asked: Timestamp,
    /// The request ends then, unapproved.
    pub expires: Timestamp,
    /// Approvers are told again after so long, in seconds.
    pub remind_s: u32,
    /// Who approves types the number of people where it is above this.
    pub type_people_over: Option<u64>,
    /// The audience when approval was asked for.
    pub people: u64,
    /// The version of the alert that is to be approved.
    pub version: u32,
    /// Who approved that version.
    pub approvals: Vec<GivenApproval>,
    /// The audience was counted again when sending began: what is sent from then on is approved.
    pub is_started: bool,
    /// It was sent without the approvals that it needs.
    pub sent_alone: Option<SentAlone>,
    /// Approvers who were told, in order.
    pub told: Vec<ToldApprovers>,
    /// A stop or a pause that waits for a second person.
    pub steering: Option<SteeringRequest>,
    /// How the request ended, other than by approval.
    pub ended_by: Option<EndedBy>,
}

/// How many other people have to approve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalNeed {
    /// None.
    #[default]
    Nobody,
    /// One.
    One,
    /// Two, who differ from each other too.
    Two,
}

impl ApprovalNeed {
    /// All of them, from the least to the most.
    pub const ALL: [ApprovalNeed; 3] = [ApprovalNeed::Nobody, ApprovalNeed::One, ApprovalNeed::Two];

    /// As a number.
    pub fn count(self) -> usize {
        self as usize
    }

    /// Its name in config and API.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalNeed::Nobody => "nobody",
            ApprovalNeed::One => "one",
            ApprovalNeed::Two => "two",
        }
    }
}

/// Somebody who wrote, approved or ended something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalPerson {
    /// The id of their user, as `user:ID`, or that of a token.
    pub user: String,
    /// What people call them.
    pub name: String,
    /// Who they are: two users of one person count as one. Nothing for a token.
    pub person: Option<String>,
}

impl ApprovalPerson {
    /// Two who are one: the same user, or users of the same person.
    pub fn is_same_person(&self, other: &ApprovalPerson) -> bool {
        self.user == other.user || (self.person.is_some() && self.person == other.person)
    }
}

/// One approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenApproval {
    /// Whose.
    pub by: ApprovalPerson,
    /// When.
    pub at: Timestamp,
    /// The audience at that moment.
    pub people: u64,
}

/// A break-glass: an alert that was sent without the approvals that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentAlone {
    /// By whom.
    pub by: ApprovalPerson,
    /// When.
    pub at: Timestamp,
    /// Why, in their words.
    pub reason: String,
}

/// Approvers who were told that something waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldApprovers {
    /// Their persons.
    pub persons: Vec<String>,
    /// When.
    pub at: Timestamp,
}

/// A stop or a pause that a policy has a second person confirm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteeringRequest {
    /// `cancel` or `pause`.
    pub verb: String,
    /// How many others have to do the same.
    pub needs: ApprovalNeed,
    /// Who did so far, the first who asked.
    pub by: Vec<ApprovalPerson>,
    /// When it was asked for.
    pub at: Timestamp,
}

/// How a request for approval ended, other than by approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedBy {
    /// In which way.
    pub kind: EndedKind,
    /// By whom; nobody when its time ran out.
    pub by: Option<ApprovalPerson>,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// Ways in which a request for approval ends, other than by approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedKind {
    /// An approver sent it back: its draft is open again.
    Returned,
    /// An approver refused it.
    Rejected,
    /// Nobody approved in time.
    Expired,
}

impl EndedKind {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            EndedKind::Returned => "returned",
            EndedKind::Rejected => "rejected",
            EndedKind::Expired => "expired",
        }
    }
}

impl Approval {
    /// Of an alert of these authors, which needs none.
    pub fn of(authors: Vec<ApprovalPerson>, asked: Timestamp, expires: Timestamp) -> Approval {
        Approval {
            revision: 0,
            needs: ApprovalNeed::Nobody,
            authors,
            asked,
            expires,
            remind_s: 0,
            type_people_over: None,
            people: 0,
            version: 0,
            approvals: Vec::new(),
            is_started: true,
            sent_alone: None,
            told: Vec::new(),
            steering: None,
            ended_by: None,
        }
    }

    /// Somebody wrote it who is this person.
    pub fn is_by(&self, person: &ApprovalPerson) -> bool {
        self.authors.iter().any(|author| author.is_same_person(person))
    }

    /// It has the approvals that it needs, or was sent without them.
    pub fn is_complete(&self) -> bool {
        self.sent_alone.is_some() || self.approvals.len() >= self.needs.count()
    }

    /// What is approved may be sent now.
    pub fn may_send(&self) -> bool {
        self.is_complete() && self.is_started && self.ended_by.is_none()
    }

    /// The audience that was approved: the least of those that approvers saw.
    pub fn people_approved(&self) -> u64 {
        self.approvals.iter().map(|given| given.people).min().unwrap_or(self.people)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(user: &str, person: Option<&str>) -> ApprovalPerson {
        ApprovalPerson { user: user.into(), name: user.into(), person: person.map(str::to_owned) }
    }

    #[test]
    fn two_users_of_one_person_are_one_and_two_tokens_are_two() {
        for (a, b, same) in [
            (person("user:1", Some("ann")), person("user:2", Some("ann")), true),
            (person("user:1", Some("ann")), person("user:1", Some("bo")), true),
            (person("user:1", Some("ann")), person("user:2", Some("bo")), false),
            (person("t_1", None), person("t_2", None), false),
            (person("t_1", None), person("t_1", None), true),
        ] {
            assert_eq!(a.is_same_person(&b), same, "{a:?} {b:?}");
        }
    }

    #[test]
    fn an_approval_is_complete_with_all_that_it_needs_or_alone() {
        let given = |user: &str| GivenApproval { by: person(user, Some(user)), at: Timestamp(1), people: 5 };
        let mut approval = Approval::of(vec![person("user:1", Some("ann"))], Timestamp(0), Timestamp(9));
        assert!(approval.may_send(), "it needs none");
        (approval.needs, approval.is_started) = (ApprovalNeed::Two, false);
        assert!(!approval.is_complete());
        approval.approvals.push(given("bo"));
        assert!(!approval.is_complete());
        approval.approvals.push(given("cy"));
        assert!(approval.is_complete() && !approval.may_send(), "it was not counted again yet");
        approval.is_started = true;
        assert!(approval.may_send());
        approval.approvals.clear();
        approval.sent_alone =
            Some(SentAlone { by: person("user:1", None), at: Timestamp(2), reason: "x".into() });
        assert!(approval.may_send());
    }
}
