package lustrecsi

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const volume = "testbed-project/us-central1-a/pvc-1"

func newDriver(t *testing.T, file string) *driver {
	t.Helper()
	c, err := newCloud(file)
	if err != nil {
		t.Fatal(err)
	}
	return &driver{cloud: c, project: "testbed-project", zone: "us-central1-a"}
}

func fresh(t *testing.T) *driver { return newDriver(t, filepath.Join(t.TempDir(), "state.json")) }

func request(gibs int64, parameters map[string]string) *csi.CreateVolumeRequest {
	if parameters == nil {
		parameters = map[string]string{"perUnitStorageThroughput": "1000"}
	}
	return &csi.CreateVolumeRequest{
		Name:          "pvc-1",
		CapacityRange: &csi.CapacityRange{RequiredBytes: gibs * gib},
		Parameters:    parameters,
		VolumeCapabilities: []*csi.VolumeCapability{{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER},
		}},
	}
}

func expand(gibs int64) *csi.ControllerExpandVolumeRequest {
	return &csi.ControllerExpandVolumeRequest{VolumeId: volume, CapacityRange: &csi.CapacityRange{RequiredBytes: gibs * gib}}
}

// short is a deadline of a sidecar that expires before any operation ends.
func short(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func wantError(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), text) {
		t.Errorf("got %v, want %v with %q", err, code, text)
	}
}

func mustCreate(t *testing.T, d *driver) *csi.Volume {
	t.Helper()
	response, err := d.CreateVolume(context.Background(), request(9000, nil))
	if err != nil {
		t.Fatal(err)
	}
	return response.GetVolume()
}

func TestCreateVolumeRefuses(t *testing.T) {
	with := func(extra ...string) map[string]string {
		parameters := map[string]string{"perUnitStorageThroughput": "1000"}
		for i := 0; i < len(extra); i += 2 {
			parameters[extra[i]] = extra[i+1]
		}
		return parameters
	}
	for name, c := range map[string]struct {
		gibs       int64
		parameters map[string]string
		text       string
	}{
		"no throughput":      {9000, map[string]string{}, "'perUnitStorageThroughput' is required"},
		"unknown throughput": {9000, with("perUnitStorageThroughput", "777"), "invalid perUnitStorageThroughput 777"},
		"unknown key":        {9000, with("colour", "red"), "unsupported keys: [colour]"},
		"one key twice":      {9000, with("per-unit-storage-throughput", "500"), "duplicate keys"},
		"reserved label":     {9000, with("labels", "storage_gke_io_created-by=me"), "metadata label key"},
		"malformed labels":   {9000, with("labels", "a"), "correct format"},
		"filesystem name":    {9000, with("filesystem", "9lives"), "invalid filesystem"},
		"too small":          {1, with(), "must be between 9000"},
		"9Ti":                {9216, with(), "must be a multiple of 9000"},
		"large step":         {1_539_000, with(), "must be a multiple of 72000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fresh(t).CreateVolume(context.Background(), request(c.gibs, c.parameters))
			wantError(t, err, codes.InvalidArgument, c.text)
		})
	}
}

func TestCreateVolumeTakesTheZoneAndNetworkThatTheDriverWould(t *testing.T) {
	d := fresh(t)
	r := request(9000, map[string]string{"per_unit_storage_throughput": "1000", "Network": "Not A Name"})
	segments := map[string]string{zoneKey: "us-central1-b"}
	r.AccessibilityRequirements = &csi.TopologyRequirement{Requisite: []*csi.Topology{{Segments: segments}}}
	if _, err := d.CreateVolume(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	got := d.cloud.get("pvc-1")
	if got.Location != "us-central1-b" || got.Network != "projects/testbed-project/global/networks/default" {
		t.Errorf("got zone %s and network %s", got.Location, got.Network)
	}
	r.AccessibilityRequirements.Requisite[0].Segments = map[string]string{"topology.kubernetes.io/zone": "x"}
	_, err := d.CreateVolume(context.Background(), r)
	wantError(t, err, codes.InvalidArgument, "topology segment has unknown key topology.kubernetes.io/zone")
}

func TestCreateVolumeIsIdempotent(t *testing.T) {
	d := fresh(t)
	first, second := mustCreate(t, d), mustCreate(t, d)
	if first.GetVolumeId() != volume || first.GetVolumeContext()["ip"] != second.GetVolumeContext()["ip"] {
		t.Errorf("got %v, then %v", first, second)
	}
	_, err := d.CreateVolume(context.Background(), request(18000, nil))
	wantError(t, err, codes.AlreadyExists, "doesn't match expected: [instance size: expected 18000, got 9000]")
}

func TestSlowCreationIsReportedAndSurvivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	d := newDriver(t, file)
	d.cloud.Default.CreateSeconds = 0.2
	_, err := d.CreateVolume(short(t), request(9000, nil))
	wantError(t, err, codes.DeadlineExceeded, "context deadline exceeded")
	_, err = d.CreateVolume(short(t), request(9000, nil))
	wantError(t, err, codes.DeadlineExceeded, "Volume pvc-1 not ready, current state: CREATING")
	d = newDriver(t, file)
	if i, err := d.cloud.await(context.Background(), "pvc-1"); err != nil || i.IP == "" {
		t.Errorf("got %v, %v", i, err)
	}
}

func TestAFailedCreationSticksToItsName(t *testing.T) {
	d := fresh(t)
	d.cloud.Faults = []*Fault{{Method: "CreateInstance", Code: "ResourceExhausted", Message: "stockout", Times: 1}}
	for range 2 {
		_, err := d.CreateVolume(context.Background(), request(9000, nil))
		wantError(t, err, codes.ResourceExhausted, "stockout")
	}
}

func TestQuotaCountsTheInstancesOfAScopedNamespaceOnly(t *testing.T) {
	d := fresh(t)
	mustCreate(t, d)
	d.cloud.Scoped["team"] = Settings{QuotaGiB: 9000}
	r := request(9000, map[string]string{"perUnitStorageThroughput": "1000", "csi.storage.k8s.io/pvc/namespace": "team"})
	r.Name = "pvc-2"
	if _, err := d.CreateVolume(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	r.Name = "pvc-3"
	_, err := d.CreateVolume(context.Background(), r)
	wantError(t, err, codes.ResourceExhausted, "Quota limit")
}

func TestExpansion(t *testing.T) {
	d := fresh(t)
	mustCreate(t, d)
	_, err := d.ControllerExpandVolume(context.Background(), expand(20000))
	wantError(t, err, codes.InvalidArgument, "must be a multiple of 9000")
	_, err = d.ControllerExpandVolume(context.Background(), expand(1_584_000))
	wantError(t, err, codes.InvalidArgument, "cannot grow beyond 1530000")
	d.cloud.Default.ResizeSeconds = 0.2
	_, err = d.ControllerExpandVolume(short(t), expand(18000))
	wantError(t, err, codes.DeadlineExceeded, "context deadline exceeded")
	_, err = d.ControllerExpandVolume(short(t), expand(18000))
	wantError(t, err, codes.DeadlineExceeded, "is already in progress")
	d.cloud.Default.ResizeState = "UPDATING"
	_, err = d.ControllerExpandVolume(short(t), expand(18000))
	wantError(t, err, codes.FailedPrecondition, "Instance pvc-1 is in UPDATING state")
	if i, err := d.cloud.await(context.Background(), "pvc-1"); err != nil || i.CapacityGiB != 18000 {
		t.Errorf("got %v, %v", i, err)
	}
}

func TestDeletion(t *testing.T) {
	d := fresh(t)
	mustCreate(t, d)
	d.cloud.Default.DeleteSeconds = 0.2
	remove := &csi.DeleteVolumeRequest{VolumeId: volume}
	_, err := d.DeleteVolume(short(t), remove)
	wantError(t, err, codes.DeadlineExceeded, "context deadline exceeded")
	_, err = d.DeleteVolume(short(t), remove)
	wantError(t, err, codes.DeadlineExceeded, "is under deletion")
	if i, err := d.cloud.await(context.Background(), "pvc-1"); err != nil || i != nil {
		t.Errorf("got %v, %v", i, err)
	}
	if _, err = d.DeleteVolume(short(t), remove); err != nil {
		t.Error(err)
	}
}
