"""Prerequisites that kvtier judges by a table or a rule, and for which the user vouches."""

from typing import Annotated, Literal

from pydantic import Field

from kvtier.api.conditions import VOUCHABLE
from kvtier.api.reasons import Reason
from kvtier.api.rules import ApiModel

_REASONS = tuple(sorted(reason.value for reason in Reason if reason.vouch))

VouchableType = Literal[VOUCHABLE]  # type: ignore[valid-type]
VouchableReason = Literal[_REASONS]  # type: ignore[valid-type]


class AcknowledgedCondition(ApiModel):
    """A condition that the user accepts while it has this reason. It has no effect while the reason is another one."""

    type: Annotated[VouchableType, Field(description="Type of the condition.")]
    reason: Annotated[VouchableReason, Field(description="Reason of the condition.")]
