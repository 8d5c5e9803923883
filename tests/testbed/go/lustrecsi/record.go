package lustrecsi

import (
	"context"
	"encoding/json"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var recorded = map[string]bool{"CreateVolume": true, "DeleteVolume": true, "ControllerExpandVolume": true}

// intercept records the calls that change something, and fails those to which a
// fault of the same method applies.
func (c *cloud) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := path.Base(info.FullMethod)
	message, ok := request.(proto.Message)
	if !ok || !recorded[method] {
		return handle(ctx, request)
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	call := Call{Time: time.Now(), Method: method, Request: json.RawMessage(text), Namespace: c.namespaceOf(request)}
	response, err := c.failOr(call, string(text), func() (any, error) { return handle(ctx, request) })
	call.Code, call.Seconds = status.Code(err).String(), time.Since(call.Time).Seconds()
	if err != nil {
		call.Message = status.Convert(err).Message()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record(call)
	return response, err
}

func (c *cloud) failOr(call Call, request string, handle func() (any, error)) (any, error) {
	c.mu.Lock()
	fault := c.takeFault(call.Method, call.Namespace, request)
	c.mu.Unlock()
	if fault != nil {
		return nil, fault.err()
	}
	return handle()
}

// namespaceOf returns the namespace of the PVC in a request.
func (c *cloud) namespaceOf(request any) string {
	if r, ok := request.(interface{ GetParameters() map[string]string }); ok {
		return r.GetParameters()["csi.storage.k8s.io/pvc/namespace"]
	}
	if r, ok := request.(interface{ GetVolumeId() string }); ok {
		if name, err := instanceName(r.GetVolumeId()); err == nil {
			if i := c.get(name); i != nil {
				return i.namespace()
			}
		}
	}
	return ""
}
