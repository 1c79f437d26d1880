"""Pydantic models whose attribute docstrings reach `help()` as well as the JSON Schema.

Pydantic validates, and its machinery stays out of `help()`. Docstrings are parsed from the source,
and validators built, on first use: most programs use few of the models.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema

from kanon_sql.errors import SpecError, described_value, did_you_mean, in_one

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _Kind(ModelMetaclass):
    """Metaclass that gives `help()` and `inspect.signature` the docstrings and parameters."""

    def __call__(cls, *by_place: Any, **parameters: Any) -> Any:
        """Raise `SpecError` in place of pydantic's error, which repeats what it was given.

        Pydantic builds the parts of a mapping without this call, so that it knows their places.
        """
        try:
            return super().__call__(*by_place, **parameters)
        except ValidationError as error:
            faults = error.errors(include_url=False)
            unknown = [fault for fault in faults if fault["type"] == "extra_forbidden"]
            described: Any = cls
            # A parameter that is missing beside an unknown one is probably the same.
            raise in_one(map(described.refusal, unknown or faults)) from None

    @property
    def __signature__(cls) -> inspect.Signature:
        return inspect.Signature(list(_parameters(cls)))

    @__signature__.setter
    def __signature__(cls, _: Any) -> None:
        """Ignored: pydantic's signature shows its validators."""

    @property
    def __doc__(cls) -> str:  # type: ignore[override]
        """The class's docstring, the description of each parameter, and the closing words."""
        summary = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
        parameters = [
            textwrap.fill(f"{name}: {text}", 92, subsequent_indent="    ")
            for name, text in descriptions(cls).items()
        ]
        return "\n\n".join(
            [summary, "\n".join(parameters), *getattr(cls, "closing", list)()]
        ).strip()

    def __dir__(cls) -> list[str]:
        names = {name for base in _described_bases(cls) for name in vars(base) if _is_public(name)}
        return sorted(names.intersection(getattr(cls, "listed", ()) or names))


class Described(BaseModel, metaclass=_Kind):
    """A frozen model whose fields are described by the docstrings below them."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    unnamed: ClassVar[tuple[str, ...]] = ()
    """The positional parameters."""
    listed: ClassVar[tuple[str, ...]] = ()
    """The members that `help()` lists; by default all public ones."""

    @classmethod
    def closing(cls) -> list[str]:
        """Paragraphs that end the docstring."""
        return []

    def __dir__(self) -> list[str]:
        return [*dir(type(self)), *type(self).model_fields]

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The fields that differ from their defaults."""
        shown = dict(super().__repr_args__())
        for name, field in type(self).model_fields.items():
            if name in shown and shown[name] != field.get_default(call_default_factory=True):
                yield name, shown[name]

    def __str__(self) -> str:
        return repr(self)

    @classmethod
    def refusal(cls, fault: Any) -> SpecError:
        """A fault that pydantic found, in words and with its place."""
        location, message, at_key = described_fault(
            fault, "", lambda key: did_you_mean(key, cls.model_fields)
        )
        steps = [step for step in location[: -1 if at_key else None] if isinstance(step, str)]
        return SpecError(": ".join([*filter(None, [".".join(steps)]), message]))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core)
        class_schema = handler.resolve_ref_schema(schema)
        class_schema["description"] = inspect.cleandoc(cls.__dict__["__doc__"])
        properties = class_schema["properties"]
        for name, text in descriptions(cls).items():
            if name in properties:
                properties[name]["description"] = text
        return schema


def descriptions(described: Any) -> dict[str, str]:
    """The description of each field, by name.

    >>> from kanon_sql.models.sizes.models import SampleUniqueness
    >>> descriptions(SampleUniqueness)
    {'max_share': 'Maximum share of records that are alone in their class.'}
    """
    texts: dict[str, str] = {}
    for base in reversed(_described_bases(described)):
        texts |= texts_below(base)
    return {name: texts[name] for name in described.model_fields if name in texts}


def _described_bases(described: Any) -> list[Any]:
    """The class and its described bases."""
    return [kind for kind in described.__mro__ if isinstance(kind, _Kind) and kind is not Described]


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in ("model_config", "model_post_init", "unnamed")


@cache
def texts_below(described: Any) -> dict[str, str]:
    """The docstring below each annotated name; empty if the source is not available."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(described)))
    except OSError:
        return {}
    [definition] = tree.body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for statement, below in zip(definition.body, definition.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[statement.target.id] = inspect.cleandoc(str(below.value.value))
    return texts


def _parameters(described: Any) -> Iterator[inspect.Parameter]:
    """The parameters as users write them, positional ones first."""
    unnamed = described.unnamed if issubclass(described, Described) else ()
    named = [name for name in described.model_fields if name not in unnamed]
    for name in (*unnamed, *named):
        field = described.model_fields[name]
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY if name in named else _BY_PLACE,
            default=inspect.Parameter.empty if field.is_required() else field.get_default(),
            annotation=_without_validators(field.annotation),
        )


_BY_PLACE = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _without_validators(annotation: Any) -> Any:
    """An annotation without its validators.

    >>> _without_validators(Annotated[int, "checked"] | None), _without_validators(tuple[Any, ...])
    (int | None, list[typing.Any])
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _without_validators(inner[0])
    if origin in (Union, types.UnionType):
        members = [_without_validators(argument) for argument in inner]
        kinds = [member for member in members if not (member is int and float in members)]
        return reduce(or_, kinds)
    if origin is tuple:
        return types.GenericAlias(list, inner[:1])
    if origin in (None, Literal):
        return annotation
    return origin[tuple(_without_validators(argument) for argument in inner)]


Fault = tuple[Sequence[int | str], str, bool]
"""A location, a message, and whether the key itself is at fault."""


def described_fault(fault: Any, place: str, instead: Callable[[str], str]) -> Fault:
    """A fault found by pydantic, in words; `place` follows the name of its key, and `instead` gives
    the advice on an unknown one."""
    location, description = fault["loc"], described_value(fault["input"])
    key = location[-1] if location else ""
    match fault["type"]:
        case "value_error":
            cause = fault["ctx"]["error"]
            message = getattr(cause, "marked", str(cause))
            is_sentence = message.endswith((".", "?")) or "\n" in message
            return location, message if is_sentence else f"{message}; found {description}.", False
        case "extra_forbidden":
            return location, f'unknown key "{key}"{place}.{instead(str(key))}', True
        case "missing":
            return location[:-1], f'the key "{key}" is missing{place}.', False
        case "literal_error":
            return location, f"must be {fault['ctx']['expected']}; found {description}.", False
        case "bool_parsing" | "bool_type":
            return location, f"must be yes or no; found {description}.", False
        case "greater_than_equal":
            return location, f"must be {fault['ctx']['ge']} or more; found {description}.", False
        case "greater_than":
            return location, f"must be above {fault['ctx']['gt']}; found {description}.", False
        case "string_type" if isinstance(fault["input"], int | float):
            return (
                location,
                f"must be text; found {description}. Put a name like that in quotes.",
                False,
            )
        case "too_short" | "string_too_short":
            return location, "must not be empty.", False
        case "string_too_long":
            return location, f"must be one character; found {description}.", False
    expected = next((words for kind, words in _EXPECTED.items() if kind in fault["type"]), None)
    expected = expected or fault["msg"].removeprefix("Input should be ")
    return location, f"must be {expected}; found {description}.", False


_EXPECTED = {
    "invalid_key": "written with names for keys",
    "model": "a mapping of keys to values",
    "dict": "a mapping of keys to values",
    "list": "a list",
    "string": "text",
}
"""Pydantic's error types and the expected type in words."""
