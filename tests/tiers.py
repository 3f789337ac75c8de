"""Which tests belong to the exhaustive tier, and why. ``make test`` leaves them out; ``make test-all`` runs them.

A test is here if it takes seconds and a faster one, named in the reason, holds the same claim in the quick tier, or if
it needs a browser, kills processes, or runs a study. An entry is the beginning of a test's name as pytest prints it, so
that one line can stand for a folder, a file, a test or some of its parameters; ``*`` stands for anything.
"""

import re

import pytest

EXHAUSTIVE = {
    "Sweeps, kill loops and browsers": ["tests/exhaustive/"],
    "The paper's studies in small; their parts, rows, tables and pages are tested in the quick tier": [
        "tests/reproduction/runs/test_calibration.py::test_maps_are_learned",
        "tests/reproduction/runs/test_jobs.py",
        "tests/reproduction/studies/choosing/test_recipe.py::test_the_page_shows_what_was_measured",
        "tests/reproduction/studies/choosing/test_recommended.py",
        "tests/reproduction/runs/test_reference.py",
        "tests/reproduction/paper/test_reproduce.py::test_all_tables_and_figures_are_there",
        "tests/reproduction/paper/test_reproduce.py::test_a_saved_domain_and_a_made_one",
        "tests/reproduction/paper/test_reproduce.py::test_only_missing_times_are_measured",
        "tests/reproduction/paper/test_reproduce.py::test_the_columns_command",
        "tests/reproduction/paper/test_reproduce.py::test_the_command_line_prints_the_table",
        "tests/reproduction/paper/test_reproduce.py::test_the_command_runs_a_saved_domain",
        "tests/reproduction/paper/test_reproduce.py::test_the_page_is_written_from_results",
        "tests/reproduction/paper/test_reproduce.py::test_the_study_changes_one_thing",
        "tests/reproduction/paper/test_reproduce.py::test_what_is_finished_is_not_run_again",
        "tests/reproduction/paper/test_reproduce.py::test_what_is_there_is_shown",
        "tests/reproduction/paper/test_reproduce.py::test_what_was_run_for_a_figure_alone",
        "tests/reproduction/runs/test_scoring.py::test_scores_equal_those_of_each_run_alone",
        "tests/benchmarks/test_whittle.py",
        "tests/reproduction/paper/test_times.py::test_what_is_timed_is_training",
    ],
    "Slow references; test_smooth.py and test_linear.py have faster ones": [
        "tests/mixtures/test_references.py",
        "tests/mixtures/test_properties.py::test_vmap_over_temperatures_and_its_gradient[Quadratic",
    ],
    "Real records take half a minute; the demonstration goes the same way on simulated ones": [
        "tests/test_examples.py::test_a_call_list_from_real_records",
    ],
    "The GPU's kernel, interpreted step by step; one shape stays, and test_sim_dfl.py tests the same loss": [
        "tests/losses/sim_dfl/test_kernel.py::test_as_many_are_called",
        "tests/losses/sim_dfl/test_kernel.py::test_calls_to_nobody",
        "tests/losses/sim_dfl/test_kernel.py::test_equal_chances",
        "tests/losses/sim_dfl/test_kernel.py::test_many_cohorts",
        "tests/losses/sim_dfl/test_kernel.py::test_the_kernel_can_be_lowered",
        "tests/losses/sim_dfl/test_kernel.py::test_the_kernel_simulates_what_xla_does[128",
        "tests/losses/sim_dfl/test_kernel.py::test_the_kernel_simulates_what_xla_does[20",
        "tests/losses/sim_dfl/test_kernel.py::test_the_kernel_simulates_what_xla_does[30",
        "tests/losses/sim_dfl/test_kernel.py::test_the_kernel_simulates_what_xla_does[50",
        "tests/losses/sim_dfl/test_kernel.py::test_the_kernel_simulates_what_xla_does[7",
    ],
    "The accelerator's path on a CPU; two states stay": [
        "tests/losses/dec_dfl/test_fused.py::test_actions",
        "tests/losses/dec_dfl/test_fused.py::test_equals_the_loss_by_solution[*-3-",
        "tests/losses/dec_dfl/test_fused.py::test_equals_the_loss_by_solution[*-5-",
        "tests/losses/dec_dfl/test_fused.py::test_float32",
        "tests/losses/dec_dfl/test_fused.py::test_many_cohorts",
        "tests/losses/dec_dfl/test_fused.py::test_no_budget",
        "tests/losses/dec_dfl/test_fused.py::test_rewards",
        "tests/losses/dec_dfl/test_fused.py::test_where_there_is_an_accelerator",
    ],
    "Variants of a loss whose plain form faces the same battery; SIM-DFL has test_sim_dfl.py": [
        "tests/losses/test_every_loss.py::*[DecDFL-predicted",
        "tests/losses/test_every_loss.py::*[DecDFL-spread",
        "tests/losses/test_every_loss.py::*[PriceDFL-threshold",
        "tests/losses/test_every_loss.py::*[SimDFL",
        "tests/losses/test_every_loss.py::*[WeightedSum",
        "tests/losses/dec_dfl/test_dec_dfl.py::test_gradients_over_each_arms_own_policies[*near-index",
        "tests/losses/dec_dfl/test_dec_dfl.py::test_gradients_over_each_arms_own_policies[dec",
        "tests/losses/dec_dfl/test_dec_dfl.py::test_near_index_policies_of_two_and_three",
        "tests/losses/dec_dfl/test_dec_dfl.py::test_threshold_policies_do_no_better",
    ],
    "More states, arms or trajectories; a smaller shape of the same test stays": [
        "tests/losses/sim_dfl/test_sim_dfl.py::test_every_trajectory_counts_once_in_blocks_or_not[1]",
        "tests/losses/sim_dfl/test_sim_dfl.py::test_every_trajectory_counts_once_in_blocks_or_not[40]",
        "tests/losses/sim_dfl/test_sim_dfl.py::test_gradient_estimates_agree_with_the_exact_gradient[3",
        "tests/losses/sim_dfl/test_sim_dfl.py::test_the_value_is_a_mean_over_trajectories[1]",
        "tests/mixtures/test_smooth.py::test_forward_matches_the_direct_solution[*shape1]",
        "tests/mixtures/test_smooth.py::test_gradient_matches_finite_differences[*shape1]",
        "tests/rmab/test_choices.py::test_both_ways_to_choose_give_the_same_returns_to_the_bit[float64]",
        "tests/rmab/test_choices.py::test_neither_rows_nor_blocks_matter_and_all_or_none_is_constant[turns]",
        "tests/rmab/test_choices.py::test_users_precision[turns]",
        "tests/rmab/test_index_policies.py::test_neighbours_are_one_action_away_and_none_is_missing[5]",
        "tests/rmab/test_index_policies.py::test_neighbours_are_one_action_away_and_none_is_missing[8]",
        "tests/rmab/test_index_policies.py::test_nested_in_the_order_of_the_indices[12]",
        "tests/rmab/test_index_policies.py::test_nothing_is_lost_on_indexable_arms[5",
        "tests/rmab/test_index_policies.py::test_nothing_is_lost_on_indexable_arms[8",
        "tests/rmab/test_returns.py::test_gradients_equal_finite_differences[5",
        "tests/rmab/test_returns.py::test_returns_equal_a_linear_solve[*-6]",
        "tests/rmab/test_returns.py::test_returns_equal_a_linear_solve[*-7]",
        "tests/rmab/test_returns.py::test_returns_equal_a_linear_solve[*-8]",
        "tests/rmab/test_simulate.py::test_row_order_never_matters[float64]",
        "tests/rmab/test_simulate.py::test_simulated_returns_of_a_policy_agree_with_the_exact_ones[4]",
        "tests/rmab/test_simulate.py::test_simulated_returns_of_a_policy_agree_with_the_exact_ones[5]",
        "tests/rmab/test_simulate.py::test_simulated_returns_of_a_policy_agree_with_the_exact_ones[6]",
        "tests/rmab/test_simulate.py::test_simulated_returns_of_a_policy_agree_with_the_exact_ones[8]",
        "tests/rmab/test_simulate.py::test_the_trace_holds_any_state[128",
        "tests/rmab/test_simulate.py::test_the_trace_holds_any_state[300",
        "tests/rmab/test_whittle.py::test_gradients_equal_finite_differences[5]",
        "tests/rmab/test_whittle.py::test_indices_and_verdicts_equal_the_packages[*-20-",
        "tests/rmab/test_whittle.py::test_indices_and_verdicts_equal_the_packages[*-8-",
        "tests/rmab/test_whittle.py::test_row_order_and_neighbours_do_not_matter[4]",
    ],
    "Every malformed file once more; that each is found and nothing is written is tested for all of them": [
        "tests/programme/test_malformed.py::test_no_finding_shows_what_is_personal",
        "tests/programme/test_malformed.py::test_the_command_line_says_it_with_its_exit_code",
    ],
    "250 problems against JAX; the other tests of the kernel compare with JAX too": [
        "tests/native/test_dec_dfl.py::test_equals_jax_in_both_precisions",
    ],
    "The same equality for more losses, or at more moments; that of MSE or of Fast DEC-DFL stays": [
        "tests/native/test_dec_dfl.py::test_settings_without_a_kernel",
        "tests/training/test_train.py::test_equals_a_plain_loop[sim",
        "tests/training/test_train.py::test_equals_a_plain_loop[sum",
        "tests/training/test_train.py::test_training_that_no_quality_can_judge_says_so",
        "tests/training/test_train.py::test_validation_quality_is_that_of_the_evaluation[joint]",
        "tests/training/test_train.py::test_weights_from_before_a_run_diverged",
        "tests/training/test_train_many.py::test_a_run_that_diverges_is_never_chosen[quality]",
        "tests/training/test_train_many.py::test_arrays_that_are_no_weights",
        "tests/training/test_train_many.py::test_chunks_change_nothing",
        "tests/training/test_train_many.py::test_each_run_equals_training_it_alone[entropy]",
        "tests/training/test_train_many.py::test_each_run_equals_training_it_alone[sim]",
        "tests/training/test_train_many.py::test_fewer_runs_go_side_by_side",
        "tests/training/test_train_many.py::test_patience_stops_each_run",
    ],
    "Whole recipes and searches, tens of runs each; the recipe's choices are tested on made-up results": [
        "tests/planner/test_outreach_planner.py::test_the_recipe_keeps_the_average_of_its_splits_models",
        "tests/training/test_recipe.py::test_calls_without_effect",
        "tests/training/test_recipe.py::test_one_split_is_enough",
        "tests/training/test_recipe.py::test_the_most_accurate_setting_within_a_standard_error",
        "tests/training/test_recipe.py::test_the_splits_models_predict_together",
        "tests/training/test_recipe.py::test_what_diverges_is_neither_chosen_nor_averaged",
        "tests/training/test_recipe.py::test_what_it_cannot_choose_by",
        "docs/planning.md",
    ],
    "Processes that are killed; checkpoints and whole files are tested without": [
        "tests/weekly/test_weekly.py::test_killed_at_any_moment",
        "tests/weekly/test_weekly.py::test_killed_while_writing",
        "tests/training/test_resuming.py::test_a_model_that_holds_a_function_is_known_again",
        "tests/training/test_resuming.py::test_killed_at_any_moment",
    ],
    "Many cohorts or many runs at once; a few stay": [
        "tests/evaluation/test_quality.py::test_how_many_cohorts_are_simulated_together",
        "tests/evaluation/test_quality.py::test_turns_and_lots_are_judged_as_priorities_are[turns]",
        "tests/evaluation/test_quality.py::test_usable_inside_jit_and_vmap_over_runs",
        "tests/mixtures/test_edges.py::test_a_million_arms_in_float32",
        "tests/mixtures/test_edges.py::test_one_undecided_arm_among_many",
    ],
    "Longer comparisons of which a shorter one stays": [
        "tests/planner/test_scoring.py::test_a_person_has_the_same_digits_in_every_row[linear-3]",
        "tests/planner/test_scoring.py::test_a_person_has_the_same_digits_in_every_row[medium",
        "tests/planner/test_scoring.py::test_index_and_gain_of_someone_seen_last_week_and_long_ago[3]",
    ],
}

_PATTERN = re.compile(
    "|".join(re.escape(entry).replace(r"\*", ".*") for entries in EXHAUSTIVE.values() for entry in entries)
)


def is_exhaustive(item: pytest.Item) -> bool:
    """Whether a test belongs to the exhaustive tier."""
    return _PATTERN.match(item.nodeid) is not None
