"""Secrets that models name."""

from typing import Any

from kvtier.checks.credentials import check
from unit.builders import facts, model, pool
from unit.tables import table
from unit.verdicts import assert_verdict

GATED = model(tokenSecretRef={"name": "hf", "key": "token"})
OTHER = model(name="other", tokenSecretRef={"name": "more", "key": "token"})


@table(
    "models, secrets, verdict",
    {
        "no model names a Secret": ([model()], {}, ("True", "Present", "")),
        "the key is there": ([GATED], {"hf": frozenset({"token", "x"})}, ("True", "Present", "")),
        "the Secret is not there: the message creates it": (
            [GATED],
            {"hf": frozenset()},
            (
                "False",
                "SecretMissing",
                "model llama: Secret hf has no key token. Create it with kubectl -n team-a create secret generic hf "
                "--from-literal=token=TOKEN",
            ),
        ),
        "the Secret has another key": ([GATED], {"hf": frozenset({"TOKEN"})}, ("False", "SecretMissing", "")),
        "a Secret that may not be read cannot be judged": (
            [GATED],
            {"hf": None},
            ("Unknown", "NotReadable", "Secret hf could not be read: grant kvtier get on secrets"),
        ),
        "a Secret that was not looked at cannot be judged": ([GATED], {}, ("Unknown", "NotReadable", "")),
        "a missing Secret weighs more than an unreadable one": (
            [GATED, OTHER],
            {"hf": None, "more": frozenset()},
            ("False", "SecretMissing", "model other: Secret more"),
        ),
    },
)
def test_credentials(models: Any, secrets: Any, verdict: tuple[str, str, str]) -> None:
    assert_verdict(check(pool(models=models), facts(secrets=secrets)), "CredentialsPresent", *verdict)
