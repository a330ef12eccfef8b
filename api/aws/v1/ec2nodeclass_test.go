package v1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestZeroValue pins what a class made in code looks like on the wire when nothing is filled in.
func TestZeroValue(t *testing.T) {
	got, err := json.Marshal(awsv1.EC2NodeClass{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{},"spec":{"subnetSelectorTerms":null,"securityGroupSelectorTerms":null,"amiSelectorTerms":null}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReady checks what makes a class ready, with and without reservations.
func TestReady(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := awsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, err := scheme.New(awsv1.SchemeGroupVersion.WithKind("EC2NodeClass"))
	if err != nil {
		t.Fatal(err)
	}
	class := object.(*awsv1.EC2NodeClass)
	plain := condition.For(class, time.Unix(0, 0))
	for _, name := range []string{
		awsv1.ConditionTypeSubnetsReady, awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeAMIsReady,
		awsv1.ConditionTypeInstanceProfileReady, awsv1.ConditionTypePlacementGroupReady, awsv1.ConditionTypeValidationSucceeded,
	} {
		if plain.IsTrue() {
			t.Errorf("ready before %s", name)
		}
		plain.True(name)
	}
	if !plain.IsTrue() {
		t.Error("not ready though everything is")
	}
	if len(class.Status.Conditions) != 7 {
		t.Errorf("conditions %v", class.Status.Conditions)
	}
	reserving := condition.For(awsv1.Reserving{EC2NodeClass: class}, time.Unix(1, 0))
	reserving.False(awsv1.ConditionTypeValidationSucceeded, "X", "")
	reserving.True(awsv1.ConditionTypeValidationSucceeded)
	if got := condition.Status(class, awsv1.ConditionTypeReady); got != metav1.ConditionUnknown {
		t.Errorf("with reservations unknown, ready is %s", got)
	}
	reserving.True(awsv1.ConditionTypeCapacityReservationsReady)
	if !reserving.IsTrue() {
		t.Error("not ready with reservations")
	}
}

func TestAlias(t *testing.T) {
	for text, want := range map[string]awsv1.Alias{
		"al2@latest":            {Family: awsv1.FamilyAL2, Version: "latest"},
		"AL2023@v20240807":      {Family: awsv1.FamilyAL2023, Version: "v20240807"},
		"bottlerocket@v1.19.2":  {Family: awsv1.FamilyBottlerocket, Version: "v1.19.2"},
		"windows2019@latest":    {Family: awsv1.FamilyWindows2019, Version: "latest"},
		"Windows2022@latest":    {Family: awsv1.FamilyWindows2022, Version: "latest"},
		"windows2025@latest":    {Family: awsv1.FamilyWindows2025, Version: "latest"},
		"al2023@a@b":            {},
		"al2023":                {},
		"al2023@":               {},
		"@latest":               {},
		"ubuntu@latest":         {},
		"custom@latest":         {},
		"":                      {},
		strings.Repeat("@", 30): {},
	} {
		got, err := awsv1.ParseAlias(text)
		if got != want || (err == nil) != (want != awsv1.Alias{}) {
			t.Errorf("%q: got %v, error %v", text, got, err)
		}
	}
}

func TestFamily(t *testing.T) {
	for _, test := range []struct {
		family *string
		alias  string
		want   awsv1.Family
	}{
		{nil, "", awsv1.FamilyCustom},
		{nil, "al2@latest", awsv1.FamilyAL2},
		{new("Custom"), "al2@latest", awsv1.FamilyCustom},
		{new("Windows2022"), "", awsv1.FamilyWindows2022},
		{nil, "al2023@a@b", awsv1.FamilyCustom},
	} {
		class := &awsv1.EC2NodeClass{}
		class.Spec.AMIFamily = test.family
		class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: "ami-1"}, {Alias: test.alias}}
		if got := class.Family(); got != test.want {
			t.Errorf("alias %q: family %s, want %s", test.alias, got, test.want)
		}
	}
}

func TestLabelRules(t *testing.T) {
	t.Attr("covers", "A056")
	rules := awsv1.LabelRules()
	if got := rules.Normalize("topology.ebs.csi.aws.com/zone"); got != corev1.LabelTopologyZone {
		t.Errorf("the zone of the EBS driver is %q", got)
	}
	if _, ok := v1.CoreLabelRules().Aliases["topology.ebs.csi.aws.com/zone"]; ok {
		t.Error("the rules of the core changed")
	}
	for _, key := range append(awsv1.InstanceLabels(), awsv1.LaunchLabels()...) {
		if want := key == awsv1.LabelNodeClass; rules.Restricted(key) != want || rules.WellKnown[key] == want {
			t.Errorf("%s: restricted %t", key, rules.Restricted(key))
		}
	}
	if !rules.WellKnown[awsv1.LabelZoneID] || !rules.Restricted("karpenter.k8s.aws/other") {
		t.Error("the zone id is not well known, or the domain is open")
	}
}

// TestRuntimeValidation checks labels whose values are known.
func TestRuntimeValidation(t *testing.T) {
	t.Attr("covers", "A053 A054 A055")
	for _, test := range []struct {
		name   string
		key    string
		values []string
		valid  bool
	}{
		{"no capacity type that there is", v1.CapacityTypeLabelKey, []string{"x", "y"}, false},
		{"one capacity type that there is", v1.CapacityTypeLabelKey, []string{"x", "spot"}, true},
		{"no tenancy that there is", awsv1.LabelInstanceTenancy, []string{"host"}, false},
		{"one tenancy that there is", awsv1.LabelInstanceTenancy, []string{"host", "dedicated"}, true},
		{"the label of the class cannot be asked for", awsv1.LabelNodeClass, []string{"x"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := &v1.NodePool{}
			pool.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: test.key, Operator: corev1.NodeSelectorOpIn, Values: test.values}}
			if err := pool.RuntimeValidate(awsv1.LabelRules()); (err == nil) != test.valid {
				t.Errorf("error %v", err)
			}
		})
	}
}
