package virtualmachine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/virtualmachine"
)

// spotGolden is the body of a spot virtual machine in zone 2, with an ephemeral disk and a community image.
const spotGolden = `{"location":"westus2","zones":["2"],"tags":{"team":"a"},
"identity":{"type":"UserAssigned","userAssignedIdentities":{"/identity/kubelet":{}}},
"properties":{"hardwareProfile":{"vmSize":"Standard_D64s_v3"},
"storageProfile":{"osDisk":{"name":"aks-c","diskSizeGB":128,"createOption":"FromImage","deleteOption":"Delete",
"caching":"ReadOnly","diffDiskSettings":{"option":"Local","placement":"CacheDisk"}},
"imageReference":{"communityGalleryImageId":"/image"}},
"networkProfile":{"networkInterfaces":[{"id":"/nic","properties":{"primary":true,"deleteOption":"Delete"}}]},
"osProfile":{"adminUsername":"azureuser","computerName":"aks-c","customData":"IyE=","linuxConfiguration":
{"disablePasswordAuthentication":true,"ssh":{"publicKeys":[{"keyData":"ssh-rsa K","path":"/home/azureuser/.ssh/authorized_keys"}]}}},
"priority":"Spot","evictionPolicy":"Delete","billingProfile":{"maxPrice":-1}}}`

// onDemandGolden is the body of an on-demand virtual machine without a zone, with a managed disk and a shared image.
const onDemandGolden = `{"location":"westus2","zones":[],"tags":{"team":"a"},
"properties":{"hardwareProfile":{"vmSize":"Standard_D64s_v3"},
"storageProfile":{"osDisk":{"name":"aks-c","diskSizeGB":128,"createOption":"FromImage","deleteOption":"Delete"},
"imageReference":{"id":"/image"}},
"networkProfile":{"networkInterfaces":[{"id":"/nic","properties":{"primary":true,"deleteOption":"Delete"}}]},
"osProfile":{"adminUsername":"azureuser","computerName":"aks-c","customData":"IyE=","linuxConfiguration":
{"disablePasswordAuthentication":true,"ssh":{"publicKeys":[{"keyData":"ssh-rsa K","path":"/home/azureuser/.ssh/authorized_keys"}]}}},
"priority":"Regular"}}`

// TestBody compares whole bodies as they are sent.
//
// Source: Azure provider specification, conformance vectors.
func TestBody(t *testing.T) {
	t.Attr("covers", "Z102 Z103 Z104 Z213")
	onDemand := spec()
	if diff := cmp.Diff(decoded(t, onDemandGolden), body(t, class(nil), &onDemand)); diff != "" {
		t.Errorf("on-demand (-want +got):\n%s", diff)
	}
	spot := spec()
	spot.Zone, spot.Spot, spot.EphemeralPlacement = "westus2-2", true, "CacheDisk"
	spot.Image.Community, spot.Identities = true, []string{"/identity/kubelet"}
	if diff := cmp.Diff(decoded(t, spotGolden), body(t, class(nil), &spot)); diff != "" {
		t.Errorf("spot (-want +got):\n%s", diff)
	}
	spot.Zone = "somewhere"
	if _, err := virtualmachine.Body(class(nil), &spot); err == nil || !strings.Contains(err.Error(), "aks-c") {
		t.Errorf("unknown zone: %v", err)
	}
}

// TestBodySecurity checks that a field that the class sets to false is sent as false, and one that it does not set is not.
func TestBodySecurity(t *testing.T) {
	t.Attr("covers", "Z105 Z214")
	for name, test := range map[string]struct {
		security *v1beta1.Security
		want     string
	}{
		"none":                       {nil, `null`},
		"empty":                      {&v1beta1.Security{}, `null`},
		"encryption at host":         {&v1beta1.Security{EncryptionAtHost: new(true)}, `{"encryptionAtHost":true}`},
		"without encryption at host": {&v1beta1.Security{EncryptionAtHost: new(false)}, `{"encryptionAtHost":false}`},
		"vTPM": {
			&v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{VTPM: new(true)}},
			`{"securityType":"TrustedLaunch","uefiSettings":{"secureBootEnabled":false,"vTpmEnabled":true}}`,
		},
		"secure boot": {
			&v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{SecureBoot: new(true), VTPM: new(false)}},
			`{"securityType":"TrustedLaunch","uefiSettings":{"secureBootEnabled":true,"vTpmEnabled":false}}`,
		},
		"no trusted launch": {
			&v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{SecureBoot: new(false), VTPM: new(false)}}, `null`,
		},
	} {
		spec := spec()
		properties := body(t, class(test.security), &spec).(map[string]any)["properties"].(map[string]any)
		if diff := cmp.Diff(decoded(t, test.want), properties["securityProfile"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBodyDisks checks what is sent about disks only if it is asked for.
func TestBodyDisks(t *testing.T) {
	t.Attr("covers", "Z106")
	spec := spec()
	spec.DiskEncryptionSet, spec.UltraSSD = "/set", true
	class := class(nil)
	class.Spec.OSDiskSizeGB = new(int32(30))
	properties := body(t, class, &spec).(map[string]any)["properties"].(map[string]any)
	disk := properties["storageProfile"].(map[string]any)["osDisk"].(map[string]any)
	if diff := cmp.Diff(decoded(t, `{"diskEncryptionSet":{"id":"/set"}}`), disk["managedDisk"]); diff != "" {
		t.Errorf("managed disk (-want +got):\n%s", diff)
	}
	if disk["diskSizeGB"] != 30.0 {
		t.Errorf("disk size %v, want 30", disk["diskSizeGB"])
	}
	if diff := cmp.Diff(decoded(t, `{"ultraSSDEnabled":true}`), properties["additionalCapabilities"]); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
}

// TestExtensions checks which extensions a virtual machine has, in which order, and their bodies.
func TestExtensions(t *testing.T) {
	t.Attr("covers", "Z110")
	const billing = `{"location":"westus2","tags":{"team":"a"},"properties":{"publisher":"Microsoft.AKS",
"type":"Compute.AKS.Linux.Billing","typeHandlerVersion":"1.0","autoUpgradeMinorVersion":true,"settings":{}}}`
	const script = `{"location":"westus2","tags":{"team":"a"},"properties":{"publisher":"Microsoft.Azure.Extensions",
"type":"CustomScript","typeHandlerVersion":"2.0","autoUpgradeMinorVersion":true,"protectedSettings":{"commandToExecute":"run"}}}`
	vm := spec()
	for _, test := range []struct {
		cloud, command string
		names, bodies  []string
	}{
		{"AzurePublicCloud", "run", []string{"cse-agent-karpenter", "computeAksLinuxBilling"}, []string{script, billing}},
		{"AzurePublicCloud", "", []string{"computeAksLinuxBilling"}, []string{billing}},
		{"AzureChinaCloud", "", []string{"computeAksLinuxBilling"}, []string{billing}},
		{"AzureUSGovernmentCloud", "", []string{"computeAksLinuxBilling"}, []string{billing}},
		{"AzureStackCloud", "run", []string{"cse-agent-karpenter"}, []string{script}},
		{"", "", nil, nil},
	} {
		var names []string
		var bodies, want []any
		for _, extension := range virtualmachine.Extensions(&vm, test.cloud, test.command) {
			names, bodies = append(names, extension.Name), append(bodies, encoded(t, extension.Body))
		}
		for _, golden := range test.bodies {
			want = append(want, decoded(t, golden))
		}
		if diff := cmp.Diff(test.names, names); diff != "" {
			t.Errorf("%s, command %q: names (-want +got):\n%s", test.cloud, test.command, diff)
		}
		if diff := cmp.Diff(want, bodies); diff != "" {
			t.Errorf("%s, command %q: bodies (-want +got):\n%s", test.cloud, test.command, diff)
		}
	}
}

func spec() virtualmachine.Spec {
	return virtualmachine.Spec{
		Name: "aks-c", Location: "westus2", Zone: "0", Size: "Standard_D64s_v3", Tags: map[string]string{"team": "a"},
		Image: virtualmachine.Image{ID: "/image"}, NetworkInterface: "/nic", AdminUser: "azureuser", SSHKey: "ssh-rsa K",
		CustomData: "IyE=",
	}
}

func class(security *v1beta1.Security) *v1beta1.AKSNodeClass {
	return &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{Security: security}}
}

// body returns the body as Azure receives it.
func body(t *testing.T, class *v1beta1.AKSNodeClass, spec *virtualmachine.Spec) any {
	t.Helper()
	vm, err := virtualmachine.Body(class, spec)
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, vm)
}

func encoded(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, string(data))
}

func decoded(t *testing.T, data string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
