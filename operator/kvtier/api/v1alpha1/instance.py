"""What can be said about a Lustre instance that kvtier creates through the Lustre API, beyond its size."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.google_names import AddressRange

SquashId = Annotated[int, Field(ge=1, le=2_147_483_647)]


class AccessException(ApiModel):
    """Clients whose root stays root. The Lustre API knows no exception the other way round."""

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9_]+$", max_length=16),
        Field(description="Name of the exception: letters, digits and _."),
    ]
    address_ranges: Annotated[
        list[AddressRange],
        Field(
            min_length=1,
            max_length=64,
            description="Clients, as IPv4 addresses or ranges such as 10.0.0.0/24; they may not overlap.",
        ),
    ]


class AccessRules(ApiModel):
    """Who may act as root on the file system."""

    default_squash: Annotated[
        Literal["NoSquash", "RootSquash"],
        Field(
            description="For all clients that no exception names. RootSquash: their root is mapped to squashUID and "
            "squashGID."
        ),
    ]
    squash_uid: Annotated[
        SquashId | None,
        Field(
            alias="squashUID", description="User that root becomes. Needs RootSquash; left out, root stays."
        ),
    ] = None
    squash_gid: Annotated[
        SquashId | None,
        Field(
            alias="squashGID",
            description="Group that root becomes. Needs RootSquash; left out, root's stays.",
        ),
    ] = None
    exceptions: Annotated[
        list[AccessException],
        Field(
            max_length=16,
            json_schema_extra=list_map("name"),
            description="Clients whose root is not mapped. Needs RootSquash.",
        ),
    ] = []

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="squashUID, squashGID and exceptions need defaultSquash RootSquash",
            cel="self.defaultSquash == 'RootSquash' || (!has(self.squashUID) && !has(self.squashGID) && "
            "(!has(self.exceptions) || size(self.exceptions) == 0))",
            holds=lambda access: (
                access.default_squash == "RootSquash"
                or (access.squash_uid is None and access.squash_gid is None and not access.exceptions)
            ),
        ),
    )


class MaintenanceWindow(ApiModel):
    """An hour of the week."""

    day: Annotated[
        Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        Field(description="Day of the week, in UTC."),
    ]
    hour: Annotated[int, Field(ge=0, le=23, description="Hour at which the window begins, in UTC.")]
