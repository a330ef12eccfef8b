package crds_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

// validNodeClass is the manifest of an AKSNodeClass that the server accepts.
const validNodeClass = "{apiVersion: karpenter.azure.com/v1beta1, spec: {}}"

var rewrite = flag.Bool("rewrite", false, "write testdata/*.schema.txt from the definitions, for review")

// TestAPIServer installs the CRDs for Azure in a real API server and lets it judge.
func TestAPIServer(t *testing.T) {
	log.SetLogger(logr.Discard())
	config := crdtest.Server(t, definitions(t))
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("fields", func(t *testing.T) {
		t.Attr("covers", "Z001 Z002 Z003 Z004 Z005 Z006 Z007 Z008 Z009 Z010 Z011 Z012 Z013 Z014 Z015 Z016 Z185 Z186")
		for _, group := range slices.Concat(classCases(), kubeletCases(), dnsCases(), osCases()) {
			t.Run(group.name, func(t *testing.T) { group.vectors(t).Check(t, c) })
		}
	})
	t.Run("labels", func(t *testing.T) {
		t.Attr("covers", "Z022 Z023 Z024 Z183")
		checkLabels(t, c)
	})
	t.Run("defaults", func(t *testing.T) {
		t.Attr("covers", "Z002 Z003 Z187")
		checkDefaults(t, c)
	})
	t.Run("versions", func(t *testing.T) {
		t.Attr("covers", "Z017")
		checkVersions(t, config, c)
	})
	t.Run("a class through its Go type", func(t *testing.T) { checkGoType(t, c) })
	t.Run("the largest pool", func(t *testing.T) { crdtest.LargestPool(t, c) })
	for _, group := range crdtest.ReadVectors(t, "../../crds/testdata/vectors.yaml") {
		if group.CRDs != "core" {
			t.Run("core kinds "+group.Rule, func(t *testing.T) { group.Check(t, c) })
		}
	}
}

// vectors is the case in the form of the table of the other kinds.
func (a azureCase) vectors(t *testing.T) crdtest.Vectors {
	t.Helper()
	v := crdtest.Vectors{
		Rule: a.name, At: map[string]string{"AKSNodeClass": a.at}, Accept: crdtest.Fragments(t, a.accept), Reject: crdtest.Fragments(t, a.reject), Because: a.because,
		Manifests: map[string]string{"AKSNodeClass": validNodeClass},
	}
	if a.also != "" {
		v.Also = map[string]any{"spec": crdtest.Fragment(t, a.also)}
	}
	return v
}

// checkLabels tries every label that users may name, and others of the domains, wherever labels are named.
func checkLabels(t *testing.T, c client.Client) {
	requirement := func(key string) any { return []any{map[string]any{"key": key, "operator": "Exists"}} }
	check := func(because string, accept, reject []string) {
		for _, place := range []struct {
			at   map[string]string
			wrap func(string) any
		}{
			{map[string]string{"NodePool": "spec.template.spec.requirements", "NodeClaim": "spec.requirements", "NodeOverlay": "spec.requirements"}, requirement},
			{map[string]string{"NodePool": "spec.template.metadata.labels"}, func(key string) any { return map[string]any{key: "v"} }},
		} {
			group := crdtest.Vectors{At: place.at, Because: because}
			for _, key := range accept {
				group.Accept = append(group.Accept, place.wrap(key))
			}
			for _, key := range reject {
				group.Reject = append(group.Reject, place.wrap(key))
			}
			group.Check(t, c)
		}
	}
	check(`label domain "karpenter.azure.com" is restricted`,
		append(label.SKULabels(), "karpenter.azure.comx/x", "example.com/karpenter.azure.com", "karpenter.azure.com.example.com/x"),
		[]string{"karpenter.azure.com/other", "karpenter.azure.com", "foo.karpenter.azure.com/sku-name", "notkarpenter.azure.com/x", label.SKUHyperVGeneration})
	check(`label domain "kubernetes.azure.com" is restricted`,
		append(label.AKSLabels(), "kubernetes.azure.comx/x", "example.com/kubernetes.azure.com"),
		[]string{"kubernetes.azure.com/other", "kubernetes.azure.com", "x.kubernetes.azure.com/a", "mykubernetes.azure.com/a", label.AKSRole})
	for _, key := range label.LegacyLabels() {
		check(`label "`+key+`" is restricted`, []string{key + "x", "example.com/" + key}, []string{key})
	}
}

// checkDefaults looks at what the server adds.
func checkDefaults(t *testing.T, c client.Client) {
	for given, want := range map[string]string{
		`{}`: `{osDiskSizeGB: 128, imageFamily: Ubuntu}`,
		`{osDiskSizeGB: 64, imageFamily: AzureLinux}`: `{osDiskSizeGB: 64, imageFamily: AzureLinux}`,
		`{gpu: {}}`: `{osDiskSizeGB: 128, imageFamily: Ubuntu, gpu: {mode: Driver}}`,
		`{kubelet: {}}`: `{osDiskSizeGB: 128, imageFamily: Ubuntu, kubelet: {cpuManagerPolicy: none, cpuCFSQuota: true, cpuCFSQuotaPeriod: 100ms,
			topologyManagerPolicy: none, containerLogMaxSize: 50Mi, containerLogMaxFiles: 5}}`,
		`{kubelet: {cpuCFSQuota: false, containerLogMaxFiles: 2}}`: `{osDiskSizeGB: 128, imageFamily: Ubuntu, kubelet: {cpuManagerPolicy: none, cpuCFSQuota: false,
			cpuCFSQuotaPeriod: 100ms, topologyManagerPolicy: none, containerLogMaxSize: 50Mi, containerLogMaxFiles: 2}}`,
		`{security: {trustedLaunch: {}}, artifactStreaming: {}, linuxOSConfig: {sysctls: {}}}`: `{osDiskSizeGB: 128, imageFamily: Ubuntu,
			security: {trustedLaunch: {}}, artifactStreaming: {}, linuxOSConfig: {sysctls: {}}}`,
	} {
		object := crdtest.Object(t, "AKSNodeClass", validNodeClass)
		crdtest.Put(t, object, "spec", crdtest.Fragment(t, given))
		if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(crdtest.Integers(crdtest.Fragment(t, want)), object.Object["spec"]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", given, diff)
		}
	}
}

// everyField is a spec with all fields set.
const everyField = `{vnetSubnetID: /subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/n, osDiskSizeGB: 30, imageFamily: Ubuntu2204,
  fipsMode: FIPS, tags: {team/a: b}, maxPods: 110, security: {encryptionAtHost: true, trustedLaunch: {vtpm: true, secureBoot: false}}, gpu: {mode: None},
  artifactStreaming: {enabled: false},
  kubelet: {cpuManagerPolicy: static, cpuCFSQuota: false, cpuCFSQuotaPeriod: 50ms, imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 0,
    topologyManagerPolicy: restricted, allowedUnsafeSysctls: [net.core.somaxconn], containerLogMaxSize: 10Mi, containerLogMaxFiles: 2, podPidsLimit: -1, failSwapOn: false},
  localDNS: {mode: Required,
    vnetDNSOverrides: [` + rootZone + `, ` + clusterZone + `], kubeDNSOverrides: [` + rootZone + `, ` + clusterZone + `]},
  linuxOSConfig: {swapFileSize: 1500M, transparentHugePageEnabled: madvise, transparentHugePageDefrag: defer+madvise, sysctls: {fsAioMaxNr: 65536, fsFileMax: 8192,
    fsInotifyMaxUserWatches: 781250, fsNrOpen: 8192, kernelThreadsMax: 20, netCoreNetdevMaxBacklog: 1000, netCoreOptmemMax: 20480, netCoreRmemDefault: 212992,
    netCoreRmemMax: 212992, netCoreSomaxconn: 4096, netCoreWmemDefault: 212992, netCoreWmemMax: 212992, netIPv4IPLocalPortRange: 1024 65535,
    netIPv4NeighDefaultGcThresh1: 128, netIPv4NeighDefaultGcThresh2: 512, netIPv4NeighDefaultGcThresh3: 1024, netIPv4TCPFinTimeout: 5, netIPv4TCPKeepaliveIntvl: 10,
    netIPv4TCPKeepaliveProbes: 1, netIPv4TCPKeepaliveTime: 30, netIPv4TCPMaxSynBacklog: 128, netIPv4TCPMaxTwBuckets: 8000, netIPv4TCPTwReuse: false,
    netNetfilterNfConntrackBuckets: 65536, netNetfilterNfConntrackMax: 131072, vmMaxMapCount: 65530, vmSwappiness: 0, vmVfsCachePressure: 0}}}`

// checkGoType stores a class with every field, reads it through the Go type, writes it back with a status, and expects the same spec.
func checkGoType(t *testing.T, c client.Client) {
	object := crdtest.Object(t, "AKSNodeClass", validNodeClass)
	want := crdtest.Integers(crdtest.Fragment(t, everyField))
	crdtest.Put(t, object, "spec", want)
	crdtest.Create(t, c, object)
	generation, kind := object.GetGeneration(), object.GroupVersionKind()
	class := &v1beta1.AKSNodeClass{}
	crdtest.Typed(t, object, class)
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(class)
	if err != nil {
		t.Fatal(err)
	}
	object.Object = raw
	object.SetGroupVersionKind(kind)
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, object.Object["spec"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if object.GetGeneration() != generation {
		t.Error("writing a class back unchanged raised its generation")
	}
	crdtest.Typed(t, object, class)
	class.Status.Images = []v1beta1.NodeImage{
		{ID: "image-2", Requirements: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}}}},
		{ID: "image-1", Requirements: []corev1.NodeSelectorRequirement{}},
	}
	class.Status.KubernetesVersion, class.Status.LocalDNSState = "1.34.1", v1beta1.LocalDNSStateEnabled
	condition.For(class, time.Unix(1, 0)).False(v1beta1.ConditionTypeSubnetsReady, v1beta1.ReasonSubnetNotFound, "none")
	crdtest.UpdateStatus(t, c, class, object)
	got := &v1beta1.AKSNodeClass{}
	crdtest.Typed(t, object, got)
	if diff := cmp.Diff(class.Status.Images, got.Status.Images); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if status := condition.Status(got, v1beta1.ConditionTypeReady); status != metav1.ConditionFalse {
		t.Errorf("a class without a subnet is ready: %s", status)
	}
	crdtest.Put(t, object, "status.localDNSState", "Perhaps")
	if err := c.Status().Update(t.Context(), object); err == nil {
		t.Error("a state of LocalDNS that does not exist was stored")
	}
}

// warnings collects the warnings of an API server.
type warnings struct {
	sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	w.texts = append(w.texts, text)
}

// checkVersions writes a class in the deprecated version and reads it in the other.
func checkVersions(t *testing.T, config *rest.Config, c client.Client) {
	seen := &warnings{}
	warned := rest.CopyConfig(config)
	warned.WarningHandler = seen
	old, err := client.New(warned, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	object := crdtest.Object(t, "AKSNodeClass", strings.Replace(validNodeClass, "v1beta1", "v1alpha2", 1))
	want := crdtest.Integers(crdtest.Fragment(t, everyField))
	crdtest.Put(t, object, "spec", want)
	crdtest.Create(t, old, object)
	if diff := cmp.Diff([]string{"use v1beta1.AKSNodeClass instead"}, seen.texts); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("AKSNodeClass"))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), current); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, current.Object["spec"]); diff != "" {
		t.Errorf("read in the current version (-want +got)\n%s", diff)
	}
	for _, reading := range []client.Client{old, c} {
		refused := object.DeepCopy()
		refused.SetName("refused")
		refused.SetResourceVersion("")
		crdtest.Put(t, refused, "spec.maxPods", 9.0)
		if err := reading.Create(t.Context(), refused); err == nil || !strings.Contains(err.Error(), "spec.maxPods") {
			t.Errorf("9 pods in the deprecated version: %v", err)
		}
	}
}

// TestDefinitions checks that the core kinds have the rules on label domains added, the category and the columns of AKS, and are otherwise
// unchanged, and compares the node class with its inventory and its schema.
func TestDefinitions(t *testing.T) {
	t.Attr("covers", "Z184")
	core, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	azure := definitions(t)
	checkPresentation(t, core, azure)
	rules, classes := crdtest.Provider(t, core, azure)
	paths := map[string][]string{}
	for kind, added := range rules {
		paths[kind] = slices.Sorted(maps.Keys(added))
	}
	want := map[string][]string{
		"NodePool": {"spec.template.metadata.labels", "spec.template.spec.requirements[].key"}, "NodeClaim": {"spec.requirements[].key"}, "NodeOverlay": {"spec.requirements[].key"},
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(classes) != 1 {
		t.Fatalf("%d kinds beside those of the core", len(classes))
	}
	old, current := split(t, classes[0])
	kind := func(version string) map[string]crdtest.Kind {
		return map[string]crdtest.Kind{"aksnodeclasses.karpenter.azure.com": {
			Group: "karpenter.azure.com", Version: version, Plural: "aksnodeclasses", Singular: "aksnodeclass", Kind: "AKSNodeClass", ListKind: "AKSNodeClassList",
			ShortNames: []string{"aksnc", "aksncs"}, Categories: []string{"karpenter", "nap"}, Scope: "Cluster", Subresources: "status",
			Columns: []string{
				`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
				`Age date .metadata.creationTimestamp 0`,
				`ImageFamily string .spec.imageFamily 1`,
			},
		}}
	}
	crdtest.Inventory(t, []*apiextensionsv1.CustomResourceDefinition{old}, kind("v1alpha2"))
	crdtest.Inventory(t, []*apiextensionsv1.CustomResourceDefinition{current}, kind("v1beta1"))
	crdtest.Schemas(t, []*apiextensionsv1.CustomResourceDefinition{current}, *rewrite)
}

// checkPresentation checks how the core kinds are shown, and then makes the definitions in that like those of the core.
func checkPresentation(t *testing.T, core, azure []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	categories, columns := map[string][]string{}, []string(nil)
	for _, definition := range azure {
		kind := definition.Spec.Names.Kind
		at := slices.IndexFunc(core, func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Name == definition.Name })
		if at < 0 {
			continue
		}
		if categories[kind] = definition.Spec.Names.Categories; kind == "NodeClaim" {
			for _, column := range definition.Spec.Versions[0].AdditionalPrinterColumns {
				columns = append(columns, strings.TrimSuffix(column.Name+"/"+strings.Repeat("wide", int(column.Priority)), "/"))
			}
			definition.Spec.Versions[0].AdditionalPrinterColumns = core[at].Spec.Versions[0].AdditionalPrinterColumns
		}
		definition.Spec.Names.Categories = core[at].Spec.Names.Categories
	}
	want := map[string][]string{
		"NodePool": {"karpenter", "nap"}, "NodeClaim": {"karpenter", "nap"}, "NodeOverlay": {"karpenter"}, "OperationsPolicy": {"karpenter"}, "DisruptionPlan": {"karpenter"}, "CapacityBuffer": categories["CapacityBuffer"],
	}
	if diff := cmp.Diff(want, categories); diff != "" {
		t.Errorf("categories (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(strings.Fields("Type Capacity Zone Node Ready Age NodePool/wide NodeClass/wide Drifted/wide"), columns); diff != "" {
		t.Errorf("columns of NodeClaims (-want +got)\n%s", diff)
	}
}

// split checks how the versions of the node class are served and stored, and that they have one schema. It returns a definition for each,
// the deprecated one first.
func split(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) (old, current *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	versions := definition.Spec.Versions
	if len(versions) != 2 || versions[0].Name != "v1alpha2" || versions[1].Name != "v1beta1" {
		t.Fatalf("the versions are %v", versions)
	}
	if !versions[0].Served || versions[0].Storage || !versions[0].Deprecated || !versions[1].Served || !versions[1].Storage || versions[1].Deprecated {
		t.Error("want v1alpha2 served and deprecated, v1beta1 served and stored")
	}
	if warning := versions[0].DeprecationWarning; warning == nil || *warning != "use v1beta1.AKSNodeClass instead" {
		t.Errorf("the warning is %v", warning)
	}
	if definition.Spec.Conversion != nil && definition.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
		t.Errorf("conversion %v", definition.Spec.Conversion)
	}
	if diff := cmp.Diff(versions[0].Schema, versions[1].Schema); diff != "" {
		t.Errorf("schemas (-v1alpha2 +v1beta1)\n%s", diff)
	}
	only := func(version apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
		out := definition.DeepCopy()
		version.Storage = true
		out.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version}
		return out
	}
	return only(versions[0]), only(versions[1])
}

func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	out, err := azurecrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
