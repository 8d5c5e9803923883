package lustrecsi

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// steering is the HTTP side of the simulation, for tests:
//
//	POST /config {"namespace"?, "createSeconds"?, ...}  changes settings
//	POST /fault  {"method", "code", ...}                adds a fault
//	POST /reset  {"namespace"?}                         undoes both, forgets calls
//	GET  /state                                         shows everything
func (c *cloud) steering() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /config", post(c, c.postConfig))
	mux.HandleFunc("POST /fault", post(c, func(f Fault) error {
		c.Faults = append(c.Faults, &f)
		return nil
	}))
	mux.HandleFunc("POST /reset", post(c, func(r struct{ Namespace string }) error {
		c.reset(r.Namespace)
		return nil
	}))
	mux.HandleFunc("GET /state", c.getState)
	return mux
}

// post decodes the body and runs the change under the lock.
func post[T any](c *cloud, change func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := change(body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.save()
	}
}

// postConfig overlays the given settings on those in force for the namespace.
func (c *cloud) postConfig(body map[string]json.RawMessage) error {
	var namespace string
	if raw, ok := body["namespace"]; ok {
		if err := json.Unmarshal(raw, &namespace); err != nil {
			return err
		}
		delete(body, "namespace")
	}
	settings := c.settings(namespace)
	overlay, err := json.Marshal(body)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(overlay))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&settings); err != nil {
		return err
	}
	if namespace == "" {
		c.Default = settings
	} else {
		c.Scoped[namespace] = settings
	}
	return nil
}

func (c *cloud) getState(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	c.settle()
	state := c.state()
	instances := map[string]*Instance{}
	for name := range c.Instances {
		instances[name] = c.snapshot(name)
	}
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"config": state.Default, "scoped": state.Scoped, "faults": state.Faults, "calls": state.Calls, "instances": instances,
	})
}
