"""Small untruths about the theory, each of which some quick test must notice.

A mutant is a piece of a source file that occurs there exactly once, what takes its place, and the
tests that have to fail. Whoever adds a constant, a default or a check to the theory adds the mutant
that nobody would notice.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SINGLE_BOUNDS = "tests/theory/bounds/test_ogd_oegd_theorems_1_4.py"
META_BOUNDS = "tests/theory/bounds/test_meta_lemma_1_theorems_2_6.py"
SWORD_BOUNDS = "tests/theory/bounds/test_sword_theorems_3_5_7.py"
LEARNER_BOUNDS = "tests/theory/bounds/test_other_learners.py"
DEFAULTS = "tests/parts/learners/test_defaults.py"
CERTIFICATE = "tests/parts/learners/test_certificate.py"
TWINS = "tests/parts/learners/test_twins.py"
PASSES = "tests/engine/test_passes.py"
GAUGE = "tests/parts/experts/test_step_sizes.py"
LOADING = "tests/parts/learners/test_learner.py"
FOUND = "tests/checkpoint/test_found.py"
NUMBERS = "tests/checkpoint/test_found_numbers.py"
OPTIMISM = "tests/parts/metas/test_optimism.py"
HEDGE = "tests/parts/metas/test_optimistic_hedge.py"
RATES = "tests/parts/test_rates.py"
SYNCED = "tests/test_synced.py"
METAS = "tests/parts/metas/test_other_metas.py"
BACK_AT_THE_CENTRE = (
    "tests/engine/test_twins.py::test_they_agree_where_an_expert_steps_back_to_the_centre"
)
FIELD_TWINS = "tests/parts/learners/test_field_twins.py"
SECOND_ORDER = "tests/estimators/test_second_order.py"
BIN_PLACES = "tests/intervals/test_bins.py::test_where_a_column_lies_by_hand"
HALVES = "tests/intervals/test_bins.py::test_halves_and_the_median_of_five"
INTERVAL_TWIN = "tests/intervals/test_twin.py::test_the_kernel_is_the_formulas"
IN_PAIRS = (
    "tests/intervals/test_nothing_to_learn.py::test_one_is_an_outlier_and_two_in_a_row_are_none"
)
LATE_BY_HAND = "tests/intervals/test_late_truths.py::test_lateness_sizes_and_balances_by_hand"
LATE_BOUNDS = "tests/intervals/test_late_truths.py::test_a_higher_level_holds_the_lower_ones_and_few_rows_are_everything"  # noqa: E501
LATE_ENOUGH = "tests/intervals/test_late_truths.py::test_too_few_truths_tell_nothing"
LATE_FORGED = "tests/intervals/test_late_truths.py::test_forged_states_are_refused"
BULK = "tests/tracking/test_bulk.py"
CACHE = "tests/compile/test_kernel_cache.py::test_"
BUNDLED = "tests/compile/test_bundled_kernels.py::test_"
EVERY_END = "tests/tracking/test_aside.py::test_whoever_looks_at_every_end_sees_the_same"


class Mutant(NamedTuple):
    """One change of one file, and the tests that must fail with it."""

    file: str
    """Below ``src/swordplay``."""
    text: str
    instead: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """What pytest calls it."""
        return f"{self.file}: {self.text.strip()} -> {self.instead.strip()}"

    def places(self, source: str) -> list[tuple[int, int]]:
        """Begin and end of each occurrence of the text, wherever lines are broken."""
        wanted = "".join(char for _, char in _characters(self.text))
        found = _characters(source)
        characters = "".join(char for _, char in found)
        begins = [match.start() for match in re.finditer(re.escape(wanted), characters)]
        return [(found[k][0], found[k + len(wanted) - 1][0] + 1) for k in begins]

    def applied(self, source: str) -> str:
        """The source with its only occurrence of the text replaced."""
        [(begin, end)] = self.places(source)
        return source[:begin] + self.instead.strip() + source[end:]


def _characters(source: str) -> list[tuple[int, str]]:
    """Position and character of all that is neither white space nor a trailing comma."""
    dropped = {match.start() for match in re.finditer(r",(?=\s*[)\]}])", source)}
    return [(k, char) for k, char in enumerate(source) if not char.isspace() and k not in dropped]


def _in(file: str, tests: tuple[str, ...], *changes: tuple[str, str]) -> list[Mutant]:
    return [Mutant(file, text, instead, tests) for text, instead in changes]


MUTANTS = [
    *_in(
        "compile/kernel_cache.py",
        (f"{BUNDLED}bundled_machine_code_can_be_left_out",),
        (' or os.environ.get("NUMBA_CPU_FEATURES")', ""),
        (' or os.environ.get("SWORDPLAY_BUNDLED_KERNELS") == "0"', ""),
        (" or not BUNDLED_FOLDERS.is_dir()", ""),
    ),
    *_in(
        "compile/kernel_cache.py",
        (f"{BUNDLED}a_processor_gets_the_best_target_that_it_has_everything_for",),
        (
            "if all(features.get(name) for name in target.required_features)",
            "if any(features.get(name) for name in target.required_features)",
        ),
    ),
    *_in(
        "compile/kernel_cache.py",
        (f"{CACHE}a_damaged_file_is_compiled_again_and_overwritten",),
        (
            "data[:start] != expected",
            "data[:start] != FORMAT + data[len(FORMAT) : start]",
        ),
        (
            '    except ValueError:\n        return {}, b""',
            '    except KeyError:\n        return {}, b""',
        ),
        ("identity.items() <= header.items() and", ""),
    ),
    *_in(
        "compile/kernel_cache.py",
        ("tests/test_release.py::test_machine_code_is_made_for_what_is_looked_for",),
        ('"-prefer-256-bit"', '""'),
        ("f16c fma", "f16c"),
        ("avx512vl", "avx512vbmi"),
    ),
    *_in(
        "compile/kernel_folders.py",
        (f"{CACHE}what_others_may_write_is_not_used_and_that_is_said_once",),
        ("stat.S_IWGRP | stat.S_IWOTH", "stat.S_IWOTH"),
        ("stat.S_IWGRP | stat.S_IWOTH", "stat.S_IWGRP"),
        (
            '"" if self.in_user_cache else self._trust_problem('
            "path, os.fstat(folder), stat.S_ISDIR)",
            '""',
        ),
        (
            "problem = problem or self._trust_problem("
            "self.path / name, os.fstat(descriptor), stat.S_ISREG)",
            "pass",
        ),
        ("        if self.path not in _warned:\n", "        if True:\n"),
    ),
    *_in(
        "compile/kernel_folders.py",
        (f"{CACHE}files_and_folders_of_another_user_are_not_used",),
        ("if status.st_uid not in owners:", "if status.st_uid < 0:"),
    ),
    *_in(
        "compile/kernel_folders.py",
        (f"{CACHE}what_is_no_regular_file_is_not_followed",),
        ("_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW |", "_FILE_FLAGS = os.O_RDONLY |"),
    ),
    *_in(
        "compile/kernel_folders.py",
        (f"{CACHE}a_configuration_file_in_the_current_folder_does_not_choose_the_cache",),
        ('os.environ.get("NUMBA_CACHE_DIR")', '__import__("numba").config.CACHE_DIR'),
    ),
    *_in(
        "compile/kernel_folders.py",
        (f"{CACHE}beside_a_module_writers_of_the_module_are_trusted_and_no_others",),
        ("refused_mode_bits &= ~trusted.st_mode", "refused_mode_bits = 0"),
        ("0o700 if self.in_user_cache else 0o755", "0o755"),
        ("0o600 if self.in_user_cache else 0o644", "0o644"),
    ),
    *_in(
        "compile/kernel_cache.py",
        ("tests/compile/test_source_digest.py::test_a_digest_file_of_other_bytes_is_not_used",),
        ("if stored == byte_digest and", "if"),
    ),
    *_in(
        "compile/kernel_cache.py",
        (
            "tests/compile/test_source_digest.py::test_a_changed_constant_reaches_the_machine_code_on_disk",
        ),
        ("if not _is_bare_string(statement)", "if statement"),
    ),
    *_in(
        "tracking/passages.py",
        (EVERY_END,),
        ("None if at % (EVERY * lasting) else", "None if at % (2 * EVERY * lasting) else"),
        (
            "return NO_END if self.endless else self.grid.after(rows).width",
            "return 2 * self.grid.after(rows).width",
        ),
    ),
    *_in(
        "tracking/stretches.py",
        ("tests/tracking/test_course.py::test_a_grid_counts_as_one_does_row_by_row",),
        ("room_for(self.width) - self.closed)", "room_for(self.width))"),
    ),
    *_in(
        "tracking/course.py",
        (
            "tests/tracking/test_course.py::test_many_stretches_at_a_time_are_as_one_after_the_other",
        ),
        ("enumerate(worse) if k in self._untold", "enumerate(worse[1:]) if k in self._untold"),
        ("at + k * wide + int(worst[k])", "at + int(worst[k])"),
    ),
    *_in(
        "tracking/threads.py",
        ("tests/tracking/test_aside.py",),
        ("            self._forget()\n", ""),
        ("            self.failed = True\n", ""),
        ("len(self._waiting) >= BESIDE or", "len(self._waiting) > BESIDE or"),
    ),
    *_in(
        "engine/step_sizes.py",
        (GAUGE,),
        ("/ (rho * rho)", "/ rho"),
        ("limits = rho * double_smoothness, ", "limits = double_smoothness, "),
    ),
    *_in(
        "intervals/kernel.py",
        (BIN_PLACES,),
        ("BINS / (2.0 * BIN_RANGE)", "BINS / BIN_RANGE"),
        ("        if scaled[j] != 0.0:", "        if True:"),
        ("min(max(index, 0), BINS - 1)", "min(max(index, 0), BINS)"),
        ("BIN_RANGE = 2.0", "BIN_RANGE = 2.5"),
    ),
    *_in("intervals/layout.py", (INTERVAL_TWIN,), ("BINS = 24", "BINS = 16")),
    *_in(
        "intervals/kernel.py",
        (INTERVAL_TWIN,),
        ("NARROWING = 16.0", "NARROWING = 15.0"),
        ("if balance < 0.0 else 0.0", "if True else 0.0"),
        ("* (1.0 + narrowing(alpha, balance))", "* narrowing(alpha, balance)"),
        ("max(1.0 + narrowing(alpha, balance) * balance_response(balance), 0.0)", "1.0"),
        ("loss_unit = math.sqrt(typical * spread)", "loss_unit = spread"),
        (
            "sum_of_squares(row, OWN_FEATURES, len(row)) + found_bins",
            "sum_of_squares(row, OWN_FEATURES, len(row))",
        ),
        ("add_losses(losses[EXPERT_SETS], predictions[EXPERT_SETS], observed, unit)", "pass"),
        (
            "            state.spread_losses,\n            scalars[SCALAR.typical_size],",
            "            state.spread_losses,\n            0.0,",
        ),
    ),
    *_in(
        "intervals/kernel.py",
        (
            "tests/intervals/test_sword_intervals.py::test_a_wider_level_holds_a_narrower_one_that_lies_elsewhere",
        ),
        ("min(bounds[i - 1, 0], bounds[i, 0])", "bounds[i, 0]"),
        ("max(bounds[i - 1, 1], bounds[i, 1])", "bounds[i, 1]"),
    ),
    *_in(
        "intervals/kernel.py",
        (HALVES,),
        ("(1023 - times)", "(1022 - times)"),
        ("min(max(low, high), e)", "min(high, e)"),
    ),
    *_in(
        "intervals/kernel.py",
        (IN_PAIRS,),
        (
            "(int(scalars[SCALAR.rows]) - 1) % FIRST_ROWS",
            "int(scalars[SCALAR.rows]) % FIRST_ROWS",
        ),
    ),
    *_in(
        "intervals/late_truths.py",
        (LATE_BY_HAND,),
        ("LATENESS_PACE = 0.01", "LATENESS_PACE = 0.02"),
        ("MIN_LATENESS = 0.001", "MIN_LATENESS = 0.0"),
        ("-_limit(means[:-1])", "-_limit(np.zeros(len(late)))"),
        ("(late > 0.0) | (means[1:] >= LATE_ROWS)", "late > 0.0"),
    ),
    *_in(
        "intervals/late_truths.py",
        (LATE_BOUNDS,),
        ("LIMIT_PER_ROW = 2.0", "LIMIT_PER_ROW = 1.0"),
        (
            "                    balance -= alpha\n                elif",
            "                    balance -= 1.0\n                elif",
        ),
    ),
    *_in(
        "intervals/late_truths.py",
        (LATE_ENOUGH,),
        ("LATE_ROWS = 0.5", "LATE_ROWS = 0.3"),
        ("(count + 1))", "count)"),
    ),
    *_in("intervals/late_truths.py", (LATE_FORGED,), ("MAX_SIZES = 1000", "MAX_SIZES = 2000")),
    *_in(
        "parts/experts/step_sizes.py",
        (GAUGE,),
        ("AVERAGED_ROUNDS = 8", "AVERAGED_ROUNDS = 9"),
        ("width = 2.0 * gradient_norm / L", "width = gradient_norm / L"),
        (
            "max(width, 2.0 * distance, 2.0 * step_length)",
            "max(width, distance, 2.0 * step_length)",
        ),
        ("max(width, 2.0 * distance, 2.0 * step_length)", "max(width, 2.0 * distance)"),
        ("max(self.smoothness, smoothness), self.width", "smoothness, self.width"),
        (
            "inverse_cap = 2.0 * scale.smoothness * cap_divisor",
            "inverse_cap = scale.smoothness * cap_divisor",
        ),
        (
            "AdaGradNorm(min(diameter, scale.width / scale.step_shrink**2) or diameter)",
            "AdaGradNorm(diameter)",
        ),
        ("scale.width / scale.step_shrink**2", "scale.width / scale.step_shrink"),
        ("MANY_COORDINATES = 64", "MANY_COORDINATES = 100"),
        ("math.sqrt(max(1.0, dim / MANY_COORDINATES))", "max(1.0, dim / MANY_COORDINATES)"),
        (
            "min(self._domain_rule.sizes(squared_error_sum[:1])[0], self._cap)",
            "self._domain_rule.sizes(squared_error_sum[:1])[0]",
        ),
        ("min(self._domain_rule.sizes(squared_error_sum[:1])[0], self._cap)", "self._cap"),
        ("WIDE_DOMAIN_RATIO = 8.0", "WIDE_DOMAIN_RATIO = 9.0"),
        (
            "(multiplier * self._width_rule.diameter * scale.smoothness) ** 2",
            "(self._width_rule.diameter * scale.smoothness) ** 2",
        ),
        ("squared_error_sum[-1] > 0.0 and scale.width > 0.0", "squared_error_sum[-1] > 0.0"),
    ),
    *_in(
        "parts/experts/expert.py",
        ("tests/parts/learners/test_learner.py",),
        ("np.vstack([state.points, state.base])", "np.asarray(state.points)"),
        ("- state.base).max() > slack", "- state.base).max() > 1.0"),
    ),
    *_in("engine/step_sizes.py", (GAUGE,), ("        limit_copied_step(learner, child)\n", "")),
    *_in(
        "parts/experts/expert.py",
        ("tests/engine/test_twins.py::test_short_steps_far_from_the_origin",),
        ("zeros if has_offset else None", "None"),
        (
            "projected, (projected - unprojected) - step_vectors",
            "projected, (projected - unprojected) + step_vectors",
        ),
    ),
    *_in(
        "parts/learners/sword.py",
        (GAUGE, f"{TWINS}::test_sword"),
        (
            "CappedAdaGrad(D, scale_before, scale_before.step_shrink), "
            "CappedAdaGrad(D, scale_after, scale_after.step_shrink)",
            "CappedAdaGrad(D, scale_after, scale_after.step_shrink)",
        ),
        (
            "CappedAdaGrad(D, scale_after, scale_after.step_shrink)",
            "CappedAdaGrad(D, scale_after)",
        ),
        ("base_offset(descent, self.domain)[0]", "base_offset(_extra_gradient, self.domain)[0]"),
    ),
    *_in(
        "theory/bounds/other_learners.py",
        (f"{LEARNER_BOUNDS}::test_ader",),
        ("return 0.75 * G * math.sqrt(2 * T", "return 0.5 * G * math.sqrt(2 * T"),
        ("(7 * D**2 + 4 * D * P)", "(7 * D**2 + 2 * D * P)"),
        (
            "math.sqrt(2 * T) / 2 * (1 + 2 * math.log(k + 1))",
            "math.sqrt(2 * T) / 2 * (1 + math.log(k + 1))",
        ),
        (
            "meta_regret = G * D * math.sqrt(2 * T) / 2",
            "meta_regret = G * D * math.sqrt(2 * T) / 4",
        ),
        ("math.log2(1 + 4 * P / (7 * D))) + 1", "math.log2(1 + 4 * P / (7 * D)))"),
        ("0.5 * math.log2(1 + 4 * P / (7 * D))", "math.log2(1 + 4 * P / (7 * D))"),
    ),
    *_in(
        "theory/bounds/sword_theorems_3_5_7.py",
        (f"{SWORD_BOUNDS}::test_sword_small",),
        ("+ D * G * math.sqrt(lam), 2 * L", ", 2 * L"),
        ("math.sqrt(lam), 2 * L * D**2 * lam, F)", "math.sqrt(lam), L * D**2 * lam, F)"),
        ("_solve_self_bounding(expert_regret, 16 * L", "_solve_self_bounding(expert_regret, 8 * L"),
        (
            "return 3 * math.sqrt(L * A * F) + 2 * L * A",
            "return 2 * math.sqrt(L * A * F) + 2 * L * A",
        ),
        ("return 3 * math.sqrt(L * A * F) + 2 * L * A", "return 3 * math.sqrt(L * A * F) + L * A"),
        ("3 * math.sqrt(2 * L * A * F) + 6 * L * A", "3 * math.sqrt(2 * L * A * F) + 2 * L * A"),
        ("math.sqrt(a**2 / 4 + a * (F + c))", "math.sqrt(a**2 / 4 + a * F)"),
        ("return c + a / 2 + ", "return c + a + "),
    ),
    *_in(
        "theory/bounds/sword_theorems_3_5_7.py",
        (f"{SWORD_BOUNDS}::test_sword_var",),
        ("square_sum=V + 2 * G**2", "square_sum=V + G**2"),
        ("math.sqrt(1.5 * A * (V + 0.75 * G**2))", "math.sqrt(A * (V + 0.75 * G**2))"),
        ("(V + 0.75 * G**2)) + L * A", "(V + 0.5 * G**2)) + L * A"),
        ("1.5 * math.sqrt(2 * A * V) + 4 * L * A", "1.5 * math.sqrt(2 * A * V) + 2 * L * A"),
        (
            "paper_meta_regret(D, G, L, lam, square_sum=2 * V)",
            "paper_meta_regret(D, G, L, lam, square_sum=V)",
        ),
    ),
    *_in(
        "theory/bounds/meta_lemma_1_theorems_2_6.py",
        (f"{SWORD_BOUNDS}::test_sword_var",),
        (
            "math.sqrt(lam * square_sum) + 2 * L * D**2 * lam",
            "math.sqrt(lam * square_sum) + L * D**2 * lam",
        ),
        ("eps * D**2 * (square_sum + G**2)", "eps * D**2 * square_sum"),
        ("max_rate = 1 / (math.sqrt(8) * D**2 * L)", "max_rate = 1 / (2 * D**2 * L)"),
    ),
    *_in(
        "theory/bounds/sword_theorems_3_5_7.py",
        (f"{SWORD_BOUNDS}::test_sword_best_by_loss",),
        ("_solve_self_bounding(constant, 4 * L", "_solve_self_bounding(constant, 2 * L"),
        (
            "_safe_small_loss_regret(A, L, F) + L * D**2 * lam + 2 * D",
            "_safe_small_loss_regret(A, L, F) + 2 * D",
        ),
        ("+ loss_free_meta_terms, 16 * L", "+ loss_free_meta_terms, 4 * L"),
    ),
    *_in(
        "theory/bounds/meta_lemma_1_theorems_2_6.py",
        (f"{SWORD_BOUNDS}::test_sword_best_by_loss",),
        ("return 2 * math.sqrt(8)", "return math.sqrt(8)"),
    ),
    *_in(
        "theory/bounds/sword_theorems_3_5_7.py",
        (f"{SWORD_BOUNDS}::test_sword_best_by_variation",),
        ("2 * V + math.log(2))", "2 * V)"),
    ),
    *_in(
        "theory/bounds/meta_lemma_1_theorems_2_6.py",
        (f"{SWORD_BOUNDS}::test_sword_best_by_variation",),
        (
            "LEARNED_OPTIMISM_ERROR = 2 + 4 * math.log(2)",
            "LEARNED_OPTIMISM_ERROR = 2 + 2 * math.log(2)",
        ),
    ),
    *_in(
        "theory/bounds/ogd_oegd_theorems_1_4.py",
        (f"{SINGLE_BOUNDS}::test_ogd", f"{SINGLE_BOUNDS}::test_oegd"),
        ("eta * L * F) / (1 - eta * L)", "eta * L * F)"),
        ("eta * G**2 * T / 2", "eta * G**2 * T"),
        ("(2 * (1 - (eta * L) ** 2)) + eta * G**2 / 2", "(2 * (1 - (eta * L) ** 2))"),
        ("eta * V / (2 * (1", "eta * V / ((1"),
        ("eta * V + G * D", "eta * V"),
        ("return D**2 + 2 * D * P", "return D**2 + D * P"),
    ),
    *_in(
        "theory/bounds/ogd_oegd_theorems_1_4.py",
        (f"{SINGLE_BOUNDS}::test_oegd_is_infinite_where_the_step_is_too_long",),
        ("if eta * L <= 0.25", "if eta * L <= 0.5"),
    ),
    *_in(
        "parts/pools.py",
        (f"{DEFAULTS}::test_a_pool_that_is_just_long_enough",),
        ("G**2 * T / (2 * D**2 * L**2)", "G**2 * T / (D**2 * L**2)"),
    ),
    *_in(
        "parts/pools.py",
        (f"{DEFAULTS}::test_pools", f"{DEFAULTS}::test_ader"),
        ("(8 * G**2 * T)", "(4 * G**2 * T)"),
        ("D / (16 * L * G * T)", "D / (8 * L * G * T)"),
        ("G * T / (D * L)", "G * T / (4 * D * L)"),
        ("(0.8 * L * D)", "(0.4 * L * D)"),
        ("np.arange(-halvings, 1) / (2 * L)", "np.arange(-halvings, 1) / L"),
        ("math.log2(1 + 4 * T / 7)) + 1", "math.log2(1 + 4 * T / 7))"),
        ("math.sqrt(7 / (2 * T))", "math.sqrt(7 / T)"),
    ),
    *_in(
        "parts/learners/sword_var_small_best.py",
        (
            f"{DEFAULTS}::test_sword_var",
            f"{DEFAULTS}::test_sword_small",
            f"{DEFAULTS}::test_sword_best",
        ),
        (
            "rate = rates.SelfConfident(cap=1 / (L * domain.diameter**2))\n        super",
            "rate = rates.SelfConfident()\n        super",
        ),
        (
            "            rates.SelfConfident(cap=1 / (L * domain.diameter**2)),",
            "            rates.SelfConfident(cap=2 / L),",
        ),
        ("offset=(domain.diameter * G / 2) ** 2", "offset=(domain.diameter * G) ** 2"),
        ("factor=1.0", "factor=0.5"),
        ("kappa = 1 / (8 * G) / G", "kappa = 2.0"),
        ("[OEGDExperts(domain, steps)]", "[OGDExperts(domain, steps)]"),
        ("            VariationOptimism(),", "            NullOptimism(),"),
        (
            '_constant_steps_of("small_loss_pool", small_loss_pool, safe_pool)',
            '_constant_steps_of("small_loss_pool", small_loss_pool, safe_pool[1:])',
        ),
    ),
    *_in(
        "parts/learners/ader.py",
        (f"{DEFAULTS}::test_ader", f"{TWINS}::test_ader"),
        ("math.sqrt(2 / (arguments", "math.sqrt(1 / (arguments"),
        (
            "telescoping(steps.count()), meta=meta_or_default(meta, learning_rate=",
            "telescoping(steps.count())[::-1], meta=meta_or_default(meta, learning_rate=",
        ),
        ("    shared_gradient = True", "    shared_gradient = False"),
    ),
    *_in(
        "parts/learners/sword.py",
        (f"{DEFAULTS}::test_sword_ageless",),
        ("AGELESS_POOL_SIZE = 14", "AGELESS_POOL_SIZE = 12"),
        ("DEFAULT_MEMORY = 2000.0", "DEFAULT_MEMORY = 1000.0"),
        ("RATE_FACTOR = 8.0", "RATE_FACTOR = 0.5"),
        ("factor=RATE_FACTOR, floor=RATE_FLOOR", "factor=RATE_FACTOR, floor=1e-3"),
        (
            "optimism=LearnedOptimism(math.inf), ) self.declared",
            "optimism=LearnedOptimism(1.0), ) self.declared",
        ),
    ),
    *_in(
        "parts/learners/sword.py",
        (f"{DEFAULTS}::test_sword", f"{DEFAULTS}::test_when_sword_adds_experts"),
        ("RATE_FLOOR = 1e-4", "RATE_FLOOR = 1e-6"),
        ("4 ** (size - 1) < 1 + 2 * rounds", "4 ** (size - 1) < 1 + rounds"),
        (
            "np.tile(telescoping_with_tail(experts) / 2, 2)",
            "np.tile(telescoping_with_tail(experts), 2)",
        ),
    ),
    *_in(
        "parts/learners/certificate.py",
        (CERTIFICATE,),
        (
            "self.inverse_growth, self.inverse_largest, path",
            "self.inverse_growth, self.inverse_step, path",
        ),
        ("geometry, self.inverse_growth, self", "geometry, self.inverse_step, self"),
        ("geometry.diameter**2 * growth / 2", "geometry.diameter**2 * growth / 4"),
        (
            "self.dual_sum) - a * _squares(base_offsets) / 2",
            "self.dual_sum) - a * _squares(base_offsets)",
        ),
        (
            "last_terms = last_terms - a * _squares(base_offsets) / 2",
            "last_terms = last_terms - a * _squares(base_offsets)",
        ),
        (
            "np.where(constant_steps, a * max_norm, self.max_dual_norm)",
            "np.where(constant_steps, a * max_norm, a * max_norm)",
        ),
        (
            "norm_change + np.abs(increase) * np.sqrt(displacement.squared_norm_before)",
            "norm_change + np.abs(increase)",
        ),
        ("np.maximum(self.max_dual_norm, dual_norm)", "dual_norm"),
        (
            "inverse * np.sqrt(displacement.squared_norm_after) + norm_change\n",
            "inverse * np.sqrt(displacement.squared_norm_after)\n",
        ),
        ("MAX_DIM_OF_DUAL_SUM = 8", "MAX_DIM_OF_DUAL_SUM = 9"),
        ("dual_sum + inverse[:, None] * change", "dual_sum + change"),
        ("dual_sum + inverse[:, None] * change", "inverse[:, None] * change"),
        ("geometry.support(self.dual_sum - before.dual_sum)", "geometry.support(self.dual_sum)"),
        (
            "max_dual_norm = self.max_dual_norm + dual_norm_before",
            "max_dual_norm = self.max_dual_norm",
        ),
        (
            "+ geometry.reach * np.where(constant_steps, 0.0, self.weighted_norm_change)",
            "+ 0.0",
        ),
        ("last_terms + self.squared_norm_change +", "last_terms +"),
        ("* displacement.squared_norm_before / 2", "* displacement.squared_norm_after / 2"),
        (
            "np.maximum(self.max_squared_norm, displacement.squared_norm_after)",
            "displacement.squared_norm_after",
        ),
        ("* step.squared_lookahead / 2 - gap", "* step.squared_lookahead / 2"),
        (
            "0.0, self.weighted_norm_change - before.weighted_norm_change)",
            "0.0, self.weighted_norm_change)",
        ),
        (
            "self.max_dual_norm - before.weighted_norm_change + b * norm_before\n",
            "self.max_dual_norm - before.weighted_norm_change\n",
        ),
        (
            "self.max_dual_norm - before.weighted_norm_change + b * norm_before\n",
            "b * norm_before\n",
        ),
        (
            "np.minimum(by_parts, by_diameter))\n        return float((self.linear_regret",
            "by_parts)\n        return float((self.linear_regret",
        ),
        ("* step.squared_error, 0.0) / 2", "* step.squared_error, 0.0) / 4"),
        ("inverse * step.squared_lookahead / 2", "inverse * step.squared_lookahead"),
        ("np.maximum(increase, 0.0)", "increase"),
        ("self.step_cost + distance).min()", "self.step_cost + distance).max()"),
        ("geometry.diameter, max_norm + norm_before)", "geometry.diameter, max_norm)"),
        ("growth = b + self.inverse_growth", "growth = self.inverse_growth"),
        ("else sums[indices]", "else 0 * sums[indices]"),
        (
            "(regret_terms + relative_error * regret_magnitude + distance)",
            "(regret_terms + distance)",
        ),
        ("np.maximum(domain.total - domain.center, domain.center)", "domain.center"),
        ("np.maximum(domain.upper - domain.center,", "np.minimum(0 * domain.upper,"),
        ("np.arange(start, block.stop)] = 1.0", "np.arange(start, block.stop)] = 2.0"),
    ),
    *_in(
        "parts/learners/certificate.py",
        ("tests/parts/learners/test_certificate.py::test_the_form_for_steps_that_change_by_hand",),
        ("geometry.diameter * path_length * largest", "geometry.diameter * path_length * growth"),
        ("geometry.diameter**2 * growth / 2", "geometry.diameter**2 * growth"),
    ),
    *_in(
        "parts/learners/learner.py",
        (CERTIFICATE,),
        ("loss.max_squared_norm >= SMALLEST_SUM or loss.largest_entry == 0.0", "True"),
        (" or loss.largest_entry == 0.0", ""),
        ("state.squared_error_sum.max() < SMALLEST_SUM", "True"),
    ),
    *_in(
        "engine/compiled_learner.py",
        (CERTIFICATE,),
        (
            "self._has_met_gradient = bool(squares",
            "self._has_met_gradient = True or (squares",
        ),
    ),
    *_in(
        "engine/compiled_learner.py",
        (CERTIFICATE,),
        ("        if not met.any():\n            continue\n", ""),
        ("if gradient @ gradient < SMALLEST_SUM", "if gradient @ gradient < 0.0"),
    ),
    *_in(
        "parts/learners/assumptions.py",
        ("tests/parts/learners/test_assumptions.py",),
        ("min(self.lowest, other.lowest)", "max(self.lowest, other.lowest)"),
        (
            "seen.gradient_norm > declared.gradient_bound",
            "seen.gradient_norm > 2 * declared.gradient_bound",
        ),
    ),
    *_in(
        "theory/hindsight/duality.py",
        ("tests/theory/hindsight/test_blocks.py", "tests/theory/hindsight/test_duality.py"),
        ("penalty / np.maximum(norms, penalty)", "1.0 + 0 * norms"),
    ),
    *_in(
        "theory/hindsight/duality.py",
        ("tests/theory/hindsight/test_duality.py",),
        ("residuals[1:] += duals", "residuals[1:] -= duals"),
        ("min(self, candidate,", "max(self, candidate,"),
    ),
    *_in(
        "theory/hindsight/one_dimension.py",
        ("tests/theory/hindsight/test_one_dimension.py",),
        ("HALVINGS = 56", "HALVINGS = 26"),
    ),
    *_in(
        "theory/plane_projection.py",
        ("tests/theory/test_plane_projection.py",),
        ("2.0 * (sums - half_sides) - sums[-1]", "2.0 * (sums - 0.5 * half_sides) - sums[-1]"),
        ("np.where(is_downward, -e_sides, e_sides)", "e_sides + 0 * v_sides"),
    ),
    *_in(
        "theory/variation_quadratic.py",
        ("tests/theory/test_variation_quadratic.py",),
        ("BISECTIONS = 64", "BISECTIONS = 8"),
    ),
    *_in(
        "theory/variation_search.py",
        ("tests/theory/test_variation.py",),
        ("np.square(lengths) / 8", "np.square(lengths) / 800"),
    ),
    *_in(
        "parts/learners/meta_expert.py",
        (f"{TWINS}::test_tuned_swords", LOADING),
        ("decision @ gradient - linear_losses", "linear_losses - decision @ gradient"),
        (
            "loss.gradient, state.meta.weights, next_points",
            "loss.gradient, state.meta.weights[::-1], next_points",
        ),
        ("(weights > 0).all() and ", ""),
        (" and abs(weights.sum() - 1.0) <= SAVED_TOLERANCE", ""),
    ),
    *_in(
        "parts/learners/learner.py",
        (LOADING,),
        ("SAVED_TOLERANCE = 1e-9", "SAVED_TOLERANCE = 1e-6"),
    ),
    *_in(
        "parts/experts/step_sizes.py",
        (f"{NUMBERS}::test_steps_and_their_sums_stay_numbers",),
        ("MAX_STEP_COST = 1e280", "MAX_STEP_COST = 1e305"),
        ("max_inverse / (2.0 * largest_m)", "math.inf"),
        ("if self.width != 0.0:", "if self.width > 1e-200:"),
    ),
    *_in(
        "parts/experts/step_sizes.py",
        (
            f"{NUMBERS}::test_steps_are_not_made_of_sums_that_lost_their_digits",
            f"{NUMBERS}::test_steps_and_their_sums_stay_numbers",
        ),
        ("Field(low=SMALLEST_SUM)", "Field(low=0.0)"),
    ),
    *_in(
        "parts/learners/certificate.py",
        (f"{NUMBERS}::test_steps_and_their_sums_stay_numbers",),
        ("MAX_DUAL_SUM = 1e153", "MAX_DUAL_SUM = 1e201"),
        (
            "getattr(self, name), Field(low=0.0, high=MAX_STEP_COST / D**2)",
            "getattr(self, name), Field(low=0.0)",
        ),
        (
            "self.weighted_norm_change, Field(low=0.0, high=largest_sum)",
            "self.weighted_norm_change, Field(low=0.0)",
        ),
        ("largest_sum = 3.0 * MAX_DUAL_SUM", "largest_sum = MAX_MAGNITUDE"),
    ),
    *_in(
        "engine/saved_state.py",
        (
            f"{NUMBERS}::test_what_an_engine_has_measured",
            f"{NUMBERS}::test_numbers_of_estimators_whose_squares_are_none",
        ),
        (
            "ROW, DUAL_SUM = Field(-1e81, 1e81), Field(-1e79, 1e79)",
            "ROW, DUAL_SUM = Field(-1e81, 1e81), Field(-1e80, 1e80)",
        ),
        ("ROW, DUAL_SUM = Field(-1e81, 1e81)", "ROW, DUAL_SUM = Field(-1e160, 1e160)"),
        (
            'with np.errstate(over="ignore", invalid="ignore"):',
            "with np.errstate():",
        ),
        ("slope * slope * float(scalars", "np.float64(slope) * slope * (scalars"),
        (
            'scalars["smoothness"], Field(0.0, max_smoothness)',
            'scalars["smoothness"], SAVED["scalars"]["smoothness"].field',
        ),
        ("Field(min_width, math.inf)", "Field(0.0, math.inf)"),
    ),
    *_in(
        "estimators/second_order_layer.py",
        (f"{NUMBERS}::test_numbers_of_estimators_whose_squares_are_none",),
        ('"recent": Field(-2.0 * MAX_TARGET, 2.0 * MAX_TARGET)', '"recent": ANY_NUMBER'),
    ),
    *_in(
        "intervals/state.py",
        (f"{NUMBERS}::test_records_of_intervals_hold_what_intervals_do",),
        (
            "Field(MIN_SCORE, MAX_SCORE)",
            "Field(0.0, MAX_SCORE)",
        ),
        ("(first_values == WARMED_UP) & (counts >= WARM_UP)", "first_values == WARMED_UP"),
    ),
    *_in(
        "core/state.py",
        (f"{FOUND}::test_bytes_are_bytes",),
        (" or values.dtype != np.uint8 or values.ndim != 1", ""),
    ),
    *_in(
        "tracking/carried.py",
        (f"{FOUND}::test_keys_in_bulk",),
        ('.replace("null", "string")', ""),
    ),
    *_in(
        "tracking/key_index.py",
        (f"{FOUND}::test_keys_in_bulk",),
        ("not fits_json(known, [OneOf(LABELS[kind])])", "False"),
    ),
    *_in(
        "tracking/date_order.py",
        ("tests/tracking/test_date_order.py",),
        ("        ways[self.starts] = 0\n", ""),
        ("np.concatenate([[self.last], times[:-1]])", "np.concatenate([times[:1], times[:-1]])"),
        ("self.downs >= MANY_SHARE * rows", "self.downs >= 4 * MANY_SHARE * rows"),
        (", rows.slice(0, HEAD_ROWS)", ", rows"),
    ),
    *_in(
        "tracking/series_detection.py",
        (f"{FOUND}::test_the_first_of_all_dates_is_a_date",),
        (
            "np.concatenate([[True], times[1:] != times[:-1]])",
            "np.diff(times, prepend=times[0] - 1)",
        ),
        (
            "bool(times.min() > -LAST_YEAR and times.max() < LAST_YEAR)",
            "bool(np.abs(times).max() < LAST_YEAR)",
        ),
    ),
    *_in(
        "estimators/labels.py",
        (f"{FOUND}::test_fractions_are_no_classes",),
        (" & (np.floor(classes) == classes)", ""),
    ),
    *_in(
        "parts/learners/meta_expert.py",
        (LOADING,),
        (
            "rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]",
            "rounds: Annotated[int, ROUND_COUNT_RANGE]",
        ),
    ),
    *_in(
        "parts/experts/expert.py",
        (LOADING,),
        (
            'squared_error_sum: Annotated[Vector, array("pool", low=0.0)]',
            'squared_error_sum: Annotated[Vector, array("pool")]',
        ),
    ),
    *_in(
        "parts/experts/newton.py",
        (f"{FOUND}::test_sums_that_no_game_leads_to",),
        (
            'discounted_squares: Annotated[Vector, array("pool", low=0.0)]',
            'discounted_squares: Annotated[Vector, array("pool")]',
        ),
        (", semidefinite=True", ""),
    ),
    *_in(
        "parts/metas/other_metas.py",
        (f"{FOUND}::test_sums_that_no_game_leads_to",),
        ("low=1e-20, high=MAX_RATE", "low=0.0, high=1.0"),
    ),
    *_in(
        "core/state.py",
        (
            f"{FOUND}::test_sums_that_no_game_leads_to",
            f"{FOUND}::test_rounds_leave_room_for_what_use_adds",
        ),
        ("not is_symmetric or (np", "(np"),
        (" or (np.linalg.eigvalsh(matrices / scale) < -ROUNDING_TOLERANCE).any()", ""),
        ("MAX_ROUNDS / 2.0", "MAX_ROUNDS"),
    ),
    *_in(
        "parts/learners/saol_cbce_sacs.py",
        (f"{FOUND}::test_memories_of_experts_that_sleep",),
        (" & (memory[:, 1] == 0.0)", ""),
        ("<= position.age - 1.0", "<= position.age"),
        ("np.abs(memory[:, 0]) <= memory[:, 1]", "memory[:, 0] <= memory[:, 1]"),
        (" & (memory[:, 1] <= position.length)", ""),
    ),
    *_in(
        "parts/learners/meta_expert.py",
        (LOADING,),
        ('            "step_sizes": self._concatenated_steps(self._start()),\n', ""),
        ('            "meta": self._meta,\n', ""),
        (', "optimism": self._optimism', ""),
    ),
    *_in(
        "parts/learners/learner.py",
        (LOADING,),
        ('"center": self.domain.center, ', ""),
        ('"diameter": self.domain.diameter, ', ""),
        (', "domain": self.domain}', "}"),
        (
            "if differences := settings_differences(settings, self._settings):\n            raise "
            "ValueError",
            "if False:\n            raise ValueError",
        ),
        ("        if not settings:\n", "        if False:\n"),
    ),
    *_in(
        "parts/learners/ogd_oegd.py",
        (LOADING,),
        ('"step_sizes": steps, ', ""),
    ),
    *_in(
        "core/state.py",
        (LOADING,),
        (
            'saved.keys() | present.keys() if "learner" in saved else saved.keys()',
            "saved.keys() & present.keys()",
        ),
        (
            'saved.keys() | present.keys() if "learner" in saved else saved.keys()',
            "saved.keys() | present.keys()",
        ),
        ("return {path: class_name} | flatten_settings(", "return flatten_settings("),
        (
            "return np.array_equal(saved, present)\n",
            "return np.shape(saved) == np.shape(present)\n",
        ),
    ),
    *_in(
        "core/state.py",
        ("tests/core/test_state.py::test_settings_with_nan_equal_themselves",),
        (", equal_nan=True", ""),
        (" & ~is_nan_in_both", ""),
    ),
    *_in(
        "parts/rates.py",
        (LOADING,),
        (
            'for name in ("cap", "offset", "factor", "floor", "memory")',
            'for name in ("cap", "offset", "factor", "floor")',
        ),
        (
            'for name in ("cap", "offset", "factor", "floor", "memory")',
            'for name in ("cap", "factor", "floor", "memory")',
        ),
        ('return {"value": self.value}', "return {}"),
        ('return {"initial": self.initial, "cap": self.cap}', 'return {"cap": self.cap}'),
    ),
    *_in("parts/metas/optimism.py", (LOADING,), ('return {"rate": self.rate}', "return {}")),
    *_in(
        "parts/metas/optimistic_hedge.py",
        (LOADING,),
        ('return {"rate": self.rate, **self.constants._asdict()}', 'return {"rate": self.rate}'),
    ),
    *_in(
        "parts/domains.py",
        (LOADING,),
        ('return {"lower": self.lower, "upper": self.upper}', "return {}"),
    ),
    *_in(
        "parts/metas/optimism.py",
        (OPTIMISM,),
        ("if abs(difference) <= TIE_TOLERANCE * magnitude:", "if difference == 0:"),
        (
            "if abs(difference) <= TIE_TOLERANCE * magnitude:",
            "if abs(difference) < TIE_TOLERANCE * magnitude:",
        ),
        (
            "if abs(difference) <= TIE_TOLERANCE * magnitude:",
            "if abs(difference) <= TIE_TOLERANCE:",
        ),
        ("TIED_TRUST = 0.5", "TIED_TRUST = 1.0"),
        (
            "magnitude = state.magnitude + replay_error + zero_error",
            "magnitude = replay_error + zero_error",
        ),
        (
            "difference = state.difference + replay_error - zero_error",
            "difference = replay_error - zero_error",
        ),
    ),
    *_in(
        "parts/metas/optimistic_hedge.py",
        (
            f"{HEDGE}::test_weights_are_positive_and_sum_to_one",
            f"{HEDGE}::test_weights_agree_with_plain_loops",
            f"{HEDGE}::test_bad_priors_are_refused",
            f"{HEDGE}::test_no_weight_is_zero",
            f"{HEDGE}::test_the_entropy_is_that_of_the_least_likely_expert",
            f"{TWINS}::test_sword_ageless",
        ),
        (
            "np.maximum(weights / weights.sum(), SMALLEST_WEIGHT)",
            "np.maximum(weights, SMALLEST_WEIGHT)",
        ),
        ("float(values.max() - values.min()) / 2", "float(values.max() - values.min())"),
        ("self.rate.decay * state.cumulative + losses", "state.cumulative + losses"),
        ("return -float(log_prior.min())", "return -float(log_prior.max())"),
    ),
    *_in(
        "parts/metas/meta.py",
        (f"{HEDGE}::test_bad_priors_are_refused", f"{HEDGE}::test_no_weight_is_zero"),
        ("PRIOR_SUM_TOLERANCE = 1e-9", "PRIOR_SUM_TOLERANCE = 1e-3"),
        ("SMALLEST_WEIGHT = float(np.finfo(np.float64).tiny)", "SMALLEST_WEIGHT = 1e-300"),
    ),
    *_in(
        "parts/metas/meta.py",
        ("tests/parts/metas/test_meta.py::test_priors_are_their_formulas",),
        ("(1.0 + 1.0 / experts) / (i", "1.0 / (i"),
        ("prior[-1] = 1.0 / experts", "prior[-1] *= 1.0"),
    ),
    *_in(
        "parts/rates.py",
        (RATES, f"{DEFAULTS}::test_rates_unless_told_otherwise"),
        ("factor: float = 0.5", "factor: float = 1.0"),
        ("TIE_TOLERANCE = 1e-12", "TIE_TOLERANCE = 1e-9"),
        (
            "(self.floor * constants.diameter) ** 2 * level",
            "self.floor * constants.diameter**2 * level",
        ),
        (
            "return (constants.diameter * constants.gradient_bound) ** 2",
            "return constants.gradient_bound**2",
        ),
        ("1.0 - 1.0 / self.memory", "1.0 - 2.0 / self.memory"),
        (
            "max(self.decay * state.level, error.squared_gradient_error)",
            "max(state.level, error.squared_gradient_error)",
        ),
        ("smaller_quantity + math.log(2)", "smaller_quantity"),
        ("cap = 1 / (math.sqrt(8) * D**2", "cap = 1 / (math.sqrt(2) * D**2"),
    ),
    *_in(
        "parts/experts/step_sizes.py",
        (f"{DEFAULTS}::test_sword",),
        ("multipliers = 0.5 * 2.0", "multipliers = 2.0"),
    ),
    *_in(
        "tables/digests.py",
        ("tests/tables/test_memory.py::test_any_row_that_has_changed_is_noticed",),
        ("                self._hash.update(digest(piece(self._pending)).encode())\n", ""),
        ("PLACES_PER_DOUBLING = 16", "PLACES_PER_DOUBLING = 1"),
    ),
    *_in(
        "tracking/state_lock.py",
        ("tests/cli/test_two_runs.py::test_the_lock_of_a_removed_file_is_no_lock",),
        (
            "found._descriptor, wait=False) and found._is_at_path():",
            "found._descriptor, wait=False):",
        ),
    ),
    *_in(
        "tables/partial.py",
        (
            f"{SYNCED}::test_a_table_is_on_the_disk_before_it_has_its_name",
            f"{SYNCED}::test_a_table_that_is_synced_is_on_the_disk_and_so_is_its_name",
        ),
        ("            os.fsync(self._file.fileno())\n            if not", "            if not"),
        ("                files.sync_folder(self.partial)\n", "                pass\n"),
    ),
    *_in(
        "core/files.py",
        (
            f"{SYNCED}::test_a_table_is_on_the_disk_before_it_has_its_name",
            f"{SYNCED}::test_a_report_is_on_the_disk_before_it_has_its_name",
        ),
        ("    os.fsync(file.fileno())\n", ""),
        ("    sync_folder(target)\n", ""),
    ),
    *_in(
        "theory/sweeps.py",
        (f"{SYNCED}::test_a_sweep_notes_each_game_on_the_disk",),
        ("            os.fsync(results_file.fileno())\n", ""),
    ),
    *_in(
        "theory/sweeps.py",
        (
            "tests/theory/test_sweeps.py::test_games_of_another_version_are_played_again",
            "tests/theory/test_sweeps.py::test_games_of_another_measure_or_engine_are_played_again",
        ),
        ("measure_name, str(version))", 'measure_name, "1")'),
        ("measure_name, str(version))", "measure_name, version)"),
        ("*names, engine, measure_name", "*names, engine, None"),
        ("*names, engine, measure_name", '*names, "auto", measure_name'),
    ),
    *_in(
        "theory/bounds/other_learners.py",
        (LEARNER_BOUNDS,),
        ("1.5 * math.sqrt(2 * A * (V + G**2 / 2))", "1.5 * math.sqrt(2 * A * V)"),
        ("14 / 3 * L * D**2 * lam", "4 / 3 * L * D**2 * lam"),
        ("5 * math.sqrt(L * A) + 4 * D", "5 * math.sqrt(L * A) + 2 * D"),
        ("G * D * math.sqrt(2 * T) / 4", "G * D * math.sqrt(2 * T) / 8"),
        ("(1 + math.sqrt(17)) / 4 * D)", "(1 + math.sqrt(15)) / 4 * D)"),
        ("+ 2 * period * V", "+ period * V"),
        ("B = 2 * S + delta**2", "B = S + delta**2"),
        ("kappa = d if diagonal else 1", "kappa = 1"),
    ),
    *_in(
        "theory/bounds/other_learners.py",
        (LEARNER_BOUNDS,),
        ("EXPERT_FACTOR = 1.5", "EXPERT_FACTOR = 1.0"),
        ("math.log(2 * end) / rate + rate * rounds", "math.log(2 * end) / rate"),
        ("math.sqrt(3 * rounds * math.log(end", "math.sqrt(2 * rounds * math.log(end"),
        ("CBCE_PRIOR_SUM = math.pi**2 / 6", "CBCE_PRIOR_SUM = 1.0"),
    ),
    *_in(
        "theory/bounds/other_metas.py",
        ("tests/theory/bounds/test_other_metas.py::test_bounds_by_hand",),
        ("(m + 1) * math.log(N)", "m * math.log(N)"),
        ("eps * T / 8", "eps * T / 2"),
        ("1 + 1.5 * (1 + math.log1p(T))", "1 + (1 + math.log1p(T))"),
        ("N / (2 * math.e)", "N / math.e"),
    ),
    *_in(
        "parts/metas/other_metas.py",
        (METAS,),
        ("+ self.share * prior", "+ prior"),
        ("math.sqrt(8 * share", "math.sqrt(2 * share"),
        ("DEFAULT_SHARE = 0.01", "DEFAULT_SHARE = 0.02"),
    ),
    *_in(
        "parts/metas/other_metas.py",
        (METAS,),
        ("(3 * (magnitudes + 1))", "(3 * (magnitudes + 2))"),
    ),
    *_in(
        "parts/metas/other_metas.py",
        (METAS,),
        ("+ state.rates * scaled.expected", ""),
        ("rates / state.rates * (state.log_products", "(state.log_products"),
        ("scores = np.log(state.rates) + state.log_products", "scores = state.log_products"),
    ),
    *_in(
        "parts/metas/other_metas.py",
        (METAS,),
        ("log_factor + last_exponent + math.log", "log_factor + math.log"),
        ("return log_factor + a * a + math.log", "return log_factor + math.log"),
        (
            "(scaled.regrets - scaled.expected_regrets) ** 2, unit=scaled.unit",
            "scaled.regrets**2, unit=scaled.unit",
        ),
    ),
    *_in(
        "parts/metas/meta.py",
        (METAS,),
        ("unit / divisor if unit != new_unit else 1.0", "1.0"),
        (
            "weights_for(middle - optimism) @ optimism > middle",
            "weights_for(optimism) @ optimism > middle",
        ),
    ),
    *_in(
        "parts/learners/sword_plus_plus.py",
        ("tests/parts/learners/test_sword_plus_plus.py",),
        ("movement_charge=2 * self.smoothness", "movement_charge=self.smoothness"),
        ("cap=1 / (2 * self.smoothness", "cap=1 / (self.smoothness"),
        ("shared_gradient = True", "shared_gradient = False"),
    ),
    *_in(
        "parts/pools.py",
        ("tests/parts/learners/test_sword_plus_plus.py",),
        ("/ (8 * L)", "/ (4 * L)"),
    ),
    *_in(
        "parts/learners/sword_plus_plus.py",
        ("tests/engine/test_sword_plus_plus.py::test_the_first_two_charges_by_hand",),
        ("movement_charge=2 * self.smoothness", "movement_charge=self.smoothness"),
    ),
    *_in(
        "engine/meta.py",
        ("tests/parts/learners/test_assumptions.py",),
        (
            "larger(squared, last_squared)",
            "squared",
        ),
        (
            "scalars[SCALAR.max_squared_gradient], slope * slope * squared_norm",
            "scalars[SCALAR.max_squared_gradient], 0.0",
        ),
    ),
    *_in(
        "engine/compiled_learner.py",
        ("tests/parts/learners/test_assumptions.py",),
        (
            "scalars[SCALAR.max_squared_gradient], of_experts, last",
            "scalars[SCALAR.max_squared_gradient], last",
        ),
    ),
    *_in(
        "parts/learners/sword_var_small_best.py",
        ("tests/parts/learners/test_edges.py",),
        ("    rates.max_squared_loss_error(GameConstants(domain.diameter, G))\n", ""),
    ),
    *_in(
        "theory/bounds/meta_lemma_1_theorems_2_6.py",
        (META_BOUNDS,),
        ("MAX_CLAIMED_GRADIENT = 0.25", "MAX_CLAIMED_GRADIENT = 0.5"),
        ("lam, 2 * V + math.log(2))", "lam, 2 * V)"),
        (
            "2 * math.sqrt(8) * D**2 * L * (2 + lam) + 2 * D",
            "2 * math.sqrt(8) * D**2 * L * (2 + lam) + D",
        ),
    ),
    *_in(
        "theory/bounds/theorem.py",
        ("tests/theory/bounds/test_theorem.py",),
        ('kwargs["assumptions"].require(f"bounds.{bound.__name__}")', "pass"),
    ),
    *_in(
        "theory/bounds/theorem.py",
        ("tests/theory/bounds/test_theorem.py",),
        ("kwargs[name] = check(name, kwargs[name])", "pass"),
        ("return None if value is None else check(name, value)", "return value"),
        ("CALLER_STACKLEVEL = 5", "CALLER_STACKLEVEL = 4"),
        ("partial(arguments.integer, least=0)", "partial(arguments.integer, least=1)"),
        ("value in choices)", "value)"),
    ),
    *_in(
        "engine/sword_plus_plus.py",
        ("tests/engine/test_sword_plus_plus.py",),
        (
            "slope * e.prediction[i] + e.movement_cost[i] - e.optimism[i]",
            "slope * e.prediction[i] - e.optimism[i]",
        ),
        ("slope * (g.prediction - e.prediction[i])", "slope * (e.prediction[i] - g.prediction)"),
        ("g.squared_error - e.inverse_step[i] * e.squared_lookahead[i]", "g.squared_error"),
        ("e.squared_error_sum[i] += g.squared_error", "e.squared_error_sum[i] = g.squared_error"),
        (
            "g.decay * (e.cumulative[i] - g.least_cumulative)",
            "(e.cumulative[i] - g.least_cumulative)",
        ),
        ("loss = slope * e.prediction[i] + e.movement_cost[i]", "loss = slope * e.prediction[i]"),
        (
            "along * (left * e.last_base_prediction[i] - across * old_product)",
            "along * left * e.last_base_prediction[i]",
        ),
        ("tau * sigma - e.lookahead_scale[i]", "tau * sigma - 1.0"),
        (
            "e.max_squared_norm[i] = larger(e.max_squared_norm[i], base_square)",
            "e.max_squared_norm[i] = base_square",
        ),
        ("if restarts:", "if False:"),
        ("        e.expected_slope[i] = slope\n", ""),
        (
            "        e.last_base_prediction[i] = product\n",
            "        e.last_base_prediction[i] = old_product\n",
        ),
    ),
    *_in(
        "engine/ball.py",
        ("tests/engine/test_twins.py::test_engine_and_readable_learner_agree",),
        ("if e.squared_norm[i] > limit else 1.0", "if e.squared_norm[i] < limit else 1.0"),
        ("e.base_prediction[i] *= shrink\n", "e.base_prediction[i] *= 1.0\n"),
        (
            "e.squared_norm[i] = min(e.squared_norm[i], limit)",
            "e.squared_norm[i] = e.squared_norm[i]",
        ),
        ("e.pending_update[i] = -step * e.inverse_scale[i]", "e.pending_update[i] = -step"),
        ("e.extra_gradient[i] * weight * slope", "weight * slope"),
    ),
    *_in(
        "engine/meta.py",
        (
            f"{PASSES}::test_weights_are_the_same_whichever_number_is_subtracted_from_their_exponents",
        ),
        (
            "(e.log_prior[i] - penalty) - rate_slope",
            "(e.log_prior[i] - penalty) + rate_slope",
        ),
        (
            "e.optimism[i] = expected_slope * e.next_prediction[i]",
            "e.optimism[i] = rate_slope * e.next_prediction[i]",
        ),
    ),
    *_in(
        "engine/meta.py",
        (f"{PASSES}::test_no_rate_is_too_large_for_the_guesses",),
        ("MAX_BOUNDED_EXPONENT = 100.0", "MAX_BOUNDED_EXPONENT = 1e300"),
    ),
    *_in(
        "engine/step_sizes.py",
        (f"{PASSES}::test_a_scale_that_does_not_change_would_not_be_changed",),
        ("smoothness <= L and ", ""),
        (
            "4.0 * squared_distance <= width * width",
            "squared_distance <= width * width",
        ),
        (" and abs(slope) * row_norm <= AVERAGED_ROUNDS * L * width", ""),
        (
            " or scalars[SCALAR.rounds] < float(AVERAGED_ROUNDS)",
            "",
        ),
    ),
    *_in(
        "engine/ball.py",
        (f"{PASSES}::test_pending_updates_over_any_number_of_coordinates",),
        ("    if dim % 2 == 1:", "    if dim % 2 == 2:"),
        ("        total[k] += odd_total[k]", "        total[k] += 0.0"),
        ("min(tile, dim - j)", "tile"),
        ("min(tile, dim)", "tile"),
        ("max(TILE_NUMBERS // columns, MIN_TILE_ROWS)", "TILE_NUMBERS // columns"),
        ("zero_block(tail_view(updates, i))", "zero_block(tail_view(odd_totals, i))"),
    ),
    *_in(
        "engine/meta.py",
        (f"{PASSES}::test_the_longest_row_is_noted_wherever_it_stands",),
        ("larger(scalars[SCALAR.max_squared_row], squared_norm)", "squared_norm"),
    ),
    *_in(
        "compile/inline_compiler.py",
        (f"{PASSES}::test_innermost_loops_are_marked_and_no_others",),
        (
            "loop.first < inner.first and inner.last <= loop.last",
            "loop.first < inner.first and inner.last < loop.first",
        ),
        ("int(jump[1]) <= block", "int(jump[1]) >= 0"),
    ),
    *_in(
        "engine/scalar_functions.py",
        ("tests/engine/test_scalar_functions.py",),
        ("SMALLEST_EXPONENT = -500.0", "SMALLEST_EXPONENT = -700.0"),
    ),
    *_in(
        "engine/step_sizes.py",
        (BACK_AT_THE_CENTRE,),
        (
            "uses_old = e.extra_gradient[i] * e.squared_error_sum[i] > 0.0",
            "uses_old = e.squared_error_sum[i] > 0.0",
        ),
        (
            "e.weighted_norm_change[i] += abs(increase) * e.base_norm[i]",
            "e.weighted_norm_change[i] += increase * e.base_norm[i]",
        ),
    ),
    *_in(
        "engine/ball.py", (BACK_AT_THE_CENTRE,), ("MIN_NORM_RATIO = 1e-4", "MIN_NORM_RATIO = 0.0")
    ),
    *_in(
        "engine/step_sizes.py",
        (BACK_AT_THE_CENTRE,),
        (
            "e.inverse_width[CAPPED_OGD] = 2.0 / diameter",
            "e.inverse_width[CAPPED_OGD] = 1.0 / diameter",
        ),
    ),
    *_in(
        "engine/step_sizes.py",
        (
            "tests/engine/test_twins.py::test_they_agree_where_a_row_of_nothing_comes_before_a_flat_loss",
        ),
        (
            "width = max(width, 2.0 * math.sqrt(squared_distance))",
            "width = max(width, math.sqrt(squared_distance))",
        ),
    ),
    *_in(
        "engine/rounds.py",
        (
            "tests/engine/test_schedule.py::test_what_a_round_leaves_for_the_next_is_not_of_a_smaller_ball",
        ),
        ("if settings[SETTING.domain_size] != size:", "if False:"),
    ),
    *_in(
        "engine/scalar_functions.py",
        ("tests/engine/test_pinball.py::test_value_and_slope_are_those_of_the_loss",),
        (
            "return max(-threshold * residual, (1.0 - threshold) * residual)",
            "return max(-threshold * residual, threshold * residual)",
        ),
        (
            "return max((1.0 - threshold) * residual, -threshold * residual)",
            "return max(threshold * residual, -threshold * residual)",
        ),
    ),
    *_in(
        "parts/learners/saol_cbce_sacs.py",
        (f"{FIELD_TWINS}::test_covers",),
        ("np.minimum(0.5, position.length**-0.5)", "np.minimum(1.0, position.length**-0.5)"),
        ("np.where(fraction > 0, regrets, np.maximum(regrets, 0.0))", "regrets"),
        ("-2 * np.log(position.start)", "-np.log(position.start)"),
    ),
    *_in(
        "parts/learners/saol_cbce_sacs.py",
        (f"{FIELD_TWINS}::test_covers",),
        ("not self.is_compact or (t >> k) % 2", "True"),
        (
            "points[starting_rows] = self.domain.center\n"
            "sums[starting_rows] = 0.0\nmemory[starting_rows] = 0.0",
            "points[starting_rows] = self.domain.center",
        ),
    ),
    *_in(
        "parts/learners/metagrad_curved.py",
        (f"{FIELD_TWINS}::test_metagrad",),
        ("/ (self.domain.dim if self.diagonal else 1)", ""),
        ("eta * g * (1 + 2 * eta * products[:, None])", "eta * g * (1 + eta * products[:, None])"),
        ("1 / self._ball.diameter**2 + 2 * self.rates", "1 / self._ball.diameter**2 + self.rates"),
    ),
    *_in(
        "parts/learners/arrows_aligator.py",
        (f"{FIELD_TWINS}::test_forecasters",),
        ("(depth - 1 - level) / 2", "(depth - level) / 2"),
        ("waiting_sums[level] - 2.0**level * mean", "waiting_sums[level]"),
        ("self.rate = 1 / (2 * np.where", "self.rate = 1 / (np.where"),
    ),
    *_in(
        "parts/learners/one_projection_pbgd.py",
        (f"{FIELD_TWINS}::test_one_projection",),
        ("if component < 0 else gradient", "if component > 0 else gradient"),
    ),
    *_in(
        "parts/learners/restarted_ogd_omgd.py",
        (f"{FIELD_TWINS}::test_omgd", "tests/parts/learners/test_field_details.py::test_constants"),
        ("(2 * lam) * math.log(4)", "(2 * lam) * math.log(2)"),
        ("** (2 / 3)", "** (1 / 3)"),
    ),
    *_in(
        "parts/learners/one_projection_pbgd.py",
        (f"{FIELD_TWINS}::test_bandit",),
        ("d / (2 * self.step)", "d / self.step"),
    ),
    *_in(
        "late/frozen_copy.py",
        (
            "tests/late/test_frozen_copy.py::test_it_is_dropped_when_its_weight_falls_below_a_thousandth",
            "tests/late/test_frozen_copy.py::test_shares_by_hand",
        ),
        ("SQUARED_RATE = 2.0 * math", "SQUARED_RATE = math"),
        ("(0.5 + late)", "(1.0 + late)"),
        ("PRIOR = 0.1", "PRIOR = 0.12"),
    ),
    *_in(
        "late/frozen_copy.py",
        (
            "tests/late/test_frozen_copy.py::test_the_share_of_who_goes_on_learning_is_learned_by_slopes",
            "tests/late/test_frozen_copy.py::test_shares_by_hand",
        ),
        ("SHARE_RATE = 0.25", "SHARE_RATE = 0.26"),
        ("(1.0 + 2.0 * late)", "(1.0 + late)"),
        ("min(0.5 * x * x, MAX_EXPONENT)", "min(x * x, MAX_EXPONENT)"),
        ("if self.slope_sum <= 0.0 or", "if self.slope_sum < -1e9 or"),
        ("(y_of_labels - mixed) * (live - frozen)", "(y_of_labels - frozen) * (live - frozen)"),
        ("(y - block.predictions[:, PREDICTION]) * (o - f)", "(y - f) * (o - f)"),
        ("mixed / mixed.sum(axis=1, keepdims=True)", "mixed"),
    ),
    *_in(
        "intervals/late_truths.py",
        (
            "tests/intervals/test_late_truths.py::test_learning_many_is_learning_one_after_the_other",
        ),
        ("(late > 0.0) | ", ""),
        ("means[1:] >= LATE_ROWS", "means[:-1] >= LATE_ROWS"),
        ("if not is_free.any():", "if True:"),
        ("    balance = float(balances[first])\n", ""),
        ("            if mean < MIN_LATENESS:\n                mean = 0.0\n", ""),
    ),
    *_in(
        "theory/hindsight/interior_point.py",
        ("tests/theory/hindsight/test_interior_point.py",),
        ("SATURATED_SLOPE = 1e-3", "SATURATED_SLOPE = 0.0"),
        ("candidates[errors.argmin(axis=0),", "candidates[errors.argmax(axis=0),"),
    ),
    *_in(
        "late/pending.py",
        (
            "tests/late/test_late.py::test_a_block_with_few_pending_tickets_is_replaced_by_a_smaller_one",
        ),
        ("block.pending -= count", "block.pending -= 1"),
    ),
    *_in(
        "late/pending.py",
        (
            "tests/late/test_late.py::test_an_id_of_a_block_that_was_asked_again_is_that_of_the_new_one",
            "tests/late/test_late.py::test_texts_of_another_kind_are_no_ids_in_a_block_either",
        ),
        (" or block.pending < len(block)", ""),
        (" and set(map(type, tickets)) == {str}", ""),
    ),
    *_in(
        "late/tickets.py",
        ("tests/late/test_late.py::test_selected_tickets_are_those_of_each_alone",),
        ("[self.rows[k] for k in places]", "[self.rows[k] for k in sorted(places)]"),
        ("padded[start : start + len(array), ...,", "padded[: len(array), ...,"),
    ),
    *_in(
        "serving/series_stats.py",
        ("tests/serving/test_models.py::test_statistics_by_hand",),
        ("int(lower <= y <= upper)", "int(lower < y <= upper)"),
        ("int(lower <= y <= upper)", "int(lower <= y < upper)"),
    ),
    *_in(
        "serving/series_stats.py",
        (
            "tests/serving/test_models.py::test_statistics_of_many_rows_are_those_of_one_after_the_other",
        ),
        ("self._close_bin(numbers[last - 1],", "self._close_bin(self.counts.tells,"),
        ("            first = last\n", "            first = last + 1\n"),
    ),
    *_in(
        "serving/recent_tickets.py",
        ("tests/serving/test_recent_tickets.py::test_the_oldest_of_all_series_are_removed_first",),
        ("self._order.append((series, names))", "self._order.append((0, names))"),
        ("while self._count > limit:", "while self._count > limit + 1:"),
    ),
    *_in(
        "serving/recent_tickets.py",
        (
            "tests/serving/test_recent_tickets.py::test_tickets_are_removed_one_after_the_other_whatever_came_together",
        ),
        (
            "self._order.popleft()\n                self._first = 0\n",
            "self._order.popleft()\n",
        ),
        ("first = self._first", "first = 0"),
    ),
    *_in(
        "cli/warming.py",
        ("tests/cli/test_warm.py::test_a_process_that_ends_without_a_word_is_an_error",),
        ("ended with code {process.wait()}", "ended with code {process.poll() or 0}"),
        ("error = said[-1] if said else", "error = said[-1] if said else '' and"),
    ),
    *_in(
        "cli/warming.py",
        ("tests/cli/test_warm.py::test_whoever_stops_early_leaves_no_process",),
        ("            process.terminate()\n        for", "            process.kill()\n        for"),
    ),
    *_in(
        "serving/recent_tickets.py",
        ("tests/serving/test_models.py::test_rows_are_recognised_as_they_were_written",),
        ("        hashes ^= hashes >> HALF\n", ""),
        ("        return known == hash_row(row)\n", "        return True\n"),
        ("0x9E3779B97F4A7C15", "0x9E3779B97F4A7C17"),
    ),
    *_in(
        "estimators/class_probabilities.py",
        ("tests/estimators/test_sets.py::test_mass_above_by_hand_and_by_its_definition",),
        ("probabilities + others - probabilities", "others"),
        ("probabilities < others", "probabilities <= others"),
    ),
    *_in(
        "serving/recent_tickets.py",
        ("tests/serving/test_models.py::test_saved_tickets_by_hand",),
        ('msgspec.Raw(b"1e999")', 'msgspec.Raw(b"1e99")'),
        ('-math.inf: msgspec.Raw(b"-1e999")', '-math.inf: msgspec.Raw(b"1e999")'),
    ),
    *_in(
        "serving/event_log.py",
        ("tests/serving/test_damage.py",),
        ("if newest not in self._positions:", "if newest.number > self.last:"),
        ("elif group.previous != before.digest:", "elif False:"),
        ("del self._refused[: len(refused)]", "pass"),
        (
            "if number >= self._positions[0].number and position not in self._positions:",
            "if False:",
        ),
        ("is_full and following != self._path", "is_full"),
    ),
    *_in(
        "serving/event_log.py",
        (
            "tests/serving/test_folder.py::test_events_are_on_the_disk_before_they_are_noted_as_acknowledged",
        ),
        ("            _sync(file.fileno())\n", ""),
    ),
    *_in(
        "serving/log_format.py",
        ("tests/serving/test_damage.py",),
        ("content.find(identity, offset + 1)", "-1"),
    ),
    *_in(
        "serving/storage.py",
        ("tests/serving/test_damage.py", "tests/serving/test_replay.py"),
        ("            log.require_events_after(oldest_kept)\n", ""),
        ("if was_rejected is None or was_rejected == (rejection is not None):", "if True:"),
        ("                marker.put(number)\n", ""),
        ("            os.mkdir(folder, 0o700)", "            os.mkdir(folder)"),
    ),
    *_in(
        "serving/group_commit.py",
        ("tests/serving/test_folder.py::test_memory_that_is_free_goes_back_now_and_then",),
        ("            return_free_memory()\n", ""),
        ("            self._bytes_to_free = 0\n            gc", "            gc"),
    ),
    *_in(
        "serving/group_commit.py",
        (
            "tests/serving/test_group_commit.py::test_clients_that_were_answered_are_in_time_for_the_next_group",
            "tests/serving/test_group_commit.py::test_a_long_group_is_done_while_the_next_one_is_written",
            "tests/serving/test_group_commit.py::test_what_is_long",
        ),
        ("LOOP_TURNS = 2", "LOOP_TURNS = 1"),
        ("LONG_GROUP_BYTES = 16 * 2**10", "LONG_GROUP_BYTES = 17 * 2**10"),
        ("self._next_group() if is_long(on_disk) else []", "[]"),
        ("self._next_group() if is_long(on_disk) else []", "self._next_group()"),
    ),
    *_in(
        "serving/http_protocol.py",
        ("tests/serving/test_http_protocol.py",),
        ("            and not self._is_full()\n", ""),
        ("            and is_idle\n", ""),
        ('            and self.parser.get_method() == b"POST"\n', ""),
        ("            and not self.expect_100_continue\n", ""),
        ("            and not self.parser.should_upgrade()\n", ""),
        (
            "            self._start_task(self.cycle.body)\n        if self._phase",
            "            pass\n        if self._phase",
        ),
        (
            "            super().on_body(body)\n\n    def _handle_direct",
            "            pass\n\n    def _handle_direct",
        ),
        ("if not request.keep_alive and not is_last:", "if False:"),
    ),
    *_in(
        "serving/column_limits.py",
        ("tests/serving/test_column_limits.py::test_rows_times_columns",),
        ("is_small = request.row_count * bounds.columns <= bounds.cells", "is_small = True"),
        (
            "        sized.append((series, part, after))\n",
            "        sized = [(series, part, after)]\n",
        ),
        ("series is None else series.count_new_rows(part))", "True else 0)"),
    ),
    *_in(
        "serving/column_limits.py",
        (
            "tests/serving/test_column_limits.py::test_words_that_are_too_many_are_refused_when_they_would_be_learned",
        ),
        ("    return known.max_columns > bounds.columns\n", "    return False\n"),
    ),
    *_in(
        "serving/column_limits.py",
        ("tests/serving/test_column_limits.py::test_columns_of_all_series",),
        ("added += after - before", "added = after - before"),
    ),
    *_in(
        "serving/models.py",
        (
            "tests/serving/test_column_limits.py::test_events_of_one_group_do_not_pass_the_limit_together",
        ),
        (" or may_add_columns(series, part, self.bounds)", ""),
    ),
    *_in(
        "estimators/value_types.py",
        (
            "tests/serving/test_column_limits.py::test_columns_of_a_series_are_counted_as_the_model_has_them",
        ),
        ('"date": len(DATE_FEATURES), "time": 2}', '"date": 2, "time": 2}'),
        (
            'max(1, len(self.words.get(name, ()))) if kind == "word"',
            'len(self.words.get(name, ())) if kind == "word"',
        ),
    ),
    *_in(
        "late/learning.py",
        (
            "tests/serving/test_column_limits.py::test_parts_of_a_large_table_are_the_same_as_all_of_it",
            "tests/serving/test_column_limits.py::test_rows_that_wait_are_kept_as_they_are",
        ),
        ("rows[k : k + step])", "rows[:step])"),
        (" and _is_small(rows, table)", ""),
        ("MAX_CELLS_PER_VALUE = 4", "MAX_CELLS_PER_VALUE = 2"),
    ),
    *_in(
        "serving/app.py",
        ("tests/serving/test_wire.py::test_trailers_are_refused_and_are_no_headers",),
        ("if TRAILERS in scope:", "if False:"),
    ),
    *_in(
        "serving/body_reader.py",
        ("tests/serving/test_wire.py::test_bodies_that_stall_give_way_to_others",),
        ("PROTECTED_SECONDS = 2.0", "PROTECTED_SECONDS = 2000.0"),
    ),
    *_in(
        "serving/requests.py",
        (
            "tests/serving/test_requests.py::test_a_name_twice_is_refused_wherever_it_is",
            "tests/serving/test_requests.py::test_an_id_that_is_null_and_an_empty_key_are_accepted",
        ),
        ("if count_name_ends(event.body) == names:", "if True:"),
        (
            "names + len(rows) + sum(map(len, table))",
            "names + len(rows) + sum(map(len, table)) + 1",
        ),
    ),
    *_in(
        "serving/requests.py",
        ("tests/serving/test_wire.py::test_a_name_twice_in_an_object_is_refused",),
        ("if count_name_ends(body) != len(rows) * (1 +", "if False and len(rows) * (1 +"),
        (
            "_require_unique_names(event, names + len(rows))",
            "_require_unique_names(event, names + 2 * len(rows))",
        ),
    ),
    *_in(
        "serving/auth.py",
        ("tests/serving/test_wire.py::test_beyond_loopback_hosts_are_named",),
        (
            "if not (self._allow_addresses and is_ip_address(name)):",
            "if not self._allow_addresses:",
        ),
        ("if not (self._allow_addresses and is_ip_address(name)):", "if True:"),
    ),
    *_in(
        "serving/requests.py",
        ("tests/serving/test_requests.py",),
        ("not MAX_SMALL_ROWS < len(rows) <= limits.rows", "not MAX_SMALL_ROWS < len(rows)"),
        (' or ESCAPED & set("".join(names))', ""),
        ('<= 2 * MAX_SMALL_ROWS >= body.count(b"{"):', "<= 2 * MAX_SMALL_ROWS:"),
        ("or _has_server_id(ids)", ""),
        ('"row": row + (int(found[1])', '"row": (int(found[1])'),
        ("offset += len(line) + 1", "offset += len(line)"),
    ),
    *_in(
        "late/frozen_copy.py",
        (
            "tests/late/test_frozen_copy.py::test_it_is_dropped_when_its_weight_falls_below_a_thousandth",
        ),
        ("MIN_WEIGHT = 0.001", "MIN_WEIGHT = 0.0012"),
        ("(sums < 0.0) & ", ""),
        ("& is_far_ahead).any():", "& is_far_ahead)[-1]:"),
    ),
    *_in(
        "engine/second_order/layer.py",
        (
            "tests/estimators/test_second_order.py::test_late_answers_are_learned_with_the_last_targets_of_then",
        ),
        (
            "notes[t, 1 + len(state.recent) + len(scratch.forecasts) :]",
            "notes[t, len(state.recent) + len(scratch.forecasts) :]",
        ),
    ),
    *_in(
        "parts/learners/mild_ogd.py",
        (f"{FIELD_TWINS}::test_late_losses",),
        ("(1 + 2 * arguments", "(1 + arguments"),
    ),
    *_in(
        "engine/second_order/newton.py",
        (f"{SECOND_ORDER}::test_beside_plain_python",),
        ("RIDGE = 1.0", "RIDGE = 2.0"),
        ("MAX_LEVERAGE = 1.0", "MAX_LEVERAGE = 2.0"),
        ("MIN_CURVATURE = 1e-3", "MIN_CURVATURE = 1e-2"),
    ),
    *_in(
        "engine/second_order/mixing.py",
        (f"{SECOND_ORDER}::test_beside_plain_python",),
        ("MEMORY = 500.0", "MEMORY = 400.0"),
        ("LOG_LOSS_RATE = 0.3", "LOG_LOSS_RATE = 0.6"),
        ("MAX_LAG_BEHIND = 14.0", "MAX_LAG_BEHIND = 7.0"),
    ),
    *_in(
        "engine/second_order/mixing.py",
        (f"{SECOND_ORDER}::test_what_is_cut_by_hand",),
        ("RANGE_MARGIN = 0.5", "RANGE_MARGIN = 0.25"),
        ("RANGE_SHRINKAGE = 1.0 / 4096.0", "RANGE_SHRINKAGE = 1.0 / 1024.0"),
    ),
    *_in(
        "engine/second_order/newton.py",
        (f"{SECOND_ORDER}::test_what_is_cut_by_hand",),
        ("MAX_RESIDUAL = 10.0", "MAX_RESIDUAL = 5.0"),
        ("RESIDUAL_MEMORY = 128.0", "RESIDUAL_MEMORY = 64.0"),
    ),
    *_in(
        "engine/second_order/layer.py",
        (f"{SECOND_ORDER}::test_beside_plain_python",),
        ("PRIOR, CORRECTED_PRIOR = 0.3, 0.5", "PRIOR, CORRECTED_PRIOR = 0.5, 0.5"),
        ("STEADIEST = 2", "STEADIEST = 1"),
    ),
    *_in(
        "engine/second_order/features.py",
        (f"{SECOND_ORDER}::test_curves_that_do_not_help_are_evaluated_seldom",),
        ("MIN_ADVANTAGE = 0.1", "MIN_ADVANTAGE = 0.2"),
        ("MAX_LABEL_LAG = 7.0", "MAX_LABEL_LAG = 5.0"),
        ("EARLY_ROUNDS = 500.0", "EARLY_ROUNDS = 400.0"),
        ("CHECK_EVERY = 8.0", "CHECK_EVERY = 4.0"),
    ),
    *_in(
        "engine/second_order/features.py",
        (f"{SECOND_ORDER}::test_while_curves_pay_beside_plain_python",),
        ("LEARN_EVERY, LEARN_LABELS_EVERY = 4, 2", "LEARN_EVERY, LEARN_LABELS_EVERY = 2, 2"),
        ("LEARN_EVERY, LEARN_LABELS_EVERY = 4, 2", "LEARN_EVERY, LEARN_LABELS_EVERY = 4, 1"),
        ("active >= EARLY_ROUNDS and active %", "active %"),
    ),
    *_in(
        "engine/second_order/newton.py",
        (f"{SECOND_ORDER}::test_while_curves_pay_beside_plain_python",),
        ("store_row(group, place, u - f * q)", "store_row(group, place, u + f * q)"),
        ("for j in range(i + 1, width):", "for j in range(i + 2, width):"),
        (
            "f2 = f2 + load_row(group, d + j) * r0 + load_row(group, d + j + 1) * r1",
            "f2 = f2 + load_row(group, d + j) * r0",
        ),
    ),
    *_in(
        "engine/second_order/class_calibration.py",
        ("tests/estimators/test_tempered.py::test_beside_plain_python",),
        ("CURVATURE_MEMORY = 2000.0", "CURVATURE_MEMORY = 1000.0"),
        ("RIDGE = 10.0", "RIDGE = 20.0"),
        ("PRIOR = 0.5", "PRIOR = 0.3"),
    ),
    *_in(
        "engine/second_order/mixing.py",
        ("tests/estimators/test_wild_forecasters.py::test_losses_are_counted_by_hand",),
        ("LONG_MEMORY = 8000.0", "LONG_MEMORY = 4000.0"),
        ("LONG_MAX_LOSS_RATIO = 1e4", "LONG_MAX_LOSS_RATIO = 1e3"),
    ),
    *_in(
        "engine/second_order/layer.py",
        (f"{SECOND_ORDER}::test_beside_plain_python",),
        ("MODERATION = math.pi / 8.0", "MODERATION = math.pi / 4.0"),
        ("MAX_EXPERT_LOG_ODDS = 8.0", "MAX_EXPERT_LOG_ODDS = 4.0"),
    ),
    *_in(
        "engine/column_stats.py",
        (
            "tests/estimators/test_column_scaler.py::test_the_median_deviation_is_that_of_sorted_distances",
        ),
        ("low += (step + 1) * more", "low += step * more"),
        ("left = (left - step - 1) * more", "left = (left - step - 2) * more"),
        ("else below if low == half else min(below, above))", "else min(below, above))"),
        ("return float(above if low == 0 else", "return float("),
    ),
    *_in(
        "engine/column_stats.py",
        (
            "tests/estimators/test_column_scaler.py::test_settled_columns_go_together_and_mixed_ones_one_by_one_to_the_same_bits",
        ),
        (
            "new_spread = new_spread if abs(deviation) > MIN_DEVIATION else spread",
            "new_spread = new_spread if abs(deviation) > 2.0 * MIN_DEVIATION else spread",
        ),
        (
            "new_spread = new_spread if has_spread else abs(value - center)",
            "new_spread = new_spread if has_spread else spread",
        ),
        ("counts[j] = counts[j] + 1.0 if is_known else counts[j]", "counts[j] = counts[j] + 1.0"),
    ),
    *_in(
        "keyed/kernels.py",
        ("tests/keyed/test_keyed.py",),
        (
            "if key.waits_for_class == 1 and key.layer.numbers[COUNTER.rounds] == 0.0:",
            "if key.layer.numbers[COUNTER.rounds] < 0.0:",
        ),
        ("following = 1 if t == runs.starts[k] and follows[k] else 0", "following = 1"),
        ("following = 1 if follows[k] else 0", "following = 0"),
    ),
    *_in(
        "keyed/key_table.py",
        ("tests/keyed/test_keyed.py", "tests/keyed/test_folder.py"),
        ("truths = targets if len(self._records) == 1 else", "truths = targets if True else"),
        ("needed |= self.layout.still_needed", "needed &= self.layout.still_needed"),
    ),
    *_in(
        "tracking/bulk_kernel.py",
        (BULK,),
        ("if low <= targets[t] <= high:", "if low < targets[t] <= high:"),
        ("if -math.inf < low and high < math.inf:", "if high < math.inf:"),
        ("range(len(numbers) - 1, -1, -1)", "range(len(numbers))"),
    ),
]
