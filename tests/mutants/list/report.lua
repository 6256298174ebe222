-- Mistakes to seed in tables, charts, claims and the page, each with the tests that must see it.
local tables = "tests/lua/test_report.lua tests/lua/test_metrics.lua tests/lua/test_divergence.lua"
local charts = "tests/lua/test_chart_values.lua tests/lua/test_charts.lua tests/lua/test_report.lua"
return {
  {
    file = "harness/report/results.lua", tests = "tests/lua/test_results.lua " .. tables,
    { "if first.scale == scale and first.device == device then", "if first.device == device then", "scales are mixed in a table" },
    { "if first.scale == scale and first.device == device then", "if first.scale == scale then", "devices are mixed in a table" },
    { "local made = group_of(shown)", "local made = group_of(runs)", "runs of other configurations are pooled" },
    { 'if status == "done" then', 'if status ~= "failed" then', "runs that diverged are pooled" },
    { 'metrics.better(metric) == "max" and -1 or 1, nil', '1, nil', "the best seed is the one of the least accuracy" },
    { "local valid, seeds = self:values(row, twin or metric, dataset)", "local valid, seeds = self:values(row, metric, dataset)", "the best seed is chosen by the test split" },
    { "if b[seed] then list[#list + 1] = a[seed] - b[seed] end", "if b[seed] then list[#list + 1] = b[seed] - a[seed] end", "differences have the wrong sign" },
    { "if #values < done then return nil end", "", "a mean over some seeds stands for all" },
  },
  {
    file = "harness/report/statistics.lua", tests = "tests/lua/test_results.lua " .. tables,
    { "math.sqrt(squares / (#values - 1))", "math.sqrt(squares / #values)", "the deviation of a population" },
    { "spread and spread / math.sqrt(count), count", "spread, count", "a deviation for the standard error" },
  },
  {
    file = "harness/report/table.lua", tests = "tests/lua/test_results.lua " .. tables,
    { '(better == "max" and value > best)', '(better == "max" and value < best)', "the best of a max column is the least" },
    { '(better == "min" and value < best)', '(better == "min" and value > best)', "the best of a min column is the largest" },
    { "deviation = value and printed and value - printed", "deviation = value and printed and printed - value", "deviations from the paper have the wrong sign" },
    { "mark_all(made, options.best or {})", "mark_all(made, {})", "a table's own best is ignored" },
    { "best ~= nil and candidate(row.cells[index]) == best", "best ~= nil", "every cell is marked as the best" },
    { 'not cell.busy and (cell.status == "done" or cell.status == "partial") and cell.measured', "not cell.busy and cell.measured", "stale cells are the best" },
  },
  {
    file = "harness/report/published.lua", tests = "tests/lua/test_published.lua " .. tables,
    { 'if record.metric == "accuracy" and record.unit == "percent" then return "accuracy", 0.01 end',
      'if record.metric == "accuracy" and record.unit == "percent" then return record.metric, 1 end', "percent unscaled" },
    { '{ "parameters", 1e6 }', '{ "parameters", 1e3 }', "millions are thousands" },
    { 'if record.unit == "valid" then return "valid_" .. record.metric, 1 end', "", "validation values stand as test values" },
    { "entry.spread and entry.spread * entry.factor", "entry.spread", "published deviations are not scaled" },
  },
  {
    file = "experiments/gpt2_recurrent/published.lua", tests = "tests/lua/test_published.lua",
    { 'record.unit == "validation" and "valid_word_perplexity" or "word_perplexity"', 'record.unit == "validation" and "word_perplexity" or "valid_word_perplexity"',
      "validation and test are swapped" },
  },
  {
    file = "experiments/rsa/published.lua", tests = "tests/lua/test_published.lua tests/lua/test_report.lua",
    { 'horizon and ("%s %s"):format(record.dataset, horizon)', "nil", "horizons fall on one column" },
    { 'record.metric == "accuracy" and "accuracy_bin" .. bin', 'record.metric == "accuracy" and "accuracy_bin0"',
      "the two bins are one" },
  },
  {
    file = "experiments/reformer/published.lua", tests = "tests/lua/test_published.lua",
    { 'if record.table ~= "2" then return {} end', "if true then return {} end", "attentions in evaluation fall on one row" },
  },
  {
    file = "harness/report/charts/lines.lua", tests = charts,
    { "{ at, value, parts.below(", "{ at, at, parts.below(", "a sweep draws its abscissa" },
  },
  {
    file = "harness/report/charts/bars.lua", tests = charts,
    { "parts.below(value, spread or 0)", "value", "bars without a lower end" },
    { "list[place] = { place, value,", "list[place] = { place, value + (spread or 0),", "bars as high as their upper end" },
  },
  {
    file = "harness/run/weights.lua", tests = "tests/lua/test_weights.lua",
    { "if config[field] ~= nil and config[field] ~= value then", "if false then", "a config.json of another activation is taken" },
    { "if config.num_decoder_layers and", "if false and", "stacks of unlike depth are taken" },
  },
  {
    file = "harness/report/axis.lua", tests = "tests/lua/test_axis.lua",
    { "return 2 ^ 20, \"MiB\"", "return 1e6, \"MiB\"", "MiB of a million bytes" },
    { "return #ticks >= fewest and ticks", "return #ticks >= 1 and ticks", "a logarithmic axis with one label" },
    { "a = math.max(a, 0)", "a = a - 0", "an axis of errors begins below 0" },
  },
  {
    file = "harness/report/charts/boxes.lua", tests = charts,
    { "median = quantile(sorted, 0.5)", "median = quantile(sorted, 0.25)", "the median of a box" },
    { "1.5 * (box.q3 - box.q1)", "3 * (box.q3 - box.q1)", "whiskers twice as long" },
  },
  {
    file = "harness/report/exponents.lua", tests = "tests/lua/test_report.lua tests/lua/test_charts.lua",
    { "local slope = sxy / sxx", "local slope = sxy / syy", "the slope of a fit" },
    { "/ ((n - 2) * sxx)", "/ (n * sxx)", "the standard error of a slope" },
  },
  {
    file = "harness/report/encodings.lua", tests = "tests/lua/test_encodings.lua",
    { "head.gamma ^ power * wave(power * head.theta)", "head.gamma * wave(power * head.theta)", "waves do not decay" },
    { "lag % head.dilation ~= 0", "lag % head.dilation == 1", "dilated heads see every lag" },
  },
  {
    file = "harness/run/quote.lua", tests = "tests/lua/test_quote.lua",
    { '["&"] = "&amp;", ["<"] = "&lt;"', '["&"] = "&", ["<"] = "&lt;"', "ampersands are not escaped" },
    { 'return would_run(text) and "\'" .. text or text', "return text", "a spreadsheet runs what a label says" },
  },
  {
    file = "harness/run/metrics.lua", tests = tables,
    { '{ "bits_per_byte", "bits/byte", unit = "bit", digits = 3, better = "min"', '{ "bits_per_byte", "bits/byte", unit = "bit", digits = 3, better = "max"', "more bits per byte are better" },
  },
  {
    file = "harness/report/chart_parts.lua", tests = charts,
    { 'recorded_value(results, row, name, dataset) or tonumber', "tonumber", "an axis has the script's option, not the run's" },
    { "return value >= 0 and math.max(0, value - spread) or value - spread", "return value - spread", "error bars below 0" },
    { "if factor(row, name) ~= value then return false end", "", "`where` shows all rows" },
  },
  {
    file = "harness/report/chart.lua", tests = charts .. " tests/lua/test_kinds.lua",
    { "if not good then made = { failure = made } end", "if not good then error(made, 0) end", "one failing chart stops the others" },
    { "if not made then made = { lacks = what_it_shows(kind, plot) } end", "if not made then return nil end", "a chart whose runs lack something is gone without a word" },
    { "and (not plot.dataset or row.dataset == plot.dataset)", "", "a chart of one data set names the runs of all" },
  },
  {
    file = "harness/report/table.lua", tests = "tests/lua/test_page.lua tests/lua/test_timing.lua",
    { 'published = number "published", measured = number "measured"', 'published = number "measured", measured = number "published"',
      "the page shows published values as measured" },
    { "  mark_all(made, {})\n", "", "the page marks no best value" },
    { 'column.apart or record.rounds == "several"', "column.apart", "the page marks the best of times of several rounds" },
  },
  {
    file = "harness/run/pack.lua", tests = "tests/lua/test_pack.lua",
    { "line.run_id = id", 'line.run_id = ids[1]', "packed curves are all of the first run" },
    { "if from == to then remove_parts", "if false then remove_parts", "parts are left in a packed folder" },
    { 'for _, part in ipairs { "curves", "probes" } do', 'for _, part in ipairs { "curves" } do', "probes are not packed" },
  },
  {
    file = "harness/report/predicate.lua", tests = "tests/lua/test_claims.lua",
    { "if lost > most then most, worst[key] = lost, quartile end", "", "step times decide whatever their quartiles" },
    { "local worst, sign = {}, margin < 0 and -1 or 1", "local worst, sign = {}, 1", "quartiles count for what holds alone" },
    { "if times == cells then", "if times >= 1 then", "seeds that only one side has" },
    { "leaf.p_value >= level", "leaf.p_value >= 2 * level", "twice the level" },
    { "made[settled] = levels[settled] / math.max(1, count)", "made[settled] = levels[settled]", "comparisons do not share the level" },
    { "local count, settled = 0, word(not joint.all)", "local count, settled = 0, word(joint.all)", "those that all have to agree share the level" },
    { "if seed ~= left_out then", "if not left_out or seed == left_out then", "margins of single seeds" },
    { "#seeds == 0 then return mean end", "not left_out then return mean end", "a margin of all seeds with the error of the shared ones" },
  },
  {
    file = "harness/report/statistics.lua", tests = "tests/lua/test_claims.lua",
    { "(count - 1) / count", "1 / count", "an error for independent values" },
    { "for n = odd + 2, freedom - 2, 2 do", "for n = odd + 2, freedom - 4, 2 do", "a term of Student's t is missing" },
    { "(1 - within(math.abs(mean) / err, seeds - 1)) / 2", "1 - within(math.abs(mean) / err, seeds - 1)", "two-sided" },
    { "seeds - 1)) / 2", "seeds)) / 2", "a degree of freedom too many" },
  },
  {
    file = "harness/report/totals.lua", tests = "tests/lua/test_claims.lua",
    { 'if record.verdict == "undecided" and is_complete(record) then return 3 end', "", "a lesser scale outvotes a complete study" },
    { 'record.lacking == "0" and ', "", "a study that lacks cells outvotes a lesser scale" },
  },
  {
    file = "harness/report/best_at.lua", tests = "tests/lua/test_best_at.lua",
    { "by_seed[points.seed]", "by_seed[i]", "pairs by the order of the runs" },
  },
  {
    file = "harness/report/evidence.lua", tests = "tests/lua/test_evidence.lua",
    { "#group.done > 0 and #group.reasons > 0", "false", "a mean without its diverged seed decides" },
    { 'if status == "stale" or status == "other data" then', 'if status == "stale" then', "runs on other data are those of today" },
    { "record.round ~= first then", "record.machine ~= first then", "rounds of one machine are one round" },
  },
  {
    file = "harness/report/results.lua", tests = "tests/lua/test_timing.lua",
    { "q1 = q1 ^ power, q3 = q3 ^ power", "q1 = q3 ^ power, q3 = q1 ^ power", "quartiles are swapped" },
    { 'metrics.better(metric) == "max" and -1 or 1)\n    return list', '1)\n    return list', "a rate has the quartiles of a time" },
    { "list[#list + 1] = base and factors(self.baseline, base, -1)", "", "a ratio ignores its baseline's quartiles" },
    { "base and factors(self.baseline, base, -1)", "base and factors(self.baseline, base, 1)",
      "a slower baseline makes a ratio larger" },
  },
  {
    file = "harness/report/charts/pareto.lua", tests = charts,
    { '~= (better_x == "max")', '~= (better_x == "none")', "the front begins at the least x, whichever end is better" },
  },
  {
    file = "harness/report/published.lua", tests = "tests/lua/test_published.lua",
    { "made.values[key] = made.values[key] or entry.value * entry.factor", "made.values[key] = entry.value * entry.factor",
      "the last of several numbers under one name stays" },
  },
  {
    file = "harness/report/table.lua", tests = "tests/lua/test_published.lua",
    { "(options.datasets or {})[dataset] or dataset", "dataset", "a table ignores which data set ours stands for" },
  },
  {
    file = "harness/run/step_times.lua", tests = "tests/lua/test_timing.lua",
    { "all = all and self.rounds", "all = self.rounds", "a round has the last of the others alone" },
    { "shown[name] = list[1][name]", "shown[name] = list[#list][name]", "memory is of the oldest round" },
  },
  {
    file = "harness/report/predicate.lua", tests = "tests/lua/test_claims.lua",
    { "if not joint.all then joint.compared, joint.held = 1, joint.outcome and 1 or 0 end", "", "every part counts where one is enough" },
  },
  {
    file = "harness/report/kinds.lua", tests = "tests/lua/test_kinds.lua",
    { "local fields = table.move(kind.fields, 1, #kind.fields, 1, {})", "local fields = kind.fields",
      "the shared fields are added to a kind's own again and again" },
    { "table.sort(names)", "", "the kinds are listed in the order of a hash table" },
  },
  {
    file = "harness/lua/longhaul/experiment.lua", tests = "tests/lua/test_kinds.lua",
    { 'check_fields("plot", options, kinds.fields(kind), true)', "", "a plot takes any field" },
    { "local wrong = kind.check and kind.check(options)", "local wrong", "a kind's own check is not called" },
    { "row.keep_weights or row.label == kept", "row.keep_weights", "weights that a chart reads are not kept" },
  },
  {
    file = "harness/report/totals.lua", tests = "tests/lua/test_claims.lua",
    { "total.predicate_source, total.scale, total.device }", "total.predicate_source, total.scale }", "totals mix devices" },
  },
  {
    file = "harness/report/charts/boxes.lua", tests = "tests/lua/test_charts.lua",
    { "math.min(item[1], box.q1)", "item[1]", "a lower whisker inside the box" },
  },
  {
    file = "harness/report/table.lua", tests = "tests/lua/test_timing.lua",
    { "if better and not column.apart then", "if better then", "the best of times of several rounds is marked" },
  },
}
