//! The report of a placement, as JSON.
//!
//! Written by hand: one line per level and per scenario, which no serializer's layout gives, and strings are the only
//! values that need escaping.

use std::fmt::Write;

use super::Scenario;
use super::placement::Placement;

/// Limit on the smallest fatal combinations that are listed.
const MOST_LISTED: usize = 8;
/// Limit on the steps of the search for them.
const MOST_STEPS: usize = 1 << 20;

impl Placement {
    pub fn report(&self) -> String {
        let (scheme, sets) = (self.scheme(), self.sets());
        format!(
            r#"{{
  "scheme": {{"name": "{}", "most_lost": {}}},
  "ranks": {},
  "sets": {{"count": {}, "smallest": {}, "largest": {}}},
  "levels": [
    {}
  ],
  "smallest_fatal": {},
  "cost": {{"memory_per_byte": {:.4}, "sent_per_byte": {:.4}}}
}}
"#,
            scheme.name(),
            scheme.most_lost(),
            sets.ranks(),
            sets.count(),
            sets.smallest(),
            sets.largest(),
            self.levels_json(),
            self.smallest_fatal_json(),
            scheme.memory(sets.smallest()),
            scheme.network()
        )
    }

    fn levels_json(&self) -> String {
        let level_json = |level: usize| {
            let rebuild = match self.worst_load(level) {
                None => String::from("null"),
                Some(load) => format!(
                    r#"{{"failed": {}, "lost_ranks": {}, "most": {}, "mean": {:.4}, "idle": {}}}"#,
                    quoted(&self.tree().path(load.failed)),
                    load.lost_ranks,
                    load.most,
                    load.mean,
                    load.idle
                ),
            };
            format!(
                r#"{{"level": {level}, "domains": {}, "tolerance": {}, "weakest_set": {}, "rebuild": {rebuild}}}"#,
                self.tree().width(level),
                self.tolerance()[level].any,
                self.tolerance()[level].weakest_set,
            )
        };
        let levels: Vec<_> = (0..self.tree().depth()).map(level_json).collect();
        levels.join(",\n    ")
    }

    /// Combinations of one domain more than the tolerance of the outermost level. Fewer domains never lose data: those
    /// of inner levels hold no more ranks than the outermost ones around them.
    fn smallest_fatal_json(&self) -> String {
        let failed = self.tolerance()[0].any as usize + 1;
        let mut listed = Vec::new();
        let is_all = self.scenarios_of(failed, MOST_STEPS, &mut |scenario: Scenario| {
            let has_room = listed.len() < MOST_LISTED;
            if has_room {
                listed.push(self.scenario_json(&scenario));
            }
            has_room
        });
        if listed.is_empty() {
            listed.push(self.scenario_json(&self.a_smallest_scenario()));
        }
        format!(
            "{{\"domains\": {failed}, \"all_named\": {is_all}, \"combinations\": [\n    {}\n  ]}}",
            listed.join(",\n    ")
        )
    }

    fn scenario_json(&self, scenario: &Scenario) -> String {
        let domains = scenario.domains.iter();
        let paths: Vec<_> = domains
            .map(|domain| quoted(&self.tree().path(*domain)))
            .collect();
        format!(
            r#"{{"domains": [{}], "lost_set": {}}}"#,
            paths.join(", "),
            scenario.lost_set
        )
    }
}

/// A JSON string: escapes quotes, backslashes and control characters.
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            '\0'..'\u{20}' => {
                write!(json, "\\u{:04x}", letter as u32).expect("writing to a string cannot fail")
            }
            _ => json.push(letter),
        }
    }
    json + "\""
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_escaped_as_json_demands() {
        assert_eq!(quoted("rack \"1\"\\ö\n"), r#""rack \"1\"\\ö\u000a""#);
    }
}
