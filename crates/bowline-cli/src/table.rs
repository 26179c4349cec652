//! Tables for readers.

use crate::escape;
use crate::printer::{Printer, Tone};

/// Rows of cells, aligned. Columns that are empty from top to bottom are left out.
#[derive(Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    head: [&'static str; COLUMNS],
    rows: Vec<Row<COLUMNS>>,
}

/// A row, and what is said below it.
#[derive(Debug)]
struct Row<const COLUMNS: usize> {
    tone: Tone,
    cells: [String; COLUMNS],
    note: Option<String>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table without rows.
    pub(crate) fn new(head: [&'static str; COLUMNS]) -> Self {
        Self {
            head,
            rows: Vec::new(),
        }
    }

    /// Adds a row, and what is to be said below it.
    pub(crate) fn row(&mut self, tone: Tone, cells: [String; COLUMNS], note: Option<String>) {
        let last = COLUMNS.saturating_sub(1);
        let mut index = 0;
        // Escaped here, since what is printed decides how wide it is.
        let cells = cells.map(|cell| {
            let cell = escape::for_terminal(&cell).into_owned();
            let is_last = index == last;
            index += 1;
            if is_last { cell } else { cut(cell) }
        });
        self.rows.push(Row { tone, cells, note });
    }

    /// Prints it.
    ///
    /// # Errors
    ///
    /// What the printer says.
    pub(crate) fn print(&self, printer: &mut Printer) -> anyhow::Result<()> {
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
            let cells = self
                .rows
                .iter()
                .map(|row| row.cells[column].chars().count());
            match cells.max().unwrap_or(0) {
                0 => 0,
                widest => widest.max(self.head[column].chars().count()),
            }
        });
        printer.line(0, Tone::Aside, &aligned(&self.head, &widths))?;
        for row in &self.rows {
            let cells = row.cells.each_ref().map(String::as_str);
            printer.line(0, row.tone, &aligned(&cells, &widths))?;
            if let Some(note) = &row.note {
                printer.line(1, Tone::Bad, note)?;
            }
        }
        Ok(())
    }
}

/// The cells of a row in one line.
fn aligned(cells: &[&str], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths).filter(|(_, width)| **width > 0) {
        line.push_str(&format!("{cell:width$}  "));
    }
    line.truncate(line.trim_end().len());
    line
}

/// A cell that leaves room for its neighbours.
fn cut(cell: String) -> String {
    match cell.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell,
    }
}

/// Cells with more characters are cut, except in the last column.
const WIDEST: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn printed<const COLUMNS: usize>(table: &Table<COLUMNS>) -> String {
        let (mut printer, page) = Printer::on_page();
        table.print(&mut printer).unwrap();
        page.text()
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let mut table = Table::new(["A", "LONG", "EMPTY", "Z"]);
        let row = |cells: [&str; 4]| cells.map(str::to_owned);
        table.row(Tone::Plain, row(["ü", "x", "", "last one"]), None);
        table.row(
            Tone::Bad,
            row(["a\nb", "longer", "", ""]),
            Some("note".to_owned()),
        );
        assert_eq!(
            printed(&table),
            "A     LONG    Z\nü     x       last one\na\\nb  longer\n  note\n"
        );
    }

    // proves: F-CL-01
    #[test]
    fn a_cell_is_as_wide_as_it_is_printed_and_not_without_measure() {
        let mut table = Table::new(["A", "B"]);
        let long = "x".repeat(WIDEST + 1);
        table.row(Tone::Plain, ["\u{1b}".to_owned(), long.clone()], None);
        table.row(Tone::Plain, [long.clone(), String::new()], None);
        let cut = format!("{}…", "x".repeat(WIDEST));
        let wide = WIDEST + 1;
        assert_eq!(
            printed(&table),
            format!("{:wide$}  B\n{:wide$}  {long}\n{cut}\n", "A", "\\u{1b}")
        );
    }
}
