"""Every field of `podTemplate` reaches the engine Pods, and none replaces what kvtier renders."""

from typing import Any

import pytest

from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1.pod_template import PodTemplate
from unit.api.pod_fields import ADDITIONS, EXCLUSIVE
from unit.builders import manifest, model, pool, write_probe
from unit.tables import table

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
FIELDS = sorted(field.alias or "" for field in PodTemplate.model_fields.values())
ELSEWHERE = {"labels", "annotations", "affinity", "securityContext", "initContainers", "containers", "ports"}
OTHERS: dict[str, Any] = {"hostnameOverride": "other", "schedulingGroup": {"podGroupName": "a"}}
EMPTY = [name for name in FIELDS if isinstance(ADDITIONS.get(name), dict | list)]


def _template(tiers: dict[str, Any] | None = None, **additions: Any) -> dict[str, Any]:
    of = pool(tiers=tiers or {}, models=[model(podTemplate=additions)])
    template: dict[str, Any] = manifest(of, "Deployment")["spec"]["template"]
    return template


PLAIN = _template()


def test_there_is_an_example_of_every_field() -> None:
    assert sorted({*ADDITIONS, *OTHERS}) == FIELDS
    assert set(OTHERS) == EXCLUSIVE


@pytest.mark.parametrize("field", [name for name in FIELDS if name not in ELSEWHERE])
def test_a_field_is_set_as_written(field: str) -> None:
    value = {**ADDITIONS, **OTHERS}[field]
    pod = _template(**{field: value})["spec"]
    own = PLAIN["spec"]
    if field in pod and pod[field] != own.get(field):
        made, before = pod[field], own.get(field)
    else:
        made, before = pod["containers"][0][field], own["containers"][0].get(field)
    if isinstance(value, list):
        made, value = made[-len(value) :], [{**item, **_selector(field, made[-1])} for item in value]
    assert made == value
    assert before is None or isinstance(before, list) or field == "terminationGracePeriodSeconds"


def _selector(field: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"labelSelector": item["labelSelector"]} if field == "topologySpreadConstraints" else {}


@pytest.mark.parametrize("field", EMPTY)
def test_an_empty_value_changes_nothing(field: str) -> None:
    assert _template(**{field: type(ADDITIONS[field])()}) == PLAIN


def test_ports_are_added_to_the_engine_port() -> None:
    own, metrics = _template(ports=ADDITIONS["ports"])["spec"]["containers"][0]["ports"]
    assert [own] == PLAIN["spec"]["containers"][0]["ports"]
    assert metrics == ADDITIONS["ports"][0]


def test_the_security_settings_are_added_to_the_user() -> None:
    made = _template(securityContext=ADDITIONS["securityContext"])["spec"]["securityContext"]
    assert made == {**PLAIN["spec"]["securityContext"], **ADDITIONS["securityContext"]}


def test_the_image_is_pulled_in_one_way_by_all_containers_that_have_it() -> None:
    served = model(
        engine={"backend": "LMCache", "lmcache": {"version": "0.5.6"}},
        podTemplate={"imagePullPolicy": "Never"},
    )
    pod = manifest(pool(models=[served]), "Deployment")["spec"]["template"]["spec"]
    probe = write_probe(pool(models=[served], tiers={"lustre": {"prepareAsRoot": True}})).manifest
    job = probe["spec"]["template"]["spec"]
    for container in (
        one for of in (pod, job) for key in ("containers", "initContainers") for one in of[key]
    ):
        assert container["imagePullPolicy"] == "Never"


SSD = {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}
NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
IN_ZONE = {"key": ZONE, "operator": "In", "values": ["us-central1-a"]}


def _nodes(*terms: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}, **more}}}


@table(
    "given, terms",
    {
        "none": ({}, [{"matchExpressions": [IN_ZONE]}]),
        "no terms": (_nodes(), [{"matchExpressions": [IN_ZONE]}]),
        "a term with labels": (
            _nodes(SSD),
            [{"matchExpressions": [*SSD["matchExpressions"], IN_ZONE]}],
        ),
        "a term with a name": (_nodes(NAMED), [{**NAMED, "matchExpressions": [IN_ZONE]}]),
        "two terms, of which a node must match one": (
            _nodes(SSD, NAMED),
            [
                {"matchExpressions": [*SSD["matchExpressions"], IN_ZONE]},
                {**NAMED, "matchExpressions": [IN_ZONE]},
            ],
        ),
        "an empty term, which matches no node": (_nodes({}), [{}]),
    },
)
def test_the_zone_is_required_in_every_term(given: dict[str, Any], terms: list[dict[str, Any]]) -> None:
    affinity = _template(**given)["spec"]["affinity"]
    assert affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == terms


def test_other_affinity_stays_as_written() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": SSD}]}
    apart = ADDITIONS["affinity"]["podAntiAffinity"]
    given = _nodes(SSD, **preferred)["affinity"] | {"podAntiAffinity": apart}
    made = _template(affinity=given)["spec"]["affinity"]
    assert made["podAntiAffinity"] == apart
    assert preferred.items() <= made["nodeAffinity"].items()
    without_zone = _template(tiers={"lustre": None}, affinity=given)["spec"]["affinity"]
    assert without_zone == given


def test_the_write_probe_has_the_nodes_of_the_engines_but_not_their_neighbours() -> None:
    given = pool(models=[model(podTemplate={**ADDITIONS, "hostname": "a"})])
    pod = write_probe(given).manifest["spec"]["template"]["spec"]
    engine = manifest(given, "Deployment")["spec"]["template"]["spec"]
    assert pod["affinity"] == {"nodeAffinity": engine["affinity"]["nodeAffinity"]}
    assert pod["securityContext"] == engine["securityContext"]
    assert pod["preemptionPolicy"] == engine["preemptionPolicy"]
    assert not {"hostname", "dnsConfig", "schedulingGates", "topologySpreadConstraints"} & set(pod)
