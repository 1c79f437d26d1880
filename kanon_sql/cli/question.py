"""The question that command line options ask.

Question options can't be combined with a spec file, except thresholds, which replace the spec's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.option_kinds import (
    QuestionOption,
    check_named,
    column_first,
    column_names,
    column_pairs,
    of_columns,
    parsed_dates,
    parsed_levels,
)
from kanon_sql.errors import Faults, SpecError, did_you_mean, in_one, read_each, refuse_repeated
from kanon_sql.question.other_tables import (
    AGAINST,
    EARLIER,
    OTHER_TABLES,
    REFERENCE,
    OtherTableKind,
)

if TYPE_CHECKING:
    from kanon_sql.models.base import Model
    from kanon_sql.profiling.profile_plan import Identifying
    from kanon_sql.question.hierarchy import GeneralizationHierarchy
    from kanon_sql.question.published import PublishedSpec
    from kanon_sql.question.spec import AuditSpec, SelectedTables, TablesKey
    from kanon_sql.question.table import TableSpec


_NAMES = {REFERENCE: r"[A-Za-z_]\w*", EARLIER: r"\w+", AGAINST: r"\w+"}
"""Regular expression of the names of each kind that has names."""
_ONCE = ("where", "entity", "weight", "header", "encoding", "skip")
"""Options that may be given once per table."""


def other_tables(kind: OtherTableKind, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every other table of a kind by name, with its settings."""
    flag, tables = f"--{kind.prefix}", dict[str, dict[str, Any]]()
    for text in values.get(kind.prefix, ()):
        name, source = named_source(kind, text)
        if name in tables and kind.is_single:
            raise SpecError(
                f"{flag} is given twice. Give it once: a synthetic table is compared with one "
                f"{kind.noun}."
            )
        if name in tables:
            raise SpecError(
                f'there are two {kind.noun}s called "{name}": name them, as in '
                f"{flag} {kind.example}={kind.example}.parquet."
            )
        tables[name] = {"source": source}
    renamed: dict[str, list[tuple[str, str]]] = {}
    for name, text in _option_values(kind, "columns", values, tables):
        columns = renamed.setdefault(name, [])
        for pair in column_pairs(f"{flag}-columns", text):
            column, equals, own = column_first(pair)
            if not (column and equals and own):
                raise SpecError(f"{flag}-columns {pair!r} is not COL=COL, as in zip=zip_code.")
            columns.append((column, own))
    for name, columns in renamed.items():
        refuse_repeated(
            (column for column, _ in columns), f'{flag}-columns names "{{}}" twice. Name it once.'
        )
        tables[name]["columns"] = dict(columns)
    at_level: dict[str, list[str]] = {}
    for name, text in _option_values(kind, "level", values, tables):
        at_level.setdefault(name, []).append(text)
    for name, texts in at_level.items():
        tables[name]["levels"] = parsed_levels(f"{flag}-level", texts)
    formats: dict[str, list[str]] = {}
    for name, text in _option_values(kind, "date-format", values, tables):
        formats.setdefault(name, []).append(text)
    for name, texts in formats.items():
        tables[name]["dates"] = parsed_dates(f"{flag}-date-format", texts)
    for setting in _ONCE:
        for name, text in _option_values(kind, setting, values, tables):
            if setting in tables[name]:
                of_name = "" if kind.is_single else f" for {name}"
                raise SpecError(f"{flag}-{setting} is given twice{of_name}. Give it once.")
            is_number = setting == "skip" and text.isdecimal()
            tables[name][setting] = int(text) if is_number else text
    for setting, key in (("qi", "quasi_identifiers"), ("by", "by")):
        for name, text in _option_values(kind, setting, values, tables):
            names = tables[name].setdefault(key, [])
            names += column_names(f"{flag}-{setting}", text)
    return tables


def named_source(kind: OtherTableKind, text: str) -> tuple[str, str]:
    """Split `[NAME=]SRC`; a path that contains `=` must begin with `./`."""
    if kind.is_single:
        return kind.prefix, text
    named = re.fullmatch(rf"({_NAMES[kind]})=(.+)", text, re.DOTALL)
    return (named[1], named[2]) if named else (kind.prefix, text)


def _option_values(
    kind: OtherTableKind, setting: str, values: Mapping[str, Any], tables: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Each value of an option, with the name of the table it belongs to."""
    flag = f"--{kind.prefix}-{setting}"
    for text in values.get(f"{kind.prefix}_{setting.replace('-', '_')}", ()):
        prefix = None if kind.is_single else re.match(r"(\w+):(?!:)\s*", text)
        if prefix and prefix[1] in tables:
            yield prefix[1], text[prefix.end() :]
        elif len(tables) == 1:
            yield next(iter(tables)), text
        elif not tables:
            raise SpecError(
                f"{flag} needs a table that it is about: --{kind.prefix} {kind.example}.parquet."
            )
        else:
            raise SpecError(
                f"{flag} {text!r} is for which {kind.noun}? Begin it with a name and a colon: "
                f"{', '.join(f'{name}:' for name in tables)}."
            )


def only_one(_: click.Context, __: click.Parameter, targets: Sequence[str]) -> str:
    """The single target; several are probably an unquoted glob."""
    if len(targets) > 1:
        more = ", …" if len(targets) > 2 else ""
        several = f"there are {len(targets)} targets ({targets[0]}, {targets[1]}{more})."
        if not Path(targets[1]).suffix and not Path(targets[1]).exists():
            raise SpecError(
                f"{several} If {targets[1]} is a column, write the list with commas and without "
                f"spaces: zip,{targets[1]}."
            )
        raise SpecError(
            f"{several} Quote a glob, so that all its files are read as one table: "
            "'data/*.parquet'."
        )
    return targets[0]


def at_most_one(
    context: click.Context, parameter: click.Parameter, targets: Sequence[str]
) -> str | None:
    return only_one(context, parameter, targets) if targets else None


def one_or_specs(
    context: click.Context, parameter: click.Parameter, targets: Sequence[str]
) -> Sequence[str]:
    """One target, or several spec files, as a pre-commit hook passes them."""
    if all(map(is_spec_file, targets)):
        return targets
    return [only_one(context, parameter, targets)]


THRESHOLDS = ("k", "k_map", "l", "t", "check")


def question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """The spec of a command's target and options. Raises `SpecError`."""
    if is_spec_file(target):
        spec = _spec_of_records(context, target, values, but=THRESHOLDS)
        return _with_thresholds(spec, values)
    refuse_server(target, values)
    quasi_identifiers = values["quasi_identifiers"]
    if not (quasi_identifiers or values["events"]):
        _refuse_without_events(values["check"])
        raise SpecError(
            "there are no quasi-identifiers: name what an attacker may know of a person, as in "
            "--qi zip,birth_date,sex; --qi '*' takes every column."
        )
    more: dict[str, Any] = {}
    references = [named_source(REFERENCE, text)[0] for text in values["reference"]]
    with Faults() as faults:
        for kind in OTHER_TABLES:
            with faults.collected():
                tables = other_tables(kind, values)
                more[kind.key] = tables.get(kind.prefix) if kind.is_single else tables
        are_read = not faults
        with faults.collected():
            more["checks"] = _checks(values, values["sensitive"], references)
        if are_read:
            with faults.collected():
                spec = _one_table_spec(target, quasi_identifiers, values, **more)
    return spec


def _refuse_without_events(checks: Sequence[str]) -> None:
    """Raise `SpecError` if a check is about events, as none are named."""
    from kanon_sql.models.catalogue import ALL_MODELS

    for text in checks:
        name = text.partition(":")[0].strip()
        if name in ALL_MODELS and ALL_MODELS[name].family == "events":
            raise SpecError(
                f"{name} needs events: name the columns that make an event of a person, as in "
                "--events ward,month."
            )


def _with_thresholds(spec: AuditSpec, values: Mapping[str, Any]) -> AuditSpec:
    """The spec with the checks of the options in place of its own, or added to them."""
    if not any(values.get(threshold) for threshold in THRESHOLDS):
        return spec
    tables = []
    for table in spec.tables:
        checks = {_about(check, table): check for check in table.checks}
        more = _checks(values, table.sensitive, list(table.references))
        checks |= {_about(check, table): check for check in more}
        tables.append(table.model_copy(update={"checks": list(checks.values())}))
    return spec.model_copy(update={"tables": tables})


def _about(check: Model, table: TableSpec) -> tuple[object, ...]:
    """The model of a check, with the column or the other table that it is about."""
    only = {
        "sensitive": table.sensitive,
        "reference": list(table.references),
        "earlier": list(table.earlier_releases),
    }
    return (
        check.name(),
        getattr(check, "columns", None),
        *(
            getattr(check, key, None) or (names[0] if len(names) == 1 else None)
            for key, names in only.items()
            if hasattr(check, key)
        ),
    )


def are_results(context: click.Context, targets: Sequence[str], values: Mapping[str, Any]) -> bool:
    """Whether the targets are stored results: JSON files without question options.

    Raises `SpecError` if there are question options, but no quasi-identifiers.
    """
    if (
        values["quasi_identifiers"]
        or values["events"]
        or values["by"]
        or not all(target.lower().endswith(".json") for target in targets)
    ):
        return False
    options = _options_set(context)
    if options:
        raise SpecError(
            f"{targets[0]} is read as a result, which takes no {', '.join(options)}. To audit it "
            "as a table, name its quasi-identifiers: --qi COL,…."
        )
    return True


def profile_question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """The table to profile. Raises `SpecError`."""
    if is_spec_file(target):
        return _spec_of_records(context, target, values)
    refuse_server(target, values)
    return _one_table_spec(target, values["quasi_identifiers"], values)


def known_events(values: Mapping[str, Any]) -> range | None:
    """The numbers of known events in `--known`. Raises `SpecError`."""
    text = values["known"]
    if text is None:
        return None
    match = re.fullmatch(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= _MOST_KNOWN:
        raise SpecError(
            f"--known must be a number of events from 1 to {_MOST_KNOWN}, or a range that grows, "
            f"as in 1-4; found {text!r}."
        )
    return range(first, last + 1)


_MOST_KNOWN = 20


def table_question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """A table without roles, to propose a spec for. Raises `SpecError`."""
    if is_spec_file(target):
        raise SpecError(f"{target} is already a spec; name the table to write one for.")
    return _one_table_spec(target, [], values)


def explored_question(
    context: click.Context, target: str, values: Mapping[str, Any]
) -> tuple[AuditSpec, dict[str, GeneralizationHierarchy]]:
    """The table to explore, with the hierarchies of its columns. Raises `SpecError`."""
    if is_spec_file(target):
        return _spec_of_records(context, target, values), {}
    return _one_table_spec(target, [], {**values, "hierarchy": ()}), hierarchies(values)


def column_question(column: str, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """A single column with a hierarchy builder, as in zip=mask:right. Raises `SpecError`."""
    name, builds, _ = column_first(column)
    hierarchy = [column] if builds else []
    spec = _one_table_spec(target, [name], {**values, "hierarchy": hierarchy})
    [built] = spec.tables[0].quasi_identifiers.values()
    if built.hierarchy is not None:
        raise SpecError(
            f"{column}: that is already a hierarchy file; name a builder, as in mask:right."
        )
    return spec


def identifying_question(spec: AuditSpec, values: Mapping[str, Any]) -> Identifying:
    """The measures on column sets. Raises `SpecError`, also for an unwritable scores file."""
    from kanon_sql.profiling.profile_plan import Identifying
    from kanon_sql.profiling.profiler import scores_file

    scores = scores_file(
        Path(values["scores"]) if values["scores"] else None,
        spec.files(),
        show_values=values["show_values"],
        overwrite=values["overwrite"],
    )
    return Identifying(
        subsets=values["subsets"],
        suda=values["suda"],
        columns=values["columns"],
        sampling_fraction=values["sampling_fraction"],
        scores=scores,
    )


def _one_table_spec(
    target: str, quasi_identifiers: Sequence[str], values: Mapping[str, Any], **more: Any
) -> AuditSpec:
    """The spec of one table, from the options that it shares with other commands and `more`."""
    from kanon_sql.question.spec import AuditSpec, table_spec
    from kanon_sql.question.table import TableSpec

    events = values.get("events", ())
    sensitive = values["sensitive"] if more.get("original") else ()
    of_columns = _generalisable(quasi_identifiers, values, (*events, *sensitive))
    table = table_spec(
        **fields_set(TableSpec, values)
        | ({"sensitive": {name: of_columns[name] for name in sensitive}} if sensitive else {})
        | {
            "source": target,
            "quasi_identifiers": {
                name: column
                for name, column in of_columns.items()
                if name not in (*events, *sensitive) or name in quasi_identifiers
            },
            "events": {name: of_columns[name] for name in events},
            # The option is one of the release, whose sentences name it.
            "entity_in_release": "keep",
        }
        | more
    )
    return AuditSpec(tables=[table])


def fields_set(model: type[TableSpec | PublishedSpec], values: Mapping[str, Any]) -> dict[str, Any]:
    """The options given for the fields of a model, which has the defaults of the others."""
    fields = {
        name: values[name]
        for name in model.model_fields
        if values.get(name) not in (None, False, (), {})
    }
    return fields | ({"delimiter": "\t"} if fields.get("delimiter") == r"\t" else {})


def _spec_of_records(
    context: click.Context, target: str, values: Mapping[str, Any], but: Sequence[str] = ()
) -> AuditSpec:
    """The spec in a file, which has tables of records. Raises `SpecError`."""
    from kanon_sql.question.spec import AuditSpec

    if is_contract(target):
        from kanon_sql.question.contract import read_contract

        refuse_a_second_question(context, target, (*but, "connect"))
        server, connect = values["server"], values["connect"]
        of_contract = read_contract(Path(target), server=server, connect=connect).spec
        assert of_contract is not None
        return of_contract
    refuse_server(target, values)
    refuse_a_second_question(context, target, but)
    spec = AuditSpec.from_file(target)
    if not spec.tables and context.command.name not in ("compile", "validate", "baseline"):
        raise SpecError(
            f"{target} has published tables only, which kanon-sql tables checks; name tables of "
            "records under the key tables."
        )
    return spec


def is_spec_file(target: str) -> bool:
    return target.lower().endswith((".yml", ".yaml"))


def refuse_a_second_question(context: click.Context, target: str, but: Sequence[str] = ()) -> None:
    """Raise if a question option accompanies a spec file, except `but` some."""
    instead = "Write it into the file, or name a table in place of the file."
    _refuse_combined(f"{target} is a spec", _options_set(context, but), instead)


def _refuse_combined(what: str, options: Sequence[str], instead: str) -> None:
    if options:
        raise SpecError(f"{what} and can't be combined with {', '.join(options)}. {instead}")


def selected(
    context: click.Context, target: str | None, values: Mapping[str, Any]
) -> SelectedTables:
    """The tables of a target, or of a dbt manifest. Raises `SpecError`."""
    from kanon_sql.question.spec import SelectedTables

    manifest = values["manifest"]
    if not manifest:
        if target is None:
            raise SpecError("name what to audit: a file, a table, a spec file, or --manifest FILE.")
        if is_contract(target):
            return _contract_tables(context, target, values)
        refuse_server(target, values)
        to_contract = values.get("format") == "odcs"
        keys = [key for key in _OF_A_MANIFEST if not (key == "select" and to_contract)]
        refuse_idle(values, keys)
        spec = question(context, target, values)
        if values["select"]:
            spec = _only_tables(spec, [name for text in values["select"] for name in text.split()])
        return SelectedTables(spec, places=spec.places())
    return manifest_tables(context, target, values)


def manifest_tables(
    context: click.Context,
    target: str | None,
    values: Mapping[str, Any],
    keys: Sequence[TablesKey] = ("tables",),
) -> SelectedTables:
    """The tables of a dbt manifest, of records, published, or both. Raises `SpecError`."""
    from kanon_sql.question.dbt.manifest import read_manifest
    from kanon_sql.question.spec import AuditSpec

    manifest = values["manifest"]
    options = [option for option in _options_set(context) if option not in _CONNECTION_OPTIONS]
    options += ["--server"] if values.get("server") else []
    if target is not None:
        options.insert(0, target)
    inherits = bool(values.get("inherit"))
    of_checks = set(_options_set(context)) - set(_options_set(context, _OF_INHERITED))
    if inherits:
        options = [option for option in options if option not in of_checks]
    meta = "config.meta.kanon_sql" + (".published" if "tables" not in keys else "")
    instead = f"Write it into the {meta} of the model"
    if "inherit" in values and options and of_checks.issuperset(options):
        instead += ", or serve the models without checks by --inherit"
    _refuse_combined(f"{manifest} is a manifest", options, f"{instead}.")
    of_project = {name: values[name] for name in _OF_A_MANIFEST}
    if not inherits:
        return read_manifest(manifest, connect=values["connect"], keys=keys, **of_project)
    from kanon_sql.tracing.inherited import inheriting

    chosen = read_manifest(
        manifest, connect=values["connect"], keys=keys, inherit=inheriting, **of_project
    )
    if chosen.spec is None:
        return chosen
    tables = [
        table if table.checks else _with_thresholds(AuditSpec(tables=[table]), values).tables[0]
        for table in chosen.spec.tables
    ]
    return chosen._replace(spec=chosen.spec.model_copy(update={"tables": tables}))


def _only_tables(spec: AuditSpec, names: list[str]) -> AuditSpec:
    """The tables of these names. Raises `SpecError` for a name that none has."""
    known = [table.name or str(table.source) for table in spec.tables]
    unknown = [
        SpecError(
            f"--select {name}: there is no such table. Tables: {', '.join(known)}."
            f"{did_you_mean(name, known)}"
        )
        for name in names
        if name not in known
    ]
    if unknown:
        raise in_one(unknown)
    chosen = [table for table, name in zip(spec.tables, known, strict=True) if name in names]
    return spec.model_copy(update={"tables": chosen})


def refuse_server(target: str, values: Mapping[str, Any]) -> None:
    """Raise `SpecError` for the server of anything but a data contract."""
    if values.get("server"):
        raise SpecError(
            "--server is for a data contract, a YAML file with kind: DataContract. "
            f"{target} is none."
        )


def is_contract(target: str) -> bool:
    """Whether a file is a data contract, which is a spec."""
    if not (is_spec_file(target) and Path(target).is_file()):
        return False
    from kanon_sql.question.yaml_document import YamlDocument

    return YamlDocument.read(Path(target)).is_contract


def _contract_tables(
    context: click.Context, target: str, values: Mapping[str, Any]
) -> SelectedTables:
    """The selected tables of a data contract. Raises `SpecError`."""
    from kanon_sql.question.contract import read_contract

    options = [
        option for option in _options_set(context, THRESHOLDS) if option not in _CONNECTION_OPTIONS
    ]
    instead = "Write it into its customProperties, or name a table in place of the file."
    _refuse_combined(f"{target} is a data contract", options, instead)
    refuse_idle(values, [key for key in _OF_A_MANIFEST if key != "select"])
    chosen = read_contract(
        Path(target),
        select=[name for text in values["select"] for name in text.split()],
        server=values["server"],
        connect=values["connect"],
    )
    return chosen._replace(spec=_with_thresholds(chosen.spec, values)) if chosen.spec else chosen


def refuse_idle(values: Mapping[str, Any], keys: Sequence[str] | None = None) -> None:
    """Raise `SpecError` for an option of a dbt project without a manifest."""
    for key in (*(_OF_A_MANIFEST if keys is None else keys), "inherit"):
        if values.get(key):
            raise SpecError(
                f"--{key.replace('_', '-')} is for a dbt project and needs --manifest FILE."
            )


_OF_INHERITED = ("k", "l", "t", "check")
"""The options of checks that serve the models without any."""
_OF_A_MANIFEST = ("select", "exclude", "state", "profiles_dir")
_CONNECTION_OPTIONS = ("--connect", "KANON_SQL_CONNECT")


def refuse_options_beside(context: click.Context, verb: str, about: str) -> None:
    """Raise `SpecError` for an option of the question that `verb` does not take."""
    group = context.find_root().command
    assert isinstance(group, click.Group)
    command = group.get_command(context, verb)
    assert command is not None
    idle = _options_set(context, [option.name or "" for option in command.params])
    _refuse_combined(about, idle, "Leave them out.")


def _options_set(context: click.Context, but: Sequence[str] = ()) -> list[str]:
    """The question options that are set, by option or environment variable, `but` for some."""
    sources = {
        option: context.get_parameter_source(option.name or "")
        for option in context.command.params
        if isinstance(option, QuestionOption) and option.name not in but
    }
    return [
        next(filter(os.environ.get, option.envvar or ()), "")
        if source is click.core.ParameterSource.ENVIRONMENT
        else option.opts[0]
        for option, source in sources.items()
        if source is not click.core.ParameterSource.DEFAULT
    ]


def hierarchies(values: Mapping[str, Any]) -> dict[str, GeneralizationHierarchy]:
    """The hierarchies in `--hierarchy` by column. Raises `SpecError`."""
    from kanon_sql.question.hierarchy import parse_builder

    tables = bool(values.get("connect"))
    return of_columns(
        "--hierarchy",
        values.get("hierarchy", ()),
        lambda text, _: parse_builder(text, tables=tables),
    )


def _generalisable(
    quasi_identifiers: Sequence[str], values: Mapping[str, Any], events: Sequence[str]
) -> dict[str, Any]:
    """The quasi-identifiers and event columns with their hierarchy and clip options."""
    from kanon_sql.question.hierarchy import parse_clip

    def read_settings(flag: str) -> dict[str, dict[str, Any]]:
        texts = values.get("clip", ())
        if flag == "--clip":
            return of_columns(flag, texts, lambda text, _: {"clip": parse_clip(text)})
        return {name: hierarchy.model_dump() for name, hierarchy in hierarchies(values).items()}

    names = [*quasi_identifiers, *events]

    def column(name: str) -> str:
        folded = [other for other in names if other.casefold() == name.casefold()]
        spelled = [name] if name in names else folded
        if not spelled and "*" not in names:
            raise SpecError(
                f'"{name}" is not a quasi-identifier, so it takes no hierarchy or clip. '
                + (
                    f"Quasi-identifiers: {', '.join(names)}.{did_you_mean(name, names)}"
                    if names
                    else "There are none: name them with --qi."
                )
            )
        return [*spelled, name][0]

    generalisable: dict[str, Any] = dict.fromkeys(names)
    with Faults() as faults:
        for group in (quasi_identifiers, events):
            with faults.collected():
                refuse_repeated(group, 'column "{}" is named twice. Name it once.')
        for flag in ("--hierarchy", "--clip"):
            with faults.collected():
                settings = read_settings(flag)
                columns = read_each(column, settings)
                refuse_repeated(columns, f'{flag} names "{{}}" twice. Name it once.')
                for name, fields in zip(columns, settings.values(), strict=True):
                    generalisable[name] = (generalisable.get(name) or {}) | fields
    return generalisable


def sizes(values: Mapping[str, Any]) -> list[int] | None:
    """The values of k in `--k`; None without any."""
    numbers = [size for text in values["k"] for size in column_names("--k", text)]
    for size in numbers:
        if not re.fullmatch(r"0*[1-9][0-9]*", size):
            raise SpecError(f"--k must be whole numbers, 1 or more, as in 2,5,10; found {size!r}.")
    return [int(size) for size in numbers] or None


def _checks(
    values: Mapping[str, Any], sensitive: Sequence[str], references: list[str]
) -> list[Model]:
    """The requested checks, short forms first."""
    from kanon_sql.question.arguments import threshold_checks

    with Faults() as faults:
        with faults.collected():
            short = threshold_checks(values, sensitive, references)
        with faults.collected():
            named = read_each(check_named, values["check"])
    return [*short, *named]
