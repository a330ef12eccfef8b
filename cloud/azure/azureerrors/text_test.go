package azureerrors_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
)

// responseError is the error of the SDK for a response.
func responseError(status int, body string) error {
	at := &url.URL{Scheme: "https", Host: "management.azure.com", Path: "/subscriptions/1/resourceGroups/group/providers/Microsoft.Network/networkInterfaces/aks-a"}
	return runtime.NewResponseError(&http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
		Request: &http.Request{Method: http.MethodPut, URL: at},
	})
}

func TestText(t *testing.T) {
	for title, test := range map[string]struct {
		err  error
		want string
	}{
		"refused": {
			responseError(400, `{"error": {"code": "SubnetIsFull", "message": "Subnet a is full."}}`),
			"SubnetIsFull (use a larger subnet in spec.vnetSubnetID of the AKSNodeClass, or a lower spec.maxPods if pods have addresses of it): Subnet a is full.",
		},
		"an operation": {
			responseError(200, `{"status": "Failed", "error": {"code": "AllocationFailed", "message": "No capacity."}}`), "AllocationFailed: No capacity.",
		},
		"not wrapped":     {responseError(409, `{"code": "Conflict", "message": "Busy"}`), "Conflict: Busy"},
		"the subnet":      {responseError(400, `{"error": {"code": "InvalidResourceReference", "message": "/a/subnets/b was not found."}}`), "InvalidResourceReference (restore the subnet, or set spec.vnetSubnetID of the AKSNodeClass to one that exists): /a/subnets/b was not found."},
		"the pool":        {responseError(400, `{"error": {"code": "InvalidResourceReference", "message": "/a/backendAddressPools/b was not found."}}`), "InvalidResourceReference: /a/backendAddressPools/b was not found."},
		"not from Azure":  {errors.New("no route"), "no route"},
		"without message": {responseError(500, `oops`), responseError(500, `oops`).Error()},
	} {
		t.Run(title, func(t *testing.T) {
			if got, want := azureerrors.Text(fmt.Errorf("creating x: %w", test.err)), "creating x: "+test.want; got != want {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}
