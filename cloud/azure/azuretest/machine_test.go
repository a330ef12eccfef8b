package azuretest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
)

const machineBody = `{"zones":["1"],"properties":{"mode":"User","nodeImageVersion":"AKSUbuntu-2404gen2containerd-202606.10.0",
"hardware":{"vmSize":"Standard_D4s_v3","ultraSsdEnabled":false},
"operatingSystem":{"osType":"Linux","osSKU":"Ubuntu2404","osDiskSizeGB":128,"osDiskType":"Managed","enableFIPS":false},
"kubernetes":{"orchestratorVersion":"1.34.1","nodeLabels":{"a":"b"},"nodeInitializationTaints":["karpenter.sh/unregistered:NoExecute"],"nodeTaints":[]},
"priority":"Regular","security":{"sshAccess":"LocalUser","enableEncryptionAtHost":false,"enableVTPM":false,"enableSecureBoot":false},
"tags":{"karpenter.sh_nodepool":"default","karpenter.azure.com_aksmachine_nodeclaim":"m1"}}}`

// aks sends requests that the SDK has no client for, on its pipeline.
type aks struct {
	client *arm.Client
	url    string
}

// send sends a request; headers are names and values.
func (s aks) send(t *testing.T, method, path, body string, headers ...string) (*http.Response, error) {
	t.Helper()
	request, err := runtime.NewRequest(t.Context(), method, s.url+path+"?api-version=2026-04-02-preview")
	must(t, err)
	if body != "" {
		must(t, runtime.MarshalAsJSON(request, json.RawMessage(body)))
	}
	for i := 0; i < len(headers); i += 2 {
		request.Raw().Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.client.Pipeline().Do(request)
	must(t, err)
	if !runtime.HasStatusCode(answer, http.StatusOK, http.StatusCreated, http.StatusAccepted) {
		return nil, runtime.NewResponseError(answer)
	}
	return answer, nil
}

// wait sends a request and waits for its operation; the result is what the resource is then.
func (s aks) wait(t *testing.T, method, path, body string, headers ...string) (map[string]any, error) {
	t.Helper()
	answer, err := s.send(t, method, path, body, headers...) //nolint:bodyclose // the SDK has read it
	if err != nil {
		return nil, err
	}
	poller, err := runtime.NewPoller[map[string]any](answer, s.client.Pipeline(), nil)
	return done(t, poller, err)
}

// read is the object at a path.
func (s aks) read(t *testing.T, path string) (map[string]any, error) {
	t.Helper()
	answer, err := s.send(t, http.MethodGet, path, "") //nolint:bodyclose // the SDK has read it
	if err != nil {
		return nil, err
	}
	var out map[string]any
	must(t, runtime.UnmarshalAsJSON(answer, &out))
	return out, nil
}

func connectAKS(t *testing.T) (*clients, aks) {
	t.Helper()
	c := connect(t, azuretest.Options{})
	c.account.Put(azuretest.PoolID(poolName()), map[string]any{"properties": map[string]any{"mode": azuretest.ModeMachines()}})
	client, err := arm.NewClient("test", "v1.0.0", c.connection.Credential, c.connection.Options)
	must(t, err)
	return c, aks{client, c.connection.URL}
}

// poolName is the usual name of the agent pool, which is also that of the collection below it.
func poolName() string { return strings.ToLower(azuretest.ModeMachines()) }

func machineID(name string) string { return azuretest.PoolID(poolName()) + "/machines/" + name }

func textIn(object map[string]any, path ...string) string {
	var value any = object
	for _, name := range path {
		inner, _ := value.(map[string]any)
		value = inner[name]
	}
	text, _ := value.(string)
	return text
}

// TestMachine creates an AKSMachine with its virtual machine, changes its tags under its ETag, and deletes both.
func TestMachine(t *testing.T) {
	c, server := connectAKS(t)
	made, err := server.wait(t, http.MethodPut, machineID("m1"), machineBody)
	must(t, err)
	vm := textIn(made, "properties", "resourceId")
	if textIn(made, "properties", "provisioningState") != "Succeeded" || textIn(made, "properties", "status", "creationTimestamp") == "" || !c.account.Exists(vm) {
		t.Errorf("got %v", made)
	}
	if !strings.Contains(vm, "/virtualMachines/aks-machines-m1-") || !strings.HasSuffix(vm, "-vm") {
		t.Errorf("the virtual machine is %s", vm)
	}
	names, _, err := c.names(t, query("microsoft.compute/virtualmachines"))
	must(t, err)
	if len(names) != 0 {
		t.Errorf("virtual machines of AKSMachines are listed: %v", names)
	}
	changed, err := json.Marshal(made)
	must(t, err)
	body := strings.Replace(string(changed), `"default"`, `"other"`, 1)
	_, err = server.wait(t, http.MethodPut, machineID("m1"), body, "If-Match", "other")
	wantCode(t, err, "PreconditionFailed", http.StatusPreconditionFailed)
	after, err := server.wait(t, http.MethodPut, machineID("m1"), body, "If-Match", textIn(made, "properties", "eTag"))
	must(t, err)
	if textIn(after, "properties", "tags", "karpenter.sh_nodepool") != "other" || textIn(after, "properties", "eTag") == textIn(made, "properties", "eTag") {
		t.Errorf("got %v", after)
	}
	_, err = server.wait(t, http.MethodPost, azuretest.PoolID(poolName())+"/deleteMachines", `{"machineNames":["m1"]}`)
	must(t, err)
	if c.account.Exists(vm) || c.account.Exists(machineID("m1")) {
		t.Error("the AKSMachine or its virtual machine still exists")
	}
	_, err = server.wait(t, http.MethodPost, azuretest.PoolID(poolName())+"/deleteMachines", `{"machineNames":["m1"]}`)
	wantCode(t, err, "InvalidParameter", http.StatusBadRequest)
	_, err = server.read(t, machineID("m1"))
	wantCode(t, err, "NotFound", http.StatusNotFound)
}

// TestMachineFails checks errors before and in the operation.
func TestMachineFails(t *testing.T) {
	c, server := connectAKS(t)
	for name, test := range map[string]struct{ old, with, code string }{
		"unknown field": {`"mode"`, `"mood"`, "InvalidRequestContent"}, "unknown mode": {`"User"`, `"Other"`, "InvalidParameter"},
		"unknown size": {"Standard_D4s_v3", "Standard_X", "VMSizeNotSupported"}, "unknown zone": {`"zones":["1"]`, `"zones":["9"]`, "AvailabilityZoneNotSupported"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := server.wait(t, http.MethodPut, machineID("m1"), strings.Replace(machineBody, test.old, test.with, 1))
			wantCode(t, err, test.code, http.StatusBadRequest)
		})
	}
	system := strings.NewReplacer(`"User"`, `"System"`, `"Regular"`, `"Spot"`).Replace(machineBody)
	_, err := server.wait(t, http.MethodPut, machineID("system"), system)
	wantCode(t, err, "InvalidParameter", http.StatusBadRequest)
	_, err = server.wait(t, http.MethodPut, machineID("system"), system, "AllowSpotVMSystemNode", "true")
	must(t, err)
	c.account.RunOut(azuretest.Pool{Zone: "1"})
	_, err = server.wait(t, http.MethodPut, machineID("m1"), machineBody)
	wantCode(t, err, "ZonalAllocationFailed", http.StatusOK)
	failed, err := server.read(t, machineID("m1"))
	must(t, err)
	if textIn(failed, "properties", "provisioningState") != "Failed" || textIn(failed, "properties", "status", "provisioningError", "code") != "ZonalAllocationFailed" {
		t.Errorf("got %v", failed)
	}
	c.account.Put(azuretest.PoolID("other"), map[string]any{"properties": map[string]any{"mode": "User"}})
	_, err = server.wait(t, http.MethodPut, azuretest.PoolID("other")+"/machines/m1", machineBody)
	wantCode(t, err, "InvalidParameter", http.StatusBadRequest)
}

// TestBatch creates AKSMachines by one request; what fails is named, the rest exists.
func TestBatch(t *testing.T) {
	_, server := connectAKS(t)
	//nolint:bodyclose // the SDK has read it
	_, err := server.send(t, http.MethodPut, machineID("m1"), machineBody, "BatchPutMachine",
		`{"batchMachines":[{"machineName":"m1","zones":["1"],"tags":{"n":"1"}},{"machineName":"m2","zones":["3"],"tags":{"n":"2"}}]}`)
	must(t, err)
	for range 2 { // reads let the operation go on
		_, err = server.read(t, azuretest.PoolID(poolName())+"/machines")
		must(t, err)
	}
	for name, number := range map[string]string{"m1": "1", "m2": "2"} {
		machine, err := server.read(t, machineID(name))
		must(t, err)
		if textIn(machine, "properties", "tags", "n") != number || textIn(machine, "properties", "provisioningState") != "Succeeded" {
			t.Errorf("%s: got %v", name, machine)
		}
	}
	//nolint:bodyclose // the SDK has read it
	_, err = server.send(t, http.MethodPut, machineID("m3"), machineBody, "BatchPutMachine",
		`{"batchMachines":[{"machineName":"m3","zones":["1"]},{"machineName":"m2","zones":["1"]},{"machineName":"m4","zones":["9"]}]}`)
	wantCode(t, err, "BatchMachineClientError", http.StatusBadRequest)
	for _, part := range []string{`"target": "m2"`, `"target": "m4"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not in %v", part, err)
		}
	}
	_, err = server.read(t, machineID("m3"))
	must(t, err)
	_, err = server.read(t, machineID("m4"))
	wantCode(t, err, "NotFound", http.StatusNotFound)
}

// TestImageVersions lists the versions of node images.
func TestImageVersions(t *testing.T) {
	c, server := connectAKS(t)
	c.account.Put(azuretest.ImageVersionID("eastus", "AKSUbuntu-2404gen2containerd-202606.10.0"), map[string]any{
		"os": "AKSUbuntu", "sku": "2404gen2containerd", "version": "202606.10.0", "fullName": "AKSUbuntu-2404gen2containerd-202606.10.0",
	})
	got, err := server.read(t, "/subscriptions/"+azuretest.Subscription+"/providers/Microsoft.ContainerService/locations/eastus/nodeImageVersions")
	must(t, err)
	if values, _ := got["value"].([]any); len(values) != 1 {
		t.Errorf("got %v", got)
	}
}
