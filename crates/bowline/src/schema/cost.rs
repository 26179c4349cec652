//! The maximum cost of a check: a walk over the value without validation.

use serde_json::Value;

use super::graph::{InPlaceKind, Node, NodeId, SchemaGraph};
use super::{CheckError, MAX_COST, MAX_WALK_DEPTH};

impl SchemaGraph {
    /// Returns the maximum cost of checking a value. Fails if it exceeds [`MAX_COST`].
    pub(super) fn check_cost(&self, value: &Value) -> Result<u64, CheckError> {
        let mut walk = CostWalk {
            graph: self,
            remaining: MAX_COST,
            depth: 0,
        };
        walk.visit(0, value, 0)?;
        Ok(MAX_COST - walk.remaining)
    }
}

/// The number of pattern states per byte that cost as much as one subschema. The engine takes at
/// most 12 ns for each state, a text that doesn't match is matched twice, and [`MAX_COST`] at 50
/// ns is 50 ms.
const STATES_PER_UNIT: u64 = 2;

struct CostWalk<'p> {
    graph: &'p SchemaGraph,
    remaining: u64,
    depth: u32,
}

impl CostWalk<'_> {
    /// Visits a subschema with a value. Below each of `choices` alternatives that don't match, it
    /// is validated once more to describe the failure.
    fn visit(&mut self, id: NodeId, value: &Value, choices: u64) -> Result<(), CheckError> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        self.enter()?;
        self.spend(node.cost.saturating_mul(1 + choices))?;
        match value {
            Value::String(text) => self.spend_on_text(node, text, choices)?,
            Value::Array(items) => self.visit_items(node, value, items, choices)?,
            Value::Object(members) => {
                for (name, value) in members {
                    self.visit_member(node, name, value, choices)?;
                }
            }
            _ => {}
        }
        for next in &node.in_place {
            let choices = choices + u64::from(next.kind == InPlaceKind::Choice);
            self.visit(next.id, value, choices)?;
        }
        if node.has_unevaluated() {
            self.visit_unevaluated(id, value, choices)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn visit_member(
        &mut self,
        node: &Node,
        name: &str,
        value: &Value,
        choices: u64,
    ) -> Result<(), CheckError> {
        let known = node.properties.get(name).copied();
        for (size, id) in &node.patterns {
            self.spend_text(name, *size, choices)?;
            self.visit(*id, value, choices)?;
        }
        if let Some(names) = node.property_names {
            self.visit_name(names, name, choices)?;
        }
        let rest = known.or(node.additional);
        for id in [rest, node.unevaluated_properties].into_iter().flatten() {
            self.visit(id, value, choices)?;
        }
        Ok(())
    }

    fn visit_items(
        &mut self,
        node: &Node,
        list: &Value,
        items: &[Value],
        choices: u64,
    ) -> Result<(), CheckError> {
        if node.is_unique {
            // Short arrays are compared item by item with each other.
            self.spend_all(list, (1 + choices) * 8)?;
        }
        for (at, value) in items.iter().enumerate() {
            let own = node.prefix_items.get(at).copied().or(node.items);
            let others = [node.contains, node.unevaluated_items];
            for id in own.into_iter().chain(others.into_iter().flatten()) {
                self.visit(id, value, choices)?;
            }
        }
        Ok(())
    }

    /// Visits a subschema with the name of a member.
    fn visit_name(&mut self, id: NodeId, name: &str, choices: u64) -> Result<(), CheckError> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        self.enter()?;
        self.spend(node.cost.saturating_mul(1 + choices))?;
        self.spend_on_text(node, name, choices)?;
        for next in &node.in_place {
            let choices = choices + u64::from(next.kind == InPlaceKind::Choice);
            self.visit_name(next.id, name, choices)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Visits everything that applies to the value once more, for `unevaluatedProperties` and
    /// `unevaluatedItems`.
    fn visit_unevaluated(
        &mut self,
        id: NodeId,
        value: &Value,
        choices: u64,
    ) -> Result<(), CheckError> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        self.enter()?;
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    self.spend(1 + choices)?;
                    for (size, _) in &node.patterns {
                        self.spend_text(name, *size, choices)?;
                    }
                    if let Some(unevaluated) = node.unevaluated_properties {
                        self.visit(unevaluated, value, choices)?;
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
                        self.visit(id, value, choices)?;
                    }
                }
            }
            _ => {}
        }
        for next in &node.in_place {
            if next.kind != InPlaceKind::Reference {
                self.visit(next.id, value, choices)?;
            }
            self.visit_unevaluated(next.id, value, choices)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn spend_on_text(&mut self, node: &Node, text: &str, choices: u64) -> Result<(), CheckError> {
        self.spend_text(text, node.pattern, choices)
    }

    /// Spends the cost of a text: little for its length, more for a pattern.
    fn spend_text(&mut self, text: &str, pattern: u64, choices: u64) -> Result<(), CheckError> {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let read = bytes / 32;
        let matched = match pattern {
            0 => 0,
            size => (bytes.saturating_add(1)).saturating_mul(1 + size / STATES_PER_UNIT),
        };
        self.spend((read.saturating_add(matched)).saturating_mul(1 + choices))
    }

    /// Spends the cost of all values in a value.
    fn spend_all(&mut self, value: &Value, each: u64) -> Result<(), CheckError> {
        self.spend(each)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.spend_all(item, each)),
            Value::Object(members) => members
                .values()
                .try_for_each(|value| self.spend_all(value, each)),
            Value::String(text) => self.spend_text(text, 0, each),
            _ => Ok(()),
        }
    }

    fn enter(&mut self) -> Result<(), CheckError> {
        self.depth += 1;
        if self.depth > MAX_WALK_DEPTH {
            let reason = "nested too deeply for its schema";
            return Err(CheckError::Unchecked(reason.to_owned()));
        }
        Ok(())
    }

    fn spend(&mut self, cost: u64) -> Result<(), CheckError> {
        match self.remaining.checked_sub(cost) {
            Some(remaining) => {
                self.remaining = remaining;
                Ok(())
            }
            None => Err(CheckError::Unchecked(
                "too expensive to check against its schema".to_owned(),
            )),
        }
    }
}
