"""From a plain mapping to frozen dataclasses, with errors that name the path.

Field kinds:

* plain values (``int``, ``float``, ``str``, ``bool``, ``None`` unions, ``Literal``, tuples of
  those) are checked and converted where nothing is lost (an ``int`` for a ``float``);
* a nested dataclass is built from a nested mapping;
* a *slot* (:func:`slot`) holds one of several components: the mapping's ``name`` chooses a
  registry entry, and that entry's ``Config`` class takes the remaining keys;
* an *inert* field (:func:`inert`) is declared to have no effect on results, and the
  fingerprint leaves it out.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from rag_research.errors import ConfigError, did_you_mean
from rag_research.registry import Registry

C = TypeVar("C")


def slot(registry: Registry[Any], default: str | None = None) -> Any:
    """A dataclass field that holds the ``Config`` of one entry of ``registry``.

    Args:
        registry: whose entries may stand here.
        default: the entry used when the key is absent, or gives settings without a ``name``;
            ``None`` makes the key and the name required.
    """
    metadata = {"registry": registry, "default": default}
    if default is None:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(
        default_factory=lambda: build(registry.get(default).Config, {}), metadata=metadata
    )


def inert(default: Any) -> Any:
    """A dataclass field that changes how a run happens but never what comes out."""
    return dataclasses.field(default=default, metadata={"inert": True})


def build(cls: type[C], values: Mapping[str, Any], path: str = "") -> C:
    """Build the frozen dataclass ``cls`` from ``values``.

    Args:
        cls: a dataclass; ``__post_init__`` may raise :class:`ConfigError` or ``ValueError``.
        values: plain mapping, as read from YAML.
        path: dotted position, for messages.

    Raises:
        ConfigError: an unknown key, a missing key, a value of the wrong type, or a value the
            class itself refuses. The message starts with the dotted path.
    """
    where = path or cls.__name__
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}: expected a mapping of settings, got {values!r}.")
    known = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(
                f"{_join(path, str(key))}: {cls.__name__} has no field {key!r}."
                f"{did_you_mean(str(key), known)} Known: {', '.join(known)}."
            )
    hints = typing.get_type_hints(cls)
    arguments: dict[str, Any] = {}
    for name, field in known.items():
        if name in values:
            arguments[name] = _value(field, hints[name], values[name], _join(path, name))
        elif _required(field):
            raise ConfigError(f"{_join(path, name)}: {cls.__name__} needs this key; it is missing.")
    try:
        return cls(**arguments)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error


def to_dict(config: Any, *, with_inert: bool = True) -> Any:
    """The plain mapping ``config`` was built from, defaults filled in.

    Args:
        config: a configuration dataclass, or any plain value inside one.
        with_inert: keep the fields that have no effect on results.
    """
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        return {
            f.name: to_dict(getattr(config, f.name), with_inert=with_inert)
            for f in dataclasses.fields(config)
            if with_inert or not f.metadata.get("inert")
        }
    if isinstance(config, Mapping):
        return {str(k): to_dict(v, with_inert=with_inert) for k, v in config.items()}
    if isinstance(config, (tuple, list)):
        return [to_dict(v, with_inert=with_inert) for v in config]
    return config


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _value(field: dataclasses.Field[Any], hint: Any, value: Any, path: str) -> Any:
    registry = field.metadata.get("registry")
    if registry is not None:
        return _component(registry, field.metadata["default"], value, path)
    return _convert(hint, value, path)


def _component(registry: Registry[Any], default: str | None, value: Any, path: str) -> Any:
    if isinstance(value, str):
        value = {"name": value}
    if isinstance(value, Mapping) and default is not None:
        value = {"name": default, **value}
    if not isinstance(value, Mapping) or "name" not in value:
        raise ConfigError(
            f"{path}: expected a mapping with the key 'name', one of {', '.join(registry)}; "
            f"got {value!r}."
        )
    try:
        component = registry.get(str(value["name"]))
    except ConfigError as error:
        raise ConfigError(f"{path}.name: {error}") from error
    return build(component.Config, value, path)


def _convert(hint: Any, value: Any, path: str) -> Any:
    origin = get_origin(hint)
    if hint is Any:
        return value
    if origin is Literal:
        if value in get_args(hint):
            return value
        allowed = [str(a) for a in get_args(hint)]
        raise ConfigError(
            f"{path}: got {value!r}.{did_you_mean(str(value), allowed)} "
            f"Expected one of: {', '.join(allowed)}."
        )
    if origin in (Union, types.UnionType):
        return _convert_union(hint, value, path)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"{path}: expected a list, got {value!r}.")
        return tuple(_convert(get_args(hint)[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{path}: expected a mapping, got {value!r}.")
        of = get_args(hint)[1]
        return {str(k): _convert(of, v, _join(path, str(k))) for k, v in value.items()}
    if dataclasses.is_dataclass(hint):
        return build(typing.cast(type, hint), value, path)
    return _convert_scalar(hint, value, path)


def _convert_union(hint: Any, value: Any, path: str) -> Any:
    options = get_args(hint)
    if value is None and type(None) in options:
        return None
    rest = [o for o in options if o is not type(None)]
    for option in rest:
        try:
            return _convert(option, value, path)
        except ConfigError:
            if option is rest[-1]:
                raise
    raise ConfigError(f"{path}: got {value!r}.")


def _convert_scalar(hint: type, value: Any, path: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, hint) and not (hint is not bool and isinstance(value, bool)):
        return value
    raise ConfigError(f"{path}: expected {hint.__name__}, got {value!r} ({type(value).__name__}).")
