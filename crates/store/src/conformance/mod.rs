//! Conformance suite checks every store, whatever is behind it. Each case gets a fresh store.

pub(crate) mod alerts;
pub(crate) mod attachments;
pub(crate) mod audit;
pub(crate) mod deliveries;
pub(crate) mod evidence;
pub(crate) mod import_jobs;
pub(crate) mod imports;
pub(crate) mod leases;
pub(crate) mod message_streams;
pub(crate) mod others;
pub(crate) mod privacy;
pub(crate) mod recipients;
pub(crate) mod rosters;
pub(crate) mod sign_in;

use records::{
    Alert, AlertId, AlertNo, AlertRequest, AlertState, AudienceEntry, Device, Mode, OnUnknown, Origin,
    Priority, Recipient, Strategy, Terminal, Texts, Timestamp,
};

/// Hands every case but the one that needs the store for itself to a macro:
/// `$cases! { MODULE: CASE, CASE, ... }`.
macro_rules! all_cases {
    ($cases:ident) => {
        $cases! { recipients:
            a_put_recipient_is_found_with_its_version,
            a_second_put_replaces_and_raises_the_version,
            of_two_with_one_id_in_a_put_the_later_stays,
            a_replace_needs_the_version_it_saw,
            accounts_do_not_see_each_other,
            pages_follow_each_other_in_key_order,
            asked_by_ids_they_come_in_the_order_asked,
            members_of_several_groups_are_named_once,
            a_deleted_recipient_is_gone_from_everywhere,
            a_scan_ends_when_told,
            every_change_of_a_directory_is_counted,
        }

        $cases! { imports:
            nobody_sees_a_staged_row,
            publishing_shows_all_rows_at_once,
            the_import_published_last_wins,
            an_import_replaces_what_was_put_while_it_was_staged,
            what_is_put_or_deleted_after_a_publication_stands,
            an_abandoned_import_leaves_nothing,
            an_import_is_published_once,
            of_two_staged_rows_with_one_id_the_later_stays,
        }

        $cases! { import_jobs:
            a_prepared_import_says_what_it_would_do_and_nobody_sees_it,
            a_commit_is_one_stroke_with_its_document,
            an_undone_import_leaves_what_was_there,
            what_was_put_or_deleted_after_a_commit_stays_when_it_is_undone,
            an_import_is_undone_until_its_time_is_over,
            people_who_are_absent_go_and_come_back,
            a_discarded_import_leaves_nothing,
            an_import_that_waits_forgets_a_person_who_is_erased,
            an_import_below_another_is_undone_without_it,
            people_are_found_by_terms_of_the_version_that_is_seen,
        }

        $cases! { alerts:
            an_accepted_alert_is_found_as_it_was,
            numbers_are_dense_and_never_reused,
            alerts_are_listed_newest_first,
            states_move_and_final_ones_are_not_unfinished,
            who_asks_is_known_until_its_time_is_over,
            an_older_version_does_not_overwrite_a_newer,
            an_approval_changes_as_it_was_seen_alone,
            alerts_that_wait_are_listed_oldest_first_by_account,
            the_same_key_and_body_give_the_earlier_alert,
            a_key_is_free_again_after_a_day,
            many_at_once_with_one_key_make_one_alert,
            a_cap_message_names_its_alerts,
            a_cap_message_is_known_by_its_identity_and_whom_it_was_told,
            an_end_of_a_cap_message_is_kept_until_its_time,
            old_alerts_go_with_all_they_have,
            a_key_is_its_tokens_unless_it_is_the_accounts,
        }

        $cases! { attachments:
            a_file_is_its_accounts_and_its_uploaders,
            octets_of_an_account_are_bounded_whatever_comes_at_once,
            a_file_goes_when_nobody_has_it_and_no_alert_names_it,
        }

        $cases! { rosters:
            a_roster_is_read_by_block,
            the_blocks_of_an_interrupted_solve_are_replaced,
            a_roster_is_refused_when_the_alert_is_not_being_solved,
            an_empty_roster_can_end_an_alert,
        }

        $cases! { deliveries:
            folded_deliveries_are_read_in_key_order,
            a_later_fold_replaces,
            deliveries_are_found_by_state,
            a_large_fold_is_whole_before_it_is_noted,
            nothing_is_folded_at_first,
            what_belongs_to_no_alert_is_left_out,
        }

        $cases! { message_streams:
            standing_alerts_are_found_by_index_and_are_in_no_list,
            a_roster_grows_by_folds_with_how_far_intake_is,
            blocks_beyond_one_transaction_are_all_there_before_the_positions,
            a_standing_alert_goes_with_its_roster_and_nothing_is_folded_into_it,
            an_opt_out_of_one_sender_leaves_the_others,
        }

        $cases! { others:
            a_token_is_found_by_its_hash_until_revoked,
            revocations_are_counted_and_told_of_the_tokens_in_use,
            groups_are_put_replaced_listed_and_deleted,
            a_group_exists_when_a_recipient_names_it,
            an_opt_out_stands_until_it_is_taken_back,
            stops_are_found_by_address_in_whatever_form_they_were_stored,
            words_that_are_perhaps_a_stop_wait_for_a_decision,
            observers_belong_to_their_alert,
        }

        $cases! { audit:
            a_chain_begins_with_its_genesis,
            acts_are_listed_by_page_time_and_what_they_say,
            an_act_has_all_it_was_noted_with,
            an_accepted_alert_is_noted_once,
            a_person_is_forgotten_and_the_chain_holds,
            a_very_busy_person_is_forgotten_by_several_links,
            what_retention_dropped_is_vouched_for,
            many_who_append_at_once_make_one_chain,
        }

        $cases! { privacy:
            an_erased_record_is_gone_with_its_places_in_groups,
            all_versions_that_an_import_superseded_are_erased,
            a_forgotten_stop_is_known_by_its_hash_alone_until_a_start,
            forgotten_stops_are_not_passed_over_where_the_key_is_missing,
            a_block_is_rewritten_and_its_deliveries_lose_their_words_alone,
            erasures_that_wait_are_listed_until_they_are_done,
            texts_of_old_answers_go_and_their_keys_stay,
        }

        $cases! { evidence:
            evidence_is_read_as_it_was_written,
            an_alert_is_due_once_it_ended_and_again_when_it_changed,
            an_erasure_takes_salts_and_refuses_a_version_that_was_begun_before_it,
            answers_lose_their_salts_with_their_texts,
            a_time_stamp_belongs_to_its_version,
        }

        $cases! { sign_in:
            a_document_is_written_over_what_was_seen_alone,
            a_document_is_removed_as_it_was_seen_alone,
            a_lookup_is_one_documents,
            documents_come_in_order_and_those_due_first,
            what_is_too_long_for_a_document_is_refused,
            a_session_holds_until_its_end,
            a_new_session_ends_the_one_it_replaces,
            sessions_of_a_user_end_together_but_for_one,
        }

        $cases! { leases:
            a_lease_is_one_holders_until_it_lets_go,
            a_lease_that_ran_out_is_the_next_ones,
            a_lease_that_ran_out_and_nobody_took_is_renewed_at_its_epoch,
            of_many_who_take_a_lease_at_once_one_has_it,
            a_fenced_store_writes_while_its_lease_is_held,
            a_fenced_store_changes_nothing_once_its_lease_is_anothers,
            a_lease_that_was_let_go_fences_off_its_holder,
            a_house_is_the_same_whoever_asks,
            a_pair_has_no_id_until_it_is_given_one_and_may_get_another,
            of_many_first_tokens_one_is_put,
        }
    };
}
pub(crate) use all_cases;

/// The account of all cases that need but one.
pub(crate) const ACCOUNT: &str = "a";

pub(crate) fn person(id: &str, name: &str) -> Recipient {
    Recipient {
        id: id.to_owned(),
        name: name.to_owned(),
        language: Some("sv".to_owned()),
        devices: vec![Device::new(channels::SMS, "+46701234567".to_owned())],
        ..Recipient::default()
    }
}

pub(crate) fn member(id: &str, groups: &[&str]) -> Recipient {
    Recipient { groups: groups.iter().map(|group| (*group).to_owned()).collect(), ..person(id, "") }
}

/// The n-th alert of a test, `n` seconds after the beginning of time.
pub(crate) fn alert(n: u128) -> Alert {
    let created = Timestamp(i64::try_from(n).unwrap() * 1_000_000);
    Alert {
        no: AlertNo(0),
        id: AlertId(uuid::Uuid::from_u128(n)),
        account: ACCOUNT.to_owned(),
        token: "t1".to_owned(),
        created,
        state: AlertState::Accepted,
        version: 1,
        request: request(created.plus_s(60)),
        origin: Origin::Cap("<alert>å</alert>".to_owned()),
        note: String::new(),
        approval: None,
    }
}

fn request(expires: Timestamp) -> AlertRequest {
    AlertRequest {
        headline: None,
        text: Some("Smoke. Close the windows".to_owned()),
        texts: Texts::default(),
        audience: vec![AudienceEntry {
            to: "group:staff".to_owned(),
            strategy: Some(Strategy::EscalateAfter { seconds: 300 }),
            expires: None,
        }],
        exclude: Vec::new(),
        channels: vec![channels::SMS],
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires,
        priority: Priority::Routine,
        on_unknown: OnUnknown::Hold,
        callback: None,
        sender: None,
        mode: Mode::Live,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        area: None,
        participants_only: false,
        answer_rules: records::AnswerRules::default(),
        follows: None,
    }
}

/// The number of an alert that was accepted just now, and is being solved.
pub(crate) async fn solving(store: &dyn crate::Store, n: u128) -> AlertNo {
    let alert = Alert { state: AlertState::Solving, ..alert(n) };
    match store.accept_alert(alert, None).await.unwrap() {
        crate::Accepted::New(alert) => alert.no,
        other => panic!("{other:?}"),
    }
}
