package machinebatch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
	"github.com/karpenter-anew/karpenter/cloud/azure/machinebatch"
)

// refused is an answer of Azure with a body.
func refused(body string) error {
	return runtime.NewResponseError(&http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: &http.Request{Method: http.MethodPut, URL: &url.URL{}},
	})
}

// TestErrorsAreDistributed checks which AKSMachine gets which error: a code of Azure, "none", or "all" for an error of the whole batch.
func TestErrorsAreDistributed(t *testing.T) {
	t.Attr("covers", "Z162")
	const detail = `{"target":"two","code":"VMSizeNotSupported","message":"no such size"}`
	inMessage := func(text string) string { return strings.ReplaceAll(text, `"`, `\"`) }
	for name, test := range map[string]struct {
		err      error
		one, two string
	}{
		"none":                     {nil, "none", "none"},
		"some":                     {refused(`{"error":{"code":"BatchMachineClientError","message":"some failed","details":[` + detail + `]}}`), "none", "VMSizeNotSupported"},
		"some, flat":               {refused(`{"code":"BatchMachineClientError","details":[` + detail + `]}`), "none", "VMSizeNotSupported"},
		"first of two":             {refused(`{"error":{"code":"BatchMachineClientError","details":[` + detail + `,{"target":"two","code":"Other"},{"target":"one","code":"Quota"}]}}`), "Quota", "VMSizeNotSupported"},
		"in the message":           {refused(`{"error":{"code":"BatchMachineInternalServerError","message":"[` + inMessage(detail) + `]"}}`), "none", "VMSizeNotSupported"},
		"in an object":             {refused(`{"error":{"code":"BatchMachineInternalServerError","message":"{\"details\":[` + inMessage(detail) + `]}"}}`), "none", "VMSizeNotSupported"},
		"no details":               {refused(`{"error":{"code":"BatchMachineClientError","details":[]}}`), "all", "all"},
		"no details in message":    {refused(`{"error":{"code":"BatchMachineInternalServerError","message":"it broke"}}`), "all", "all"},
		"empty list in message":    {refused(`{"error":{"code":"BatchMachineInternalServerError","message":"[]"}}`), "all", "all"},
		"both kinds":               {refused(`{"error":{"code":"BatchMachineClientError","message":"[` + inMessage(detail) + `]","details":[` + detail + `]}}`), "all", "all"},
		"both kinds, other way":    {refused(`{"error":{"code":"BatchMachineInternalServerError","message":"[` + inMessage(detail) + `]","details":[` + detail + `]}}`), "all", "all"},
		"nested kinds":             {refused(`{"error":{"code":"BatchMachineClientError","details":[{"target":"two","code":"BatchMachineInternalServerError"}]}}`), "all", "all"},
		"no target":                {refused(`{"error":{"code":"BatchMachineClientError","details":[` + detail + `,{"code":"Quota"}]}}`), "all", "all"},
		"unknown target":           {refused(`{"error":{"code":"BatchMachineClientError","details":[` + detail + `,{"target":"nine","code":"Quota"}]}}`), "all", "all"},
		"another code":             {refused(`{"error":{"code":"BadRequest","message":"no"}}`), "BadRequest", "BadRequest"},
		"another code, flat":       {refused(`{"code":"BadRequest","message":"no"}`), "BadRequest", "BadRequest"},
		"another code and details": {refused(`{"error":{"code":"BadRequest","details":[` + detail + `]}}`), "BadRequest", "BadRequest"},
		"no code":                  {refused(`{"error":{}}`), "all", "all"},
		"no JSON":                  {refused(`<html>`), "all", "all"},
		"no answer":                {errors.New("connection reset"), "all", "all"},
		"context":                  {context.DeadlineExceeded, "all", "all"},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, w *world) {
				w.answer = func(context.Context, []machineapi.InBatch) error { return test.err }
				w.request(t.Context(), "one", body())
				w.request(t.Context(), "two", body())
				w.callers.Wait()
				for name, want := range map[string]string{"one": test.one, "two": test.two} {
					if got := kindOf(w.result(t, name)); got != want {
						t.Errorf("%s: %s, want %s", name, got, want)
					}
				}
			})
		})
	}
}

func kindOf(err error) string {
	var one *machineapi.Error
	code, _ := machineapi.CodeOf(err)
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &one):
		return one.Code
	case code != "":
		return "an answer: " + code
	}
	return "all"
}

// TestBatchesOverTheWire requests three AKSMachines, of which one exists and one has a zone that there is not.
func TestBatchesOverTheWire(t *testing.T) {
	t.Attr("covers", "Z160 Z162")
	account := azuretest.New(azuretest.Options{})
	account.Put(azuretest.PoolID("nodes"), map[string]any{"properties": map[string]any{"mode": azuretest.ModeMachines()}})
	account.Put(azuretest.PoolID("nodes")+"/machines/existing", map[string]any{"properties": map[string]any{}})
	connection := azuretest.Connect(t, account)
	manager, err := arm.NewClient("test", "v1.0.0", connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	b := machinebatch.New(machinebatch.Options{
		Idle: 1, Max: 1, Size: 3, Clock: noTimer{},
		Sender: machineapi.New(machineapi.Options{
			ResourceManager: manager, Subscription: azuretest.Subscription, ResourceGroup: azuretest.ClusterResourceGroup, Cluster: "test", Pool: "nodes", APIVersion: "2026-04-02-preview",
		}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = b.Start(ctx) }()
	results := map[string]chan error{}
	for name, zone := range map[string]string{"new": "2", "existing": "2", "nowhere": "9"} {
		result := make(chan error, 1)
		results[name] = result
		sent := body(in(zone), tagged(name), func(b *aksmachine.Body) {
			b.Properties.Mode, b.Properties.Hardware.VMSize = "User", "Standard_D4s_v3"
			b.Properties.OperatingSystem.OSType, b.Properties.OperatingSystem.OSSKU = "Linux", "Ubuntu2404"
		})
		go func() { result <- b.Create(ctx, name, sent) }()
	}
	for name, want := range map[string]string{"new": "none", "existing": "Conflict", "nowhere": "AvailabilityZoneNotSupported"} {
		if got := kindOf(<-results[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if calls := account.Calls("PUT AKSMachines"); len(calls) != 1 || !account.Exists(azuretest.PoolID("nodes")+"/machines/new") {
		t.Errorf("calls %+v", calls)
	}
}

// noTimer is a clock whose timers do not fire.
type noTimer struct{ clock.RealClock }

func (noTimer) NewTimer(time.Duration) clock.Timer { return clock.RealClock{}.NewTimer(time.Hour) }
