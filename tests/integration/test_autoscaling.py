"""Replicas that an autoscaler owns: kvtier does not write them."""

from testbed import operator_process
from testbed.control_plane.proxy import Fault
from testbed.fault_injection import FaultyCluster

DEPLOYMENT = ("apps/v1", "Deployment")


def test_replicas_that_an_autoscaler_owns_are_never_written(faulty: FaultyCluster) -> None:
    with faulty.operator("--resync-seconds", "1") as process:
        pools = faulty.ready_pool(models__0__autoscaling={"provider": "External"})
        for replicas in (4, 0, 2):
            pools.patch_deployment({"spec": {"replicas": replicas}})
            listed = operator_process.logged(process).count("Listed ")
            operator_process.await_log(process, "Listed ", listed + 2)
            assert pools.deployment_spec()["replicas"] == replicas
        faulty.until(lambda: pools.get("pool")["status"]["models"][0]["replicas"] == 2)


def test_running_engines_are_kept_when_an_autoscaler_takes_over(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = faulty.ready_pool(models__0__replicas=5)
        seen: set[int] = set()
        model = {key: v for key, v in pools.get("pool")["spec"]["models"][0].items() if key != "replicas"}
        pools.patch("pool", {"models": [model | {"autoscaling": {"provider": "External"}, "maxNumSeqs": 7}]})

        def applied() -> bool:
            seen.add(pools.deployment_spec()["replicas"])
            return "--max-num-seqs=7" in str(pools.deployment_spec())

        faulty.until(applied)
        assert seen == {pools.deployment_spec()["replicas"]} == {5}


def test_a_change_of_the_spec_does_not_overwrite_replicas_that_an_autoscaler_just_set(
    faulty: FaultyCluster,
) -> None:
    with faulty.operator("--resync-seconds", "1"):
        pools = faulty.ready_pool(models__0__autoscaling={"provider": "External"})
        name = pools.child(*DEPLOYMENT)["metadata"]["name"]
        faulty.proxy.await_watches("/deployments.*watch=true")
        faulty.proxy.inject(Fault("withhold", "GET", path="/deployments.*watch=true", times=None))
        late = faulty.proxy.inject(Fault("hold", "GET", r"/deployments\?limit=", times=None))
        faulty.until(lambda: late.hits)
        pools.patch_deployment({"spec": {"replicas": 4}})
        start = len(faulty.proxy.requests)
        pools.patch("pool", {"models": [pools.get("pool")["spec"]["models"][0] | {"maxNumSeqs": 7}]})
        faulty.until(
            lambda: any("PATCH" in one and name in one for one in faulty.proxy.requests[start:]),
            "it writes with its old information",
        )
        faulty.proxy.remove()
        faulty.until(lambda: "--max-num-seqs=7" in str(pools.deployment_spec()))
        assert pools.deployment_spec()["replicas"] == 4


def test_replicas_follow_the_spec_again_without_an_autoscaler(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = faulty.ready_pool(models__0__autoscaling={"provider": "External"})
        pools.patch_deployment({"spec": {"replicas": 4}})
        model = {key: v for key, v in pools.get("pool")["spec"]["models"][0].items() if key != "autoscaling"}
        pools.patch("pool", {"models": [model | {"replicas": 3}]})
        faulty.until(lambda: pools.deployment_spec()["replicas"] == 3)
