"""What the Managed Lustre API says of instances, remembered for a while."""

from kvtier.facts.lustre.reader import LustreReader

__all__ = ["LustreReader"]
