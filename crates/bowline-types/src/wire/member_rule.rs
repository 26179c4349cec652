//! The encoding of a single member by generated code.

use crate::json::{Encoder, JsonObject, NotInRevision, Reason};
use crate::revision::Revisions;
use crate::wire::Encode;

/// How a member is encoded.
pub(crate) struct MemberRule {
    /// The wire name.
    pub(crate) name: &'static str,
    /// The wire name in quotes, with its colon.
    pub(crate) key: &'static str,
    pub(crate) revisions: Revisions,
    pub(crate) required: Revisions,
    /// `true` if omission would change the meaning of the other members.
    pub(crate) is_essential: bool,
    /// The value that is written if the member is required and not set.
    pub(crate) default: Option<&'static str>,
}

impl Encoder<'_> {
    /// Writes a member that is always set.
    pub(crate) fn write_required<T: Encode>(
        &mut self,
        rule: &MemberRule,
        value: &T,
    ) -> Result<(), NotInRevision> {
        if !self.has_revision_in(rule.revisions) {
            return self.omit(rule);
        }
        self.quoted_key(rule.key);
        value
            .encode(self)
            .map_err(|error| error.under_key(rule.name))
    }

    /// Writes a member that may be absent.
    pub(crate) fn write_optional<T: Encode>(
        &mut self,
        rule: &MemberRule,
        value: Option<&T>,
    ) -> Result<(), NotInRevision> {
        match value {
            Some(value) => self.write_required(rule, value),
            None => self.write_unset(rule),
        }
    }

    /// Writes a member that is `null` if it is absent.
    pub(crate) fn write_nullable<T: Encode>(
        &mut self,
        rule: &MemberRule,
        value: Option<&T>,
    ) -> Result<(), NotInRevision> {
        match value {
            Some(value) => self.write_required(rule, value),
            None if self.has_revision_in(rule.revisions) => {
                self.quoted_key(rule.key);
                self.null();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Writes a member that always has the same string value. A `lenient` one has the same meaning
    /// as its absence, so it is written only for a revision that requires it.
    pub(crate) fn write_literal(
        &mut self,
        revisions: Revisions,
        member: &'static str,
        lenient: bool,
    ) {
        let is_written = match self.revision() {
            Some(revision) => revisions.contains(revision),
            None => !lenient,
        };
        if is_written {
            self.quoted_key(member);
        }
    }

    /// Writes unknown members. Known members are written from their own fields.
    pub(crate) fn write_extras(&mut self, extras: &JsonObject, known: &[&str]) {
        for (key, value) in extras.iter() {
            if !known.iter().any(|name| key.is(name)) {
                self.raw_member(key, value);
            }
        }
    }

    /// Fails if the revision lacks a type.
    pub(crate) fn require_revision(
        &self,
        what: &'static str,
        known_in: Revisions,
    ) -> Result<(), NotInRevision> {
        if self.has_revision_in(known_in) {
            return Ok(());
        }
        Err(self.not_in_revision(Reason::NotInRevision { what, known_in }))
    }

    fn omit(&self, rule: &MemberRule) -> Result<(), NotInRevision> {
        if !rule.is_essential {
            return Ok(());
        }
        Err(self.not_in_revision(Reason::NotInRevision {
            what: rule.name,
            known_in: rule.revisions,
        }))
    }

    fn write_unset(&mut self, rule: &MemberRule) -> Result<(), NotInRevision> {
        let required = self
            .revision()
            .is_some_and(|revision| rule.required.contains(revision));
        let required = required && !(rule.name == "_meta" && self.allows_missing_meta());
        match rule.default {
            _ if !required => Ok(()),
            Some(default) => {
                self.quoted_key(rule.key);
                self.verbatim(default);
                Ok(())
            }
            None => Err(self.not_in_revision(Reason::Missing(rule.name))),
        }
    }
}
