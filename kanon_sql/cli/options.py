"""The options of each command, in the order in which --help lists them."""

from __future__ import annotations

from kanon_sql.cli.option_kinds import format_option, together
from kanon_sql.cli.question_options import (
    DEMANDS,
    HIERARCHIES,
    INITIAL_PARTS,
    LEVELS,
    OTHERS_KNOWN,
    PARTS,
    QUESTION,
    RECORDS,
    RECORDS_READ,
    RELEASE_QUESTION,
    SOURCE,
)
from kanon_sql.cli.run_options import (
    AUDIT_FORMAT,
    BASELINE,
    COMPILE_OUTPUT,
    COMPILED,
    DEMO,
    DRY_RUN,
    FORMAT,
    IDENTIFYING,
    JOBS,
    KNOWLEDGE,
    LIMITS,
    MANIFEST,
    MAX_SECONDS,
    MCP,
    OUTPUT,
    RELEASE,
    REPORT,
    RUN,
    SCHEMA,
    SEARCH,
    SERVER,
    SHOWN,
    SIZES,
    TELL,
    VALUES_OF,
    WEIGHED,
    WORKSHEET,
    WORSE,
    WRITTEN_SPEC,
)
from kanon_sql.cli.table_options import CELL_OPTIONS

audit_options = together(
    QUESTION, MANIFEST, BASELINE, AUDIT_FORMAT, OUTPUT, RUN, JOBS, DRY_RUN, TELL
)
baseline_options = together(QUESTION, CELL_OPTIONS, MANIFEST, OUTPUT, LIMITS, TELL)
diff_options = together(FORMAT, WORSE, OUTPUT, TELL)
compile_options = together(QUESTION, CELL_OPTIONS, MANIFEST, COMPILED, COMPILE_OUTPUT, RUN, TELL)
validate_options = together(QUESTION, CELL_OPTIONS, MANIFEST, SHOWN, TELL)
anonymize_options = together(
    RELEASE_QUESTION, SERVER, SEARCH, RELEASE, FORMAT, LIMITS, DRY_RUN, TELL
)
tradeoff_options = together(
    PARTS,
    SIZES,
    DEMANDS[1:],
    HIERARCHIES,
    RECORDS,
    OTHERS_KNOWN,
    SOURCE,
    SERVER,
    WEIGHED,
    FORMAT,
    OUTPUT,
    LIMITS,
    TELL,
)
profile_options = together(
    PARTS,
    KNOWLEDGE,
    IDENTIFYING,
    HIERARCHIES,
    LEVELS,
    RECORDS,
    SOURCE,
    SERVER,
    FORMAT,
    OUTPUT,
    RUN,
    MAX_SECONDS,
    TELL,
)
init_options = together(INITIAL_PARTS, RECORDS_READ, SOURCE, WRITTEN_SPEC, LIMITS, TELL)
hierarchy_options = together(VALUES_OF, RECORDS_READ, SOURCE, SHOWN, LIMITS, TELL)
worksheet_options = together(
    QUESTION, SERVER, WORKSHEET, (format_option(("human", "json")),), RUN, TELL
)
report_options = together(REPORT, TELL)
schema_options = together(SCHEMA, TELL)
mcp_options = together(SERVER, MCP, LIMITS, TELL)
demo_options = together(DEMO, TELL)
policy_options = together((format_option(("human", "json")),))
