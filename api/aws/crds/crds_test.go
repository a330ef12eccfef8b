package crds_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

// validNodeClass is the manifest of an EC2NodeClass that the server accepts.
const validNodeClass = "{apiVersion: karpenter.k8s.aws/v1, spec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], " +
	"subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{tags: {a: b}}]}}"

var rewrite = flag.Bool("rewrite", false, "write testdata/*.schema.txt from the definitions, for review")

// TestAWS installs the CRDs for AWS in a real API server and lets it judge.
func TestAWS(t *testing.T) {
	t.Attr("covers", "N318 A001 A002 A003 A004 A005 A006 A007 A008 A009 A010 A011 A012 A013 A014 A015 A016 A017 A018 A019 A020 A021 A022 A023 A024 A025 A026 A027 A028 A029 A030 A031 A032 A033 A034 A035 A036 A037 A038 A039 A040 A041 A042 A043 A044 A045 A046 A047 A048 A049 A050")
	log.SetLogger(logr.Discard())
	definitions, err := awscrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	c := crdtest.Start(t, definitions)
	for _, group := range slices.Concat(awsCases(), awsDeviceCases(), awsSelectorCases(), awsAliasCases()) {
		t.Run(group.name, func(t *testing.T) { group.vectors(t).Check(t, c) })
	}
	t.Run("labels of the domain", func(t *testing.T) {
		t.Attr("covers", "A051 A052")
		checkAWSLabels(t, c)
	})
	t.Run("defaults", func(t *testing.T) { checkAWSDefaults(t, c) })
	t.Run("the kubelet block stays as it is", func(t *testing.T) {
		t.Attr("covers", "A034 N310")
		checkKubeletPreserved(t, c)
	})
	t.Run("status", func(t *testing.T) { checkAWSStatus(t, c) })
	t.Run("the largest pool", func(t *testing.T) { crdtest.LargestPool(t, c) })
	t.Run("examples", func(t *testing.T) { checkAWSExamples(t, c) })
}

// vectors is the case in the form of the table of the other kinds.
func (a awsCase) vectors(t *testing.T) crdtest.Vectors {
	t.Helper()
	v := crdtest.Vectors{
		Rule: a.name, At: map[string]string{"EC2NodeClass": a.at}, Accept: crdtest.Fragments(t, a.accept), Reject: crdtest.Fragments(t, a.reject), Because: a.because,
		Manifests: map[string]string{"EC2NodeClass": validNodeClass},
	}
	if a.from != "" {
		v.From = crdtest.Fragment(t, a.from)
	}
	if a.also != "" {
		v.Also = map[string]any{"spec": crdtest.Fragment(t, a.also)}
	}
	return v
}

// checkAWSLabels tries every label of EC2 instances, and others of the domain, wherever labels are named.
func checkAWSLabels(t *testing.T, c client.Client) {
	const because = `label domain "karpenter.k8s.aws" is restricted`
	requirement := func(key string) any { return []any{map[string]any{"key": key, "operator": "Exists"}} }
	var accept, reject []any
	group := func(at map[string]string, wrap func(string) any, allowed, closed []string) {
		accept, reject = nil, nil
		for _, key := range allowed {
			accept = append(accept, wrap(key))
		}
		for _, key := range closed {
			reject = append(reject, wrap(key))
		}
		crdtest.Vectors{At: at, Accept: accept, Reject: reject, Because: because}.Check(t, c)
	}
	all := slices.Concat(awsv1.InstanceLabels(), awsv1.LaunchLabels())
	closed := []string{"karpenter.k8s.aws/other", "karpenter.k8s.aws", "foo.karpenter.k8s.aws/x", "xkarpenter.k8s.aws/x", "karpenter.k8s.aws/tagged"}
	open := []string{"karpenter.k8s.awsx/x", "example.com/karpenter.k8s.aws", awsv1.LabelZoneID}
	group(map[string]string{"NodePool": "spec.template.spec.requirements", "NodeClaim": "spec.requirements"}, requirement, slices.Concat(all, open), closed)
	group(map[string]string{"NodeOverlay": "spec.requirements"}, requirement, slices.Concat(awsv1.InstanceLabels(), open), slices.Concat(awsv1.LaunchLabels(), closed))
	group(map[string]string{"NodePool": "spec.template.metadata.labels"},
		func(key string) any { return map[string]any{key: "v"} }, slices.Concat(all, open), closed)
}

// checkAWSDefaults looks at what the server adds.
func checkAWSDefaults(t *testing.T, c client.Client) {
	full := map[string]any{"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": int64(1), "httpTokens": "required"}
	partly := map[string]any{"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": int64(2), "httpTokens": "required"}
	for _, test := range []struct {
		name  string
		value any
		want  any
	}{
		{"metadata options when omitted", crdtest.Omit, full},
		{"metadata options when empty", map[string]any{}, full},
		{"metadata options when given in part", map[string]any{"httpPutResponseHopLimit": int64(2)}, partly},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := crdtest.Object(t, "EC2NodeClass", validNodeClass)
			crdtest.Put(t, object, "spec.metadataOptions", test.value)
			if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			got, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "metadataOptions")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// checkKubeletPreserved stores a block that no kubelet would take, reads it through the Go type and writes it back.
func checkKubeletPreserved(t *testing.T, c client.Client) {
	const block = `{maxPods: "vcpus * 8", evictionHard: {memory.available: 5%}, nonsense: {deep: [1, {er: [true, "x"]}], empty: {}}, registerWithTaints: 3}`
	object := crdtest.Object(t, "EC2NodeClass", validNodeClass)
	want := crdtest.Integers(crdtest.Fragment(t, block))
	crdtest.Put(t, object, "spec.kubelet", want)
	crdtest.Create(t, c, object)
	generation, kind := object.GetGeneration(), object.GroupVersionKind()
	class := &awsv1.EC2NodeClass{}
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
	if object.GetGeneration() != generation {
		t.Error("writing a class back unchanged raised its generation")
	}
	got, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "kubelet")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// checkAWSStatus writes a status through the Go types, the way controllers do.
func checkAWSStatus(t *testing.T, c client.Client) {
	object := crdtest.Object(t, "EC2NodeClass", validNodeClass)
	crdtest.Create(t, c, object)
	class := &awsv1.EC2NodeClass{}
	crdtest.Typed(t, object, class)
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "us-east-1a", ZoneID: "use1-az1"}}
	class.Status.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-1"}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1", Requirements: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}}}}}
	end := metav1.NewTime(time.Unix(4e9, 0))
	class.Status.CapacityReservations = []awsv1.CapacityReservation{{
		AvailabilityZone: "us-east-1a", EndTime: &end, ID: "cr-1", InstanceMatchCriteria: "targeted", InstanceType: "m5.large", OwnerID: "012345678901",
	}}
	condition.For(awsv1.Reserving{EC2NodeClass: class}, time.Unix(1, 0)).False(awsv1.ConditionTypeSubnetsReady, "SubnetsNotFound", "none")
	crdtest.UpdateStatus(t, c, class, object)
	got := &awsv1.EC2NodeClass{}
	crdtest.Typed(t, object, got)
	want := class.Status.CapacityReservations[0]
	want.ReservationType, want.State = awsv1.CapacityReservationTypeDefault, awsv1.CapacityReservationStateActive
	if diff := cmp.Diff([]awsv1.CapacityReservation{want}, got.Status.CapacityReservations); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if status := condition.Status(got, awsv1.ConditionTypeReady); status != metav1.ConditionFalse {
		t.Errorf("a class without subnets is ready: %s", status)
	}
	crdtest.Put(t, object, "status.capacityReservations", []any{map[string]any{"id": "nonsense"}})
	if err := c.Status().Update(t.Context(), object); err == nil {
		t.Error("a reservation that is none was stored")
	}
}

// checkAWSExamples applies the manifests of examples/aws as they are.
func checkAWSExamples(t *testing.T, c client.Client) {
	files, err := filepath.Glob("../../../examples/aws/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(&object.Object); err != nil {
				break
			}
			if object.GetKind() == "Deployment" {
				object.SetNamespace("default")
			}
			// Strict: a field that the server does not know is an error.
			if err := c.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestDefinitions checks that the core kinds have rules on the label domain added and are otherwise unchanged, and compares the node
// class with its inventory and its schema.
func TestDefinitions(t *testing.T) {
	core, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	aws, err := awscrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	rules, classes := crdtest.Provider(t, core, aws)
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
	crdtest.Inventory(t, classes, map[string]crdtest.Kind{
		"ec2nodeclasses.karpenter.k8s.aws": {
			Group: "karpenter.k8s.aws", Version: "v1", Plural: "ec2nodeclasses", Singular: "ec2nodeclass", Kind: "EC2NodeClass", ListKind: "EC2NodeClassList",
			ShortNames: []string{"ec2nc", "ec2ncs"}, Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
			Columns: []string{
				`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
				`Age date .metadata.creationTimestamp 0`,
				`Role string .spec.role 1`,
			},
		},
	})
	crdtest.Schemas(t, classes, *rewrite)
}
