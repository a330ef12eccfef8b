package azure

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1alpha2"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

func node(labels map[string]string) client.Object {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}}
}

// poolIn is a pool that requires values of a label.
func poolIn(key string, operator corev1.NodeSelectorOperator, values ...string) client.Object {
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: key, Operator: operator, Values: values}}
	return pool
}

func TestTheLocationOfASimulation(t *testing.T) {
	region := func(name string) client.Object { return node(map[string]string{corev1.LabelTopologyRegion: name}) }
	for what, test := range map[string]struct {
		named   string
		objects []client.Object
		catalog string
		note    string
	}{
		"nothing":              {"generic", nil, "azure/eastus", "no location is named"},
		"named":                {"azure/westus2", []client.Object{region("westeurope")}, "azure/westus2", ""},
		"nodes":                {"generic", []client.Object{region("westeurope"), region("westeurope"), node(nil)}, "azure/westeurope", ""},
		"nodes before pools":   {"generic", []client.Object{region("westeurope"), poolIn(corev1.LabelTopologyRegion, "In", "westus2")}, "azure/westeurope", ""},
		"a region":             {"generic", []client.Object{poolIn(corev1.LabelTopologyRegion, "In", "westus2")}, "azure/westus2", ""},
		"zones":                {"generic", []client.Object{poolIn(corev1.LabelTopologyZone, "In", "westus2-1", "westus2-3", "0")}, "azure/westus2", ""},
		"zones that are not":   {"generic", []client.Object{poolIn(corev1.LabelTopologyZone, "NotIn", "westus2-1")}, "azure/eastus", "no location is named"},
		"other labels":         {"generic", []client.Object{poolIn(label.SKUFamily, "In", "westus2-1")}, "azure/eastus", "no location is named"},
		"several":              {"generic", []client.Object{poolIn(corev1.LabelTopologyZone, "In", "westus2-1", "eastus2-1")}, "azure/eastus", "name the locations eastus2, westus2"},
		"one without a prices": {"generic", []client.Object{region("moonbase1")}, "azure/eastus", "of location moonbase1"},
	} {
		catalog, notes := catalogFor(test.named, test.objects)
		if got := strings.Join(notes, "; "); catalog != test.catalog || (test.note == "") != (got == "") || !strings.Contains(got, test.note) {
			t.Errorf("%s: catalog %s, notes %q", what, catalog, got)
		}
	}
}

// openedFor opens a simulation without flags.
func openedFor(t *testing.T, f offlineFlags, objects ...client.Object) plugin.Opened {
	t.Helper()
	f.NetworkPlugin, f.NetworkPluginMode = "azure", "overlay"
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	out, err := f.OpenFor(plugin.Simulation{
		Catalog: plugin.Catalog{Name: "azure/westeurope"}, Objects: objects,
		Complete: func(objects []client.Object, _ cloud.Cloud) []client.Object { return objects },
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheClusterOfASimulation checks the label by which pods ask for a cluster: its value is the setting, or that of all nodes.
func TestTheClusterOfASimulation(t *testing.T) {
	class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "c"}
	in := func(name string) client.Object { return node(map[string]string{label.AKSCluster: name}) }
	for what, test := range map[string]struct {
		setting string
		nodes   []client.Object
		want    string
	}{
		"setting": {"MC_(a)", []client.Object{in("b")}, "MC_-a-z"}, "nodes": {"", []client.Object{in("b"), in("b")}, "b"},
		"none": {"", nil, ""}, "several": {"", []client.Object{in("a"), in("b")}, ""},
	} {
		o := openedFor(t, offlineFlags{NodeResourceGroup: test.setting}, append(test.nodes, class.DeepCopy())...)
		types, err := o.Cloud.Provider.InstanceTypes(t.Context(), pool)
		if err != nil || len(types) < 100 {
			t.Fatalf("%s: %d types, %v", what, len(types), err)
		}
		set := cloud.Requirements(types[0].Requirements, label.Rules())
		if got := strings.Join(set.Get(label.AKSCluster).Values(), " "); got != test.want {
			t.Errorf("%s: cluster %q, want %q", what, got, test.want)
		}
	}
}

func TestClassesOfTheDeprecatedVersionBecomeCurrent(t *testing.T) {
	pods := int32(42)
	old := &v1alpha2.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: v1beta1.AKSNodeClassSpec{MaxPods: &pods}}
	got := openedFor(t, offlineFlags{}, old, node(nil)).Objects
	class, ok := got[0].(*v1beta1.AKSNodeClass)
	if !ok || class.Name != "old" || *class.Spec.MaxPods != 42 || class.Kind != "AKSNodeClass" || class.APIVersion != "karpenter.azure.com/v1beta1" || len(got) != 2 {
		t.Errorf("got %#v", got)
	}
	if len(old.Status.Conditions) > 0 {
		t.Error("the object of the caller is changed")
	}
}

func TestNotesOfSimulations(t *testing.T) {
	class := func(name string, mode v1beta1.LocalDNSMode, generation int64, conditions ...string) client.Object {
		out := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: generation}}
		if mode != "" {
			out.Spec.LocalDNS = &v1beta1.LocalDNS{Mode: mode}
		}
		for _, c := range conditions {
			out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{Type: c, Status: "True", Reason: c, ObservedGeneration: 1})
		}
		out.Status.KubernetesVersion = "1.34.1"
		return out
	}
	all := []string{"KubernetesVersionReady", "ImagesReady", "Ready"}
	fips, imaged := class("fips", "", 1).(*v1beta1.AKSNodeClass), class("imaged", "", 1, all...).(*v1beta1.AKSNodeClass)
	mode := v1beta1.FIPSModeFIPS
	fips.Spec.FIPSMode, imaged.Spec.FIPSMode = &mode, &mode
	o := openedFor(t, offlineFlags{}, class("plain", "", 1), class("prefers", v1beta1.LocalDNSModePreferred, 1), class("requires", v1beta1.LocalDNSModeRequired, 1),
		class("current", "", 1, all...), class("stale", "", 2, all...), class("no-images", "", 1, "KubernetesVersionReady", "Ready"),
		class("by-hand", "", 2, "Ready"), fips, imaged)
	text := strings.Join(o.Notes, "\n")
	for name, want := range map[string]int{`"plain"`: 1, `"prefers"`: 2, `"requires"`: 1, `"current"`: 0, `"stale"`: 1, `"no-images"`: 1, `"by-hand"`: 0, `"fips"`: 2, `"imaged"`: 0, "--use-sig": 1, "quota": 1} {
		if got := strings.Count(text, name); got != want && got != 2*want { // errors name the class once more
			t.Errorf("%d notes about %s, want %d:\n%s", got, name, want, text)
		}
	}
	if !strings.Contains(text, "until its controller has updated the status") {
		t.Error(text)
	}
	const features, disks = "the data has no features of ", "the data does not say whether an ephemeral OS disk is possible on "
	for types, want := range map[string][]string{
		"": nil, "Standard_D4s_v5": nil, "Standard_D4s_v6": {features + "Standard_D4s_v6:"},
		"Standard_D4s_v3": {disks + "Standard_D4s_v3:"}, "Standard_D4ds_v5 Standard_D4s_v5 Standard_D4s_v3": {disks + "Standard_D4ds_v5, Standard_D4s_v3:"},
		"Standard_D4s_v3 Standard_D4s_v6": {features + "Standard_D4s_v6:", disks + "Standard_D4s_v3:"},
		"Standard_D4ds_v6":                {features + "Standard_D4ds_v6:", disks + "Standard_D4ds_v6:"},
	} {
		got := o.PlanNotes(strings.Fields(types))
		if len(got) != len(want) {
			t.Errorf("about %s: %q", types, got)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("about %s: %q, want %q", types, got[i], want[i])
			}
		}
	}
	if got := strings.Join(o.PlanNotes(nil), ""); !strings.Contains(got, "features of 309 of 745 sizes") || !strings.Contains(got, "which sizes can have an ephemeral OS disk: for ") {
		t.Errorf("about all: %q", got)
	}
}

func TestOpenWithoutObjects(t *testing.T) {
	for name, want := range map[string]bool{"generic": true, "aws/eu-west-1": true, "azure/westeurope": true, "azure/nowhere": false} {
		if _, err := (&offlineFlags{NetworkPlugin: "azure"}).Open(plugin.Catalog{Name: name}); (err == nil) != want {
			t.Errorf("catalog %s: %v", name, err)
		}
	}
	for _, f := range []offlineFlags{{NetworkPlugin: "kubenet"}, {NetworkPlugin: "azure", NetworkPluginMode: "bridge"}} {
		if f.Check() == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}
