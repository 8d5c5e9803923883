"""Paths of LoRA adapters: another one for other weights, and only then."""

from typing import Any

from kvtier.api.v1alpha1 import ServedModel
from kvtier.engines.adapters import directory, modules, sources
from unit.builders import model
from unit.tables import table

SQL = {"name": "sql", "model": "example/sql", "revision": "v2"}


def _model(*adapters: dict[str, Any], **changes: Any) -> ServedModel:
    return ServedModel.model_validate(model(adapters=list(adapters), **changes))


def _path(**changes: Any) -> str:
    return directory(_model({**SQL, **changes}).adapters[0])


@table(
    "changes",
    {
        "another revision": {"revision": "v3"},
        "no revision": {"revision": None},
        "another repository": {"model": "example/sql2"},
        "a path": {"model": "/example/sql"},
        "another name": {"name": "sql2"},
        "the same text, split elsewhere": {"model": "example/sqlv", "revision": "2"},
    },
)
def test_another_path_for(changes: dict[str, Any]) -> None:
    assert _path(**changes) != _path()


def test_the_path_depends_on_nothing_else() -> None:
    other = {"name": "law", "model": "example/law", "revision": "v2"}
    both = _model(other, SQL, model="example/other", revision="main", kvCacheDtype="fp8")
    assert directory(both.adapters[1]) == _path() == "/kv/adapters/sql/" + _path()[-16:]


def test_text_of_users_is_not_part_of_the_path() -> None:
    assert _path(revision="../../etc,x=$(id)\n").removeprefix("/kv/adapters/sql/").isalnum()


def test_engine_and_init_container_use_the_same_paths() -> None:
    of = _model(SQL, {"name": "law", "model": "/models/law"})
    assert modules(of) == [
        f"{one.name}={source['directory']}" for one, source in zip(of.adapters, sources(of), strict=True)
    ]
    assert [(one["model"], one["revision"]) for one in sources(of)] == [
        ("example/sql", "v2"),
        ("/models/law", None),
    ]
