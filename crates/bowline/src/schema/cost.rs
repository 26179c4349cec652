//! The walk that a check is, without judging anything: what it costs at most.

use serde_json::Value;

use super::graph::{By, Id, Node, Plan};
use super::{MAX_NESTED, MAX_WORK, Misfit};

impl Plan {
    /// What checking a value costs at most. Refused when that is more than may be spent.
    pub(super) fn work(&self, value: &Value) -> Result<u64, Misfit> {
        let mut walk = Walk {
            plan: self,
            left: MAX_WORK,
            nested: 0,
        };
        walk.meet(0, value, 0)?;
        Ok(MAX_WORK - walk.left)
    }
}

/// How many states of a pattern a byte meets for the price of one subschema. The engine takes
/// 12 ns for each at worst, a text that doesn't fit is matched twice, and [`MAX_WORK`] at 50 ns
/// is 50 ms.
const STATES: u64 = 2;

struct Walk<'p> {
    plan: &'p Plan,
    left: u64,
    nested: u32,
}

impl Walk<'_> {
    /// A subschema and a value. What is within `choices` that don't fit is looked at once more
    /// for each of them, to tell why.
    fn meet(&mut self, id: Id, value: &Value, choices: u64) -> Result<(), Misfit> {
        let plan = self.plan;
        let node = &plan.nodes[id];
        self.enter()?;
        self.spend(node.weight.saturating_mul(1 + choices))?;
        match value {
            Value::String(text) => self.text(node, text, choices)?,
            Value::Array(items) => self.items(node, value, items, choices)?,
            Value::Object(members) => {
                for (name, value) in members {
                    self.member(node, name, value, choices)?;
                }
            }
            _ => {}
        }
        for next in &node.here {
            let choices = choices + u64::from(next.by == By::Choice);
            self.meet(next.id, value, choices)?;
        }
        if node.has_unevaluated() {
            self.gather(id, value, choices)?;
        }
        self.nested -= 1;
        Ok(())
    }

    fn member(
        &mut self,
        node: &Node,
        name: &str,
        value: &Value,
        choices: u64,
    ) -> Result<(), Misfit> {
        let known = node.properties.get(name).copied();
        for (size, id) in &node.patterns {
            self.spend_text(name, *size, choices)?;
            self.meet(*id, value, choices)?;
        }
        if let Some(names) = node.names {
            self.name(names, name, choices)?;
        }
        let rest = known.or(node.additional);
        for id in [rest, node.unevaluated_properties].into_iter().flatten() {
            self.meet(id, value, choices)?;
        }
        Ok(())
    }

    fn items(
        &mut self,
        node: &Node,
        list: &Value,
        items: &[Value],
        choices: u64,
    ) -> Result<(), Misfit> {
        if node.is_unique {
            // A few are compared each with each.
            self.spend_all(list, (1 + choices) * 8)?;
        }
        for (at, value) in items.iter().enumerate() {
            let own = node.prefix.get(at).copied().or(node.items);
            let others = [node.contains, node.unevaluated_items];
            for id in own.into_iter().chain(others.into_iter().flatten()) {
                self.meet(id, value, choices)?;
            }
        }
        Ok(())
    }

    /// A subschema and the name of a member.
    fn name(&mut self, id: Id, name: &str, choices: u64) -> Result<(), Misfit> {
        let plan = self.plan;
        let node = &plan.nodes[id];
        self.enter()?;
        self.spend(node.weight.saturating_mul(1 + choices))?;
        self.text(node, name, choices)?;
        for next in &node.here {
            let choices = choices + u64::from(next.by == By::Choice);
            self.name(next.id, name, choices)?;
        }
        self.nested -= 1;
        Ok(())
    }

    /// What `unevaluatedProperties` and `unevaluatedItems` look at: everything that applies to
    /// the value, once more.
    fn gather(&mut self, id: Id, value: &Value, choices: u64) -> Result<(), Misfit> {
        let plan = self.plan;
        let node = &plan.nodes[id];
        self.enter()?;
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    self.spend(1 + choices)?;
                    for (size, _) in &node.patterns {
                        self.spend_text(name, *size, choices)?;
                    }
                    if let Some(unevaluated) = node.unevaluated_properties {
                        self.meet(unevaluated, value, choices)?;
                    }
                }
            }
            Value::Array(items) => {
                for value in items {
                    self.spend(1 + choices)?;
                    for id in [node.contains, node.unevaluated_items]
                        .into_iter()
                        .flatten()
                    {
                        self.meet(id, value, choices)?;
                    }
                }
            }
            _ => {}
        }
        for next in &node.here {
            if next.by != By::Reference {
                self.meet(next.id, value, choices)?;
            }
            self.gather(next.id, value, choices)?;
        }
        self.nested -= 1;
        Ok(())
    }

    fn text(&mut self, node: &Node, text: &str, choices: u64) -> Result<(), Misfit> {
        self.spend_text(text, node.pattern, choices)
    }

    /// A text costs a little by its length, and more for a pattern.
    fn spend_text(&mut self, text: &str, pattern: u64, choices: u64) -> Result<(), Misfit> {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let read = bytes / 32;
        let matched = match pattern {
            0 => 0,
            size => (bytes.saturating_add(1)).saturating_mul(1 + size / STATES),
        };
        self.spend((read.saturating_add(matched)).saturating_mul(1 + choices))
    }

    /// Everything in a value.
    fn spend_all(&mut self, value: &Value, each: u64) -> Result<(), Misfit> {
        self.spend(each)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|it| self.spend_all(it, each)),
            Value::Object(members) => members.values().try_for_each(|it| self.spend_all(it, each)),
            Value::String(text) => self.spend_text(text, 0, each),
            _ => Ok(()),
        }
    }

    fn enter(&mut self) -> Result<(), Misfit> {
        self.nested += 1;
        match self.nested > MAX_NESTED {
            true => Err(Misfit::Unchecked(
                "it is nested too deeply to be checked against its schema".to_owned(),
            )),
            false => Ok(()),
        }
    }

    fn spend(&mut self, work: u64) -> Result<(), Misfit> {
        match self.left.checked_sub(work) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Misfit::Unchecked(
                "it is too much work to check it against its schema".to_owned(),
            )),
        }
    }
}
