"""The command line as a result records it: without credentials, without sensitive values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kanon_sql.cli.option_kinds import split_at_commas
from kanon_sql.files import REDACTED, sha256_of, without_credentials

if TYPE_CHECKING:
    from kanon_sql.question.spec import AuditSpec, TablesKey
    from kanon_sql.results.table import FileDigest

ARGUMENTS = "kanon_sql.arguments"
"""Key in the context's `meta` of the arguments as given."""
_OUTPUT_OPTIONS = ("format", "also", "result", "overwrite", "force", "verbose", "quiet")
"""Options about the form and place of a result, which don't change the question."""
_MOST_FILES = 8
"""Maximum number of files of a glob with a digest each."""


Result = TypeVar("Result")


def with_command(
    result: Result,
    context: click.Context,
    output: Path | None,
    spec: AuditSpec | None = None,
    *,
    always: bool = False,
) -> Result:
    """The result with its command line and the digests of its files, if it is written to a file.
    With an explicit --format they are left out unless `always`."""
    format_source = context.get_parameter_source("format")
    if output is None or not (always or format_source is click.core.ParameterSource.DEFAULT):
        return result
    copied: Any = result
    recorded: Result = replace(copied, asked=command_line(context))
    key: TablesKey = "published" if context.command.name == "tables" else "tables"
    return with_files(recorded, spec, key) if spec else recorded


def with_files(result: Result, spec: AuditSpec, key: TablesKey = "tables") -> Result:
    """The result with the digests of the files that it is about, and the text of the spec."""
    copied: Any = result
    paths = [
        ("source", table.source, *(sorted(glob(table.source)) or [table.source]))
        for table in getattr(spec, key)
        if isinstance(table.source, str) and not table.connect
    ]
    release = copied.anonymization.release if hasattr(copied, "anonymization") else None
    paths += [("release", release.path, release.path)] if release else []
    paths += [("spec", str(spec.path), str(spec.path))] if spec.path else []
    try:
        files = [digest for path in paths for digest in _digests(*path)]
    except OSError:
        return result
    recorded: Result = replace(copied, files=tuple(files), spec=spec.text)
    return recorded


def _digests(role: Any, name: str, *paths: str) -> Iterator[FileDigest]:
    """A digest for each file; for many, one of their list as `sha256sum` prints it."""
    from kanon_sql.results.table import FileDigest

    digests = [FileDigest(role, path, sha256_of(path)) for path in paths if Path(path).is_file()]
    if len(digests) <= _MOST_FILES:
        yield from digests
        return
    listed = "".join(f"{digest.sha256}  {digest.path}\n" for digest in digests)
    yield FileDigest(role, f"{name} ({len(digests)} files)", sha256(listed.encode()).hexdigest())


def command_line(context: click.Context) -> str:
    """The command with its question options in order, followed by those from environment variables.

    URL credentials and values named by checks are omitted.
    """
    return " ".join(shlex.quote(word) for word in _words(context))


def release_command(context: click.Context, *more: str) -> str:
    """The command that makes a release from the question of another command, with `more` options
    in place of its k and algorithm."""
    _, _, *words = _words(context, ("k", "algorithm"))
    return " ".join(shlex.quote(word) for word in ("kanon-sql", "anonymize", *words, *more))


def _words(context: click.Context, but: Sequence[str] = ()) -> Iterator[str]:
    command = context.command
    arguments = list(context.meta[ARGUMENTS])[1:]
    values, _, order = command.make_parser(context).parse_args(arguments)
    yield from ("kanon-sql", command.name or "")
    options = [parameter for parameter in order if isinstance(parameter, click.Option)]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            # Of the context: the parser holds click's own sentinel where no argument is given.
            texts = context.params.get(parameter.name or "") or ()
            yield from map(without_credentials, [texts] if isinstance(texts, str) else texts)
    recorded_options = [
        option for option in dict.fromkeys(options) if _is_recorded(option, command, but)
    ]
    values_of = {option: iter(_as_list(values[option.name])) for option in recorded_options}
    for option in options:
        if option in values_of:
            yield from _option_words(
                option, next(values_of[option], None) if option.multiple else values[option.name]
            )
    for parameter in command.params:
        if isinstance(parameter, click.Option) and _is_recorded(parameter, command, but):
            yield from _variable_words(parameter, context)


def _as_list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else [value]


def _is_recorded(option: click.Option, command: click.Command, but: Sequence[str]) -> bool:
    """Whether an option is part of the question, and not `but` left out; `--output` of anonymize is
    the release."""
    is_release = command.name == "anonymize"
    # Of a release, the seed would tell the people behind its numbers.
    is_of_the_result = option.name in _OUTPUT_OPTIONS or (
        option.name == ("seed" if is_release else "output")
    )
    return not is_of_the_result and option.name not in but


def _variable_words(option: click.Option, context: click.Context) -> Iterator[str]:
    source = context.get_parameter_source(option.name or "")
    text = option.resolve_envvar_value(context)
    if source is click.core.ParameterSource.ENVIRONMENT and text is not None:
        for value in option.type.split_envvar_value(text) if option.multiple else [text]:
            yield from _option_words(option, value)


def _option_words(option: click.Option, value: object) -> Iterator[str]:
    yield option.opts[0]
    if not option.is_flag:
        text = str(value)
        yield _check_without_values(text) if option.name == "check" else without_credentials(text)


def _check_without_values(text: str) -> str:
    """A check with its lists of values redacted.

    >>> _check_without_values('alpha_k_anonymity:alpha=0.5,values=[HIV, "a,b"],k=2')
    'alpha_k_anonymity:alpha=0.5,values=[…],k=2'
    """
    from kanon_sql.question.yaml_document import LISTS_OF_VALUES

    model, colon, parameters = text.partition(":")
    settings = [part.partition("=") for part in split_at_commas(parameters)] if colon else []
    redacted = (
        f"{key}={f'[{REDACTED}]' if key.strip() in LISTS_OF_VALUES else value}"
        for key, _, value in settings
    )
    return f"{model}{colon}{','.join(redacted)}"
