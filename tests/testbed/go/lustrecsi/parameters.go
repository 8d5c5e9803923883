package lustrecsi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

const (
	gib              = int64(1) << 30
	minVolumeBytes   = 9000 * gib
	zoneKey          = "topology.gke.io/zone"
	namespaceLabel   = "kubernetes_io_created-for_pvc_namespace"
	maxDescription   = 2048
	throughputErrFmt = "invalid perUnitStorageThroughput %s, must be 1000, 500, 250 or 125"
)

var (
	parameterKeys = []string{"description", "labels", "network", "filesystem", "perunitstoragethroughput"}
	systemKeys    = []string{"csi.storage.k8s.io", "storage.kubernetes.io"}
	claimLabels   = map[string]string{
		"csi.storage.k8s.io/pvc/name":      "kubernetes_io_created-for_pvc_name",
		"csi.storage.k8s.io/pvc/namespace": namespaceLabel,
		"csi.storage.k8s.io/pv/name":       "kubernetes_io_created-for_pv_name",
	}
	networkName     = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	networkFullName = regexp.MustCompile(`projects/([^/]+)/global/networks/([^/]+)`)
	labelKey        = regexp.MustCompile(`^\p{Ll}[\p{Ll}0-9_-]{0,62}$`)
	labelValue      = regexp.MustCompile(`^[\p{Ll}0-9_-]{0,63}$`)
)

// normalise makes keys comparable: case, dashes and underscores don't count.
func normalise(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

// normaliseParameters returns the parameters of a StorageClass by normalised
// key, or an error that lists unsupported or duplicate ones.
func normaliseParameters(raw map[string]string) (map[string]string, error) {
	parameters := map[string]string{}
	var unsupported, duplicate []string
	for key, value := range raw {
		normal := normalise(key)
		isSystem := slices.ContainsFunc(systemKeys, func(p string) bool { return strings.HasPrefix(normal, p) })
		if !isSystem && !slices.Contains(parameterKeys, normal) {
			unsupported = append(unsupported, key)
		}
		if _, seen := parameters[normal]; seen {
			duplicate = append(duplicate, key)
		}
		parameters[normal] = value
	}
	slices.Sort(unsupported)
	slices.Sort(duplicate)
	if len(unsupported) > 0 {
		return nil, fmt.Errorf("failed to process parameters: unsupported keys: %+v", unsupported)
	}
	if len(duplicate) > 0 {
		return nil, fmt.Errorf("failed to process parameters: duplicate keys: %+v", duplicate)
	}
	return parameters, nil
}

// newInstance is the instance that a CreateVolume request asks for.
func (d *driver) newInstance(req *csi.CreateVolumeRequest) (*Instance, error) {
	bytes, err := requestedBytes(req.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	parameters, err := normaliseParameters(req.GetParameters())
	if err != nil {
		return nil, err
	}
	zone, err := d.pickZone(req.GetAccessibilityRequirements())
	if err != nil {
		return nil, fmt.Errorf("invalid topology: %w", err)
	}
	throughput, err := parseThroughput(parameters)
	if err != nil {
		return nil, err
	}
	description := parameters["description"]
	return &Instance{
		Name:                     strings.ToLower(req.GetName()),
		Location:                 zone,
		Network:                  expandNetwork(d.project, parameters["network"]),
		CapacityGiB:              bytes / gib,
		PerUnitStorageThroughput: throughput,
		Filesystem:               parameters["filesystem"],
		Description:              description[:min(len(description), maxDescription)],
	}, nil
}

func requestedBytes(r *csi.CapacityRange) (int64, error) {
	required, limit := r.GetRequiredBytes(), r.GetLimitBytes()
	if limit > 0 && required > 0 && limit < required {
		return 0, fmt.Errorf("limit bytes %v is less than required bytes %v", limit, required)
	}
	if limit > 0 && limit < minVolumeBytes {
		return 0, fmt.Errorf("limit bytes %v is less than minimum volume size: %v", limit, minVolumeBytes)
	}
	if required > 0 {
		return required, nil
	}
	return minVolumeBytes, nil
}

func parseThroughput(parameters map[string]string) (int64, error) {
	text, set := parameters["perunitstoragethroughput"]
	if !set {
		return 0, errors.New("parameter 'perUnitStorageThroughput' is required; supported values are 1000, 500, 250, or 125")
	}
	if !slices.Contains([]string{"1000", "500", "250", "125"}, text) {
		return 0, fmt.Errorf(throughputErrFmt, text)
	}
	return strconv.ParseInt(text, 10, 64)
}

// expandNetwork falls back to the default network, silently, as the driver does.
func expandNetwork(project, network string) string {
	if networkFullName.MatchString(network) {
		return network
	}
	if !networkName.MatchString(network) {
		network = "default"
	}
	return fmt.Sprintf("projects/%s/global/networks/%s", project, network)
}

func (d *driver) pickZone(topology *csi.TopologyRequirement) (string, error) {
	if topology == nil {
		return d.zone, nil
	}
	requisite, err := zones(topology.GetRequisite())
	if err != nil {
		return "", fmt.Errorf("could not get zones from requisite topology: %w", err)
	}
	preferred, err := zones(topology.GetPreferred())
	if err != nil {
		return "", fmt.Errorf("could not get zones from preferred topology: %w", err)
	}
	all := append(preferred, requisite...)
	if len(all) == 0 {
		return "", errors.New("both requisite and preferred topology list empty")
	}
	return all[0], nil
}

func zones(topologies []*csi.Topology) ([]string, error) {
	var found []string
	for _, topology := range topologies {
		for key := range topology.GetSegments() {
			if key != zoneKey {
				return nil, fmt.Errorf("could not get zone from topology: topology segment has unknown key %v", key)
			}
		}
		zone := topology.GetSegments()[zoneKey]
		if zone == "" {
			return nil, errors.New("topologies specified but no segments")
		}
		found = append(found, zone)
	}
	return found, nil
}

// instanceLabels joins the labels of the class with those that name the PVC of
// the instance. A class may not set the latter.
func instanceLabels(raw map[string]string) (map[string]string, error) {
	labels := map[string]string{"storage_gke_io_created-by": strings.ReplaceAll(DriverName, ".", "_")}
	var own map[string]string
	for key, value := range raw {
		if label, ok := claimLabels[strings.ToLower(key)]; ok {
			labels[label] = value
		} else if strings.EqualFold(key, "labels") {
			var err error
			if own, err = parseLabels(value); err != nil {
				return nil, fmt.Errorf("parameters contain invalid labels parameter: %w", err)
			}
		}
	}
	for key, value := range own {
		if _, reserved := labels[key]; reserved {
			return nil, fmt.Errorf("StorageClass labels cannot contain metadata label key %s", key)
		}
		labels[key] = value
	}
	return labels, nil
}

func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	if text == "" {
		return labels, nil
	}
	for _, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || strings.Contains(value, "=") {
			return nil, fmt.Errorf("labels %q are invalid, correct format: 'key1=value1,key2=value2'", text)
		}
		if !labelKey.MatchString(key) || !labelValue.MatchString(value) {
			return nil, fmt.Errorf("label value %q is invalid (lowercase letter, digit, _ and - chars are allowed)", pair)
		}
		labels[key] = value
	}
	return labels, nil
}
