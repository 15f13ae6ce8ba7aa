//! Features of the agent on the installed system that no other machine test executes: how it reads a model, what it asks
//! its person at a terminal, its plans, shell rules and read tools, and what it reports.
//!
//! All stories run on one Debian 13; `POSTERN_STORY=NAME` runs those whose names begin so. `tests/features.md` says which
//! row a story stands for.

mod endpoint;
mod host;
mod looks;
mod memory;
mod plans;
mod replies;
mod reports;
mod shell;
mod terminal;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use host::Host;

type Story = fn(&Host);

/// Lists functions with their names.
macro_rules! stories {
    ($($file:ident::$story:ident),+ $(,)?) => {
        &[$((stringify!($story), $file::$story as Story)),+]
    };
}

/// In an order that counts for the reports alone, which are about tasks of their own person.
const STORIES: &[(&str, Story)] = stories![
    replies::calls_in_text_are_read_in_every_form_and_several_are_told,
    replies::five_malformed_replies_end_a_task_and_a_valid_call_begins_the_count_anew,
    replies::malformed_arguments_are_a_result_and_the_other_calls_are_made,
    replies::repairs_are_counted_and_what_was_reasoned_never_runs,
    replies::raw_replies_are_shown_on_request_without_secrets,
    endpoint::overloaded_endpoint_is_asked_again_and_each_attempt_is_counted,
    endpoint::refused_key_is_not_tried_again_and_is_never_shown,
    endpoint::refusal_of_tools_and_of_a_form_is_remembered,
    endpoint::anthropics_messages_carry_out_a_task,
    endpoint::verbose_and_price_tell_what_a_task_used,
    endpoint::replies_of_a_file_stand_in_for_a_model,
    endpoint::environment_and_key_file_and_site_prompt_count,
    endpoint::model_that_is_gone_is_told_and_health_answers,
    memory::next_run_begins_with_the_checkpoint_and_knows_what_failed,
    memory::run_without_progress_ends_the_task,
    memory::same_failure_is_not_run_a_third_time,
    memory::next_task_of_a_person_goes_on_from_the_last_one,
    memory::copy_of_an_older_version_takes_the_databases_place_by_the_documented_steps,
    looks::logs_are_searched_through_rotated_and_compressed_files,
    looks::read_files_are_bounded_and_without_secrets,
    looks::commands_keep_stdout_stderr_and_exit_code_apart,
    looks::independent_looks_of_one_reply_are_made_together,
    looks::background_task_is_followed_by_its_events,
    plans::what_is_no_plan_runs_nothing,
    plans::plan_is_repaired_without_repeating_what_succeeded,
    plans::failed_plan_is_taken_back_when_its_person_says_yes,
    plans::patches_of_a_plan_create_over_nothing_and_set_modes_and_are_repaired,
    plans::model_follows_a_runbook_and_differences_are_told,
    plans::model_that_needs_a_person_says_what_to_look_at,
    plans::last_words_are_guarded,
    shell::commands_of_the_red_team_get_their_level,
    shell::site_rules_add_and_replace_and_an_error_refuses_the_file,
    shell::hostile_commands_are_never_harmless,
    shell::texts_and_dates_are_the_same_in_every_locale,
    terminal::interrupted_task_is_resumed_at_the_prompt,
    terminal::long_diff_is_shown_by_the_pager_before_the_question,
    terminal::person_chooses_files_of_a_models_patch,
    terminal::question_about_a_place_that_amounts_to_root_begins_with_a_warning,
    terminal::large_rewrite_is_asked_about_and_with_nobody_there_not_made,
    terminal::always_holds_for_exactly_these_words,
    terminal::waiting_request_outlives_the_terminal,
    reports::manual_pages_and_documentation_of_the_host_are_found,
    reports::embeddings_order_what_full_text_search_found,
    reports::spans_go_to_the_journal_and_to_a_collector,
    reports::metrics_count_what_was_done,
    reports::insights_become_rules_of_exactly_what_was_asked,
];

#[test]
fn features_of_the_agent_work_on_the_installed_system() {
    let only = env::var("POSTERN_STORY").unwrap_or_default();
    let host = Host::boot();
    let mut failed = Vec::new();
    let told = STORIES.iter().filter(|(name, _)| name.starts_with(&only));
    for (name, story) in told {
        let begun = Instant::now();
        // A failure does not keep the other stories from being told.
        if catch_unwind(AssertUnwindSafe(|| story(&host))).is_err() {
            failed.push(*name);
        }
        println!("{name}: {:.1} s", begun.elapsed().as_secs_f32());
    }
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
}
