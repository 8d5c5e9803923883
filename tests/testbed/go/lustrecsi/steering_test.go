package lustrecsi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

func send(t *testing.T, d *driver, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	d.cloud.steering().ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	return recorder
}

// call sends a request through the interceptor, as the gRPC server does.
func call(d *driver, r *csi.CreateVolumeRequest) error {
	info := &grpc.UnaryServerInfo{FullMethod: "/csi.v1.Controller/CreateVolume"}
	_, err := d.cloud.intercept(context.Background(), r, info, func(ctx context.Context, _ any) (any, error) {
		return d.CreateVolume(ctx, r)
	})
	return err
}

func TestSettingsOfANamespaceDoNotTouchOthers(t *testing.T) {
	d := fresh(t)
	send(t, d, "POST", "/config", `{"createSeconds": 1}`)
	send(t, d, "POST", "/config", `{"namespace": "team", "quotaGib": 9000}`)
	if got := d.cloud.settings("team"); got.QuotaGiB != 9000 || got.CreateSeconds != 1 {
		t.Errorf("team has %+v", got)
	}
	if got := d.cloud.settings("other"); got.QuotaGiB != 0 {
		t.Errorf("other has %+v", got)
	}
	send(t, d, "POST", "/reset", `{"namespace": "team"}`)
	if got := d.cloud.settings("team"); got.QuotaGiB != 0 {
		t.Errorf("after the reset team has %+v", got)
	}
}

func TestUnknownSettingsAreRefused(t *testing.T) {
	if got := send(t, fresh(t), "POST", "/config", `{"createSecond": 1}`); got.Code != http.StatusBadRequest {
		t.Errorf("got %d", got.Code)
	}
}

func TestAFaultFailsAsOftenAsAskedAndCallsAreRecorded(t *testing.T) {
	d := fresh(t)
	send(t, d, "POST", "/fault", `{"method": "CreateVolume", "code": "Internal", "message": "boom", "times": 1, "match": "pvc-1"}`)
	wantError(t, call(d, request(9000, nil)), codes.Internal, "boom")
	if err := call(d, request(9000, nil)); err != nil {
		t.Error(err)
	}
	var state struct {
		Calls []struct{ Method, Code string }
	}
	if err := json.Unmarshal(send(t, d, "GET", "/state", "").Body.Bytes(), &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Calls) != 2 || state.Calls[0].Code != "Internal" || state.Calls[1].Code != "OK" {
		t.Errorf("got %+v", state.Calls)
	}
}
