//! The subschemas of a schema, and how each passes values on to others.
//!
//! The graph is built from the schema once, with references resolved. Both the limits of a schema
//! and [the cost of a check](super::cost) are computed from it. Where drafts differ it has the
//! behaviour of all drafts: it may overestimate, but never underestimate.

use std::collections::HashMap;

use jsonschema::Draft;
use serde_json::Value;

use super::reader::{SchemaReader, dialect};
use super::rewrite::Rewrites;
use super::{MAX_CHAIN, MAX_COMPILED, MAX_UNFOLDED, SchemaError};

/// All subschemas of a schema. The first is the schema itself.
#[derive(Debug)]
pub(super) struct SchemaGraph {
    pub(super) nodes: Vec<Node>,
    draft: Draft,
}

/// The index of a subschema.
pub(super) type NodeId = usize;

/// A subschema, with the subschemas that it applies.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The cost of its own keywords.
    pub(super) cost: u64,
    /// The subschemas that apply to the same value.
    pub(super) in_place: Vec<InPlace>,
    pub(super) properties: HashMap<Box<str>, NodeId>,
    /// Patterns of member names, each with its cost per byte.
    pub(super) patterns: Vec<(u64, NodeId)>,
    pub(super) additional: Option<NodeId>,
    pub(super) property_names: Option<NodeId>,
    pub(super) unevaluated_properties: Option<NodeId>,
    pub(super) prefix_items: Vec<NodeId>,
    pub(super) items: Option<NodeId>,
    pub(super) contains: Option<NodeId>,
    pub(super) unevaluated_items: Option<NodeId>,
    /// The cost per byte of the `pattern` of a string.
    pub(super) pattern: u64,
    pub(super) is_unique: bool,
}

/// A subschema that applies to the same value as another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct InPlace {
    pub(super) id: NodeId,
    pub(super) kind: InPlaceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InPlaceKind {
    /// The value must match it.
    Required,
    /// One of several alternatives. It is tried first, and validated again to describe the
    /// failure.
    Choice,
    Reference,
}

impl SchemaGraph {
    /// Builds the graph of a schema, and collects the rewrites that compilation needs.
    pub(super) fn build<'s>(
        schema: &'s Value,
        rewrites: Rewrites<'s>,
    ) -> Result<(Self, Rewrites<'s>), SchemaError> {
        let draft = dialect(schema)?;
        let (nodes, rewrites) = SchemaReader::new(schema, draft, rewrites).read()?;
        let graph = Self { nodes, draft };
        graph.check_unfolding()?;
        graph.check_compiling()?;
        Ok((graph, rewrites))
    }

    pub(super) fn draft(&self) -> Draft {
        self.draft
    }

    /// Checks that the subschemas for one value form no cycle, and are not too many.
    fn check_unfolding(&self) -> Result<(), SchemaError> {
        let order = self
            .topological_order()
            .ok_or(SchemaError::EndlessRecursion)?;
        let mut unfolded = vec![(1_u64, 1_u64); self.nodes.len()];
        // In reverse order, so that the size of a subschema is known before it is added to another
        // one.
        for id in order.into_iter().rev() {
            let (mut size, mut chain) = (1_u64, 1);
            for next in &self.nodes[id].in_place {
                let (next_size, next_chain) = unfolded[next.id];
                size = size.saturating_add(next_size);
                chain = chain.max(next_chain + 1);
            }
            if size > MAX_UNFOLDED || chain > MAX_CHAIN {
                return Err(SchemaError::TooComplex);
            }
            unfolded[id] = (size, chain);
        }
        Ok(())
    }

    /// Returns all subschemas, each before those that it applies in place. `None` if there is a
    /// cycle.
    fn topological_order(&self) -> Option<Vec<NodeId>> {
        let mut before = vec![0_usize; self.nodes.len()];
        for next in self.nodes.iter().flat_map(|node| &node.in_place) {
            before[next.id] += 1;
        }
        let mut order: Vec<NodeId> = (0..before.len()).filter(|id| before[*id] == 0).collect();
        let mut done = 0;
        while let Some(id) = order.get(done).copied() {
            done += 1;
            for next in &self.nodes[id].in_place {
                before[next.id] -= 1;
                if before[next.id] == 0 {
                    order.push(next.id);
                }
            }
        }
        (order.len() == self.nodes.len()).then_some(order)
    }

    /// Checks how many subschemas are compiled. For `unevaluatedProperties` and `unevaluatedItems`
    /// a subschema is compiled again with all that is below it, so nested ones multiply.
    fn check_compiling(&self) -> Result<(), SchemaError> {
        let mut counter = CompileCount {
            graph: self,
            counts: vec![None; self.nodes.len()],
            again_counts: vec![None; self.nodes.len()],
        };
        let mut total = counter.count(0);
        let references = self.nodes.iter().flat_map(|node| &node.in_place);
        let mut targets: Vec<NodeId> = references
            .filter(|next| next.kind == InPlaceKind::Reference)
            .map(|next| next.id)
            .collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            total = total.saturating_add(counter.count(target));
        }
        if total > MAX_COMPILED {
            Err(SchemaError::TooComplex)
        } else {
            Ok(())
        }
    }
}

impl Node {
    pub(super) fn has_unevaluated(&self) -> bool {
        self.unevaluated_properties.is_some() || self.unevaluated_items.is_some()
    }

    fn unevaluated_count(&self) -> u64 {
        u64::from(self.unevaluated_properties.is_some())
            + u64::from(self.unevaluated_items.is_some())
    }

    /// Returns the directly nested subschemas, without references.
    fn nested(&self) -> impl Iterator<Item = NodeId> {
        let in_place = self
            .in_place
            .iter()
            .filter(|next| next.kind != InPlaceKind::Reference);
        let singles = [
            self.additional,
            self.property_names,
            self.unevaluated_properties,
            self.items,
            self.contains,
            self.unevaluated_items,
        ];
        in_place
            .map(|next| next.id)
            .chain(self.properties.values().copied())
            .chain(self.patterns.iter().map(|(_, id)| *id))
            .chain(self.prefix_items.iter().copied())
            .chain(singles.into_iter().flatten())
    }
}

/// Counts the compiled subschemas.
struct CompileCount<'p> {
    graph: &'p SchemaGraph,
    counts: Vec<Option<u64>>,
    again_counts: Vec<Option<u64>>,
}

impl CompileCount<'_> {
    fn count(&mut self, id: NodeId) -> u64 {
        if let Some(known) = self.counts[id] {
            return known;
        }
        self.counts[id] = Some(0);
        let graph = self.graph;
        let node = &graph.nodes[id];
        let mut total = 1_u64;
        for next in node.nested() {
            total = total.saturating_add(self.count(next));
        }
        if node.has_unevaluated() {
            let again = self
                .count_again(id)
                .saturating_mul(node.unevaluated_count());
            total = total.saturating_add(again);
        }
        self.counts[id] = Some(total);
        total
    }

    fn count_again(&mut self, id: NodeId) -> u64 {
        if let Some(known) = self.again_counts[id] {
            return known;
        }
        self.again_counts[id] = Some(0);
        let graph = self.graph;
        let node = &graph.nodes[id];
        let mut total = 1_u64;
        for next in node.nested() {
            total = total.saturating_add(self.count(next));
        }
        for next in &node.in_place {
            total = total.saturating_add(self.count_again(next.id));
        }
        self.again_counts[id] = Some(total);
        total
    }
}
