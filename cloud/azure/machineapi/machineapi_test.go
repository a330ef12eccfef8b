package machineapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
)

const (
	pool         = "nodes"
	put          = "PUT AKSMachines"
	version      = "2026-04-02-preview"
	otherVersion = "2026-06-02-preview"
)

// server is an account with an agent pool, and a client for it.
type server struct {
	*machineapi.Client
	account *azuretest.Account
}

func serve(t *testing.T, version string) server {
	t.Helper()
	account := azuretest.New(azuretest.Options{PageSize: 2})
	account.Put(azuretest.PoolID(pool), map[string]any{"properties": map[string]any{"mode": azuretest.ModeMachines()}})
	return server{client(t, account, pool, version), account}
}

func client(t *testing.T, account *azuretest.Account, pool, version string) *machineapi.Client {
	t.Helper()
	connection := azuretest.Connect(t, account)
	manager, err := arm.NewClient("test", "v1.0.0", connection.Credential, connection.Options)
	must(t, err)
	return machineapi.New(machineapi.Options{
		ResourceManager: manager, Subscription: azuretest.Subscription, ResourceGroup: azuretest.ClusterResourceGroup, Cluster: "test", Pool: pool, APIVersion: version,
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// body is a body that AKS accepts.
func body() *aksmachine.Body {
	return &aksmachine.Body{Zones: []string{"1"}, Properties: aksmachine.Properties{
		Mode: "System", Priority: "Spot", Hardware: aksmachine.Hardware{VMSize: "Standard_D4s_v3"}, NodeImageVersion: "AKSUbuntu-2404gen2containerd-202606.10.0",
		OperatingSystem: aksmachine.OperatingSystem{OSType: "Linux", OSSKU: "Ubuntu2404", OSDiskSizeGB: 128, OSDiskType: "Managed"},
		Kubernetes:      aksmachine.Kubernetes{OrchestratorVersion: "1.34.1", NodeInitializationTaints: []string{}, NodeTaints: []string{}},
		Tags:            map[string]string{"a": "b"},
	}}
}

func (s server) create(t *testing.T, name string) {
	t.Helper()
	poller, err := s.BeginCreate(t.Context(), name, body())
	_, err = done(t, poller, err)
	must(t, err)
}

// done waits for an operation that was begun.
func done[T any](t *testing.T, poller *runtime.Poller[T], err error) (T, error) {
	t.Helper()
	if err != nil {
		var none T
		return none, err
	}
	return poller.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Minute})
}

func TestAKSMachinesAreCreatedReadChangedAndDeleted(t *testing.T) {
	t.Attr("covers", "Z226 Z227")
	for _, version := range []string{version, otherVersion} {
		t.Run(version, func(t *testing.T) {
			s := serve(t, version)
			poller, err := s.BeginCreate(t.Context(), "one", body())
			made, err := done(t, poller, err)
			must(t, err)
			if made.Name != "one" || made.Properties.ProvisioningState != machineapi.StateSucceeded || made.Properties.Priority != machineapi.PrioritySpot ||
				made.Properties.Hardware.VMSize != "Standard_D4s_v3" || !slices.Equal(made.Zones, []string{"1"}) || made.Properties.Status.CreationTimestamp == nil {
				t.Errorf("made %+v", made)
			}
			read, err := s.Get(t.Context(), "one")
			must(t, err)
			tagged, err := s.BeginSetTags(t.Context(), read, map[string]string{"c": "d"})
			changed, err := done(t, tagged, err)
			must(t, err)
			if changed.Properties.Tags["c"] != "d" || len(changed.Properties.Tags) != 1 || changed.Properties.ResourceID != made.Properties.ResourceID {
				t.Errorf("changed to %+v", changed.Properties)
			}
			var response *azcore.ResponseError
			if _, err := s.BeginSetTags(t.Context(), read, nil); !errors.As(err, &response) || response.StatusCode != http.StatusPreconditionFailed {
				t.Errorf("changed what has changed since: %v", err)
			}
			if got := s.account.Calls(put)[1]; !strings.Contains(got.Body, `"orchestratorVersion":"1.34.1"`) || got.Header.Get("If-Match") != read.Properties.ETag {
				t.Errorf("the update is %+v", got)
			}
			deleted, err := s.BeginDelete(t.Context(), "one")
			_, err = done(t, deleted, err)
			must(t, err)
			if _, err := s.Get(t.Context(), "one"); !machineapi.IsNotFound(err) {
				t.Errorf("got what is deleted: %v", err)
			}
			for _, call := range s.account.Calls("") {
				if strings.Contains(call.Path, "/agentPools/") && call.Query.Get("api-version") != version {
					t.Errorf("%s with version %s", call.Operation, call.Query.Get("api-version"))
				}
				if call.Operation == put && call.Header.Get("AllowSpotVMSystemNode") != "true" {
					t.Errorf("headers %v", call.Header)
				}
			}
		})
	}
}

// TestUpdatesWithoutETag checks that an update creates nothing.
func TestUpdatesWithoutETag(t *testing.T) {
	t.Attr("covers", "Z144 Z226")
	s := serve(t, version)
	for _, m := range []*machineapi.AKSMachine{{Name: "one"}, {Name: "one", Properties: &machineapi.Properties{}}} {
		if _, err := s.BeginSetTags(t.Context(), m, map[string]string{"a": "b"}); err == nil {
			t.Error("no error")
		}
	}
	for _, call := range s.account.Calls(put) {
		if call.Header.Get("If-Match") != "*" || call.Body != `{"properties":{"tags":{"a":"b"}}}` {
			t.Errorf("the update is %+v", call)
		}
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	s := serve(t, version)
	s.create(t, "one")
	if _, err := s.BeginCreate(t.Context(), "one", body()); !machineapi.AlreadyExists(err) || machineapi.IsNotFound(err) {
		t.Errorf("the error is %v", err)
	}
	for _, test := range []struct {
		status int
		exists bool
	}{{http.StatusConflict, true}, {http.StatusBadRequest, false}} {
		s.account.Fail(put, test.status, "SomeCode", "text", 1)
		if _, err := s.BeginCreate(t.Context(), "two", body()); err == nil || machineapi.AlreadyExists(err) != test.exists {
			t.Errorf("status %d: %v", test.status, err)
		}
	}
	for code, exists := range map[string]bool{"Conflict": true, "PreconditionFailed": true, "BadRequest": false} {
		if machineapi.AlreadyExists(&machineapi.Error{Code: code}) != exists {
			t.Errorf("code %s", code)
		}
	}
}

func TestListsHavePages(t *testing.T) {
	s := serve(t, version)
	var want []string
	for i := range 5 {
		want = append(want, fmt.Sprintf("m%d", i))
		s.create(t, want[i])
	}
	all, err := s.List(t.Context())
	must(t, err)
	var got []string
	for _, m := range all {
		got = append(got, m.Name)
		if m.Malformed != nil || m.Properties == nil {
			t.Errorf("%s: %v", m.Name, m.Malformed)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	s.account.Fail("GET list AKSMachines", http.StatusInternalServerError, "InternalServerError", "", 1)
	if all, err := s.List(t.Context()); err == nil {
		t.Errorf("listed %v in spite of an error", all)
	}
}

// TestMalformedItemsDoNotFailLists checks what is returned for those.
func TestMalformedItemsDoNotFailLists(t *testing.T) {
	t.Attr("covers", "Z222")
	s := serve(t, version)
	s.create(t, "good")
	s.account.Put(azuretest.PoolID(pool)+"/machines/bad", map[string]any{"zones": "none", "properties": map[string]any{}})
	s.account.Put(azuretest.PoolID(pool)+"/machines/early", map[string]any{"properties": map[string]any{"status": map[string]any{"creationTimestamp": "soon"}}})
	all, err := s.List(t.Context())
	must(t, err)
	for _, m := range all {
		if (m.Malformed == nil) != (m.Name == "good") || (m.Properties == nil) != (m.Name != "good") {
			t.Errorf("%q: %+v, %v", m.Name, m.Properties, m.Malformed)
		}
	}
	if len(all) != 3 {
		t.Errorf("listed %d", len(all))
	}
}

func TestPriorityIsRegularByDefault(t *testing.T) {
	s := serve(t, version)
	s.account.Put(azuretest.PoolID(pool)+"/machines/one", map[string]any{"properties": map[string]any{}})
	if m, err := s.Get(t.Context(), "one"); err != nil || m.Properties.Priority != machineapi.PriorityRegular {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	t.Attr("covers", "Z157")
	s := serve(t, version)
	if got, err := s.GetPool(t.Context()); err != nil || !got.HasAKSMachines() || (machineapi.Pool{Mode: "User"}).HasAKSMachines() {
		t.Errorf("the agent pool is %+v, %v", got, err)
	}
	lost := client(t, s.account, "other", version)
	_, noPool := lost.GetPool(t.Context())
	_, get := s.Get(t.Context(), "one")
	_, deletion := s.BeginDelete(t.Context(), "one")
	_, list := lost.List(t.Context())
	for name, err := range map[string]error{"agent pool": noPool, "get": get, "delete": deletion, "list without a pool": list} {
		if !machineapi.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.account.Fail("POST deleteMachines", http.StatusBadRequest, "InvalidParameter", "The name is not valid", 1)
	_, invalid := s.BeginDelete(t.Context(), "one")
	s.account.Fail("GET AKSMachines", http.StatusForbidden, "AuthorizationFailed", "", 1)
	_, forbidden := s.Get(t.Context(), "one")
	for name, err := range map[string]error{"invalid": invalid, "forbidden": forbidden, "none": nil} {
		if machineapi.IsNotFound(err) || name != "none" && err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCodes(t *testing.T) {
	t.Attr("covers", "Z225")
	s := serve(t, version)
	s.account.Fail(put, http.StatusBadRequest, "VMSizeNotSupported", "The size is not supported", 1)
	_, err := s.BeginCreate(t.Context(), "one", body())
	if code, text := machineapi.CodeOf(fmt.Errorf("creating: %w", err)); code != "VMSizeNotSupported" || !strings.Contains(text, "The size is not supported") {
		t.Errorf("the code is %q of %s", code, text)
	}
	if code, text := machineapi.CodeOf(fmt.Errorf("creating: %w", &machineapi.Error{Code: "A", Message: "b"})); code != "A" || text != "b" {
		t.Errorf("the code is %q of %s", code, text)
	}
	if code, text := machineapi.CodeOf(errors.New("no answer")); code != "" || text != "" {
		t.Errorf("the code is %q of %s", code, text)
	}
	failed := machineapi.ProvisioningError{Code: "outer", Message: "of all"}
	if cause := failed.Cause(); *cause != (machineapi.Error{Code: "outer", Message: "of all"}) {
		t.Errorf("the cause is %+v", cause)
	}
	failed.Details = []machineapi.ProvisioningError{{Code: "first", Message: "of one"}, {Code: "second"}}
	if cause := failed.Cause(); *cause != (machineapi.Error{Code: "first", Message: "of one"}) {
		t.Errorf("the cause is %+v", cause)
	}
}

func TestBatches(t *testing.T) {
	s := serve(t, version)
	batch := []machineapi.InBatch{
		{Name: "one", Zones: []string{"1"}, Tags: map[string]string{"owner": "Zoë 🦊", "a": "\x7f"}}, {Name: "two", Zones: []string{}, Tags: map[string]string{"a": "2"}},
	}
	must(t, s.CreateBatch(t.Context(), batch, body()))
	for i, name := range []string{"one", "two"} {
		m, err := s.Get(t.Context(), name)
		must(t, err)
		if !slices.Equal(m.Zones, batch[i].Zones) || m.Properties.Tags["a"] != batch[i].Tags["a"] || m.Properties.Tags["owner"] != batch[i].Tags["owner"] {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if calls := s.account.Calls(put); len(calls) != 1 || !strings.HasSuffix(calls[0].Path, "/machines/one") {
		t.Errorf("calls %+v", calls)
	}
}

// TestBatchesAreNotRepeated checks that only throttling is retried.
func TestBatchesAreNotRepeated(t *testing.T) {
	s := serve(t, version)
	s.account.Throttle(put, time.Second, 1)
	must(t, s.CreateBatch(t.Context(), []machineapi.InBatch{{Name: "one"}}, body()))
	s.account.Forget()
	s.account.Fail(put, http.StatusInternalServerError, "BatchMachineInternalServerError", "[]", 1)
	if err := s.CreateBatch(t.Context(), []machineapi.InBatch{{Name: "two"}}, body()); err == nil || len(s.account.Calls(put)) != 1 {
		t.Errorf("%d requests, %v", len(s.account.Calls(put)), err)
	}
}

// TestNoneSendsNothing checks what stands for a client where AKSMachines are not managed.
func TestNoneSendsNothing(t *testing.T) {
	t.Attr("covers", "Z158")
	none := machineapi.None{}
	if _, err := none.Get(t.Context(), "one"); !machineapi.IsNotFound(err) {
		t.Errorf("Get: %v", err)
	}
	if all, err := none.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("List: %v, %v", all, err)
	}
	_, create := none.BeginCreate(t.Context(), "one", body())
	_, update := none.BeginSetTags(t.Context(), &machineapi.AKSMachine{}, nil)
	_, deletion := none.BeginDelete(t.Context(), "one")
	for _, err := range []error{create, update, deletion} {
		if err == nil || machineapi.IsNotFound(err) {
			t.Errorf("the error is %v", err)
		}
	}
}
