package azureerrors_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azureerrors"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
)

// answer is an answer of Azure as the SDK makes an error of it.
func answer(status int, code, body string) *azcore.ResponseError {
	header := http.Header{}
	if code != "" {
		header.Set("x-ms-error-code", code)
	}
	err := runtime.NewResponseError(&http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: header, Body: io.NopCloser(strings.NewReader(body)),
		Request: &http.Request{Method: http.MethodPut, URL: &url.URL{Scheme: "https", Host: "management.azure.com", Path: "/x"}},
	})
	var out *azcore.ResponseError
	errors.As(err, &out)
	return out
}

// FuzzClassify answers launches with any status, header and body: JSON, nested errors, and other texts. Whatever Azure says, the error can be
// shown, and only what Azure names makes offerings unavailable: those of the attempted size, for a limited time.
func FuzzClassify(f *testing.F) {
	for _, code := range []string{"SkuNotAvailable", "ZonalAllocationFailed", "AllocationFailed", "OverconstrainedAllocationRequest", "BadRequest", "VMSizeNotSupported", ""} {
		f.Add(409, "", `{"error":{"code":"`+code+`","message":"it is not supported for subscription S"}}`, true, uint8(1))
		f.Add(200, "", `{"status":"Failed","error":{"code":"`+code+`","message":"m","innererror":{"code":"SkuNotAvailable"}}}`, false, uint8(3))
		f.Add(500, code, "<html>\x00\xff", true, uint8(0))
	}
	f.Add(409, "OperationNotAllowed", familyQuota+"0", false, uint8(2))
	f.Add(409, "OperationNotAllowed", spotQuota, true, uint8(2))
	f.Add(409, "", `{"error":{"code":"OperationNotAllowed","message":"`+regionalQuota+`","details":[{"code":"X"}]}}`, true, uint8(2))
	f.Add(409, "", `{"code":"AllocationFailed","message":`+strings.Repeat(`{"error":`, 50)+`1`+strings.Repeat(`}`, 51), true, uint8(2))
	f.Add(409, "", `[]`+strings.Repeat("€", 600), true, uint8(2))
	f.Fuzz(func(t *testing.T, status int, code, body string, spot bool, zone uint8) {
		capacityType := map[bool]string{true: "spot", false: "on-demand"}[spot]
		a := attempt(capacityType, zones[int(zone)%len(zones)])
		response := answer(status, code, body)
		for name, classify := range map[string]func(string, string, azureerrors.Attempt) azureerrors.Failure{
			"of a virtual machine": azureerrors.Classify, "of a request for an AKSMachine": azureerrors.ClassifyRequest,
		} {
			failure := classify(response.ErrorCode, response.Error(), a)
			checkMark(t, name, failure, a)
			err := failure.Error(response)
			failed, typed := cloud.AsCreateError(err)
			switch {
			case failure.InsufficientCapacity:
				if !cloud.IsInsufficientCapacity(err) || response.ErrorCode != "OperationNotAllowed" {
					t.Errorf("%s: %q is insufficient capacity: %v", name, response.ErrorCode, err)
				}
			case !typed || failed.Reason != failure.Reason || !errors.Is(err, response):
				t.Errorf("%s: the error is %v", name, err)
			case utf8.ValidString(response.Error()) && !utf8.ValidString(failed.Message), len(failed.Message) > 1203, failed.Message == "":
				t.Errorf("%s: the message has %d bytes: %q", name, len(failed.Message), failed.Message)
			}
		}
	})
}

// checkMark checks that a failure marks nothing but offerings of the attempt.
func checkMark(t *testing.T, name string, f azureerrors.Failure, a azureerrors.Attempt) {
	t.Helper()
	m := f.Unavailable
	switch {
	case m.Spot:
		if m.Duration != time.Hour || len(m.Zones) > 0 || m.InstanceType != (unavailableofferings.InstanceType{}) {
			t.Errorf("%s: all spot capacity is marked as %+v", name, m)
		}
	case m.Duration == 0:
		if len(m.Zones) > 0 || len(m.CapacityTypes) > 0 || f.Reason != azureerrors.ReasonCreateInstanceFailed {
			t.Errorf("%s: nothing is marked as %+v, with reason %s", name, m, f.Reason)
		}
	default:
		outside := slices.ContainsFunc(m.Zones, func(zone string) bool { return !slices.Contains(a.Zones, zone) })
		if outside || !slices.Contains(m.Zones, a.Zone) || !slices.Contains(m.CapacityTypes, a.CapacityType) || m.InstanceType != a.InstanceType ||
			m.Duration < 10*time.Minute || m.Duration > 23*time.Hour || f.Reason == azureerrors.ReasonCreateInstanceFailed || f.InsufficientCapacity {
			t.Errorf("%s: marked is %+v, with reason %s", name, m, f.Reason)
		}
	}
}
