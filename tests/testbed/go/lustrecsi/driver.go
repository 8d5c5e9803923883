// Package lustrecsi is a CSI controller plugin that behaves, towards the CSI
// sidecars, as the Managed Lustre driver of GKE does: the same parameters,
// checks, codes and messages. The service behind it is simulated.
package lustrecsi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// DriverName is the name of the driver, and of the provisioner in its classes.
const DriverName = "lustre.csi.storage.gke.io"

var accessModes = []csi.VolumeCapability_AccessMode_Mode{
	csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER,
	csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
	csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY,
	csi.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER,
	csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
}

type driver struct {
	csi.UnimplementedControllerServer
	cloud   *cloud
	project string
	zone    string
	busy    sync.Map
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	response := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	} {
		rpc := &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}}
		response.Capabilities = append(response.Capabilities, &csi.ControllerServiceCapability{Type: rpc})
	}
	return response, nil
}

// lock keeps a second call for the same volume out while one is running.
func (d *driver) lock(key string) (release func(), err error) {
	if _, taken := d.busy.LoadOrStore(key, true); taken {
		return nil, status.Errorf(codes.Aborted, "An operation with the given volume key %s already exists", key)
	}
	return func() { d.busy.Delete(key) }, nil
}

func (d *driver) CreateVolume(ctx context.Context, req *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if err := checkCapabilities(req.GetVolumeCapabilities()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	wanted, err := d.newInstance(req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	release, err := d.lock(wanted.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	instance, err := d.findOrCreate(ctx, wanted, req.GetParameters())
	if err != nil {
		return nil, err
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId:      fmt.Sprintf("%s/%s/%s", d.project, instance.Location, instance.Name),
		CapacityBytes: instance.CapacityGiB * gib,
		VolumeContext: map[string]string{"ip": instance.IP, "filesystem": instance.Filesystem},
	}}, nil
}

func (d *driver) findOrCreate(ctx context.Context, wanted *Instance, parameters map[string]string) (*Instance, error) {
	if existing := d.cloud.get(wanted.Name); existing != nil {
		return existing, checkExisting(wanted, existing)
	}
	if err := d.cloud.failedCreate(wanted.Name); err != nil {
		return nil, err
	}
	labels, err := instanceLabels(parameters)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	wanted.Labels = labels
	if err := d.cloud.create(wanted); err != nil {
		return nil, err
	}
	return d.cloud.await(ctx, wanted.Name)
}

// checkExisting says whether an instance satisfies a repeated request.
func checkExisting(wanted, existing *Instance) error {
	var mismatches []string
	differ := func(what string, a, b any) {
		if a != b {
			mismatches = append(mismatches, fmt.Sprintf("%s: expected %v, got %v", what, a, b))
		}
	}
	differ("instance location", wanted.Location, existing.Location)
	differ("instance size", wanted.CapacityGiB, existing.CapacityGiB)
	differ("network name", wanted.Network, existing.Network)
	switch {
	case len(mismatches) > 0:
		return status.Errorf(codes.AlreadyExists, "instance %s already exists but doesn't match expected: %+v", wanted.Name, mismatches)
	case existing.State == "CREATING":
		return status.Errorf(codes.DeadlineExceeded, "Volume %v not ready, current state: %v", wanted.Name, existing.State)
	case existing.State != "ACTIVE":
		return status.Errorf(codes.Unavailable, "Volume %v not ready, current state: %v", wanted.Name, existing.State)
	}
	return nil
}

func checkCapabilities(capabilities []*csi.VolumeCapability) error {
	if len(capabilities) == 0 {
		return errors.New("volume capabilities must be provided")
	}
	for _, c := range capabilities {
		if mode := c.GetAccessMode().GetMode(); !slices.Contains(accessModes, mode) {
			return fmt.Errorf("driver does not support access mode: %v", mode)
		}
		if c.GetMount() == nil {
			return errors.New("driver only supports mount access type volume capability")
		}
	}
	return nil
}

// instanceName is the last part of PROJECT/ZONE/NAME.
func instanceName(volumeID string) (string, error) {
	parts := strings.Split(volumeID, "/")
	if len(parts) != 3 {
		return "", fmt.Errorf("failed to get id components. Expected 'projects/<project>/zones/<zone>/<name>'. Got: %s", volumeID)
	}
	return parts[2], nil
}

func (d *driver) DeleteVolume(ctx context.Context, req *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	done := &csi.DeleteVolumeResponse{}
	id := req.GetVolumeId()
	name, err := instanceName(id)
	if err != nil {
		return done, nil
	}
	release, err := d.lock(id)
	if err != nil {
		return nil, err
	}
	defer release()
	instance := d.cloud.get(name)
	if instance == nil {
		return done, nil
	}
	if instance.State == "DELETING" {
		return nil, status.Errorf(codes.DeadlineExceeded, "Volume %s is under deletion", id)
	}
	if err := d.cloud.remove(name); err != nil {
		return nil, err
	}
	if _, err := d.cloud.await(ctx, name); err != nil {
		return nil, err
	}
	return done, nil
}

func (d *driver) ControllerExpandVolume(ctx context.Context, req *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	id := req.GetVolumeId()
	name, err := instanceName(id)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	release, err := d.lock(id)
	if err != nil {
		return nil, err
	}
	defer release()
	bytes, err := requestedBytes(req.GetCapacityRange())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	instance := d.cloud.get(name)
	if instance == nil {
		return nil, status.Errorf(codes.NotFound, "instance %s not found", id)
	}
	if instance, err = d.grow(ctx, id, instance, (bytes+gib-1)/gib); err != nil {
		return nil, err
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: instance.CapacityGiB * gib}, nil
}

func (d *driver) grow(ctx context.Context, id string, instance *Instance, wanted int64) (*Instance, error) {
	updating := instance.State == "UPDATING"
	shownActive := updating && d.cloud.resizeState(instance.namespace()) == "ACTIVE"
	switch {
	case instance.State != "ACTIVE" && !shownActive:
		return nil, status.Errorf(codes.FailedPrecondition, "Instance %s is in %s state", instance.Name, instance.State)
	case instance.CapacityGiB >= wanted:
		return instance, nil
	case updating:
		return nil, status.Errorf(codes.DeadlineExceeded,
			"Expansion for volume %q to new capacity %d GiB is already in progress", id, wanted)
	}
	if err := d.cloud.resize(instance.Name, wanted); err != nil {
		return nil, err
	}
	return d.cloud.await(ctx, instance.Name)
}
