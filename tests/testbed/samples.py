"""What the sample pools take for granted of Google Cloud."""

from pathlib import Path

from testbed.commands import PROJECT
from testbed.lustre_client import LustreAPIClient
from testbed.lustre_documents import instance, refusal

SAMPLES = sorted((Path(__file__).parents[2] / "manifests" / "samples").glob("*.yaml"))


def prepare(api: LustreAPIClient) -> None:
    """The instances that they name, and the project that hides its own.

    Nobody runs the engines' Jobs here, so nobody makes the directory that an import goes to.
    """
    api.project("my-project").put("shared-cache", instance(36000))
    api.project("their-project").fail(refusal("PERMISSION_DENIED"), times=-1)
    api.project(PROJECT).configure(any_directory=True)
