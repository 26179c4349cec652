// Reads what the suite has checked, prints it as a table, and compares it with what is recorded.
//
// usage: report.mjs RESULTS [--record]
//
// RESULTS has a folder for each run, with a folder for each scenario. What is recorded:
// - server.txt has a line for each scenario of a run, with the number of checks that succeed: a
//   suite that stops early, or that finds nothing to check, reports no failure.
// - README.md beside this file has the table of all scenarios, and that of the project has the sums,
//   between comments that name this file.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [results, mode] = process.argv.slice(2);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const record = here("server.txt");

// Scenarios that the suite itself always skips.
const SKIPPED_BY_THE_SUITE = new Set(["tasks-status-notifications"]);

const runs = readdirSync(results, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    // Revisions in their order, then the rest.
    .sort((one, other) => (order(one) < order(other) ? -1 : 1));
const found = new Map(runs.flatMap(scenariosOf));

const details = table(detailRows());
const documents = [
    ["README.md", details],
    ["../README.md", table(sumRows())],
];

if (mode === "--record") {
    const lines = [...found].map(([key, checks]) => `${key} ${checks.success}\n`);
    writeFileSync(record, lines.sort().join(""));
    documents.forEach(([path, text]) => writeFileSync(here(path), withTable(path, text)));
}

const expected = new Map(
    readFileSync(record, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split(" "))
        .map(([run, scenario, count]) => [`${run} ${scenario}`, Number(count)]),
);

let passed = 0;
let failed = 0;
const keys = [...new Set([...expected.keys(), ...found.keys()])].sort();
for (const key of keys) {
    const problem = problemOf(key);
    if (problem === undefined) {
        passed += 1;
    } else {
        failed += 1;
        console.log(`FAILED  ${key}: ${problem}`);
    }
}
for (const run of runs) {
    const status = readFileSync(join(results, run, "status"), "utf8").trim();
    // 1: checks have failed, which are counted above.
    if (status !== "0" && status !== "1") {
        failed += 1;
        console.log(`FAILED  ${run}: the suite ended with status ${status}`);
    }
}
for (const [path, text] of documents) {
    if (readFileSync(here(path), "utf8") === withTable(path, text)) {
        passed += 1;
    } else {
        failed += 1;
        console.log(`FAILED  conformance/${path}: its table is not what was found (--record writes it)`);
    }
}
console.log("Checks that succeeded; F: failed, W: warned, S: skipped");
console.log(details);
console.log(`test result: ${failed === 0 ? "ok" : "FAILED"}. ${passed} passed; ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function order(run) {
    return /^\d{4}-/.test(run) ? run : `later ${run}`;
}

/** Returns what each scenario of a run has, by the names of both. */
function scenariosOf(run) {
    const folders = readdirSync(join(results, run), { withFileTypes: true });
    return folders
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => {
            const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
            const path = join(results, run, name, "checks.json");
            return [`${run} ${scenario}`, count(JSON.parse(readFileSync(path, "utf8")))];
        });
}

function count(checks) {
    const counted = { success: 0, failure: 0, warning: 0, skipped: 0, first: undefined };
    for (const check of checks) {
        const status = check.status.toLowerCase();
        if (!(status in counted)) {
            // Information, such as what was logged.
            continue;
        }
        counted[status] += 1;
        if (status !== "success") {
            counted.first ??= `${check.status} ${check.id}: ${check.errorMessage ?? check.description}`;
        }
    }
    return counted;
}

function problemOf(key) {
    const checks = found.get(key);
    if (checks === undefined) {
        return "it was not run";
    }
    const maySkip = SKIPPED_BY_THE_SUITE.has(key.split(" ")[1]);
    if (checks.failure > 0 || checks.warning > 0 || (checks.skipped > 0 && !maySkip)) {
        return checks.first;
    }
    const recorded = expected.get(key);
    if (recorded === undefined) {
        return `not recorded: ${checks.success} checks succeeded`;
    }
    if (checks.success < recorded) {
        return `${checks.success} checks succeeded, and ${recorded} are recorded`;
    }
    return undefined;
}

/** Returns the checks of all scenarios: how many succeeded, failed, warned and were skipped. */
function detailRows() {
    const scenarios = [...new Set([...found.keys()].map((key) => key.split(" ")[1]))].sort();
    const rows = scenarios.map((scenario) => [
        scenario,
        ...runs.map((run) => cell(found.get(`${run} ${scenario}`))),
    ]);
    return [["scenario", ...runs], ...rows];
}

/** Returns the sums of each run. */
function sumRows() {
    const rows = runs.map((run) => {
        const of = [...found].filter(([key]) => key.startsWith(`${run} `)).map(([, checks]) => checks);
        const sum = (status) => String(of.reduce((sum, checks) => sum + checks[status], 0));
        return [run, String(of.length), ...["success", "failure", "warning", "skipped"].map(sum)];
    });
    return [["run", "scenarios", "checks that succeeded", "failed", "warned", "skipped"], ...rows];
}

function table(rows) {
    const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)));
    const line = (row) => `| ${row.map((text, at) => text.padEnd(widths[at])).join(" | ")} |`;
    const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
    return [line(rows[0]), rule, ...rows.slice(1).map(line)].join("\n");
}

/** Returns a document with this table in the place of the one that it has. */
function withTable(path, text) {
    const parts = readFileSync(here(path), "utf8").split(/(?<=<!-- report\.mjs -->\n)[^]*?(?=<!-- end -->)/);
    if (parts.length !== 2) {
        throw new Error(`${path} has no place for the table`);
    }
    return `${parts[0]}\n${text}\n\n${parts[1]}`;
}

function cell(checks) {
    if (checks === undefined) {
        return "";
    }
    const rest = [
        ["failure", "F"],
        ["warning", "W"],
        ["skipped", "S"],
    ];
    const others = rest.filter(([status]) => checks[status] > 0);
    return [checks.success, ...others.map(([status, letter]) => `${checks[status]} ${letter}`)].join(" ");
}
