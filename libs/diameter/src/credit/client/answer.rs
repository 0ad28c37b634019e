//! Credit-Control-Answer as the client's machines read it.

use crate::avp::Avps;
use crate::credit::FailureHandling;
use crate::dictionary::avp;
use crate::message::Message;
use crate::result_code;
use std::time::Duration;

/// What came for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditAnswer {
    /// It succeeded.
    Success(Grant),
    /// 'Temporary error': DIAMETER_TOO_BUSY, DIAMETER_UNABLE_TO_DELIVER or DIAMETER_LOOP_DETECTED.
    Temporary {
        /// The Result-Code.
        result_code: u32,
    },
    /// END_USER_SERVICE_DENIED, and CREDIT_LIMIT_REACHED, which the tables do not name: an empty account must
    /// never be taken for a failure that CCFH CONTINUE bridges.
    Denied,
    /// USER_UNKNOWN.
    UserUnknown,
    /// CREDIT_CONTROL_NOT_APPLICABLE.
    NotApplicable,
    /// Any other 'Failed answer'.
    Failed {
        /// The Result-Code, 0 where there is none that can be read.
        result_code: u32,
    },
}

/// What a successful answer says about the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Final-Unit-Indication: what happens when these units are used up.
    pub final_unit: Option<FinalUnitAction>,
    /// Validity-Time, the shortest of several: when to ask again at the latest.
    pub validity: Option<Duration>,
    /// Credit-Control-Failure-Handling: overrides what was in force.
    pub failure_handling: Option<FailureHandling>,
    /// CC-Session-Failover: FAILOVER_SUPPORTED or not.
    pub has_failover: Option<bool>,
}

/// Final-Unit-Action (RFC 8506 section 8.35).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalUnitAction {
    /// 0: terminate the service.
    Terminate,
    /// 1: redirect the user, to pay.
    Redirect,
    /// 2: restrict the user to what the filters let through.
    RestrictAccess,
}

impl CreditAnswer {
    /// Classifies an answer. What it says in Multiple-Services-Credit-Control counts as if it stood at the
    /// top; the units are the caller's to read.
    #[must_use]
    pub fn read(message: &Message<'_>) -> CreditAnswer {
        let result_code = message.find(avp::RESULT_CODE).and_then(|avp| avp.u32().ok()).unwrap_or(0);
        match result_code {
            result_code::TOO_BUSY | result_code::UNABLE_TO_DELIVER | result_code::LOOP_DETECTED => {
                CreditAnswer::Temporary { result_code }
            }
            result_code::END_USER_SERVICE_DENIED | result_code::CREDIT_LIMIT_REACHED => CreditAnswer::Denied,
            result_code::USER_UNKNOWN => CreditAnswer::UserUnknown,
            result_code::CREDIT_CONTROL_NOT_APPLICABLE => CreditAnswer::NotApplicable,
            code if result_code::is_success(code) => CreditAnswer::Success(Grant::read(message.avps())),
            result_code => CreditAnswer::Failed { result_code },
        }
    }
}

impl Grant {
    fn read(avps: Avps<'_>) -> Grant {
        let mut grant = Grant::default();
        grant.take(avps, true);
        grant
    }

    fn take(&mut self, avps: Avps<'_>, is_top: bool) {
        for avp in avps.map_while(Result::ok) {
            match avp.name {
                avp::FINAL_UNIT_INDICATION => self.take_final_unit(avp.group()),
                avp::VALIDITY_TIME => {
                    let validity = avp.u32().ok().map(|seconds| Duration::from_secs(seconds.into()));
                    self.validity = self.validity.into_iter().chain(validity).min();
                }
                avp::CREDIT_CONTROL_FAILURE_HANDLING => {
                    let handling = avp.i32().ok().and_then(FailureHandling::from_value);
                    self.failure_handling = handling.or(self.failure_handling);
                }
                avp::CC_SESSION_FAILOVER => self.has_failover = avp.i32().ok().map(|value| value == 1),
                avp::MULTIPLE_SERVICES_CREDIT_CONTROL if is_top => self.take(avp.group(), false),
                _ => {}
            }
        }
    }

    fn take_final_unit(&mut self, avps: Avps<'_>) {
        let action = avps.find_name(avp::FINAL_UNIT_ACTION).and_then(|avp| avp.i32().ok());
        self.final_unit = match action {
            Some(0) => Some(FinalUnitAction::Terminate),
            Some(1) => Some(FinalUnitAction::Redirect),
            Some(2) => Some(FinalUnitAction::RestrictAccess),
            _ => self.final_unit,
        };
    }
}
