package lustrecsi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var filesystemName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9]{0,7}$`)

// Instance is a Managed Lustre instance as the service reports it, and what the
// simulation needs to finish its running operation.
type Instance struct {
	Name                     string            `json:"name"`
	Location                 string            `json:"location"`
	Network                  string            `json:"network"`
	CapacityGiB              int64             `json:"capacityGib"`
	PerUnitStorageThroughput int64             `json:"perUnitStorageThroughput"`
	Filesystem               string            `json:"filesystem"`
	Description              string            `json:"description,omitempty"`
	Labels                   map[string]string `json:"labels,omitempty"`
	State                    string            `json:"state"`
	IP                       string            `json:"ip,omitempty"`

	CreatedGiB int64     `json:"createdGib"`
	TargetGiB  int64     `json:"targetGib,omitempty"`
	ReadyAt    time.Time `json:"readyAt"`
}

// namespace of the PVC for which the instance was created.
func (i *Instance) namespace() string { return i.Labels[namespaceLabel] }

// cloud simulates the Managed Lustre API. Operations finish by the clock, so
// that a restart of the process doesn't disturb them.
type cloud struct {
	mu   sync.Mutex
	file string
	control

	Instances map[string]*Instance `json:"instances"`
	// FailedCreates keeps the result of failed create operations. The service
	// lists them forever, so the driver reports them on every retry.
	FailedCreates map[string]operationError `json:"failedCreates"`
}

type operationError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e operationError) err() error { return status.Error(codeNamed(e.Code), e.Message) }

func newCloud(file string) (*cloud, error) {
	c := &cloud{file: file, Instances: map[string]*Instance{}, FailedCreates: map[string]operationError{}}
	c.control.init()
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	return c, json.Unmarshal(data, c)
}

// save replaces the state file in one step; the caller holds the lock.
func (c *cloud) save() {
	data, err := json.MarshalIndent(c, "", " ")
	if err == nil {
		err = os.WriteFile(c.file+".tmp", data, 0o600)
	}
	if err == nil {
		err = os.Rename(c.file+".tmp", c.file)
	}
	if err != nil {
		panic(fmt.Sprintf("cannot save the state: %v", err))
	}
}

// settle finishes the operations that are due; the caller holds the lock.
func (c *cloud) settle() {
	for name, i := range c.Instances {
		if i.State == "ACTIVE" || time.Now().Before(i.ReadyAt) {
			continue
		}
		switch i.State {
		case "CREATING":
			i.State, i.IP = "ACTIVE", fmt.Sprintf("10.90.%d.%d", rand.IntN(255), 2+rand.IntN(250))
		case "UPDATING":
			i.State, i.CapacityGiB, i.TargetGiB = "ACTIVE", i.TargetGiB, 0
		case "DELETING":
			delete(c.Instances, name)
		}
	}
	c.save()
}

// get returns a copy of an instance, or nil.
func (c *cloud) get(name string) *Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	return c.snapshot(name)
}

func (c *cloud) snapshot(name string) *Instance {
	i, ok := c.Instances[name]
	if !ok {
		return nil
	}
	clone := *i
	return &clone
}

// failedCreate returns the error of an earlier create operation of that name.
func (c *cloud) failedCreate(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed, ok := c.FailedCreates[name]; ok {
		return failed.err()
	}
	return nil
}

// create starts the creation of an instance.
func (c *cloud) create(i *Instance) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	if err := c.validate(i); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	settings := c.settings(i.namespace())
	if err := c.checkQuota(settings.QuotaGiB, i, i.CapacityGiB); err != nil {
		return err
	}
	if fault := c.takeFault("CreateInstance", i.namespace(), i.Name); fault != nil {
		c.FailedCreates[i.Name] = operationError{fault.Code, fault.Message}
		c.save()
		return fault.err()
	}
	i.Filesystem = cmp.Or(i.Filesystem, c.freeFilesystemName())
	i.State, i.CreatedGiB, i.ReadyAt = "CREATING", i.CapacityGiB, after(settings.CreateSeconds)
	c.Instances[i.Name] = i
	c.settle()
	return nil
}

func (c *cloud) validate(i *Instance) error {
	if i.Filesystem != "" && !filesystemName.MatchString(i.Filesystem) {
		return fmt.Errorf("invalid filesystem %q: must be 1-8 alphanumeric characters and start with a letter", i.Filesystem)
	}
	for key, value := range i.Labels {
		if !labelKey.MatchString(key) || !labelValue.MatchString(value) {
			return fmt.Errorf("invalid label %s=%q", key, value)
		}
	}
	return tiers[i.PerUnitStorageThroughput].check(i.CapacityGiB, 0)
}

// checkQuota counts the instances that were created for the namespace of the quota.
func (c *cloud) checkQuota(quota int64, asked *Instance, extra int64) error {
	if quota == 0 {
		return nil
	}
	used := extra
	for _, i := range c.Instances {
		if _, scoped := c.Scoped[asked.namespace()]; !scoped || i.namespace() == asked.namespace() {
			used += i.CapacityGiB
		}
	}
	if used <= quota {
		return nil
	}
	return status.Errorf(codes.ResourceExhausted,
		"Quota limit 'LustreCapacityGib' has been exceeded. Limit: %d in %s.", quota, asked.Location)
}

func (c *cloud) freeFilesystemName() string {
	taken := map[string]bool{}
	for _, i := range c.Instances {
		taken[i.Filesystem] = true
	}
	for {
		if name := fmt.Sprintf("lfs%05d", rand.IntN(100_000)); !taken[name] {
			return name
		}
	}
}

// resize starts the resize of an instance.
func (c *cloud) resize(name string, gib int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.Instances[name]
	settings := c.settings(i.namespace())
	if err := tiers[i.PerUnitStorageThroughput].check(gib, i.CreatedGiB); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if err := c.checkQuota(settings.QuotaGiB, i, gib-i.CapacityGiB); err != nil {
		return err
	}
	if fault := c.takeFault("UpdateInstance", i.namespace(), name); fault != nil {
		return fault.err()
	}
	i.State, i.TargetGiB, i.ReadyAt = "UPDATING", gib, after(settings.ResizeSeconds)
	c.settle()
	return nil
}

// remove starts the deletion of an instance.
func (c *cloud) remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.Instances[name]
	if !ok {
		return nil
	}
	if fault := c.takeFault("DeleteInstance", i.namespace(), name); fault != nil {
		return fault.err()
	}
	i.State, i.ReadyAt = "DELETING", after(c.settings(i.namespace()).DeleteSeconds)
	c.settle()
	return nil
}

// await waits for the running operation of an instance until ctx is done.
func (c *cloud) await(ctx context.Context, name string) (*Instance, error) {
	for {
		i := c.get(name)
		if i == nil || i.State == "ACTIVE" {
			return i, nil
		}
		select {
		case <-time.After(time.Until(i.ReadyAt)):
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

func after(seconds float64) time.Time {
	return time.Now().Add(time.Duration(seconds * float64(time.Second)))
}

func (c *cloud) resizeState(namespace string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings(namespace).ResizeState
}
