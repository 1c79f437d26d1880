"""The rules by which roles pass through the expressions of SQL.

Definitions 20.2 to 20.4. A column carries origins, each in one of nine ways; `RULES` says of each
class of expressions what it does to the ways that arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from sqlglot import exp

HOWS = (
    "carried", "hashed", "combined", "generalised", "looked_up", "derived", "aggregated", "ranked",
    "hinted",
)  # fmt: skip
"""The ways in which a column carries an origin; of two, the first stands."""
CARRIED, HASHED, COMBINED, DERIVED, AGGREGATED, HINTED = map(
    HOWS.index, ("carried", "hashed", "combined", "derived", "aggregated", "hinted")
)
PERSONS = ("identifier", "entity")
"""The roles that say whose row it is."""


class Origin(NamedTuple):
    """A column of a node whose role was declared."""

    node: str
    column: str
    role: str


class Doubt(NamedTuple):
    """A place where lineage is undetermined."""

    reason: str
    what: str
    node: str
    line: int


Flow = Mapping[Origin, int]
"""The origins that a value carries, each with its way as an index of `HOWS`."""
Step = tuple[int, ...]
"""What becomes of each way, in the order of `HOWS`."""
COMBINE: Step = (2, 2, 2, 3, 4, 5, 6, 7, 8)
HASH: Step = (1, 1, 1, 3, 4, 5, 6, 7, 8)
CUT: Step = (3, 1, 3, 3, 4, 5, 6, 7, 8)
GENERALISE: Step = (3, 3, 3, 3, 4, 5, 6, 7, 8)
LOOK_UP: Step = (4, 4, 4, 4, 4, 4, 6, 7, 8)
DERIVE: Step = (5, 5, 5, 3, 4, 5, 6, 7, 8)
REVEAL: Step = (0, 1, 2, 3, 4, 5, 6, 7, 5)
"""Compared, defaulted or tested for NULL: it tells whether a partner is missing."""
AGGREGATE: Step = (6, 6, 6, 6, 6, 6, 6, 7, 6)
OF_ONE: Step = (0, 1, 2, 3, 4, 5, 5, 7, 8)
"""A figure of a group that may be one record."""
ASK: Step = (5, 5, 5, 5, 5, 5, 5, 7, 5)
"""A figure of one person, or what a subquery asks."""
RANK: Step = (7, 7, 7, 7, 7, 7, 7, 7, 7)


class TracedColumn(NamedTuple):
    """A column, or the value of an expression."""

    flows: Flow = MappingProxyType({})
    doubts: frozenset[Doubt] = frozenset()
    figure: str | None = None
    """`count` if it is a number of records, `people` if one of people."""
    is_constant: bool = False
    is_dimension: bool = False
    """Whether groups were made by it."""
    is_mixed: bool = False
    """Whether it holds the entity in some rows, and other origins alone in others."""

    def by(self, step: Step) -> TracedColumn:
        """The value after a step."""
        if not (self.flows or self.doubts):
            return NOTHING
        flows = {origin: step[how] for origin, how in self.flows.items()}
        return TracedColumn(flows, self.doubts, is_mixed=self.is_mixed)

    def doubted(self, doubts: frozenset[Doubt]) -> TracedColumn:
        """What may be any of it."""
        return TracedColumn(self.by(DERIVE).flows, self.doubts | doubts)

    @property
    def is_carrying(self) -> bool:
        return bool(self.flows or self.doubts)

    @property
    def persons(self) -> list[Origin]:
        """The identifiers and entities that it holds one-to-one."""
        return [each for each, how in self.flows.items() if how <= HASHED and each.role in PERSONS]

    @property
    def has_person(self) -> bool:
        """Whether it holds an identifier or entity, alone or with other values."""
        return any(how <= COMBINED and each.role in PERSONS for each, how in self.flows.items())

    @property
    def has_entity(self) -> bool:
        """Whether each row holds an entity one-to-one, alone or with other values."""
        hows = (how for each, how in self.flows.items() if each.role == "entity")
        return not self.is_mixed and any(how <= COMBINED for how in hows)


NOTHING = TracedColumn()
CONSTANT = TracedColumn(is_constant=True)


def merged(columns: Iterable[TracedColumn]) -> TracedColumn:
    """The value that is one of several, or holds them.

    >>> zip_ = Origin("patients", "zip", "quasi_identifier")
    >>> merged([TracedColumn({zip_: 3}), TracedColumn({zip_: 0}), CONSTANT]).flows[zip_]
    0
    """
    parts = [column for column in columns if not column.is_constant]
    if len(parts) < 2:
        return parts[0] if parts else CONSTANT
    flows: dict[Origin, int] = {}
    for part in parts:
        for origin, how in part.flows.items():
            if flows.get(origin, HINTED + 1) > how:
                flows[origin] = how
    doubts = frozenset().union(*(part.doubts for part in parts))
    hold = {part.has_entity for part in parts if part.flows}
    return TracedColumn(
        flows, doubts, is_mixed=len(hold) > 1 or any(each.is_mixed for each in parts)
    )


RULES: Mapping[str, tuple[type[exp.Expr], ...]] = {
    "keep": (
        exp.Alias, exp.Paren, exp.Cast, exp.CastToStrType, exp.Convert, exp.JSONCast, exp.Try,
        exp.Collate, exp.ConvertToCharset, exp.AtTimeZone, exp.FromTimeZone, exp.ConvertTimezone,
        exp.Trim, exp.Upper, exp.Lower, exp.Initcap, exp.Pad, exp.Reverse, exp.Encode, exp.Decode,
        exp.Hex, exp.LowerHex, exp.Unhex, exp.HexDecodeString, exp.TryHexDecodeString,
        exp.TryHexDecodeBinary, exp.Base64Encode, exp.Base64DecodeBinary, exp.Base64DecodeString,
        exp.TryBase64DecodeBinary, exp.TryBase64DecodeString, exp.ToBase64, exp.FromBase64,
        exp.ToBase32, exp.FromBase32, exp.Compress, exp.DecompressString, exp.DecompressBinary,
        exp.Decrypt, exp.DecryptRaw, exp.SafeConvertBytesToString, exp.CodePointsToString,
        exp.ToCodePoints, exp.CodePointsToBytes, exp.StrToDate, exp.StrToTime, exp.ParseTime,
        exp.ParseDatetime, exp.ParseNumeric, exp.ParseBignumeric, exp.ToNumber, exp.ToDouble,
        exp.ToDecfloat, exp.TryToDecfloat, exp.ToVariant, exp.ToBinary, exp.String, exp.Int64,
        exp.Float64, exp.LaxString, exp.LaxInt64, exp.LaxFloat64, exp.LaxBool, exp.JSONBool,
        exp.ParseJSON, exp.JSONFormat, exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract,
        exp.JSONBExtractScalar, exp.JSONExtractArray, exp.JSONValue, exp.JSONValueArray,
        exp.JSONTable, exp.OpenJSON, exp.JSONSet, exp.JSONRemove, exp.JSONStripNulls,
        exp.StripNullValue, exp.Bracket, exp.StructExtract, exp.GetExtract, exp.GetIgnoreCase,
        exp.XMLGet, exp.XMLTable, exp.MapPick, exp.MapDelete, exp.MapKeys, exp.MapFromEntries,
        exp.ToMap, exp.ToArray, exp.ArrayFirst, exp.ArrayLast, exp.ArrayMax, exp.ArrayMin,
        exp.ArraySort, exp.ArrayReverse, exp.ArrayDistinct, exp.ArrayCompact, exp.ArrayRemove,
        exp.ArrayRemoveAt, exp.ArraySlice, exp.Flatten, exp.Explode, exp.ExplodeOuter, exp.Unnest,
        exp.Inline, exp.Stack, exp.Interval, exp.Kwarg, exp.PropertyEQ, exp.Ordered, exp.Distinct,
        exp.IgnoreNulls, exp.RespectNulls, exp.Limit, exp.HavingMax, exp.SafeFunc, exp.Variadic,
        exp.ConnectByRoot,
    ),
    "value": (exp.AggFunc,),
    "default": (exp.Coalesce, exp.Greatest, exp.Least, exp.Nanvl),
    "nothing": (
        exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.DataType, exp.Identifier, exp.JSONPath,
        exp.SessionParameter, exp.Placeholder, exp.HexString, exp.BitString, exp.RawString,
    ),
    "arithmetic": (
        exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Negative, exp.BitwiseNot, exp.BitwiseXor,
        exp.SafeAdd, exp.SafeSubtract, exp.SafeMultiply, exp.SafeDivide, exp.SafeNegate,
        exp.DateAdd, exp.DateSub, exp.DatetimeAdd, exp.DatetimeSub, exp.TimeAdd, exp.TimeSub,
        exp.TimestampAdd, exp.TimestampSub, exp.TsOrDsAdd, exp.AddMonths, exp.IntervalOp,
    ),
    "concatenation": (
        exp.Concat, exp.ConcatWs, exp.DPipe, exp.Array, exp.List, exp.Tuple, exp.Struct, exp.Map,
        exp.VarMap, exp.StarMap, exp.MapCat, exp.MapInsert, exp.JSONObject, exp.JSONArray,
        exp.JSONKeyValue, exp.JSONArrayAppend, exp.JSONArrayInsert, exp.ObjectInsert,
        exp.XMLElement, exp.ArrayToString, exp.ArrayConcat, exp.ArrayAppend, exp.ArrayPrepend,
        exp.ArrayInsert, exp.ArraysZip, exp.ArrayConstructCompact, exp.Stuff, exp.Overlay,
        exp.Format,
    ),
    "hash": (
        exp.MD5, exp.MD5Digest, exp.MD5NumberLower64, exp.MD5NumberUpper64, exp.SHA,
        exp.SHA1Digest, exp.SHA2, exp.SHA2Digest, exp.FarmFingerprint, exp.CityHash64,
        exp.StandardHash, exp.Encrypt, exp.EncryptRaw,
    ),
    "cut": (exp.Left, exp.Right, exp.Substring, exp.SubstringIndex, exp.SplitPart),
    "comparison": (
        exp.Predicate, exp.Connector, exp.Not, exp.IsNullValue, exp.EqualNull, exp.Booland,
        exp.Boolor, exp.Boolnot,
    ),
    "figure": (
        exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.ApproxDistinct, exp.Stddev, exp.StddevPop,
        exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr, exp.CovarPop, exp.CovarSamp,
        exp.Kurtosis, exp.Skewness, exp.LogicalAnd, exp.LogicalOr, exp.Hll, exp.RegrAvgx,
        exp.RegrAvgy, exp.RegrCount, exp.RegrIntercept, exp.RegrR2, exp.RegrSlope, exp.RegrSxx,
        exp.RegrSxy, exp.RegrSyy, exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.BitwiseXorAgg,
        exp.BoolxorAgg, exp.Minhash, exp.MinhashCombine, exp.ApproximateSimilarity, exp.Grouping,
        exp.GroupingId,
    ),
    "rank": (
        exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile,
    ),
    "unknown": (
        exp.Anonymous, exp.AnonymousAggFunc, exp.CombinedAggFunc, exp.ParameterizedAgg,
        exp.CombinedParameterizedAgg, exp.AIAgg, exp.AISummarizeAgg, exp.AIClassify, exp.AIEmbed,
        exp.AIForecast, exp.AIGenerate, exp.AISimilarity, exp.Predict, exp.MLForecast,
        exp.MLTranslate, exp.GenerateBool, exp.GenerateDouble, exp.GenerateEmbedding,
        exp.GenerateInt, exp.GenerateTable, exp.GenerateText, exp.FeaturesAtTime,
        exp.VectorSearch, exp.ReadCSV, exp.ReadParquet, exp.DynamicIdentifier,
    ),
    "case": (exp.Case,),
    "if": (exp.If, exp.Nvl2),
    "decode": (exp.DecodeCase,),
    "nullif": (exp.Nullif,),
    "column": (exp.Column,),
    "star": (exp.Star,),
    "position": (exp.Parameter, exp.PositionalColumn),
    "dot": (exp.Dot,),
    "lambda": (exp.Lambda,),
    "subquery": (exp.Subquery, exp.Query),
    "exists": (exp.Exists,),
    "in": (exp.In,),
    "window": (exp.Window,),
    "filter": (exp.Filter,),
    "within": (exp.WithinGroup,),
    "ordered": (exp.ArgMax, exp.ArgMin, exp.Order),
    "columns": (exp.Columns,),
    "function": (exp.Func, exp.Expr),
}  # fmt: skip
"""What a class of expressions does to the ways that it reads: the class itself, else the nearest.

`keep` and `value` (an aggregate that gives values of somebody) leave them · `default` too, and
reveals · `arithmetic` keeps one value, derives of two · `concatenation` keeps one, combines two ·
`hash` hashes · `cut` keeps a hash, generalises the rest · `function` generalises one origin, and
derives of several · `comparison` is a function that reveals · `figure` aggregates · `rank` and
`ordered` rank their order · `unknown` goes by its name in known_functions.txt, else is doubted ·
the others have methods of their own in `kanon_sql/sql/expression_flows.py`.
"""
_RULE_BY_CLASS = {each: rule for rule, classes in RULES.items() for each in classes}


def rule_of(kind: type[exp.Expr]) -> str:
    """The rule of a class of expressions.

    >>> rule_of(exp.TryCast), rule_of(exp.Max), rule_of(exp.Year), rule_of(exp.EQ)
    ('keep', 'value', 'function', 'comparison')
    """
    if kind not in _RULE_BY_CLASS:
        above = (each for each in kind.__mro__ if each in _RULE_BY_CLASS)
        _RULE_BY_CLASS[kind] = _RULE_BY_CLASS[next(above)]
    return _RULE_BY_CLASS[kind]


@cache
def known_functions() -> Mapping[str, str]:
    """The rule of each function that sqlglot has no class for.

    >>> known_functions()["xxhash64"]
    'hash'
    """
    rules: dict[str, str] = {}
    rule = ""
    text = files(__package__).joinpath("known_functions.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            rule = line.strip("[]")
        elif not line.startswith("#"):
            rules |= dict.fromkeys(line.split(), rule)
    return rules


def ruled(rule: str, values: Sequence[TracedColumn]) -> TracedColumn:
    """The value of an expression by a rule that needs its arguments alone.

    >>> zip_, sex = (Origin("p", name, "quasi_identifier") for name in ("zip", "sex"))
    >>> one, two = TracedColumn({zip_: 0}), TracedColumn({sex: 0})
    >>> [HOWS[how] for how in ruled("concatenation", [one, two, CONSTANT]).flows.values()]
    ['combined', 'combined']
    """
    value = merged(values)
    if rule in ("keep", "value") or not value.is_carrying:
        return value
    of_two = sum(bool(each.flows) for each in values) > 1 and len(value.flows) > 1
    if rule in ("concatenation", "hash") and any(each.has_entity for each in values):
        value = value._replace(is_mixed=False)
    match rule:
        case "default":
            return value.by(REVEAL)
        case "arithmetic":
            return value.by(DERIVE) if of_two else value
        case "concatenation":
            return value.by(COMBINE) if of_two else value
        case "hash":
            return value.by(HASH)
        case "cut" if {*value.flows.values()} == {HASHED}:
            return value
        case "comparison":
            value = value.by(REVEAL)
    if sum(how <= DERIVED for how in value.flows.values()) > 1:
        return value.by(DERIVE)
    return value.by(CUT if rule == "cut" else GENERALISE)
