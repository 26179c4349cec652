//! What a schema is made of: which subschema hands which values on to which others.
//!
//! It is read from the schema once, with the references resolved, and is what both the limits of
//! a schema and [the work of a check](super::cost) are computed from. Where drafts differ it has
//! what either of them would do: it may say too much, never too little.

use std::collections::HashMap;

use jsonschema::Draft;
use serde_json::Value;

use super::reader::{Reader, dialect};
use super::rewrite::Changes;
use super::{MAX_CHAIN, MAX_COMPILED, MAX_UNFOLDED, Refused};

/// All subschemas of a schema. The first is the schema itself.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    draft: Draft,
}

/// A subschema, by its number.
pub(super) type Id = usize;

/// A subschema: what it does with a value.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// What it costs by itself.
    pub(super) weight: u64,
    /// Those that the same value is handed on to.
    pub(super) here: Vec<Here>,
    pub(super) properties: HashMap<Box<str>, Id>,
    /// Patterns of names, with what they cost for each byte.
    pub(super) patterns: Vec<(u64, Id)>,
    pub(super) additional: Option<Id>,
    pub(super) names: Option<Id>,
    pub(super) unevaluated_properties: Option<Id>,
    pub(super) prefix: Vec<Id>,
    pub(super) items: Option<Id>,
    pub(super) contains: Option<Id>,
    pub(super) unevaluated_items: Option<Id>,
    /// What the pattern of a text costs for each byte.
    pub(super) pattern: u64,
    pub(super) is_unique: bool,
}

/// A subschema for the same value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here {
    pub(super) id: Id,
    pub(super) by: By,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// It has to fit.
    Need,
    /// It is one of several: it is tried first, and asked again why it doesn't fit.
    Choice,
    Reference,
}

impl Plan {
    /// Reads a schema, and what has to be changed in it before it is compiled.
    pub(super) fn of<'s>(
        schema: &'s Value,
        changes: Changes<'s>,
    ) -> Result<(Self, Changes<'s>), Refused> {
        let draft = dialect(schema)?;
        let (nodes, changes) = Reader::new(schema, draft, changes).all()?;
        let plan = Self { nodes, draft };
        plan.check_unfolding()?;
        plan.check_compiling()?;
        Ok((plan, changes))
    }

    pub(super) fn draft(&self) -> Draft {
        self.draft
    }

    /// What applies to one value must end, and not be too much.
    fn check_unfolding(&self) -> Result<(), Refused> {
        let order = self.in_order().ok_or(Refused::Endless)?;
        let mut unfolded = vec![(1_u64, 1_u64); self.nodes.len()];
        // Those that are handed a value before those that hand it on.
        for id in order.into_iter().rev() {
            let (mut size, mut chain) = (1_u64, 1);
            for next in &self.nodes[id].here {
                let (next_size, next_chain) = unfolded[next.id];
                size = size.saturating_add(next_size);
                chain = chain.max(next_chain + 1);
            }
            if size > MAX_UNFOLDED || chain > MAX_CHAIN {
                return Err(Refused::Unfolds);
            }
            unfolded[id] = (size, chain);
        }
        Ok(())
    }

    /// All subschemas, each before those that it hands its value on to. `None` when some come
    /// back to themselves.
    fn in_order(&self) -> Option<Vec<Id>> {
        let mut before = vec![0_usize; self.nodes.len()];
        for next in self.nodes.iter().flat_map(|node| &node.here) {
            before[next.id] += 1;
        }
        let mut order: Vec<Id> = (0..before.len()).filter(|id| before[*id] == 0).collect();
        let mut done = 0;
        while let Some(id) = order.get(done).copied() {
            done += 1;
            for next in &self.nodes[id].here {
                before[next.id] -= 1;
                if before[next.id] == 0 {
                    order.push(next.id);
                }
            }
        }
        (order.len() == self.nodes.len()).then_some(order)
    }

    /// A subschema with `unevaluatedProperties` or `unevaluatedItems` is compiled again for
    /// them, and so is all that is below it: those within each other multiply.
    fn check_compiling(&self) -> Result<(), Refused> {
        let mut compiling = Compiling {
            plan: self,
            plain: vec![None; self.nodes.len()],
            again: vec![None; self.nodes.len()],
        };
        let mut total = compiling.plain(0);
        let references = self.nodes.iter().flat_map(|node| &node.here);
        let mut targets: Vec<Id> = references
            .filter(|next| next.by == By::Reference)
            .map(|next| next.id)
            .collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            total = total.saturating_add(compiling.plain(target));
        }
        match total > MAX_COMPILED {
            true => Err(Refused::Unfolds),
            false => Ok(()),
        }
    }
}

impl Node {
    pub(super) fn has_unevaluated(&self) -> bool {
        self.unevaluated_properties.is_some() || self.unevaluated_items.is_some()
    }

    fn unevaluated(&self) -> u64 {
        u64::from(self.unevaluated_properties.is_some())
            + u64::from(self.unevaluated_items.is_some())
    }

    /// Those that stand in it: all but what it refers to.
    fn within(&self) -> impl Iterator<Item = Id> {
        let here = self.here.iter().filter(|next| next.by != By::Reference);
        let singles = [
            self.additional,
            self.names,
            self.unevaluated_properties,
            self.items,
            self.contains,
            self.unevaluated_items,
        ];
        here.map(|next| next.id)
            .chain(self.properties.values().copied())
            .chain(self.patterns.iter().map(|(_, id)| *id))
            .chain(self.prefix.iter().copied())
            .chain(singles.into_iter().flatten())
    }
}

/// How many subschemas are compiled, each counted once.
struct Compiling<'p> {
    plan: &'p Plan,
    plain: Vec<Option<u64>>,
    again: Vec<Option<u64>>,
}

impl Compiling<'_> {
    fn plain(&mut self, id: Id) -> u64 {
        if let Some(known) = self.plain[id] {
            return known;
        }
        self.plain[id] = Some(0);
        let plan = self.plan;
        let node = &plan.nodes[id];
        let mut total = 1_u64;
        for next in node.within() {
            total = total.saturating_add(self.plain(next));
        }
        if node.has_unevaluated() {
            let again = self.again(id).saturating_mul(node.unevaluated());
            total = total.saturating_add(again);
        }
        self.plain[id] = Some(total);
        total
    }

    fn again(&mut self, id: Id) -> u64 {
        if let Some(known) = self.again[id] {
            return known;
        }
        self.again[id] = Some(0);
        let plan = self.plan;
        let node = &plan.nodes[id];
        let mut total = 1_u64;
        for next in node.within() {
            total = total.saturating_add(self.plain(next));
        }
        for next in &node.here {
            total = total.saturating_add(self.again(next.id));
        }
        self.again[id] = Some(total);
        total
    }
}
