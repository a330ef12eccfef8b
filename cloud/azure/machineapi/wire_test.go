package machineapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v9"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v9/fake"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
)

// wire is between the client and the servers for tests of a beta version of the SDK, which has the API that the client speaks. It has the bodies that
// were sent, and those that the servers have read as the SDK writes them again.
type wire struct {
	machines, pools policy.Transporter
	sent, read      string
	// answer is what a server answers to reads.
	answer armcontainerservice.Machine
}

// Do implements policy.Transporter. The servers find their methods by a name that clients of the SDK put into the context of a request.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Method != http.MethodGet {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		w.sent = string(text)
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	method, server := "MachinesClient.Get", w.machines
	switch {
	case r.Method == http.MethodPut:
		method = "MachinesClient.BeginCreateOrUpdate"
	case path.Base(r.URL.Path) == "deleteMachines":
		method, server = "AgentPoolsClient.BeginDeleteMachines", w.pools
	}
	return server.Do(r.WithContext(context.WithValue(r.Context(), runtime.CtxAPINameKey{}, method)))
}

// decoded records what a server has read.
func (w *wire) decoded(body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.read = string(text)
}

// wired returns a client whose requests reach servers of the SDK that accept all of them.
func wired(t *testing.T) (*machineapi.Client, *wire) {
	t.Helper()
	w := &wire{}
	w.machines = fake.NewMachinesServerTransport(&fake.MachinesServer{
		BeginCreateOrUpdate: func(_ context.Context, _, _, _, _ string, body armcontainerservice.Machine, _ *armcontainerservice.MachinesClientBeginCreateOrUpdateOptions) (
			resp azfake.PollerResponder[armcontainerservice.MachinesClientCreateOrUpdateResponse], errResp azfake.ErrorResponder,
		) {
			w.decoded(body)
			resp.SetTerminalResponse(http.StatusOK, armcontainerservice.MachinesClientCreateOrUpdateResponse{Machine: body}, nil)
			return resp, errResp
		},
		Get: func(context.Context, string, string, string, string, *armcontainerservice.MachinesClientGetOptions) (
			resp azfake.Responder[armcontainerservice.MachinesClientGetResponse], errResp azfake.ErrorResponder,
		) {
			resp.SetResponse(http.StatusOK, armcontainerservice.MachinesClientGetResponse{Machine: w.answer}, nil)
			return resp, errResp
		},
	})
	w.pools = fake.NewAgentPoolsServerTransport(&fake.AgentPoolsServer{
		BeginDeleteMachines: func(_ context.Context, _, _, _ string, body armcontainerservice.AgentPoolDeleteMachinesParameter, _ *armcontainerservice.AgentPoolsClientBeginDeleteMachinesOptions) (
			resp azfake.PollerResponder[armcontainerservice.AgentPoolsClientDeleteMachinesResponse], errResp azfake.ErrorResponder,
		) {
			w.decoded(body)
			resp.SetTerminalResponse(http.StatusNoContent, armcontainerservice.AgentPoolsClientDeleteMachinesResponse{}, nil)
			return resp, errResp
		},
	})
	manager, err := arm.NewClient("test", "v1.0.0", &azfake.TokenCredential{}, &arm.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: w}, DisableRPRegistration: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return machineapi.New(machineapi.Options{ResourceManager: manager, Subscription: "sub", ResourceGroup: "group", Cluster: "test", Pool: pool, APIVersion: version}), w
}

// expectSame checks that the servers have read all that was sent: a field that the SDK does not know is lost without an error.
func (w *wire) expectSame(t *testing.T) {
	t.Helper()
	var sent, read any
	for into, text := range map[*any]string{&sent: w.sent, &read: w.read} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v: %q", err, text)
		}
	}
	if diff := cmp.Diff(sent, read); diff != "" {
		t.Errorf("what the SDK reads (-sent +read):\n%s", diff)
	}
}

// everything is a class that sets all that an AKSMachine can have.
func everything() v1beta1.AKSNodeClassSpec {
	zone := func(name, destination string) string {
		return `{"zone":"` + name + `","queryLogging":"Error","protocol":"PreferUDP","forwardDestination":"` + destination +
			`","forwardPolicy":"Sequential","maxConcurrent":100,"cacheDuration":"1h","serveStaleDuration":"30m","serveStale":"Verify"}`
	}
	text := `{"vnetSubnetID":"/subnet","maxPods":50,"fipsMode":"FIPS","gpu":{"mode":"None"},"artifactStreaming":{"enabled":true},
"security":{"encryptionAtHost":true,"trustedLaunch":{"vtpm":true,"secureBoot":true}},
"kubelet":{"cpuManagerPolicy":"static","cpuCFSQuota":true,"cpuCFSQuotaPeriod":"200ms","imageGCHighThresholdPercent":90,"imageGCLowThresholdPercent":70,
"topologyManagerPolicy":"restricted","allowedUnsafeSysctls":["net.core.somaxconn"],"containerLogMaxSize":"100Mi","containerLogMaxFiles":3,"podPidsLimit":1000,"failSwapOn":false},
"linuxOSConfig":{"swapFileSize":"1Gi","transparentHugePageEnabled":"always","transparentHugePageDefrag":"defer","sysctls":{"netIPv4IPLocalPortRange":"1024 65535"}},
"localDNS":{"mode":"Required","vnetDNSOverrides":[` + zone(".", "VnetDNS") + "," + zone("cluster.local", "ClusterCoreDNS") + `],
"kubeDNSOverrides":[` + zone(".", "ClusterCoreDNS") + "," + zone("cluster.local", "ClusterCoreDNS") + `]}}`
	var out v1beta1.AKSNodeClassSpec
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		panic(err)
	}
	sysctls := reflect.ValueOf(out.LinuxOSConfig.Sysctls).Elem()
	for i := range sysctls.NumField() {
		switch field := sysctls.Field(i).Addr().Interface().(type) {
		case **int32:
			*field = new(int32(i + 1))
		case **bool:
			*field = new(true)
		}
	}
	return out
}

// TestBodiesAreThoseOfTheSDK sends bodies of AKSMachines to the servers of the SDK, which read all of them.
//
// Source: Azure provider specification, conformance vectors, wire bodies.
func TestBodiesAreThoseOfTheSDK(t *testing.T) {
	t.Attr("covers", "Z151")
	for name, test := range map[string]struct {
		class  v1beta1.AKSNodeClassSpec
		change func(*aksmachine.Spec)
	}{
		"defaults":   {v1beta1.AKSNodeClassSpec{}, func(*aksmachine.Spec) {}},
		"everything": {everything(), func(*aksmachine.Spec) {}},
		"a launch": {v1beta1.AKSNodeClassSpec{}, func(s *aksmachine.Spec) {
			s.Zone, s.Spot, s.UltraSSD, s.EphemeralDisk, s.System, s.GPU = "0", true, true, true, true, true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := aksmachine.Spec{
				Zone: "westus2-1", Size: "Standard_D4s_v3", Architecture: "amd64", Family: family.Ubuntu2204, ImageVersion: "AKSUbuntu-2204gen2containerd-202606.10.0",
				KubernetesVersion: "1.33.1", Labels: map[string]string{"team": "a"}, Taints: []string{"karpenter.sh/unregistered:NoExecute"}, Tags: map[string]string{"owner": "b"},
			}
			test.change(&spec)
			class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: test.class}
			class.Status.LocalDNSState = v1beta1.LocalDNSStateEnabled
			body, err := aksmachine.BodyOf(class, &spec)
			if err != nil {
				t.Fatal(err)
			}
			client, w := wired(t)
			if _, err := client.BeginCreate(t.Context(), "general-a", body); err != nil {
				t.Fatal(err)
			}
			w.expectSame(t)
		})
	}
}

// TestAnswersAreThoseOfTheSDK reads an AKSMachine as the SDK writes it, changes its tags, and deletes it.
func TestAnswersAreThoseOfTheSDK(t *testing.T) {
	client, w := wired(t)
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w.answer = armcontainerservice.Machine{
		ID: to.Ptr("/id"), Name: to.Ptr("general-a"), Zones: []*string{to.Ptr("1")},
		Properties: &armcontainerservice.MachineProperties{
			ETag: to.Ptr("tag"), ProvisioningState: to.Ptr("Failed"), ResourceID: to.Ptr("/vm"), NodeImageVersion: to.Ptr("AKSUbuntu-2204gen2containerd-202606.10.0"),
			Priority: to.Ptr(armcontainerservice.ScaleSetPrioritySpot), Tags: map[string]*string{"owner": to.Ptr("b")},
			Hardware: &armcontainerservice.MachineHardwareProfile{VMSize: to.Ptr("Standard_D4s_v3")},
			Status: &armcontainerservice.MachineStatus{
				CreationTimestamp: &created, DriftAction: to.Ptr(armcontainerservice.DriftActionRecreate),
				ProvisioningError: &armcontainerservice.ErrorDetail{Code: to.Ptr("Outer"), Details: []*armcontainerservice.ErrorDetail{{Code: to.Ptr("ZonalAllocationFailed"), Message: to.Ptr("full")}}},
			},
		},
	}
	got, err := client.Get(t.Context(), "general-a")
	if err != nil {
		t.Fatal(err)
	}
	want := &machineapi.Properties{
		ETag: "tag", ProvisioningState: machineapi.StateFailed, ResourceID: "/vm", NodeImageVersion: "AKSUbuntu-2204gen2containerd-202606.10.0", Priority: machineapi.PrioritySpot,
		Tags: map[string]string{"owner": "b"}, Hardware: &machineapi.Hardware{VMSize: "Standard_D4s_v3"},
		Status: &machineapi.Status{
			CreationTimestamp: &created, DriftAction: "Recreate",
			ProvisioningError: &machineapi.ProvisioningError{Code: "Outer", Details: []machineapi.ProvisioningError{{Code: "ZonalAllocationFailed", Message: "full"}}},
		},
	}
	if diff := cmp.Diff(want, got.Properties); diff != "" || got.ID != "/id" || got.Name != "general-a" || strings.Join(got.Zones, ",") != "1" {
		t.Errorf("read %+v (-want +got):\n%s", got, diff)
	}
	if code, _ := machineapi.CodeOf(got.Properties.Status.ProvisioningError.Cause()); code != "ZonalAllocationFailed" {
		t.Errorf("the code is %q", code)
	}
	if _, err := client.BeginSetTags(t.Context(), got, map[string]string{"owner": "c"}); err != nil {
		t.Fatal(err)
	}
	w.expectSame(t)
	if _, err := client.BeginDelete(t.Context(), "general-a"); err != nil {
		t.Fatal(err)
	}
	w.expectSame(t)
}
