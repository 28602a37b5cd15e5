//! What there is to know about a placement, as JSON.

use std::fmt::Write;

use super::Scenario;
use super::placement::Placement;

/// So many of the smallest fatal combinations are named.
const MOST_NAMED: usize = 8;
/// So long are they looked for.
const MOST_STEPS: usize = 1 << 20;

impl Placement {
    pub fn report(&self) -> String {
        let sets = self.sets();
        let mut json = String::from("{\n");
        let scheme = self.scheme();
        put(&mut json, "  \"scheme\": {\"name\": \"");
        put(
            &mut json,
            format_args!(
                "{}\", \"most_lost\": {}}},\n",
                scheme.name(),
                scheme.most_lost()
            ),
        );
        put(&mut json, format_args!("  \"ranks\": {},\n", sets.ranks()));
        put(
            &mut json,
            format_args!(
                "  \"sets\": {{\"count\": {}, \"smallest\": {}, \"largest\": {}}},\n",
                sets.count(),
                sets.smallest(),
                sets.largest()
            ),
        );
        put(
            &mut json,
            format_args!("  \"levels\": [\n    {}\n  ],\n", self.levels()),
        );
        put(
            &mut json,
            format_args!("  \"smallest_fatal\": {},\n", self.smallest_fatal()),
        );
        put(
            &mut json,
            format_args!(
                "  \"cost\": {{\"memory_per_byte\": {:.4}, \"sent_per_byte\": {:.4}}}\n}}\n",
                scheme.memory(sets.smallest()),
                scheme.network()
            ),
        );
        json
    }

    fn levels(&self) -> String {
        let of_level = |level: usize| {
            let tolerance = self.tolerance()[level];
            let rebuild = match self.worst_load(level) {
                None => String::from("null"),
                Some(load) => format!(
                    "{{\"failed\": {}, \"lost_ranks\": {}, \"most\": {}, \"mean\": {:.4}, \"idle\": {}}}",
                    quoted(&self.tree().path(load.failed)),
                    load.lost_ranks,
                    load.most,
                    load.mean,
                    load.idle
                ),
            };
            format!(
                "{{\"level\": {level}, \"domains\": {}, \"tolerance\": {}, \"weakest_set\": {}, \"rebuild\": {rebuild}}}",
                self.tree().width(level),
                tolerance.any,
                tolerance.weakest_set,
            )
        };
        let levels: Vec<_> = (0..self.tree().depth()).map(of_level).collect();
        levels.join(",\n    ")
    }

    /// One domain more than any at the outermost level: what is inside of these can lose no more.
    fn smallest_fatal(&self) -> String {
        let failed = self.tolerance()[0].any as usize + 1;
        let mut named = Vec::new();
        let is_all = self.scenarios_of(failed, MOST_STEPS, &mut |scenario: Scenario| {
            if named.len() < MOST_NAMED {
                named.push(self.scenario_json(&scenario));
                return true;
            }
            false
        });
        if named.is_empty() {
            named.push(self.scenario_json(&self.a_smallest_scenario()));
        }
        format!(
            "{{\"domains\": {failed}, \"all_named\": {is_all}, \"combinations\": [\n    {}\n  ]}}",
            named.join(",\n    ")
        )
    }

    fn scenario_json(&self, scenario: &Scenario) -> String {
        let paths = scenario
            .domains
            .iter()
            .map(|domain| quoted(&self.tree().path(*domain)));
        let paths: Vec<_> = paths.collect();
        format!(
            "{{\"domains\": [{}], \"lost_set\": {}}}",
            paths.join(", "),
            scenario.lost_set
        )
    }
}

/// A string cannot fail to be written to.
fn put(text: &mut String, more: impl std::fmt::Display) {
    let _ = write!(text, "{more}");
}

fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            '\0'..=' ' if letter != ' ' => put(&mut json, format_args!("\\u{:04x}", letter as u32)),
            _ => json.push(letter),
        }
    }
    json + "\""
}
