"""Secondary tiers of vLLM's own tiering, and whether a version takes them. Nothing in vLLM checks their keys in time.

kvtier makes file tiers only. vLLM also has one of objects behind an S3 endpoint, but it needs a package that the image
does not come with, and Cloud Storage behind it was never tried: it is Lustre that copies to Cloud Storage.
"""

from typing import Any

from kvtier.engines.versions import EngineFacts

PRESSURE = {"backpressure_cls": "EMABackpressureDetector"}
"""Stores to a tier that has become slow are dropped, not queued. Its limits are vLLM's own, by locality."""


def file_tier(root: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A tier of files below `root`; settings are threads and locality."""
    return {"type": "fs", "root_dir": root, **settings, "backpressure": PRESSURE}


def fault(tier: dict[str, Any], engine: EngineFacts) -> str | None:
    """What vLLM of this version would end on at start, or None for a tier that it takes."""
    kind = tier.get("type")
    keys = engine.secondary_tiers.get(str(kind))
    if keys is None:
        renamed = engine.renamed_tiers.get(str(kind))
        remedy = (
            f"it is called {renamed}" if renamed else f"it knows {', '.join(sorted(engine.secondary_tiers))}"
        )
        return f"vLLM {engine.version} has no secondary tier {kind!r}: {remedy}"
    given = set(tier) - {"type"}
    missing, unknown = sorted(keys.required - given), sorted(given - keys.required - keys.optional)
    if missing:
        return f"secondary tier {kind} lacks {', '.join(missing)}"
    if unknown:
        return f"secondary tier {kind} of vLLM {engine.version} does not know {', '.join(unknown)}"
    return _pressure_fault(tier.get("backpressure", PRESSURE), engine)


def _pressure_fault(pressure: dict[str, Any], engine: EngineFacts) -> str | None:
    unknown = sorted(set(pressure) - engine.backpressure_keys)
    if unknown:
        return f"backpressure of vLLM {engine.version} does not know {', '.join(unknown)}"
    return None if "backpressure_cls" in pressure else "backpressure lacks backpressure_cls"
