package lustrecsi

import (
	"maps"
	"regexp"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const maxCalls = 1000

// Settings steer the simulated service.
type Settings struct {
	CreateSeconds float64 `json:"createSeconds"`
	ResizeSeconds float64 `json:"resizeSeconds"`
	DeleteSeconds float64 `json:"deleteSeconds"`
	// QuotaGiB bounds the capacity of all instances; 0 is no bound.
	QuotaGiB int64 `json:"quotaGib"`
	// ResizeState is the state of an instance during a resize, ACTIVE or
	// UPDATING. It is not documented which of them the real service reports.
	ResizeState string `json:"resizeState"`
}

// Fault makes calls fail. Method is an RPC of the driver (CreateVolume,
// DeleteVolume, ControllerExpandVolume), failed before it does anything, or an
// operation of the service (CreateInstance, UpdateInstance, DeleteInstance).
// A failed CreateInstance sticks to the volume's name, as with the real driver.
type Fault struct {
	Method  string `json:"method"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Times is how often to fail; -1 is always.
	Times int `json:"times"`
	// Namespace, if set, restricts the fault to PVCs of that namespace.
	Namespace string `json:"namespace,omitempty"`
	// Match is a regular expression that the request's JSON must match.
	Match string `json:"match,omitempty"`
}

func (f *Fault) err() error { return status.Error(codeNamed(f.Code), f.Message) }

func codeNamed(name string) codes.Code {
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		if code.String() == name {
			return code
		}
	}
	return codes.Unknown
}

// Call is one RPC of a sidecar.
type Call struct {
	Time      time.Time `json:"time"`
	Method    string    `json:"method"`
	Namespace string    `json:"namespace,omitempty"`
	Request   any       `json:"request"`
	Code      string    `json:"code"`
	Message   string    `json:"message,omitempty"`
	Seconds   float64   `json:"seconds"`
}

// control is the steerable part of the service; cloud's lock guards it.
type control struct {
	Default Settings `json:"config"`
	// Scoped settings, by namespace, let tests that run at the same time differ.
	Scoped map[string]Settings `json:"scoped"`
	Faults []*Fault            `json:"faults"`
	Calls  []Call              `json:"-"`
}

func (c *control) init() {
	c.Default = Settings{ResizeState: "ACTIVE"}
	c.Scoped = map[string]Settings{}
}

func (c *control) settings(namespace string) Settings {
	if scoped, ok := c.Scoped[namespace]; ok {
		return scoped
	}
	return c.Default
}

// takeFault returns the fault that applies to the call, if any, and counts it.
func (c *control) takeFault(method, namespace, request string) *Fault {
	for _, f := range c.Faults {
		if f.Method != method || f.Times == 0 || (f.Namespace != "" && f.Namespace != namespace) {
			continue
		}
		if matched, err := regexp.MatchString(f.Match, request); err != nil || !matched {
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		return f
	}
	return nil
}

func (c *control) record(call Call) {
	c.Calls = append(c.Calls, call)
	c.Calls = c.Calls[max(0, len(c.Calls)-maxCalls):]
}

// reset forgets the settings, faults and calls of a namespace, or all of them.
func (c *control) reset(namespace string) {
	if namespace == "" {
		c.Faults, c.Calls = nil, nil
		c.init()
		return
	}
	delete(c.Scoped, namespace)
	faults, calls := c.Faults, c.Calls
	c.Faults, c.Calls = nil, nil
	for _, f := range faults {
		if f.Namespace != namespace {
			c.Faults = append(c.Faults, f)
		}
	}
	for _, call := range calls {
		if call.Namespace != namespace {
			c.Calls = append(c.Calls, call)
		}
	}
}

// state is a copy for reading without the lock.
func (c *control) state() control {
	copied := control{Default: c.Default, Scoped: maps.Clone(c.Scoped)}
	for _, f := range c.Faults {
		fault := *f
		copied.Faults = append(copied.Faults, &fault)
	}
	copied.Calls = append(copied.Calls, c.Calls...)
	return copied
}
