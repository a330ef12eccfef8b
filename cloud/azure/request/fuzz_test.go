package request_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/azure/v1alpha2"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	ids "github.com/karpenter-anew/karpenter/cloud/azure/image"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/generate"
)

// definitions are the definition of the class, and a judge that decides as the API server would.
var definitions = sync.OnceValues(func() (*apiextensionsv1.CustomResourceDefinition, *manifest.Reader) {
	all, err := azurecrds.Definitions()
	if err != nil {
		panic(err)
	}
	judge, err := manifest.NewReader(all, v1beta1.AddToScheme, v1alpha2.AddToScheme)
	if err != nil {
		panic(err)
	}
	at := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == "AKSNodeClass" })
	return all[at], judge
})

// specFrom writes the spec of a class; false if the API server would refuse it.
func specFrom(t *testing.T, choices []byte, own string) (out v1beta1.AKSNodeClassSpec, ok bool) {
	t.Helper()
	crd, judge := definitions()
	fixed := map[string]any{"spec.vnetSubnetID": subnetID}
	if len(choices) > 0 && choices[0]&2 == 2 {
		fixed["spec.localDNS"] = localDNS([]string{"Preferred", "Required", "Disabled"}[choices[0]%3])
	}
	content := generate.Object(generate.From(choices, own), crd, "default", fixed)
	content["apiVersion"] = v1beta1.SchemeGroupVersion.String()
	if len(judge.Check(content)) > 0 {
		return out, false
	}
	text, err := json.Marshal(content["spec"])
	if err == nil && content["spec"] != nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, true
}

// localDNS is what a class must say of LocalDNS: the schema requires two zones in each list, which are hardly ever generated.
func localDNS(mode string) map[string]any {
	zone := func(name, destination string) map[string]any {
		return map[string]any{
			"zone": name, "queryLogging": "Error", "protocol": "PreferUDP", "forwardDestination": destination, "forwardPolicy": "Sequential",
			"maxConcurrent": int64(0), "cacheDuration": "1h0m30s", "serveStaleDuration": "30m", "serveStale": "Verify",
		}
	}
	return map[string]any{
		"mode": mode, "vnetDNSOverrides": []any{zone(".", "VnetDNS"), zone("cluster.local", "ClusterCoreDNS")},
		"kubeDNSOverrides": []any{zone(".", "ClusterCoreDNS"), zone("cluster.local", "ClusterCoreDNS")},
	}
}

// FuzzClass requests launches of classes that the API server would let through. Nothing panics, what is refused is refused for a reason that
// users can see in the class, and the bodies of requests have only fields that Azure knows.
func FuzzClass(f *testing.F) {
	f.Add([]byte{}, "", uint8(0))
	f.Add([]byte(strings.Repeat("\x07\x03\x05\x06\x01", 30)), "Ubuntu2204", uint8(1))
	f.Add([]byte(strings.Repeat("\x05\x06\x07\x02\x06\x05\x09", 30)), "50Mi", uint8(2))
	f.Add([]byte(strings.Repeat("\x07\x06", 120)), "99999999999999999999Ei", uint8(3))
	f.Add([]byte(strings.Repeat("\x0b\x06\x07", 90)), "100ms", uint8(4))
	f.Fuzz(func(t *testing.T, choices []byte, own string, minor uint8) {
		spec, ok := specFrom(t, choices, own)
		if !ok {
			return
		}
		version := []string{"1.29.0", "1.31.9", "1.33.4", "1.34.1", "1.36.0"}[int(minor)%5]
		l := launch(func(l *request.Launch) { l.Class.Spec, l.Class.Status.KubernetesVersion = spec, version })
		of, err := family.Of(l.Class, version)
		if err != nil {
			t.Fatal(err)
		}
		named := func(shared bool) []v1beta1.NodeImage {
			return ids.List(of.Definitions(l.Class.FIPS(), l.Class.TrustedLaunch(), true), func(d family.Definition) (ids.ID, bool) {
				if shared {
					return ids.SharedID(of, "aks", d.Name, "202604.1.0"), true
				}
				return ids.CommunityID(of, d.Name, "202604.1.0"), true
			})
		}
		l.Class.Status.Images = named(false)
		for _, starter := range []request.Starter{request.Scriptless{}, request.Bootstrapping{Service: &service{}, MemoryOverhead: 0.075}} {
			vm, err := vms(starter).Of(t.Context(), l)
			if checkRefusal(t, &l, err) {
				checkBodies(t, &l, vm)
			}
		}
		l.Class.Status.Images = named(true)
		machine, err := (&request.AKSMachines{Name: "cluster"}).Of(l)
		if checkRefusal(t, &l, err) && (machine.Body.Properties.OperatingSystem.OSSKU == "" || machine.Body.Properties.OperatingSystem.OSDiskSizeGB < 30) {
			t.Errorf("the body is %+v", machine.Body)
		}
	})
}

// checkRefusal reports whether a launch is requested, and checks why it is not.
func checkRefusal(t *testing.T, l *request.Launch, err error) bool {
	t.Helper()
	switch {
	case err == nil:
		return true
	case errors.Is(err, request.ErrNoImage), errors.Is(err, customdata.ErrTooLarge):
	case strings.Contains(err.Error(), "sysctl") && len(l.Class.InvalidSysctls()) > 0:
		// The schema takes any text, also one that would become another flag. A condition of the class says so.
	default:
		text, _ := json.Marshal(l.Class.Spec)
		t.Errorf("a class that the API server takes is refused at the launch: %v\n%s", err, text)
	}
	return false
}

// checkBodies checks that the SDK reads what is sent, and that nothing of it is lost.
func checkBodies(t *testing.T, l *request.Launch, vm request.VM) {
	t.Helper()
	vm.Spec.NetworkInterface = "/nic"
	body, err := virtualmachine.Body(l.Class, &vm.Spec)
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, body, &armcompute.VirtualMachine{})
	checkRoundTrip(t, network.InterfaceBody(&vm.Interface), &armnetwork.Interface{})
	for _, extension := range virtualmachine.Extensions(&vm.Spec, "AzurePublicCloud", vm.Command) {
		checkRoundTrip(t, extension.Body, &armcompute.VirtualMachineExtension{})
	}
}

// checkRoundTrip reads a body into a type of the SDK, and compares what that writes.
func checkRoundTrip(t *testing.T, body, into any) {
	t.Helper()
	sent, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(sent, into)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, sent)
	}
	read, err := json.Marshal(into)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(sent), string(read)); diff != "" {
		t.Errorf("(-sent +read):\n%s", diff)
	}
}
