"""A `podTemplate` with every field, in a form that the API server accepts in a Deployment."""

from typing import Any

_LABELS = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
_NEAR = {"topologyKey": "kubernetes.io/hostname", "labelSelector": _LABELS}
_WITH_SSD = {"matchExpressions": [{"key": "ssd", "operator": "In", "values": ["true"]}]}
_PROBE = {
    "httpGet": {"path": "/", "port": "web", "httpHeaders": [{"name": "A", "value": "b"}]},
    "periodSeconds": 1,
}
_VARIABLES = [
    {"name": "A", "value": "b"},
    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
]
_TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}

SIDECAR: dict[str, Any] = {
    "name": "logs",
    "image": "example/logs",
    "command": ["/bin/logs"],
    "args": ["$(A)"],
    "env": _VARIABLES,
    "envFrom": [{"prefix": "X_", "secretRef": {"name": "keys", "optional": True}}],
    "ports": [{"name": "web", "containerPort": 9000}, {"containerPort": 9000, "protocol": "UDP"}],
    "resources": {"requests": {"cpu": 1, "memory": "64Mi"}, "limits": {"cpu": "1500m"}},
    "livenessProbe": _PROBE,
    "readinessProbe": {"tcpSocket": {"port": 9000}},
    "startupProbe": {"exec": {"command": ["true"]}, "failureThreshold": 30},
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    "securityContext": {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}},
    "volumeMounts": [{"name": "host", "mountPath": "/host", "readOnly": True, "subPath": "a"}],
    "workingDir": "/host",
}
ADDITIONS: dict[str, Any] = {
    "labels": {"example.com/team": "a", "app": ""},
    "annotations": {"note": "anything: {}\n\"'$"},
    "serviceAccountName": "reader",
    "priorityClassName": "high",
    "preemptionPolicy": "PreemptLowerPriority",
    "runtimeClassName": "gvisor",
    "schedulerName": "other",
    "schedulingGates": [{"name": "example.com/quota"}],
    "terminationGracePeriodSeconds": 600,
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_WITH_SSD]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": _WITH_SSD}],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [_NEAR],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": _NEAR}],
        },
    },
    "tolerations": [{"operator": "Exists"}, {"key": "a", "effect": "NoSchedule", "value": ""}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}],
    "resourceClaims": [{"name": "nic", "resourceClaimName": "nic"}],
    "readinessGates": [{"conditionType": "example.com/registered"}],
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["10.0.0.10"], "options": [{"name": "ndots", "value": "2"}]},
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["hub.example"]}],
    "hostname": "engine",
    "subdomain": "engines",
    "setHostnameAsFQDN": False,
    "shareProcessNamespace": True,
    "hostUsers": True,
    "securityContext": {"supplementalGroups": [2000], "fsGroupChangePolicy": "OnRootMismatch"},
    "volumes": [
        {"name": "host", "hostPath": {"path": "/var/log", "type": "Directory"}},
        {"name": "models", "csi": {"driver": "x", "volumeAttributes": {"a": "b"}}},
        {"name": "block", "persistentVolumeClaim": {"claimName": "block"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": _TEMPLATE}},
        {"name": "disk", "iscsi": {"targetPortal": "10.0.0.2", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
        {
            "name": "all",
            "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}], "defaultMode": 420},
        },
    ],
    "volumeMounts": [{"name": "models", "mountPath": "/models", "subPath": "a/b", "readOnly": False}],
    "volumeDevices": [{"name": "block", "devicePath": "/dev/xvda"}],
    "initContainers": [{"name": "fetch", "image": "x", "restartPolicy": "Always"}],
    "containers": [SIDECAR],
    "ports": [{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "5"]}}},
    "imagePullPolicy": "Always",
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    "workingDir": "/models",
    "terminationMessagePath": "/dev/other",
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "stdin": True,
    "stdinOnce": True,
    "tty": True,
}
EXCLUSIVE = {"hostnameOverride", "schedulingGroup"}
"""Fields that need a feature gate, or that exclude another field."""
