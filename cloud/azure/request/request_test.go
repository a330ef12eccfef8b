package request_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/bootstrapping"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/customdata"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

const (
	subnetID = "/subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes"
	arm      = "/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2204gen2arm64containerd/versions/202604.1.0"
	amd      = "/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2204gen2containerd/versions/202604.1.0"
	shared   = "/subscriptions/aks/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2204gen2containerd/versions/202604.1.0"
)

// cloudNetwork is what nodes are connected to.
type cloudNetwork struct{ err error }

// Of implements request.Attacher.
func (n cloudNetwork) Of(context.Context, *v1beta1.AKSNodeClass) (network.Attachment, error) {
	return network.Attachment{SubnetID: subnetID, Pools: network.Pools{IDs: []string{"/pool"}, Generation: 1}, SecurityGroupID: "/nsg"}, n.err
}

// Get implements request.GroupFinder.
func (cloudNetwork) Get(context.Context) (network.SecurityGroup, error) {
	return network.SecurityGroup{ID: "/nsg", Name: "aks-agentpool-12345678-nsg", ClusterID: "12345678"}, nil
}

func image(id, arch string) v1beta1.NodeImage {
	return v1beta1.NodeImage{ID: id, Requirements: []corev1.NodeSelectorRequirement{{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{arch}}}}
}

func in(key, value string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
}

// launch is that of a spot node of size D2s_v3 in the second zone, changed by the caller.
func launch(changes ...func(*request.Launch)) request.Launch {
	class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}}
	class.Spec.Tags = map[string]string{"team": "a"}
	class.Status.KubernetesVersion = "1.33.4"
	class.Status.Images = []v1beta1.NodeImage{image(arm, "arm64"), image(amd, "amd64")}
	for _, c := range []string{v1beta1.ConditionTypeKubernetesVersionReady, v1beta1.ConditionTypeImagesReady} {
		class.Status.Conditions = append(class.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, ObservedGeneration: 1})
	}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "general-abcde", Labels: map[string]string{v1.NodePoolLabelKey: "general"}}}
	claim.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule}}
	claim.Spec.StartupTaints = []corev1.Taint{{Key: "node.cilium.io/agent-not-ready", Value: "true", Effect: corev1.TaintEffectNoExecute}}
	requirements := []v1.NodeSelectorRequirementWithMinValues{in(corev1.LabelArchStable, "amd64")}
	offering := cloud.Offering{Requirements: []v1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelTopologyZone, "westus2-2"),
		in(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot),
	}, Price: 1, Available: true}
	it := &cloud.InstanceType{
		Name: "Standard_D2s_v3", Requirements: requirements, Offerings: []cloud.Offering{offering},
		Capacity: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("7Gi")},
	}
	l := request.Launch{
		Claim: claim, Class: class,
		Choice: choice.Choice{InstanceType: it, Offering: &it.Offerings[0], PlacementScope: label.PlacementScopeZonal},
		SKU: sku.Description{
			Name: "Standard_D2s_v3", VCPUs: 2, MemoryGiB: 8, Architecture: "amd64", AcceleratedNetworking: true,
			Disk: sku.EphemeralDisk{SizeGB: 53, Placement: sku.PlacementCache},
		},
	}
	for _, change := range changes {
		change(&l)
	}
	return l
}

func vms(starter request.Starter) *request.VMs {
	return &request.VMs{
		Cluster: customdata.Cluster{
			TenantID: "tenant", SubscriptionID: "sub", NodeResourceGroup: "MC_group", Location: "westus2", Environment: "AzurePublicCloud",
			Endpoint: "https://cluster:443", CABundle: "Y2E=", BootstrapToken: "abcdef.0123456789abcdef", KubeletIdentityClientID: "identity",
			AdminUser: "azureuser", DNSServiceIP: "10.0.0.10", Network: instancetype.Network{Plugin: instancetype.PluginAzure, Mode: instancetype.ModeOverlay},
			Dataplane: customdata.DataplaneCilium, VNetGUID: "guid",
		},
		Name: "cluster", Groups: cloudNetwork{}, Attachments: cloudNetwork{}, Starter: starter, Tags: map[string]string{"cost": "1"},
		Identities: []string{"/identity"}, DiskEncryptionSet: "/des", AdminUser: "azureuser", SSHKey: "ssh-rsa K",
	}
}

func TestVirtualMachines(t *testing.T) {
	got, err := vms(request.Scriptless{}).Of(t.Context(), launch())
	if err != nil {
		t.Fatal(err)
	}
	s := got.Spec
	if s.Name != "aks-general-abcde" || got.Interface.Name != s.Name || s.Size != "Standard_D2s_v3" || s.Zone != "westus2-2" || !s.Spot || s.Location != "westus2" {
		t.Errorf("the virtual machine is %+v", s)
	}
	if s.Image.ID != amd || !s.Image.Community || s.EphemeralPlacement != "" || s.DiskEncryptionSet != "/des" || got.Command != "" {
		t.Errorf("the virtual machine is %+v with command %q", s, got.Command)
	}
	tags := map[string]string{"team": "a", "cost": "1", "karpenter.azure.com_cluster": "cluster", "karpenter.sh_nodepool": "general", "compute.aks.billing": "linux"}
	if diff := cmp.Diff(tags, s.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if n := got.Interface; n.Attachment.SubnetID != subnetID || !n.Accelerated || n.MaxPods != 250 || n.Attachment.SecurityGroupID != "/nsg" {
		t.Errorf("the network interface is %+v", n)
	}
	script, err := base64.StdEncoding.DecodeString(s.CustomData)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"aks-agentpool-12345678-nsg", "dedicated=ml:NoSchedule", "karpenter.sh/unregistered:NoExecute", "karpenter.sh/capacity-type=spot"} {
		if !strings.Contains(string(script), part) {
			t.Errorf("the custom data lacks %s", part)
		}
	}

	small := launch(func(l *request.Launch) { size := int32(30); l.Class.Spec.OSDiskSizeGB = &size })
	if got, err = vms(request.Scriptless{}).Of(t.Context(), small); err != nil || got.Spec.EphemeralPlacement != sku.PlacementCache {
		t.Errorf("the disk is in %q, %v", got.Spec.EphemeralPlacement, err)
	}
}

// TestDisks holds the disk of the operating system against the vectors of the specification.
func TestDisks(t *testing.T) {
	t.Attr("covers", "Z057 Z197")
	cached := func(gb int64) sku.EphemeralDisk { return sku.EphemeralDisk{SizeGB: gb, Placement: sku.PlacementCache} }
	for _, test := range []struct {
		size      string
		disk      sku.EphemeralDisk
		requested int32 // 0 for the default
		want      string
	}{
		{"Standard_D64s_v3", cached(1717), 0, "CacheDisk"},
		{"Standard_D64s_v3", cached(1717), 1717, "CacheDisk"},
		{"Standard_D64s_v3", cached(1717), 1718, ""},
		{"Standard_D2s_v3", cached(53), 53, "CacheDisk"},
		{"Standard_D2s_v3", cached(53), 54, ""},
		{"Standard_D2s_v3", cached(53), 0, ""},
		{"Standard_D128ds_v6", sku.EphemeralDisk{SizeGB: 7559, Placement: sku.PlacementNVMe}, 2048, "NvmeDisk"},
		{"Standard_E4d_v5", sku.EphemeralDisk{SizeGB: 161, Placement: sku.PlacementResource}, 128, "ResourceDisk"},
		{"Standard_NC24ads_A100_v4", cached(274), 256, "CacheDisk"},
		{"Standard_NC24ads_A100_v4", cached(274), 300, ""},
		{"Standard_B20ms", cached(32), 64, ""},
		{"Standard_D2_v5", sku.EphemeralDisk{}, 30, ""},
	} {
		l := launch(func(l *request.Launch) {
			l.SKU.Name, l.SKU.Disk = test.size, test.disk
			if test.requested > 0 {
				l.Class.Spec.OSDiskSizeGB = &test.requested
			}
			l.Class.Status.Images = append(l.Class.Status.Images, image(shared, "amd64"))
		})
		vm, err := vms(request.Scriptless{}).Of(t.Context(), l)
		if err != nil || vm.Spec.EphemeralPlacement != test.want {
			t.Errorf("%s with a disk of %d GB: %q, %v, want %q", test.size, test.requested, vm.Spec.EphemeralPlacement, err, test.want)
		}
		l.Class.Status.Images = l.Class.Status.Images[2:]
		machine, err := (&request.AKSMachines{Name: "cluster"}).Of(l)
		if want := map[bool]string{true: "Managed", false: "Ephemeral"}[test.want == ""]; err != nil || machine.Body.Properties.OperatingSystem.OSDiskType != want {
			t.Errorf("an AKSMachine of %s with a disk of %d GB: %+v, %v, want %s", test.size, test.requested, machine.Body, err, want)
		}
	}
}

// TestAKSMachinesAndTheirImages checks that AKS is told the operating system of the image, for every class and version.
func TestAKSMachinesAndTheirImages(t *testing.T) {
	t.Attr("covers", "Z221")
	rows := 0
	for _, imageFamily := range []string{"", "Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux"} {
		for _, version := range []string{"1.31.9", "1.32.0", "1.33.4", "1.34.0", "1.36.0"} {
			for _, options := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				class := &v1beta1.AKSNodeClass{}
				if imageFamily != "" {
					class.Spec.ImageFamily = &imageFamily
				}
				if options[0] {
					class.Spec.FIPSMode = new(v1beta1.FIPSModeFIPS)
				}
				if options[1] {
					class.Spec.Security = &v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{VTPM: new(true)}}
				}
				of, err := family.Of(class, version)
				if err != nil {
					t.Fatal(err)
				}
				for _, definition := range of.Definitions(options[0], options[1], true) {
					rows++
					body, err := aksmachine.BodyOf(class, &aksmachine.Spec{Zone: "0", Family: of})
					if err != nil {
						t.Fatal(err)
					}
					want := map[string]string{"2004": "Ubuntu", "2204": "Ubuntu2204", "2404": "Ubuntu2404", "V2ge": "AzureLinux", "V3ge": "AzureLinux", "V2": "AzureLinux", "V3": "AzureLinux", "V2fi": "AzureLinux", "V3fi": "AzureLinux"}[definition.Name[:min(4, len(definition.Name))]]
					if got := body.Properties.OperatingSystem.OSSKU; got != want {
						t.Errorf("%s %s %v: image %s and operating system %s, want %s", imageFamily, version, options, definition.Name, got, want)
					}
				}
			}
		}
	}
	if rows < 100 {
		t.Errorf("%d images were compared", rows)
	}
}

// service records what it is asked.
type service struct{ asked *bootstrapping.Spec }

// Get implements request.Service.
func (s *service) Get(_ context.Context, spec *bootstrapping.Spec) (bootstrapping.Start, error) {
	s.asked = spec
	return bootstrapping.Start{CustomData: "IyE=", Command: "run"}, nil
}

func TestVirtualMachinesOfTheBootstrappingService(t *testing.T) {
	s := &service{}
	got, err := vms(request.Bootstrapping{Service: s, MemoryOverhead: 0.075}).Of(t.Context(), launch())
	if err != nil || got.Command != "run" || got.Spec.CustomData != "IyE=" {
		t.Fatalf("command %q, custom data %q, %v", got.Command, got.Spec.CustomData, err)
	}
	if !slices.Equal(s.asked.Taints, []string{"dedicated=ml:NoSchedule"}) ||
		!slices.Equal(s.asked.StartupTaints, []string{"node.cilium.io/agent-not-ready=true:NoExecute", "karpenter.sh/unregistered:NoExecute"}) {
		t.Errorf("taints %v, startup taints %v", s.asked.Taints, s.asked.StartupTaints)
	}
	if s.asked.Distro == "" || s.asked.MaxPods != 250 || s.asked.System || s.asked.EphemeralDisk || s.asked.MemoryCapacity != 7<<30 || s.asked.MemoryOverhead != 0.075 {
		t.Errorf("the service is asked %+v", s.asked)
	}
	if s.asked.Labels[label.AKSMode] != label.ModeUser || s.asked.Labels[v1.NodePoolLabelKey] != "general" {
		t.Errorf("the labels are %v", s.asked.Labels)
	}
	system := launch(func(l *request.Launch) {
		l.Claim.Spec.Requirements = append(l.Claim.Spec.Requirements, in(label.AKSMode, label.ModeSystem))
	})
	if _, err := vms(request.Bootstrapping{Service: s}).Of(t.Context(), system); err != nil || !s.asked.System {
		t.Errorf("system %v, %v", s.asked.System, err)
	}
}

func TestAKSMachines(t *testing.T) {
	m := request.AKSMachines{Name: "cluster", Tags: map[string]string{"cost": "1"}}
	got, err := m.Of(launch(func(l *request.Launch) { l.Class.Status.Images = []v1beta1.NodeImage{image(shared, "amd64")} }))
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "general-abcde" || got.Spec.ImageVersion != "AKSUbuntu-2204gen2containerd-202604.1.0" || got.Spec.Tags["karpenter.azure.com_aksmachine_nodeclaim"] != "general-abcde" {
		t.Errorf("the AKSMachine is %+v", got)
	}
	body, err := json.Marshal(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"zones":["2"]`, `"priority":"Spot"`, `"mode":"User"`, `"nodeInitializationTaints":["dedicated=ml:NoSchedule","node.cilium.io/agent-not-ready=true:NoExecute","karpenter.sh/unregistered:NoExecute"]`} {
		if !strings.Contains(string(body), part) {
			t.Errorf("the body lacks %s:\n%s", part, body)
		}
	}
	if _, err := m.Of(launch()); err == nil {
		t.Error("an image of a community gallery is used for an AKSMachine")
	}
}

func TestLaunchesThatCannotBeRequested(t *testing.T) {
	refused := errors.New("no answer")
	for name, c := range map[string]struct {
		change func(*request.Launch)
		with   func(*request.VMs)
		want   error
	}{
		"no image":           {change: func(l *request.Launch) { l.Class.Status.Images = l.Class.Status.Images[:1] }, want: request.ErrNoImage},
		"no images at all":   {change: func(l *request.Launch) { l.Class.Status.Images = nil }, want: request.ErrNoImage},
		"an earlier version": {change: func(l *request.Launch) { l.Class.Generation = 2 }},
		"another's image": {change: func(l *request.Launch) {
			l.Class.Status.Images = []v1beta1.NodeImage{image(strings.Replace(amd, "2204gen2containerd", "mine", 1), "amd64")}
		}},
		"not an id":            {change: func(l *request.Launch) { l.Class.Status.Images = []v1beta1.NodeImage{image("mine", "amd64")} }},
		"no answer of Azure":   {with: func(v *request.VMs) { v.Attachments = cloudNetwork{err: refused} }, want: refused},
		"a taint that is none": {change: func(l *request.Launch) { l.Claim.Spec.Taints[0].Effect = "Never" }},
	} {
		v := vms(request.Scriptless{})
		if c.with != nil {
			c.with(v)
		}
		l := launch()
		if c.change != nil {
			c.change(&l)
		}
		if _, err := v.Of(t.Context(), l); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: the error is %v, want %v", name, err, c.want)
		}
	}
}
